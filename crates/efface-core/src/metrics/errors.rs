//! How far predicted numbers are from the labels.

/// Figures of a regression, with n rows, labels y and predictions p.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Errors {
    /// `√(Σ (p − y)² / n)`.
    pub rmse: f64,
    /// `Σ |p − y| / n`.
    pub mae: f64,
    /// `1 − Σ (p − y)² / Σ (y − ȳ)²`, ȳ the mean label; `None` where all labels are the same.
    pub r2: Option<f64>,
    /// `√(Σ (y − ȳ)² / n)`: the error of always answering the mean label.
    pub base_rmse: f64,
}

impl Errors {
    /// Those of predictions for rows with these labels; `None` without rows.
    pub fn of(predicted: &[f64], labels: &[f64]) -> Option<Self> {
        if labels.is_empty() {
            return None;
        }
        let n_rows = labels.len() as f64;
        let mean_of = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / n_rows;
        // Twice, because a mean far from zero loses digits; equal labels have no spread then, whatever was rounded.
        let first = labels[0];
        let mean = first + mean_of(&mut labels.iter().map(|y| y - first));
        let mean_square = mean_of(&mut predicted.iter().zip(labels).map(|(p, y)| (p - y).powi(2)));
        let variance = mean_of(&mut labels.iter().map(|y| (y - mean).powi(2)));
        Some(Self {
            rmse: mean_square.sqrt(),
            mae: mean_of(&mut predicted.iter().zip(labels).map(|(p, y)| (p - y).abs())),
            r2: (variance > 0.0).then(|| 1.0 - mean_square / variance).filter(|r2| r2.is_finite()),
            base_rmse: variance.sqrt(),
        })
    }
}
