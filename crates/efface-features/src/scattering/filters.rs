//! Morlet wavelets, and products with their spectra.

use std::f64::consts::{PI, TAU};

use super::{Axis, ORIENTATIONS};

/// The spectra of the wavelets, which are real, transposed: a row for each frequency across.
pub(super) struct Filters {
    pub(super) fine: Vec<Vec<f32>>,
    pub(super) coarse: Vec<Vec<f32>>,
}

impl Filters {
    pub(super) fn new(across: &Axis, down: &Axis) -> Self {
        let of_scale = |scale: i32| {
            (0..ORIENTATIONS)
                .map(|o| spectrum(&wavelet(scale, o, across.len, down.len), across.len, down.len))
                .collect()
        };
        Self { fine: of_scale(0), coarse: of_scale(1) }
    }
}

/// A Morlet wavelet, wrapped around an image of w × h pixels; row by row, as (real, imaginary).
///
/// ```text
/// ψ(x, y) = g · (exp(iξu) − κ) / Σ g      g = exp(−(u² + v²/4) / 2σ²)      κ = Σ g exp(iξu) / Σ g
///
/// u = x cos θ + y sin θ    v = y cos θ − x sin θ    θ = π o/8    σ = 0.8 · 2^j    ξ = ¾π / 2^j
/// ```
///
/// g is twice as long along the crests of its waves; κ makes the sum of ψ zero. Sums are over all pixels.
pub(super) fn wavelet(scale: i32, orientation: usize, w: usize, h: usize) -> Vec<(f64, f64)> {
    let size = f64::from(1 << scale);
    let (sigma, xi) = (0.8 * size, 0.75 * PI / size);
    let (sin, cos) = libm::sincos(PI * orientation as f64 / ORIENTATIONS as f64);
    let mut envelope = vec![0.0; w * h];
    let mut wave = vec![(0.0, 0.0); w * h];
    for (y, x) in (-REACH..=REACH).flat_map(|y| (-REACH..=REACH).map(move |x| (y, x))) {
        let (u, v) = (x as f64 * cos + y as f64 * sin, y as f64 * cos - x as f64 * sin);
        let g = libm::exp(-(u * u + v * v / 4.0) / (2.0 * sigma * sigma));
        let (im, re) = libm::sincos(xi * u);
        let wrapped = |at: isize, side: usize| at.rem_euclid(side.cast_signed()).cast_unsigned();
        let place = wrapped(y, h) * w + wrapped(x, w);
        envelope[place] += g;
        wave[place] = (wave[place].0 + g * re, wave[place].1 + g * im);
    }
    let total: f64 = envelope.iter().sum();
    // The imaginary part is odd and adds up to nothing.
    let kappa = wave.iter().map(|(re, _)| re).sum::<f64>() / total;
    wave.iter().zip(&envelope).map(|((re, im), g)| ((re - kappa * g) / total, im / total)).collect()
}

/// The Fourier transform of what is symmetric about the origin (its real part), transposed.
fn spectrum(wavelet: &[(f64, f64)], w: usize, h: usize) -> Vec<f32> {
    let turn = |n: usize, k: usize| {
        let (sin, cos) = libm::sincos(TAU * (k % n) as f64 / n as f64);
        (cos, -sin)
    };
    let sum = |terms: &mut dyn Iterator<Item = ((f64, f64), (f64, f64))>| {
        terms.fold((0.0, 0.0), |(re, im), ((a, b), (c, s))| (re + a * c - b * s, im + a * s + b * c))
    };
    let turns: [Vec<(f64, f64)>; 2] = [w, h].map(|n| (0..n).map(|k| turn(n, k)).collect());
    let mut rows = vec![(0.0, 0.0); w * h];
    for (row, out) in wavelet.chunks(w).zip(rows.chunks_mut(w)) {
        for (k, out) in out.iter_mut().enumerate() {
            *out = sum(&mut row.iter().enumerate().map(|(x, v)| (*v, turns[0][k * x % w])));
        }
    }
    let column = |k: usize, l: usize| sum(&mut (0..h).map(|y| (rows[y * w + k], turns[1][l * y % h]))).0 as f32;
    (0..w).flat_map(|k| (0..h).map(move |l| (k, l))).map(|(k, l)| column(k, l)).collect()
}

/// `spectrum · filter`, h frequencies a row.
pub(super) fn multiply(spectrum: &[f32], filter: &[f32], h: usize, out: &mut [f32]) {
    for ((from, filter), to) in
        spectrum.chunks_exact(2 * h).zip(filter.chunks_exact(h)).zip(out.chunks_exact_mut(2 * h))
    {
        for part in [0, h] {
            let from = from[part..part + h].iter().zip(filter);
            to[part..part + h].iter_mut().zip(from).for_each(|(to, (v, f))| *to = v * f);
        }
    }
}

/// `spectrum · filter` of every other pixel: frequencies that are half a turn apart fall together.
pub(super) fn multiply_and_fold(spectrum: &[f32], filter: &[f32], w: usize, h: usize, out: &mut [f32]) {
    let half = h / 2;
    for (k, to) in out.chunks_exact_mut(h).enumerate() {
        for (part, to) in to.chunks_exact_mut(half).enumerate() {
            let line = |k: usize, upper: usize| {
                let from = &spectrum[(2 * k + part) * h + upper..][..half];
                from.iter().zip(&filter[k * h + upper..][..half])
            };
            let lower = line(k, 0).zip(line(k, half));
            let upper = line(k + w / 2, 0).zip(line(k + w / 2, half));
            for (to, (((a, f), (b, g)), ((c, p), (d, q)))) in to.iter_mut().zip(lower.zip(upper)) {
                *to = (a * f + b * g) + (c * p + d * q);
            }
        }
    }
}

/// Ten standard deviations of the longest envelope, 3.2 pixels.
const REACH: isize = 32;
