//! A published model: plain JSON that any language can use, and predictions with it.

use std::collections::HashSet;
use std::path::Path;

use efface_core::loss::{self, Logistic, Loss};
use efface_core::model::{Release, TrainingPlan};
use efface_core::predict;
use efface_core::rows::RowStore;
use efface_data::derived::{Constants, Encoder, INTERCEPT};
use efface_data::{
    Columns, FeatureOrder, LabelCodec, MemoryRows, RowId, RowTransform, Scale, Schema, Table, read_table,
};
use serde::{Deserialize, Serialize};

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

/// One value, or one per class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "weights and intercept must be numbers, one set or one per class")]
enum PerProblem<T> {
    One(T),
    Each(Vec<T>),
}

/// A prediction for one row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prediction {
    /// Id of the row.
    pub id: RowId,
    /// Class, or the number itself for regression.
    pub prediction: String,
    /// Probability of that class; none for regression and for classes fitted by squares.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probability: Option<f64>,
}

/// How good predictions are on labelled rows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Evaluation {
    /// Fraction of right classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<f64>,
    /// Root of the mean squared error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rmse: Option<f64>,
    /// Rows.
    pub n_rows: usize,
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
        Self {
            format: FORMAT.into(),
            release: release.claim.release,
            certified: release.claim.certified,
            loss: settings.config.loss.tag().into(),
            classes: settings.class_names(plan),
            features,
            derived: encoder.map(|encoder| DerivedFeatures {
                columns: settings.features.clone(),
                constants: encoder.constants().clone(),
            }),
            schema: settings.schema.clone(),
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
        Ok(model)
    }

    /// Which columns of a table the model reads.
    pub fn columns(&self, label: Option<String>, id: Option<String>) -> Columns {
        let features = self.derived.as_ref().map_or(&self.features, |derived| &derived.columns);
        Columns { features: Some(features.clone()), label, id, ..Columns::default() }
    }

    /// Reads the rows of a file as the model takes them: its features by name, or through its schema.
    pub fn read(&self, data: &Path, label: Option<String>, id: Option<String>) -> Result<Table, EngineError> {
        Ok(read_table(data, &self.columns(label, id), self.schema.as_ref())?)
    }

    /// The column of labels that the schema names.
    pub fn usual_label(&self) -> Option<String> {
        self.schema.as_ref()?.label().map(str::to_owned)
    }

    /// Predictions for the rows of a table.
    pub fn predict(&self, table: Table) -> Result<Vec<Prediction>, EngineError> {
        let ids = table.ids().to_vec();
        let scores = self.scores(table)?.0;
        Ok(ids.into_iter().enumerate().map(|(i, id)| self.prediction(id, i, &scores)).collect())
    }

    /// Accuracy (classes) or root mean squared error (regression) on the rows of a labelled table.
    pub fn evaluate(&self, table: Table) -> Result<Evaluation, EngineError> {
        let codec =
            if self.classes.is_empty() { LabelCodec::Numeric } else { LabelCodec::Classes(self.classes.clone()) };
        let labels = match table.labels() {
            Some(labels) => codec.encode(labels)?,
            None => return Err(efface_data::EncodeError::NoLabels { file: table.origin().file().into() }.into()),
        };
        let (scores, n_rows) = self.scores(table)?;
        Ok(if self.classes.is_empty() {
            Evaluation { accuracy: None, rmse: Some(predict::root_mean_squared_error(&scores, &labels)), n_rows }
        } else {
            Evaluation { accuracy: Some(predict::accuracy(&scores, &labels)), rmse: None, n_rows }
        })
    }

    /// Whether the parts fit each other: a file that was edited by hand may say anything.
    fn is_consistent(&self) -> bool {
        let Some(loss) = loss::by_tag(&self.loss) else { return false };
        let (problems, intercepts) = (self.problems(), self.intercepts());
        let expected = if self.classes.len() > 2 { self.classes.len() } else { 1 };
        let distinct: HashSet<&String> = self.classes.iter().collect();
        let classes_fit = match self.classes.len() {
            0 => !loss.is_classification(),
            n => n >= 2 && distinct.len() == n,
        };
        let columns = self.derived.as_ref().map_or(&self.features, |derived| &derived.columns);
        let features_fit = self.schema.as_ref().is_none_or(|schema| schema.feature_names() == *columns)
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

    fn scores(&self, table: Table) -> Result<(Vec<Vec<f64>>, usize), EngineError> {
        let columns = self.derived.as_ref().map_or(&self.features, |derived| &derived.columns);
        let order = FeatureOrder::Named(columns);
        let rows = MemoryRows::of_table(table, &self.transform().for_prediction().kept(), None, order)?;
        let Some(encoder) = self.encoder() else {
            return Ok((predict::margins(&rows, &self.problems())?, rows.n_rows()));
        };
        let rows = rows.encoded(&encoder);
        let mut problems = self.problems();
        if self.has_intercept {
            problems.iter_mut().filter_map(|weights| weights.last_mut()).for_each(|weight| *weight /= INTERCEPT);
        }
        let mut scores = predict::margins(&rows, &problems)?;
        if let Some(target) = encoder.constants().target.filter(|_| self.classes.is_empty()) {
            scores.iter_mut().flatten().for_each(|score| *score = target.location + target.scale * *score);
        }
        Ok((scores, rows.n_rows()))
    }

    /// What encodes raw rows as this model takes them.
    pub fn encoder(&self) -> Option<Encoder> {
        let constants = self.derived.as_ref()?.constants.clone();
        Some(Encoder::new(constants, self.has_intercept))
    }

    fn prediction(&self, id: RowId, row: usize, scores: &[Vec<f64>]) -> Prediction {
        if self.classes.is_empty() {
            return Prediction { id, prediction: scores[0][row].to_string(), probability: None };
        }
        // ln σ(z): the probabilities of many classes may all be too small for a number, and yet have a ratio.
        let log_sigmoid = |score: f64| score.min(0.0) - (-score.abs()).exp().ln_1p();
        let class = predict::predicted_class(scores, row);
        let probability = if let [score] = scores {
            log_sigmoid(if class == 1 { score[row] } else { -score[row] }).exp()
        } else {
            let chosen = log_sigmoid(scores[class][row]);
            1.0 / scores.iter().map(|score| (log_sigmoid(score[row]) - chosen).exp()).sum::<f64>()
        };
        // A score that was fitted to ±1 by squares is no logarithm of odds.
        let probability = (self.loss == Logistic.tag()).then_some(probability);
        Prediction { id, prediction: self.classes[class].clone(), probability }
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
