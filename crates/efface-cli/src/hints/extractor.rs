//! What to do about a private extractor that cannot be trained, or a statement that cannot be read.

use efface_engine::ExtractorError;
use efface_engine::extractor::{ArchitectureError, CheckpointError, MechanismError, PlanError, TrainError};

/// The hint for an error of `efface extractor`.
pub(super) fn hint(error: &ExtractorError) -> Option<&'static str> {
    Some(match error {
        ExtractorError::NoImageNamed { .. } => "--image NAME names the column",
        ExtractorError::OnePlace { .. } => "--out, --statement and --checkpoint name three files",
        ExtractorError::LeftOver { .. } => "move it away; with a --checkpoint the same command goes on from there",
        ExtractorError::Plan(error) => return for_plan(error),
        ExtractorError::Train(TrainError::Diverged { .. }) => "give a smaller --learning-rate",
        ExtractorError::Checkpoint { source: CheckpointError::OtherPlan, .. } => {
            "give the options of its first run on the same rows, or name another file with --checkpoint"
        }
        ExtractorError::Checkpoint { .. } => "name another file with --checkpoint, or delete this one",
        ExtractorError::NoStatement { .. } => "docs/extractor-statement.md says what stands in one",
        _ => return None,
    })
}

fn for_plan(error: &PlanError) -> Option<&'static str> {
    Some(match error {
        PlanError::Architecture(ArchitectureError::TooSmall { .. }) => {
            "give a larger --height and --width; --resize brings pictures to that size"
        }
        PlanError::Architecture(ArchitectureError::TooManyWeights { .. }) => {
            "give fewer --features, or a smaller --height and --width with --resize"
        }
        PlanError::BatchSize { .. } => "--batch sets it",
        PlanError::Mechanism(MechanismError::OutOfReach { .. }) => {
            "raise --epsilon or --delta, lower --group or --epochs, or train on more rows"
        }
        _ => return None,
    })
}
