//! What a model takes with it into a directory, and what its certificates say there.

use crate::error::{CertifyError, ChangeError, OpenError, StorageError};
use efface_ledger::certificate::ReleasePolicy;
use efface_ledger::envelope::Envelope;
use efface_ledger::verify::Verdict;

use super::*;

#[test]
fn a_model_moves_into_a_directory_and_goes_on_there() {
    let (sample, names, people) = (Sample::usual(), names(), people());
    let row_weights: Vec<f64> = (0..N_ROWS).map(|i| 0.5 + (i % 3) as f64).collect();
    for (named, weighted) in [(false, false), (true, true)] {
        let mut held = trained(MemoryRequest {
            row_weights: weighted.then_some(&row_weights),
            max_row_weight: weighted.then_some(4.0),
            ids: named.then_some(&names),
            subjects: named.then_some(&people),
            ..sample.request()
        });
        let id = |i: usize| if named { names[i].clone() } else { RowId::numbered(i) };
        held.release();
        held.remove(&Selection::Ids(vec![id(0), id(300)])).expect("removable");
        held.correct(TableParts { ids: Some(vec![id(5)]), ..sample.parts(&[6]) }).expect("there");

        let folder = folder();
        let mut directory = held.keep(folder.path()).expect("writable");
        let error = held.keep(folder.path()).err().expect("taken");
        assert!(matches!(error, EngineError::Storage(StorageError::Exists { .. })), "{error}");
        let (ours, theirs) = (&held.model.model, directory.audit_material());
        assert_eq!(weights(ours), weights(theirs.model));
        assert_eq!(ours.claim(), theirs.model.claim());
        let state = |model: &Model| (model.state().count, model.state().account, model.state().fits[0].count);
        assert_eq!(state(ours), state(theirs.model));
        assert_eq!(theirs.rows.weight_sum(), ours.state().count.weight_sum);
        let status = directory.view().status().expect("readable");
        assert_eq!((status.n_rows, status.n_removed, status.n_releases), (N_ROWS - 2, 2, 1));

        assert!(is_removed(&directory.remove(&Selection::Ids(vec![id(300)]), None).expect_err("gone")));
        let gone = if named { person_of(8) } else { Selection::Ids(vec![id(8), id(9)]) };
        directory.remove(&gone, None).expect("removable");
        held.remove(&gone).expect("removable");
        directory.settle(None).expect("settled");
        held.settle().expect("settled");
        assert!(distance(directory.audit_material().model, &held.model.model) < 1e-9);
        let (kept, lent) =
            (directory.live(|life| life.influences(None)).expect("rows"), held.influences(None).expect("rows"));
        assert!(kept.iter().zip(&lent).all(|(a, b)| (a - b).abs() < 1e-9) && kept.len() == lent.len());
    }
}

#[test]
fn what_happened_since_the_latest_release_is_certified_after_the_move() {
    let sample = Sample::usual();
    let mut held = sample.train();
    held.remove_as("early", &ids([3])).expect("removable");
    held.release();
    let answer = held.remove_as("ticket", &ids([7])).expect("removable");
    held.correct(TableParts { ids: Some(vec![RowId::Integer(8)]), ..sample.parts(&[0]) }).expect("there");
    let again = TableParts { ids: Some(vec![RowId::Integer(3), RowId::parse("new")]), ..sample.parts(&[0, 1]) };
    held.add(again).expect("one of them is new");

    let folder = folder();
    let mut directory = held.keep(folder.path()).expect("writable");
    let error = ModelDirectory::open(directory.path()).err().expect("the one that was returned has the lock");
    assert!(matches!(error, EngineError::Open(OpenError::Locked { .. })), "{error}");
    let status = directory.view().status().expect("readable");
    assert_eq!((status.n_people_since_release, status.n_removed, status.n_suppressed), (2, 2, 1));
    assert!(status.released.is_some());

    // Asked again, requests get the answers that they got in memory.
    for (request, row) in [("early", 3), ("ticket", 7)] {
        assert!(directory.remove(&ids([row]), Some(request)).expect("known").repeated, "{request}");
    }
    let repeated = directory.remove(&ids([7]), Some("ticket")).expect("known");
    assert_eq!(ChangeReport { repeated: false, seconds: answer.seconds, ..repeated }, answer);
    let error = directory.remove(&ids([9]), Some("ticket")).expect_err("another row");
    assert!(matches!(error, EngineError::Change(ChangeError::RequestReused { .. })), "{error}");

    // Two people left or changed: a policy that asks for three holds the release back.
    let policy = ReleasePolicy { min_removals: Some(3), every_seconds: None };
    for policy in [policy, ReleasePolicy { every_seconds: Some(1_000_000), ..policy }] {
        directory.set_policy(policy).expect("writable");
        let answer = directory.release(&mut randomness(), None).expect("readable");
        assert!(matches!(answer, ReleaseAnswer::HeldBack(_)), "{answer:?}");
    }
    directory.set_policy(ReleasePolicy::default()).expect("writable");
    let claims = released(&mut directory);
    let since = &claims["since_previous"];
    assert_eq!(
        (&since["release"], &since["n_people"], &since["exposure"]),
        (&1.into(), &2.into(), &"several-together".into())
    );
    let counts = ["n_removed", "n_corrected", "n_added"].map(|name| since[name].as_u64());
    assert_eq!((counts, &claims["n_removed"]), ([Some(1); 3], &2.into()));
    let requests = claims["requests"].as_array().expect("a list");
    assert_eq!((requests.len(), &requests[0]["id"], &requests[0]["change"]), (1, &"ticket".into(), &2.into()));
    assert_eq!(directory.verify(true).expect("readable").verdict, Verdict::Valid);
    let certified = directory.certify_request("ticket", &folder.path().join("request.json")).expect("writable");
    assert_eq!(certified.release, Some(2));
}

#[test]
fn one_person_who_left_before_the_move_is_one_person_after_it() {
    let sample = Sample::usual();
    for n_left in [0, 1] {
        let mut held = sample.train();
        held.release();
        if n_left > 0 {
            held.remove(&ids([7])).expect("removable");
        }
        let folder = folder();
        let claims = released(&mut held.keep(folder.path()).expect("writable"));
        let since = &claims["since_previous"];
        let counts = ["release", "n_people", "n_removed"].map(|name| since[name].as_u64());
        assert_eq!(counts, [Some(1), Some(n_left), Some(n_left)]);
        assert_eq!(since["exposure"], ["nobody-left", "one-person"][n_left as usize]);
        assert_eq!(claims["requests"].as_array().map(Vec::len), Some(n_left as usize));
    }
}

#[test]
fn rows_that_no_id_names_are_found_by_subject_only_before_the_move_and_after_it() {
    let (sample, people) = (Sample::usual(), people());
    let mut held = trained(MemoryRequest { subjects: Some(&people), row_names: RowNames::Nothing, ..sample.request() });
    let new = TableParts { subjects: Some(people[..1].to_vec()), ..sample.parts(&[0]) };
    let named = [RowId::Integer(7)];
    let with_id = || TableParts { ids: Some(named.to_vec()), ..new.clone() };
    let is_refused =
        |answer: Result<ChangeReport, EngineError>| matches!(answer, Err(EngineError::Change(ChangeError::NoRowIds)));
    for missing in [Missing::Refuse, Missing::Skip] {
        assert!(is_refused(held.live(|life| life.remove(&ids([7]), None, missing))));
    }
    assert!(is_refused(held.correct(with_id())));
    assert!(is_refused(held.add(with_id())));
    assert!(matches!(held.influences(Some(&named)), Err(EngineError::Change(ChangeError::NoRowIds))));
    assert_eq!(held.add(new).expect("nobody is named").n_changed, 1);
    assert_eq!(held.remove(&person_of(0)).expect("there").n_changed, 5);

    let folder = folder();
    let directory = held.keep(folder.path()).expect("writable");
    let path = directory.path().to_path_buf();
    drop(directory);
    let mut directory = ModelDirectory::open(path).expect("free");
    assert!(is_refused(directory.remove(&ids([7]), None)));
    assert!(is_refused(directory.live(|life| life.remove(&ids([7]), None, Missing::Skip))));
    assert!(matches!(
        directory.live(|life| life.influences(Some(&named))),
        Err(EngineError::Change(ChangeError::NoRowIds))
    ));
    assert_eq!(directory.remove(&person_of(8), None).expect("there").n_changed, 4);
}

#[test]
fn columns_keep_their_names_in_a_directory() {
    let (sample, names) = (Sample::usual(), names());
    let own = Columns { id: Some("order".into()), features: Some(sample.request().features), ..Columns::default() };
    for columns in [Columns::default(), own.clone()] {
        let request = MemoryRequest { ids: Some(&names), columns: columns.clone(), ..sample.request() };
        let folder = folder();
        let directory = trained(request).keep(folder.path()).expect("writable");
        let kept = &directory.settings().columns;
        assert_eq!(kept.id.as_deref(), Some(if columns == own { "order" } else { "id" }));
        assert_eq!((kept.features.as_ref(), kept.label.as_ref()), (columns.features.as_ref(), columns.label.as_ref()));
    }
}

/// What is certified of a release that is made now.
fn released(directory: &mut ModelDirectory) -> Value {
    let report = published(directory.release(&mut randomness(), None).expect("writable"));
    let text = std::fs::read(report.certificate).expect("written");
    let envelope = Envelope::parse(&text).expect("signed");
    let mut statement: Value = serde_json::from_slice(envelope.unverified_payload()).expect("JSON");
    statement["predicate"].take()
}

/// Nobody signs the certificate of a model in memory; its numbers are computed again all the same.
#[test]
fn a_certificate_with_a_wrong_number_is_not_issued_in_memory_either() {
    let mut held = Sample::usual().train();
    held.release();
    let issued = held.certificate();
    // What would be stated is not what the claim was made with.
    held.model.settings.config.ridge = held.model.settings.config.ridge.times(2.0);
    let error = held.live(|life| life.release(&mut randomness())).expect_err("wrong");
    assert!(matches!(error, EngineError::Certify(CertifyError::NotSigned { .. })), "{error}");
    assert!(error.to_string().starts_with("no certificate can be issued: residual: "), "{error}");
    assert_eq!(held.certificate(), issued, "the release before is still the latest");
}

/// The declaration is part of the model: certificates list it in memory, in copies, in the directory it moves to, and after
/// later removals there.
#[test]
fn what_was_fitted_beside_a_model_is_outside_the_scope_for_all_its_life() {
    let sample = Sample::usual();
    let declared = ["hyper-parameters:GridSearchCV", "fitted-preprocessing:StandardScaler"];
    let outside_scope = [declared[0], declared[1], declared[0]].map(|text| text.parse().expect("a tag and a name"));
    let mut held = trained(MemoryRequest { outside_scope: outside_scope.to_vec(), ..sample.request() });
    let lists_it = |claims: &Value| {
        let listed = claims["outside_scope"].as_array().expect("tags");
        assert_eq!(listed[listed.len() - 2..], [declared[1], declared[0]].map(Value::from));
        assert_eq!(listed.iter().filter(|scope| scope.as_str().expect("text").contains(':')).count(), 2);
    };
    held.release();
    lists_it(&held.certificate());
    let mut copy = Held::from_bytes(&held.bytes().expect("unchanged")).expect("whole");
    copy.release();
    lists_it(&copy.certificate());
    let folder = folder();
    let directory = held.keep(folder.path()).expect("writable");
    let path = directory.path().to_path_buf();
    directory.close().expect("writable");
    let mut directory = ModelDirectory::open(path).expect("closed");
    directory.live(|life| life.remove(&ids([3]), None, Missing::Refuse)).expect("there");
    lists_it(&released(&mut directory));
    assert_eq!(directory.view().status().expect("readable").outside_scope.len(), 2);
    assert_eq!(directory.verify(true).expect("readable").verdict, Verdict::Valid);
}

#[test]
fn weights_and_a_bound_that_tell_of_the_rows_are_outside_the_scope() {
    let sample = Sample::new(Scale::Within { radius: 2.0 }, true, 2);
    // They add up to the number of rows, and to another one as soon as a row leaves.
    let balanced: Vec<f64> = (0..N_ROWS).map(|i| 0.5 + (i % 2) as f64).collect();
    let has = |claims: &Value, tag: &str| claims["outside_scope"].as_array().expect("tags").contains(&tag.into());
    // Weights that are announced count as weights, also where each is 1.
    for (row_weights, announced, from_rows) in
        [(None, false, false), (None, true, false), (Some(&balanced[..]), true, true)]
    {
        let mut held = trained(MemoryRequest {
            row_weights,
            max_row_weight: announced.then_some(2.0),
            row_norm_from_rows: from_rows,
            ..sample.request()
        });
        held.release();
        let (claims, folder) = (held.certificate(), folder());
        let mut directory = held.keep(folder.path()).expect("writable");
        let signed = released(&mut directory);
        for claims in [claims, signed] {
            let sum = claims.get("weight_sum").map(Value::as_f64);
            assert_eq!(sum, announced.then_some(Some(N_ROWS as f64)));
            assert_eq!((has(&claims, "row-weights"), has(&claims, "row-norm-bound")), (announced, from_rows));
        }
        assert_eq!(directory.verify(true).expect("readable").verdict, Verdict::Valid);
    }
}
