//! Loops over row-major rows, in either precision.

use pulp::Simd;

use super::{Loop, dot_in, multiply_add, run};
pub(crate) use crate::rows::RowValue as Value;

/// `out[i] = rows[i] · w` for row-major rows.
pub(crate) fn margins<T: Value>(rows: &[T], w: &[f64], out: &mut [f64]) {
    run(Margins { rows, w, out });
}

/// `out += Σ scales[i] · rows[i]`; rows of scale zero are skipped.
pub(crate) fn add_scaled_rows<T: Value>(rows: &[T], dim: usize, scales: &[f64], out: &mut [f64]) {
    run(AddScaledRows { rows, dim, scales, out });
}

/// Longest chain of rounded operations that [`add_scaled_rows`] puts behind one number for `n` rows.
pub(crate) fn scaled_rows_depth(n: usize) -> usize {
    n.div_ceil(ROWS_AT_ONCE) + ROWS_AT_ONCE
}

struct Margins<'a, T> {
    rows: &'a [T],
    w: &'a [f64],
    out: &'a mut [f64],
}

impl<T: Value> Loop for Margins<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        for (row, out) in self.rows.chunks_exact(self.w.len()).zip(self.out) {
            *out = dot_in(simd, row, self.w);
        }
    }
}

const ROWS_AT_ONCE: usize = 4;

struct AddScaledRows<'a, T> {
    rows: &'a [T],
    dim: usize,
    scales: &'a [f64],
    out: &'a mut [f64],
}

impl<T: Value> Loop for AddScaledRows<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self { rows, dim, scales, out } = self;
        let out = &mut out[..dim];
        let mut groups = rows.chunks_exact(ROWS_AT_ONCE * dim);
        let mut scale_groups = scales.chunks_exact(ROWS_AT_ONCE);
        for (group, s) in groups.by_ref().zip(scale_groups.by_ref()) {
            let (x0, rest) = group.split_at(dim);
            let (x1, rest) = rest.split_at(dim);
            let (x2, x3) = rest.split_at(dim);
            let (x1, x2, x3) = (&x1[..dim], &x2[..dim], &x3[..dim]);
            for j in 0..dim {
                let near = multiply_add::<S>(s[1], x1[j].wide(), s[0] * x0[j].wide());
                let far = multiply_add::<S>(s[3], x3[j].wide(), s[2] * x2[j].wide());
                out[j] += near + far;
            }
        }
        for (row, s) in groups.remainder().chunks_exact(dim).zip(scale_groups.remainder()) {
            for j in 0..dim {
                out[j] = multiply_add::<S>(*s, row[j].wide(), out[j]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::numbers;
    use super::*;
    use crate::linalg::kernel::axpy;

    #[test]
    fn scaled_rows_agree_with_a_plain_sum_in_both_precisions() {
        let (n, dim) = (11, 5);
        let (rows, scales) = (numbers(n * dim), numbers(n));
        let narrow: Vec<f32> = rows.iter().map(|x| *x as f32).collect();
        let mut plain = vec![1.0; dim];
        for i in 0..n {
            axpy(scales[i], &rows[i * dim..(i + 1) * dim], &mut plain);
        }
        let (mut wide, mut widened) = (vec![1.0; dim], vec![1.0; dim]);
        add_scaled_rows(&rows, dim, &scales, &mut wide);
        add_scaled_rows(&narrow, dim, &scales, &mut widened);
        for j in 0..dim {
            assert!((plain[j] - wide[j]).abs() < 1e-13);
            assert!((plain[j] - widened[j]).abs() < 1e-5);
        }
    }
}
