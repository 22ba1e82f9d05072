//! Figure 3: the digits that are hardest and easiest to remove.

use serde::{Deserialize, Serialize};

use super::residuals::STRENGTH;
use crate::data::{DataSet, image};
use crate::life::{Life, hardest_first};
use crate::objective::release_plan;
use crate::{Result, Setting};

const SHOWN: usize = 10;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Digits {
    /// Largest ‖H⁻¹Δ‖ first.
    pub(crate) hardest: Vec<RankedDigit>,
    /// Smallest ‖H⁻¹Δ‖ first.
    pub(crate) easiest: Vec<RankedDigit>,
}

/// A digit of the training set.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RankedDigit {
    pub(crate) digit: u8,
    /// ‖H⁻¹Δ‖: norm of the step that removing it takes.
    pub(crate) influence: f64,
    /// 28 × 28 pixels, row by row: 0 is paper, 255 is ink.
    pub(crate) pixels: Vec<u8>,
}

pub(super) fn run(data: &DataSet, setting: &Setting<'_>) -> Result<Digits> {
    setting.begin("MNIST: hardest and easiest digits", 1);
    let plan = release_plan(data, STRENGTH.l2_per_row)?;
    let life = Life::begin(&plan, data.train_rows()?, setting.seed)?;
    let influences = life.model.influences(&life.rows)?;
    let order = hardest_first(&influences);
    let digit = |position: &usize| RankedDigit {
        digit: if life.rows.label(*position) == Some(1.0) { 8 } else { 3 },
        influence: influences[*position],
        pixels: image(&life.rows.row(*position).unwrap_or_default()),
    };
    let hardest = order.iter().take(SHOWN).map(digit).collect();
    let easiest = order.iter().rev().take(SHOWN).map(digit).collect();
    setting.step();
    Ok(Digits { hardest, easiest })
}
