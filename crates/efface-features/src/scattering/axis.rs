//! What is done along rows, and along columns: Fourier transforms and pooling, as matrices.

use std::f64::consts::TAU;

use super::{CELL, Grid};
use crate::product::Packed;

/// The matrices for one side of an image. Complex rows have all real parts first.
pub(super) struct Axis {
    /// Of the image.
    pub(super) pixels: usize,
    /// Of the continued image.
    pub(super) len: usize,
    pub(super) forward_real: Packed,
    pub(super) forward: Packed,
    inverse: [Packed; 2],
    pool: [Packed; 2],
}

impl Axis {
    pub(super) fn new(pixels: usize) -> Self {
        let len = pixels + 2 * CELL;
        Self {
            pixels,
            len,
            forward_real: Packed::from_fn(len, 2 * len, |k, j| rotation(len, -1.0, k, j)),
            forward: Packed::from_fn(2 * len, 2 * len, |k, j| rotation(len, -1.0, k, j)),
            inverse: [Grid::Full, Grid::Half].map(|grid| {
                // The half grid's sum has a quarter of the terms: the others were added to them.
                let n = len / grid.step();
                Packed::from_fn(2 * n, 2 * n, |k, j| rotation(n, 1.0, k, j) / len as f64)
            }),
            pool: [Grid::Full, Grid::Half].map(|grid| pooling(pixels, grid.step())),
        }
    }

    pub(super) fn inverse(&self, grid: Grid) -> &Packed {
        &self.inverse[grid as usize]
    }

    pub(super) fn pool(&self, grid: Grid) -> &Packed {
        &self.pool[grid as usize]
    }
}

/// Entry (k, j) of `[C S; −S C]`, C the cosines and S the sines of `sign · 2π k j / n`: multiplies a complex row, real parts
/// first, by the matrix of `exp(sign · 2πi k j / n)`.
fn rotation(n: usize, sign: f64, k: usize, j: usize) -> f64 {
    let (sin, cos) = libm::sincos(TAU * (k % n * (j % n) % n) as f64 / n as f64);
    match (k < n, j < n) {
        (true, true) | (false, false) => cos,
        (true, false) => sign * sin,
        (false, true) => -sign * sin,
    }
}

/// `ϕ` at the centres of cells, from every `step`-th pixel of the continued image; weights add up to 1.
fn pooling(pixels: usize, step: usize) -> Packed {
    let n = (pixels + 2 * CELL) / step;
    let weight = |p: usize, cell: usize| {
        let centre = (CELL * cell + CELL) as f64 + 1.5;
        let distance = (p * step) as f64 - centre;
        libm::exp(-0.5 * (distance / LOW_PASS) * (distance / LOW_PASS))
    };
    let sums: Vec<f64> = (0..pixels / CELL).map(|cell| (0..n).map(|p| weight(p, cell)).sum()).collect();
    Packed::from_fn(n, pixels / CELL, |p, cell| weight(p, cell) / sums[cell])
}

/// Transposes `rows` complex rows of `columns` entries.
pub(super) fn transpose(from: &[f32], rows: usize, columns: usize, to: &mut [f32]) {
    for (row, from) in from.chunks_exact(2 * columns).enumerate() {
        let (re, im) = from.split_at(columns);
        for (to, (re, im)) in to.chunks_exact_mut(2 * rows).zip(re.iter().zip(im)) {
            to[row] = *re;
            to[rows + row] = *im;
        }
    }
}

/// Transposes `rows` rows of `columns` numbers.
pub(super) fn transpose_real(from: &[f32], rows: usize, columns: usize, to: &mut [f32]) {
    for (row, from) in from.chunks_exact(columns).enumerate() {
        for (to, from) in to.chunks_exact_mut(rows).zip(from) {
            to[row] = *from;
        }
    }
}

/// Standard deviation of ϕ in pixels: 0.8 at the first scale, doubled once.
pub(super) const LOW_PASS: f64 = 1.6;
