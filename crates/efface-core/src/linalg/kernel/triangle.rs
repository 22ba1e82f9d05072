//! Loops over the lower triangle of a square matrix, column-major.

use super::{Loop, dot_in, multiply_add, run};

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

/// Solves `L Lᵀ x = b` in place; L lower triangular, column-major.
pub(crate) fn cholesky_solve(lower: &[f64], b: &mut [f64]) {
    run(CholeskySolve { lower, b });
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
    fn run<const FUSED: bool>(self) {
        for j in 0..self.dim {
            let column = &mut self.lower[j * self.dim + j..(j + 1) * self.dim];
            for (row, scale) in self.rows.chunks_exact(self.dim).zip(self.scales) {
                let factor = scale * row[j];
                for (entry, x) in column.iter_mut().zip(&row[j..]) {
                    *entry = multiply_add::<FUSED>(factor, *x, *entry);
                }
            }
        }
    }
}

/// Columns of a triangle that are worked on together, so that the vectors beside them are read a quarter as often.
const COLUMNS_AT_ONCE: usize = 4;

/// Numbers of a column that are worked on together.
const STRIP: usize = 8;

/// The four columns that start at `j`, below their common triangle.
#[inline(always)]
fn columns_below(lower: &[f64], dim: usize, j: usize) -> [&[f64]; COLUMNS_AT_ONCE] {
    std::array::from_fn(|k| &lower[(j + k) * dim + j + COLUMNS_AT_ONCE..(j + k + 1) * dim])
}

/// `out += Σ_k factors[k] · columns[k]`, and the dot product of each column with `x`.
#[inline(always)]
fn add_and_dot<const FUSED: bool, const ADD: bool, const DOT: bool>(
    columns: [&[f64]; COLUMNS_AT_ONCE],
    factors: [f64; COLUMNS_AT_ONCE],
    x: &[f64],
    out: &mut [f64],
) -> [f64; COLUMNS_AT_ONCE] {
    let mut sums = [[0.0; STRIP]; COLUMNS_AT_ONCE];
    let strips = columns.map(|column| column.as_chunks::<STRIP>());
    let n = strips[0].0.len();
    let strips_of = strips.map(|(strips, _)| &strips[..n]);
    let (x_strips, x_rest) = if DOT { x.as_chunks::<STRIP>() } else { (&[][..], &[][..]) };
    let (out_strips, out_rest) = if ADD { out.as_chunks_mut::<STRIP>() } else { (&mut [][..], &mut [][..]) };
    for s in 0..n {
        if ADD {
            let out = &mut out_strips[s];
            for lane in 0..STRIP {
                let mut sum = out[lane];
                for k in 0..COLUMNS_AT_ONCE {
                    sum = multiply_add::<FUSED>(strips_of[k][s][lane], factors[k], sum);
                }
                out[lane] = sum;
            }
        }
        if DOT {
            let x = &x_strips[s];
            for k in 0..COLUMNS_AT_ONCE {
                for lane in 0..STRIP {
                    sums[k][lane] = multiply_add::<FUSED>(strips_of[k][s][lane], x[lane], sums[k][lane]);
                }
            }
        }
    }
    let rest = strips.map(|(_, rest)| rest);
    for i in 0..rest[0].len() {
        for k in 0..COLUMNS_AT_ONCE {
            if ADD {
                out_rest[i] = multiply_add::<FUSED>(rest[k][i], factors[k], out_rest[i]);
            }
            if DOT {
                sums[k][i] = multiply_add::<FUSED>(rest[k][i], x_rest[i], sums[k][i]);
            }
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
    fn run<const FUSED: bool>(self) {
        let Self { lower, v, out } = self;
        let dim = v.len();
        out.fill(0.0);
        let mut j = 0;
        while j + COLUMNS_AT_ONCE <= dim {
            let end = j + COLUMNS_AT_ONCE;
            let factors = std::array::from_fn(|k| v[j + k]);
            let columns = columns_below(lower, dim, j);
            // Two loops are faster than one: the columns stay in the cache, and all sums in registers.
            add_and_dot::<FUSED, true, false>(columns, factors, &[], &mut out[end..]);
            let dots = add_and_dot::<FUSED, false, true>(columns, factors, &v[end..], &mut []);
            for k in 0..COLUMNS_AT_ONCE {
                out[j + k] += dots[k];
                corner::<FUSED>(lower, dim, j + k, end, v, out);
            }
            j = end;
        }
        for j in j..dim {
            corner::<FUSED>(lower, dim, j, dim, v, out);
        }
    }
}

/// The share of column `j`, down to row `end`, in a symmetric product.
#[inline(always)]
fn corner<const FUSED: bool>(lower: &[f64], dim: usize, j: usize, end: usize, v: &[f64], out: &mut [f64]) {
    out[j] = multiply_add::<FUSED>(lower[j * dim + j], v[j], out[j]);
    for i in j + 1..end {
        let entry = lower[j * dim + i];
        out[i] = multiply_add::<FUSED>(entry, v[j], out[i]);
        out[j] = multiply_add::<FUSED>(entry, v[i], out[j]);
    }
}

struct QuadraticForm<'a> {
    lower: &'a [f64],
    v: &'a [f64],
}

impl Loop for QuadraticForm<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<const FUSED: bool>(self) -> f64 {
        let Self { lower, v } = self;
        let dim = v.len();
        let (mut diagonal, mut below) = (0.0, 0.0);
        let mut j = 0;
        while j + COLUMNS_AT_ONCE <= dim {
            let end = j + COLUMNS_AT_ONCE;
            let columns = columns_below(lower, dim, j);
            let dots = add_and_dot::<FUSED, false, true>(columns, [0.0; COLUMNS_AT_ONCE], &v[end..], &mut []);
            for k in 0..COLUMNS_AT_ONCE {
                let column = &lower[(j + k) * dim..];
                diagonal = multiply_add::<FUSED>(column[j + k] * v[j + k], v[j + k], diagonal);
                let corner: f64 = (j + k + 1..end).map(|i| column[i] * v[i]).sum();
                below = multiply_add::<FUSED>(v[j + k], corner + dots[k], below);
            }
            j = end;
        }
        for j in j..dim {
            let column = &lower[j * dim..(j + 1) * dim];
            diagonal = multiply_add::<FUSED>(column[j] * v[j], v[j], diagonal);
            below = multiply_add::<FUSED>(v[j], dot_in::<f64, FUSED>(&column[j + 1..], &v[j + 1..]), below);
        }
        diagonal + 2.0 * below
    }
}

struct CholeskySolve<'a> {
    lower: &'a [f64],
    b: &'a mut [f64],
}

impl Loop for CholeskySolve<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Self { lower, b } = self;
        let dim = b.len();
        let whole = dim - dim % COLUMNS_AT_ONCE;
        for j in (0..whole).step_by(COLUMNS_AT_ONCE) {
            let end = j + COLUMNS_AT_ONCE;
            let factors = std::array::from_fn(|k| -forward(lower, dim, j + k, end, b));
            add_and_dot::<FUSED, true, false>(columns_below(lower, dim, j), factors, &[], &mut b[end..]);
        }
        for j in whole..dim {
            forward(lower, dim, j, dim, b);
        }
        for j in (whole..dim).rev() {
            backward(lower, dim, j, dim, 0.0, b);
        }
        for j in (0..whole).step_by(COLUMNS_AT_ONCE).rev() {
            let end = j + COLUMNS_AT_ONCE;
            let columns = columns_below(lower, dim, j);
            let dots = add_and_dot::<FUSED, false, true>(columns, [0.0; COLUMNS_AT_ONCE], &b[end..], &mut []);
            for k in (0..COLUMNS_AT_ONCE).rev() {
                backward(lower, dim, j + k, end, dots[k], b);
            }
        }
    }
}

/// Solves for unknown `j` of `L x = b` and takes it out of the rows before `end`.
#[inline(always)]
fn forward(lower: &[f64], dim: usize, j: usize, end: usize, b: &mut [f64]) -> f64 {
    let pivot = b[j] / lower[j * dim + j];
    b[j] = pivot;
    for i in j + 1..end {
        b[i] -= pivot * lower[j * dim + i];
    }
    pivot
}

/// Solves for unknown `j` of `Lᵀ x = b`, given the part of the later unknowns from `end` on.
#[inline(always)]
fn backward(lower: &[f64], dim: usize, j: usize, end: usize, later: f64, b: &mut [f64]) {
    let near: f64 = (j + 1..end).map(|i| lower[j * dim + i] * b[i]).sum();
    b[j] = (b[j] - later - near) / lower[j * dim + j];
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
