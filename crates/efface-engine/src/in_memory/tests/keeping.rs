//! What a model takes with it into a directory, and what its certificates say there.

use super::*;

#[test]
fn what_happened_since_the_latest_release_is_certified_after_the_move() {
    let sample = Sample::new(Scale::Unit, true, 2);
    let lent = sample.lent();
    let noise = &mut NoiseSource::from_system().expect("randomness");
    let mut model = sample.train();
    model.remove(&lent, &ids([3]), Some("early"), false).expect("removable");
    model.release(&lent, noise).expect("readable");
    let answer = model.remove(&lent, &ids([7]), Some("ticket"), false).expect("removable");
    let again = NewRows {
        features: Features::F64(&sample.values[..2 * N_FEATURES]),
        labels: &sample.labels[..2],
        row_weights: None,
        subjects: None,
    };
    model
        .correct(
            &lent,
            &[RowId::Integer(7 + 1)],
            NewRows { features: Features::F64(&sample.values[..N_FEATURES]), labels: &[0.0], ..again },
        )
        .expect("there");
    model.add(&lent, again, Some(&[RowId::Integer(3), RowId::parse("new")])).expect("one of them is new");

    let folder = tempfile::tempdir().expect("a temporary folder");
    let options = KeepOptions { out: folder.path().join("model"), ..KeepOptions::default() };
    let mut directory = model.keep(&lent, options.clone()).expect("writable");
    let error = ModelDirectory::open(&options.out).err().expect("the one that was returned has the lock");
    assert!(matches!(error, EngineError::Locked { .. }), "{error}");
    let status = directory.status().expect("readable");
    assert_eq!((status.n_people_since_release, status.n_removed, status.n_suppressed), (2, 2, 1));
    assert!(status.released.is_some());

    // Asked again, requests get the answers that they got in memory.
    for (request, row) in [("early", 3), ("ticket", 7)] {
        assert!(directory.remove(&ids([row]), Some(request)).expect("known").repeated, "{request}");
    }
    let repeated = directory.remove(&ids([7]), Some("ticket")).expect("known");
    assert_eq!(ChangeReport { repeated: false, ..repeated }, answer);
    let error = directory.remove(&ids([9]), Some("ticket")).expect_err("another row");
    assert!(matches!(error, EngineError::RequestReused { .. }), "{error}");

    // Two people left or changed: a policy that asks for three holds the release back.
    let policy = ReleasePolicy { min_removals: Some(3), every_seconds: None };
    directory.set_policy(policy).expect("writable");
    assert!(matches!(directory.release(noise, None).expect("readable"), ReleaseAnswer::HeldBack(_)));
    directory.set_policy(ReleasePolicy { every_seconds: Some(1_000_000), ..policy }).expect("writable");
    assert!(matches!(directory.release(noise, None).expect("readable"), ReleaseAnswer::HeldBack(_)));
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
    assert_eq!(directory.verify(true).expect("readable").verdict, efface_ledger::verify::Verdict::Valid);
    let certified = directory.certify_request("ticket", &folder.path().join("request.json")).expect("writable");
    assert_eq!(certified.release, Some(2));
}

#[test]
fn one_person_who_left_before_the_move_is_one_person_after_it() {
    let sample = Sample::new(Scale::Unit, true, 2);
    let lent = sample.lent();
    let noise = &mut NoiseSource::from_system().expect("randomness");
    for n_left in [0, 1] {
        let mut model = sample.train();
        model.release(&lent, noise).expect("readable");
        if n_left > 0 {
            model.remove(&lent, &ids([7]), None, false).expect("removable");
        }
        let folder = tempfile::tempdir().expect("a temporary folder");
        let options = KeepOptions { out: folder.path().join("model"), ..KeepOptions::default() };
        let mut directory = model.keep(&lent, options).expect("writable");
        let claims = released(&mut directory);
        let since = &claims["since_previous"];
        let counts = ["release", "n_people", "n_removed"].map(|name| since[name].as_u64());
        assert_eq!(counts, [Some(1), Some(n_left), Some(n_left)]);
        assert_eq!(since["exposure"], ["nobody-left", "one-person"][n_left as usize]);
        assert_eq!(claims["requests"].as_array().map(Vec::len), Some(n_left as usize));
    }
}

#[test]
fn rows_that_no_id_names_are_found_by_subject_only_before_the_move_and_after_it() {
    let sample = Sample::new(Scale::Unit, true, 2);
    let lent = sample.lent();
    let people: Vec<RowId> = (0..N_ROWS).map(|i| RowId::parse(&format!("person-{}", i / 4))).collect();
    let request = MemoryRequest { subjects: Some(&people), row_names: RowNames::Nothing, ..sample.request() };
    let mut model = trained(request);
    let new = NewRows {
        features: Features::F64(&sample.values[..N_FEATURES]),
        labels: &sample.labels[..1],
        row_weights: None,
        subjects: Some(&people[..1]),
    };
    let (named, person) = ([RowId::Integer(7)], |i: usize| Selection::Subjects(vec![people[i].clone()]));
    let is_refused = |answer: Result<ChangeReport, EngineError>| matches!(answer, Err(EngineError::NoRowIds));
    assert!(is_refused(model.remove(&lent, &ids([7]), None, false)));
    assert!(is_refused(model.remove(&lent, &ids([7]), None, true)));
    assert!(is_refused(model.correct(&lent, &named, new)));
    assert!(is_refused(model.add(&lent, new, Some(&named))));
    assert!(matches!(model.influence(&lent, Some(&named)), Err(EngineError::NoRowIds)));
    assert_eq!(model.add(&lent, new, None).expect("nobody is named").n_changed, 1);
    assert_eq!(model.remove(&lent, &person(0), None, false).expect("there").n_changed, 5);

    let folder = tempfile::tempdir().expect("a temporary folder");
    let options = KeepOptions { out: folder.path().join("model"), ..KeepOptions::default() };
    drop(model.keep(&lent, options.clone()).expect("writable"));
    let mut directory = ModelDirectory::open(&options.out).expect("free");
    assert!(is_refused(directory.remove(&ids([7]), None)));
    assert!(is_refused(directory.remove_present(&ids([7]), None)));
    assert!(matches!(directory.influences(Some(&named)), Err(EngineError::NoRowIds)));
    assert_eq!(directory.remove(&person(8), None).expect("there").n_changed, 4);
}

#[test]
fn columns_keep_their_names_in_a_directory() {
    let sample = Sample::new(Scale::Unit, true, 2);
    let names: Vec<RowId> = (0..N_ROWS).map(|i| RowId::parse(&format!("row-{i}"))).collect();
    let own = Columns { id: Some("order".into()), features: Some(sample.request().features), ..Columns::default() };
    for columns in [Columns::default(), own.clone()] {
        let request = MemoryRequest { ids: Some(&names), columns: columns.clone(), ..sample.request() };
        let folder = tempfile::tempdir().expect("a temporary folder");
        let options = KeepOptions { out: folder.path().join("model"), ..KeepOptions::default() };
        let directory = trained(request).keep(&sample.lent(), options).expect("writable");
        let kept = &directory.settings().columns;
        assert_eq!(kept.id.as_deref(), Some(if columns == own { "order" } else { "id" }));
        assert_eq!((kept.features.as_ref(), kept.label.as_deref()), (columns.features.as_ref(), Some("label")));
    }
}

/// What is certified of a release that is made now.
fn released(directory: &mut ModelDirectory) -> serde_json::Value {
    let noise = &mut NoiseSource::from_system().expect("randomness");
    let ReleaseAnswer::Published(report) = directory.release(noise, None).expect("writable") else {
        panic!("must be published")
    };
    let text = std::fs::read(report.certificate).expect("written");
    let envelope = efface_ledger::envelope::Envelope::parse(&text).expect("signed");
    let mut statement: serde_json::Value = serde_json::from_slice(envelope.unverified_payload()).expect("JSON");
    statement["predicate"].take()
}

#[test]
fn weights_and_a_bound_that_tell_of_the_rows_are_outside_the_scope() {
    let sample = Sample::new(Scale::Within { radius: 2.0 }, true, 2);
    // They add up to the number of rows, and to another one as soon as a row leaves.
    let balanced: Vec<f64> = (0..N_ROWS).map(|i| 0.5 + (i % 2) as f64).collect();
    let has =
        |claims: &serde_json::Value, tag: &str| claims["outside_scope"].as_array().expect("tags").contains(&tag.into());
    for (weighted, from_rows) in [(false, false), (true, true)] {
        let request = MemoryRequest {
            row_weights: weighted.then_some(&balanced),
            max_row_weight: weighted.then_some(2.0),
            row_norm_from_rows: from_rows,
            ..sample.request()
        };
        let (mut model, lent) = (trained(request), sample.lent());
        let folder = tempfile::tempdir().expect("a temporary folder");
        model.release(&lent, &mut NoiseSource::from_system().expect("randomness")).expect("readable");
        let claims: serde_json::Value =
            serde_json::from_str(&model.latest().expect("released").certificate).expect("JSON");
        let options = KeepOptions { out: folder.path().join("model"), ..KeepOptions::default() };
        let mut directory = model.keep(&lent, options).expect("writable");
        let signed = released(&mut directory);
        for claims in [claims, signed] {
            let sum = claims.get("weight_sum").map(serde_json::Value::as_f64);
            assert_eq!(sum, weighted.then_some(Some(N_ROWS as f64)));
            assert_eq!((has(&claims, "row-weights"), has(&claims, "row-norm-bound")), (weighted, from_rows));
        }
        assert_eq!(directory.verify(true).expect("readable").verdict, efface_ledger::verify::Verdict::Valid);
    }
}
