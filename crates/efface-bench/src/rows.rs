//! Rows to measure on: MNIST 3-vs-8, and synthetic ones.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, ensure};
use efface_data::{
    FeatureOrder, FeatureValues, LabelCodec, Labels, MemoryRows, Origin, RawLabels, RowTransform, Scale, Table,
    TableParts,
};
use flate2::read::GzDecoder;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

/// Digits 3 (class 0) and 8 (class 1) of MNIST's training set: pixels p/255 − 0.5, rows to norm 1, double precision.
pub(crate) fn mnist_3_vs_8(data: &Path) -> anyhow::Result<MemoryRows> {
    let images = gunzip(&data.join("mnist/train-images-idx3-ubyte.gz"))?;
    let labels = gunzip(&data.join("mnist/train-labels-idx1-ubyte.gz"))?;
    ensure!(images.len() == 16 + 60_000 * 784 && labels.len() == 8 + 60_000, "not the MNIST training files");
    let (mut features, mut classes) = (Vec::new(), Vec::new());
    for (image, label) in images[16..].chunks_exact(784).zip(&labels[8..]) {
        if *label == 3 || *label == 8 {
            features.extend(image.iter().map(|pixel| f64::from(*pixel) / 255.0 - 0.5));
            classes.push(f64::from(u8::from(*label == 8)));
        }
    }
    rows(FeatureValues::F64(features), 784, classes)
}

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

fn gunzip(path: &Path) -> anyhow::Result<Vec<u8>> {
    let missing = || format!("{}: MNIST's IDX files, gzipped, are expected there", path.display());
    let mut bytes = Vec::new();
    GzDecoder::new(File::open(path).with_context(missing)?).read_to_end(&mut bytes).with_context(missing)?;
    Ok(bytes)
}
