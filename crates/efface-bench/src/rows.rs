//! Synthetic rows to measure on.

use efface_data::{
    FeatureOrder, FeatureValues, LabelCodec, Labels, MemoryRows, Origin, RawLabels, RowTransform, Scale,
    Table, TableParts,
};
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
    rows(FeatureValues::F32(features), dim, classes)
}

fn rows(features: FeatureValues, dim: usize, classes: Vec<f64>) -> anyhow::Result<MemoryRows> {
    let origin = Origin::new("benchmark rows");
    let table = Table::new(TableParts {
        feature_names: (0..dim).map(|j| format!("x{j}")).collect(),
        features,
        labels: Some(Labels::new(RawLabels::Numbers(classes), origin.clone(), None)),
        ids: None,
        subjects: None,
        origin,
    })?;
    let transform = RowTransform { scale: Scale::Unit, intercept: false };
    let codec = LabelCodec::Classes(vec!["0".into(), "1".into()]);
    Ok(MemoryRows::of_table(table, &transform, Some(&codec), FeatureOrder::AsRead)?)
}
