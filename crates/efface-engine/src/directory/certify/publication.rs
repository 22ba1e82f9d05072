//! Publishing: the model and its certificate are written aside, the account is committed, and only then do they appear
//! under their name. A crash can waste a release, never hide one.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use efface_ledger::certificate::{CoveredRequest, Decided};
use efface_ledger::key::PublicKey;
use efface_ledger::statement::Subject;
use efface_ledger::verify::{Evidence, verify};

use super::sha256;
use crate::certify::refuse_wrong;
use crate::directory::DirectoryKeeper;
use crate::directory::database::ledger;
use crate::directory::files::{self, CERTIFICATE_FILE, MODEL_FILE, RELEASES};
use crate::error::{CertifyError, EngineError, StorageError};
use crate::history::Kept;
use crate::life::NewRelease;

impl DirectoryKeeper {
    /// Signs and publishes a release. After the commit the account counts it, whether or not it ever appears under its
    /// name. Answers how long the certificate took.
    pub(in crate::directory) fn publish_signed(
        &mut self,
        new: NewRelease<'_>,
        of: Kept<'_>,
    ) -> Result<Duration, EngineError> {
        let start = Instant::now();
        let key = match self.key.take() {
            Some(key) => key,
            None => self.signing_key()?,
        };
        let model = new.model.to_json().into_bytes();
        let release = new.release.claim.release;
        let (aside, folder) = release_folders(&self.path, release);
        let mut entry = new.entry(&self.head.history);
        let ledger = &self.head.ledger;
        let decided = Decided { policy: ledger.policy, revoked: ledger.revoked.clone() };
        let claims = new.certificate.claims::<_, CoveredRequest>(&self.head.history, decided);
        let certified = self.certify(Subject::new(MODEL_FILE, sha256(&model)), claims, new.time, &key, &[])?;
        let text = certified.text.as_bytes();
        check_own_certificate(text, &model, &key.public())?;
        let certified_in = start.elapsed();
        entry.certificate = Some(certified.digest);
        let counted = write_aside(&aside, &model, text).and_then(|()| {
            self.write_state(of, None, |tables, head| {
                head.history.is_stale = false;
                entry.insert(tables)?;
                ledger::untouch(tables, &mut head.history)?;
                ledger::append(tables, &mut head.ledger, &certified.entry)
            })
        });
        if self.head.account.n_releases < release {
            // Best effort: what is not counted must not be found.
            let _ = fs::remove_dir_all(&aside);
            return counted.map(|()| certified_in);
        }
        fs::rename(&aside, &folder).map_err(EngineError::io(&folder))?;
        files::sync_parent(&folder)?;
        // It counts and is there, whether or not the witness could be told.
        counted.map(|()| certified_in)
    }

    /// Where a release lies that was published, and its certificate: in the directory, or copies of them elsewhere.
    pub(in crate::directory) fn published(
        &self,
        release: usize,
        copies: Option<Copies>,
    ) -> Result<(PathBuf, PathBuf), EngineError> {
        let (_, folder) = release_folders(&self.path, release);
        let (model, certificate) = (folder.join(MODEL_FILE), folder.join(CERTIFICATE_FILE));
        let Some(copies) = copies else { return Ok((model, certificate)) };
        let copied = copies.publish(&model, &certificate);
        copied.map_err(|error| EngineError::Certify(CertifyError::NotCopied { folder, source: Box::new(error) }))?;
        Ok((copies.model.clone(), copies.certificate.clone()))
    }
}

/// Fails closed: a certificate that a stranger would refuse is not published. Only `certified` may be missing, and the
/// certificate says so.
fn check_own_certificate(text: &[u8], model: &[u8], key: &PublicKey) -> Result<(), EngineError> {
    let evidence = Evidence { key: Some(key), model: Some(model), ..Evidence::default() };
    refuse_wrong(verify(text, &evidence).checks)
}

fn write_aside(aside: &Path, model: &[u8], certificate: &[u8]) -> Result<(), EngineError> {
    if aside.exists() {
        fs::remove_dir_all(aside).map_err(EngineError::io(aside))?;
    }
    files::make_private_directory(aside)?;
    files::write_synced(&aside.join(MODEL_FILE), model)?;
    files::write_synced(&aside.join(CERTIFICATE_FILE), certificate)?;
    files::sync_directory(aside)?;
    // The folder itself too: what the account counts must be found.
    files::sync_parent(aside)
}

/// Copies of a release elsewhere. Their place is taken before anything is spent; what is in them is written once the
/// release counts, so that no draw of the noise can be found that is counted nowhere.
pub(in crate::directory) struct Copies {
    model: PathBuf,
    certificate: PathBuf,
}

impl Copies {
    /// Takes the place of a model, and of a certificate beside it.
    pub(in crate::directory) fn reserve(out: &Path) -> Result<Self, EngineError> {
        let copies = Self { model: out.to_path_buf(), certificate: files::with_suffix(out, ".certificate.json") };
        let places = [&copies.model, &copies.certificate];
        if let Some(taken) = places.into_iter().find(|path| path.exists()) {
            return Err(StorageError::Exists { path: taken.clone() }.into());
        }
        places.into_iter().try_for_each(|path| files::reserve(path))?;
        Ok(copies)
    }

    fn publish(&self, model: &Path, certificate: &Path) -> Result<(), EngineError> {
        for (path, from) in [(&self.certificate, certificate), (&self.model, model)] {
            files::publish(path, &fs::read(from).map_err(EngineError::io(from))?)?;
        }
        Ok(())
    }
}

impl Drop for Copies {
    fn drop(&mut self) {
        // Best effort: what was renamed is not there any more, and what was not is not published.
        let _ = fs::remove_file(files::aside(&self.model));
        let _ = fs::remove_file(files::aside(&self.certificate));
    }
}

/// Gives a release its name if a crash came between its commit and its renaming, and removes what was never counted.
pub(in crate::directory) fn finish(path: &Path, n_releases: usize) -> Result<(), EngineError> {
    let releases = path.join(RELEASES);
    let (counted, folder) = release_folders(path, n_releases);
    for entry in fs::read_dir(&releases).map_err(EngineError::io(&releases))? {
        let left = entry.map_err(EngineError::io(&releases))?.path();
        if left.extension().is_none_or(|extension| extension != "partial") {
            continue;
        }
        if left == counted && !folder.exists() {
            fs::rename(&left, &folder).map_err(EngineError::io(&folder))?;
        } else {
            fs::remove_dir_all(&left).map_err(EngineError::io(&left))?;
        }
    }
    files::sync_parent(&folder)
}

pub(crate) fn release_folders(path: &Path, release: usize) -> (PathBuf, PathBuf) {
    let releases = path.join(RELEASES);
    (releases.join(format!("{release}.partial")), releases.join(release.to_string()))
}

#[cfg(test)]
mod tests {
    use efface_core::loss::Logistic;
    use efface_core::model::TrainingConfig;
    use efface_core::noise::NoiseSource;
    use efface_data::{ClassWeights, Columns, RowTransform, Scale, open_table};

    use super::*;
    use crate::{ModelDirectory, Place, TrainRequest};

    /// The release was counted, and then deleted: it had spent its share, and nobody could look at it.
    #[test]
    fn a_release_that_counts_is_there_when_the_witness_cannot_be_told() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = |name: &str| folder.path().join(name);
        fs::write(path("rows.csv"), "x,y\n0.5,a\n-0.5,b\n0.25,a\n-0.125,b\n").expect("writable");
        let columns = Columns { label: Some("y".into()), ..Columns::default() };
        let request = TrainRequest {
            rows: open_table(path("rows.csv"), &columns, None).expect("readable"),
            columns,
            schema: None,
            transform: RowTransform { scale: Scale::None, intercept: false },
            config: TrainingConfig::new(&Logistic, 1e-2, None),
            class_weights: ClassWeights::default(),
            memory_bytes: None,
            place: Place { out: path("model"), witness: Some(path("witness")), ..Place::default() },
        };
        let mut noise = NoiseSource::from_system().expect("randomness");
        ModelDirectory::train(request, &mut noise, &mut |_| {}).expect("trainable");
        let mut model = ModelDirectory::open(path("model")).expect("a model");
        model.keeper.witness.as_mut().expect("one").close_to_writing();
        let error = model.release(&mut noise, None).expect_err("the witness was not told");
        assert!(matches!(error, EngineError::Storage(StorageError::WitnessBehind { .. })), "{error}");
        drop(model);
        for file in [MODEL_FILE, CERTIFICATE_FILE] {
            assert!(path("model").join(RELEASES).join("1").join(file).exists(), "{file}");
        }
        assert_eq!(ModelDirectory::open(path("model")).expect("a model").n_releases(), 1);
    }
}
