//! Rows of public feature extractors: sentences and scenes.

use std::path::Path;

use super::{DataSet, RawRows, Source, find, read, unit_rows};
use crate::Result;

const SST: Source = Source {
    name: "SST sentence features",
    folder: "sst-features",
    published: "https://nlp.stanford.edu/sentiment (sentences; embed them with all-mpnet-base-v2 to train-x.npy, …)",
};

const SCENES: Source = Source {
    name: "Scenes features",
    folder: "scenes-features",
    published: "https://www.kaggle.com/datasets/puneet6060/intel-image-classification \
                (images; embed them with ResNet-50 to train-x.npy.gz, …)",
};

/// Stanford Sentiment Treebank, binary, as sentence embeddings of norm 1. A quick run sees 600 rows of each split.
pub fn sst(data: &Path, quick: bool) -> Result<DataSet> {
    let split = |name: &str| arrays(data, &SST, name, "npy");
    unit_rows("SST", 2, quick.then_some(600), (split("train")?, split("test")?))
}

/// Intel natural scenes, six classes, as image features of norm 1. A quick run sees 400 rows of each split, and each
/// eighth feature.
pub fn scenes(data: &Path, quick: bool) -> Result<DataSet> {
    let split = |name: &str| -> Result<RawRows> {
        let rows = arrays(data, &SCENES, name, "npy.gz")?;
        Ok(if quick { rows.every(8) } else { rows })
    };
    unit_rows("Scenes", 6, quick.then_some(400), (split("train")?, split("test")?))
}

/// Features and labels of one split.
fn arrays(data: &Path, source: &'static Source, split: &str, ending: &str) -> Result<RawRows> {
    let file = |of: &str| find(data, source, &format!("{split}-{of}.{ending}"));
    read(&file("x")?, &file("y")?)
}
