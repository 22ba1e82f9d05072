//! Loops over the lower triangle of a square matrix, column-major.

use pulp::Simd;

use super::{Loop, STRIP, Value, add_products, dot_in, multiply_add, padded, run};

/// `lower += Σ scales[i] · rows[i] rows[i]ᵀ`, lower triangle, column-major.
pub(crate) fn rank_update(lower: &mut [f64], dim: usize, rows: &[f64], scales: &[f64]) {
    run(RankUpdate { lower, dim, rows, scales });
}

/// `out = A v` for symmetric A given by its lower triangle, column-major.
pub(crate) fn symmetric_product(lower: &[f64], v: &[f64], out: &mut [f64]) {
    run(SymmetricProduct { lower, v, out });
}

/// `vᵀ A v` for symmetric A given by its lower triangle, column-major.
pub(crate) fn quadratic_form(lower: &[f64], v: &[f64]) -> f64 {
    run(QuadraticForm { lower, v })
}

/// Solves `L x = b` in place, for each of the vectors in `b`; L lower triangular, column-major.
pub(crate) fn forward_solve<T: Value>(lower: &[T], dim: usize, b: &mut [f64]) {
    run(ForwardSolve { lower, dim, b });
}

/// Solves `Lᵀ x = b` in place; L lower triangular, column-major.
pub(crate) fn backward_solve<T: Value>(lower: &[T], b: &mut [f64]) {
    run(BackwardSolve { lower, b });
}

struct RankUpdate<'a> {
    lower: &'a mut [f64],
    dim: usize,
    rows: &'a [f64],
    scales: &'a [f64],
}

impl Loop for RankUpdate<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        for j in 0..self.dim {
            let column = &mut self.lower[j * self.dim + j..(j + 1) * self.dim];
            for (row, scale) in self.rows.chunks_exact(self.dim).zip(self.scales) {
                let factor = scale * row[j];
                for (entry, x) in column.iter_mut().zip(&row[j..]) {
                    *entry = multiply_add::<S>(factor, *x, *entry);
                }
            }
        }
    }
}

/// Columns of a triangle that are worked on together, so that the vectors beside them are read a quarter as often.
const COLUMNS_AT_ONCE: usize = 4;

/// The four columns that start at `j`, below their common triangle.
#[inline(always)]
fn columns_below<T>(lower: &[T], dim: usize, j: usize) -> [&[T]; COLUMNS_AT_ONCE] {
    std::array::from_fn(|k| &lower[(j + k) * dim + j + COLUMNS_AT_ONCE..(j + k + 1) * dim])
}

/// `out += Σ_k factors[k] · columns[k]`.
#[inline(always)]
fn add_columns<T: Value, S: Simd>(
    simd: S,
    columns: [&[T]; COLUMNS_AT_ONCE],
    factors: [f64; COLUMNS_AT_ONCE],
    out: &mut [f64],
) {
    let factors = factors.map(|factor| [factor; STRIP]);
    let split = columns.map(|column| column.as_chunks::<STRIP>());
    let (out, out_rest) = out.as_chunks_mut::<STRIP>();
    let strips = split.map(|(strips, _)| &strips[..out.len()]);
    for (i, out) in out.iter_mut().enumerate() {
        for k in 0..COLUMNS_AT_ONCE {
            add_products(simd, &padded(&strips[k][i]), &factors[k], out);
        }
    }
    for (i, out) in out_rest.iter_mut().enumerate() {
        for k in 0..COLUMNS_AT_ONCE {
            *out = multiply_add::<S>(split[k].1[i].wide(), factors[k][0], *out);
        }
    }
}

/// Both of a symmetric product: `out += Σ_k factors[k] · columns[k]`, and the dot product of each column with `x`. Each
/// column is read once.
#[inline(always)]
fn add_and_dot_columns<S: Simd>(
    simd: S,
    columns: [&[f64]; COLUMNS_AT_ONCE],
    factors: [f64; COLUMNS_AT_ONCE],
    x: &[f64],
    out: &mut [f64],
) -> [f64; COLUMNS_AT_ONCE] {
    let splats = factors.map(|factor| simd.splat_f64s(factor));
    let mut sums = [[0.0; STRIP]; COLUMNS_AT_ONCE];
    let (x, x_rest) = x.as_chunks::<STRIP>();
    let (out, out_rest) = out.as_chunks_mut::<STRIP>();
    let split = columns.map(|column| column.as_chunks::<STRIP>());
    let strips = split.map(|(strips, _)| &strips[..x.len()]);
    for (i, (x, out)) in x.iter().zip(out).enumerate() {
        let (x, out) = (S::as_simd_f64s(x).0, S::as_mut_simd_f64s(out).0);
        for (lane, (x, out)) in x.iter().zip(out).enumerate() {
            let mut added = *out;
            for k in 0..COLUMNS_AT_ONCE {
                let entry = S::as_simd_f64s(&strips[k][i]).0[lane];
                added = simd.mul_add_e_f64s(entry, splats[k], added);
                let sum = &mut S::as_mut_simd_f64s(&mut sums[k]).0[lane];
                *sum = simd.mul_add_e_f64s(entry, *x, *sum);
            }
            *out = added;
        }
    }
    let rest = split.map(|(_, rest)| rest);
    for k in 0..COLUMNS_AT_ONCE {
        for (out, entry) in out_rest.iter_mut().zip(rest[k]) {
            *out = multiply_add::<S>(*entry, factors[k], *out);
        }
        add_products(simd, &padded(rest[k]), &padded(x_rest), &mut sums[k]);
    }
    sums.map(|lanes| lanes.iter().sum())
}

/// The dot product of each column with `x`.
#[inline(always)]
fn dot_columns<T: Value, S: Simd>(simd: S, columns: [&[T]; COLUMNS_AT_ONCE], x: &[f64]) -> [f64; COLUMNS_AT_ONCE] {
    let mut sums = [[0.0; STRIP]; COLUMNS_AT_ONCE];
    let (x, x_rest) = x.as_chunks::<STRIP>();
    let split = columns.map(|column| column.as_chunks::<STRIP>());
    let strips = split.map(|(strips, _)| &strips[..x.len()]);
    for (i, x) in x.iter().enumerate() {
        for k in 0..COLUMNS_AT_ONCE {
            add_products(simd, &padded(&strips[k][i]), x, &mut sums[k]);
        }
    }
    if !x_rest.is_empty() {
        for k in 0..COLUMNS_AT_ONCE {
            add_products(simd, &padded(split[k].1), &padded(x_rest), &mut sums[k]);
        }
    }
    sums.map(|lanes| lanes.iter().sum())
}

struct SymmetricProduct<'a> {
    lower: &'a [f64],
    v: &'a [f64],
    out: &'a mut [f64],
}

impl Loop for SymmetricProduct<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { lower, v, out } = self;
        let dim = v.len();
        out.fill(0.0);
        let mut j = 0;
        while j + COLUMNS_AT_ONCE <= dim {
            let end = j + COLUMNS_AT_ONCE;
            let factors = std::array::from_fn(|k| v[j + k]);
            let columns = columns_below(lower, dim, j);
            let dots = add_and_dot_columns(simd, columns, factors, &v[end..], &mut out[end..]);
            for k in 0..COLUMNS_AT_ONCE {
                out[j + k] += dots[k];
                corner::<S>(lower, dim, j + k, end, v, out);
            }
            j = end;
        }
        for j in j..dim {
            corner::<S>(lower, dim, j, dim, v, out);
        }
    }
}

/// The share of column `j`, down to row `end`, in a symmetric product.
#[inline(always)]
fn corner<S: Simd>(lower: &[f64], dim: usize, j: usize, end: usize, v: &[f64], out: &mut [f64]) {
    out[j] = multiply_add::<S>(lower[j * dim + j], v[j], out[j]);
    for i in j + 1..end {
        let entry = lower[j * dim + i];
        out[i] = multiply_add::<S>(entry, v[j], out[i]);
        out[j] = multiply_add::<S>(entry, v[i], out[j]);
    }
}

struct QuadraticForm<'a> {
    lower: &'a [f64],
    v: &'a [f64],
}

impl Loop for QuadraticForm<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> f64 {
        let Self { lower, v } = self;
        let dim = v.len();
        let (mut diagonal, mut below) = (0.0, 0.0);
        let mut j = 0;
        while j + COLUMNS_AT_ONCE <= dim {
            let end = j + COLUMNS_AT_ONCE;
            let columns = columns_below(lower, dim, j);
            let dots = dot_columns(simd, columns, &v[end..]);
            for k in 0..COLUMNS_AT_ONCE {
                let column = &lower[(j + k) * dim..];
                diagonal = multiply_add::<S>(column[j + k] * v[j + k], v[j + k], diagonal);
                let corner: f64 = (j + k + 1..end).map(|i| column[i] * v[i]).sum();
                below = multiply_add::<S>(v[j + k], corner + dots[k], below);
            }
            j = end;
        }
        for j in j..dim {
            let column = &lower[j * dim..(j + 1) * dim];
            diagonal = multiply_add::<S>(column[j] * v[j], v[j], diagonal);
            below = multiply_add::<S>(v[j], dot_in(simd, &column[j + 1..], &v[j + 1..]), below);
        }
        diagonal + 2.0 * below
    }
}

struct ForwardSolve<'a, T> {
    lower: &'a [T],
    dim: usize,
    b: &'a mut [f64],
}

impl<T: Value> Loop for ForwardSolve<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { lower, dim, b } = self;
        let whole = dim - dim % COLUMNS_AT_ONCE;
        for j in (0..whole).step_by(COLUMNS_AT_ONCE) {
            let (end, columns) = (j + COLUMNS_AT_ONCE, columns_below(lower, dim, j));
            for b in b.chunks_exact_mut(dim) {
                let factors = std::array::from_fn(|k| -forward(lower, dim, j + k, end, b));
                add_columns(simd, columns, factors, &mut b[end..]);
            }
        }
        for b in b.chunks_exact_mut(dim) {
            (whole..dim).for_each(|j| _ = forward(lower, dim, j, dim, b));
        }
    }
}

struct BackwardSolve<'a, T> {
    lower: &'a [T],
    b: &'a mut [f64],
}

impl<T: Value> Loop for BackwardSolve<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { lower, b } = self;
        let dim = b.len();
        let whole = dim - dim % COLUMNS_AT_ONCE;
        (whole..dim).rev().for_each(|j| backward(lower, dim, j, dim, 0.0, b));
        for j in (0..whole).step_by(COLUMNS_AT_ONCE).rev() {
            let end = j + COLUMNS_AT_ONCE;
            let dots = dot_columns(simd, columns_below(lower, dim, j), &b[end..]);
            for k in (0..COLUMNS_AT_ONCE).rev() {
                backward(lower, dim, j + k, end, dots[k], b);
            }
        }
    }
}

/// Solves for unknown `j` of `L x = b` and takes it out of the rows before `end`.
#[inline(always)]
fn forward<T: Value>(lower: &[T], dim: usize, j: usize, end: usize, b: &mut [f64]) -> f64 {
    let pivot = b[j] / lower[j * dim + j].wide();
    b[j] = pivot;
    for i in j + 1..end {
        b[i] -= pivot * lower[j * dim + i].wide();
    }
    pivot
}

/// Solves for unknown `j` of `Lᵀ x = b`, given the part of the later unknowns from `end` on.
#[inline(always)]
fn backward<T: Value>(lower: &[T], dim: usize, j: usize, end: usize, later: f64, b: &mut [f64]) {
    let near: f64 = (j + 1..end).map(|i| lower[j * dim + i].wide() * b[i]).sum();
    b[j] = (b[j] - later - near) / lower[j * dim + j].wide();
}

#[cfg(test)]
mod tests {
    use super::super::dot;
    use super::super::tests::numbers;
    use super::*;

    #[test]
    fn a_solve_undoes_a_product() {
        for dim in [1, 3, 4, 12, 13, 40, 43] {
            solve_undoes_product(dim);
        }
    }

    fn solve_undoes_product(dim: usize) {
        let mut a = vec![0.0; dim * dim];
        for j in 0..dim {
            a[j * dim + j] = 3.0;
        }
        rank_update(&mut a, dim, &numbers(3 * dim), &[0.5, 1.0, 2.0]);
        let x = numbers(dim);
        let mut b = vec![0.0; dim];
        symmetric_product(&a, &x, &mut b);
        assert!((quadratic_form(&a, &x) - dot(&x, &b)).abs() < 1e-11);
        let factor = crate::linalg::Cholesky::of_lower(dim, a).expect("positive definite");
        factor.solve(&mut b);
        assert!(x.iter().zip(&b).all(|(x, b)| (x - b).abs() < 1e-12));
    }
}
