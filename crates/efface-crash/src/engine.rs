//! Every call of the engine that the crash test makes.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use efface_core::loss::{Logistic, Squared};
use efface_core::model::TrainingConfig;
use efface_core::noise::NoiseSource;
use efface_core::residual::Rung;
use efface_data::{ClassWeights, Columns, RowId, RowTransform, Scale, open_table};
use efface_engine::{
    EngineError, ModelDirectory, OpenError, OpenOptions, ReleaseAnswer, ReleasePolicy, RowSource, Selection, Status,
    TrainRequest,
};
use efface_ledger::envelope::Envelope;
use efface_ledger::verify::{Evidence, Verdict, verify};

use crate::request::{COPY, L2_PER_ROW, Loss, NOISE_STD, REQUEST, Request, Setup, WITNESS, key_file};

/// What a model says about itself. Bounds are compared bit by bit: a claim belongs to one state, and a step that is taken
/// again from its intent starts from the state that it started from the first time.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "as in a status")]
pub struct Claims {
    pub n_rows: usize,
    pub n_removed: usize,
    pub n_left_out: usize,
    pub n_releases: usize,
    pub gradient_residual: f64,
    pub distance_bound: f64,
    pub rung: Rung,
    /// What was found not to be as it was left: a crash is no old backup, and must not be taken for one.
    pub repaired: Vec<String>,
}

/// Where a model lies, and its witness.
#[derive(Clone, Debug)]
pub struct Place {
    /// The directory.
    pub model: PathBuf,
    witness: Option<PathBuf>,
}

impl Place {
    /// A model in a folder, and its witness beside it.
    pub fn inside(root: &Path, setup: Setup) -> Self {
        Self { model: root.join("model"), witness: setup.witness.then(|| root.join(WITNESS)) }
    }

    /// Reads without opening.
    pub fn claims(&self) -> Result<Claims, String> {
        let status = Status::read(&self.model).map_err(|error| error.to_string())?;
        Ok(Claims {
            n_rows: status.n_rows,
            n_removed: status.n_removed,
            n_left_out: status.n_suppressed,
            n_releases: status.n_releases,
            gradient_residual: status.gradient_residual.get(),
            distance_bound: status.distance_bound.get(),
            rung: status.rung,
            repaired: status.repairs.into_iter().map(|repair| repair.in_words()).collect(),
        })
    }

    /// Opens for changing, which finishes what a crash left undone, verifies what is there then, and lets go again.
    /// Entries of the log.
    pub fn open_and_verify(&self) -> Result<u64, String> {
        let model = self.open().map_err(|error| format!("opening: {error}"))?;
        model.verified_log_size().map_err(|error| format!("verifying: {error}"))
    }

    /// Other tests start programs. Between its fork and its exec each holds what is open here, and so the lock of a model
    /// that was just closed: for an instant.
    pub fn open(&self) -> Result<Opened, String> {
        let options = OpenOptions { witness: self.witness.clone(), ..OpenOptions::default() };
        let patience = Instant::now() + Duration::from_secs(10);
        loop {
            match ModelDirectory::open_with(&self.model, &options) {
                Err(EngineError::Open(OpenError::Locked { .. })) if Instant::now() < patience => {
                    std::thread::yield_now();
                }
                answer => return answer.map(Opened).map_err(|error| error.to_string()),
            }
        }
    }
}

/// Makes the model in a folder.
pub fn train(root: &Path, inputs: &Path, setup: Setup) -> Result<(), String> {
    let role = |name: &str| Some(name.to_owned());
    let columns = Columns { label: role("y"), id: role("id"), subject: role("who"), ..Columns::default() };
    let config = match setup.loss {
        Loss::Logistic => TrainingConfig::new(&Logistic, L2_PER_ROW, None),
        Loss::Squared => TrainingConfig::new(&Squared, L2_PER_ROW, None),
    };
    let place = Place::inside(root, setup);
    let request = TrainRequest {
        rows: open_table(Request::Train.input(inputs), &columns, None).map_err(|error| error.to_string())?,
        columns,
        schema: None,
        transform: RowTransform { scale: Scale::None, intercept: false },
        config: TrainingConfig { noise_std: Some(NOISE_STD), ..config },
        class_weights: ClassWeights::default(),
        memory_bytes: None,
        place: efface_engine::Place {
            out: place.model,
            key: setup.key.then(|| key_file(inputs)),
            witness: place.witness,
            ..Default::default()
        },
    };
    ModelDirectory::train(request, &mut randomness(), &mut |_| {}).map(drop).map_err(|error| error.to_string())
}

/// A model that is open for changing.
pub struct Opened(ModelDirectory);

impl Opened {
    /// Makes a checkpoint and lets go.
    pub fn close(self) -> Result<(), String> {
        self.0.close().map_err(|error| error.to_string())
    }

    /// Rows present.
    pub fn n_rows(&self) -> usize {
        self.0.n_rows()
    }

    /// The number of entries of the log, if it is whole and every release is in it, and the claim is not below what the
    /// rows give.
    pub fn verified_log_size(&self) -> Result<u64, String> {
        let report = self.0.verify(true).map_err(|error| error.to_string())?;
        if report.verdict == Verdict::Valid { Ok(report.log_size) } else { Err(format!("{report:?}")) }
    }

    /// A certificate that lies elsewhere is genuine, and the log of today continues the one that it knows.
    pub fn vouches_for(&self, certificate: &[u8]) -> Result<(), String> {
        let failed = |error: EngineError| error.to_string();
        let envelope = Envelope::parse(certificate).map_err(|error| error.to_string())?;
        let key = self.0.public_key().map_err(failed)?;
        let known = &envelope.log().ok_or("a certificate that is in no log")?.checkpoint;
        let (checkpoint, consistency) =
            (self.0.ledger_checkpoint().map_err(failed)?, self.0.ledger_consistency(known, None).map_err(failed)?);
        let evidence = Evidence {
            key: Some(&key),
            checkpoint: Some(&checkpoint),
            consistency: Some(consistency.as_bytes()),
            ..Evidence::default()
        };
        let verification = verify(certificate, &evidence);
        if verification.is_genuine() { Ok(()) } else { Err(format!("{verification:?}")) }
    }

    /// The secret weights, as they are: a release would settle them first, and tell nothing about the claim.
    pub fn secret_weights(&self) -> Vec<f64> {
        self.0.audit_material().model.state().fits[0].weights.to_vec()
    }

    /// Removes rows; whether that had been done and answered before.
    pub fn remove(&mut self, ids: &[&str], request_id: Option<&str>) -> Result<bool, String> {
        let selection = Selection::Ids(ids.iter().map(|id| RowId::parse(id)).collect());
        self.0.remove(&selection, request_id).map(|report| report.repeated).map_err(|error| error.to_string())
    }

    /// Does what is asked, all but training. What is handed out goes to the folder `out`.
    pub fn perform(&mut self, inputs: &Path, request: &Request, out: &Path) -> Result<(), String> {
        let parsed = |ids: &[String]| ids.iter().map(|id| RowId::parse(id)).collect();
        let input = request.input(inputs);
        let done = match request {
            Request::Train => return Err("training makes a directory and opens none".into()),
            Request::Remove { ids, request_id, settle } => {
                let removed = self.0.remove(&Selection::Ids(parsed(ids)), request_id.as_deref());
                removed.and_then(|_| if *settle { self.0.settle(None).map(drop) } else { Ok(()) })
            }
            Request::RemoveSubject { subject, request_id } => {
                let subject = std::slice::from_ref(subject);
                self.0.remove(&Selection::Subjects(parsed(subject)), request_id.as_deref()).map(drop)
            }
            Request::Correct { .. } => self.0.correct(&RowSource::of(&input)).map(drop),
            Request::Add { .. } => self.0.add(&RowSource::of(&input)).map(drop),
            Request::Settle => self.0.settle(None).map(drop),
            Request::Release { copy } => {
                match self.0.release(&mut randomness(), copy.then(|| out.join(COPY)).as_deref()) {
                    Ok(answer @ (ReleaseAnswer::Refused(_) | ReleaseAnswer::HeldBack(_))) => {
                        return Err(format!("{answer:?}"));
                    }
                    answer => answer.map(drop),
                }
            }
            Request::Retrain => self.0.retrain(&mut randomness(), &mut |_| {}).map(drop),
            Request::Policy => {
                // One person is enough, and without anybody nothing is held back.
                self.0.set_policy(ReleasePolicy { min_removals: Some(1), every_seconds: None })
            }
            Request::Revoke { release } => self.0.revoke(*release, None).map(drop),
            Request::Certify { request } => self.0.certify_request(request, &out.join(REQUEST)).map(drop),
        };
        done.map_err(|error| error.to_string())
    }
}

fn randomness() -> NoiseSource {
    NoiseSource::from_system().expect("randomness")
}
