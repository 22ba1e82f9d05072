//! What each row is divided by. Where no row is divided, nothing is kept: a row of few features is not much larger than
//! its divisor.

use std::ops::Range;

use efface_data::RowDivisor;
use zeroize::Zeroize;

/// The divisors of all positions. They tell how long rows are: overwritten with zeros when dropped.
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

    /// Another divisor at one of `n_positions` positions.
    pub(super) fn set(&mut self, position: usize, divisor: RowDivisor, n_positions: usize) {
        if self.divisors.is_empty() && divisor.is_one() {
            return;
        }
        if self.divisors.len() < n_positions {
            self.grow(n_positions);
        }
        self.divisors[position] = divisor;
    }

    /// Memory that is outgrown is zeroed before it is given back.
    fn grow(&mut self, len: usize) {
        if len > self.divisors.capacity() {
            let mut larger = Vec::with_capacity(len + self.divisors.len() / 2);
            larger.extend_from_slice(&self.divisors);
            self.divisors.zeroize();
            self.divisors = larger;
        }
        self.divisors.resize(len, RowDivisor::default());
    }

    /// Forgets those from `len` on.
    pub(super) fn truncate(&mut self, len: usize) {
        if let Some(forgotten) = self.divisors.get_mut(len..) {
            forgotten.iter_mut().for_each(Zeroize::zeroize);
            self.divisors.truncate(len);
        }
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.divisors.is_empty()
    }
}

impl Drop for Divisors {
    fn drop(&mut self) {
        self.divisors.zeroize();
    }
}
