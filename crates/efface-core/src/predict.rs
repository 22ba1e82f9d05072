//! Margins of rows under given weights, and what follows from them: classes, accuracy, error.

use crate::linalg::kernel;
use crate::rows::{Features, RowBlocks, StoreError};

/// `wᵀx` of every row, for each set of weights: `result[k][i]`.
pub fn margins(rows: &dyn RowBlocks, weights: &[Vec<f64>]) -> Result<Vec<Vec<f64>>, StoreError> {
    let mut all = vec![Vec::new(); weights.len()];
    for index in 0..rows.n_blocks() {
        rows.visit_block(index, &mut |block| {
            for (weights, all) in weights.iter().zip(&mut all) {
                let start = all.len();
                all.resize(start + block.labels.len(), 0.0);
                block_margins(block.features, weights, &mut all[start..]);
            }
        })?;
    }
    Ok(all)
}

/// `wᵀx` of every row of a block, one row per place in `into`.
pub fn block_margins(features: Features<'_>, weights: &[f64], into: &mut [f64]) {
    match features {
        Features::F32(values) => kernel::margins(values, weights, into),
        Features::F64(values) => kernel::margins(values, weights, into),
    }
}

/// Index of the class that the margins of row `i` speak for: the sign of the only margin, or the largest of several.
pub fn predicted_class(margins: &[Vec<f64>], i: usize) -> usize {
    match margins {
        [margin] => usize::from(margin[i] > 0.0),
        _ => (0..margins.len()).max_by(|a, b| margins[*a][i].total_cmp(&margins[*b][i])).unwrap_or(0),
    }
}

/// Fraction of rows whose predicted class is their label.
pub fn accuracy(margins: &[Vec<f64>], labels: &[f64]) -> f64 {
    let right = labels.iter().enumerate().filter(|(i, label)| predicted_class(margins, *i) as f64 == **label).count();
    right as f64 / labels.len() as f64
}

/// Root of the mean squared difference between the only margin and the label.
pub fn root_mean_squared_error(margins: &[Vec<f64>], labels: &[f64]) -> f64 {
    let squares = margins.iter().take(1).flatten().zip(labels).map(|(margin, label)| (margin - label).powi(2));
    (squares.sum::<f64>() / labels.len() as f64).sqrt()
}
