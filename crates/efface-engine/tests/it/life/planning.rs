//! Plans: what they call guaranteed must hold for the worst rows the engine can be given.

use efface_core::loss;
use efface_core::model::{MultiClass, TrainingConfig, TrainingPlan};
use efface_core::noise::NoiseSource;
use efface_core::removal::Change;
use efface_core::rows::RowStore;
use efface_data::{
    FeatureOrder, FeatureValues, LabelCodec, Labels, MemoryRows, Origin, RawLabels, RowTransform, Scale, Table,
    TableParts,
};
use efface_engine::{plan_from_rows, plan_from_sizes};

/// Rows that are all the same, with labels that disagree: every removal pulls as hard as it can.
fn same_rows(n_rows: usize) -> MemoryRows {
    let origin = Origin::new("rows");
    let labels = (0..n_rows).map(|i| (i % 2) as f64).collect();
    let table = Table::new(TableParts {
        feature_names: vec!["x".into()],
        features: FeatureValues::F64(vec![1.0; n_rows]),
        labels: Some(Labels::new(RawLabels::Numbers(labels), origin.clone(), None)),
        ids: None,
        subjects: None,
        row_weights: None,
        origin,
        texts: None,
    })
    .expect("valid");
    let transform = RowTransform { scale: Scale::None, intercept: false };
    let codec = LabelCodec::Classes(vec!["0".into(), "1".into()]);
    MemoryRows::of_table(table, &transform, Some(&codec), FeatureOrder::AsRead).expect("valid")
}

/// The weights of all classes together were scored as if they were those of one.
#[test]
fn a_plan_scores_each_class_by_its_own_weights() {
    let label = |i: usize| i % 3;
    let features = (0..300).flat_map(|i| (0..3).map(move |j| f64::from(u8::from(j == label(i))) * 0.8)).collect();
    let origin = Origin::new("rows");
    for multi_class in MultiClass::ALL {
        let table = Table::new(TableParts {
            feature_names: ["a", "b", "c"].map(String::from).to_vec(),
            features: FeatureValues::F64(Vec::clone(&features)),
            labels: Some(Labels::new(
                RawLabels::Numbers((0..300).map(|i| label(i) as f64).collect()),
                origin.clone(),
                None,
            )),
            ids: None,
            subjects: None,
            row_weights: None,
            origin: origin.clone(),
            texts: None,
        });
        let config = TrainingConfig { multi_class, ..TrainingConfig::new(&loss::Logistic, 1e-3, None) };
        let transform = RowTransform { scale: Scale::None, intercept: false };
        let report = plan_from_rows(&config, table.expect("valid"), None, &transform).expect("valid");
        assert_eq!(report.score_without_noise, Some(1.0), "{multi_class}");
        assert_eq!(report.rows[0].score, Some(1.0), "the least noise");
    }
}

#[test]
fn what_a_plan_guarantees_is_never_more_than_what_the_engine_claims() {
    let n_rows = 1000;
    let mut checked = 0;
    for l2_per_row in [0.1, 1.0] {
        let config = TrainingConfig::new(&loss::Logistic, l2_per_row, Some(2));
        let report = plan_from_sizes(&config, n_rows, 1).expect("valid");
        for row in &report.rows {
            let guaranteed = usize::try_from(row.guaranteed_removals).expect("small");
            if guaranteed == 0 || guaranteed > n_rows / 2 {
                continue;
            }
            let mut rows = same_rows(n_rows);
            let plan = TrainingPlan::new(config.clone()).expect("valid");
            let trained = plan.train(&rows, &mut NoiseSource::danger_fixed_seed(0), &mut |_| {}).expect("trainable");
            let mut model = trained.model;
            // All rows of one label first.
            for position in (0..2 * guaranteed).step_by(2) {
                let batch = rows.batch(&[position]).expect("present");
                rows.remove(&[position]).expect("present");
                model.change(&Change::remove(&batch), &rows).expect("readable");
            }
            assert_eq!(rows.n_rows(), n_rows - guaranteed);
            let claimed = model.claim().distance_bound.get();
            assert!(claimed <= row.settle_above_distance, "{guaranteed} removals, λ = {l2_per_row}: {claimed:e}");
            checked += 1;
        }
    }
    assert!(checked >= 2, "only {checked} levels were checked");
}
