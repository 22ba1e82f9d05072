//! What the engine certifies of its releases, and that a stranger can check all of it.

use efface_core::loss;
use efface_core::model::Outcome;
use efface_core::model::{BudgetRule, Mechanism, TrainingConfig};
use efface_core::noise::{NoiseLaw, NoiseSource};
use efface_engine::{ReleaseAnswer, RowSource, Status};
use efface_ledger::verify::CheckOutcome;
use serde_json::{Value, json};

use crate::models::{Folder, certificate, check, digest, ids, published, randomness, squared, subjects, table};

fn release(folder: &Folder) -> Value {
    let report = published(folder.open().release(&mut randomness(), None).expect("writable"));
    let verification = check(folder, &report.certificate);
    assert!(verification.is_genuine(), "{verification:?}");
    certificate(&report.certificate)
}

fn covered(certificate: &Value) -> Vec<(String, u64)> {
    let requests = certificate["requests"].as_array().expect("a list").iter();
    let pair = |request: &Value| (request["id"].as_str().expect("text").into(), request["n_rows"].as_u64().expect("n"));
    requests.map(pair).collect()
}

fn pairs(expected: &[(&str, u64)]) -> Vec<(String, u64)> {
    expected.iter().map(|(id, n)| ((*id).to_owned(), *n)).collect()
}

#[test]
fn a_release_covers_exactly_the_requests_since_the_one_before() {
    let folder = Folder::with_model();
    let mut model = folder.open();
    model.remove(&ids(&["row-17", "row-3"]), Some("ticket-1")).expect("removable");
    model.add(&RowSource::of(folder.write("more.csv", table([100, 101])))).expect("new");
    model.remove(&subjects(&["person-7"]), None).expect("removable");
    drop(model);
    let first = release(&folder);
    assert_eq!(covered(&first), pairs(&[("ticket-1", 2), ("change-3", 4)]));
    assert_eq!((&first["n_removed"], &first["since_previous"]["n_removed"]), (&6.into(), &6.into()));
    let since = json!({"release": null, "certificate": null, "n_people": 3, "n_removed": 6, "n_corrected": 0,
                       "n_added": 2, "exposure": "no-previous-release"});
    assert_eq!(first["since_previous"], since);

    let second = release(&folder);
    assert_eq!((covered(&second), &second["since_previous"]["exposure"]), (pairs(&[]), &"nobody-left".into()));

    folder.open().remove(&ids(&["row-20"]), Some("ticket-2")).expect("removable");
    let third = release(&folder);
    assert_eq!(
        (covered(&third), &third["since_previous"]["exposure"]),
        (pairs(&[("ticket-2", 1)]), &"one-person".into())
    );
    assert_eq!((&third["n_removed"], &third["since_previous"]["n_removed"]), (&7.into(), &1.into()));

    folder.open().correct(&RowSource::of(folder.write("same.csv", table([5, 8])))).expect("present");
    let fourth = release(&folder);
    let since = &fourth["since_previous"];
    assert_eq!(
        (&since["n_corrected"], &since["n_people"], &since["exposure"]),
        (&2.into(), &2.into(), &"several-together".into())
    );
    assert_eq!(covered(&fourth), pairs(&[]));
}

#[test]
fn totals_chain_over_releases() {
    for law in [NoiseLaw::Gaussian, NoiseLaw::Gamma] {
        let folder = Folder::with(|config| config.law = law);
        let (mut squares, mut sum, mut previous) = (0.0, 0.0, Value::Null);
        for k in 1..=5_u64 {
            let certificate = release(&folder);
            let number = |value: &Value| value.as_f64().expect("a number");
            let before = &certificate["spent_before"];
            assert_eq!((&certificate["release"], &before["n_releases"]), (&k.into(), &(k - 1).into()));
            let same = |found: f64, expected: f64| found >= expected && found <= expected * (1.0 + 1e-12);
            assert!(same(number(&before["distance_squares"]), squares) && same(number(&before["distances"]), sum));
            let (r, std) = (number(&certificate["distance_bound"]), number(&certificate["noise_std"]));
            squares += r * r;
            sum += r;
            let total = match law {
                NoiseLaw::Gaussian => squares.sqrt() / std,
                NoiseLaw::Gamma => sum / std,
            };
            let claimed = number(&certificate["mu_total"]);
            assert!((claimed / total - 1.0).abs() < 1e-12, "{claimed} {total}");
            assert_eq!(certificate["since_previous"]["certificate"], previous);
            previous = digest(&folder.path(&format!("model/releases/{k}/certificate.json"))).into();
        }
    }
}

#[test]
fn certificates_of_every_mechanism_and_law_are_valid() {
    let objective = |budget| Mechanism::Objective { budget };
    let logistic = || TrainingConfig::new(&loss::Logistic, 1e-2, None);
    let configs = [
        logistic(),
        TrainingConfig { law: NoiseLaw::Gamma, ..logistic() },
        TrainingConfig { mechanism: objective(BudgetRule::Analytic), noise_std: Some(10.0), ..logistic() },
        TrainingConfig { mechanism: objective(BudgetRule::Paper), noise_std: Some(10.0), ..logistic() },
        TrainingConfig {
            mechanism: objective(BudgetRule::Analytic),
            law: NoiseLaw::Gamma,
            noise_std: Some(10.0),
            ..logistic()
        },
        squared(),
        TrainingConfig { noise_std: Some(0.1), ..squared() },
    ];
    for config in configs {
        let folder = Folder::new();
        folder.train(&table(0..60), config);
        release(&folder);
        folder.open().remove(&ids(&["row-17"]), None).expect("removable");
        release(&folder);
    }
}

/// Under mechanism `objective` a residual may come close to the budget, and the claim is then the whole of it.
#[test]
fn a_budget_that_is_all_but_spent_can_be_certified() {
    let mut nearly_spent = 0;
    for step in 0..8 {
        let folder = Folder::with(|config| {
            config.mechanism = Mechanism::Objective { budget: BudgetRule::Analytic };
            config.noise_std = Some(1.8e-4 * 1.07f64.powi(step));
        });
        folder.open().remove(&ids(&["row-17"]), None).expect("removable");
        let status = Status::read(folder.model()).expect("readable");
        let (spent, budget) = (status.spent.expect("spent").get(), status.budget.expect("a budget"));
        if status.outcome == Outcome::Done && spent > 0.5 * budget {
            nearly_spent += 1;
            release(&folder);
        }
    }
    assert!(nearly_spent > 0, "no case was met");
}

#[test]
fn predictable_noise_is_not_certified_and_says_so() {
    let folder = Folder::with_model();
    let answer = folder.open().release(&mut NoiseSource::danger_fixed_seed(1), None).expect("writable");
    let verification = check(&folder, &published(answer).certificate);
    assert!(!verification.is_genuine());
    let failed: Vec<&str> = verification
        .checks
        .iter()
        .filter(|check| check.outcome == CheckOutcome::Failed)
        .map(|check| check.check.tag())
        .collect();
    assert_eq!(failed, ["certified"]);
}

#[test]
fn a_copy_of_a_release_is_checked_without_the_directory() {
    let folder = Folder::with_model();
    let out = folder.path("copy/model.json");
    std::fs::create_dir(folder.path("copy")).expect("writable");
    let ReleaseAnswer::Published(report) = folder.open().release(&mut randomness(), Some(&out)).expect("writable")
    else {
        panic!("refused");
    };
    let key = efface_engine::public_key_of(&folder.model()).expect("a key");
    std::fs::remove_dir_all(folder.model()).expect("there");
    let (certificate, model) = (std::fs::read(report.certificate).expect("there"), std::fs::read(out).expect("there"));
    let evidence = efface_ledger::verify::Evidence { key: Some(&key), model: Some(&model), ..Default::default() };
    assert!(efface_ledger::verify::verify(&certificate, &evidence).is_genuine());
}

/// A log that begins anew has what the next release covers: nobody's request falls between the two.
#[test]
fn requests_of_a_log_that_was_lost_are_covered() {
    let folder = Folder::with_model();
    folder.open().remove(&ids(&["row-1"]), Some("ticket-0")).expect("removable");
    release(&folder);
    let mut model = folder.open();
    model.remove(&ids(&["row-17", "row-3"]), Some("ticket-1")).expect("removable");
    model.add(&RowSource::of(folder.write("more.csv", table([100])))).expect("new");
    model.remove(&subjects(&["person-7"]), None).expect("removable");
    model.close().expect("writable");
    std::fs::remove_file(folder.state_file()).expect("there");
    assert_eq!(folder.open().repairs_at_opening().len(), 1);
    folder.open().remove(&ids(&["row-20"]), Some("ticket-2")).expect("removable");
    let second = release(&folder);
    assert_eq!(covered(&second), pairs(&[("ticket-1", 2), ("change-4", 4), ("ticket-2", 1)]));
    let since = &second["since_previous"];
    assert_eq!((&since["n_removed"], &since["n_added"], &since["n_people"]), (&7.into(), &1.into(), &4.into()));
    let third = release(&folder);
    assert_eq!(covered(&third), pairs(&[]));
}

/// Rows whose present values are lost with an old database leave without anybody having asked for it.
#[test]
fn rows_that_were_lost_are_no_requests() {
    let folder = Folder::with_model();
    release(&folder);
    folder.copy("backup");
    let mut model = folder.open();
    model.correct(&RowSource::of(folder.write("same.csv", table([5, 9])))).expect("present");
    model.close().expect("writable");
    folder.restore("backup", "efface.db");
    let model = folder.open();
    assert_eq!(model.repairs_at_opening()[0].n_lost, 2);
    drop(model);
    let second = release(&folder);
    assert_eq!((covered(&second), &second["n_removed"]), (pairs(&[]), &0.into()));
    assert_eq!(second["since_previous"]["n_people"], 2, "they left all the same");
}
