//! Rows times a fixed matrix, in single precision.
//!
//! Each entry is added up in the order of the inputs, multiplied and added separately, by whatever instructions the
//! machine has: results depend neither on the processor nor on how many rows come together.

use pulp::{Arch, Simd, WithSimd};

/// A matrix in panels of [`LANES`] columns, so that it is read in the order it is worked with.
pub(crate) struct Packed {
    n_inputs: usize,
    n_outputs: usize,
    /// Panel by panel, in each of them a line per input; the last panel is filled up with zeros.
    lines: Vec<[f32; LANES]>,
}

impl Packed {
    /// The matrix with these entries at (input, output).
    pub(crate) fn from_fn(n_inputs: usize, n_outputs: usize, entry: impl Fn(usize, usize) -> f64) -> Self {
        let mut packed = Self::zeros(n_inputs, n_outputs);
        for (panel, lines) in packed.lines.chunks_exact_mut(n_inputs).enumerate() {
            for (input, line) in lines.iter_mut().enumerate() {
                let outputs = panel * LANES..n_outputs;
                line.iter_mut().zip(outputs).for_each(|(place, output)| *place = entry(input, output) as f32);
            }
        }
        packed
    }

    /// All zero, to be filled through [`Packed::panels_mut`].
    pub(crate) fn zeros(n_inputs: usize, n_outputs: usize) -> Self {
        Self { n_inputs, n_outputs, lines: vec![[0.0; LANES]; n_inputs * n_outputs.div_ceil(LANES)] }
    }

    /// Panels with a line per input each.
    pub(crate) fn panels_mut(&mut self) -> std::slice::ChunksExactMut<'_, [f32; LANES]> {
        self.lines.chunks_exact_mut(self.n_inputs)
    }

    /// The matrix, a row per input.
    pub(crate) fn dense(&self) -> Vec<f32> {
        let panels = self.lines.len() / self.n_inputs;
        let rows = (0..self.n_inputs).flat_map(|input| (0..panels).map(move |panel| panel * self.n_inputs + input));
        let mut dense = Vec::with_capacity(self.n_inputs * self.n_outputs);
        for (i, line) in rows.enumerate() {
            let n = LANES.min(self.n_outputs - i % panels * LANES);
            dense.extend_from_slice(&self.lines[line][..n]);
        }
        dense
    }

    /// Writes `rows · matrix` to `out`.
    pub(crate) fn apply(&self, rows: &[f32], out: &mut [f32]) {
        debug_assert_eq!(rows.len() / self.n_inputs, out.len() / self.n_outputs);
        Arch::new().dispatch(Product { matrix: self, rows, out });
    }
}

struct Product<'a> {
    matrix: &'a Packed,
    rows: &'a [f32],
    out: &'a mut [f32],
}

impl WithSimd for Product<'_> {
    type Output = ();

    #[expect(clippy::inline_always, reason = "takes on the instructions of its caller only when inlined into it")]
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Packed { n_inputs, n_outputs, lines } = self.matrix;
        for (panel, lines) in lines.chunks_exact(*n_inputs).enumerate() {
            let first = panel * LANES;
            let n = LANES.min(n_outputs - first);
            let mut groups = self.rows.chunks_exact(GROUP * n_inputs);
            let mut outs = self.out.chunks_exact_mut(GROUP * n_outputs);
            for (rows, out) in groups.by_ref().zip(outs.by_ref()) {
                let sums = tile::<S, GROUP>(simd, rows, lines);
                for (out, sums) in out.chunks_exact_mut(*n_outputs).zip(&sums) {
                    out[first..first + n].copy_from_slice(&sums[..n]);
                }
            }
            let rest = groups.remainder().chunks_exact(*n_inputs);
            for (row, out) in rest.zip(outs.into_remainder().chunks_exact_mut(*n_outputs)) {
                let [sums] = tile::<S, 1>(simd, row, lines);
                out[first..first + n].copy_from_slice(&sums[..n]);
            }
        }
    }
}

/// The products of R rows with a panel.
#[expect(clippy::inline_always, reason = "as above")]
#[inline(always)]
fn tile<S: Simd, const R: usize>(simd: S, rows: &[f32], lines: &[[f32; LANES]]) -> [[f32; LANES]; R] {
    let mut sums = [[0.0; LANES]; R];
    let rows: [&[f32]; R] = std::array::from_fn(|r| &rows[r * lines.len()..(r + 1) * lines.len()]);
    for (k, line) in lines.iter().enumerate() {
        let line = S::as_simd_f32s(line).0;
        for (row, sums) in rows.iter().zip(&mut sums) {
            let value = simd.splat_f32s(row[k]);
            for (sum, entry) in S::as_mut_simd_f32s(sums).0.iter_mut().zip(line) {
                *sum = simd.add_f32s(*sum, simd.mul_f32s(value, *entry));
            }
        }
    }
    sums
}

/// Columns of a panel: a multiple of every machine's width.
pub(crate) const LANES: usize = 16;

/// Rows that share what is read of the matrix.
const GROUP: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_those_of_a_plain_loop_to_the_last_bit() {
        for (n_rows, n_inputs, n_outputs) in [(1, 1, 1), (3, 5, 16), (4, 40, 80), (9, 33, 50), (6, 7, 17)] {
            let entry = |k: usize, j: usize| ((k * 31 + j * 17) % 23) as f64 / 7.0 - 1.5;
            let rows: Vec<f32> = (0..n_rows * n_inputs).map(|i| (i * 13 % 29) as f32 / 11.0 - 1.0).collect();
            let matrix = Packed::from_fn(n_inputs, n_outputs, entry);
            let dense = matrix.dense();
            let expected = (0..n_inputs * n_outputs).map(|i| entry(i / n_outputs, i % n_outputs) as f32);
            assert!(dense.len() == n_inputs * n_outputs && expected.zip(dense).all(|(a, b)| a == b));
            let mut out = vec![f32::NAN; n_rows * n_outputs];
            let mut one_by_one = out.clone();
            matrix.apply(&rows, &mut out);
            Product { matrix: &matrix, rows: &rows, out: &mut one_by_one }.with_simd(pulp::Scalar);
            for (i, (a, b)) in out.iter().zip(&one_by_one).enumerate() {
                let row = rows[i / n_outputs * n_inputs..][..n_inputs].iter().enumerate();
                let sum = row.fold(0.0_f32, |sum, (k, v)| sum + v * entry(k, i % n_outputs) as f32);
                assert_eq!([a.to_bits(), b.to_bits()], [sum.to_bits(); 2]);
            }
        }
    }
}
