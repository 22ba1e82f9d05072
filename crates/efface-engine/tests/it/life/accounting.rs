//! What releases spend: squares under the Gaussian law, sums under the gamma law, for the model's whole life.

use efface_core::accounting::Extractor;
use efface_core::model::{Refusal, Refused};
use efface_core::noise::{NoiseLaw, NoiseSource};
use efface_engine::{ReleaseAnswer, ReleaseReport, RowSource, Status};

use crate::models::{Folder, certificate, ids, json, published, randomness, squared, table};

fn releases(folder: &Folder, n: usize) -> Vec<ReleaseReport> {
    let mut model = folder.open();
    (0..n).map(|_| published(model.release(&mut randomness(), None).expect("writable"))).collect()
}

#[test]
fn the_total_grows_as_the_root_of_the_number_of_releases() {
    let folder = Folder::with_model();
    let reports = releases(&folder, 16);
    let first = reports[0].mu;
    for (k, report) in (1_u32..).zip(&reports) {
        assert_eq!((report.release, report.mu), (k as usize, first));
        let expected = first * f64::from(k).sqrt();
        assert!(report.mu_total >= expected * (1.0 - 1e-15) && report.mu_total <= expected * (1.0 + 1e-12), "{k}");
    }
    assert_eq!(Status::read(folder.model()).expect("readable").mu_total.get(), reports[15].mu_total);
}

#[test]
fn the_total_grows_as_the_number_of_releases_under_the_gamma_law() {
    let folder = Folder::with(|config| config.law = NoiseLaw::Gamma);
    let reports = releases(&folder, 8);
    for (k, report) in (1_u32..).zip(&reports) {
        let expected = reports[0].mu * f64::from(k);
        assert!(report.mu_total >= expected && report.mu_total <= expected * (1.0 + 1e-12), "{k}");
        assert_eq!(report.delta, 0.0);
    }
}

#[test]
fn what_is_spent_stays_spent_over_removals_and_retraining() {
    let folder = Folder::with_model();
    releases(&folder, 3);
    let spent = |folder: &Folder| Status::read(folder.model()).expect("readable").mu_total;
    let before = spent(&folder);
    folder.open().remove(&ids(&["row-3"]), None).expect("removable");
    assert_eq!(spent(&folder), before);
    folder.open().retrain(&mut randomness(), &mut |_| {}).expect("rows");
    assert_eq!(spent(&folder), before);
    assert_eq!(releases(&folder, 1)[0].release, 4);
    assert!(spent(&folder) > before);
}

#[test]
fn a_release_beyond_the_promise_is_refused_and_spends_nothing() {
    let folder = Folder::with(|config| config.max_releases = 1);
    let mut model = folder.open();
    published(model.release(&mut randomness(), None).expect("writable"));
    let spent = Status::read(folder.model()).expect("readable").mu_total;
    match model.release(&mut randomness(), None).expect("writable") {
        ReleaseAnswer::Refused(Refused { outcome, excess: Some(excess) }) => {
            assert_eq!(outcome, Refusal::BudgetExhausted);
            assert!(excess.found > excess.limit);
        }
        answer => panic!("{answer:?}"),
    }
    let status = Status::read(folder.model()).expect("readable");
    assert_eq!((status.n_releases, status.mu_total), (1, spent));
    assert!(!folder.path("model/releases/2").exists());
}

#[test]
fn an_exact_release_spends_nothing_and_adds_no_noise() {
    let folder = Folder::new();
    folder.train(&table(0..60), squared());
    let reports = releases(&folder, 2);
    for report in &reports {
        assert_eq!((report.mu_total, report.epsilon, report.delta, report.noise_std), (0.0, 0.0, 0.0, 0.0));
    }
    assert_eq!(json(&reports[0].model)["weights"], json(&reports[1].model)["weights"]);
}

#[test]
fn a_predictable_release_marks_all_that_follow() {
    let folder = Folder::with_model();
    let mut model = folder.open();
    assert!(published(model.release(&mut randomness(), None).expect("writable")).certified);
    let mut predictable = NoiseSource::danger_fixed_seed(1);
    assert!(!published(model.release(&mut predictable, None).expect("writable")).certified);
    assert!(!published(model.release(&mut randomness(), None).expect("writable")).certified);
    drop(model);
    assert!(!Status::read(folder.model()).expect("readable").certified);
    let mut model = folder.open();
    model.retrain(&mut randomness(), &mut |_| {}).expect("rows");
    let report = published(model.release(&mut randomness(), None).expect("writable"));
    assert_eq!(certificate(&report.certificate)["certified"], false);
}

/// A private extractor's promise depends on how many rows have left: the count outlives crashes, retraining and backups.
#[test]
fn rows_that_left_are_counted_for_the_models_life() {
    let folder =
        Folder::with(|config| config.extractor = Some(Extractor { group: 3, ..Extractor::per_row(0.25, 0.0) }));
    let n_left = || Status::read(folder.model()).expect("readable").n_left;
    let mut model = folder.open();
    model.remove(&ids(&["row-3", "row-4"]), None).expect("removable");
    assert_eq!(n_left(), 2);
    // The intents are replayed where there was no checkpoint.
    drop(model);
    let mut model = folder.open();
    model.correct(&RowSource::of(folder.write("same.csv", table([5])))).expect("present");
    model.add(&RowSource::of(folder.write("more.csv", table([100])))).expect("new");
    model.retrain(&mut randomness(), &mut |_| {}).expect("trainable");
    assert_eq!(n_left(), 3);
    let report = published(model.release(&mut randomness(), None).expect("writable"));
    // 1 by removal, 0.25 for each of three rows, rounded up.
    assert!(report.epsilon > 1.75 && report.epsilon < 1.75 + 1e-15, "{}", report.epsilon);
    assert_eq!(certificate(&report.certificate)["extractor"]["group"], 3);
    model.close().expect("writable");
    // Trained again, after the state was lost.
    std::fs::remove_file(folder.state_file()).expect("there");
    let mut model = folder.open();
    assert_eq!((n_left(), model.repairs_at_opening().len()), (3, 1));
    assert_eq!(published(model.release(&mut randomness(), None).expect("writable")).epsilon, report.epsilon);
}
