//! Training an extractor.

use std::path::PathBuf;

use efface_core::accounting::statement::StatementError;
use efface_extractor::{CheckpointError, GraphError, ImagesError, PlanError, TrainError};

/// An extractor cannot be trained, or a statement not be read.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are named in the messages")]
#[non_exhaustive]
pub enum ExtractorError {
    /// Which column has the images is not known.
    #[error("{}: no column of images named", path.display())]
    NoImageNamed { path: PathBuf },
    /// Two of its files would be one.
    #[error("{} is named twice, for two files", path.display())]
    OnePlace { path: PathBuf },
    /// A run was killed between its statement and its network, or the statement is another network's.
    #[error(
        "{} is there without {}: a run was killed before it was done, or it belongs to another network",
        statement.display(),
        network.display()
    )]
    LeftOver { statement: PathBuf, network: PathBuf },
    /// δ is no probability, or 0.
    #[error("delta must be above 0 and below 1, got `{value}`")]
    Delta { value: f64 },
    /// The plan cannot be kept.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The pixels are no images.
    #[error(transparent)]
    Images(#[from] ImagesError),
    /// It cannot be trained.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// A training cannot go on from what is there.
    #[error("{}: {source}", path.display())]
    Checkpoint { path: PathBuf, source: CheckpointError },
    /// The caller asked to stop. Nothing is left but the checkpoint, if there is one.
    #[error("stopped{}", steps.map_or_else(String::new, |(done, steps)| format!(" after {done} of {steps} steps")))]
    Stopped { steps: Option<(u64, u64)>, checkpoint: Option<PathBuf> },
    /// The network makes no ONNX file.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// The training makes no statement.
    #[error(transparent)]
    Statement(#[from] StatementError),
    /// A file is no statement.
    #[error("{}: no statement of a private extractor: {reason}", path.display())]
    NoStatement { path: PathBuf, reason: String },
}

impl ExtractorError {
    /// Stable name.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoImageNamed { .. } => "no-image-named",
            Self::OnePlace { .. } => "one-place",
            Self::LeftOver { .. } => "left-over",
            Self::Delta { .. } | Self::Plan(_) => "bad-plan",
            Self::Images(_) => "bad-row",
            Self::Train(TrainError::Diverged { .. }) => "diverged",
            Self::Train(_) | Self::Graph(_) => "untrainable",
            Self::Checkpoint { .. } => "bad-checkpoint",
            Self::Stopped { .. } => "interrupted",
            Self::Statement(_) | Self::NoStatement { .. } => "bad-statement",
        }
    }
}
