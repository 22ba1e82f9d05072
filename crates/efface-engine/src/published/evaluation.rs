//! How good predictions are on labelled rows, as it is told to programs.

use efface_core::metrics::{CalibrationBin, ClassFigures};
use serde::Serialize;

/// How good predictions are on labelled rows.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Evaluation {
    /// Of classes.
    Classes(ClassEvaluation),
    /// Of numbers.
    Numbers(NumberEvaluation),
}

/// How good predicted classes are. A figure that these rows do not define is `null` in JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassEvaluation {
    /// Rows.
    pub n_rows: usize,
    /// Fraction of right classes.
    pub accuracy: f64,
    /// Fraction of rows of the most frequent class: the accuracy of always answering it.
    pub base_rate: f64,
    /// That class.
    pub most_frequent_class: String,
    /// From which probability on the second class is the answer, where it was set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
    /// Area under the receiver operating characteristic; of more than two classes the mean of theirs.
    pub auc: Option<f64>,
    /// Mean of −ln p of the actual class; absent where a model has no probabilities.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_loss: Option<f64>,
    /// Figures of each class, in the order of the model's classes.
    pub per_class: Vec<ClassReport>,
    /// `confusion_matrix[actual][predicted]`, classes in the same order.
    pub confusion_matrix: Vec<Vec<u64>>,
    /// Whether probabilities come true; absent where a model has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibration: Option<CalibrationReport>,
}

/// Figures of one class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassReport {
    /// Its name.
    pub class: String,
    /// Rows, precision, recall and F1.
    #[serde(flatten)]
    pub figures: ClassFigures,
    /// Area under the curve of this class against all others.
    pub auc: Option<f64>,
}

/// Whether probabilities come true.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CalibrationReport {
    /// Of two classes the second, whose probability it is about; `None`: the probability is that of the predicted class.
    pub class: Option<String>,
    /// Mean distance between probabilities and what came true.
    pub expected_calibration_error: Option<f64>,
    /// Ten bins of equal width.
    pub bins: Vec<CalibrationBin>,
}

/// How good predicted numbers are.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NumberEvaluation {
    /// Rows.
    pub n_rows: usize,
    /// Root of the mean squared error.
    pub rmse: f64,
    /// Mean absolute error.
    pub mae: f64,
    /// Share of the labels' variance that predictions explain; `None` where all labels are the same.
    pub r2: Option<f64>,
    /// The error of always answering the mean label.
    pub base_rmse: f64,
}

impl ClassEvaluation {
    /// Whether always answering the most frequent class would be right as often.
    pub fn is_no_better_than_base(&self) -> bool {
        self.accuracy <= self.base_rate
    }

    /// Whether all rows are of one class: then there is nothing to tell apart.
    pub fn has_one_class(&self) -> bool {
        self.base_rate == 1.0
    }
}

impl NumberEvaluation {
    /// Whether always answering the mean label would be as near.
    pub fn is_no_better_than_base(&self) -> bool {
        self.r2.is_some_and(|r2| r2 <= 0.0)
    }
}
