//! Linear logistic regression on MNIST, 3 against 8: Figures 1 to 3 (Guo et al. 2020, Section 4.1).

mod digits;
mod pictures;
mod reference;
mod residuals;
#[cfg(test)]
mod tests;
mod trade_off;

use serde::{Deserialize, Serialize};

use self::digits::Digits;
use self::residuals::Residuals;
use self::trade_off::TradeOff;
use crate::data::mnist_3_vs_8;
use crate::{Result, Setting};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct MnistResults {
    pub(crate) n_rows: usize,
    pub(crate) dim: usize,
    pub(crate) trade_off: TradeOff,
    pub(crate) residuals: Residuals,
    pub(crate) digits: Digits,
}

pub(crate) fn run(setting: &Setting<'_>) -> Result<MnistResults> {
    let data = mnist_3_vs_8(&setting.data, setting.quick)?;
    Ok(MnistResults {
        n_rows: data.n_rows(),
        dim: data.dim(),
        trade_off: trade_off::run(&data, setting)?,
        residuals: residuals::run(&data, setting)?,
        digits: digits::run(&data, setting)?,
    })
}
