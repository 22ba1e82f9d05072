//! The configuration of a model, as the Python package writes it.

use efface_core::loss;
use efface_core::model::{BudgetRule, Mechanism, MechanismKind, MultiClass, TrainingConfig};
use efface_core::ridge::Ridge;
use efface_core::rows::MOST_ROW_WEIGHT;
use efface_data::{ClassWeights, Columns, RowTransform, Scale};
use efface_engine::RowNames;
use pyo3::prelude::*;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::errors::bad_parameter;

/// What to train and promise, and how rows are scaled.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Config {
    loss: String,
    #[serde(flatten)]
    ridge: Ridge,
    mechanism: String,
    noise_std: Option<f64>,
    epsilon: f64,
    delta: f64,
    tolerance: f64,
    scale: Scale,
    intercept: bool,
    /// The most that a row may weigh; without, every row counts once.
    max_row_weight: Option<f64>,
    /// Whether the bound on the length of rows was read off the rows.
    pub(crate) row_norm_from_rows: bool,
    /// As how many rows a row of each class counts, where that differs.
    #[serde(default)]
    pub(crate) class_weights: ClassWeights,
    /// Releases that the promise is shared among.
    max_releases: u64,
    /// What three classes or more become.
    multi_class: String,
}

impl Config {
    /// How rows are scaled.
    pub(crate) fn transform(&self) -> RowTransform {
        RowTransform { scale: self.scale, intercept: self.intercept }
    }

    /// The most that a row may weigh; `None`: every row counts once. Weights that come with no limit may be any.
    pub(crate) fn max_row_weight(&self, is_weighted: bool) -> Option<f64> {
        self.max_row_weight.or(is_weighted.then_some(MOST_ROW_WEIGHT))
    }

    /// What is trained. The number of classes is left open.
    pub(crate) fn training(&self, py: Python<'_>) -> PyResult<TrainingConfig> {
        let unknown = |name: &str, tags: &[&str], found: &str| {
            bad_parameter(py, &format!("{name} must be `{}`, got `{found}`", tags.join("` or `")))
        };
        let loss =
            loss::by_tag(&self.loss).ok_or_else(|| unknown("loss", &loss::SCALAR.map(loss::Loss::tag), &self.loss))?;
        let mechanism = MechanismKind::by_tag(&self.mechanism)
            .ok_or_else(|| unknown("mechanism", &MechanismKind::ALL.map(MechanismKind::tag), &self.mechanism))?;
        let multi_class = MultiClass::by_tag(&self.multi_class)
            .ok_or_else(|| unknown("multi_class", &MultiClass::ALL.map(MultiClass::tag), &self.multi_class))?;
        Ok(TrainingConfig {
            multi_class,
            mechanism: Mechanism::new(mechanism, BudgetRule::Analytic),
            noise_std: self.noise_std,
            epsilon: self.epsilon,
            delta: self.delta,
            gradient_tolerance: self.tolerance,
            max_releases: self.max_releases,
            ridge: self.ridge,
            ..TrainingConfig::new(loss, 1.0, None)
        })
    }
}

/// What columns and rows are called.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Naming {
    /// The roles of the user's columns; `features` where they had names.
    pub(crate) columns: Columns,
    pub(crate) row_names: RowNames,
}

/// Reads what the package wrote.
pub(crate) fn parse<T: DeserializeOwned>(py: Python<'_>, text: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(|error| bad_parameter(py, &error.to_string()))
}
