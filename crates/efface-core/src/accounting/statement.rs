//! What the maker of a private extractor states of its training, and what follows from it: `docs/extractor-statement.md`.

use serde::{Deserialize, Serialize};

use super::subsampled::{MechanismError, SubsampledGaussian};
use super::{Extractor, Guarantee};
use crate::tagged;

/// A statement whose numbers are possible, and whose ε is not below what they prove.
///
/// As JSON it is the [`StatementFields`]; reading checks them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "StatementFields", into = "StatementFields")]
pub struct Statement {
    fields: StatementFields,
    training: SubsampledGaussian,
}

/// The fields of a statement, in their order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatementFields {
    /// Which fields there are, and what they mean.
    pub format: StatementFormat,
    /// How the network was trained.
    pub mechanism: ExtractorMechanism,
    /// q: the probability with which a step takes a unit.
    pub sampling_rate: f64,
    /// σ: standard deviation of the noise, in clipping norms.
    pub noise_multiplier: f64,
    /// T: steps taken.
    pub steps: u64,
    /// C: the norm that a unit's gradient is clipped to.
    pub clip: f64,
    /// What is in or out of a step as a whole.
    pub unit: ProtectedUnit,
    /// δ of the promise to the whole group.
    pub delta: f64,
    /// Rows it was trained on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n_rows: Option<u64>,
    /// ε for one unit at `delta`, as its maker claims it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epsilon: Option<f64>,
    /// SHA-256 of the ONNX file, in lower-case hexadecimal digits.
    pub digest: String,
}

tagged! {
    /// Version of a statement's fields.
    pub enum StatementFormat {
        /// The first.
        One = "efface-extractor-statement-1",
    }
}

tagged! {
    /// How an extractor was trained.
    pub enum ExtractorMechanism {
        /// DP-SGD with Poisson sampling: [`SubsampledGaussian`].
        DpSgdPoisson = "dp-sgd-poisson",
    }
}

tagged! {
    /// What is sampled and clipped as a whole, and so protected as one.
    pub enum ProtectedUnit {
        /// Each row by itself. A promise to all rows of a person together says too little where rows leave one by one: a person
        /// who stays with a row less is one unit that goes and another that comes.
        Row = "row",
    }
}

/// Why there can be no such statement.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are named in the messages")]
#[non_exhaustive]
pub enum StatementError {
    /// No such mechanism.
    #[error(transparent)]
    Mechanism(#[from] MechanismError),
    /// C is no norm.
    #[error("clip must be positive and finite, got `{value}`")]
    Clip { value: f64 },
    /// δ is no probability, or 0.
    #[error("delta must be above 0 and below 1, got `{value}`")]
    Delta { value: f64 },
    /// Trained on nothing.
    #[error("n_rows must be at least 1")]
    NoRows,
    /// Not a digest.
    #[error("digest must be 64 lower-case hexadecimal digits, got `{value}`")]
    Digest { value: String },
    /// More is claimed than can be proved here: by a tighter accountant, or by mistake.
    #[error(
        "it states epsilon {claimed} at delta {delta:e}, and {proved} is what can be proved of its sampling rate, noise and steps: \
         leave `epsilon` out"
    )]
    Epsilon { claimed: f64, proved: f64, delta: f64 },
}

impl Statement {
    /// Checks the fields.
    pub fn new(fields: StatementFields) -> Result<Self, StatementError> {
        let StatementFields { sampling_rate, noise_multiplier, steps, clip, delta, .. } = fields;
        let training = SubsampledGaussian::new(sampling_rate, noise_multiplier, steps)?;
        if !(clip > 0.0 && clip.is_finite()) {
            return Err(StatementError::Clip { value: clip });
        }
        if !(delta > 0.0 && delta < 1.0) {
            return Err(StatementError::Delta { value: delta });
        }
        if fields.n_rows == Some(0) {
            return Err(StatementError::NoRows);
        }
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if fields.digest.len() != 64 || !fields.digest.bytes().all(is_digit) {
            return Err(StatementError::Digest { value: fields.digest });
        }
        if let Some(claimed) = fields.epsilon {
            let proved = training.epsilon_at(delta);
            // Negated, so that what is no number is refused, too.
            if !(claimed >= proved && claimed.is_finite()) {
                return Err(StatementError::Epsilon { claimed, proved, delta });
            }
        }
        Ok(Self { fields, training })
    }

    /// What is stated.
    pub fn fields(&self) -> &StatementFields {
        &self.fields
    }

    /// The mechanism that is stated.
    pub fn training(&self) -> SubsampledGaussian {
        self.training
    }

    /// What is promised to a group of so many units, recomputed: its δ for all of them together is at most the stated one.
    pub fn extractor(&self, group: usize) -> Result<Extractor, MechanismError> {
        self.training.extractor(group, self.fields.delta)
    }

    /// The same as one promise to the whole group.
    pub fn guarantee(&self, group: usize) -> Result<Guarantee, MechanismError> {
        self.extractor(group).map(|extractor| extractor.cost())
    }
}

impl TryFrom<StatementFields> for Statement {
    type Error = StatementError;

    fn try_from(fields: StatementFields) -> Result<Self, StatementError> {
        Self::new(fields)
    }
}

impl From<Statement> for StatementFields {
    fn from(statement: Statement) -> Self {
        statement.fields
    }
}
