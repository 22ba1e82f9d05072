//! What rows weigh. A row of weight s counts as s rows: in the loss, in the ridge and in every bound.

use std::iter::Sum;
use std::ops::{Add, AddAssign};

use super::BLOCK_ROWS;
use crate::rounding::{LowerBound, UpperBound};

/// The weights of a block in which every row counts once.
pub static UNIT_WEIGHTS: [f64; BLOCK_ROWS] = [1.0; BLOCK_ROWS];

/// No row may weigh more.
pub const MOST_ROW_WEIGHT: f64 = (1_u64 << 31) as f64;

/// 2⁶⁴: row weights are multiples of its inverse.
const UNITS: f64 = 18_446_744_073_709_551_616.0;

/// The nearest weight that a row can have, a multiple of 2⁻⁶⁴: whatever is above 2⁻¹¹ stays as it is. `None` for what
/// is negative, not finite or above [`MOST_ROW_WEIGHT`].
pub fn round_row_weight(weight: f64) -> Option<f64> {
    // A product with a power of two is exact here, and so is the way back.
    (0.0..=MOST_ROW_WEIGHT).contains(&weight).then(|| (weight * UNITS).round() / UNITS)
}

/// A sum of row weights, without any rounding: 2³² rows of the largest weight fit.
///
/// λ times it is the ridge of the objective, so rows that leave must take away exactly what they brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct WeightSum(u128);

impl WeightSum {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// So many rows that count once each.
    pub fn of_rows(n_rows: usize) -> Self {
        Self((n_rows as u128) << 64)
    }

    /// One row of a weight that [`round_row_weight`] gave.
    pub fn of_row(weight: f64) -> Self {
        // Converting a number this large is slow beside a row of few features.
        if weight == 1.0 { Self(1 << 64) } else { Self((weight * UNITS) as u128) }
    }

    /// The sum in units of 2⁻⁶⁴, to be kept.
    pub fn units(self) -> u128 {
        self.0
    }

    /// A sum that was kept.
    pub fn from_units(units: u128) -> Self {
        Self(units)
    }

    /// The nearest number. A number of rows is met exactly.
    pub fn get(self) -> f64 {
        self.0 as f64 / UNITS
    }

    /// Not less than the sum.
    pub fn upper(self) -> UpperBound {
        let nearest = self.get();
        UpperBound::new(if Self::of_row(nearest) >= self { nearest } else { nearest.next_up() })
    }

    /// Not more than the sum.
    pub fn lower(self) -> LowerBound {
        let nearest = self.get();
        LowerBound::new(if Self::of_row(nearest) <= self { nearest } else { nearest.next_down() })
    }

    /// What is left when these rows leave, or nothing.
    #[must_use]
    pub fn without(self, leaving: Self) -> Self {
        Self(self.0.saturating_sub(leaving.0))
    }
}

impl Add for WeightSum {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for WeightSum {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for WeightSum {
    fn sum<I: Iterator<Item = Self>>(sums: I) -> Self {
        sums.fold(Self::ZERO, Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_count_once_are_counted_without_rounding() {
        for n in [0, 1, 11_982, 1 << 40] {
            let sum = WeightSum::of_rows(n);
            assert_eq!((sum.get(), sum.upper().get(), sum.lower().get()), (n as f64, n as f64, n as f64));
            assert_eq!(sum, WeightSum::of_row(1.0 * n as f64));
        }
    }

    #[test]
    fn what_leaves_takes_away_what_it_brought() {
        let weights: Vec<f64> = (1..1000).map(|i| f64::from(i).sqrt() * 0.37 / f64::from(i % 7 + 1)).collect();
        let weights: Vec<f64> = weights.into_iter().map(|w| round_row_weight(w).expect("in range")).collect();
        let mut sum: WeightSum = weights.iter().map(|w| WeightSum::of_row(*w)).sum();
        for (i, weight) in weights.iter().enumerate() {
            sum = sum.without(WeightSum::of_row(*weight));
            let rest: WeightSum = weights[i + 1..].iter().rev().map(|w| WeightSum::of_row(*w)).sum();
            assert_eq!(sum, rest);
            assert!(sum.lower().get() <= sum.upper().get());
        }
        assert_eq!(sum, WeightSum::ZERO);
    }

    #[test]
    fn a_weight_is_rounded_to_the_grid_and_kept_where_it_is_on_it() {
        for weight in [0.0, 1.0, 0.1, 1.0 / 3.0, 1234.567, MOST_ROW_WEIGHT, 2f64.powi(-11), 2f64.powi(-64)] {
            assert_eq!(round_row_weight(weight), Some(weight));
        }
        assert_eq!(round_row_weight(1e-30), Some(0.0));
        let small = round_row_weight(1e-7).expect("in range");
        assert!(small != 1e-7 && (small - 1e-7).abs() <= 2f64.powi(-65), "{small:e}");
        for weight in [-1e-300, f64::NAN, f64::INFINITY, 2.0 * MOST_ROW_WEIGHT] {
            assert_eq!(round_row_weight(weight), None);
        }
    }

    #[test]
    fn bounds_enclose_a_sum_that_no_double_holds() {
        let sum = WeightSum::of_rows(1 << 20) + WeightSum::of_row(2f64.powi(-40));
        assert!(sum.lower().get() < sum.upper().get());
        assert!(WeightSum::of_row(sum.lower().get()) < sum && sum < WeightSum::of_row(sum.upper().get()));
    }
}
