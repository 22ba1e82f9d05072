//! MNIST, digits 3 and 8.

use std::path::Path;

use efface_data::FeatureValues;

use super::{DataSet, RawRows, Source, doubles, find, read, unit_rows};
use crate::{ExperimentError, Result};

const SOURCE: Source =
    Source { name: "MNIST", folder: "mnist", published: "https://yann.lecun.com/exdb/mnist (four IDX files, gzipped)" };

/// Pixels per side of an image.
pub const SIDE: usize = 28;

/// Digits 3 (class 0) and 8 (class 1): pixels p/255 − 0.5, rows to norm 1. A quick run sees 600 rows of each split.
pub fn mnist_3_vs_8(data: &Path, quick: bool) -> Result<DataSet> {
    let train = read_split(data, "train")?;
    let test = read_split(data, "t10k")?;
    unit_rows("MNIST 3-vs-8", 2, quick.then_some(600), (train, test))
}

fn read_split(data: &Path, split: &str) -> Result<RawRows> {
    let images = find(data, &SOURCE, &format!("{split}-images-idx3-ubyte.gz"))?;
    let labels = find(data, &SOURCE, &format!("{split}-labels-idx1-ubyte.gz"))?;
    let RawRows { features, dim, classes } = read(&images, &labels)?;
    if dim != SIDE * SIDE {
        let what = format!("{dim} pixels per image where MNIST has {}", SIDE * SIDE);
        return Err(ExperimentError::Unexpected { path: images, what });
    }
    let values = doubles(features);
    let (mut kept, mut kept_classes) = (Vec::new(), Vec::new());
    for (image, digit) in values.chunks_exact(dim).zip(classes) {
        if digit == 3.0 || digit == 8.0 {
            kept.extend(image.iter().map(|pixel| pixel / 255.0 - 0.5));
            kept_classes.push(f64::from(u8::from(digit == 8.0)));
        }
    }
    Ok(RawRows { features: FeatureValues::F64(kept), dim, classes: kept_classes })
}

/// The image that a row of norm 1 shows: 0 is paper, 255 is ink. Its darkest and lightest pixels are the ends.
pub fn image(row: &[f64]) -> Vec<u8> {
    let low = row.iter().copied().fold(f64::INFINITY, f64::min);
    let high = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let span = if high > low { high - low } else { 1.0 };
    row.iter().map(|value| (255.0 * (value - low) / span).round() as u8).collect()
}
