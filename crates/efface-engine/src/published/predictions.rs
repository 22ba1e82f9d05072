//! What a model says of rows: a class or a number each, and probabilities where it has them.

use std::borrow::Cow;

use efface_core::predict::ClassProbabilities;
use efface_data::RowId;
use serde::{Serialize, Serializer};

use super::Predictor;

/// Predictions for the rows of one table, worked out one by one as they are asked for.
pub struct Predictions<'a> {
    predictor: &'a Predictor<'a>,
    ids: Vec<RowId>,
    scores: Vec<Vec<f64>>,
}

/// A prediction for one row.
#[derive(Clone, Debug, Serialize)]
pub struct Prediction<'a> {
    /// Id of the row.
    pub id: &'a RowId,
    /// Class, or the number itself for regression.
    pub prediction: Cow<'a, str>,
    /// Probability of that class; none for regression and for classes fitted by squares.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probability: Option<f64>,
    /// Probabilities of all classes, where they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probabilities: Option<Probabilities<'a>>,
}

/// The probability of every class, by name in JSON.
#[derive(Clone, Copy, Debug)]
pub struct Probabilities<'a> {
    classes: &'a [String],
    probabilities: ClassProbabilities<'a>,
}

impl<'a> Predictions<'a> {
    pub(super) fn new(predictor: &'a Predictor<'a>, ids: Vec<RowId>, scores: Vec<Vec<f64>>) -> Self {
        Self { predictor, ids, scores }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// One per row, in order; with the probabilities of all classes, or only that of the predicted one.
    pub fn iter(&self, with_all_probabilities: bool) -> impl Iterator<Item = Prediction<'_>> {
        self.ids.iter().enumerate().map(move |(row, id)| {
            let model = self.predictor.model;
            if model.classes.is_empty() {
                let prediction = Cow::Owned(self.scores[0][row].to_string());
                return Prediction { id, prediction, probability: None, probabilities: None };
            }
            let class = self.predictor.class(&self.scores, row);
            let probabilities =
                model.has_probabilities().then(|| ClassProbabilities::of(&self.scores, row, model.is_joint()));
            Prediction {
                id,
                prediction: Cow::Borrowed(&model.classes[class]),
                probability: probabilities.map(|probabilities| probabilities.probability(class)),
                probabilities: probabilities
                    .filter(|_| with_all_probabilities)
                    .map(|probabilities| Probabilities { classes: &model.classes, probabilities }),
            }
        })
    }
}

impl Probabilities<'_> {
    /// Each class and its probability, in the order of the model's classes.
    pub fn iter(&self) -> impl Iterator<Item = (&str, f64)> {
        self.classes.iter().enumerate().map(|(k, class)| (class.as_str(), self.probabilities.probability(k)))
    }
}

impl Serialize for Probabilities<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}
