//! What became of a request: applied, covered or pending, certified.

use efface_core::noise::NoiseSource;
use efface_engine::{Missing, ModelDirectory, PublishedModel, RowSource, Status, make_key, public_key_of};
use efface_ledger::certificate::RequestState;

use crate::models::{
    Folder, certificate, check, digest, files, ids, json, published, randomness, squared, subjects, table,
};

/// Certifies a request, checks the certificate as a stranger would, and returns the state and the covering release.
#[track_caller]
fn state(folder: &Folder, model: &mut ModelDirectory, request: &str) -> (RequestState, Option<usize>) {
    let out = folder.path("request.json");
    let report = model.certify_request(request, &out).expect("a request");
    let verification = check(folder, &out);
    assert!(verification.is_genuine(), "{verification:?}");
    let said = certificate(&out);
    assert_eq!((&said["state"], &said["release"]), (&report.state.tag().into(), &report.release.into()));
    if let Some(release) = report.release {
        let path = folder.path(&format!("model/releases/{release}/certificate.json"));
        assert_eq!(said["release_certificate"], digest(&path));
    }
    std::fs::remove_file(out).expect("there");
    (report.state, report.release)
}

#[test]
fn a_request_is_applied_then_covered() {
    let folder = Folder::with_model();
    let mut model = folder.open();
    model.remove(&ids(&["row-17", "row-3"]), Some("ticket")).expect("removable");
    assert_eq!(state(&folder, &mut model, "ticket"), (RequestState::Applied, None));
    published(model.release(&mut randomness(), None).expect("writable"));
    assert_eq!(state(&folder, &mut model, "ticket"), (RequestState::Covered, Some(1)));
    published(model.release(&mut randomness(), None).expect("writable"));
    assert_eq!(state(&folder, &mut model, "ticket"), (RequestState::Covered, Some(1)), "the first that covers it");
    assert_eq!(state(&folder, &mut model, "change-1"), (RequestState::Covered, Some(1)));
}

/// A name that nobody has was certified as covered by a release "that does not know the rows".
#[test]
fn a_request_that_found_no_row_is_covered_by_nothing() {
    let folder = Folder::with_model();
    let mut model = folder.open();
    let report = model.live(|life| life.remove(&ids(&["nobody"]), Some("typo"), Missing::Skip)).expect("nothing to do");
    assert_eq!((report.n_changed, report.n_missing), (0, 1));
    assert_eq!(state(&folder, &mut model, "typo"), (RequestState::NothingFound, None));
    published(model.release(&mut randomness(), None).expect("writable"));
    assert_eq!(state(&folder, &mut model, "typo"), (RequestState::NothingFound, None));
    let error = model.remove(&ids(&["row-3"]), Some("")).expect_err("no name").to_string();
    assert_eq!(error, "a request id must not be empty");
}

#[test]
fn a_request_is_pending_while_an_older_release_is_in_use() {
    let folder = Folder::with_model();
    let mut model = folder.open();
    published(model.release(&mut randomness(), None).expect("writable"));
    model.remove(&subjects(&["person-4"]), None).expect("removable");
    assert_eq!(state(&folder, &mut model, "change-1"), (RequestState::Pending, None));
    model.revoke(1, None).expect("a release");
    assert_eq!(state(&folder, &mut model, "change-1"), (RequestState::Applied, None), "no release in use knows them");
    published(model.release(&mut randomness(), None).expect("writable"));
    assert_eq!(state(&folder, &mut model, "change-1"), (RequestState::Covered, Some(2)));
}

/// With the covering release withdrawn, the one before is in use again, and it knows the rows.
#[test]
fn a_release_that_was_withdrawn_covers_nobody() {
    let folder = Folder::with_model();
    let mut model = folder.open();
    published(model.release(&mut randomness(), None).expect("writable"));
    model.remove(&ids(&["row-17"]), Some("ticket")).expect("removable");
    published(model.release(&mut randomness(), None).expect("writable"));
    model.revoke(2, None).expect("a release");
    assert_eq!(state(&folder, &mut model, "ticket"), (RequestState::Pending, None));
    published(model.release(&mut randomness(), None).expect("writable"));
    assert_eq!(state(&folder, &mut model, "ticket"), (RequestState::Covered, Some(3)));
    model.revoke(1, None).expect("a release");
    model.revoke(3, None).expect("a release");
    assert_eq!(state(&folder, &mut model, "ticket"), (RequestState::Applied, None));
}

/// Covered means published and certified: predictable noise certifies nothing.
#[test]
fn a_release_with_predictable_noise_covers_nobody() {
    let folder = Folder::with_model();
    let mut model = folder.open();
    model.remove(&ids(&["row-17"]), Some("ticket")).expect("removable");
    published(model.release(&mut NoiseSource::danger_fixed_seed(1), None).expect("writable"));
    assert_eq!(state(&folder, &mut model, "ticket"), (RequestState::Applied, None));
}

#[test]
fn requests_that_are_not_removals_or_not_there_are_refused() {
    let folder = Folder::with_model();
    let mut model = folder.open();
    model.correct(&RowSource::of(folder.write("same.csv", table([5])))).expect("present");
    let named = RowSource { request_id: Some("import"), ..RowSource::of(folder.write("more.csv", table([90]))) };
    model.add(&named).expect("new");
    let out = folder.path("request.json");
    let mut refusal = |request: &str| model.certify_request(request, &out).expect_err("none").to_string();
    for request in ["ticket", "change-x", ""] {
        assert_eq!(refusal(request), format!("there is no removal request `{request}` in the log"));
    }
    for (request, kind) in [("import", "an addition"), ("change-1", "a correction"), ("change-2", "an addition")] {
        let expected = format!("request `{request}` is {kind}; only removals have a certificate of their own");
        assert_eq!(refusal(request), expected);
    }
    assert!(!out.exists());
}

/// A place that cannot be written to is noticed before the log speaks of a certificate that nobody has.
#[test]
fn a_certificate_without_a_place_is_not_issued() {
    let folder = Folder::with_model();
    let mut model = folder.open();
    model.remove(&ids(&["row-17"]), Some("ticket")).expect("removable");
    model.close().expect("writable");
    let mut model = folder.open();
    let before = files(&folder.model());
    model.certify_request("ticket", &folder.path("nowhere/request.json")).expect_err("no folder");
    let taken = folder.write("taken.json", "");
    let error = model.certify_request("ticket", &taken).expect_err("taken").to_string();
    assert!(error.ends_with("exists already"), "{error}");
    drop(model);
    assert!(before == files(&folder.model()));
}

/// A log that begins anew has the requests that wait for a release. The others are in the log before, and not shown.
#[test]
fn requests_of_a_lost_log_are_certified() {
    let folder = Folder::with_model();
    let mut model = folder.open();
    model.remove(&ids(&["row-17"]), Some("covered")).expect("removable");
    published(model.release(&mut randomness(), None).expect("writable"));
    model.remove(&ids(&["row-30"]), Some("waiting")).expect("removable");
    model.close().expect("writable");
    std::fs::remove_file(folder.state_file()).expect("there");
    let mut model = folder.open();
    assert_eq!(state(&folder, &mut model, "covered"), (RequestState::Covered, Some(1)));
    assert_eq!(state(&folder, &mut model, "waiting"), (RequestState::Pending, None));
    for (request, n_proofs) in [("covered", 1), ("waiting", 2)] {
        let out = folder.path(request);
        model.certify_request(request, &out).expect("a request");
        let proofs = &json(&out)["log"]["proofs"];
        assert_eq!(proofs.as_array().map(Vec::len), Some(n_proofs), "{request}");
    }
    published(model.release(&mut randomness(), None).expect("writable"));
    assert_eq!(state(&folder, &mut model, "waiting"), (RequestState::Covered, Some(2)));
}

/// `change-1` names the first change; a request of that name would be taken for it.
#[test]
fn the_names_of_requests_without_an_id_are_reserved() {
    let folder = Folder::with_model();
    let mut model = folder.open();
    let error = model.remove(&ids(&["row-17"]), Some("change-1")).expect_err("reserved").to_string();
    assert!(error.starts_with("request id `change-1` is reserved"), "{error}");
    model.remove(&ids(&["row-17"]), Some("change-of-address")).expect("not a number");
    assert_eq!(state(&folder, &mut model, "change-of-address"), (RequestState::Applied, None));
}

/// A public key was named, and another one beside it, with one more `.pub` to its name, was taken.
#[test]
fn the_public_key_that_is_named_is_the_one_that_checks() {
    let folder = Folder::new();
    let trusted = make_key(&folder.path("trusted"), "trusted", None).expect("writable");
    let other = make_key(&folder.path("other"), "other", None).expect("writable");
    folder.write("trusted.pub.pub", format!("{other}\n"));
    assert_eq!(public_key_of(&folder.path("trusted.pub")).expect("a key"), trusted);
    assert_eq!(public_key_of(&folder.path("trusted")).expect("a key"), trusted);
}

/// The rows that are there, and what a model of them would say: the same however many rows were taken at a time.
#[test]
fn a_long_file_is_taken_part_by_part_and_goes_on_where_it_was() {
    let [folder, whole] = [(); 2].map(|()| Folder::with(|config| *config = squared()));
    let more = folder.write("more.csv", table(100..110));
    let source = |part_rows| RowSource { request_id: Some("import"), part_rows, ..RowSource::of(&more) };
    let mut model = folder.open();
    // The file breaks off in its third part.
    let cut = table(100..110).replacen("row-107,", "row-107,x,", 1);
    let cut = RowSource { data: folder.write("cut.csv", cut).into(), ..source(Some(3)) };
    let error = model.add(&cut).expect_err("cut short").to_string();
    assert!(error.starts_with("6 rows are in force, the others are not: ") && error.contains("line 9"), "{error}");
    model.close().expect("writable");
    assert_eq!(Status::read(folder.model()).expect("readable").n_rows, 66);

    let mut model = folder.open();
    let report = model.add(&source(Some(3))).expect("the rest is new");
    assert_eq!((report.n_changed, report.n_rows, report.repeated), (10, 70, false));
    let again = model.add(&source(Some(3))).expect("answered before");
    assert_eq!((again.n_changed, again.n_rows, again.repeated), (10, 70, true));
    let error = model.add(&source(None)).expect_err("other rows under the same id").to_string();
    assert!(error.contains("import"), "{error}");
    model.settle(None).expect("settled");
    let all = whole.write("more.csv", table(100..110));
    let mut other = whole.open();
    assert_eq!(other.add(&RowSource::of(&all)).expect("new").n_rows, 70);
    other.settle(None).expect("settled");
    // Of squares, without noise.
    let weights = [(&mut model, &folder), (&mut other, &whole)].map(|(model, folder)| {
        published(model.release(&mut randomness(), None).expect("writable"));
        PublishedModel::open(folder.model()).expect("a release").problems().concat()
    });
    let distance: f64 = weights[0].iter().zip(&weights[1]).map(|(a, b)| (a - b).abs()).sum();
    assert!(distance < 1e-9, "{distance}");

    let corrected = RowSource { request_id: Some("mend"), part_rows: Some(2), ..RowSource::of(&more) };
    assert_eq!(model.correct(&corrected).expect("present").n_changed, 10);
    assert!(model.correct(&corrected).expect("answered before").repeated);
}
