//! From exact sums to weights, by one fixed program: no warm start, no factor of earlier rows, one thread.

use super::ExactSums;
use super::slices::{BITS, power_of_two};
use crate::linalg::{self, Cholesky, TrackedMatrix};
use crate::rounding::{UpperBound, operations};
use crate::secret::SecretVector;

/// Columns are brought to similar sizes down to 2⁻⁴⁰⁰.
const LEAST_UNIT: i32 = -400;

/// Products with the matrix that refine a solution, at most.
const REFINEMENTS: usize = 8;

impl ExactSums {
    /// The minimiser of each problem, `(Σ s x xᵀ + ridge·I)⁻¹ Σ s y x`, computed the same way from the same sums.
    ///
    /// Columns are divided by powers of two to similar sizes, which costs no rounding. `None` when the matrix is not
    /// positive definite in floating point, or a pass over the rows has to make the sums again first.
    pub(crate) fn weights(&self, ridge: f64) -> Option<Vec<SecretVector>> {
        let exponents: Vec<i32> = self.ranges.exponents().iter().map(|e| e.unwrap_or(0)).collect();
        let (columns, targets) = exponents.split_at(self.dim);
        // What is smaller than that is left small: its ridge would be beyond double precision.
        let units: Vec<i32> = columns.iter().map(|e| (*e).max(LEAST_UNIT)).collect();
        let below = |j: usize| columns[j] - units[j];
        let own = |i: usize, j: usize| if i == j { ridge * power(-2 * units[i]) } else { 0.0 };
        let matrix = self.matrix(own, |i, j| power(below(i) + below(j)))?;
        let factor = Cholesky::on_one_thread(&matrix, 0.0)?;
        let floor = (operations(self.dim + 3) * matrix.trace()).get();
        let done = |v: &[f64], leftover: f64| leftover <= floor * v.iter().map(|x| x * x).sum::<f64>().sqrt();
        let solve = |(k, target): (usize, &i32)| {
            let entry = |j: usize| self.entry(self.dim + k, j) * power(below(j));
            let right_hand_side: SecretVector = (0..self.dim).map(entry).collect();
            let mut operator = linalg::Factored { matrix: &matrix, factor: &factor };
            let mut weights = linalg::solve(&mut operator, 0.0, &right_hand_side, REFINEMENTS, done).step;
            weights.iter_mut().zip(&units).for_each(|(weight, e)| *weight *= power(target - e));
            weights.iter().all(|weight| weight.is_finite()).then_some(weights)
        };
        targets.iter().enumerate().map(solve).collect()
    }

    /// `Σ s x xᵀ` in the units of the rows, for estimates.
    pub(crate) fn hessian(&self) -> Option<TrackedMatrix> {
        let exponents: Vec<i32> = self.ranges.exponents().iter().map(|e| e.unwrap_or(0)).collect();
        self.matrix(|_, _| 0.0, |i, j| power(exponents[i] + exponents[j]))
    }

    /// The sums over features, times `scale`, plus `plus`, as numbers.
    fn matrix(&self, plus: impl Fn(usize, usize) -> f64, scale: impl Fn(usize, usize) -> f64) -> Option<TrackedMatrix> {
        let dim = self.dim;
        self.triangle.as_ref()?;
        let mut lower = vec![0.0; dim * dim];
        let mut trace = UpperBound::ZERO;
        for j in 0..dim {
            for i in j..dim {
                lower[j * dim + i] = self.entry(i, j) * scale(i, j) + plus(i, j);
            }
            trace += UpperBound::new(lower[j * dim + j].next_up());
        }
        // Each entry is the nearest number, and so is its sum with the ridge.
        TrackedMatrix::from_parts(dim, lower, operations(2) * trace, trace)
    }

    /// Entry (i, j), i ≥ j, of the matrix whose columns are divided by 2^e: the nearest number.
    fn entry(&self, i: usize, j: usize) -> f64 {
        let n_columns = self.n_columns();
        let place = j * n_columns - j * (j + 1) / 2 + i;
        let integer = self.triangle.as_ref().map_or(0, |triangle| triangle.0[place]);
        integer as f64 * power_of_two(-2 * BITS)
    }
}

/// 2^k, 0 or infinite beyond the range of doubles.
fn power(k: i32) -> f64 {
    match k {
        ..-1074 => 0.0,
        -1074..-1022 => f64::from_bits(1 << (k + 1074)),
        -1022..1024 => power_of_two(k),
        1024.. => f64::INFINITY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_are_exact_wherever_doubles_reach() {
        for k in [-1074, -1073, -1023, -1022, -41, 0, 1, 1023] {
            assert_eq!(power(k).log2(), f64::from(k));
        }
        assert_eq!((power(-1075), power(1024)), (0.0, f64::INFINITY));
    }
}
