//! Rows that weigh more or less than one. That every bound holds for them is tested with all the others, on worlds that
//! are weighted two times in five; here is what a weight means.

use efface_core::loss::{Logistic, Loss, Squared};
use efface_core::model::{Mechanism, Model, TrainError, TrainingConfig, TrainingPlan};
use efface_core::removal::Change;
use efface_core::rows::{RowStore, WeightSum};
use efface_testkit::{DoubleDouble, ReferenceLoss, Shape, random_problem};

use crate::store::TestStore;
use crate::world::{OBJECTIVE, fixed_noise, published};

fn trained(loss: &'static dyn Loss, n_classes: Option<u32>, rows: &TestStore) -> Model {
    let config = TrainingConfig { gradient_tolerance: 1e-12, ..TrainingConfig::new(loss, 1e-2, n_classes) };
    let plan = TrainingPlan::new(config).expect("valid");
    plan.train(rows, &mut fixed_noise(), &mut |_| {}).expect("trainable").model
}

fn assert_same(model: &Model, other: &Model) {
    assert_eq!(model.state().count.weight_sum, other.state().count.weight_sum);
    for (weights, other) in model.weights().iter().zip(&other.weights()) {
        assert!(weights.iter().zip(&**other).all(|(a, b)| (a - b).abs() < 1e-9));
    }
    let allowed = 3.0 * other.claim().distance_bound.get() + 1e-12;
    assert!(model.claim().distance_bound.get() <= allowed, "{:?} and {:?}", model.claim(), other.claim());
}

/// Rows of weights 0 to 3, and the same rows written down 0 to 3 times.
fn weighted_and_repeated(loss: ReferenceLoss) -> (TestStore, TestStore) {
    let problem = random_problem(11, loss, 90, 6, Shape::Isotropic);
    let label = |target: f64| if loss == ReferenceLoss::Logistic { f64::from(u8::from(target > 0.0)) } else { target };
    let mut weighted = TestStore::empty(6, 1.0, crate::store::Precision::Double);
    let mut repeated = weighted.clone();
    for (i, (row, target)) in problem.rows.iter().zip(&problem.targets).enumerate() {
        weighted.push(row, label(*target));
        weighted.weigh(i, (i % 4) as f64);
        (0..i % 4).for_each(|_| repeated.push(row, label(*target)));
    }
    (weighted, repeated)
}

#[test]
fn a_row_of_weight_three_is_three_rows_and_one_of_weight_zero_none() {
    for (loss, reference, n_classes) in
        [(&Logistic as &'static dyn Loss, ReferenceLoss::Logistic, Some(2)), (&Squared, ReferenceLoss::Squared, None)]
    {
        let (mut weighted, mut repeated) = weighted_and_repeated(reference);
        assert_eq!(weighted.weight_sum(), WeightSum::of_rows(repeated.n_rows()));
        let (mut model, mut other) = (trained(loss, n_classes, &weighted), trained(loss, n_classes, &repeated));
        assert_same(&model, &other);
        // Rows 2 and 3 are the first two and the next three of those written down.
        let (batch, copies) = (weighted.batch(&[0, 2, 3]), repeated.batch(&[1, 2, 3, 4, 5]));
        let influence = model.influence(&batch).expect("readable");
        assert!((influence / other.influence(&copies).expect("readable") - 1.0).abs() < 1e-6);
        for index in [0, 2, 3] {
            weighted.remove(index);
        }
        for index in 1..6 {
            repeated.remove(index);
        }
        model.change(&Change::remove(&batch), &weighted).expect("readable");
        other.change(&Change::remove(&copies), &repeated).expect("readable");
        assert_same(&model, &other);
        model.settle(&weighted, None).expect("readable");
        other.settle(&repeated, None).expect("readable");
        assert_same(&model, &other);
        assert_same(&model, &trained(loss, n_classes, &weighted));
    }
}

/// Residual and distance of a certificate are λn times each other, n being what the rows weigh: more than their number or less.
#[test]
fn a_release_of_weighted_rows_claims_over_what_they_weigh() {
    for mechanism in [Mechanism::Release, OBJECTIVE] {
        for factor in [1e-3, 1e3] {
            let (mut rows, _) = weighted_and_repeated(ReferenceLoss::Logistic);
            (0..rows.n_places()).for_each(|i| rows.weigh(i, factor * (1 + i % 4) as f64));
            let config = TrainingConfig { mechanism, ..TrainingConfig::new(&Logistic, 1e-2, Some(2)) };
            let plan = TrainingPlan::new(config).expect("valid");
            let mut model = plan.train(&rows, &mut fixed_noise(), &mut |_| {}).expect("trainable").model;
            model.settle_before_release(&rows).expect("readable");
            let claim = published(&mut model, &mut fixed_noise()).claim;
            let weight: DoubleDouble = (0..rows.n_places()).map(|i| DoubleDouble::from(rows.row_weight(i))).sum();
            let from_distance = weight * 1e-2 * claim.distance_bound.get();
            let residual = DoubleDouble::from(claim.gradient_residual.get());
            // The one that is derived is rounded up: the residual under `release`, the distance under `objective`.
            let (derived, given) =
                if mechanism == Mechanism::Release { (residual, from_distance) } else { (from_distance, residual) };
            assert!(derived >= given && derived <= given * (1.0 + 1e-12), "{mechanism:?}, {factor}: {derived:?}");
        }
    }
}

#[test]
fn rows_that_count_for_nothing_cannot_be_trained_on() {
    let mut rows = TestStore::of(&[vec![0.5], vec![-0.5]], &[1.0, 0.0]);
    rows.weigh(0, 0.0);
    rows.weigh(1, 0.0);
    let plan = TrainingPlan::new(TrainingConfig::new(&Logistic, 0.1, Some(2))).expect("valid");
    let refused = plan.train(&rows, &mut fixed_noise(), &mut |_| {});
    assert!(matches!(refused, Err(TrainError::NoRows)));
}

#[test]
fn squared_loss_takes_classes_as_signs() {
    let problem = random_problem(12, ReferenceLoss::Squared, 80, 4, Shape::Isotropic);
    let labels: Vec<f64> = (0..80).map(|i| f64::from(i % 3)).collect();
    let model = trained(&Squared, Some(3), &TestStore::of(&problem.rows, &labels));
    assert_eq!(model.weights().len(), 3);
    for (class, weights) in model.weights().iter().enumerate() {
        let signs: Vec<f64> = labels.iter().map(|label| if *label == class as f64 { 1.0 } else { -1.0 }).collect();
        let alone = trained(&Squared, None, &TestStore::of(&problem.rows, &signs));
        assert!(weights.iter().zip(&*alone.weights()[0]).all(|(a, b)| (a - b).abs() < 1e-12));
    }
    let two: Vec<f64> = (0..80).map(|i| f64::from(i % 2)).collect();
    assert_eq!(trained(&Squared, Some(2), &TestStore::of(&problem.rows, &two)).weights().len(), 1);
}
