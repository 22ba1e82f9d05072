//! An upper bound of the largest eigenvalue of a Gram matrix: `‖X‖₂²`.

use super::{Cholesky, TrackedMatrix, kernel};
use crate::rounding::{LowerBound, UpperBound, norm, operations};

/// Upper bound of the largest eigenvalue of the exact matrix.
///
/// ```text
/// λ_max(K) ≤ τ + d·γ_{d+2}/(1 − γ_{d+2})·τ + ‖error of K‖_F      whenever the Cholesky factorization of τI − K succeeds
/// ```
///
/// Power iterations only estimate from below; they pick τ. That the factorization of τI − K runs to its end proves
/// that τI − K plus a small perturbation is positive semi-definite, and the perturbation is at most
/// γ_{d+1}/(1 − γ_{d+1}) times the trace (Higham 2002, Theorem 10.3; Rump 2006), which is at most dτ.
/// The trace is the answer when every try fails: it is always a bound.
pub fn largest_eigenvalue(gram: &TrackedMatrix) -> UpperBound {
    let (dim, lower) = (gram.dim(), gram.lower());
    let fallback = gram.trace();
    if dim == 1 {
        return (UpperBound::new(lower[0].max(0.0)) + gram.error()).min(fallback);
    }
    let mut guess = power_estimate(dim, &lower) * 1.001;
    for _ in 0..8 {
        if guess.is_finite() && guess > 0.0 && gap_is_positive(dim, &lower, guess) {
            let backward = operations(dim + 2);
            let perturbation = backward.over(LowerBound::new(1.0).minus(backward));
            let size = UpperBound::count(dim) * UpperBound::new(guess);
            return (UpperBound::new(guess) + perturbation * size + gram.error()).min(fallback);
        }
        guess *= 1.05;
    }
    fallback
}

/// Whether τI − K can be factorized.
fn gap_is_positive(dim: usize, lower: &[f64], threshold: f64) -> bool {
    let mut gap: Vec<f64> = lower.iter().map(|k| -k).collect();
    for entry in gap.iter_mut().step_by(dim + 1) {
        // Rounded down: a gap that is too small can only make the test fail.
        *entry = (*entry + threshold).next_down();
    }
    Cholesky::of_lower(dim, gap).is_some()
}

/// Largest eigenvalue by power iteration from a fixed start; an estimate from below.
fn power_estimate(dim: usize, lower: &[f64]) -> f64 {
    let mut v: Vec<f64> = (0..dim).map(|j| 1.0 + 0.3 * ((j * 7919 % 1009) as f64 / 1009.0)).collect();
    let mut image = vec![0.0; dim];
    let mut estimate = 0.0;
    for _ in 0..40 {
        kernel::symmetric_product(lower, &v, &mut image);
        let size = norm(&image).get();
        if size == 0.0 || !size.is_finite() {
            return size;
        }
        let next = size / norm(&v).get();
        std::mem::swap(&mut v, &mut image);
        for x in &mut v {
            *x /= size;
        }
        if (next - estimate).abs() < 1e-5 * next {
            return next;
        }
        estimate = next;
    }
    estimate
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::{Features, RowBlock, UNIT_WEIGHTS};
    use crate::sums::{GramSum, GramWeights};

    fn gram_of(rows: &[f64], dim: usize) -> TrackedMatrix {
        let n = rows.len() / dim;
        let block = RowBlock {
            features: Features::F64(rows),
            labels: &vec![0.0; n],
            selectors: &vec![0; n],
            present: &vec![true; n],
            row_weights: &UNIT_WEIGHTS[..n],
        };
        let longest = rows.chunks_exact(dim).map(norm).fold(UpperBound::ZERO, UpperBound::max);
        let mut sum = GramSum::zeros(dim, longest, &GramWeights::One);
        sum.add(&GramWeights::One, &block).expect("the same point");
        sum.into()
    }

    #[test]
    fn a_known_eigenvalue_is_enclosed_tightly() {
        // Rows e_j·√j: the eigenvalues are 1, 2, …, dim.
        for dim in [1, 2, 7, 60] {
            let mut rows = vec![0.0; dim * dim];
            for j in 0..dim {
                rows[j * dim + j] = ((j + 1) as f64).sqrt();
            }
            let bound = largest_eigenvalue(&gram_of(&rows, dim)).get();
            assert!(bound >= dim as f64 && bound <= 1.06 * dim as f64, "dim {dim}: {bound}");
        }
    }

    #[test]
    fn a_start_orthogonal_to_the_top_eigenvector_is_no_excuse() {
        // The top eigenvector (1, −1)/√2 is nearly orthogonal to the start of the power iteration.
        let rows = [3.0, -3.0, 1e-3, 1e-3];
        let bound = largest_eigenvalue(&gram_of(&rows, 2)).get();
        assert!(bound >= 18.0, "{bound}");
    }

    #[test]
    fn the_zero_matrix_has_the_zero_bound() {
        assert_eq!(largest_eigenvalue(&TrackedMatrix::zeros(3)), UpperBound::ZERO);
    }
}
