//! Model directories of every version that was ever written, kept under `tests/compat`: they open, with everything they
//! knew, and go on.

use std::fs;
use std::path::Path;

use efface_engine::{ModelDirectory, PublishedModel, RowSource, Status};
use efface_ledger::verify::Verdict;

use crate::models::{Folder, certificate, check, files, ids, published, randomness, subjects};

/// A copy of a kept directory. All of them were made by the same commands:
///
/// ```text
/// efface train rows.csv --label y --id id --subject who --intercept --l2 1e-2 --out model     30 rows, 3 to a subject
/// efface remove model --id u3 u7 --request-id first
/// efface add model more.csv                                                                 4 rows
/// efface remove model --subject p4
/// efface release model
/// efface remove model --id u30
/// ```
fn kept(version: u32) -> Folder {
    let folder = Folder::new();
    let compat = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compat");
    for (name, bytes) in files(&compat.join(format!("model-v{version}"))) {
        let place = folder.model().join(name);
        fs::create_dir_all(place.parent().expect("a folder")).expect("writable");
        fs::write(place, bytes).expect("writable");
    }
    folder
}

fn knows_all_that_it_knew(folder: &Folder) {
    let status = Status::read(folder.model()).expect("readable");
    assert_eq!((status.n_rows, status.n_removed, status.n_releases), (28, 6, 1));
    assert_eq!(status.n_removed_since_release, 1);
    assert_eq!(status.class_names, ["no", "yes"]);
    assert_eq!(status.mu_total.get().to_bits(), 0.001_226_180_251_599_085_6_f64.to_bits());
    assert!(status.gradient_residual.get() > 0.08 && status.gradient_residual.get() < 0.09, "{status:?}");
    PublishedModel::open(folder.model()).expect("its release");

    let mut model = folder.open();
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
}

#[test]
fn a_directory_of_version_1_is_upgraded_when_it_is_opened() {
    let folder = kept(1);
    let before = Status::read(folder.model()).expect("readable");
    assert!(folder.path("model/state.efface").exists(), "reading changes nothing");
    drop(folder.open());
    for gone in ["state.efface", "rows.bin"] {
        assert!(!folder.path("model").join(gone).exists(), "{gone}");
    }
    let after = Status::read(folder.model()).expect("readable");
    assert_eq!(after.gradient_residual.get().to_bits(), before.gradient_residual.get().to_bits());
    assert_eq!(after.distance_bound.get().to_bits(), before.distance_bound.get().to_bits());
    knows_all_that_it_knew(&folder);
}

#[test]
fn a_directory_of_version_2_opens() {
    knows_all_that_it_knew(&kept(2));
}

#[test]
fn a_directory_of_version_3_opens() {
    let folder = kept(3);
    let verified = folder.open().verify(true).expect("rows");
    assert_eq!((verified.verdict, verified.log_size), (Verdict::Valid, 6), "{verified:?}");
    assert!(check(&folder, &folder.path("model/releases/1/certificate.json")).is_genuine());
    knows_all_that_it_knew(&folder);
    assert_eq!(folder.open().verify(true).expect("rows").verdict, Verdict::Valid);
    assert!(check(&folder, &folder.path("model/releases/2/certificate.json")).is_genuine());
}

#[test]
fn reading_a_directory_of_version_2_changes_nothing() {
    let folder = kept(2);
    let before = files(&folder.model());
    assert_eq!(Status::read(folder.model()).expect("readable").n_releases, 1);
    PublishedModel::open(folder.model()).expect("its release");
    assert!(before == files(&folder.model()));
}

/// What was released before there were signed certificates is told to be so, and the next release covers what it can.
#[test]
fn a_directory_of_version_2_begins_a_log_when_it_is_opened() {
    let folder = kept(2);
    let mut model = folder.open();
    let leaves = folder.leaves();
    assert_eq!(leaves.len(), 1);
    let start: serde_json::Value = serde_json::from_str(&leaves[0]).expect("JSON");
    assert_eq!((&start["kind"], &start["n_rows"]), (&"start".into(), &28.into()));
    let verified = model.verify(true).expect("rows");
    assert_eq!(verified.verdict, Verdict::Valid, "{verified:?}");
    let unsigned = "release 1 is from before certificates were signed";
    assert!(verified.checks.iter().any(|check| check.message == unsigned), "{verified:?}");
    model.certify_request("first", &folder.path("request.json")).expect_err("from before the log");

    model.remove(&ids(&["u8"]), Some("second")).expect("present");
    let report = published(model.release(&mut randomness(), None).expect("writable"));
    assert!(check(&folder, &report.certificate).is_genuine());
    let said = certificate(&report.certificate);
    assert_eq!((&said["release"], &said["spent_before"]["n_releases"]), (&2.into(), &1.into()));
    assert_eq!(said["requests"][0]["id"], "second");
    assert_eq!(said["since_previous"]["certificate"], serde_json::Value::Null);
    model.certify_request("second", &folder.path("request.json")).expect("in the log");
    assert!(check(&folder, &folder.path("request.json")).is_genuine());
    model.revoke(1, None).expect("counted");
    assert!(check(&folder, &folder.path("model/releases/1/revocation.json")).is_genuine());
    assert_eq!(model.verify(true).expect("rows").verdict, Verdict::Valid);
    model.close().expect("writable");
    drop(folder.open());
    assert_eq!(folder.leaves().len(), 5, "opening adds nothing");
}

/// Without its database a new directory does not count, whatever else of it is there.
#[test]
fn an_upgrade_that_was_cut_short_is_begun_anew() {
    let folder = kept(1);
    let old = folder.copy("old");
    drop(folder.open());
    fs::remove_file(folder.path("model/efface.db")).expect("there");
    fs::create_dir_all(folder.path("model/upgrade.partial/rows")).expect("writable");
    for (name, bytes) in files(&old) {
        fs::write(folder.model().join(name), bytes).expect("writable");
    }
    knows_all_that_it_knew(&folder);
    assert!(!folder.path("model/upgrade.partial").exists());
}

/// A backup from before the upgrade, laid over the directory of today: it knows people who have been removed since.
#[test]
fn old_files_over_a_new_directory_bring_nobody_back() {
    let folder = kept(1);
    let old = folder.copy("old");
    let mut model = folder.open();
    model.remove(&ids(&["u8"]), None).expect("present");
    model.close().expect("writable");
    for (name, bytes) in files(&old) {
        fs::write(folder.model().join(name), bytes).expect("writable");
    }
    let mut model = folder.open();
    assert_eq!(model.n_rows(), 27);
    let error = model.remove(&ids(&["u8"]), None).expect_err("gone").to_string();
    assert!(error.ends_with("has already been removed"), "{error}");
    drop(model);
    for gone in ["state.efface", "rows.bin"] {
        assert!(!folder.path("model").join(gone).exists(), "{gone}");
    }
    folder.write("model/state.efface", "");
    assert_eq!(folder.open().n_rows(), 27);
}

#[test]
fn a_damaged_directory_of_version_1_is_refused_and_left_as_it_is() {
    let folder = kept(1);
    for (name, step) in [("state.efface", 31), ("rows.bin", 17)] {
        let path = folder.model().join(name);
        let whole = fs::read(&path).expect("readable");
        let mut refused = 0;
        for position in (0..whole.len()).step_by(step) {
            let mut altered = whole.clone();
            altered[position] ^= 1 << (position % 8);
            fs::write(&path, &altered).expect("writable");
            // A record of a row that left is not looked at.
            if ModelDirectory::open(folder.model()).is_err() {
                refused += 1;
                assert_eq!(fs::read(&path).expect("still there"), altered, "{name}, byte {position}");
            } else {
                let fresh = kept(1);
                fs::remove_dir_all(folder.model()).expect("there");
                fs::create_dir_all(folder.path("model/releases/1")).expect("writable");
                for (name, bytes) in files(&fresh.model()) {
                    fs::write(folder.model().join(name), bytes).expect("writable");
                }
            }
        }
        assert!(refused * 10 > 7 * whole.len().div_ceil(step), "{name}: {refused} of {}", whole.len().div_ceil(step));
        fs::write(&path, &whole).expect("writable");
    }
}

/// Bytes of a record of `rows.bin`: label, four values, checksum.
const RECORD: usize = 8 + 4 * 8 + 4;

/// Rows that are present keep their features to the last bit; those that left leave nothing, purged before or not.
#[test]
fn rows_of_version_1_are_copied_bit_by_bit() {
    const GONE: [usize; 6] = [3, 7, 12, 13, 14, 30];
    let folder = kept(1);
    let mut rows_file = folder.read("model/rows.bin");
    // The last removal is one that a crash left unpurged.
    rows_file[64 + 30 * RECORD..][..RECORD].copy_from_slice(&[0xab; RECORD]);
    folder.write("model/rows.bin", &rows_file);
    folder.open().close().expect("writable");
    let all: Vec<u8> = files(&folder.model()).into_values().flatten().collect();
    let is_found = |bytes: &[u8]| all.windows(bytes.len()).any(|window| window == bytes);
    for position in (0..34).filter(|position| !GONE.contains(position)) {
        assert!(is_found(&rows_file[64 + position * RECORD + 8..][..4 * 8]), "position {position}");
    }
    assert!(!is_found(&[0xab; 8]));
}

#[test]
fn rows_of_version_1_that_do_not_fit_are_named() {
    let folder = kept(1);
    let good = folder.read("model/rows.bin");
    let refusal = |bytes: &[u8]| {
        folder.write("model/rows.bin", bytes);
        let error = ModelDirectory::open(folder.model()).err().expect("must be refused").to_string();
        error.replace(&format!("{}/", folder.model().display()), "")
    };
    let mut flipped = good.clone();
    flipped[64 + 2 * RECORD + 10] ^= 1;
    assert_eq!(refusal(&flipped), "rows.bin: checksum of the row at position 2 does not match");
    let text = "rows.bin: truncated: 1559 bytes, 1560 needed for 34 rows";
    assert_eq!(refusal(&good[..good.len() - 1]), text);
    let narrow = include_bytes!("../../../efface-data/tests/compat/rows-v1/f32.bin");
    assert_eq!(refusal(narrow), "rows.bin: rows of 4 values in f32, expected 4 in f64");
    folder.write("model/rows.bin", &good);
    knows_all_that_it_knew(&folder);
}

/// Who left after the latest release and before the log began is not in the log. It was certified that nobody had.
#[test]
fn whoever_left_before_the_log_began_counts_as_alone() {
    for version in [1, 2] {
        let report = published(kept(version).open().release(&mut randomness(), None).expect("writable"));
        assert_eq!((report.release, &*report.exposure), (2, "one-person"), "version {version}");
    }
}
