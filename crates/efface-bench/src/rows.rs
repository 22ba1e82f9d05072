//! Rows to measure on: synthetic ones, and any in double precision.

use efface_core::rows::RowStore;
use efface_data::{FeatureValues, MemoryRows, Precision, RowTransform, Scale};
use efface_reproduce::data::rows_of;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

/// Correlated Gaussian rows of norm 1 in single precision, with labels from a noisy linear rule. Seeded.
pub(crate) fn synthetic(n_rows: usize, dim: usize) -> anyhow::Result<MemoryRows> {
    let mut generator = ChaCha8Rng::seed_from_u64(7);
    let mut normal = || -> f64 { StandardNormal.sample(&mut generator) };
    let direction: Vec<f64> = (0..dim).map(|_| normal()).collect();
    let (mut features, mut classes) = (Vec::with_capacity(n_rows * dim), Vec::with_capacity(n_rows));
    for _ in 0..n_rows {
        let common = normal();
        let row: Vec<f64> = (0..dim).map(|_| normal() + 0.5 * common).collect();
        let margin: f64 = row.iter().zip(&direction).map(|(x, w)| x * w).sum();
        classes.push(f64::from(u8::from(margin + 8.0 * normal() > 0.0)));
        features.extend(row.iter().map(|x| *x as f32));
    }
    let unit = RowTransform { scale: Scale::Unit, intercept: false };
    Ok(rows_of(FeatureValues::F32(features), dim, (classes, 2), &unit)?)
}

/// The same rows in double precision. Rows with an intercept must be in double precision already.
pub(crate) fn in_doubles(of: MemoryRows, n_classes: u32) -> anyhow::Result<MemoryRows> {
    if of.precision() == Precision::F64 {
        return Ok(of);
    }
    let features = (0..of.len()).filter_map(|position| of.row(position)).flatten().collect();
    let classes = (0..of.len()).filter_map(|position| of.label(position)).collect();
    let unscaled = RowTransform { scale: Scale::None, intercept: false };
    Ok(rows_of(FeatureValues::F64(features), of.dim(), (classes, n_classes), &unscaled)?)
}
