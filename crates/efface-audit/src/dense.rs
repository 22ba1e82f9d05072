//! Symmetric matrices as the reconstruction needs them: a few products and one solve.

use efface_core::linalg::{Cholesky, TrackedMatrix};
use efface_core::rounding::UpperBound;

/// A symmetric matrix, all of it, row-major.
#[derive(Clone)]
pub(crate) struct Symmetric {
    dim: usize,
    entries: Vec<f64>,
}

impl Symmetric {
    /// A tracked matrix without its error bound, times a factor.
    pub(crate) fn of(matrix: &TrackedMatrix, factor: f64) -> Self {
        let (lower, _, _) = matrix.parts();
        let dim = matrix.dim();
        let mut entries = vec![0.0; dim * dim];
        for column in 0..dim {
            for row in column..dim {
                let value = factor * lower[column * dim + row];
                entries[row * dim + column] = value;
                entries[column * dim + row] = value;
            }
        }
        Self { dim, entries }
    }

    /// Adds `ridge` to the diagonal.
    pub(crate) fn add_ridge(&mut self, ridge: f64) {
        self.entries.iter_mut().step_by(self.dim + 1).for_each(|entry| *entry += ridge);
    }

    pub(crate) fn dim(&self) -> usize {
        self.dim
    }

    pub(crate) fn trace(&self) -> f64 {
        self.entries.iter().step_by(self.dim + 1).sum()
    }

    /// A v.
    pub(crate) fn times(&self, v: &[f64]) -> Vec<f64> {
        self.entries.chunks_exact(self.dim).map(|row| dot(row, v)).collect()
    }

    /// A A.
    pub(crate) fn squared(&self) -> Self {
        let mut entries = vec![0.0; self.dim * self.dim];
        for (out, row) in entries.chunks_exact_mut(self.dim).zip(self.entries.chunks_exact(self.dim)) {
            for (factor, other) in row.iter().zip(self.entries.chunks_exact(self.dim)) {
                out.iter_mut().zip(other).for_each(|(out, x)| *out += factor * x);
            }
        }
        Self { dim: self.dim, entries }
    }

    /// The blocks of `dim` rows and columns along the diagonal.
    pub(crate) fn diagonal_blocks(&self, dim: usize) -> Vec<Self> {
        let block = |start: usize| {
            let rows = self.entries.chunks_exact(self.dim).skip(start).take(dim);
            Self { dim, entries: rows.flat_map(|row| &row[start..start + dim]).copied().collect() }
        };
        (0..self.dim).step_by(dim).map(block).collect()
    }

    /// a A + b B.
    pub(crate) fn combined(&self, a: f64, other: &Self, b: f64) -> Self {
        let entries = self.entries.iter().zip(&other.entries).map(|(x, y)| a * x + b * y).collect();
        Self { dim: self.dim, entries }
    }

    /// Factor of the matrix, which must be positive definite.
    pub(crate) fn factor(&self) -> Option<Cholesky> {
        let trace = UpperBound::new(self.trace().abs());
        let matrix = TrackedMatrix::from_parts(self.dim, self.entries.clone(), UpperBound::ZERO, trace)?;
        // Rounding may have made it slightly indefinite.
        let ridges = [0.0, 1e-14, 1e-11, 1e-8];
        ridges.into_iter().find_map(|ridge| Cholesky::of(&matrix, ridge * trace.get()))
    }
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// ‖a‖.
pub(crate) fn length(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

/// A vector in its own direction, of length 1.
pub(crate) fn normalized(vector: &[f64]) -> Vec<f64> {
    let length = length(vector);
    vector.iter().map(|x| x / length).collect()
}

/// |cosine| of the angle between two vectors; 0 where one of them is zero.
pub(crate) fn cosine(a: &[f64], b: &[f64]) -> f64 {
    let size = (dot(a, a) * dot(b, b)).sqrt();
    if size > 0.0 { (dot(a, b) / size).abs().min(1.0) } else { 0.0 }
}
