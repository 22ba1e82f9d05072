//! One removed row is found; many hide each other; retraining does not help.

use efface_core::loss;
use efface_core::model::TrainingConfig;
use efface_core::noise::NoiseLaw;

use super::*;
use crate::dense::normalized;
use crate::engine::train_exactly;
use crate::rows::of_norm_one;

/// Rows around three centres in 20 dimensions.
fn rows(n: usize, noise: &mut NoiseSource) -> MemoryRows {
    let rows = (0..n).map(|i| {
        let mut row = NoiseLaw::Gaussian.sample(20, 0.4, noise).to_vec();
        row[i % 3] += 1.0;
        let row = normalized(&row);
        let label = f64::from(u8::from(row[0] + row[5] > row[1]));
        (row, label)
    });
    of_norm_one(20, rows)
}

#[test]
fn one_removed_row_is_found_and_many_hide_each_other() {
    let mut noise = NoiseSource::danger_fixed_seed(11);
    let (own, public) = (rows(400, &mut noise), rows(200, &mut noise));
    let plan = TrainingPlan::new(TrainingConfig::new(&loss::Logistic, 1e-3, Some(2))).expect("valid");
    let trained = train_exactly(&plan, &own).expect("trains");
    let removable: Vec<usize> = (0..own.len()).collect();
    let target = Target { trained: &trained, rows: &own, removable: &removable, public: &public, keep_pictures: true };
    let found = attack(&target, 15, &mut noise, &mut |_| {}).expect("attacks");
    assert_eq!(found.batches.iter().map(|batch| batch.k).collect::<Vec<_>>(), BATCHES);
    let (one, many) = (&found.batches[0], &found.batches[5]);
    assert!(one.removal.value > 0.9 && one.retraining.value > 0.9 && one.chance.value < 0.6, "{one:?}");
    assert!(many.removal.value < one.removal.value - 0.2, "{many:?}");
    // The same limit holds for a system that retrains exactly.
    for batch in &found.batches {
        assert!((batch.removal.value - batch.retraining.value).abs() < 0.1, "{batch:?}");
    }
    let (position, guess) = one.picture.clone().expect("kept");
    let mean = &means(&public)[0];
    assert!(cosine(&without(&guess, mean), &without(&own.row(position).expect("a row"), mean)) > 0.9);
}
