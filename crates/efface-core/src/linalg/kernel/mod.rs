//! Loops over contiguous numbers: dot products, sums of scaled rows, symmetric products, triangular solves.
//!
//! Each is written once over fixed arrays of partial sums and compiled for the widest instructions the machine has
//! (pulp picks at run time). The shape of the sums is the same for every width, so results depend on nothing but
//! whether the machine has fused multiply-add.

#![expect(
    clippy::inline_always,
    reason = "a loop takes on the instructions of its caller only when it is inlined into it"
)]

mod rows;
mod triangle;

use pulp::{Arch, Simd, WithSimd};

pub(crate) use rows::{Value, add_scaled_rows, margins, scaled_rows_depth};
pub(crate) use triangle::{backward_solve, forward_solve, quadratic_form, rank_update, symmetric_product};

/// Partial sums of a dot product.
const LANES: usize = 32;

/// Numbers of a row, or of a column, that are worked on together.
const STRIP: usize = 8;

/// Longest chain of rounded operations behind one dot product of length `dim`.
pub(crate) fn dot_depth(dim: usize) -> usize {
    dim.div_ceil(LANES) + LANES.ilog2() as usize + 1
}

/// `a · b`.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    run(Dot { a, b })
}

/// `y += scale · x`.
pub(crate) fn axpy(scale: f64, x: &[f64], y: &mut [f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += scale * x;
    }
}

/// A loop that is compiled once for each set of instructions.
trait Loop {
    type Output;

    fn run<S: Simd>(self, simd: S) -> Self::Output;
}

fn run<L: Loop>(body: L) -> L::Output {
    struct Dispatched<L>(L);

    impl<L: Loop> WithSimd for Dispatched<L> {
        type Output = L::Output;

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> L::Output {
            self.0.run(simd)
        }
    }

    Arch::new().dispatch(Dispatched(body))
}

#[inline(always)]
fn multiply_add<S: Simd>(a: f64, b: f64, c: f64) -> f64 {
    if S::IS_SCALAR { a * b + c } else { a.mul_add(b, c) }
}

/// `sums[i] += a[i] · b[i]`; N is a multiple of every width. Left to itself, the compiler goes number by number.
#[inline(always)]
fn add_products<S: Simd, const N: usize>(simd: S, a: &[f64; N], b: &[f64; N], sums: &mut [f64; N]) {
    let (a, b, sums) = (S::as_simd_f64s(a).0, S::as_simd_f64s(b).0, S::as_mut_simd_f64s(sums).0);
    for ((a, b), sum) in a.iter().zip(b).zip(sums) {
        *sum = simd.mul_add_e_f64s(*a, *b, *sum);
    }
}

/// The numbers in double precision, and zeros after them.
#[inline(always)]
fn padded<T: Value, const N: usize>(values: &[T]) -> [f64; N] {
    let mut padded = [0.0; N];
    padded.iter_mut().zip(values).for_each(|(to, value)| *to = value.wide());
    padded
}

/// `a · b`, by partial sums whose number does not depend on the machine.
#[inline(always)]
fn dot_in<T: Value, S: Simd>(simd: S, a: &[T], b: &[f64]) -> f64 {
    let mut sums = [0.0; LANES];
    let (a_chunks, a_rest) = a.as_chunks::<LANES>();
    let (b_chunks, b_rest) = b.as_chunks::<LANES>();
    for (a, b) in a_chunks.iter().zip(b_chunks) {
        add_products(simd, &padded(a), b, &mut sums);
    }
    let ((a_strips, a_last), (b_strips, b_last)) = (a_rest.as_chunks::<STRIP>(), b_rest.as_chunks::<STRIP>());
    for (k, sums) in sums.as_chunks_mut::<STRIP>().0.iter_mut().enumerate() {
        if k < a_strips.len() {
            add_products(simd, &padded(&a_strips[k]), &b_strips[k], sums);
        } else if k == a_strips.len() && !a_last.is_empty() {
            add_products(simd, &padded(a_last), &padded(b_last), sums);
        }
    }
    let mut width = LANES;
    while width > 1 {
        width /= 2;
        for lane in 0..width {
            sums[lane] += sums[lane + width];
        }
    }
    sums[0]
}

struct Dot<'a> {
    a: &'a [f64],
    b: &'a [f64],
}

impl Loop for Dot<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> f64 {
        dot_in(simd, self.a, self.b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers between −1 and 1 without a pattern that sums could profit from.
    pub(super) fn numbers(n: usize) -> Vec<f64> {
        (0..n).map(|i| ((i * 37 + 11) % 101) as f64 / 50.0 - 1.0).collect()
    }

    #[test]
    fn dot_products_agree_with_a_plain_sum() {
        for n in [0, 1, 31, 32, 33, 100] {
            let (a, b) = (numbers(n), numbers(n + 7)[7..].to_vec());
            let plain: f64 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
            assert!((dot(&a, &b) - plain).abs() < 1e-13);
        }
    }
}
