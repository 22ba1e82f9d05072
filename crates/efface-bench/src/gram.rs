//! The weighted Gram matrix Xᵀ diag(a) X, where training time goes, beside the machine's plain matrix product.

use efface_core::loss::Logistic;
use efface_core::rows::{Point, Problem, RowStore};
use efface_reproduce::measure::{median, timed, try_timed};
use faer::Mat;
use faer::linalg::matmul::matmul;
use faer::{Accum, Par};

use crate::rows::synthetic;

const REPEATS: usize = 9;

pub(crate) fn run() -> anyhow::Result<()> {
    println!("weighted Gram matrix, n·d·(d+1) operations, medians of {REPEATS}; product of two 1536 × 1536 matrices");
    for (n, dim) in [(12_000, 784), (100_000, 256), (100_000, 64)] {
        let rows = synthetic(n, dim)?;
        let weights = vec![0.01; dim];
        let problem = Problem::one_vs_rest(1, None);
        let (mut gram, mut product) = (Vec::new(), Vec::new());
        let (a, b) = (square(1536), square(1536));
        for _ in 0..REPEATS {
            let point = Point { problem: &problem, weights: &weights };
            let (_, seconds) = try_timed(|| rows.curvature(&Logistic, &[point]))?;
            gram.push((n * dim * (dim + 1)) as f64 / seconds / 1e9);
            let mut c = Mat::<f64>::zeros(1536, 1536);
            let ((), seconds) = timed(|| matmul(c.as_mut(), Accum::Replace, &a, &b, 1.0, Par::rayon(0)));
            product.push(2.0 * 1536_f64.powi(3) / seconds / 1e9);
        }
        let (gram, product) = (median(gram), median(product));
        println!(
            "  n = {n:6}, d = {dim:3}: {gram:5.1} GFLOP/s, product {product:5.1} GFLOP/s, ratio {:.2}",
            gram / product
        );
    }
    Ok(())
}

fn square(n: usize) -> Mat<f64> {
    Mat::from_fn(n, n, |i, j| ((i * 31 + j * 17) % 101) as f64 / 101.0)
}
