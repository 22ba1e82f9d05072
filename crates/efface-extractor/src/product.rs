//! Products of small matrices that lie as they are and change at every step; `efface-features` has one for a matrix that is packed
//! once. In single precision.
//!
//! Each entry is added up in the order of the inner index, multiplied and added separately, by whatever instructions the
//! machine has: results do not depend on the processor.

use pulp::{Arch, Simd, WithSimd};

/// The left matrix of a product: where its entries are in a slice.
#[derive(Clone, Copy)]
pub(crate) struct Left<'a> {
    values: &'a [f32],
    n_rows: usize,
    inner: usize,
    row_stride: usize,
    inner_stride: usize,
}

impl<'a> Left<'a> {
    /// A matrix of `inner` columns, row by row.
    pub(crate) fn by_rows(values: &'a [f32], inner: usize) -> Self {
        Self { values, n_rows: values.len() / inner, inner, row_stride: inner, inner_stride: 1 }
    }

    /// The transpose of a matrix of `n_rows` columns, row by row.
    pub(crate) fn transposed(values: &'a [f32], n_rows: usize) -> Self {
        Self { values, n_rows, inner: values.len() / n_rows, row_stride: 1, inner_stride: n_rows }
    }

    /// Adds `self · right` to `out`; both have rows of `n_columns`.
    pub(crate) fn add_product(self, right: &[f32], n_columns: usize, out: &mut [f32]) {
        debug_assert_eq!(right.len(), self.inner * n_columns);
        debug_assert_eq!(out.len(), self.n_rows * n_columns);
        Arch::new().dispatch(Product { left: self, right, n_columns, out });
    }
}

struct Product<'a> {
    left: Left<'a>,
    right: &'a [f32],
    n_columns: usize,
    out: &'a mut [f32],
}

impl WithSimd for Product<'_> {
    type Output = ();

    #[expect(clippy::inline_always, reason = "takes on the instructions of its caller only when inlined into it")]
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { left, right, n_columns, out } = self;
        let full = n_columns - n_columns % LANES;
        let mut row = 0;
        while row < left.n_rows {
            let group = if left.n_rows - row >= GROUP { GROUP } else { 1 };
            let out = &mut out[row * n_columns..(row + group) * n_columns];
            for first in (0..full).step_by(LANES) {
                if group == GROUP {
                    tile::<S, GROUP>(simd, left, row, right, n_columns, first, out);
                } else {
                    tile::<S, 1>(simd, left, row, right, n_columns, first, out);
                }
            }
            for (r, out) in out.chunks_exact_mut(n_columns).enumerate().filter(|_| full < n_columns) {
                let mut sums = [0.0; LANES];
                for (k, line) in right.chunks_exact(n_columns).enumerate() {
                    let value = left.values[(row + r) * left.row_stride + k * left.inner_stride];
                    sums.iter_mut().zip(&line[full..]).for_each(|(sum, entry)| *sum += value * entry);
                }
                out[full..].iter_mut().zip(sums).for_each(|(out, sum)| *out += sum);
            }
            row += group;
        }
    }
}

/// Rows of the left matrix times a panel of the right one.
#[expect(clippy::inline_always, reason = "as above")]
#[inline(always)]
fn tile<S: Simd, const R: usize>(
    simd: S,
    left: Left<'_>,
    row: usize,
    right: &[f32],
    n_columns: usize,
    first: usize,
    out: &mut [f32],
) {
    let mut sums = [[0.0; LANES]; R];
    let starts: [usize; R] = std::array::from_fn(|r| (row + r) * left.row_stride);
    for (k, line) in right.chunks_exact(n_columns).enumerate() {
        let line = S::as_simd_f32s(&line[first..first + LANES]).0;
        for (start, sums) in starts.iter().zip(&mut sums) {
            let value = simd.splat_f32s(left.values[start + k * left.inner_stride]);
            for (sum, entry) in S::as_mut_simd_f32s(sums).0.iter_mut().zip(line) {
                *sum = simd.add_f32s(*sum, simd.mul_f32s(value, *entry));
            }
        }
    }
    for (out, sums) in out.chunks_exact_mut(n_columns).zip(&sums) {
        out[first..first + LANES].iter_mut().zip(sums).for_each(|(out, sum)| *out += sum);
    }
}

/// The transpose of a matrix of `n_columns` columns.
pub(crate) fn transpose(values: &[f32], n_columns: usize) -> Vec<f32> {
    let n_rows = values.len() / n_columns;
    (0..values.len()).map(|i| values[i % n_rows * n_columns + i / n_rows]).collect()
}

/// Columns of a panel: a multiple of every machine's width.
const LANES: usize = 16;

/// Rows that share what is read of the right matrix.
const GROUP: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_those_of_a_plain_loop_to_the_last_bit() {
        for (n_rows, inner, n_columns) in [(1, 1, 1), (3, 5, 16), (6, 40, 80), (13, 33, 50), (8, 7, 10)] {
            let left: Vec<f32> = (0..n_rows * inner).map(|i| (i * 13 % 29) as f32 / 11.0 - 1.0).collect();
            let right: Vec<f32> = (0..inner * n_columns).map(|i| (i * 31 % 23) as f32 / 7.0 - 1.5).collect();
            let turned = transpose(&left, inner);
            for left_again in [Left::by_rows(&left, inner), Left::transposed(&turned, n_rows)] {
                let mut out = vec![0.5; n_rows * n_columns];
                let mut scalar = out.clone();
                left_again.add_product(&right, n_columns, &mut out);
                Product { left: left_again, right: &right, n_columns, out: &mut scalar }.with_simd(pulp::Scalar);
                for (i, (a, b)) in out.iter().zip(&scalar).enumerate() {
                    let (row, column) = (i / n_columns, i % n_columns);
                    let sum =
                        (0..inner).fold(0.0_f32, |sum, k| sum + left[row * inner + k] * right[k * n_columns + column]);
                    assert_eq!([a.to_bits(), b.to_bits()], [(0.5 + sum).to_bits(); 2]);
                }
            }
        }
    }
}
