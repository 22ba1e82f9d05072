//! What must remain: a removal that would leave no row, nothing that counts, or none of a class is refused.

use efface_core::rows::WeightSum;

use crate::error::EngineError;

/// Rows, what they weigh together, and how many there are of each class.
pub(crate) struct RowTally {
    pub(crate) n_rows: usize,
    pub(crate) weight_sum: WeightSum,
    pub(crate) class_counts: Vec<usize>,
}

/// Rows of each class.
pub(crate) fn count_classes(labels: &[f64], n_classes: usize) -> Vec<usize> {
    let mut counts = vec![0; n_classes];
    for label in labels {
        if let Some(count) = counts.get_mut(*label as usize) {
            *count += 1;
        }
    }
    counts
}

/// Refuses to let rows leave that must stay, counting those that come in the same step.
pub(crate) fn check_enough_remain(
    classes: &[String],
    before: &RowTally,
    leaving: &RowTally,
    coming: Option<&RowTally>,
) -> Result<(), EngineError> {
    let (n_removed, n_rows) = (leaving.n_rows, before.n_rows);
    if n_removed >= n_rows && coming.is_none() {
        return Err(EngineError::LastRow { n_removed, n_rows });
    }
    let arriving = coming.map_or(WeightSum::ZERO, |coming| coming.weight_sum);
    if before.weight_sum.without(leaving.weight_sum) + arriving == WeightSum::ZERO {
        return Err(EngineError::LastWeight { n_removed });
    }
    for (index, class) in classes.iter().enumerate() {
        let arriving = coming.map_or(0, |coming| coming.class_counts[index]);
        let (n_removed, n_rows) = (leaving.class_counts[index], before.class_counts[index]);
        if n_removed > 0 && n_removed >= n_rows + arriving {
            return Err(EngineError::LastOfClass { class: class.clone(), n_removed, n_rows });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(class_counts: [usize; 2], weight: f64) -> RowTally {
        let n_rows = class_counts.iter().sum();
        RowTally { n_rows, weight_sum: WeightSum::of_row(weight), class_counts: class_counts.to_vec() }
    }

    #[test]
    fn rows_that_must_stay_stay() {
        let classes = ["a".to_owned(), "b".to_owned()];
        let before = tally([3, 2], 5.0);
        let check =
            |leaving, coming: Option<RowTally>| check_enough_remain(&classes, &before, &leaving, coming.as_ref());
        assert!(check(tally([2, 1], 3.0), None).is_ok());
        assert!(matches!(check(tally([3, 2], 5.0), None), Err(EngineError::LastRow { n_removed: 5, n_rows: 5 })));
        assert!(matches!(check(tally([2, 1], 5.0), None), Err(EngineError::LastWeight { n_removed: 3 })));
        assert!(matches!(check(tally([0, 2], 2.0), None), Err(EngineError::LastOfClass { n_removed: 2, .. })));
        // What comes in the same step counts.
        assert!(check(tally([3, 2], 5.0), Some(tally([2, 3], 5.0))).is_ok());
        assert!(check(tally([0, 2], 2.0), Some(tally([2, 0], 2.0))).is_err());
    }

    #[test]
    fn labels_are_counted_by_class() {
        assert_eq!(count_classes(&[0.0, 1.0, 1.0, 7.0], 2), [1, 2]);
        assert!(count_classes(&[0.5], 0).is_empty());
    }
}
