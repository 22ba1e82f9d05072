//! Withdrawn releases: signed, remembered, and not used any more.

use efface_engine::{ModelDirectory, PublishedModel, latest_certificate};

use crate::models::{Folder, certificate, check, digest, files, published, randomness};

/// A folder with a model of some releases.
fn with_releases(n: usize) -> (Folder, ModelDirectory) {
    let folder = Folder::with_model();
    let mut model = folder.open();
    for _ in 0..n {
        published(model.release(&mut randomness(), None).expect("writable"));
    }
    (folder, model)
}

#[test]
fn a_withdrawal_is_signed_and_names_the_release() {
    let (folder, mut model) = with_releases(2);
    let report = model.revoke(1, Some("superseded".into())).expect("a release");
    assert_eq!((report.release, &*report.revoked), (1, &[1][..]));
    assert_eq!(report.revocation, folder.path("model/releases/1/revocation.json"));
    let verification = check(&folder, &report.revocation);
    assert!(verification.is_genuine(), "{verification:?}");
    let said = certificate(&report.revocation);
    assert_eq!((&said["release"], &said["reason"]), (&1.into(), &"superseded".into()));
    assert_eq!(said["release_certificate"], digest(&folder.path("model/releases/1/certificate.json")));

    let key = model.public_key().expect("a key");
    let revocation = std::fs::read(&report.revocation).expect("there");
    for (release, valid) in [(1, false), (2, true)] {
        let text = std::fs::read(folder.path(&format!("model/releases/{release}/certificate.json"))).expect("there");
        let evidence =
            efface_ledger::verify::Evidence { key: Some(&key), revocation: Some(&revocation), ..Default::default() };
        assert_eq!(efface_ledger::verify::verify(&text, &evidence).is_genuine(), valid, "release {release}");
    }
}

#[test]
fn later_certificates_list_withdrawn_releases() {
    let (folder, mut model) = with_releases(2);
    model.revoke(2, None).expect("a release");
    assert_eq!(model.revoke(1, None).expect("a release").revoked, [1, 2]);
    let report = published(model.release(&mut randomness(), None).expect("writable"));
    assert_eq!(certificate(&report.certificate)["revoked"], serde_json::json!([1, 2]));
    assert!(check(&folder, &report.certificate).is_genuine());
}

#[test]
fn nothing_is_withdrawn_twice_or_before_it_is_there() {
    let (folder, mut model) = with_releases(1);
    model.revoke(1, None).expect("a release");
    model.close().expect("writable");
    let mut model = folder.open();
    let before = files(&folder.model());
    let error = |model: &mut ModelDirectory, release| model.revoke(release, None).expect_err("refused").to_string();
    assert_eq!(error(&mut model, 1), "release 1 is revoked already");
    assert_eq!(error(&mut model, 2), "there is no release 2: the model has 1");
    assert_eq!(error(&mut model, 0), "there is no release 0: the model has 1");
    drop(model);
    assert!(before == files(&folder.model()));
}

#[test]
fn a_directory_predicts_with_its_latest_release_or_not_at_all() {
    let (folder, mut model) = with_releases(3);
    let used = || PublishedModel::open(folder.model()).map(|model| model.release);
    assert_eq!(used().expect("a release"), 3);
    assert_eq!(latest_certificate(&folder.model()).expect("one"), folder.path("model/releases/3/certificate.json"));
    model.revoke(1, None).expect("a release");
    assert_eq!(used().expect("a release"), 3);
    model.revoke(3, None).expect("a release");
    let error = used().expect_err("the one before may know people who have left since");
    assert!(error.to_string().ends_with("is revoked"), "{error}");
    assert_eq!(error.code(), "revoked");
    // Whoever means it names it.
    PublishedModel::open(folder.path("model/releases/3")).expect("its folder");
    published(model.release(&mut randomness(), None).expect("writable"));
    assert_eq!(used().expect("a release"), 4);
}

#[test]
fn a_release_whose_files_are_gone_can_be_withdrawn() {
    let (folder, mut model) = with_releases(1);
    std::fs::remove_dir_all(folder.path("model/releases/1")).expect("there");
    let report = model.revoke(1, None).expect("counted");
    assert!(check(&folder, &report.revocation).is_genuine());
    assert!(model.verify(false).expect("readable").verdict == efface_ledger::verify::Verdict::Valid);
}
