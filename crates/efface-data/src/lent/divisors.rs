//! What each lent row is divided by. Where no row is divided, nothing is kept: a row of few features is not much larger
//! than its divisor.

use std::ops::Range;

use zeroize::Zeroize;

use crate::scale::RowDivisor;

/// The divisors of all lent rows. They tell how long rows are: overwritten with zeros when dropped.
pub(super) struct Divisors {
    /// Empty: every one is 1.
    divisors: Vec<RowDivisor>,
}

impl Divisors {
    pub(super) fn new(mut divisors: Vec<RowDivisor>) -> Self {
        if divisors.iter().all(|divisor| divisor.is_one()) {
            divisors = Vec::new();
        }
        Self { divisors }
    }

    pub(super) fn get(&self, position: usize) -> RowDivisor {
        self.divisors.get(position).copied().unwrap_or_default()
    }

    /// Whether the rows of a range stay as they are.
    pub(super) fn are_one(&self, rows: Range<usize>) -> bool {
        self.divisors.is_empty() || self.divisors[rows].iter().all(|divisor| divisor.is_one())
    }

    /// Overwrites the divisor of a row that left.
    pub(super) fn forget(&mut self, position: usize) {
        if let Some(divisor) = self.divisors.get_mut(position) {
            *divisor = RowDivisor::default();
        }
    }
}

impl Drop for Divisors {
    fn drop(&mut self) {
        self.divisors.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divisors_are_kept_only_where_rows_are_divided() {
        assert!(Divisors::new(vec![RowDivisor::ONE; 3]).divisors.is_empty());
        let mut divisors = Divisors::new(vec![RowDivisor::ONE, RowDivisor::plain(2.0), RowDivisor::ONE]);
        assert!(!divisors.get(1).is_one() && divisors.get(2).is_one());
        assert!(divisors.are_one(2..3) && !divisors.are_one(0..2));
        divisors.forget(1);
        assert!(divisors.are_one(0..3));
    }
}
