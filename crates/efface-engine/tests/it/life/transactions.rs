//! The operations themselves: what they change, what they count, and what a refused one leaves.

use efface_core::model::{BudgetRule, Mechanism, Outcome, Refusal, Refused};
use efface_core::rounding::UpperBound;
use efface_data::{Columns, read_table};
use efface_engine::{
    EngineError, Evaluation, Missing, PublishedModel, ReleaseAnswer, RowSource, Selection, Status, StorageError,
};

use crate::models::{Folder, files, ids, json, published, randomness, squared, subjects, table};

/// Published weights of an exact model after some changes.
fn weights(folder: &Folder) -> Vec<f64> {
    let report = published(folder.open().release(&mut randomness(), None).expect("writable"));
    let model = json(&report.model);
    model["weights"].as_array().expect("a list").iter().map(|w| w.as_f64().expect("a number")).collect()
}

fn exact(rows: impl IntoIterator<Item = usize>) -> Folder {
    let folder = Folder::new();
    folder.train(&table(rows), squared());
    folder
}

fn close(a: &[f64], b: &[f64]) -> bool {
    a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9)
}

#[test]
fn removing_adding_and_correcting_lead_where_training_does() {
    let from_scratch = weights(&exact((0..60).filter(|i| *i != 7 && i / 4 != 9)));
    let removed = exact(0..60);
    removed.open().remove(&ids(&["row-7"]), None).expect("removable");
    removed.open().remove(&subjects(&["person-9"]), None).expect("removable");
    assert!(close(&weights(&removed), &from_scratch));

    let added = exact((0..50).filter(|i| *i != 7 && i / 4 != 9));
    added.open().add(&RowSource::of(added.write("more.csv", table(50..60)))).expect("new");
    assert!(close(&weights(&added), &from_scratch));

    let whole = weights(&exact(0..60));
    let corrected = Folder::new();
    let (right, wrong) = (table([3]), table([30]).replace("row-30,person-7", "row-3,person-0"));
    let line = |text: &str| text.lines().nth(1).expect("one row").to_owned();
    corrected.train(&table(0..60).replace(&line(&right), &line(&wrong)), squared());
    assert!(!close(&weights(&corrected), &whole));
    corrected.open().correct(&RowSource::of(corrected.write("right.csv", right))).expect("present");
    let report = published(corrected.open().release(&mut randomness(), None).expect("writable"));
    assert_eq!(report.release, 2);
    assert!(close(&weights(&corrected), &whole));
}

#[test]
fn a_refused_operation_changes_nothing_and_leaves_the_handle_usable() {
    let folder = Folder::with_model();
    let mut model = folder.open();
    model.remove(&ids(&["row-1"]), Some("ticket")).expect("removable");
    model.checkpoint().expect("writable");
    let before = files(&folder.model());
    let known = folder.write("known.csv", table([3]));
    let unknown = folder.write("unknown.csv", table([100]));
    let everything = (0..60).filter(|i| *i != 1).map(|i| format!("row-{i}")).collect::<Vec<_>>();
    let everything: Vec<&str> = everything.iter().map(String::as_str).collect();
    let errors = [
        model.remove(&ids(&["nobody"]), None).map(drop),
        model.remove(&ids(&["row-1"]), None).map(drop),
        model.remove(&ids(&["row-3", "nobody"]), None).map(drop),
        model.remove(&ids(&[]), None).map(drop),
        model.remove(&Selection::Subjects(Vec::new()), None).map(drop),
        model.remove(&ids(&["row-3"]), Some("ticket")).map(drop),
        model.remove(&ids(&everything), None).map(drop),
        model.add(&RowSource::of(&known)).map(drop),
        model.add(&RowSource { label: Some("nothing"), ..RowSource::of(&unknown) }).map(drop),
        model.correct(&RowSource::of(&unknown)).map(drop),
        model.settle(Some(0.0)).map(drop),
        model.settle(Some(f64::NAN)).map(drop),
        model.release(&mut randomness(), Some(&known)).map(drop),
    ];
    for (i, result) in errors.into_iter().enumerate() {
        let error = result.expect_err("refused");
        assert!(!matches!(error, EngineError::Storage(StorageError::Damaged)), "{i}: {error}");
    }
    assert!(before == files(&folder.model()));
    assert_eq!(model.remove(&ids(&["row-3"]), None).expect("removable").n_rows, 58);
}

/// Lists of people to forget hold people that this model never knew, and the same people twice.
#[test]
fn those_that_are_not_there_can_be_left_out_of_a_removal() {
    let folder = Folder::with_model();
    let mut model = folder.open();
    let list = ids(&["row-3", "nobody", "row-4", "row-3"]);
    assert!(model.remove(&list, None).is_err(), "nobody is not there");
    let report = model.live(|life| life.remove(&list, Some("list"), Missing::Skip)).expect("some are there");
    assert_eq!((report.n_changed, report.n_missing, report.n_rows), (2, 1, 58));
    let again = model.live(|life| life.remove(&list, Some("list"), Missing::Skip)).expect("answered before");
    assert!(again.repeated && again.n_changed == 2 && again.n_missing == 1);
    let none = model.live(|life| life.remove(&list, None, Missing::Skip)).expect("none is there any more");
    assert_eq!((none.n_changed, none.n_missing, none.n_rows), (0, 3, 58));
    let people =
        model.live(|life| life.remove(&subjects(&["person-9", "nobody"]), None, Missing::Skip)).expect("one is there");
    assert_eq!((people.n_changed, people.n_missing), (4, 1));
    assert!(model.live(|life| life.remove(&ids(&[]), None, Missing::Skip)).is_err());
    model.close().expect("writable");
    assert_eq!(Status::read(folder.model()).expect("readable").n_removed, 6);
}

#[test]
fn counts_add_up_over_a_long_life() {
    let folder = Folder::with_model();
    let (mut present, mut removed) = (60, 0);
    for round in 0..5 {
        let first = 100 + 3 * round;
        let more = folder.write("more.csv", table(first..first + 3));
        assert_eq!(folder.open().add(&RowSource::of(&more)).expect("new").n_changed, 3);
        present += 3;
        let gone = [format!("row-{}", 10 * round), format!("row-{}", first + 1)];
        let report = folder.open().remove(&ids(&[&gone[0], &gone[1]]), None).expect("removable");
        present -= 2;
        removed += 2;
        assert_eq!((report.n_rows, report.n_changed), (present, 2));
        let same = folder.write("same.csv", table([first + 2]));
        assert_eq!(folder.open().correct(&RowSource::of(&same)).expect("present").n_rows, present);
        let status = Status::read(folder.model()).expect("readable");
        assert_eq!((status.n_rows, status.n_removed), (present, removed));
    }
    let retrained = folder.open().retrain(&mut randomness(), &mut |_| {}).expect("rows");
    assert_eq!(retrained.n_rows, present);
}

#[test]
fn a_spent_budget_is_an_outcome_until_the_model_is_retrained() {
    let folder = Folder::with(|config| {
        config.mechanism = Mechanism::Objective { budget: BudgetRule::Analytic };
        config.noise_std = Some(1e-7);
    });
    let mut model = folder.open();
    let report = model.remove(&ids(&["row-3"]), None).expect("an answer");
    assert_eq!(report.outcome, Outcome::RetrainRequired);
    assert!(report.spent.map(UpperBound::get) > report.budget);
    assert_eq!(Status::read(folder.model()).expect("readable").outcome, Outcome::RetrainRequired);
    match model.release(&mut randomness(), None).expect("an answer") {
        ReleaseAnswer::Refused(Refused { outcome, excess: Some(excess) }) => {
            assert_eq!(outcome, Refusal::RetrainRequired);
            assert!(excess.found > excess.limit);
        }
        answer => panic!("{answer:?}"),
    }
    model.retrain(&mut randomness(), &mut |_| {}).expect("rows");
    assert_eq!(Status::read(folder.model()).expect("readable").outcome, Outcome::Done);
    published(model.release(&mut randomness(), None).expect("writable"));
}

#[test]
fn a_published_model_predicts_rows_it_has_not_seen() {
    let folder = Folder::with_model();
    published(folder.open().release(&mut randomness(), None).expect("writable"));
    let model = PublishedModel::open(folder.model()).expect("published");
    let data = folder.write("new.csv", table(200..300));
    let read = |columns: &Columns| read_table(&data, columns, None).expect("readable");
    let evaluation = model.evaluate(read(&model.columns(Some("y".into()), None))).expect("labelled");
    let Evaluation::Classes(evaluation) = evaluation else { panic!("a model of classes") };
    assert_eq!(evaluation.n_rows, 100);
    assert!(evaluation.accuracy > 0.7, "{evaluation:?}");
    let predictor = model.predictor();
    let predictions = predictor.predict(read(&model.columns(None, Some("id".into())))).expect("readable");
    assert_eq!(predictions.len(), 100);
    assert!(predictions.iter(false).all(|p| p.probability.is_some_and(|p| (0.5..=1.0).contains(&p))));
    assert_eq!(predictions.iter(false).nth(7).expect("100 rows").id.to_string(), "row-207");
}

#[test]
fn every_error_has_a_code_and_is_one_line() {
    let folder = Folder::with_model();
    let mut model = folder.open();
    for (error, code) in [
        (model.remove(&ids(&["nobody"]), None).expect_err("unknown"), "unknown-id"),
        (model.remove(&subjects(&["nobody"]), None).expect_err("unknown"), "unknown-id"),
        (model.add(&RowSource::of(folder.path("rows.csv"))).expect_err("present"), "already-present"),
        (Status::read(folder.path("nowhere")).expect_err("no model"), "not-a-model"),
        (PublishedModel::open(folder.model()).expect_err("no release"), "no-release"),
    ] {
        assert_eq!(error.code(), code, "{error}");
        assert!(!error.to_string().contains('\n'));
    }
}
