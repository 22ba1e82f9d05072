//! Small models that several tests use, and ways to look at their directories.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use efface_core::loss;
use efface_core::model::TrainingConfig;
use efface_core::noise::NoiseSource;
use efface_data::{Columns, RowId, RowTransform, Scale, read_table};
use efface_engine::{ModelDirectory, ReleaseAnswer, ReleaseReport, Selection, TrainReport, TrainRequest};
use serde_json::Value;
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
        let data = self.write("rows.csv", rows);
        let columns = Columns {
            label: Some("y".into()),
            id: Some("id".into()),
            subject: Some("who".into()),
            ..Columns::default()
        };
        let table = read_table(data, &columns).expect("readable");
        let transform = RowTransform { scale: Scale::None, intercept: false };
        let request = TrainRequest { table, columns, transform, config, out: self.model() };
        ModelDirectory::train(request, &mut randomness(), &mut |_| {}).expect("trainable")
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
        for (path, bytes) in files(&self.model()) {
            let place = to.join(path);
            fs::create_dir_all(place.parent().expect("a folder")).expect("writable");
            fs::write(place, bytes).expect("writable");
        }
        fs::create_dir_all(to.join("releases")).expect("writable");
        to
    }

    /// The readable part of the secret state.
    pub(crate) fn state(&self) -> Value {
        let bytes = self.read("model/state.efface");
        let length = u64::from_le_bytes(bytes[12..20].try_into().expect("eight bytes"));
        let length = usize::try_from(length).expect("a small file");
        serde_json::from_slice(&bytes[28..28 + length]).expect("JSON")
    }
}

/// The operating system's randomness.
pub(crate) fn randomness() -> NoiseSource {
    NoiseSource::from_system().expect("randomness")
}

/// The bytes of every file of a directory, the empty lock aside.
pub(crate) fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    fn collect(root: &Path, folder: &Path, into: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("readable").path();
            if path.is_dir() {
                collect(root, &path, into);
            } else if path.file_name() != Some("lock".as_ref()) {
                let name = path.strip_prefix(root).expect("inside").to_path_buf();
                into.insert(name, fs::read(&path).expect("readable"));
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
        ReleaseAnswer::Refused { .. } => panic!("refused: {answer:?}"),
    }
}

/// A number of a published model or a certificate.
pub(crate) fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).expect("readable")).expect("JSON")
}
