//! A model directory of every released version, kept under `tests/compat`: it opens, with everything it knew, and goes on.
//! `tests/compat/make` wrote it.

use std::fs;
use std::path::Path;

use efface_engine::{PublishedModel, RowSource, Status};
use efface_ledger::verify::Verdict;

use crate::models::{Folder, check, files, ids, published, randomness, subjects};

/// A copy of the kept directory.
fn kept() -> Folder {
    let folder = Folder::new();
    let compat = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compat");
    for (name, bytes) in files(&compat.join("model")) {
        let place = folder.model().join(name);
        fs::create_dir_all(place.parent().expect("a folder")).expect("writable");
        fs::write(place, bytes).expect("writable");
    }
    folder
}

#[test]
fn a_directory_of_version_1_opens_with_all_that_it_knew_and_goes_on() {
    let folder = kept();
    let before = files(&folder.model());
    let status = Status::read(folder.model()).expect("readable");
    assert_eq!((status.n_rows, status.n_removed, status.n_releases), (28, 6, 1));
    assert_eq!((status.n_removed_since_release, status.n_people_since_release, status.log_size), (1, 1, 6));
    assert_eq!(status.class_names, ["no", "yes"]);
    assert_eq!(status.mu_total.get().to_bits(), 0.004_904_721_006_396_342_6_f64.to_bits());
    assert!(status.gradient_residual.get() > 0.08 && status.gradient_residual.get() < 0.09, "{status:?}");
    PublishedModel::open(folder.model()).expect("its release");
    assert!(before == files(&folder.model()), "reading changes nothing");

    let mut model = folder.open();
    let verified = model.verify(true).expect("rows");
    assert_eq!((verified.verdict, verified.log_size), (Verdict::Valid, 6), "{verified:?}");
    assert!(check(&folder, &folder.path("model/releases/1/certificate.json")).is_genuine());
    for gone in [ids(&["u3"]), ids(&["u30"]), ids(&["u13"]), subjects(&["p4"])] {
        let error = model.remove(&gone, None).expect_err("gone").to_string();
        assert!(error.ends_with("has already been removed"), "{error}");
    }
    assert!(model.remove(&ids(&["u3", "u7"]), Some("first")).expect("answered").repeated);
    assert_eq!(model.remove(&ids(&["u31", "u8"]), Some("second")).expect("present").n_rows, 26);
    assert_eq!(model.remove(&subjects(&["p1"]), None).expect("present").n_changed, 2);
    let again = folder.write("again.csv", "id,who,a,b,c,y\nu3,p1,0.1,0.2,0.3,yes\nu50,p50,0.1,0.2,0.3,yes\n");
    let added = model.add(&RowSource::of(&again)).expect("one is new");
    assert_eq!((added.n_changed, added.n_suppressed, added.n_rows), (1, 1, 25));
    model.settle(None).expect("rows");
    assert_eq!(published(model.release(&mut randomness(), None).expect("writable")).release, 2);
    model.close().expect("writable");

    assert_eq!(Status::read(folder.model()).expect("readable").n_rows, 25);
    assert_eq!(folder.open().verify(true).expect("rows").verdict, Verdict::Valid);
    assert!(check(&folder, &folder.path("model/releases/2/certificate.json")).is_genuine());
}
