//! Every call of the engine's library that the crash test makes. In process, because thousands of directories are opened.

use std::path::Path;
use std::time::{Duration, Instant};

use efface_core::noise::{NoiseLaw, NoiseSource};
use efface_data::RowId;
use efface_engine::{EngineError, ModelDirectory, ReleaseAnswer, RowSource, Selection, Status};
use serde_json::Value;

use super::world::{N_FEATURES, NOISE_STD, Request};

/// What a model says about itself. Bounds are compared bit by bit: a claim belongs to one state.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Claims {
    pub(crate) n_rows: usize,
    pub(crate) n_removed: usize,
    pub(crate) n_releases: usize,
    pub(crate) gradient_residual: f64,
    pub(crate) distance_bound: f64,
    pub(crate) rung: String,
}

/// Reads without opening.
pub(crate) fn claims(model: &Path) -> Result<Claims, String> {
    let status = Status::read(model).map_err(|error| error.to_string())?;
    Ok(Claims {
        n_rows: status.n_rows,
        n_removed: status.n_removed,
        n_releases: status.n_releases,
        gradient_residual: status.gradient_residual.get(),
        distance_bound: status.distance_bound.get(),
        rung: status.rung,
    })
}

/// Opens for changing, which finishes what a crash left undone, and closes again.
pub(crate) fn open_and_close(model: &Path) -> Result<(), String> {
    open(model).map(drop)
}

/// What the program does on request, without its command line. All but training.
pub(crate) fn perform(model: &Path, inputs: &Path, request: &Request) -> Result<(), String> {
    let mut directory = open(model)?;
    let parsed = |ids: &[String]| ids.iter().map(|id| RowId::parse(id)).collect();
    let failed = |error: EngineError| error.to_string();
    match request {
        Request::Train => unreachable!("training makes a directory and opens none"),
        Request::Remove { ids, request_id } => {
            directory.remove(&Selection::Ids(parsed(ids)), *request_id).map(drop).map_err(failed)
        }
        Request::RemoveSubject { subject, request_id } => {
            let subject = std::slice::from_ref(subject);
            directory.remove(&Selection::Subjects(parsed(subject)), *request_id).map(drop).map_err(failed)
        }
        Request::Correct { .. } => directory.correct(&RowSource::of(&request.input(inputs))).map(drop).map_err(failed),
        Request::Add { .. } => directory.add(&RowSource::of(&request.input(inputs))).map(drop).map_err(failed),
        Request::Settle => directory.settle(None).map(drop).map_err(failed),
        Request::Release { .. } => match directory.release(&mut randomness(), None).map_err(failed)? {
            ReleaseAnswer::Published(_) => Ok(()),
            refused @ ReleaseAnswer::Refused { .. } => Err(format!("{refused:?}")),
        },
        Request::Retrain => directory.retrain(&mut randomness(), &mut |_| {}).map(drop).map_err(failed),
    }
}

/// The secret weights: a release under a known seed, less its noise.
pub(crate) fn secret_weights(model: &Path) -> Result<Vec<f64>, String> {
    let noise = || NoiseSource::danger_fixed_seed(SEED);
    let report = match open(model)?.release(&mut noise(), None).map_err(|error| error.to_string())? {
        ReleaseAnswer::Published(report) => report,
        refused @ ReleaseAnswer::Refused { .. } => return Err(format!("{refused:?}")),
    };
    if report.settle_passes != 0 {
        return Err("the weights were settled before they were released: nothing is learned about the claim".into());
    }
    let published = std::fs::read(&report.model).map_err(|error| error.to_string())?;
    let published: Value = serde_json::from_slice(&published).map_err(|error| error.to_string())?;
    let weights = published["weights"].as_array().ok_or("no weights")?.iter().filter_map(Value::as_f64);
    let noise = NoiseLaw::Gaussian.sample(N_FEATURES, NOISE_STD, &mut noise());
    Ok(weights.zip(noise.iter()).map(|(weight, noise)| weight - noise).collect())
}

/// Other tests start programs. Between its fork and its exec each holds what is open here, and so the lock of a model
/// that was just closed: for an instant.
fn open(model: &Path) -> Result<ModelDirectory, String> {
    let patience = Instant::now() + Duration::from_secs(10);
    loop {
        match ModelDirectory::open(model) {
            Err(EngineError::Locked { .. }) if Instant::now() < patience => std::thread::yield_now(),
            answer => return answer.map_err(|error| error.to_string()),
        }
    }
}

fn randomness() -> NoiseSource {
    NoiseSource::from_system().expect("randomness")
}

const SEED: u64 = 7;
