//! The bytes of the secret state. `docs/design/state-file.md` describes them.

use std::collections::BTreeMap;
use std::path::Path;

use efface_core::linalg::TrackedMatrix;
use efface_core::model::{Curvature, Fit, Model, ModelState, ReleaseAccount, TrainingPlan};
use efface_core::residual::Rung;
use efface_core::rounding::UpperBound;
use efface_core::rows::Problem;
use efface_data::{RemovedIds, RowId};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::changes::PastRequest;
use crate::error::EngineError;
use crate::settings::Settings;

/// Everything that is kept of a model besides its rows.
pub(crate) struct Snapshot {
    pub(crate) settings: Settings,
    pub(crate) model: Model,
    pub(crate) index: RowIndex,
}

/// What is known of the rows: who they are, and which are gone.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct RowIndex {
    /// One per position; `None`: removed.
    pub(crate) ids: Vec<Option<RowId>>,
    /// One per position.
    pub(crate) subjects: Vec<Option<RowId>>,
    pub(crate) removed: RemovedIds,
    /// Rows removed on request so far.
    pub(crate) n_removed: usize,
    /// How many of them had been removed when the latest release was published.
    pub(crate) n_removed_at_release: usize,
    /// Positions that may still have bytes in the file of rows.
    pub(crate) pending_purge: Vec<usize>,
    /// Answers by request id.
    pub(crate) requests: BTreeMap<String, PastRequest>,
}

const MAGIC: &[u8; 8] = b"EFFSTATE";
const VERSION: u32 = 1;
const PREFIX_BYTES: usize = 8 + 4 + 8 + 8;
const DIGEST_BYTES: usize = 32;

#[derive(Serialize, Deserialize)]
struct Header {
    settings: Settings,
    index: RowIndex,
    n_rows: usize,
    dim: usize,
    fits: Vec<FitHeader>,
    /// Error and trace bound of the Gram matrix, where there is one.
    gram: Option<(UpperBound, UpperBound)>,
    design_norm_squared: UpperBound,
    row_norm: UpperBound,
    rung: Rung,
    certified: bool,
    account: ReleaseAccount,
}

#[derive(Serialize, Deserialize)]
struct FitHeader {
    problem: Problem,
    n_rows: usize,
    gradient_error: UpperBound,
    perturbed: bool,
    /// Error and trace bound of the Hessian, where there is one.
    hessian: Option<(UpperBound, UpperBound)>,
}

pub(crate) fn encode(settings: &Settings, model: &Model, index: &RowIndex) -> Zeroizing<Vec<u8>> {
    let state = model.state();
    let header = Header {
        settings: settings.clone(),
        index: index.clone(),
        n_rows: state.n_rows,
        dim: model.dim(),
        fits: state.fits.iter().map(fit_header).collect(),
        gram: state.gram.as_ref().map(|gram| (gram.error(), gram.trace())),
        design_norm_squared: state.design_norm_squared,
        row_norm: state.row_norm,
        rung: state.rung,
        certified: state.certified,
        account: state.account,
    };
    let header = serde_json::to_vec(&header).expect("maps have string keys and numbers are finite or null");
    let mut numbers = Zeroizing::new(Vec::new());
    for fit in &state.fits {
        put(&mut numbers, &fit.weights);
        put(&mut numbers, &fit.gradient);
        if let Some(perturbation) = &fit.perturbation {
            put(&mut numbers, perturbation);
        }
        if let Some(curvature) = &fit.curvature {
            put(&mut numbers, &curvature.anchor);
            put_lower(&mut numbers, &curvature.hessian);
        }
    }
    if let Some(gram) = &state.gram {
        put_lower(&mut numbers, gram);
    }
    let mut bytes = Zeroizing::new(Vec::with_capacity(PREFIX_BYTES + header.len() + numbers.len() + DIGEST_BYTES));
    bytes.extend(MAGIC);
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend((header.len() as u64).to_le_bytes());
    bytes.extend((numbers.len() as u64).to_le_bytes());
    bytes.extend(&header);
    bytes.extend(numbers.iter());
    let digest = Sha256::digest(&*bytes);
    bytes.extend(digest);
    bytes
}

pub(crate) fn decode(path: &Path, bytes: &[u8]) -> Result<Snapshot, EngineError> {
    let bad = |reason: String| EngineError::BadState { path: path.into(), reason };
    let damaged = |what: &str| bad(format!("the state file is damaged: {what}"));
    let prefix = bytes.get(..PREFIX_BYTES).ok_or_else(|| damaged("it ends within its first bytes"))?;
    if &prefix[..8] != MAGIC {
        return Err(damaged("it does not begin with the magic bytes"));
    }
    let version = u32::from_le_bytes(array(&prefix[8..12]));
    if version != VERSION {
        return Err(bad(format!("state format version {version} is unknown; this program reads version {VERSION}")));
    }
    let header_len = u64::from_le_bytes(array(&prefix[12..20])) as usize;
    let numbers_len = u64::from_le_bytes(array(&prefix[20..28])) as usize;
    let expected = [PREFIX_BYTES, header_len, numbers_len, DIGEST_BYTES]
        .into_iter()
        .try_fold(0_usize, usize::checked_add)
        .ok_or_else(|| damaged("its sizes are impossible"))?;
    if bytes.len() != expected {
        return Err(bad(format!("the state file is damaged: {} bytes where {expected} are announced", bytes.len())));
    }
    let (content, digest) = bytes.split_at(expected - DIGEST_BYTES);
    if Sha256::digest(content).as_slice() != digest {
        return Err(damaged("its checksum does not match"));
    }
    let (header, numbers) = content[PREFIX_BYTES..].split_at(header_len);
    let header: Header = serde_json::from_slice(header).map_err(|error| damaged(&error.to_string()))?;
    let mut numbers = Numbers { bytes: numbers };
    let (settings, index, model) =
        restore(header, &mut numbers).ok_or_else(|| damaged("its parts do not fit each other"))?;
    let plan = TrainingPlan::new(settings.config.clone())?;
    let model = Model::from_state(plan, model).ok_or_else(|| damaged("its parts do not fit each other"))?;
    Ok(Snapshot { settings, model, index })
}

fn restore(header: Header, numbers: &mut Numbers<'_>) -> Option<(Settings, RowIndex, ModelState)> {
    let dim = header.dim;
    let l2 = header.settings.config.l2_per_row;
    let mut fits = Vec::with_capacity(header.fits.len());
    for fit in header.fits {
        let weights = numbers.take(dim)?;
        let gradient = numbers.take(dim)?;
        let perturbation = if fit.perturbed { Some(numbers.take(dim)?.into()) } else { None };
        let curvature = match fit.hessian {
            None => None,
            Some((error, trace)) => {
                let anchor = numbers.take(dim)?;
                let hessian = TrackedMatrix::from_parts(dim, numbers.take_lower(dim)?, error, trace)?;
                Some(Curvature::new(anchor.into(), hessian, l2 * fit.n_rows as f64)?)
            }
        };
        fits.push(Fit {
            problem: fit.problem,
            n_rows: fit.n_rows,
            weights: weights.into(),
            perturbation,
            gradient: gradient.into(),
            gradient_error: fit.gradient_error,
            curvature,
        });
    }
    let gram = match header.gram {
        None => None,
        Some((error, trace)) => Some(TrackedMatrix::from_parts(dim, numbers.take_lower(dim)?, error, trace)?),
    };
    let state = ModelState {
        n_rows: header.n_rows,
        fits,
        gram,
        design_norm_squared: header.design_norm_squared,
        row_norm: header.row_norm,
        rung: header.rung,
        certified: header.certified,
        account: header.account,
    };
    let whole = numbers.bytes.is_empty() && header.index.ids.len() == header.index.subjects.len();
    whole.then_some((header.settings, header.index, state))
}

fn fit_header(fit: &Fit) -> FitHeader {
    FitHeader {
        problem: fit.problem.clone(),
        n_rows: fit.n_rows,
        gradient_error: fit.gradient_error,
        perturbed: fit.perturbation.is_some(),
        hessian: fit.curvature.as_ref().map(|curvature| (curvature.hessian.error(), curvature.hessian.trace())),
    }
}

fn put(bytes: &mut Vec<u8>, numbers: &[f64]) {
    bytes.reserve(numbers.len() * 8);
    for x in numbers {
        bytes.extend(x.to_le_bytes());
    }
}

/// The lower triangle, column by column.
fn put_lower(bytes: &mut Vec<u8>, matrix: &TrackedMatrix) {
    let (dim, (entries, _, _)) = (matrix.dim(), matrix.parts());
    bytes.reserve(dim * (dim + 1) * 4);
    for j in 0..dim {
        put(bytes, &entries[j * dim + j..(j + 1) * dim]);
    }
}

/// Numbers still to be read. Sizes are checked against what is there before anything is allocated.
struct Numbers<'a> {
    bytes: &'a [u8],
}

impl Numbers<'_> {
    fn take(&mut self, n: usize) -> Option<Vec<f64>> {
        let (taken, rest) = self.bytes.split_at_checked(n.checked_mul(8)?)?;
        self.bytes = rest;
        Some(taken.chunks_exact(8).map(|bytes| f64::from_le_bytes(array(bytes))).collect())
    }

    fn take_lower(&mut self, dim: usize) -> Option<Vec<f64>> {
        let packed_len = dim.checked_mul(dim + 1)? / 2;
        let packed = Zeroizing::new(self.take(packed_len)?);
        let mut entries = vec![0.0; dim * dim];
        let mut start = 0;
        for j in 0..dim {
            entries[j * dim + j..(j + 1) * dim].copy_from_slice(&packed[start..start + dim - j]);
            start += dim - j;
        }
        Some(entries)
    }
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[..N]);
    array
}
