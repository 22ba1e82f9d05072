//! Seeds of what a model directory holds, and the parts of two models that targets compare with.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use efface_core::loss;
use efface_core::model::{BudgetRule, Mechanism, TrainingConfig};
use efface_core::noise::NoiseSource;
use efface_data::{ClassWeights, Columns, Precision, RowId, RowLayout, RowTransform, Scale, StoredRows, open_table};
use efface_engine::{ModelDirectory, Place, Selection, TrainRequest, fuzzing};
use efface_ledger::envelope::Envelope;
use efface_ledger::key::{Protection, SigningKey};

use super::{root, seed, seed_with_damage};

pub(super) fn write() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let models = root().join("crates/efface-fuzz/models");
    fs::create_dir_all(&models).expect("writable");

    let mut objective = TrainingConfig::new(&loss::Logistic, 1e-2, None);
    objective.mechanism = Mechanism::Objective { budget: BudgetRule::Analytic };
    let exact = TrainingConfig::new(&loss::Squared, 1e-2, None);
    let release = TrainingConfig::new(&loss::Logistic, 1e-2, None);
    for (name, config, n_classes) in [("release", release, 2), ("objective", objective, 3), ("exact", exact, 5)] {
        // A model with a witness cannot be opened without it.
        let witness = (name == "objective").then(|| folder.path().join("witness"));
        let path = train(folder.path(), name, config, n_classes, witness.as_ref());
        let settings = fuzzing::settings(&path).expect("a model");
        fs::write(models.join(format!("{name}.json")), serde_json::to_vec_pretty(&settings).expect("JSON"))
            .expect("writable");
        let state = state_of(&path);
        seed_with_damage("state_file", name, &fs::read(&state).expect("readable"));
        seed_with_damage("published_model", name, &fs::read(path.join("releases/1/model.json")).expect("readable"));
        if name == "exact" {
            continue;
        }
        if name == "objective" {
            seed_with_damage("witness", name, &fs::read(witness.expect("its witness")).expect("readable"));
        } else {
            fs::copy(&state, models.join("release.state")).expect("writable");
            fs::copy(path.join("rows/000000.rows"), models.join("release.rows")).expect("writable");
            let mut database = fs::read(path.join("efface.db")).expect("readable");
            seed("database", "release", &database);
            seed("database", "release-cut", &database[..3 * 4096 + 100]);
            seed("database", "empty", "");
            // A status that cannot be read, in pages that are whole.
            let at = database.windows(4).position(|bytes| bytes == b"\"l2\"").expect("a status");
            database[at + 2] = b'3';
            efface_pages::seal(&mut database);
            seed("database", "damaged-status", &database);
            assert_eq!(state.file_name(), Some("3".as_ref()), "as `databases.rs` names it");
            write_certificates(&path, &models);
        }
    }

    write_segments(folder.path());
}

fn train(folder: &Path, name: &str, config: TrainingConfig, n_classes: usize, witness: Option<&PathBuf>) -> PathBuf {
    let mut rows = String::from("id,who,a,b,c,y\n");
    for i in 0..12 {
        let x = (i as f64 * 0.7).sin() / 2.0;
        writeln!(rows, "r{i},p{},{x},{},{},{}", i / 2, x * x, 0.25 - x, i % n_classes).expect("text");
    }
    let data = folder.join(format!("{name}.csv"));
    fs::write(&data, rows).expect("writable");
    let role = |name: &str| Some(name.to_owned());
    let columns = Columns { label: role("y"), id: role("id"), subject: role("who"), ..Columns::default() };
    let request = TrainRequest {
        rows: open_table(&data, &columns, None).expect("readable"),
        columns,
        schema: None,
        transform: RowTransform { scale: Scale::None, intercept: n_classes > 2 },
        config,
        class_weights: ClassWeights::default(),
        memory_bytes: None,
        place: Place { out: folder.join(name), witness: witness.cloned(), ..Place::default() },
    };
    let mut randomness = NoiseSource::from_system().expect("randomness");
    ModelDirectory::train(request, &mut randomness, &mut |_| {}).expect("trainable");
    let mut model = ModelDirectory::open(folder.join(name)).expect("a model");
    model.release(&mut randomness, None).expect("writable");
    model.remove(&Selection::Ids(vec![RowId::parse("r3")]), None).expect("removable");
    model.close().expect("writable");
    folder.join(name)
}

/// What is handed to strangers, of a model with two releases and a request in between.
fn write_certificates(path: &Path, models: &Path) {
    let mut model = ModelDirectory::open(path).expect("a model");
    let early = model.ledger_checkpoint().expect("a key");
    let mut randomness = NoiseSource::from_system().expect("randomness");
    model.remove(&Selection::Ids(vec![RowId::parse("r5")]), Some("ticket-7")).expect("removable");
    let request = path.with_extension("request.json");
    model.certify_request("ticket-7", &request).expect("a request");
    model.release(&mut randomness, None).expect("writable");
    let revocation = model.revoke(1, Some("superseded".into())).expect("a release").revocation;
    let late = model.ledger_checkpoint().expect("a key");
    let files =
        [("release", path.join("releases/2/certificate.json")), ("request", request), ("revocation", revocation)];
    for (name, file) in files {
        let text = fs::read(file).expect("readable");
        seed_with_damage("certificate", name, &text);
        let envelope = Envelope::parse(&text).expect("an envelope");
        seed_with_damage("certificate", &format!("{name}-payload"), envelope.unverified_payload());
    }
    seed_with_damage("checkpoint", "early", early.as_bytes());
    seed_with_damage("checkpoint", "late", late.as_bytes());
    let consistency = model.ledger_consistency(&early, None).expect("a longer log");
    seed_with_damage("consistency", "release", consistency.as_bytes());
    fs::write(models.join("release.origin"), early.lines().next().expect("a line")).expect("writable");
    let public = model.public_key().expect("a key").to_string();
    fs::write(models.join("release.pub"), format!("{public}\n")).expect("writable");
    // A key that signs nothing.
    let key = SigningKey::generate("example.org/key", &[9; 32].into()).expect("a valid name");
    let protection = Protection { passphrase: b"passphrase", salt: [1; 16], iv: [2; 16] };
    seed_with_damage("key", "public", public.as_bytes());
    seed_with_damage("key", "private", key.to_pem(None).expect("a key").as_bytes());
    seed_with_damage("key", "protected", key.to_pem(Some(&protection)).expect("a key").as_bytes());
}

/// The state file, of which there is one when a model is closed.
fn state_of(model: &Path) -> PathBuf {
    let mut entries = fs::read_dir(model.join("state")).expect("a folder").flatten().map(|entry| entry.path());
    entries.find(|path| !path.ends_with("removed")).expect("a state")
}

fn write_segments(folder: &Path) {
    let compat = root().join("crates/efface-data/tests/compat/row-segments/000000.rows");
    seed_with_damage("row_segment", "weighted", &fs::read(compat).expect("readable"));
    let layout = RowLayout { dim: 2, precision: Precision::F64, block_rows: 3, segment_blocks: 4, weighted: false };
    let path = folder.join("segments");
    drop(StoredRows::create(&path, layout, efface_core::rounding::UpperBound::new(1.0), 0).expect("writable"));
    seed("row_segment", "without-rows", fs::read(path.join("000000.rows")).expect("readable"));
    let model = root().join("crates/efface-fuzz/models/release.rows");
    seed_with_damage("row_segment", "model", &fs::read(model).expect("readable"));
}
