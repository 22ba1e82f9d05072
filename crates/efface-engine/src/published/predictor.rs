//! From rows to scores, and from scores to classes: the one way that predictions and their evaluation take.

use efface_core::predict::{self, ClassProbabilities};
use efface_data::derived::{Encoder, INTERCEPT};
use efface_data::{FeatureOrder, MemoryRows, RowId, RowTransform, Table};

use super::{Evaluator, Predictions, PublishedModel};
use crate::directory::make::chunk_rows;
use crate::error::{EngineError, PredictError};

/// A published model made ready for rows. The score of a row does not depend on the rows that come with it, so a table may be
/// handed over as a whole or in chunks.
pub struct Predictor<'a> {
    pub(super) model: &'a PublishedModel,
    encoder: Option<Encoder>,
    transform: RowTransform,
    /// Weights per problem, as encoded rows take them.
    problems: Vec<Vec<f64>>,
    threshold: Option<f64>,
}

impl<'a> Predictor<'a> {
    pub(super) fn new(model: &'a PublishedModel) -> Self {
        let (encoder, mut problems) = (model.encoder(), model.problems());
        if encoder.is_some() && model.has_intercept {
            problems.iter_mut().filter_map(|weights| weights.last_mut()).for_each(|weight| *weight /= INTERCEPT);
        }
        Self { model, encoder, transform: model.transform().for_prediction().kept(), problems, threshold: None }
    }

    /// The same that answers the second of two classes where its probability is at least `threshold`.
    pub fn with_threshold(mut self, threshold: f64) -> Result<Self, EngineError> {
        self.check_has_probabilities()?;
        if self.model.classes.len() != 2 {
            return Err(PredictError::ThresholdClasses { n_classes: self.model.classes.len() }.into());
        }
        if !(threshold > 0.0 && threshold < 1.0) {
            return Err(PredictError::ThresholdRange { value: threshold }.into());
        }
        self.threshold = Some(threshold);
        Ok(self)
    }

    /// Refuses a model whose scores are not those of probabilities.
    pub fn check_has_probabilities(&self) -> Result<(), EngineError> {
        if self.model.classes.is_empty() {
            return Err(PredictError::Numbers.into());
        }
        if self.model.has_probabilities() { Ok(()) } else { Err(PredictError::NoProbabilities.into()) }
    }

    /// So many rows at a time take a few megabytes, however wide they are and however many classes they have.
    pub fn chunk_rows(&self) -> usize {
        let widths = [self.model.column_names().len(), self.model.features.len(), self.problems.len()];
        chunk_rows(widths.into_iter().max().unwrap_or(1))
    }

    /// Predictions for the rows of a table.
    pub fn predict(&self, table: Table) -> Result<Predictions<'_>, EngineError> {
        let ids = table.ids().to_vec();
        Ok(Predictions::new(self, ids, self.scores(table)?))
    }

    /// The rows of a table as the weights take them: scaled, texts as categories, without the constant of the intercept. Each comes
    /// with its id, and has one value per feature of the model.
    pub fn transform(&self, table: Table) -> Result<Vec<(RowId, Vec<f64>)>, EngineError> {
        let ids = table.ids().to_vec();
        let (rows, n_features) = (self.rows(table)?, self.model.features.len());
        let values = |position: usize| {
            let mut values = rows.row(position).unwrap_or_default();
            values.truncate(n_features);
            values
        };
        Ok(ids.into_iter().enumerate().map(|(position, id)| (id, values(position))).collect())
    }

    /// Takes labelled tables, and tells how good predictions for them are.
    pub fn evaluator(self) -> Evaluator<'a> {
        Evaluator::new(self)
    }

    /// The threshold, where one was given.
    pub(super) fn threshold(&self) -> Option<f64> {
        self.threshold
    }

    /// `result[k][i]`: for numbers the prediction itself, for two classes the score of the second, beyond one score per class.
    pub(super) fn scores(&self, table: Table) -> Result<Vec<Vec<f64>>, EngineError> {
        let mut scores = predict::margins(&self.rows(table)?, &self.problems)?;
        let target = self.encoder.as_ref().and_then(|encoder| encoder.constants().target);
        if let Some(target) = target.filter(|_| self.model.classes.is_empty()) {
            scores.iter_mut().flatten().for_each(|score| *score = target.location + target.scale * *score);
        }
        Ok(scores)
    }

    /// Rows as the weights take them.
    fn rows(&self, table: Table) -> Result<MemoryRows, EngineError> {
        let order = FeatureOrder::Named(self.model.column_names());
        let rows = MemoryRows::of_table(table, &self.transform, None, order)?;
        Ok(match &self.encoder {
            Some(encoder) => rows.encoded(encoder),
            None => rows,
        })
    }

    /// The class that row `row` is taken for.
    pub(super) fn class(&self, scores: &[Vec<f64>], row: usize) -> usize {
        match self.threshold {
            Some(threshold) => usize::from(ClassProbabilities::of(scores, row, false).probability(1) >= threshold),
            None => predict::predicted_class(scores, row),
        }
    }
}
