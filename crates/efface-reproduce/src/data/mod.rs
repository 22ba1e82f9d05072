//! The data sets: rows to train on, rows to test on, scaled as in the paper.

mod adult;
mod digits;
mod features;
mod mnist;

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

use crate::{ExperimentError, Setting};

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
    /// Labels of the rows to test on.
    pub test_labels: Vec<f64>,
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
    pub fn train_rows(&self) -> Result<MemoryRows, ExperimentError> {
        let present: Vec<usize> = (0..self.train.len()).filter(|i| self.train.is_present(*i)).collect();
        Ok(self.train.batch(&present)?)
    }

    /// Fraction of the test rows whose class these weights find.
    pub fn accuracy(&self, weights: &[Vec<f64>]) -> Result<f64, ExperimentError> {
        Ok(predict::accuracy(&predict::margins(&self.test, weights)?, &self.test_labels))
    }
}

/// Loads a data set; the flag asks for the few rows of a quick run.
pub(crate) type Load = fn(&Path, bool) -> Result<DataSet, ExperimentError>;

/// Works on each data set that is there. The others are told, each in a line that says what is missing; when none is
/// there, that is an error.
pub(crate) fn on_each<T>(
    loads: &[Load],
    setting: &Setting,
    mut work: impl FnMut(usize, &DataSet) -> Result<T, ExperimentError>,
) -> Result<(Vec<T>, Vec<String>), ExperimentError> {
    // All are loaded first: a file that is damaged is told before the work, not in the middle of it.
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
    let done: Result<Vec<T>, ExperimentError> = sets.iter().map(|(index, set)| work(*index, set)).collect();
    Ok((done?, missing))
}

/// Features, row-major, and classes of rows as they are read.
struct RawRows {
    features: FeatureValues,
    dim: usize,
    classes: Vec<f64>,
}

impl RawRows {
    /// The first `n` rows, or all of them.
    fn take(mut self, n: Option<usize>) -> Self {
        if let Some(n) = n {
            self.classes.truncate(n);
            let values = self.classes.len() * self.dim;
            match &mut self.features {
                FeatureValues::F32(features) => features.truncate(values),
                FeatureValues::F64(features) => features.truncate(values),
            }
        }
        self
    }

    /// Each `step`-th feature.
    fn every(self, step: usize) -> Self {
        let thin =
            doubles(self.features).chunks_exact(self.dim).flat_map(|row| row.iter().step_by(step)).copied().collect();
        Self { features: FeatureValues::F64(thin), dim: self.dim.div_ceil(step), classes: self.classes }
    }

    /// Every row to norm 1, with or without an intercept.
    fn into_unit_rows(self, n_classes: u32, intercept: bool) -> Result<MemoryRows, ExperimentError> {
        let origin = Origin::new("rows of an experiment");
        let table = Table::new(TableParts {
            feature_names: (0..self.dim).map(|j| format!("x{j}")).collect(),
            features: self.features,
            labels: Some(Labels::new(RawLabels::Numbers(self.classes), origin.clone(), None)),
            ids: None,
            subjects: None,
            origin,
        })?;
        let transform = RowTransform { scale: Scale::Unit, intercept };
        let codec = LabelCodec::Classes((0..n_classes).map(|class| class.to_string()).collect());
        Ok(MemoryRows::of_table(table, &transform, Some(&codec), FeatureOrder::AsRead)?)
    }
}

/// A data set of two splits, every row to norm 1. A quick run sees the first `quick` rows of each.
fn unit_rows(
    name: &'static str,
    n_classes: u32,
    quick: Option<usize>,
    (train, test): (RawRows, RawRows),
) -> Result<DataSet, ExperimentError> {
    let (train, test) = (train.take(quick), test.take(quick));
    let test_labels = test.classes.clone();
    let (train, test) = (train.into_unit_rows(n_classes, false)?, test.into_unit_rows(n_classes, false)?);
    Ok(DataSet { name, n_classes, train, test, test_labels })
}

/// The path of a file of a data set, if it is there.
fn find(data: &Path, source_of: &'static Source, file: &str) -> Result<PathBuf, ExperimentError> {
    let path = data.join(source_of.folder).join(file);
    if path.exists() { Ok(path) } else { Err(ExperimentError::Missing { source_of, path }) }
}

/// Features and labels of two array files.
fn read(features: &Path, labels: &Path) -> Result<RawRows, ExperimentError> {
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
