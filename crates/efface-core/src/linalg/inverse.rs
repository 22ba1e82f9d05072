//! The inverse of a matrix that rows leave and arrive in: a preconditioner, which enters no claim.

use std::fmt;
use std::sync::Arc;

use super::listed::Listed;
use super::{Cholesky, kernel};
use crate::rows::Sign;
use crate::secret::SecretVector;

/// `(L Lᵀ + Σ ±x_i x_iᵀ)⁻¹` for the rows that left or arrived since L was made.
///
/// With `y_i = L⁻¹ x_i` that is `L⁻ᵀ (I + Σ ±y_i y_iᵀ)⁻¹ L⁻¹`, and each row corrects the inverse Q in the middle by rank one
/// (Sherman and Morrison): with `u = Q y`,
///
/// ```text
/// (Q⁻¹ ± y yᵀ)⁻¹ = Q ∓ u uᵀ / (1 ± yᵀu)
/// ```
#[derive(Clone)]
pub(crate) struct Inverse {
    factor: Arc<Cholesky>,
    /// The u_i, each with its ∓ 1 / (1 ± y_iᵀu_i).
    corrections: Listed,
    /// Rows that are not corrected for yet: L⁻¹ is applied to them beside the next vector, in one pass over the factor.
    waiting: Listed,
}

/// Changes of more rows than this are left to the iterations: solving for each row would take longer.
const MOST_AT_ONCE: usize = 8;

/// A correction that divides by less than this would say nothing.
const LEAST_DIVISOR: f64 = 1e-6;

impl Inverse {
    pub(crate) fn new(factor: Arc<Cholesky>) -> Self {
        Self { factor, corrections: Listed::default(), waiting: Listed::default() }
    }

    /// The factor that it started from.
    pub(crate) fn factor(&self) -> &Arc<Cholesky> {
        &self.factor
    }

    /// Follows a few rows that leave or arrive.
    pub(crate) fn update(&mut self, rows: &[f64], sign: Sign) {
        let dim = self.factor.dim();
        if rows.len() <= MOST_AT_ONCE * dim && !self.is_long() {
            self.waiting.push(rows, dim, sign.factor(), MOST_AT_ONCE);
        }
    }

    /// Whether a new factor is worth more than another correction.
    pub(crate) fn is_long(&self) -> bool {
        self.corrections.len() + self.waiting.len() >= self.most()
    }

    /// Corrections that cost less than reading a factor does.
    fn most(&self) -> usize {
        self.factor.dim() / 8
    }

    /// Replaces v by about `A⁻¹ v`.
    pub(crate) fn apply(&mut self, v: &mut [f64]) {
        let (dim, waiting) = (v.len(), std::mem::take(&mut self.waiting));
        let mut halves = SecretVector::from([&*v, waiting.rows()].concat());
        self.factor.narrow().solve_forward(&mut halves);
        let (half, others) = halves.split_at(dim);
        let mut others = others.chunks_exact(dim);
        for (rows, sign) in waiting.runs(dim) {
            for y in others.by_ref().take(rows.len() / dim) {
                let mut u = SecretVector::from(y.to_vec());
                self.corrections.add_product(y, &mut u);
                let divisor = 1.0 + sign * kernel::dot(y, &u);
                if divisor > LEAST_DIVISOR {
                    self.corrections.push(&u, dim, -sign / divisor, self.most());
                }
            }
        }
        v.copy_from_slice(half);
        self.corrections.add_product(half, v);
        self.factor.narrow().solve_backward(v);
    }
}

/// Shape only.
impl fmt::Debug for Inverse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inverse").field("factor", &self.factor).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(dim: usize, seed: usize) -> Vec<f64> {
        (0..dim).map(|i| ((i * 37 + seed * 59 + 11) % 101) as f64 / 50.0 - 1.0).collect()
    }

    /// `3 I + Σ x xᵀ` over rows with these seeds, lower triangle.
    fn factor(dim: usize, seeds: impl Iterator<Item = usize>) -> Cholesky {
        let mut lower: Vec<f64> = (0..dim * dim).map(|at| if at % (dim + 1) == 0 { 3.0 } else { 0.0 }).collect();
        seeds.for_each(|seed| kernel::rank_update(&mut lower, dim, &row(dim, seed), &[1.0]));
        Cholesky::of_lower(dim, lower).expect("positive definite")
    }

    #[test]
    fn rows_that_leave_and_arrive_are_followed() {
        let dim = 100;
        let mut inverse = Inverse::new(Arc::new(factor(dim, 0..20)));
        inverse.update(&[row(dim, 0), row(dim, 1)].concat(), Sign::Retract);
        inverse.update(&row(dim, 20), Sign::Add);
        for left in 2..8 {
            let mut found = row(dim, 99);
            inverse.apply(&mut found);
            let mut expected = row(dim, 99);
            factor(dim, left..21).solve(&mut expected);
            let off = found.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(off < 1e-6, "{left} rows left: off by {off:e}");
            inverse.update(&row(dim, left), Sign::Retract);
        }
    }

    #[test]
    fn a_row_that_cannot_leave_and_a_change_of_many_rows_are_left_to_the_solver() {
        let dim = 16;
        let mut inverse = Inverse::new(Arc::new(factor(dim, 0..1)));
        let huge: Vec<f64> = row(dim, 0).iter().map(|x| 10.0 * x).collect();
        inverse.update(&huge, Sign::Retract);
        inverse.update(&vec![1.0; (MOST_AT_ONCE + 1) * dim], Sign::Add);
        let (mut found, mut expected) = (row(dim, 5), row(dim, 5));
        inverse.apply(&mut found);
        Inverse::new(Arc::new(factor(dim, 0..1))).apply(&mut expected);
        assert_eq!(found, expected);
    }

    #[test]
    fn a_factor_beyond_single_precision_still_gives_numbers() {
        for entry in [1e-100, 1e100] {
            let mut v = [1.0, -1.0];
            let factor = Cholesky::of_lower(2, vec![entry, entry / 2.0, 0.0, entry]).expect("positive definite");
            Inverse::new(Arc::new(factor)).apply(&mut v);
            assert!(v.iter().all(|x| x.is_finite()), "{entry:e}: {v:?}");
        }
    }
}
