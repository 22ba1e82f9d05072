//! Models of every kind can be audited, and what is left out is said.

use efface_core::loss;
use efface_core::model::{BudgetRule, Mechanism, TrainingConfig};
use efface_core::noise::NoiseLaw;

use super::*;
use crate::dense::normalized;
use crate::rows::of_norm_one;

fn rows(n: usize, label: impl Fn(&[f64]) -> f64) -> MemoryRows {
    let mut noise = NoiseSource::danger_fixed_seed(6);
    let rows = (0..n).map(|_| {
        let row = normalized(&NoiseLaw::Gaussian.sample(5, 1.0, &mut noise));
        let label = label(&row);
        (row, label)
    });
    of_norm_one(5, rows)
}

fn settings() -> Settings {
    Settings {
        distribution: distribution::Size { draws: 1_000, ..distribution::Size::default() },
        membership: membership::Size { shadows: 16, trials: 12, ..membership::Size::default() },
        n_examples: 2,
        reconstruction_trials: 3,
    }
}

fn audit(config: TrainingConfig, rows: &MemoryRows) -> Result<Audit, AuditError> {
    let mut noise = NoiseSource::danger_fixed_seed(1);
    let plan = TrainingPlan::new(config)?;
    let model = plan.train(rows, &mut noise, &mut |_| {})?.model;
    of_model(&model, rows, &settings(), &mut noise, &mut |_| {})
}

#[test]
fn models_of_every_kind_stand() {
    let two = |row: &[f64]| f64::from(u8::from(row[0] > row[1]));
    let three = |row: &[f64]| if row[0] > 0.3 { 2.0 } else { f64::from(u8::from(row[1] > 0.0)) };
    let number = |row: &[f64]| row[0] - 0.5 * row[2];
    let logistic = |n| TrainingConfig::new(&loss::Logistic, 1e-2, Some(n));
    for (config, rows) in [
        (logistic(2), rows(120, two)),
        (logistic(3), rows(120, three)),
        (TrainingConfig { max_matrix_dim: 0, ..logistic(2) }, rows(120, two)),
        (TrainingConfig { law: NoiseLaw::Gamma, ..logistic(2) }, rows(120, two)),
        (TrainingConfig::new(&loss::Squared, 1e-2, None), rows(120, number)),
    ] {
        let found = audit(config, &rows).expect("audits");
        assert_eq!(found.verdict, Verdict::Stands, "{found:?}");
        assert_eq!(found.distribution.cases.len(), 4);
        assert!(found.membership.is_some() && found.reconstruction.is_some() && found.notes.is_empty(), "{found:?}");
    }
}

#[test]
fn large_models_are_sampled_and_the_report_says_so() {
    let two = |row: &[f64]| f64::from(u8::from(row[0] > row[1]));
    let found = audit(TrainingConfig::new(&loss::Logistic, 1e-2, Some(2)), &rows(2_500, two)).expect("audits");
    assert!(found.notes[0].contains("2000 of them"), "{:?}", found.notes);
    assert_eq!(found.membership.map(|membership| membership.n_rows), Some(2_000));
}

#[test]
fn other_models_are_refused_with_a_reason() {
    let two = |row: &[f64]| f64::from(u8::from(row[0] > row[1]));
    let config = TrainingConfig::new(&loss::Logistic, 1e-2, Some(2));
    let objective =
        TrainingConfig { mechanism: Mechanism::Objective { budget: BudgetRule::Analytic }, ..config.clone() };
    assert!(matches!(audit(objective, &rows(50, two)), Err(AuditError::Mechanism { found: "objective" })));
    assert!(matches!(audit(config, &rows(10, two)), Err(AuditError::TooFewRows { found: 10, .. })));
}

#[test]
fn verdict_follows_from_the_parts() {
    let two = |row: &[f64]| f64::from(u8::from(row[0] > row[1]));
    let sound = audit(TrainingConfig::new(&loss::Logistic, 1e-2, Some(2)), &rows(60, two)).expect("audits");
    let breakers: [fn(&mut Audit); 3] = [
        |audit| audit.distribution.broken = true,
        |audit| audit.distribution.direct_checks_hold = false,
        |audit| audit.membership.as_mut().expect("made").broken = true,
    ];
    for break_it in breakers {
        let mut audit = sound.clone();
        break_it(&mut audit);
        assert_eq!(audit.judged().verdict, Verdict::Broken);
    }
    assert_eq!(sound.judged().verdict, Verdict::Stands);
}
