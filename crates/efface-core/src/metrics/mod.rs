//! How good predictions are: figures of classes, of their order, of their probabilities, and of numbers.
//!
//! Each is `None` where it is not defined: the recall of a class without rows, the area under a curve of one class.

mod calibration;
mod confusion;
mod errors;
mod ranking;

pub use calibration::{Calibration, CalibrationBin, N_BINS};
pub use confusion::{ClassFigures, ConfusionMatrix};
pub use errors::Errors;
pub use ranking::{macro_auc, roc_auc};

#[cfg(test)]
mod tests;
