//! Conjugate gradients for `(A + ridge·I) v = b`, preconditioned by what is known of a nearby matrix.
//!
//! After a few rows have left, the factor at hand is off by a matrix of small rank and size, and two or three iterations
//! of O(d²) restore full accuracy. The caller says when the leftover is small enough: it is measured and charged.

use super::{Cholesky, TrackedMatrix, kernel};
use crate::rounding::{UpperBound, norm, operations};
use crate::secret::SecretVector;

/// A symmetric matrix that is known by its products, each with its error.
pub trait Operator {
    /// `out = (A + ridge·I) v`, and a bound on its distance from the product with the exact matrix.
    fn multiply(&self, ridge: f64, v: &[f64], v_norm: UpperBound, out: &mut [f64]) -> UpperBound;

    /// Upper bound of every norm of `A + ridge·I` as products are made with it.
    fn size(&self, ridge: f64) -> UpperBound;

    /// Upper bound of the distance between that A and the exact one.
    fn error(&self) -> UpperBound;

    /// Replaces v by an approximate solution of `(A + ridge·I) x = v`: any will do.
    fn precondition(&mut self, v: &mut [f64]);
}

/// A matrix and the factor of a nearby one.
pub(crate) struct Factored<'a> {
    pub(crate) matrix: &'a TrackedMatrix,
    pub(crate) factor: &'a Cholesky,
}

impl Operator for Factored<'_> {
    fn multiply(&self, ridge: f64, v: &[f64], v_norm: UpperBound, out: &mut [f64]) -> UpperBound {
        self.matrix.multiply(ridge, v, v_norm, out)
    }

    fn size(&self, ridge: f64) -> UpperBound {
        self.matrix.size(ridge)
    }

    fn error(&self) -> UpperBound {
        self.matrix.error()
    }

    fn precondition(&mut self, v: &mut [f64]) {
        self.factor.solve(v);
    }
}

/// A step and what is left of the right-hand side after it.
pub(crate) struct Solution {
    /// v.
    pub(crate) step: SecretVector,
    /// `b − (A + ridge·I) v`.
    pub(crate) leftover: SecretVector,
    /// Distance of `leftover` from the exact one.
    pub(crate) leftover_error: UpperBound,
    /// Products with the matrix that were made.
    pub(crate) iterations: usize,
    /// Whether `done` was satisfied.
    pub(crate) converged: bool,
}

/// Solves until `done(step, norm of the leftover)` or `limit` iterations.
pub(crate) fn solve(
    matrix: &mut dyn Operator,
    ridge: f64,
    right_hand_side: &[f64],
    limit: usize,
    mut done: impl FnMut(&[f64], f64) -> bool,
) -> Solution {
    let dim = right_hand_side.len();
    let mut step = SecretVector::from(right_hand_side.to_vec());
    matrix.precondition(&mut step);
    let mut image = SecretVector::zeros(dim);
    let (mut leftover, mut leftover_error) = remainder(matrix, ridge, right_hand_side, &step, &mut image);
    let mut iterations = 1;
    let mut converged = done(&step, kernel::dot(&leftover, &leftover).sqrt());
    let mut direction = SecretVector::default();
    let mut last_product = 0.0;
    while !converged && iterations < limit {
        let mut preconditioned = leftover.clone();
        matrix.precondition(&mut preconditioned);
        let product = kernel::dot(&preconditioned, &leftover);
        if direction.is_empty() {
            direction = preconditioned;
        } else {
            let keep = product / last_product;
            for (direction, new) in direction.iter_mut().zip(&*preconditioned) {
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
fn remainder(matrix: &dyn Operator, ridge: f64, b: &[f64], v: &[f64], image: &mut [f64]) -> (SecretVector, UpperBound) {
    let product_error = matrix.multiply(ridge, v, norm(v), image);
    let leftover: SecretVector = b.iter().zip(image).map(|(b, image)| b - *image).collect();
    let subtraction = operations(1) * norm(&leftover);
    (leftover, product_error + subtraction)
}

#[cfg(test)]
mod tests {
    use efface_testkit::DoubleDouble;
    use efface_testkit::dense::dot;

    use super::*;

    /// `c·I + Σ rows rowsᵀ` with small integers, exactly as stored.
    fn integer_matrix(dim: usize, n_rows: usize, diagonal: f64) -> TrackedMatrix {
        let row = |k: usize, i: usize| ((k * 31 + i * 17) % 11) as f64 - 5.0;
        let entry = |i: usize, j: usize| {
            let sum: f64 = (0..n_rows).map(|k| row(k, i) * row(k, j)).sum();
            sum + if i == j { diagonal } else { 0.0 }
        };
        let lower = (0..dim * dim).map(|at| entry(at % dim, at / dim)).collect();
        let trace = (0..dim).map(|i| UpperBound::new(entry(i, i))).sum();
        TrackedMatrix::from_parts(dim, lower, UpperBound::ZERO, trace).expect("a square")
    }

    /// ‖b − (A + ridge·I) v − leftover‖ in double-double.
    fn leftover_error(matrix: &TrackedMatrix, ridge: f64, b: &[f64], solution: &Solution) -> f64 {
        let (lower, dim) = (matrix.lower(), matrix.dim());
        let left: Vec<DoubleDouble> = (0..dim)
            .map(|i| {
                let row: Vec<f64> = (0..dim).map(|j| lower[i.min(j) * dim + i.max(j)]).collect();
                let image = dot(&row, &solution.step) + DoubleDouble::from_product(ridge, solution.step[i]);
                DoubleDouble::from(b[i]) - image - solution.leftover[i]
            })
            .collect();
        efface_testkit::dense::norm(&left).to_f64()
    }

    #[test]
    fn leftover_is_known_within_its_error_however_bad_the_factor() {
        let mut iterations = 0;
        for dim in [1, 2, 5, 12, 40] {
            for missing in 0..6 {
                let (matrix, ridge) = (integer_matrix(dim, 20, 1.0), 0.37);
                // The factor of a matrix with fewer rows: the more are missing, the more iterations it takes.
                let nearby = integer_matrix(dim, 20 - 3 * missing, 1.0);
                let factor = Cholesky::of(&nearby, ridge).expect("positive definite");
                let b: Vec<f64> = (0..dim).map(|i| ((i * 29 + 7) % 13) as f64 / 7.0 - 0.8).collect();
                let solution =
                    solve(&mut Factored { matrix: &matrix, factor: &factor }, ridge, &b, 60, |_, leftover| {
                        leftover < 1e-11
                    });
                assert!(solution.converged, "d = {dim}, {missing} missing: {} iterations", solution.iterations);
                let (error, bound) = (leftover_error(&matrix, ridge, &b, &solution), solution.leftover_error.get());
                assert!(error <= bound, "d = {dim}, {missing} missing: off by {error:e}, bound {bound:e}");
                iterations = iterations.max(solution.iterations);
            }
        }
        assert!(iterations > 10, "the factors are too good: {iterations} iterations");
    }

    #[test]
    fn a_solver_that_is_never_done_stops_at_its_limit() {
        let matrix = integer_matrix(4, 3, 1.0);
        let factor = Cholesky::of(&integer_matrix(4, 1, 1.0), 0.0).expect("positive definite");
        let solution =
            solve(&mut Factored { matrix: &matrix, factor: &factor }, 0.0, &[1.0, 2.0, 3.0, 4.0], 3, |_, _| false);
        assert!(!solution.converged && solution.iterations <= 3);
    }
}
