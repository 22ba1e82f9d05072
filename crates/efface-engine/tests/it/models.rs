//! Small models that several tests use, and ways to look at their directories.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use efface_core::loss;
use efface_core::model::TrainingConfig;
use efface_core::noise::NoiseSource;
use efface_data::{ClassWeights, Columns, RowId, RowTransform, Scale, open_table};
use efface_engine::{
    EngineError, ModelDirectory, Place, ReleaseAnswer, ReleaseReport, Selection, TrainReport, TrainRequest,
};
use efface_ledger::envelope::Envelope;
use efface_ledger::verify::{Evidence, Verification, verify};
use rusqlite::Connection;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

/// A folder that disappears with the value, for a model and the files it is made of.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    /// A folder with a model of two classes, trained by default on 60 rows.
    pub(crate) fn with_model() -> Self {
        Self::with(|_| {})
    }

    /// The same with another configuration.
    pub(crate) fn with(adjust: impl FnOnce(&mut TrainingConfig)) -> Self {
        let folder = Self::new();
        let mut config = TrainingConfig::new(&loss::Logistic, 1e-2, None);
        adjust(&mut config);
        folder.train(&table(0..60), config);
        folder
    }

    /// Trains on a table and makes `model`.
    pub(crate) fn train(&self, rows: &str, config: TrainingConfig) -> TrainReport {
        self.try_train(rows, config, "model", None).expect("trainable")
    }

    /// Trains on a table and makes a model of another name, with a witness or without.
    pub(crate) fn try_train(
        &self,
        rows: &str,
        config: TrainingConfig,
        name: &str,
        witness: Option<&str>,
    ) -> Result<TrainReport, EngineError> {
        let witness = witness.map(|name| self.path(name));
        self.try_train_with(rows, config, name, |request| request.place.witness = witness)
    }

    /// Trains a model whose certificates are signed by a key that is named.
    pub(crate) fn try_train_signed(
        &self,
        rows: &str,
        config: TrainingConfig,
        name: &str,
        key: Option<PathBuf>,
    ) -> Result<TrainReport, EngineError> {
        self.try_train_with(rows, config, name, |request| request.place.key = key)
    }

    /// Trains on rows that are scaled in another way.
    pub(crate) fn try_train_scaled(
        &self,
        rows: &str,
        config: TrainingConfig,
        transform: RowTransform,
    ) -> Result<TrainReport, EngineError> {
        self.try_train_with(rows, config, "model", |request| request.transform = transform)
    }

    fn try_train_with(
        &self,
        rows: &str,
        config: TrainingConfig,
        name: &str,
        adjust: impl FnOnce(&mut TrainRequest),
    ) -> Result<TrainReport, EngineError> {
        let data = self.write("rows.csv", rows);
        let columns = Columns {
            label: Some("y".into()),
            id: Some("id".into()),
            subject: Some("who".into()),
            ..Columns::default()
        };
        let mut request = TrainRequest {
            rows: open_table(data, &columns, None).expect("readable"),
            columns,
            schema: None,
            transform: RowTransform { scale: Scale::None, intercept: false },
            config,
            class_weights: ClassWeights::default(),
            memory_bytes: None,
            place: Place { out: self.path(name), ..Place::default() },
        };
        adjust(&mut request);
        ModelDirectory::train(request, &mut randomness(), &mut |_| {})
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The model directory.
    pub(crate) fn model(&self) -> PathBuf {
        self.path("model")
    }

    pub(crate) fn open(&self) -> ModelDirectory {
        ModelDirectory::open(self.model()).expect("a model")
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).expect("writable");
        path
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).expect("readable")
    }

    /// A copy of the model directory under another name.
    pub(crate) fn copy(&self, name: &str) -> PathBuf {
        let to = self.path(name);
        copy(&self.model(), &to);
        to
    }

    /// The database, beside the engine.
    pub(crate) fn database(&self) -> Connection {
        let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_WRITE;
        efface_pages::open(self.path("model/efface.db"), flags).expect("a database")
    }

    /// Changes the database behind the engine's back.
    pub(crate) fn sql(&self, statements: &str) {
        let database = self.database();
        database.execute_batch(statements).unwrap_or_else(|error| panic!("{statements}: {error}"));
    }

    /// The entries of the log, in order; of all logs, if there are several.
    pub(crate) fn leaves(&self) -> Vec<String> {
        let database = self.database();
        let mut select = database.prepare("SELECT leaf FROM ledger ORDER BY log, position").expect("a table");
        let leaves = select.query_map([], |row| row.get(0)).expect("rows");
        leaves.map(|leaf| leaf.expect("text")).collect()
    }

    /// What the database says of the model as a whole.
    pub(crate) fn head(&self) -> Value {
        let database = self.database();
        let select = "SELECT value FROM settings WHERE key = 'head'";
        let text: String = database.query_row(select, [], |row| row.get(0)).expect("a head");
        serde_json::from_str(&text).expect("JSON")
    }

    /// The state file, of which there is one when a model is closed.
    pub(crate) fn state_file(&self) -> PathBuf {
        let entries = fs::read_dir(self.path("model/state")).expect("a folder").flatten().map(|entry| entry.path());
        let mut states = entries.filter(|path| !path.ends_with("removed"));
        let state = states.next().expect("a state");
        assert!(states.next().is_none(), "one state only");
        state
    }

    /// Puts files of the model directory back as they were in `copy`: those whose path begins with `part`.
    pub(crate) fn restore(&self, copy: &str, part: &str) {
        let copied = files(&self.path(copy));
        for name in files(&self.model()).keys().filter(|name| name.starts_with(part)) {
            fs::remove_file(self.model().join(name)).expect("there");
        }
        for (name, bytes) in copied.iter().filter(|(name, _)| name.starts_with(part)) {
            fs::write(self.model().join(name), bytes).expect("writable");
        }
    }
}

/// The operating system's randomness.
pub(crate) fn randomness() -> NoiseSource {
    NoiseSource::from_system().expect("randomness")
}

/// Removes rows and makes a checkpoint.
pub(crate) fn remove_and_close(folder: &Folder, selection: &Selection) {
    let mut model = folder.open();
    model.remove(selection, None).expect("removable");
    model.close().expect("writable");
}

/// The bytes of every file of a directory, the lock and the database's shared memory aside.
pub(crate) fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    fn collect(root: &Path, folder: &Path, into: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("readable").path();
            if path.is_dir() {
                collect(root, &path, into);
            } else if !["lock", "efface.db-shm"].iter().any(|name| path.file_name() == Some(name.as_ref())) {
                let name = path.strip_prefix(root).expect("inside").to_path_buf();
                let bytes = fs::read(&path).expect("readable");
                // A log of nothing is as good as none.
                if !(bytes.is_empty() && name == Path::new("efface.db-wal")) {
                    into.insert(name, bytes);
                }
            }
        }
    }
    let mut all = BTreeMap::new();
    collect(directory, directory, &mut all);
    all
}

/// Row ids as a user writes them.
pub(crate) fn ids(ids: &[&str]) -> Selection {
    Selection::Ids(ids.iter().map(|id| RowId::parse(id)).collect())
}

pub(crate) fn subjects(subjects: &[&str]) -> Selection {
    Selection::Subjects(subjects.iter().map(|subject| RowId::parse(subject)).collect())
}

/// Features of row `i`, of norm below 1: the same in every table.
pub(crate) fn features(i: usize) -> [f64; 3] {
    let mut state = 1000 + i as u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (((state >> 11) as f64) * 2f64.powi(-52) - 1.0) * 0.57
    };
    [next(), next(), next()]
}

/// Copies a model directory.
pub(crate) fn copy(from: &Path, to: &Path) {
    for (path, bytes) in files(from) {
        let place = to.join(path);
        fs::create_dir_all(place.parent().expect("a folder")).expect("writable");
        fs::write(place, bytes).expect("writable");
    }
    fs::create_dir_all(to.join("releases")).expect("writable");
}

/// A table with columns `id,who,a,b,c,y`: rows `row-0`, … and subjects `person-0`, … of four rows each.
pub(crate) fn table(rows: impl IntoIterator<Item = usize>) -> String {
    let mut text = String::from("id,who,a,b,c,y\n");
    for i in rows {
        let [a, b, c] = features(i);
        let y = u8::from(a + b - 0.5 * c + 0.2 * features(i + 7)[0] > 0.0);
        writeln!(text, "row-{i},person-{},{a},{b},{c},{y}", i / 4).expect("text");
    }
    text
}

/// The configuration of a regression on the labels 0 and 1.
pub(crate) fn squared() -> TrainingConfig {
    TrainingConfig::new(&loss::Squared, 1e-2, None)
}

#[track_caller]
pub(crate) fn published(answer: ReleaseAnswer) -> ReleaseReport {
    match answer {
        ReleaseAnswer::Published(report) => report,
        _ => panic!("refused: {answer:?}"),
    }
}

/// What a published model says.
pub(crate) fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).expect("readable")).expect("JSON")
}

/// What a certificate says: the predicate of the statement in its envelope. Nothing is verified.
pub(crate) fn certificate(path: &Path) -> Value {
    let envelope = Envelope::parse(&fs::read(path).expect("readable")).expect("an envelope");
    let mut statement: Value = serde_json::from_slice(envelope.unverified_payload()).expect("a statement");
    statement["predicate"].take()
}

/// A document as a stranger checks it: with the public key of the model, and the model file if it is beside it.
pub(crate) fn check(folder: &Folder, path: &Path) -> Verification {
    let key = efface_engine::public_key_of(&folder.model()).expect("a key");
    let model = fs::read(path.with_file_name("model.json")).ok();
    let evidence = Evidence { key: Some(&key), model: model.as_deref(), ..Evidence::default() };
    verify(&fs::read(path).expect("readable"), &evidence)
}

/// SHA-256 of the payload of a certificate, in hexadecimal.
pub(crate) fn digest(path: &Path) -> String {
    let envelope = Envelope::parse(&fs::read(path).expect("readable")).expect("an envelope");
    hex::encode(Sha256::digest(envelope.unverified_payload()))
}
