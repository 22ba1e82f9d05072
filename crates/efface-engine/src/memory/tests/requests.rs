//! What is asked of a model in memory, what it refuses, and what it says of itself.

use crate::error::ChangeError;
use efface_core::loss::Squared;

use super::*;

#[test]
fn what_cannot_be_removed_is_refused_and_changes_nothing() {
    let mut held = Sample::usual().train();
    held.remove_as("ticket", &ids([3])).expect("removable");
    let before = weights(&held.model.model);
    let mut refused = |selection: &Selection| held.remove(selection).expect_err("refused");
    assert!(is_removed(&refused(&ids([3]))));
    assert!(matches!(refused(&ids([700])), EngineError::Lookup(LookupError::Unknown { .. })));
    assert!(matches!(refused(&ids([-1])), EngineError::Lookup(LookupError::Unknown { .. })));
    assert!(matches!(refused(&ids([])), EngineError::Change(ChangeError::NothingNamed)));
    assert!(matches!(refused(&person_of(0)), EngineError::Change(ChangeError::NoSubjects)));
    let all_but_3 = ids((0..700).filter(|row| *row != 3));
    assert!(matches!(refused(&all_but_3), EngineError::Change(ChangeError::LastRow { n_removed: 699, n_rows: 699 })));
    assert_eq!((weights(&held.model.model), held.model.view().n_rows()), (before, 699));

    assert!(held.remove_as("ticket", &ids([3])).expect("the same request").repeated);
    let reused = held.remove_as("ticket", &ids([4])).expect_err("refused");
    assert!(matches!(reused, EngineError::Change(ChangeError::RequestReused { .. })));
    let reserved = held.remove_as("change-9", &ids([4])).expect_err("refused");
    assert!(matches!(reserved, EngineError::Change(ChangeError::RequestReserved { .. })));
    let skipped = held.live(|life| life.remove(&ids([3, 4, 4, 900]), None, Missing::Skip)).expect("one is there");
    assert_eq!((skipped.n_changed, skipped.n_missing), (1, 2));
}

#[test]
fn ids_and_subjects_are_found_and_those_removed_do_not_come_back() {
    let (sample, names, people) = (Sample::usual(), names(), people());
    let mut held = trained(MemoryRequest { ids: Some(&names), subjects: Some(&people), ..sample.request() });
    assert_eq!(held.remove(&Selection::Ids(names[8..9].to_vec())).expect("there").n_changed, 1);
    assert_eq!(held.remove(&person_of(8)).expect("the other three").n_changed, 3);
    assert!(is_removed(&held.remove(&person_of(8)).expect_err("gone")));

    // One is of a person who left, one was there and is gone, one is new.
    let new = TableParts {
        ids: Some(vec![RowId::parse("new-1"), names[9].clone(), RowId::parse("new-2")]),
        subjects: Some([8, 100, 100].map(|i| people[i].clone()).to_vec()),
        ..sample.parts(&[0, 1, 2])
    };
    let error = held.add(TableParts { subjects: None, ..new.clone() }).expect_err("nobody's");
    assert!(matches!(error, EngineError::InMemory(RowsError::NoSubjects)), "{error}");
    let error = held.add(TableParts { ids: None, ..new.clone() }).expect_err("nameless");
    assert!(matches!(error, EngineError::InMemory(RowsError::NoIds)), "{error}");
    let report = held.add(new.clone()).expect("one is new");
    assert_eq!((report.n_changed, report.n_suppressed, report.n_rows), (1, 2, N_ROWS - 3));
    let error = held.add(TableParts { ids: Some(names[..3].to_vec()), ..new.clone() }).expect_err("there");
    assert!(matches!(error, EngineError::Append(efface_data::AppendError::AlreadyPresent { .. })), "{error}");
    // Nobody can be given a row of whom all rows were removed.
    let ids = Some(vec![names[20].clone(), names[21].clone(), names[22].clone()]);
    assert!(is_removed(&held.correct(TableParts { ids, ..new }).expect_err("gone")));
    assert_eq!(held.remove(&person_of(100)).expect("five rows now").n_changed, 5);

    let mut twice = names.clone();
    twice[9] = names[0].clone();
    let error = refused(MemoryRequest { ids: Some(&twice), ..sample.request() });
    assert!(matches!(error, EngineError::Change(ChangeError::RepeatedId { first: 0, second: 9 })), "{error}");
}

#[test]
fn subjects_of_rows_that_come_to_a_model_without_are_refused() {
    let sample = Sample::usual();
    let mut held = sample.train();
    let new = TableParts { subjects: Some(vec![RowId::Integer(1)]), ..sample.parts(&[0]) };
    assert!(matches!(held.add(new.clone()), Err(EngineError::Change(ChangeError::NoSubjects))));
    let named = TableParts { ids: Some(vec![RowId::Integer(3)]), ..new };
    assert!(matches!(held.correct(named), Err(EngineError::Change(ChangeError::NoSubjects))));
    assert_eq!(held.model.view().n_rows(), N_ROWS);
}

#[test]
fn a_class_goes_with_its_last_row_and_does_not_come_back() {
    let sample = Sample::new(Scale::Unit, true, 3);
    let mut held = sample.train();
    let last: Vec<usize> = (0..N_ROWS).filter(|row| sample.labels[*row] == 2.0).collect();
    let named = Selection::Ids(last.iter().map(|row| RowId::numbered(*row)).collect());
    let report = held.remove(&named).expect("others are left");
    assert_eq!((report.classes_gone, report.n_changed), (vec!["2".to_owned()], last.len()));
    assert_eq!(held.model.view().status().expect("known").class_names, ["0", "1"]);
    assert!(
        matches!(held.add(sample.parts(&last[..1])), Err(EngineError::Change(ChangeError::ClassGone { class })) if class == "2")
    );
    held.settle().expect("settled");
    assert_eq!(held.release().release, 1);
}

#[test]
fn a_release_says_what_it_claims_and_that_nobody_signed() {
    let mut held = Sample::usual().train();
    assert!(held.model.view().is_stale() && held.model.latest_release().is_none());
    for (release, n_removed) in [(1, 0), (2, 2)] {
        if n_removed > 0 {
            held.remove_as("ticket", &ids([1, 2])).expect("removable");
            assert!(held.model.view().is_stale());
        }
        let report = held.release();
        assert_eq!((report.release, report.settle_passes > 0), (release, n_removed > 0));
        assert!(!held.model.view().is_stale());
        let certificate = held.certificate();
        assert_eq!(certificate["signed"], false);
        assert_eq!((&certificate["release"], &certificate["n_removed"]), (&release.into(), &n_removed.into()));
        assert_eq!((&certificate["certified"], &certificate["rung"]), (&true.into(), &"measured".into()));
        assert_eq!(certificate["since_previous"]["n_people"], n_removed);
        assert!(certificate["epsilon_spent"].as_f64() < Some(1.0) && certificate.get("key_id").is_none());
        let latest = &held.model.latest_release().expect("released").model;
        let (public, json): (_, Value) = (latest.problems(), serde_json::from_str(&latest.to_json()).expect("JSON"));
        assert_eq!(json["weights"][0], public[0][0]);
        // Noise of a thousandth, six standard deviations.
        let secret = &weights(&held.model.model)[0];
        assert!(secret.iter().zip(&public[0]).all(|(secret, public)| (secret - public).abs() < 6e-3));
    }
    let covered = &held.certificate()["requests"][0];
    assert_eq!((&covered["id"], &covered["n_rows"]), (&"ticket".into(), &2.into()));
    let status = held.model.view().status().expect("known");
    assert_eq!((status.n_releases, status.n_removed, status.n_removed_since_release), (2, 2, 0));
}

#[test]
fn retraining_keeps_the_account() {
    let mut held = Sample::usual().train();
    held.release();
    held.remove(&ids([1, 2])).expect("removable");
    let report = held.live(|life| life.retrain(&mut randomness(), &mut |_| {})).expect("trainable");
    assert_eq!((report.n_rows, held.model.view().n_releases()), (N_ROWS - 2, 1));
    assert!(held.model.view().is_stale());
    assert_eq!(held.release().release, 2);
}

#[test]
fn rows_and_labels_that_cannot_be_used_are_named() {
    let mut sample = Sample::new(Scale::None, false, 2);
    let message = |sample: &Sample| refused(sample.request()).to_string();
    sample.labels[12] = 2.0;
    assert_eq!(message(&sample), "row 12: label `2` is not the index of one of 2 classes");
    sample.labels[12] = 1.0;
    sample.values[30 * N_FEATURES + 4] = f64::INFINITY;
    assert_eq!(message(&sample), "row 30: features must be finite, got `inf`");
    sample.values[30 * N_FEATURES + 4] = 3.0;
    assert!(message(&sample).starts_with("row 30: row norm is 3"), "{}", message(&sample));
    sample.labels.pop();
    assert_eq!(message(&sample), "699 labels for 700 rows");
    sample.labels = vec![f64::NAN; N_ROWS];
    let config = TrainingConfig::new(&Squared, 1e-3, None);
    let error = refused(MemoryRequest { config, codec: LabelCodec::Numeric, ..sample.request() });
    assert_eq!(error.to_string(), "row 0: labels must be finite numbers, got `NaN`");
    let (sample, few) = (Sample::usual(), &names()[1..]);
    let error = refused(MemoryRequest { ids: Some(few), ..sample.request() });
    assert_eq!(error.to_string(), "699 ids for 700 rows");
}
