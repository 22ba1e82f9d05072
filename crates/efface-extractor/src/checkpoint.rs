//! Training written down between two steps, and taken up again.
//!
//! ```text
//! magic (32 bytes) · length of the plan (4) · the plan as JSON · steps taken (8) · weights · momentum · SHA-256 (32)
//! ```
//!
//! Integers and numbers of single precision are little-endian. There is no state of a generator in it: with randomness of
//! the system the steps to come draw anew, and a fixed seed has a stream for every step.

use sha2::{Digest, Sha256};

use crate::error::CheckpointError;
use crate::network::Network;
use crate::plan::TrainingPlan;
use crate::train::Trainer;

impl Trainer {
    /// All that is needed to go on.
    pub fn checkpoint(&self) -> Vec<u8> {
        let plan = plan_text(&self.plan);
        let mut bytes = FORMAT.as_bytes().to_vec();
        bytes.resize(MAGIC, 0);
        bytes.extend((plan.len() as u32).to_le_bytes());
        bytes.extend(plan);
        bytes.extend(self.steps_done.to_le_bytes());
        for number in self.network.weights.iter().chain(&self.velocity) {
            bytes.extend(number.to_le_bytes());
        }
        let digest = Sha256::digest(&bytes);
        bytes.extend(digest);
        bytes
    }

    /// Goes on from a checkpoint that was made under the same plan.
    pub fn resume(plan: TrainingPlan, checkpoint: &[u8]) -> Result<Self, CheckpointError> {
        let damaged = |problem| CheckpointError::Damaged { problem };
        let magic = checkpoint.get(..MAGIC).unwrap_or_default();
        if !magic.starts_with(FORMAT.as_bytes()) || magic[FORMAT.len()..].iter().any(|byte| *byte != 0) {
            return Err(CheckpointError::Format { expected: FORMAT });
        }
        let (body, digest) = checkpoint.split_last_chunk::<32>().ok_or_else(|| damaged("it is cut off"))?;
        if Sha256::digest(body)[..] != digest[..] {
            return Err(damaged("its digest is another"));
        }
        let rest = body.get(MAGIC..).unwrap_or_default();
        let (length, rest) = rest.split_first_chunk::<4>().ok_or_else(|| damaged("it is cut off"))?;
        let (text, rest) =
            rest.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or_else(|| damaged("it is cut off"))?;
        if text != plan_text(&plan) {
            return Err(CheckpointError::OtherPlan);
        }
        let (steps_done, numbers) = rest.split_first_chunk::<8>().ok_or_else(|| damaged("it is cut off"))?;
        let steps_done = u64::from_le_bytes(*steps_done);
        let (words, odd) = numbers.as_chunks::<4>();
        let numbers: Vec<f32> = words.iter().map(|word| f32::from_le_bytes(*word)).collect();
        let layout = plan.layout();
        if !odd.is_empty() || numbers.len() != 2 * layout.n_weights || steps_done > plan.steps() {
            return Err(damaged("it is of another size"));
        }
        let (weights, velocity) = numbers.split_at(layout.n_weights);
        let network = Network::of(plan.config().architecture, layout, weights.to_vec());
        Ok(Self::at(plan, network, Some(velocity.to_vec()), steps_done))
    }
}

fn plan_text(plan: &TrainingPlan) -> Vec<u8> {
    serde_json::to_vec(plan.config()).expect("a plan has finite numbers and text keys")
}

/// Its meaning never changes: what is written otherwise gets another name.
const FORMAT: &str = "efface-extractor-checkpoint-1";

/// Bytes of the format's name, filled up with zeros.
const MAGIC: usize = 32;
