//! The state on disk is the state in memory: whatever is dropped and opened again claims the same, bit for bit.

use efface_core::model::Outcome;
use efface_core::model::{BudgetRule, Mechanism, TrainingConfig};
use efface_core::noise::NoiseLaw;
use efface_engine::{ChangeReport, ModelDirectory, RowSource, Status};

use crate::models::{Folder, files, ids, published, randomness, remove_and_close, subjects, table};

/// The status as text: numbers are printed with all their digits.
fn status(folder: &Folder) -> String {
    serde_json::to_string(&Status::read(folder.model()).expect("readable")).expect("JSON")
}

/// What a change reports is what the status says.
fn agree(report: &ChangeReport, folder: &Folder) {
    let status = Status::read(folder.model()).expect("readable");
    assert_eq!(report.n_rows, status.n_rows);
    assert_eq!(report.gradient_residual.get().to_bits(), status.gradient_residual.get().to_bits());
    assert_eq!(report.distance_bound.get().to_bits(), status.distance_bound.get().to_bits());
    assert_eq!(report.rung, status.rung);
    assert_eq!(report.outcome, status.outcome);
    assert_eq!((report.budget, report.spent), (status.budget, status.spent));
}

fn configurations() -> Vec<fn(&mut TrainingConfig)> {
    vec![
        |_| {},
        |config| config.law = NoiseLaw::Gamma,
        |config| config.mechanism = Mechanism::Objective { budget: BudgetRule::Analytic },
        |config| {
            config.mechanism = Mechanism::Objective { budget: BudgetRule::Paper };
            config.noise_std = Some(1e-7);
        },
        |config| config.max_matrix_dim = 1,
    ]
}

#[test]
fn reports_and_status_agree_after_every_operation() {
    for configure in configurations() {
        let folder = Folder::with(configure);
        let mut model = folder.open();
        agree(&model.remove(&ids(&["row-3", "row-17"]), None).expect("removable"), &folder);
        agree(&model.remove(&subjects(&["person-5"]), Some("ticket")).expect("removable"), &folder);
        agree(&model.add(&RowSource::of(folder.write("more.csv", table(100..103)))).expect("new"), &folder);
        agree(&model.correct(&RowSource::of(folder.write("same.csv", table([7, 101])))).expect("present"), &folder);
        let settled = model.settle(None).expect("rows");
        let status = Status::read(folder.model()).expect("readable");
        assert_eq!(settled.gradient_residual.to_bits(), status.gradient_residual.get().to_bits());
        assert_eq!((status.n_rows, status.n_removed), (57, 6));
        let retrained = model.retrain(&mut randomness(), &mut |_| {}).expect("rows");
        let status = Status::read(folder.model()).expect("readable");
        assert_eq!(retrained.distance_bound.to_bits(), status.distance_bound.get().to_bits());
        assert_eq!((retrained.n_rows, status.outcome), (57, Outcome::Done));
        published(model.release(&mut randomness(), None).expect("writable"));
        assert_eq!(Status::read(folder.model()).expect("readable").n_releases, 1);
    }
}

#[test]
fn opening_and_dropping_changes_nothing() {
    for configure in configurations() {
        let folder = Folder::with(configure);
        let mut model = folder.open();
        model.remove(&ids(&["row-3", "row-17"]), Some("ticket")).expect("removable");
        model.close().expect("writable");
        let (before, claimed) = (files(&folder.model()), status(&folder));
        drop(folder.open());
        drop(folder.open());
        assert!(before == files(&folder.model()));
        assert_eq!(claimed, status(&folder));
    }
}

#[test]
fn two_copies_of_a_model_go_the_same_way_bit_for_bit() {
    for configure in configurations() {
        let folder = Folder::with(configure);
        remove_and_close(&folder, &ids(&["row-3"]));
        let more = folder.write("more.csv", table(100..103));
        let copies = [folder.copy("one"), folder.copy("two")];
        for copy in &copies {
            let mut model = ModelDirectory::open(copy).expect("a model");
            model.remove(&ids(&["row-4", "row-5"]), None).expect("removable");
            model.add(&RowSource::of(&more)).expect("new");
            model.settle(None).expect("rows");
        }
        let status = |copy| serde_json::to_string(&Status::read(copy).expect("readable")).expect("JSON");
        assert_eq!(status(&copies[0]), status(&copies[1]));
        let states = copies.each_ref().map(|copy| files(&copy.join("state")));
        assert!(states[0] == states[1]);
    }
}

#[test]
fn a_model_that_is_opened_anew_for_every_removal_claims_as_much() {
    let folder = Folder::with_model();
    let (kept, reopened) = (folder.copy("kept"), folder.copy("reopened"));
    let mut model = ModelDirectory::open(&kept).expect("a model");
    for i in 0..10 {
        let row = ids(&[&format!("row-{}", 5 * i)]);
        let first = model.remove(&row, None).expect("removable");
        let mut opened = ModelDirectory::open(&reopened).expect("a model");
        let second = opened.remove(&row, None).expect("removable");
        let ratio = first.distance_bound.get() / second.distance_bound.get();
        // The factor that preconditions the solver is formed anew at opening, which is all that may differ.
        assert!((0.5..2.0).contains(&ratio), "{first:?} {second:?}");
        assert_eq!((first.n_rows, first.rung, first.outcome), (second.n_rows, second.rung, second.outcome));
    }
}

#[test]
fn an_answered_request_is_remembered_on_disk() {
    let folder = Folder::with_model();
    let first = folder.open().remove(&ids(&["row-3"]), Some("ticket")).expect("removable");
    let again = folder.open().remove(&ids(&["row-3"]), Some("ticket")).expect("answered before");
    assert!(again.repeated && !first.repeated);
    assert_eq!(first.gradient_residual.get().to_bits(), again.gradient_residual.get().to_bits());
    assert_eq!((first.n_rows, first.n_changed), (again.n_rows, again.n_changed));
}
