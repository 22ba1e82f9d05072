//! The data sets: rows to train on, rows to test on, scaled as in the paper.

mod adult;
mod digits;
mod features;
mod mnist;
mod svhn;

use std::path::{Path, PathBuf};

use efface_core::predict;
use efface_core::rows::RowStore;
use efface_data::{
    Columns, FeatureOrder, FeatureValues, LabelCodec, Labels, MemoryRows, Origin, RawLabels, RowTransform, Scale,
    Table, TableParts, read_table,
};

pub use adult::{L2_PER_ROW as ADULT_L2_PER_ROW, adult};
pub(crate) use digits::digits;
pub use features::{scenes, sst};
pub use mnist::{SIDE, image, mnist_3_vs_8};
pub(crate) use svhn::{Pictures, SVHN_CHANNELS, SVHN_CLASSES, SVHN_SIDE, Split, svhn, svhn_pictures};

use crate::{ExperimentError, Result, Setting};

/// Where a data set comes from.
#[derive(Debug)]
pub struct Source {
    /// Its name.
    pub name: &'static str,
    /// Its folder under the data directory.
    pub folder: &'static str,
    /// Where it is published.
    pub published: &'static str,
}

/// Rows to train on and rows to test on.
pub struct DataSet {
    /// Its name.
    pub name: &'static str,
    /// K.
    pub n_classes: u32,
    /// Rows to train on.
    pub train: MemoryRows,
    /// Rows to test on.
    pub test: MemoryRows,
}

impl DataSet {
    /// n.
    pub fn n_rows(&self) -> usize {
        self.train.n_rows()
    }

    /// d.
    pub fn dim(&self) -> usize {
        self.train.dim()
    }

    /// A copy of the rows to train on, from which rows may leave.
    pub fn train_rows(&self) -> Result<MemoryRows> {
        first(&self.train, usize::MAX)
    }

    /// Fraction of the test rows whose class these weights find.
    pub fn accuracy(&self, weights: &[Vec<f64>]) -> Result<f64> {
        accuracy(&self.test, weights)
    }
}

/// Fraction of the rows whose class these weights find.
pub(crate) fn accuracy(rows: &MemoryRows, weights: &[Vec<f64>]) -> Result<f64> {
    let labels: Vec<f64> = (0..rows.len()).filter_map(|position| rows.label(position)).collect();
    Ok(predict::accuracy(&predict::margins(rows, weights)?, &labels))
}

/// A copy of the first `n` rows, or of all of them.
pub fn first(rows: &MemoryRows, n: usize) -> Result<MemoryRows> {
    Ok(rows.batch(&(0..rows.len().min(n)).collect::<Vec<usize>>())?)
}

/// Rows of these features with classes 0, 1, …, each scaled by itself.
pub fn rows_of(
    features: FeatureValues,
    dim: usize,
    (classes, n_classes): (Vec<f64>, u32),
    transform: &RowTransform,
) -> Result<MemoryRows> {
    let origin = Origin::new("rows of an experiment");
    let table = Table::new(TableParts {
        feature_names: (0..dim).map(|j| format!("x{j}")).collect(),
        features,
        labels: Some(Labels::new(RawLabels::Numbers(classes), origin.clone(), None)),
        ids: None,
        subjects: None,
        row_weights: None,
        origin,
        texts: None,
    })?;
    let codec = LabelCodec::Classes((0..n_classes).map(|class| class.to_string()).collect());
    Ok(MemoryRows::of_table(table, transform, Some(&codec), FeatureOrder::AsRead)?)
}

/// Loads a data set; the flag asks for the few rows of a quick run.
pub(crate) type Load = fn(&Path, bool) -> Result<DataSet>;

/// Works on each data set that is there, and returns a line on each that is missing. It is an error when all are.
pub(crate) fn on_each<T>(
    loads: &[Load],
    setting: &Setting<'_>,
    mut work: impl FnMut(usize, &DataSet) -> Result<T>,
) -> Result<(Vec<T>, Vec<String>)> {
    // All are loaded first: a damaged file is reported before the work, not in the middle of it.
    let (mut sets, mut missing, mut absent) = (Vec::new(), Vec::new(), None);
    for (index, load) in loads.iter().enumerate() {
        match load(&setting.data, setting.quick) {
            Ok(set) => sets.push((index, set)),
            Err(error @ ExperimentError::Missing { .. }) => {
                missing.push(error.to_string());
                absent = Some(error);
            }
            Err(error) => return Err(error),
        }
    }
    if let (Some(error), true) = (absent, sets.is_empty()) {
        return Err(error);
    }
    let done: Result<Vec<T>> = sets.iter().map(|(index, set)| work(*index, set)).collect();
    Ok((done?, missing))
}

/// Features, row-major, and classes of rows as they are read.
struct RawRows {
    features: FeatureValues,
    dim: usize,
    classes: Vec<f64>,
}

impl RawRows {
    /// Each `step`-th feature.
    fn every(self, step: usize) -> Self {
        let thin =
            doubles(self.features).chunks_exact(self.dim).flat_map(|row| row.iter().step_by(step)).copied().collect();
        Self { features: FeatureValues::F64(thin), dim: self.dim.div_ceil(step), classes: self.classes }
    }
}

/// A data set of two splits, every row to norm 1. A quick run sees the first `quick` rows of each.
fn unit_rows(
    name: &'static str,
    n_classes: u32,
    quick: Option<usize>,
    (train, test): (RawRows, RawRows),
) -> Result<DataSet> {
    let unit = RowTransform { scale: Scale::Unit, intercept: false };
    let split = |RawRows { features, dim, classes }: RawRows| -> Result<MemoryRows> {
        let rows = rows_of(features, dim, (classes, n_classes), &unit)?;
        if let Some(n) = quick { first(&rows, n) } else { Ok(rows) }
    };
    Ok(DataSet { name, n_classes, train: split(train)?, test: split(test)? })
}

/// The path of a file of a data set, if it is there.
fn find(data: &Path, source_of: &'static Source, file: &str) -> Result<PathBuf> {
    let path = data.join(source_of.folder).join(file);
    if path.exists() { Ok(path) } else { Err(ExperimentError::Missing { source_of, path }) }
}

/// Features and labels of two array files.
fn read(features: &Path, labels: &Path) -> Result<RawRows> {
    let columns = Columns { label: Some(labels.display().to_string()), ..Columns::default() };
    let TableParts { feature_names, features: values, labels: numbers, .. } =
        read_table(features, &columns, None)?.into_parts();
    match numbers.map(|labels| labels.values) {
        Some(RawLabels::Numbers(classes)) => Ok(RawRows { features: values, dim: feature_names.len(), classes }),
        _ => Err(ExperimentError::Unexpected { path: labels.into(), what: "numbers are expected as labels".into() }),
    }
}

fn doubles(values: FeatureValues) -> Vec<f64> {
    match values {
        FeatureValues::F32(values) => values.into_iter().map(f64::from).collect(),
        FeatureValues::F64(values) => values,
    }
}
