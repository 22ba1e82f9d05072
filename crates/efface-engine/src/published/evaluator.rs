//! Labelled rows against predictions for them, chunk by chunk. Of each row its scores and its label are kept.

use efface_core::metrics::{Calibration, ConfusionMatrix, Errors, macro_auc, roc_auc};
use efface_core::predict::ClassProbabilities;
use efface_data::{EncodeError, LabelCodec, Table};
use rayon::prelude::*;

use super::evaluation::{CalibrationReport, ClassEvaluation, ClassReport, Evaluation, NumberEvaluation};
use super::{Predictor, PublishedModel};
use crate::error::EngineError;

/// Takes labelled rows, and tells how good predictions for them are.
pub struct Evaluator<'a> {
    predictor: Predictor<'a>,
    codec: LabelCodec,
    /// What classes are ranked by, or the predicted numbers: one list per class, or one alone.
    scores: Vec<Vec<f64>>,
    /// Numbers, or indices of classes.
    labels: Vec<f64>,
    confusion: ConfusionMatrix,
    ln_loss: f64,
    calibration: Calibration,
}

impl<'a> Evaluator<'a> {
    pub(super) fn new(predictor: Predictor<'a>) -> Self {
        let classes = &predictor.model.classes;
        let codec = if classes.is_empty() { LabelCodec::Numeric } else { LabelCodec::Classes(classes.clone()) };
        Self {
            scores: vec![Vec::new(); predictor.model.n_problems()],
            labels: Vec::new(),
            confusion: ConfusionMatrix::new(classes.len()),
            ln_loss: 0.0,
            calibration: Calibration::default(),
            codec,
            predictor,
        }
    }

    /// So many rows at a time are best.
    pub fn chunk_rows(&self) -> usize {
        self.predictor.chunk_rows()
    }

    /// Rows and their labels.
    pub fn add(&mut self, table: Table) -> Result<(), EngineError> {
        let labels = match table.labels() {
            Some(labels) => self.codec.encode(labels)?,
            None => return Err(EncodeError::NoLabels { file: table.origin().file().into() }.into()),
        };
        let mut scores = self.predictor.scores(table)?;
        if !self.model().classes.is_empty() {
            for (row, label) in labels.iter().enumerate() {
                self.add_class(&mut scores, row, *label as usize);
            }
        }
        self.scores.iter_mut().zip(scores).for_each(|(all, mut scores)| all.append(&mut scores));
        self.labels.extend(labels);
        Ok(())
    }

    /// Counts a row of a class. Of many classes its scores become the logarithms of probabilities, by which classes are ranked:
    /// a large score says little where another is larger.
    fn add_class(&mut self, scores: &mut [Vec<f64>], row: usize, actual: usize) {
        let predicted = self.predictor.class(scores, row);
        self.confusion.add(actual, predicted);
        if !self.model().has_probabilities() {
            return;
        }
        let probabilities = ClassProbabilities::of(scores, row, self.model().is_joint());
        self.ln_loss -= probabilities.ln(actual);
        if scores.len() == 1 {
            self.calibration.add(probabilities.probability(1), actual == 1);
        } else {
            self.calibration.add(probabilities.probability(predicted), actual == predicted);
            let ln: Vec<f64> = (0..scores.len()).map(|class| probabilities.ln(class)).collect();
            scores.iter_mut().zip(ln).for_each(|(scores, ln)| scores[row] = ln);
        }
    }

    /// How good predictions are for all rows so far.
    ///
    /// # Panics
    ///
    /// When there were none: a table has at least one.
    pub fn finish(self) -> Evaluation {
        if self.model().classes.is_empty() {
            let Errors { rmse, mae, r2, base_rmse } =
                Errors::of(&self.scores[0], &self.labels).expect("a table has rows");
            return Evaluation::Numbers(NumberEvaluation { n_rows: self.labels.len(), rmse, mae, r2, base_rmse });
        }
        let (classes, confusion) = (&self.model().classes, &self.confusion);
        let (most, base_rate) = confusion.base_rate().expect("a table has rows");
        let aucs = self.aucs();
        let of_class = |(k, class): (usize, &String)| ClassReport {
            class: class.clone(),
            figures: confusion.class(k),
            auc: aucs[k],
        };
        let has_probabilities = self.model().has_probabilities();
        Evaluation::Classes(ClassEvaluation {
            n_rows: self.labels.len(),
            accuracy: confusion.accuracy().expect("a table has rows"),
            base_rate,
            most_frequent_class: classes[most].clone(),
            threshold: self.predictor.threshold(),
            auc: macro_auc(&aucs),
            log_loss: has_probabilities.then(|| self.ln_loss / self.labels.len() as f64),
            per_class: classes.iter().enumerate().map(of_class).collect(),
            confusion_matrix: confusion.counts().to_vec(),
            calibration: has_probabilities.then(|| CalibrationReport {
                class: (classes.len() == 2).then(|| classes[1].clone()),
                expected_calibration_error: self.calibration.expected_error(),
                bins: self.calibration.bins(),
            }),
        })
    }

    /// Of each class against all others. Of two classes both are the same.
    fn aucs(&self) -> Vec<Option<f64>> {
        let of_class = |class: usize, scores: &[f64]| roc_auc(scores, |row| self.labels[row] == class as f64);
        match self.scores.as_slice() {
            [scores] => vec![of_class(1, scores); 2],
            scores => scores.par_iter().enumerate().map(|(class, scores)| of_class(class, scores)).collect(),
        }
    }

    fn model(&self) -> &'a PublishedModel {
        self.predictor.model
    }
}
