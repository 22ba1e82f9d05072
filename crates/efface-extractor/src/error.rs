//! Networks that cannot be, plans that cannot be kept, and data that does not fit them.

use efface_core::accounting::subsampled::MechanismError;
use efface_core::noise::NoiseError;
use efface_core::noise::lattice::OffLattice;

/// Sizes that no network has.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are named in the messages")]
#[non_exhaustive]
pub enum ArchitectureError {
    /// A number is zero or too large.
    #[error("{name} must be at least {least} and at most {most}, got `{value}`")]
    OutOfRange { name: &'static str, value: usize, least: usize, most: usize },
    /// Two convolutions and two poolings leave nothing of the image.
    #[error("images of {height} × {width} are too small for two convolutions of side {kernel} with pooling")]
    TooSmall { height: usize, width: usize, kernel: usize },
    /// More weights than clipping is exact for.
    #[error("the network has {n_weights} weights, more than {most}: give fewer features or filters")]
    TooManyWeights { n_weights: usize, most: usize },
}

/// Pixels that do not make images.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are named in the messages")]
#[non_exhaustive]
pub enum ImagesError {
    /// An image without pixels.
    #[error("images must have pixels, got {height} × {width} with {channels} channels")]
    Empty { height: usize, width: usize, channels: usize },
    /// The bytes do not make whole images.
    #[error("images must have {expected} bytes each, got {got} bytes in all")]
    Length { got: usize, expected: usize },
}

/// A plan of training that cannot be.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are named in the messages")]
#[non_exhaustive]
pub enum PlanError {
    /// The network cannot be.
    #[error(transparent)]
    Architecture(#[from] ArchitectureError),
    /// The mechanism cannot be, or cannot keep the promise.
    #[error(transparent)]
    Mechanism(#[from] MechanismError),
    /// A number is out of range.
    #[error("{name} must be at least {least:e} and at most {most:e}, got `{value}`")]
    OutOfRange { name: &'static str, value: f64, least: f64, most: f64 },
    /// Batches are empty, or larger than all there is.
    #[error("expected batch size must be at least 1 and at most the number of rows, `{n_rows}`, got `{value}`")]
    BatchSize { value: usize, n_rows: usize },
}

/// Training that could not begin or go on.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are named in the messages")]
#[non_exhaustive]
pub enum TrainError {
    /// Images of another size than the network takes.
    #[error("images are {got:?}, the network takes {expected:?} (height, width, channels)")]
    Shape { got: (usize, usize, usize), expected: (usize, usize, usize) },
    /// Labels are missing, or too many.
    #[error("{n_images} images have {n_labels} labels")]
    Labels { n_images: usize, n_labels: usize },
    /// A label that no class has.
    #[error("row {row}: label must be below {n_classes}, got `{label}`")]
    Label { row: usize, label: u8, n_classes: usize },
    /// Weights are no numbers any more.
    #[error("training diverged at step {step}: lower the learning rate")]
    Diverged { step: u64 },
    /// The caller asked to stop.
    #[error("stopped after {steps_done} of {steps} steps")]
    Stopped { steps_done: u64, steps: u64 },
    /// No entropy.
    #[error(transparent)]
    Entropy(#[from] NoiseError),
    /// Noise too long for its integers.
    #[error(transparent)]
    Noise(#[from] OffLattice),
}

/// Bytes that training cannot go on from.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are named in the messages")]
#[non_exhaustive]
pub enum CheckpointError {
    /// No checkpoint, or of another version.
    #[error("not a training checkpoint of format `{expected}`")]
    Format { expected: &'static str },
    /// Cut off or altered.
    #[error("the training checkpoint is damaged: {problem}")]
    Damaged { problem: &'static str },
    /// Another plan: its steps would be accounted for wrongly.
    #[error("the training checkpoint was made under another plan")]
    OtherPlan,
}
