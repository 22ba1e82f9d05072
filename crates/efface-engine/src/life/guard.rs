//! What must remain: a removal that would leave no row, or nothing that counts, is refused. A class goes with its last row.

use efface_core::model::Model;
use efface_core::rows::{RowCount, RowStore, WeightSum};
use efface_data::{EncodedRows, MemoryRows};

use crate::error::{ChangeError, EngineError};

/// Rows, what they weigh together, and how many there are of each class.
pub(crate) struct RowTally {
    pub(crate) n_rows: usize,
    pub(crate) weight_sum: WeightSum,
    pub(crate) class_counts: Vec<usize>,
}

impl RowTally {
    pub(super) fn of_rows(rows: &MemoryRows, n_classes: usize) -> Self {
        let class_counts = rows.class_counts(n_classes);
        Self { n_rows: rows.n_rows(), weight_sum: rows.weight_sum(), class_counts }
    }

    pub(super) fn of_encoded(rows: &EncodedRows, n_classes: usize) -> Self {
        let weight_sum = match rows.row_weights() {
            None => WeightSum::of_rows(rows.n_rows()),
            Some(weights) => weights.iter().map(|weight| WeightSum::of_row(*weight)).sum(),
        };
        Self { n_rows: rows.n_rows(), weight_sum, class_counts: count_classes(rows.labels(), n_classes) }
    }
}

/// So many rows, and what they weigh where they do not count once each.
pub(crate) fn in_words(RowCount { n_rows, weight_sum }: RowCount) -> String {
    if weight_sum == WeightSum::of_rows(n_rows) {
        return format!("{n_rows} rows");
    }
    format!("{n_rows} rows of weight {}", weight_sum.get())
}

/// Fails closed: a model of which nothing can be claimed is neither kept nor published.
pub(crate) fn check_is_bounded(model: &Model) -> Result<(), EngineError> {
    if model.claim().distance_bound.is_finite() {
        return Ok(());
    }
    let plan = model.plan();
    Err(ChangeError::Unbounded { ridge: plan.config().ridge, noise_std: plan.noise_std() }.into())
}

pub(crate) fn count_classes(labels: &[f64], n_classes: usize) -> Vec<usize> {
    let mut counts = vec![0; n_classes];
    for label in labels {
        if let Some(count) = counts.get_mut(*label as usize) {
            *count += 1;
        }
    }
    counts
}

/// Refuses to let the last rows leave, counting those that come in the same step, and rows of a class that went with its
/// last row.
pub(crate) fn check_enough_remain(
    classes: &[String],
    before: &RowTally,
    leaving: Option<&RowTally>,
    coming: Option<&RowTally>,
) -> Result<(), EngineError> {
    if let Some(leaving) = leaving {
        let (n_removed, n_rows) = (leaving.n_rows, before.n_rows);
        if n_removed >= n_rows && coming.is_none() {
            return Err(ChangeError::LastRow { n_removed, n_rows }.into());
        }
        let arriving = coming.map_or(WeightSum::ZERO, |coming| coming.weight_sum);
        if before.weight_sum.without(leaving.weight_sum) + arriving == WeightSum::ZERO {
            return Err(ChangeError::LastWeight { n_removed }.into());
        }
    }
    coming.map_or(Ok(()), |coming| check_classes(classes, &before.class_counts, &coming.class_counts))
}

/// Refuses rows of a class that went with its last row.
fn check_classes(classes: &[String], before: &[usize], coming: &[usize]) -> Result<(), EngineError> {
    let back = before.iter().zip(coming).position(|(before, coming)| *before == 0 && *coming > 0);
    back.map_or(Ok(()), |class| Err(ChangeError::ClassGone { class: classes[class].clone() }.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::absent_classes;

    fn tally(class_counts: [usize; 2], weight: f64) -> RowTally {
        let n_rows = class_counts.iter().sum();
        RowTally { n_rows, weight_sum: WeightSum::of_row(weight), class_counts: class_counts.to_vec() }
    }

    #[test]
    fn rows_that_must_stay_stay() {
        let classes = ["a".to_owned(), "b".to_owned()];
        let before = tally([3, 2], 5.0);
        let check =
            |leaving, coming: Option<RowTally>| check_enough_remain(&classes, &before, Some(&leaving), coming.as_ref());
        assert!(check(tally([2, 1], 3.0), None).is_ok());
        assert!(matches!(
            check(tally([3, 2], 5.0), None),
            Err(EngineError::Change(ChangeError::LastRow { n_removed: 5, n_rows: 5 }))
        ));
        assert!(matches!(
            check(tally([2, 1], 5.0), None),
            Err(EngineError::Change(ChangeError::LastWeight { n_removed: 3 }))
        ));
        assert!(check(tally([0, 2], 2.0), None).is_ok(), "a class goes with its last row");
        // What comes in the same step counts.
        assert!(check(tally([3, 2], 5.0), Some(tally([2, 3], 5.0))).is_ok());
    }

    #[test]
    fn a_class_that_went_does_not_come_back() {
        let classes = ["a".to_owned(), "b".to_owned()];
        assert_eq!(absent_classes(&[3, 0]).collect::<Vec<_>>(), [1]);
        assert!(check_classes(&classes, &[3, 0], &[2, 0]).is_ok());
        let back = check_classes(&classes, &[3, 0], &[2, 1]);
        assert!(matches!(back, Err(EngineError::Change(ChangeError::ClassGone { class })) if class == "b"));
    }

    #[test]
    fn labels_are_counted_by_class() {
        assert_eq!(count_classes(&[0.0, 1.0, 1.0, 7.0], 2), [1, 2]);
        assert!(count_classes(&[0.5], 0).is_empty());
    }
}
