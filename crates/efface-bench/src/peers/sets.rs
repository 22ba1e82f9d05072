//! What the peers are compared on: real data sets and synthetic sizes, all in double precision.

use std::path::Path;

use anyhow::Context;
use clap::ValueEnum;
use efface_reproduce::data::{self, ADULT_L2_PER_ROW, DataSet};

use crate::rows::in_doubles;
use crate::subject::{L2_PER_ROW, Subject};

/// A data set or a synthetic size, as named on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Set {
    /// MNIST 3-vs-8.
    Mnist,
    /// Sentence embeddings, two classes.
    Sst,
    /// Image features, six classes one-vs-rest with all negatives.
    Scenes,
    /// Census rows with an intercept as a constant feature.
    Adult,
    /// 10,000 × 64.
    #[value(name = "10000x64")]
    Short,
    /// 100,000 × 64.
    #[value(name = "100000x64")]
    Tall,
    /// 10,000 × 512.
    #[value(name = "10000x512")]
    Wide,
    /// 100,000 × 256.
    #[value(name = "100000x256")]
    Large,
    /// 2,000 × 16: for a smoke test.
    #[value(name = "2000x16")]
    Tiny,
}

impl Set {
    /// What a run without `--only` measures.
    pub(crate) const ALL: [Self; 8] =
        [Self::Mnist, Self::Sst, Self::Scenes, Self::Adult, Self::Short, Self::Tall, Self::Wide, Self::Large];

    /// Reads or makes the rows.
    pub(crate) fn load(self, data: Option<&Path>) -> anyhow::Result<Subject> {
        let name = self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
        let folder = || data.with_context(|| format!("{name} is read from a folder: say which with --data"));
        let (set, l2_per_row) = match self {
            Self::Mnist => (data::mnist_3_vs_8(folder()?, false)?, L2_PER_ROW),
            Self::Sst => (data::sst(folder()?, false)?, L2_PER_ROW),
            Self::Scenes => (data::scenes(folder()?, false)?, L2_PER_ROW),
            Self::Adult => (data::adult(folder()?)?, ADULT_L2_PER_ROW),
            Self::Short => return Subject::synthetic(name, 10_000, 64),
            Self::Tall => return Subject::synthetic(name, 100_000, 64),
            Self::Wide => return Subject::synthetic(name, 10_000, 512),
            Self::Large => return Subject::synthetic(name, 100_000, 256),
            Self::Tiny => return Subject::synthetic(name, 2_000, 16),
        };
        let DataSet { n_classes, train, test, .. } = set;
        let (train, test) = (in_doubles(train, n_classes)?, in_doubles(test, n_classes)?);
        Ok(Subject { name, l2_per_row, n_classes, train, test })
    }
}
