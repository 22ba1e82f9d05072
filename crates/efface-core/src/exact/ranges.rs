//! How large the values of each column are: counts per power of two, from which the grid of the sums is derived.
//!
//! The counts are integers, so a row that leaves takes away exactly what it brought, and the grid is a function of the
//! rows present alone.

use zeroize::Zeroizing;

use super::slices::WholeRows;
use crate::rows::{Problem, RowBlock, Sign};
use crate::sums::{DecodeError, Reader, Writer};

/// The least exponent of a grid: what is smaller than 2⁻⁹⁴² counts as zero there, numbers without a leading bit among it.
const LEAST_EXPONENT: i32 = -900;

/// Exponent fields of a double: 0 is zero (or a number without a leading bit), 2047 is not finite.
const FIELDS: usize = 2048;

const KIND: u8 = b'r';

/// For each column, how many of its values lie in each binade.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnRanges {
    /// Per column: exponent field of the binade and how many values it has, ascending, none of them 0.
    columns: Vec<Vec<(u16, u64)>>,
}

impl ColumnRanges {
    /// No rows yet.
    pub fn empty(n_columns: usize) -> Self {
        Self { columns: vec![Vec::new(); n_columns] }
    }

    /// Ranges that were kept; `None` when they are not in order.
    pub fn from_counts(columns: Vec<Vec<(u16, u64)>>) -> Option<Self> {
        let in_order = |counts: &Vec<(u16, u64)>| {
            counts.is_sorted_by(|a, b| a.0 < b.0)
                && counts.iter().all(|(field, n)| (1..FIELDS as u16 - 1).contains(field) && *n > 0)
        };
        columns.iter().all(in_order).then_some(Self { columns })
    }

    /// Per column: exponent field of each binade that has values, and how many, to be kept.
    pub fn counts(&self) -> &[Vec<(u16, u64)>] {
        &self.columns
    }

    /// For each column the least e with |x| < 2^e for all its values; `None` for a column of zeros.
    pub fn exponents(&self) -> Vec<Option<i32>> {
        let exponent = |counts: &Vec<(u16, u64)>| counts.last().map(|(field, _)| i32::from(*field) - 1022);
        self.columns.iter().map(exponent).map(|e| e.map(|e| e.max(LEAST_EXPONENT))).collect()
    }

    /// Leaves columns out.
    pub(super) fn retain(&mut self, is_kept: &[bool]) {
        let mut kept = is_kept.iter();
        self.columns.retain(|_| kept.next().copied().unwrap_or(false));
    }

    /// Adds the rows of a block, the targets of `problems` as the last columns; whether every value was finite, without
    /// which nothing is known.
    pub fn add(&mut self, problems: &[Problem], block: &RowBlock<'_>) -> bool {
        let dim = self.columns.len().saturating_sub(problems.len());
        let mut whole = WholeRows::default();
        let rows = whole.read(block, dim, problems);
        self.update_rows(rows, Sign::Add);
        rows.iter().all(|value| value.is_finite())
    }

    /// Adds what other rows brought.
    pub fn merge(&mut self, other: &Self) {
        self.update(other, Sign::Add);
    }

    /// Takes away what some of the rows brought.
    pub fn retract(&mut self, other: &Self) {
        self.update(other, Sign::Retract);
    }

    /// The ranges as bytes.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let mut bytes =
            Writer::of_kind(KIND, 8 + self.columns.iter().map(|counts| 8 + 10 * counts.len()).sum::<usize>());
        bytes.each(&self.columns, |bytes, counts| {
            bytes.each(counts, |bytes, (field, n)| {
                bytes.raw(&field.to_le_bytes());
                bytes.raw(&n.to_le_bytes());
            });
        });
        bytes.finish()
    }

    /// The ranges that these bytes say.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::of_kind(bytes, KIND)?;
        let columns = reader.each(|reader| {
            reader.each(|reader| Ok((u16::from_le_bytes(reader.array()?), u64::from_le_bytes(reader.array()?))))
        })?;
        reader.end()?;
        Self::from_counts(columns).ok_or(DecodeError::Number)
    }

    /// Adds or retracts what other rows brought.
    pub(super) fn update(&mut self, other: &Self, sign: Sign) {
        for (mine, theirs) in self.columns.iter_mut().zip(&other.columns) {
            for (field, n) in theirs {
                change(mine, *field, *n, sign);
            }
        }
    }

    /// Adds or retracts a few rows of one finite value per column each.
    pub(super) fn update_rows(&mut self, rows: &[f64], sign: Sign) {
        for row in rows.chunks_exact(self.columns.len().max(1)) {
            for (value, counts) in row.iter().zip(&mut self.columns) {
                let field = field(*value) as u16;
                if field > 0 {
                    change(counts, field, 1, sign);
                }
            }
        }
    }
}

/// So many values more, or fewer, in one binade of a column.
fn change(counts: &mut Vec<(u16, u64)>, field: u16, n: u64, sign: Sign) {
    match (counts.binary_search_by_key(&field, |(field, _)| *field), sign) {
        (Ok(at), Sign::Add) => counts[at].1 += n,
        (Ok(at), Sign::Retract) if counts[at].1 > n => counts[at].1 -= n,
        (Ok(at), Sign::Retract) => drop(counts.remove(at)),
        (Err(at), Sign::Add) => counts.insert(at, (field, n)),
        (Err(_), Sign::Retract) => {}
    }
}

/// The exponent field of a value.
fn field(value: f64) -> usize {
    (value.to_bits() >> 52) as usize % FIELDS
}

/// Counts that are being taken, a place for every exponent: one addition per value.
pub(super) struct RangeCount {
    n_columns: usize,
    counts: Vec<u64>,
}

impl RangeCount {
    pub(super) fn new(n_columns: usize) -> Self {
        Self { n_columns, counts: vec![0; n_columns * FIELDS] }
    }

    /// Counts rows of `n_columns` values each.
    pub(super) fn add(&mut self, rows: &[f64]) {
        for row in rows.chunks_exact(self.n_columns) {
            for (value, counts) in row.iter().zip(self.counts.as_chunks_mut::<FIELDS>().0) {
                counts[field(*value)] += 1;
            }
        }
    }

    /// Whether every value was finite.
    pub(super) fn is_finite(&self) -> bool {
        self.counts.as_chunks::<FIELDS>().0.iter().all(|counts| counts[FIELDS - 1] == 0)
    }

    pub(super) fn ranges(&self) -> ColumnRanges {
        let column = |counts: &[u64; FIELDS]| {
            let counted = (1..FIELDS - 1).filter(|field| counts[*field] > 0);
            counted.map(|field| (field as u16, counts[field])).collect()
        };
        ColumnRanges { columns: self.counts.as_chunks::<FIELDS>().0.iter().map(column).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(rows: &[f64]) -> ColumnRanges {
        let mut count = RangeCount::new(2);
        count.add(rows);
        count.ranges()
    }

    #[test]
    fn the_exponent_is_above_every_value_and_no_larger_than_it_must_be() {
        let exponents = |x: f64| ranges(&[x, 0.0]).exponents();
        for (value, exponent) in [(1.0, 1), (-1.0, 1), (0.999, 0), (0.5, 0), (2.0, 2), (1e300, 997), (-3e-5, -15)] {
            assert_eq!(exponents(value), [Some(exponent), None], "{value}");
        }
        assert_eq!(exponents(1e-300), [Some(LEAST_EXPONENT), None]);
        assert_eq!(exponents(5e-324), [None, None], "a number without a leading bit counts as zero");
    }

    #[test]
    fn what_leaves_takes_away_what_it_brought() {
        let (all, some) = (ranges(&[1.0, 8.0, 0.25, 0.0, 1.5, -9.0]), ranges(&[1.0, 8.0, 1.5, -9.0]));
        let mut left = all.clone();
        left.update(&some, Sign::Retract);
        assert_eq!(left, ranges(&[0.25, 0.0]));
        assert_eq!(left.exponents(), [Some(-1), None]);
        left.update_rows(&[1.0, 8.0, 1.5, -9.0], Sign::Add);
        assert_eq!(left, all);
        left.update_rows(&[1.5, -9.0, 1.0, 8.0], Sign::Retract);
        left.update(&some, Sign::Add);
        assert_eq!(left, all);
    }

    #[test]
    fn counts_that_were_kept_are_checked() {
        let kept = ranges(&[1.0, 8.0, 0.25, 0.0]);
        assert_eq!(ColumnRanges::from_counts(kept.counts().to_vec()), Some(kept));
        for bad in [vec![(5, 1), (5, 1)], vec![(6, 1), (5, 1)], vec![(5, 0)], vec![(0, 1)], vec![(2047, 1)]] {
            assert_eq!(ColumnRanges::from_counts(vec![bad]), None);
        }
    }
}
