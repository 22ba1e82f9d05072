//! The score of an example, and what shadow models say of it.

use efface_core::model::TrainingPlan;
use efface_data::MemoryRows;

use crate::dense::dot;
use crate::statistics::{mean, variance};

/// How sure the model is of the example's own label, on a scale on which it is close to Gaussian.
///
/// ```text
/// two classes:   ln(p/(1−p)) of the label, which is ± wᵀx
/// more classes:  margin of the label − largest other margin
/// a number:      wᵀx − y
/// ```
pub(super) fn confidence(plan: &TrainingPlan, weights: &[Vec<f64>], rows: &MemoryRows, example: usize) -> f64 {
    let (row, label) = rows.row(example).zip(rows.label(example)).expect("examples are among the rows");
    let margins: Vec<f64> = weights.iter().map(|weights| dot(weights, &row)).collect();
    // Classes that have gone have no margin.
    let own = plan.classes().iter().position(|class| label == f64::from(*class)).unwrap_or(0);
    match (plan.config().n_classes, &margins[..]) {
        (None, _) => margins[0] - label,
        (Some(_), [margin]) => margin * if own == 1 { 1.0 } else { -1.0 },
        (Some(_), _) => {
            let others = margins.iter().enumerate().filter(|(class, _)| *class != own).map(|(_, margin)| *margin);
            margins[own] - others.fold(f64::NEG_INFINITY, f64::max)
        }
    }
}

/// Gaussians fitted to an example's score in shadow models with and without it.
pub(super) struct ShadowFit {
    with: (f64, f64),
    without: (f64, f64),
}

impl ShadowFit {
    pub(super) fn new(with: &[f64], without: &[f64]) -> Self {
        let fit = |scores: &[f64]| {
            if scores.is_empty() { (0.0, 1.0) } else { (mean(scores), variance(scores).sqrt().max(LEAST_SPREAD)) }
        };
        Self { with: fit(with), without: fit(without) }
    }

    /// ln N(score; with) − ln N(score; without).
    pub(super) fn log_ratio(&self, score: f64) -> f64 {
        let log = |(middle, spread): (f64, f64)| -0.5 * ((score - middle) / spread).powi(2) - spread.ln();
        log(self.with) - log(self.without)
    }
}

/// A group whose scores are all the same says so with this much doubt.
const LEAST_SPREAD: f64 = 1e-9;
