//! The honest world that attacks start from: a small model with its releases, certificates, log and key.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use efface_core::accounting::Extractor;
use efface_core::loss;
use efface_core::model::TrainingConfig;
use efface_core::noise::NoiseSource;
use efface_data::{ClassWeights, Columns, RowId, RowTransform, Scale, Schema, open_table};
use efface_engine::{
    EngineError, ModelDirectory, Place, ReleaseAnswer, ReleaseReport, Selection, TrainReport, TrainRequest,
};
use efface_ledger::key::PublicKey;
use efface_ledger::verify::{Evidence, verify};
use tempfile::TempDir;

use crate::outcome::Answer;

/// A model of two releases, with a removal between them.
pub(crate) struct Victim {
    folder: TempDir,
    /// Who signs.
    pub(crate) key: PublicKey,
    /// Before the removal.
    pub(crate) first: Published,
    /// After it.
    pub(crate) second: Published,
    /// The certificate of the removal, [`TICKET`].
    pub(crate) request: Vec<u8>,
    /// The log as it is now.
    pub(crate) checkpoint: String,
}

/// The two files of a release.
pub(crate) struct Published {
    pub(crate) model: Vec<u8>,
    pub(crate) certificate: Vec<u8>,
}

/// The request that the victim carried out.
pub(crate) const TICKET: &str = "ticket-1";

impl Victim {
    /// Trains, releases, removes a row on request, releases again, and certifies the request.
    pub(crate) fn new() -> anyhow::Result<Self> {
        Self::with_key(None)
    }

    /// The same, signed with a key that is kept elsewhere.
    pub(crate) fn with_key(key: Option<&Path>) -> anyhow::Result<Self> {
        Self::trained_by(|path| train(path, key))
    }

    /// The same of a model that somebody trains at the place that it is told. It has rows `row-0`, `row-1`, ….
    pub(crate) fn trained_by(train: impl FnOnce(&Path) -> anyhow::Result<()>) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("model");
        train(&path)?;
        let mut model = ModelDirectory::open(&path)?;
        release(&mut model)?;
        model.remove(&rows(&[3]), Some(TICKET))?;
        release(&mut model)?;
        let request = folder.path().join("request.json");
        model.certify_request(TICKET, &request)?;
        let (checkpoint, key) = (model.ledger_checkpoint()?, model.public_key()?);
        model.close()?;
        let (first, second) = (Published::of(&path, 1)?, Published::of(&path, 2)?);
        let request = fs::read(request)?;
        Ok(Self { folder, key, first, second, request, checkpoint })
    }

    /// The model directory.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("model")
    }

    /// A copy of the directory, to be tampered with.
    pub(crate) fn copy(&self, name: &str) -> anyhow::Result<PathBuf> {
        let to = self.folder.path().join(name);
        copy(&self.path(), &to)?;
        Ok(to)
    }

    /// What somebody has who trusts the victim's key and knows nothing else.
    pub(crate) fn evidence(&self) -> Evidence<'_> {
        Evidence { key: Some(&self.key), ..Evidence::default() }
    }

    /// What a stranger with the victim's public key and, if any, a model file, answers to a certificate.
    pub(crate) fn stranger(&self, certificate: &[u8], model: Option<&[u8]>) -> Answer {
        verify(certificate, &Evidence { model, ..self.evidence() }).into()
    }
}

impl Published {
    /// What was published as release k of a directory.
    pub(crate) fn of(directory: &Path, release: usize) -> anyhow::Result<Self> {
        let folder = directory.join("releases").join(release.to_string());
        let read = |name: &str| fs::read(folder.join(name)).with_context(|| format!("{name} of release {release}"));
        Ok(Self { model: read("model.json")?, certificate: read("certificate.json")? })
    }
}

/// What `efface verify DIR` answers, with `--replay` or without.
pub(crate) fn verify_directory(path: &Path, replay: bool) -> anyhow::Result<Answer> {
    let model = ModelDirectory::open(path)?;
    let report = model.verify(replay)?;
    model.close()?;
    Ok(report.into())
}

/// What the operator of a directory answers who is asked to show that its log continues that of a checkpoint.
pub(crate) fn consistency(path: &Path, checkpoint: &str) -> anyhow::Result<Answer> {
    let model = ModelDirectory::open(path)?;
    let answer = Answer::of("consistency", model.ledger_consistency(checkpoint, None));
    model.close()?;
    Ok(answer)
}

/// Publishes a release with unpredictable noise.
pub(crate) fn release(model: &mut ModelDirectory) -> anyhow::Result<ReleaseReport> {
    match model.release(&mut NoiseSource::from_system()?, None)? {
        ReleaseAnswer::Published(report) => Ok(report),
        refused => anyhow::bail!("the victim's own release was refused: {refused:?}"),
    }
}

/// Rows by their numbers.
pub(crate) fn rows(numbers: &[usize]) -> Selection {
    Selection::Ids(numbers.iter().map(|i| RowId::parse(&format!("row-{i}"))).collect())
}

/// Copies a directory, what only its writer needs aside.
pub(crate) fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
        if path.is_dir() {
            copy(&path, &to.join(name))?;
        } else if name != "lock" && name != "efface.db-shm" {
            fs::copy(&path, to.join(name))?;
        }
    }
    Ok(())
}

/// Makes a model of 80 rows in three features.
fn train(out: &Path, key: Option<&Path>) -> anyhow::Result<()> {
    let mut text = String::from("id,a,b,c,y\n");
    for i in 0..80_usize {
        let wave = |k: usize| (((i + 1) * (2 * k + 3)) as f64).sin() * 0.57;
        let [a, b, c] = [wave(0), wave(1), wave(2)];
        let y = u8::from(a + b - 0.5 * c + 0.3 * wave(5) > 0.0);
        writeln!(text, "row-{i},{a},{b},{c},{y}")?;
    }
    let data = out.with_extension("csv");
    fs::write(&data, text)?;
    let columns = Columns { label: Some("y".into()), id: Some("id".into()), ..Columns::default() };
    let place = Place { out: out.into(), key: key.map(Into::into), ..Place::default() };
    make(&data, columns, None, None, place)?;
    Ok(())
}

/// Makes a model of a table, with a private network's share in the promise or without.
pub(crate) fn make(
    data: &Path,
    columns: Columns,
    schema: Option<Schema>,
    extractor: Option<Extractor>,
    place: Place,
) -> Result<TrainReport, EngineError> {
    let request = TrainRequest {
        rows: open_table(data, &columns, schema.as_ref())?,
        columns,
        schema,
        transform: RowTransform { scale: Scale::None, intercept: false },
        config: TrainingConfig { extractor, ..TrainingConfig::new(&loss::Logistic, 1e-2, None) },
        class_weights: ClassWeights::default(),
        memory_bytes: None,
        place,
    };
    ModelDirectory::train(request, &mut NoiseSource::from_system()?, &mut |_| {})
}
