//! The log of a model: what is entered when, what it says of nobody, and what it proves.

use std::fs;

use efface_engine::{ModelDirectory, ReleasePolicy, RowSource};
use efface_ledger::checkpoint::Checkpoint;
use efface_ledger::consistency::ConsistencyFile;
use efface_ledger::entry::{Entry, request_commitment};
use efface_ledger::envelope::Envelope;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::models::{Folder, certificate, check, digest, files, ids, published, randomness, subjects, table};

fn entries(folder: &Folder) -> Vec<Value> {
    let leaves = folder.leaves();
    for leaf in &leaves {
        let entry = Entry::from_leaf(leaf).expect("an entry");
        assert_eq!(entry.to_leaf(), *leaf, "one spelling");
    }
    leaves.iter().map(|leaf| serde_json::from_str(leaf).expect("JSON")).collect()
}

fn kinds(folder: &Folder) -> Vec<String> {
    entries(folder).iter().map(|entry| entry["kind"].as_str().expect("text").to_owned()).collect()
}

/// A model that has gone through everything that is logged, and its folder.
fn busy() -> Folder {
    let folder = Folder::with_model();
    let mut model = folder.open();
    model.remove(&ids(&["row-17", "row-3"]), Some("ticket-77")).expect("removable");
    model.add(&RowSource::of(folder.write("more.csv", table([100, 101])))).expect("new");
    model.correct(&RowSource::of(folder.write("same.csv", table([5])))).expect("present");
    model.settle(None).expect("rows");
    model.set_policy(ReleasePolicy { min_removals: Some(1), every_seconds: None }).expect("writable");
    published(model.release(&mut randomness(), None).expect("writable"));
    model.remove(&subjects(&["person-4"]), None).expect("removable");
    model.certify_request("ticket-77", &folder.path("request.json")).expect("a request");
    model.revoke(1, Some("superseded".into())).expect("a release");
    model.retrain(&mut randomness(), &mut |_| {}).expect("rows");
    published(model.release(&mut randomness(), None).expect("writable"));
    model.close().expect("writable");
    folder
}

#[test]
fn every_change_adds_its_entry() {
    let folder = busy();
    let expected = [
        "start",
        "removal",
        "addition",
        "correction",
        "policy",
        "release",
        "removal",
        "request",
        "revocation",
        "release",
    ];
    assert_eq!(kinds(&folder), expected);
    let entries = entries(&folder);
    assert_eq!(entries[0]["n_rows"], 60);
    let changes: Vec<(&Value, &Value)> = entries
        .iter()
        .filter(|entry| !entry["change"].is_null())
        .map(|entry| (&entry["change"], &entry["n_rows"]))
        .collect();
    let expected = [(1, 2), (2, 2), (3, 1), (4, 3)].map(|(change, n)| (Value::from(change), Value::from(n)));
    assert_eq!(changes, expected.each_ref().map(|(change, n)| (change, n)));
    // Rows that came are committed to by nobody's name: they have not left.
    assert!(entries[1]["rows"].is_string() && entries[2]["rows"].is_null() && entries[3]["rows"].is_string());
    for (position, path) in [(5, "model/releases/1/certificate.json"), (9, "model/releases/2/certificate.json")] {
        assert_eq!(entries[position]["certificate"], digest(&folder.path(path)));
    }
    assert_eq!(entries[7]["certificate"], digest(&folder.path("request.json")));
    assert_eq!(entries[8]["certificate"], digest(&folder.path("model/releases/1/revocation.json")));
    assert_eq!(folder.head()["ledger"]["size"], 10);
}

/// Whoever reads the database between two changes finds the log in step with it.
#[test]
fn a_change_and_its_entry_are_one_commit() {
    let folder = Folder::with_model();
    let mut model = folder.open();
    for row in 10..15 {
        model.remove(&ids(&[&format!("row-{row}")]), None).expect("removable");
        let n_changes = kinds(&folder).iter().filter(|kind| *kind == "removal").count();
        let head = folder.head();
        assert_eq!(
            (head["history"]["n_changes"].as_u64(), head["ledger"]["size"].as_u64()),
            (Some(row - 9), Some(row - 8))
        );
        assert_eq!(n_changes as u64, row - 9);
    }
    drop(model);
    let before = folder.leaves();
    drop(folder.open());
    assert_eq!(folder.leaves(), before, "replaying adds nothing");
}

#[test]
fn what_is_refused_or_repeated_is_not_logged() {
    let folder = Folder::with_model();
    let mut model = folder.open();
    model.remove(&ids(&["row-17"]), Some("ticket")).expect("removable");
    let before = folder.leaves();
    assert!(model.remove(&ids(&["row-17"]), Some("ticket")).expect("answered").repeated);
    model.remove(&ids(&["nobody"]), None).expect_err("unknown");
    model.remove(&ids(&["row-17"]), None).expect_err("gone");
    model.set_policy(ReleasePolicy { min_removals: Some(0), every_seconds: None }).expect_err("asks for nothing");
    model.revoke(1, None).expect_err("no release");
    model.certify_request("nobody's", &folder.path("request.json")).expect_err("unknown");
    model.settle(None).expect("rows");
    assert_eq!(folder.leaves(), before);
}

/// MD5 and SHA-1 of a few names, which nothing else in the workspace can compute.
const OTHER_HASHES: [&str; 4] = [
    "d37fcba6e1822d622a0186de7ab6937e",
    "706fad7c1800b08954ae23c421e6059664d40f69",
    "bd28f895402cfbd83e52e4f8464f7c1a",
    "491649f5a336388f7ecc85db0d04f87d178d8146",
];

/// A name as it is, and the hashes of it that anybody could look up.
fn traces(name: &str) -> Vec<Vec<u8>> {
    let hash = Sha256::digest(name);
    let hexadecimal = hex::encode(hash);
    vec![name.into(), hash[..16].to_vec(), hexadecimal.to_uppercase().into(), hexadecimal.into_bytes()]
}

/// Everything that there is, certificates also as what they say.
fn everything(folder: &Folder) -> Vec<(String, Vec<u8>)> {
    let mut all: Vec<(String, Vec<u8>)> = Vec::new();
    let outside = ("request.json".into(), folder.read("request.json"));
    let inside = files(&folder.model()).into_iter().map(|(name, bytes)| (name.display().to_string(), bytes));
    for (name, bytes) in inside.chain([outside]) {
        if let Ok(envelope) = Envelope::parse(&bytes) {
            all.push((format!("payload of {name}"), envelope.unverified_payload().to_vec()));
        }
        all.push((name, bytes));
    }
    all
}

#[test]
fn nobody_is_named_anywhere() {
    let folder = busy();
    let names = (0..102).map(|i| format!("row-{i}")).chain((0..26).map(|i| format!("person-{i}")));
    let other = OTHER_HASHES.iter().flat_map(|hash| [hash.as_bytes().to_vec(), hash.to_uppercase().into_bytes()]);
    let unwanted: Vec<Vec<u8>> = names.flat_map(|name| traces(&name)).chain(other).collect();
    let mut is_first = [false; 256];
    for trace in &unwanted {
        is_first[usize::from(trace[0])] = true;
    }
    for (name, bytes) in everything(&folder) {
        for start in (0..bytes.len()).filter(|start| is_first[usize::from(bytes[*start])]) {
            let found = unwanted.iter().find(|trace| bytes[start..].starts_with(trace));
            assert!(found.is_none(), "{name}: {:?}", found.map(|trace| String::from_utf8_lossy(trace)));
        }
    }
}

/// A request's id is its owner's to know: certificates and answers have it, the log has a commitment.
#[test]
fn the_log_has_commitments_to_requests_and_no_names() {
    let folder = busy();
    for leaf in folder.leaves() {
        for trace in traces("ticket-77").iter().chain([&b"f9d941068e19bec203bf169248c10b9e".to_vec()]) {
            assert!(!leaf.as_bytes().windows(trace.len()).any(|window| window == trace), "{leaf}");
        }
    }
    let request = &certificate(&folder.path("request.json"))["request"];
    assert_eq!(request["id"], "ticket-77");
    let salt = request["salt"].as_str().expect("a salt");
    assert_eq!(entries(&folder)[1]["request"], request_commitment(salt, "ticket-77"));
    assert_eq!(entries(&folder)[6]["request"], Value::Null, "a request without an id is committed to by nothing");
}

#[test]
fn equal_rows_have_commitments_that_differ() {
    let commitments = |folder: &Folder| {
        let mut model = folder.open();
        let same = folder.write("same.csv", table([5]));
        for _ in 0..2 {
            model.correct(&RowSource::of(&same)).expect("present");
        }
        model.remove(&ids(&["row-5"]), None).expect("removable");
        drop(model);
        entries(folder)[1..].iter().map(|entry| entry["rows"].as_str().expect("text").to_owned()).collect::<Vec<_>>()
    };
    let mut all = commitments(&Folder::with_model());
    all.extend(commitments(&Folder::with_model()));
    assert_eq!(all.len(), 6);
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 6, "two commitments to one row tell nobody that they are the same");
}

#[test]
fn a_checkpoint_is_continued_until_the_log_is_rewritten() {
    let folder = Folder::with_model();
    let mut model = folder.open();
    let (key, earlier) = (model.public_key().expect("a key"), model.ledger_checkpoint().expect("signed"));
    model.remove(&ids(&["row-17"]), None).expect("removable");
    model.remove(&ids(&["row-18"]), None).expect("removable");
    let file = ConsistencyFile::parse(model.ledger_consistency(&earlier, None).expect("continued").as_bytes())
        .expect("a file");
    let origin = earlier.lines().next().expect("a line").to_owned();
    let (from, to) = file.verify(&key, &origin).expect("a proof");
    assert_eq!((from.size, to.size), (1, 3));
    let latest = model.ledger_checkpoint().expect("signed");
    assert_eq!(Checkpoint::open(&latest, &key, &origin).expect("signed"), to);
    model.close().expect("writable");

    let refusal =
        |checkpoint: &str| folder.open().ledger_consistency(checkpoint, None).expect_err("not continued").to_string();
    assert!(refusal("nothing").contains("not a checkpoint of this log under its present key: "));
    let other = Folder::with_model().open().ledger_checkpoint().expect("signed");
    assert!(refusal(&other).contains("is signed by"), "{}", refusal(&other));
    // The last entry is taken out, as nobody but an attacker does.
    let mut head = folder.head();
    head["ledger"]["size"] = 2.into();
    folder.sql(&format!("UPDATE settings SET value = '{head}' WHERE key = 'head'"));
    assert!(refusal(&latest).contains("it has 3 entries, and the log 2: the log was cut"), "{}", refusal(&latest));
    head["ledger"]["size"] = 3.into();
    folder.sql(&format!("UPDATE settings SET value = '{head}' WHERE key = 'head'"));
    folder.sql("UPDATE ledger_hashes SET hash = zeroblob(32) WHERE position = 3");
    assert!(refusal(&latest).contains("the first 3 entries of the log are not those of the checkpoint"));
}

/// An old backup has lost entries: whoever has a checkpoint with them must not be shown another log under its name.
#[test]
fn an_old_backup_begins_another_log() {
    let folder = Folder::with_model();
    published(folder.open().release(&mut randomness(), None).expect("writable"));
    folder.copy("backup");
    let mut model = folder.open();
    model.remove(&ids(&["row-17"]), Some("ticket")).expect("removable");
    published(model.release(&mut randomness(), None).expect("writable"));
    let checkpoint = model.ledger_checkpoint().expect("signed");
    model.close().expect("writable");
    for part in ["efface.db", "state", "rows"] {
        folder.restore("backup", part);
    }
    let mut model = folder.open();
    assert!(!model.repairs_at_opening().is_empty());
    let started = model.ledger_checkpoint().expect("signed");
    let origin = |checkpoint: &str| checkpoint.lines().next().expect("a line").to_owned();
    assert_ne!(origin(&checkpoint), origin(&started));
    let error = model.ledger_consistency(&checkpoint, None).expect_err("another log").to_string();
    assert!(error.contains("the checkpoint is of the log"), "{error}");
    let restarts: Vec<Value> = entries(&folder).into_iter().filter(|entry| entry["kind"] == "restart").collect();
    assert!(restarts.iter().any(|entry| entry["previous_origin"] == origin(&checkpoint)), "{restarts:?}");

    // What was issued under the old log stays what it was.
    for release in [1, 2] {
        let path = folder.path(&format!("model/releases/{release}/certificate.json"));
        assert!(check(&folder, &path).is_genuine(), "release {release}");
    }
    // Release 2 covers a removal that the backup does not know. Only the same rows, removed again, name it.
    model.remove(&ids(&["row-17"]), None).expect("present again");
    let report = published(model.release(&mut randomness(), None).expect("writable"));
    assert_eq!(report.release, 3);
    assert!(check(&folder, &report.certificate).is_genuine());
    let verified = model.verify(true).expect("rows");
    assert_eq!(verified.verdict, efface_ledger::verify::Verdict::Valid, "{verified:?}");
}

#[test]
fn the_key_and_the_log_move_with_the_directory() {
    let folder = busy();
    fs::rename(folder.model(), folder.path("elsewhere")).expect("there");
    let mut model = ModelDirectory::open(folder.path("elsewhere")).expect("a model");
    assert_eq!(model.verify(true).expect("rows").verdict, efface_ledger::verify::Verdict::Valid);
    published(model.release(&mut randomness(), None).expect("writable"));
}
