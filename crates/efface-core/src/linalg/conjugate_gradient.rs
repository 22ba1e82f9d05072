//! Conjugate gradients for `(A + ridge·I) v = b`, preconditioned by the factor of a nearby matrix.
//!
//! After a few rows have left, the factor at hand is off by a matrix of small rank and size, and two or three iterations
//! of O(d²) restore full accuracy. The caller says when the leftover is small enough: it is measured and charged.

use super::{Cholesky, TrackedMatrix, kernel};
use crate::rounding::{UpperBound, norm, operations};

/// A step and what is left of the right-hand side after it.
pub(crate) struct Solution {
    /// v.
    pub(crate) step: Vec<f64>,
    /// `b − (A + ridge·I) v`.
    pub(crate) leftover: Vec<f64>,
    /// Distance of `leftover` from the exact one.
    pub(crate) leftover_error: UpperBound,
    /// Products with the matrix that were made.
    pub(crate) iterations: usize,
    /// Whether `done` was satisfied.
    pub(crate) converged: bool,
}

/// Solves until `done(step, norm of the leftover)` or `limit` iterations.
pub(crate) fn solve(
    matrix: &TrackedMatrix,
    ridge: f64,
    factor: &Cholesky,
    right_hand_side: &[f64],
    limit: usize,
    mut done: impl FnMut(&[f64], f64) -> bool,
) -> Solution {
    let dim = right_hand_side.len();
    let mut step = right_hand_side.to_vec();
    factor.solve(&mut step);
    let mut image = vec![0.0; dim];
    let (mut leftover, mut leftover_error) = remainder(matrix, ridge, right_hand_side, &step, &mut image);
    let mut iterations = 1;
    let mut converged = done(&step, kernel::dot(&leftover, &leftover).sqrt());
    let mut direction: Vec<f64> = Vec::new();
    let mut last_product = 0.0;
    while !converged && iterations < limit {
        let mut preconditioned = leftover.clone();
        factor.solve(&mut preconditioned);
        let product = kernel::dot(&preconditioned, &leftover);
        if direction.is_empty() {
            direction = preconditioned;
        } else {
            let keep = product / last_product;
            for (direction, new) in direction.iter_mut().zip(&preconditioned) {
                *direction = keep * *direction + new;
            }
        }
        last_product = product;
        let direction_norm = norm(&direction);
        let product_error = matrix.multiply(ridge, &direction, direction_norm, &mut image);
        let curvature = kernel::dot(&direction, &image);
        if !(product > 0.0 && curvature > 0.0) {
            break;
        }
        let length = product / curvature;
        // Both updates below round: the step's rounding reaches the leftover through the matrix.
        let reach = UpperBound::new(length);
        let moved = norm(&step) + reach * direction_norm;
        leftover_error += reach * product_error
            + operations(2) * (matrix.size(ridge) * moved + norm(&leftover) + reach * norm(&image));
        kernel::axpy(length, &direction, &mut step);
        kernel::axpy(-length, &image, &mut leftover);
        iterations += 1;
        if done(&step, kernel::dot(&leftover, &leftover).sqrt()) {
            converged = true;
        }
    }
    Solution { step, leftover, leftover_error, iterations, converged }
}

/// `b − (A + ridge·I) v` and its rounding error.
fn remainder(matrix: &TrackedMatrix, ridge: f64, b: &[f64], v: &[f64], image: &mut [f64]) -> (Vec<f64>, UpperBound) {
    let product_error = matrix.multiply(ridge, v, norm(v), image);
    let leftover: Vec<f64> = b.iter().zip(image).map(|(b, image)| b - *image).collect();
    let subtraction = operations(1) * norm(&leftover);
    (leftover, product_error + subtraction)
}
