//! The attack succeeds before removal, and sees no difference between removal and retraining.

use super::*;

#[test]
fn attack_succeeds_before_removal_only() {
    let (plan, rows, examples) = built_in(6).expect("a problem");
    let mut noise = NoiseSource::danger_fixed_seed(5);
    let size = Size { trials: 60, ..Size::default() };
    let found = attack(&plan, &rows, &examples, &size, &mut noise, &mut |_| {}).expect("attacks");
    assert!(found.before_removal.auc.low > 0.95, "{:?}", found.before_removal.auc);
    assert!(found.before_removal.true_positive_rate.low > 0.5, "{:?}", found.before_removal.true_positive_rate);
    for after in [&found.after_removal, &found.after_retraining] {
        // Four standard errors around guessing.
        assert!((after.auc.value - 0.5).abs() < 2.1 * (after.auc.high - after.auc.low), "{:?}", after.auc);
        assert!(after.true_positive_rate.value < after.false_positive_rate + 0.05);
    }
    assert!(!found.broken, "{} > {}", found.distance, found.distance_limit);
    // The comparison is not blind: models that still know the example are another law.
    let pooled = |k: usize| -> Vec<f64> { found.examples.iter().flat_map(|one| one.scores[k].clone()).collect() };
    assert!(two_sample_distance(&mut pooled(1), &mut pooled(3)) > found.distance_limit);
}

#[test]
fn same_seed_gives_the_same_answer() {
    let (plan, rows, examples) = built_in(2).expect("a problem");
    let size = Size { shadows: 16, trials: 10, ..Size::default() };
    let run = || {
        let mut noise = NoiseSource::danger_fixed_seed(1);
        let found = attack(&plan, &rows, &examples, &size, &mut noise, &mut |_| {}).expect("attacks");
        (found.before_removal.auc, found.distance)
    };
    assert_eq!(run(), run());
}
