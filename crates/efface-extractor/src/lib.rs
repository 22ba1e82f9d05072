//! A private feature extractor for images: a small convolutional network trained by DP-SGD.
//!
//! [`train()`] takes images, labels and a [`TrainingPlan`], and gives a [`Trained`] network with the mechanism it was
//! trained by; `efface_core::accounting::subsampled` says what that promises. The mechanism is exact, not idealized:
//! gradients are clipped and rounded to integers, the sum is a sum of integers, and the noise is the exact integer noise of
//! `efface_core::noise` (the claim page is in [`clipping`]). So the sum is also the same for any number of threads.

mod architecture;
mod checkpoint;
pub mod clipping;
mod convolution;
mod error;
mod example;
mod images;
mod network;
mod onnx;
mod plan;
mod product;
mod step;
mod train;

pub use architecture::{Activation, Architecture};
pub use efface_onnx::GraphError;
pub use error::{ArchitectureError, CheckpointError, ImagesError, PlanError, TrainError};
pub use images::Images;
pub use network::Network;
pub use plan::{Privacy, Randomness, TrainingConfig, TrainingPlan};
pub use train::{Trained, Trainer, train};

#[cfg(test)]
mod tests;
