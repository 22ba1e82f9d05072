//! How well scores put rows in order: the area under the receiver operating characteristic.

use rayon::prelude::*;

/// The probability that a row of the class has a larger score than one that is not of it, ties counted half.
///
/// ```text
/// AUC = (Σ over pairs  [s₊ > s₋] + ½ [s₊ = s₋]) / (n₊ n₋)
/// ```
///
/// Counted in integers from the sorted scores, so the only rounding is that of the quotient. `None` without rows on both sides.
pub fn roc_auc(scores: &[f64], is_of_class: impl Fn(usize) -> bool) -> Option<f64> {
    let mut rows: Vec<(f64, bool)> = scores.iter().enumerate().map(|(i, score)| (*score, is_of_class(i))).collect();
    rows.par_sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let (mut twice_won, mut below) = (0_u128, 0_u128);
    for tied in rows.chunk_by(|a, b| a.0 == b.0) {
        let inside = tied.iter().filter(|row| row.1).count() as u128;
        let outside = tied.len() as u128 - inside;
        twice_won += inside * (2 * below + outside);
        below += outside;
    }
    let pairs = below * (rows.len() as u128 - below);
    (pairs > 0).then(|| twice_won as f64 / (2 * pairs) as f64)
}

/// The mean over the classes that have one; every class counts the same, however many rows it has.
pub fn macro_auc(of_classes: &[Option<f64>]) -> Option<f64> {
    let defined: Vec<f64> = of_classes.iter().flatten().copied().collect();
    (!defined.is_empty()).then(|| defined.iter().sum::<f64>() / defined.len() as f64)
}
