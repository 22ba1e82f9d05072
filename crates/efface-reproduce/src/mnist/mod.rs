//! Linear logistic regression on MNIST, 3 against 8: Figures 1 to 3 (Guo et al. 2020, Section 4.1).

mod digits;
mod pictures;
mod reference;
mod residuals;
#[cfg(test)]
mod tests;
mod trade_off;

use serde::{Deserialize, Serialize};

pub use digits::{Digit, Digits};
pub use reference::Comparison;
pub use residuals::{ResidualLine, Residuals};
pub use trade_off::{Supporting, TradeOff, Unperturbed};

use crate::data::mnist_3_vs_8;
use crate::{ExperimentError, Progress, Setting};

/// What was measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MnistResults {
    /// n.
    pub n_rows: usize,
    /// d.
    pub dim: usize,
    /// Figure 1.
    pub trade_off: TradeOff,
    /// Figure 2.
    pub residuals: Residuals,
    /// Figure 3.
    pub digits: Digits,
}

/// Runs the experiment.
pub fn run(setting: &Setting, progress: &mut Progress<'_>) -> Result<MnistResults, ExperimentError> {
    let data = mnist_3_vs_8(&setting.data, setting.quick)?;
    Ok(MnistResults {
        n_rows: data.n_rows(),
        dim: data.dim(),
        trade_off: trade_off::run(&data, setting, progress)?,
        residuals: residuals::run(&data, setting, progress)?,
        digits: digits::run(&data, setting, progress)?,
    })
}
