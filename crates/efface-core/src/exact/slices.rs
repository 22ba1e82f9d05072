//! Rows as integers, in two slices whose products are exact in double precision.
//!
//! ```text
//! x ≈ (h·2²⁰ + l)·2^(e − 41)      |x| < 2^e,  |h| ≤ 2²¹,  |l| ≤ 2¹⁹
//! ```
//!
//! A sum of 256 products of two integers of at most 2²¹ + 2¹⁹ is below 2⁵¹, so that no double-precision product of
//! matrices over a block of rows rounds, in whatever order it adds.

use zeroize::Zeroize;

use crate::rows::{BLOCK_ROWS, Features, Problem, RowBlock};

/// Bits of the upper slice, and of the lower one.
const HIGH_BITS: i32 = 21;
const LOW_BITS: i32 = 20;

/// Bits below the largest value of a column that its grid keeps.
pub(super) const BITS: i32 = HIGH_BITS + LOW_BITS;

/// The largest integer of a row: both slices at their ends.
pub(super) const LARGEST: u64 = (1 << BITS) + (1 << (LOW_BITS - 1));

/// The largest sum of products over a block of rows, and what a double holds without a doubt.
const LARGEST_SUM: u64 = (BLOCK_ROWS as u64) * ((1_u64 << HIGH_BITS) + (1 << (LOW_BITS - 1))).pow(2);
const _: () = assert!(LARGEST_SUM < 1 << 51);

/// Rows of one block as they enter the sums: `√s_i·(x_i, y_i)`, row after row, y one target per problem.
#[derive(Default)]
pub(super) struct WholeRows {
    values: Vec<f64>,
}

impl Drop for WholeRows {
    fn drop(&mut self) {
        self.values.zeroize();
    }
}

impl WholeRows {
    /// The rows of a block that are present.
    pub(super) fn read(&mut self, block: &RowBlock<'_>, dim: usize, problems: &[Problem]) -> &[f64] {
        self.values.clear();
        // Room for all of it: what grows leaves copies behind.
        self.values.reserve(block.labels.len() * (dim + problems.len()));
        let rows = block.labels.iter().zip(block.selectors).zip(block.present).zip(block.row_weights);
        for (i, (((label, selector), present), weight)) in rows.enumerate() {
            if !present {
                continue;
            }
            let root = if *weight == 1.0 { 1.0 } else { weight.sqrt() };
            let features = i * dim..(i + 1) * dim;
            match block.features {
                Features::F32(values) => self.values.extend(values[features].iter().map(|x| root * f64::from(*x))),
                Features::F64(values) => self.values.extend(values[features].iter().map(|x| root * x)),
            }
            self.values.extend(problems.iter().map(|problem| root * problem.target(*label, *selector).unwrap_or(0.0)));
        }
        &self.values
    }
}

/// From values to integers, column by column.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Grid {
    /// 2^(21 − e) per column; 0 for a column of zeros.
    multipliers: Vec<f64>,
}

impl Grid {
    pub(super) fn new(exponents: &[Option<i32>]) -> Self {
        let multiplier = |e: &Option<i32>| e.map_or(0.0, |e| power_of_two(HIGH_BITS - e));
        Self { multipliers: exponents.iter().map(multiplier).collect() }
    }

    /// Both slices of one row.
    fn split<'a>(&'a self, row: &'a [f64]) -> impl Iterator<Item = (f64, f64)> + 'a {
        row.iter().zip(&self.multipliers).map(|(value, multiplier)| {
            let scaled = value * multiplier;
            let high = round(scaled);
            // The difference is exact, and at most a half.
            (high, round((scaled - high) * power_of_two(LOW_BITS)))
        })
    }

    /// The integers of one row.
    pub(super) fn integers<'a>(&'a self, row: &'a [f64]) -> impl Iterator<Item = i64> + 'a {
        self.split(row).map(|(high, low)| ((high as i64) << LOW_BITS) + low as i64)
    }

    /// Whether every value of these rows is below 2^e in its column.
    pub(super) fn holds(&self, rows: &[f64]) -> bool {
        // Negated so that what is not a number is refused, too. A column of zeros has multiplier 0.
        let inside = |(value, multiplier): (&f64, &f64)| {
            (value * multiplier).abs() <= power_of_two(HIGH_BITS)
                && (*multiplier > 0.0 || value.abs() < f64::MIN_POSITIVE)
        };
        rows.chunks_exact(self.multipliers.len().max(1)).all(|row| row.iter().zip(&self.multipliers).all(inside))
    }
}

/// The slices of a block of rows, and their sum: h, l and h + l, row after row.
#[derive(Default)]
pub(super) struct Slices {
    pub(super) high: Vec<f64>,
    pub(super) low: Vec<f64>,
    pub(super) both: Vec<f64>,
}

impl Drop for Slices {
    fn drop(&mut self) {
        for slice in [&mut self.high, &mut self.low, &mut self.both] {
            slice.zeroize();
        }
    }
}

impl Slices {
    pub(super) fn of(&mut self, rows: &[f64], grid: &Grid) {
        let n_columns = grid.multipliers.len();
        for slice in [&mut self.high, &mut self.low, &mut self.both] {
            slice.resize(rows.len(), 0.0);
        }
        let slices = self.high.chunks_exact_mut(n_columns).zip(self.low.chunks_exact_mut(n_columns));
        let slices = slices.zip(self.both.chunks_exact_mut(n_columns));
        for (row, ((high, low), both)) in rows.chunks_exact(n_columns).zip(slices) {
            for (((h, l), m), (high, low)) in high.iter_mut().zip(low).zip(both).zip(grid.split(row)) {
                (*h, *l, *m) = (high, low, high + low);
            }
        }
    }
}

/// `Σ (h_i·2²⁰ + l_i)(h_j·2²⁰ + l_j)` from the sums of `h_i h_j`, `l_i l_j` and `(h_i + l_i)(h_j + l_j)`.
pub(super) fn joined(high: f64, low: f64, both: f64) -> i128 {
    let [high, low, both] = [high, low, both].map(|sum| sum as i64);
    (i128::from(high) << (2 * LOW_BITS)) + (i128::from(both - high - low) << LOW_BITS) + i128::from(low)
}

/// 2^k within the range of doubles.
pub(super) fn power_of_two(k: i32) -> f64 {
    f64::from_bits(((1023 + k) as u64) << 52)
}

/// To the nearest integer, ties to even; |x| < 2⁵¹. Without a call for each number, as `round_ties_even` would be on most
/// machines.
fn round(x: f64) -> f64 {
    const SHIFT: f64 = 6_755_399_441_055_744.0; // 1.5 · 2⁵²
    (x + SHIFT) - SHIFT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_make_the_nearest_integer_of_the_grid() {
        for exponent in [-900, -3, 0, 1, 40, 1023] {
            let grid = Grid::new(&[Some(exponent)]);
            for i in 0..2_000 {
                // From below −2^e to above it: the ends, halves and numbers without a pattern.
                let part = match i {
                    0 => 1.0 - f64::EPSILON / 2.0,
                    1 => -(1.0 - f64::EPSILON / 2.0),
                    2 => 0.5 + f64::EPSILON,
                    _ => (f64::from(i) * 0.618_034).fract() * 2.0 - 1.0,
                };
                let value = part * power_of_two(exponent.min(1022)) * if exponent == 1023 { 2.0 } else { 1.0 };
                let integers: Vec<i64> = grid.integers(&[value]).collect();
                let exact = part * 2f64.powi(BITS);
                assert!((integers[0] as f64 - exact).abs() <= 0.5, "{value:e} at {exponent}: {}", integers[0]);
            }
        }
        assert_eq!(Grid::new(&[None]).integers(&[0.0]).collect::<Vec<_>>(), [0]);
    }

    #[test]
    fn products_of_slices_join_to_products_of_integers() {
        let grid = Grid::new(&[Some(0), Some(3)]);
        let row = [-0.777_777_777_7, 5.123_456_789_123];
        let (integers, mut slices) = (grid.integers(&row).collect::<Vec<_>>(), Slices::default());
        slices.of(&row, &grid);
        let product = |slice: &[f64]| slice[0] * slice[1];
        let joined = joined(product(&slices.high), product(&slices.low), product(&slices.both));
        assert_eq!(joined, i128::from(integers[0]) * i128::from(integers[1]));
    }
}
