//! A published model: plain JSON that any language can use, predictions with it, and how good they are.

mod evaluation;
mod evaluator;
mod export;
mod predictions;
mod predictor;

use std::collections::HashSet;
use std::path::Path;

use efface_core::loss::{self, Logistic, Loss, Softmax};
use efface_core::model::{Release, TrainingPlan};
use efface_data::derived::{ColumnConstants, Constants, Encoder, INTERCEPT};
use efface_data::files::parent_of;
use efface_data::{Columns, NetworkPlaces, RowTransform, Scale, Schema, Table};
use serde::{Deserialize, Serialize};

pub use self::evaluation::{CalibrationReport, ClassEvaluation, ClassReport, Evaluation, NumberEvaluation};
pub use self::evaluator::Evaluator;
pub use self::export::OnnxOptions;
pub use self::predictions::{Prediction, Predictions, Probabilities};
pub use self::predictor::Predictor;
use crate::directory::files::NETWORKS;
use crate::error::{CertifyError, EngineError};
use crate::settings::Settings;

/// What is published. `score = weights · scaled row + intercept`; the class is `classes[score > 0]` for two classes and
/// the one of the largest score beyond; without classes the score is the prediction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PublishedModel {
    format: String,
    /// k.
    pub release: usize,
    /// Whether the randomness behind it was unpredictable; if not, nothing is promised of it.
    pub certified: bool,
    /// Tag of the loss.
    pub loss: String,
    /// Names of the classes; empty for regression.
    pub classes: Vec<String>,
    /// Names of the features, in the order of the weights.
    pub features: Vec<String>,
    /// What makes these features of the columns of a raw table, where they are not columns themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Schema>,
    /// How a row is scaled before it is multiplied.
    pub scale: Scale,
    /// The columns that the features are made of, and how, where that follows from the rows (`scale` is `auto`).
    #[serde(flatten)]
    pub derived: Option<DerivedFeatures>,
    /// Whether the model has an intercept (otherwise it is 0).
    pub has_intercept: bool,
    intercept: PerProblem<f64>,
    weights: PerProblem<Vec<f64>>,
}

/// What becomes of raw columns under derived constants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DerivedFeatures {
    /// Names of the columns that are read.
    pub columns: Vec<String>,
    /// What each of them becomes; and the target, of which a score is `(y − location) / scale`.
    pub constants: Constants,
}

impl DerivedFeatures {
    /// Leaves out the columns in which no row has anything: only rows that are gone may have brought such a field of JSON
    /// lines. (Where no column is left there is nothing to read, and no model without those rows.)
    fn of_present(names: &[String], constants: &Constants) -> Self {
        let all = names.iter().cloned().zip(constants.columns.iter().cloned());
        let present = all.clone().filter(|(_, column)| *column != ColumnConstants::Empty);
        let (mut columns, mut kept): (Vec<String>, Vec<ColumnConstants>) = present.unzip();
        if columns.is_empty() {
            (columns, kept) = all.unzip();
        }
        Self { columns, constants: Constants { columns: kept, target: constants.target } }
    }
}

/// One value, or one per class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "weights and intercept must be numbers, one set or one per class")]
enum PerProblem<T> {
    One(T),
    Each(Vec<T>),
}

const FORMAT: &str = "efface-model-1";

impl PublishedModel {
    pub(crate) fn new(settings: &Settings, plan: &TrainingPlan, release: &Release, encoder: Option<&Encoder>) -> Self {
        let has_intercept = settings.transform.intercept;
        let features = encoder.map_or_else(|| settings.features.clone(), |e| e.feature_names(&settings.features));
        let constant = if encoder.is_some() { INTERCEPT } else { 1.0 };
        let n_features = features.len();
        let split = |weights: &Vec<f64>| {
            let intercept = if has_intercept { constant * weights[n_features] } else { 0.0 };
            (intercept, weights[..n_features].to_vec())
        };
        let (mut intercept, mut weights): (Vec<f64>, Vec<Vec<f64>>) = release.weights.iter().map(split).unzip();
        let one = weights.len() == 1;
        let derived = encoder.map(|encoder| DerivedFeatures::of_present(&settings.features, encoder.constants()));
        let schema = settings.schema.as_ref().map(|schema| match &derived {
            Some(derived) => schema.with_derived_only_of(&derived.columns),
            None => schema.clone(),
        });
        Self {
            format: FORMAT.into(),
            release: release.claim.release,
            certified: release.claim.certified,
            loss: plan.loss().tag().into(),
            classes: settings.class_names(plan),
            features,
            derived,
            schema,
            scale: settings.transform.scale,
            has_intercept,
            intercept: if one { PerProblem::One(intercept.swap_remove(0)) } else { PerProblem::Each(intercept) },
            weights: if one { PerProblem::One(weights.swap_remove(0)) } else { PerProblem::Each(weights) },
        }
    }

    /// As it is published.
    ///
    /// # Panics
    ///
    /// Never: it is made of plain structures.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("plain structures with string keys");
        text.push('\n');
        text
    }

    /// Reads a published model from the bytes of its file.
    pub(crate) fn from_bytes(file: &Path, text: &[u8]) -> Result<Self, EngineError> {
        let bad = |reason: String| EngineError::Certify(CertifyError::BadPublished { path: file.into(), reason });
        let model: Self =
            serde_json::from_slice(text).map_err(|error| bad(format!("not a published model: {error}")))?;
        if model.format != FORMAT {
            return Err(bad(format!("format `{}` is unknown; this program reads `{FORMAT}`", model.format)));
        }
        if !model.is_consistent() {
            return Err(bad("its weights, features and classes do not fit each other".into()));
        }
        let folder = parent_of(file);
        // Beside the file, or in the model directory that a release lies in.
        let places = [folder.to_owned(), folder.join(NETWORKS), folder.join("../..").join(NETWORKS)];
        Ok(model.with_networks(NetworkPlaces::new(places)))
    }

    /// The same whose networks are those of a model directory.
    #[must_use]
    pub fn of_directory(self, directory: &Path) -> Self {
        self.with_networks(NetworkPlaces::new([directory.join(NETWORKS)]))
    }

    /// The same whose networks are looked for here.
    #[must_use]
    pub fn with_networks(self, places: NetworkPlaces) -> Self {
        Self { schema: self.schema.map(|schema| schema.with_networks(places)), ..self }
    }

    /// Which columns of a table the model reads.
    pub fn columns(&self, label: Option<String>, id: Option<String>) -> Columns {
        Columns { features: Some(self.column_names().to_vec()), label, id, ..Columns::default() }
    }

    /// The column of labels that the schema names.
    pub fn usual_label(&self) -> Option<String> {
        self.schema.as_ref()?.label().map(str::to_owned)
    }

    /// What predicts with this model, where classes are decided as its format says.
    pub fn predictor(&self) -> Predictor<'_> {
        Predictor::new(self)
    }

    /// How good predictions are on the rows of a labelled table.
    pub fn evaluate(&self, table: Table) -> Result<Evaluation, EngineError> {
        let mut evaluator = self.predictor().evaluator();
        evaluator.add(table)?;
        Ok(evaluator.finish())
    }

    /// Whether scores stand for probabilities: a score that was fitted to ±1 by squares is no logarithm of odds.
    fn has_probabilities(&self) -> bool {
        !self.classes.is_empty() && (self.loss == Logistic.tag() || self.is_joint())
    }

    /// Whether the scores of all classes are taken together.
    pub(super) fn is_joint(&self) -> bool {
        self.loss == Softmax.tag()
    }

    /// The columns of a table that features are made of.
    fn column_names(&self) -> &[String] {
        self.derived.as_ref().map_or(&self.features, |derived| &derived.columns)
    }

    /// Whether the parts fit each other: a file that was edited by hand may say anything.
    fn is_consistent(&self) -> bool {
        let Some(loss) = loss::by_tag(&self.loss) else { return false };
        let (problems, intercepts) = (self.problems(), self.intercepts());
        let expected = if self.classes.len() > 2 { self.classes.len() } else { 1 };
        let distinct: HashSet<&String> = self.classes.iter().collect();
        let classes_fit = match self.classes.len() {
            0 => !loss.is_classification(),
            n => n >= 2 && distinct.len() == n && (n > 2 || !self.is_joint()),
        };
        let columns = self.column_names();
        let features_fit = self.schema.as_ref().is_none_or(|schema| schema.feature_names() == columns)
            && match self.encoder() {
                None => self.scale != Scale::Auto,
                Some(encoder) => {
                    encoder.n_columns() == columns.len() && encoder.feature_names(columns) == self.features
                }
            };
        let dim = self.features.len() + usize::from(self.has_intercept);
        classes_fit
            && features_fit
            && problems.len() == expected
            && intercepts.len() == expected
            && problems.iter().all(|weights| weights.len() == dim && weights.iter().all(|w| w.is_finite()))
            && (self.has_intercept || intercepts.iter().all(|intercept| *intercept == 0.0))
    }

    /// What encodes raw rows as this model takes them.
    pub fn encoder(&self) -> Option<Encoder> {
        let constants = self.derived.as_ref()?.constants.clone();
        Some(Encoder::new(constants, self.has_intercept))
    }

    fn transform(&self) -> RowTransform {
        RowTransform { scale: self.scale, intercept: self.has_intercept }
    }

    fn intercepts(&self) -> &[f64] {
        match &self.intercept {
            PerProblem::One(intercept) => std::slice::from_ref(intercept),
            PerProblem::Each(each) => each,
        }
    }

    /// Number of binary problems: one, or one per class of several.
    fn n_problems(&self) -> usize {
        self.intercepts().len()
    }

    /// Weights per problem, the intercept last where there is one.
    pub fn problems(&self) -> Vec<Vec<f64>> {
        let weights = match &self.weights {
            PerProblem::One(weights) => std::slice::from_ref(weights),
            PerProblem::Each(each) => each,
        };
        let mut problems = weights.to_vec();
        if self.has_intercept {
            problems.iter_mut().zip(self.intercepts()).for_each(|(weights, intercept)| weights.push(*intercept));
        }
        problems
    }
}
