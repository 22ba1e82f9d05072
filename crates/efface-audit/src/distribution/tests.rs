//! The test passes the sound engine, catches the broken ones, and raises no false alarm.

use efface_core::loss;
use efface_core::model::TrainingConfig;
use efface_data::MemoryRows;

use super::*;
use crate::broken::{forget_removal, leave_last_bit_wrong, retrain_with_wrong_ridge, train_with_wrong_ridge};
use crate::engine::{SOUND, train_exactly};
use crate::rows::of_norm_one;

#[test]
fn claims_of_the_problems_are_tight() {
    for problem in problems::all().expect("trains") {
        if problem.kind != problems::Kind::Tight {
            continue;
        }
        let case = problem.case();
        let result = test(&SOUND, &case, 400, 1e-6, &mut NoiseSource::danger_fixed_seed(1)).expect("plays");
        let removed = weights(&(SOUND.remove)(&case).expect("removes"));
        let retrained = weights(&(SOUND.retrain)(&case).expect("trains"));
        let squares: f64 = removed.iter().zip(&retrained).map(|(a, b)| distance(a, b).powi(2)).sum();
        let true_mu = squares.sqrt() / case.trained.plan().noise_std();
        let share = true_mu / result.mu_claimed;
        assert!(share <= 1.0 && share > 0.96, "{}: {share} of the claim is true", case.name);
    }
}

/// At the default size, which is that of the built-in audit.
#[test]
fn sound_engine_passes_and_all_broken_ones_are_caught() {
    let problems = problems::all().expect("trains");
    let size = Size::default();
    let mut noise = NoiseSource::danger_fixed_seed(2);
    for problem in &problems {
        let rate = size.false_alarm_rate / problems.len() as f64;
        let result = test(&SOUND, &problem.case(), size.draws, rate, &mut noise).expect("plays");
        assert!(!result.broken && result.direct.hold(), "{result:?}");
        // Tight: the bound comes near the claim without exceeding it.
        let is_tight = problem.kind == problems::Kind::Tight && result.n_releases == 1;
        assert!(!is_tight || result.epsilon_lower > 0.3 * result.epsilon_claimed, "{result:?}");
    }
    let found = self_test(&problems, &size, &mut noise, &mut |_| {}).expect("plays");
    assert_eq!(found.n_caught(), crate::broken::ALL.len(), "{found:?}");
    // Each flaw shows in its own way: from outside or not, and in which checks from inside.
    let noise_as_a_whole = &["noise-tails", "noise-variance", "noise-law", "noise-directions"];
    for (engine, (from_outside, failures)) in found.engines.iter().zip([
        (true, &noise_as_a_whole[..]),
        (true, &["gradient", "distance"]),
        (true, &["noise-independence"]),
        (true, &["gradient", "distance"]),
        (true, &["gradient", "distance"]),
        (false, noise_as_a_whole),
        (false, &["low-bits", "low-bits-repeated"]),
        (false, &["noise-missing", "noise-tails", "low-bits-repeated"]),
        (false, &["gradient"]),
        (false, &["published-fields"]),
        (false, &["released-bits"]),
    ]) {
        assert_eq!((engine.from_outside, &engine.direct_failures[..]), (from_outside, failures), "{engine:?}");
    }
}

/// 200 runs over all problems, with 300 draws instead of 20,000 to keep the test short: the rate holds for every number of
/// draws. At 10⁻⁶ per run an alarm in 200 of them has a chance of 1 in 5,000.
#[test]
fn sound_engine_raises_no_alarm_in_200_runs() {
    let problems = problems::all().expect("trains");
    let rate = 1e-6 / problems.len() as f64;
    for seed in 0..200 {
        let mut noise = NoiseSource::danger_fixed_seed(1_000 + seed);
        for problem in &problems {
            let result = test(&SOUND, &problem.case(), 300, rate, &mut noise).expect("plays");
            assert!(!result.broken && result.direct.hold(), "seed {seed}: {result:?}");
        }
    }
}

/// The same with a rate that can be counted: the bound is conservative, so alarms stay below it.
#[test]
fn alarms_at_a_coarse_rate_stay_below_it() {
    let problems = problems::all().expect("trains");
    let mut noise = NoiseSource::danger_fixed_seed(77);
    let alarms = (0..200)
        .filter(|_| {
            let result = test(&SOUND, &problems[0].case(), 400, 0.2, &mut noise).expect("plays");
            result.broken || !result.direct.hold()
        })
        .count();
    // At most 40 expected.
    assert!(alarms <= 40, "{alarms}");
}

/// Each check by itself at 5 %: none alarms more often than that, and those with exact quantiles alarm at all.
#[test]
fn every_check_from_inside_keeps_its_rate() {
    let problems = problems::all().expect("trains");
    let case = problems[4].case();
    let (removed, retrained) = ((SOUND.remove)(&case).expect("removes"), (SOUND.retrain)(&case).expect("trains"));
    let means = Means { removed: weights(&removed), retrained: weights(&retrained) };
    let mut noise = NoiseSource::danger_fixed_seed(78);
    let mut alarms = std::collections::BTreeMap::new();
    for _ in 0..400 {
        let mut play =
            |secrets: &[Model]| draw(&SOUND, case.trained.plan(), secrets, &means, 300, &mut noise).expect("releases");
        let (ours, theirs) = (play(&removed), play(&retrained));
        let worlds = Worlds {
            case: &case,
            removed: &removed,
            retrained: &retrained,
            published: [ours.published, theirs.published],
            noise: [ours.noise, theirs.noise],
        };
        for check in direct::checks(worlds, 0.05 * direct::N_RANDOM).expect("readable").checks {
            *alarms.entry(check.name).or_insert(0) += usize::from(!check.held);
        }
    }
    for (name, alarms) in &alarms {
        // 20 expected at most, standard deviation 4.4; sums over fixed directions and variances are exact.
        let exact = ["noise-variance", "noise-mean", "noise-directions"].contains(name);
        assert!((if exact { 4 } else { 0 }..=38).contains(alarms), "{name}: {alarms} of 400");
    }
    for certain in ["distance", "gradient", "published-fields"] {
        assert_eq!(alarms[certain], 0, "{certain}");
    }
}

fn small_rows(n: usize, regression: bool) -> MemoryRows {
    let mut noise = NoiseSource::danger_fixed_seed(8);
    let rows = (0..n).map(|_| {
        let row: Vec<f64> = NoiseLaw::Gaussian.sample(4, 0.3, &mut noise).iter().map(|x| x.clamp(-0.5, 0.5)).collect();
        let target = row[0] - row[1];
        (row, if regression { target } else { f64::from(u8::from(target > 0.0)) })
    });
    of_norm_one(4, rows)
}

#[test]
fn gamma_law_and_models_without_noise_are_tested_too() {
    let gamma = TrainingConfig { law: NoiseLaw::Gamma, ..TrainingConfig::new(&loss::Logistic, 0.1, Some(2)) };
    let exact = TrainingConfig::new(&loss::Squared, 0.1, None);
    for (config, rows) in [(gamma, small_rows(40, false)), (exact, small_rows(40, true))] {
        let plan = TrainingPlan::new(config).expect("valid");
        let trained = train_exactly(&plan, &rows).expect("trains");
        let case =
            Case { name: String::new(), rows: &rows, trained: &trained, removals: vec![vec![3]], tolerance: None };
        let mut noise = NoiseSource::danger_fixed_seed(5);
        let result = test(&SOUND, &case, 2_000, 1e-6, &mut noise).expect("plays");
        assert!(!result.broken && result.direct.hold() && result.mu_lower.is_none(), "{result:?}");
        let forgetful = Engine { remove: forget_removal, ..SOUND };
        let result = test(&forgetful, &case, 2_000, 1e-6, &mut noise).expect("plays");
        let check = if plan.is_exact() { "released-bits" } else { "distance" };
        assert!(result.direct.failed().contains(&check) && result.direct.failed().contains(&"gradient"), "{result:?}");
    }
}

/// Without noise retraining itself stands, and a single bit beside it does not.
#[test]
fn exact_models_fail_on_any_differing_bit() {
    let problems = problems::all().expect("trains");
    let problem = problems.iter().find(|problem| problem.kind == problems::Kind::Exact).expect("there is one");
    let mut noise = NoiseSource::danger_fixed_seed(5);
    let mut failed =
        |engine: Engine| test(&engine, &problem.case(), 100, 1e-6, &mut noise).expect("plays").direct.failed();
    assert!(failed(Engine { remove: SOUND.retrain, ..SOUND }).is_empty());
    assert_eq!(failed(Engine { remove: leave_last_bit_wrong, ..SOUND }), ["released-bits"]);
    // A fault of both worlds shows without noise, too: their bits agree, the rows do not.
    let wrong = Engine { remove: train_with_wrong_ridge, retrain: retrain_with_wrong_ridge, ..SOUND };
    assert!(failed(wrong).contains(&"gradient"));
}
