//! Figure 2: what the bounds promise of the gradient residual, and what is true.

use efface_core::residual::Rung;
use serde::{Deserialize, Serialize};

use crate::data::DataSet;
use crate::life::{Life, random_order};
use crate::objective::{EPSILON, Strength, published_plan, release_plan};
use crate::{ExperimentError, Progress, Setting};

/// λ and σ of the figure.
pub(super) const STRENGTH: Strength = Strength { l2_per_row: 1e-3, noise_std: 10.0 };

/// Rows per step of the lines of batches.
pub(super) const BATCH: usize = 10;

/// Figure 2.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Residuals {
    /// λ and σ.
    pub strength: Strength,
    /// One line per bound.
    pub lines: Vec<ResidualLine>,
}

/// A residual, or a bound of it, after so many removals.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ResidualLine {
    /// What it is.
    pub name: String,
    /// Rows that leave in one step.
    pub batch: usize,
    /// `(removals, residual)`.
    pub points: Vec<(usize, f64)>,
}

pub(super) fn run(
    data: &DataSet,
    setting: &Setting,
    progress: &mut Progress<'_>,
) -> Result<Residuals, ExperimentError> {
    let n_removals = if setting.quick { 20 } else { 1_000 };
    let mut measured = Vec::new();
    let mut lines = Vec::new();
    for batch in [1, BATCH] {
        for (rung, name) in [(Rung::WorstCase, "worst case"), (Rung::DataDependent, "data-dependent")] {
            progress.begin(format!("MNIST: residuals, {name}, {batch} at a time"), n_removals / batch);
            let plan = published_plan(data, STRENGTH, EPSILON, rung)?;
            let life = Life::begin(&plan, data.train_rows()?, setting.seed)?;
            let followed = follow(life, batch, n_removals, setting.seed, progress)?;
            lines.push(ResidualLine { name: name.to_owned(), batch, points: followed.claimed });
            if rung == Rung::DataDependent {
                measured.push(ResidualLine { name: "measured".to_owned(), batch, points: followed.measured });
            }
        }
    }
    progress.begin("MNIST: residuals, this program's own bound", n_removals);
    let life = Life::begin(&release_plan(data, STRENGTH.l2_per_row)?, data.train_rows()?, setting.seed)?;
    let ours = follow(life, 1, n_removals, setting.seed, progress)?;
    lines.push(ResidualLine { name: "Efface, instant".to_owned(), batch: 1, points: ours.claimed });
    measured.append(&mut lines);
    Ok(Residuals { strength: STRENGTH, lines: measured })
}

struct Followed {
    claimed: Vec<(usize, f64)>,
    measured: Vec<(usize, f64)>,
}

/// Removes rows and notes, after each tenth, what is claimed and what is true.
fn follow(
    mut life: Life,
    batch: usize,
    n_removals: usize,
    seed: u64,
    progress: &mut Progress<'_>,
) -> Result<Followed, ExperimentError> {
    let order = random_order(life.rows.len(), seed);
    let mut followed = Followed { claimed: Vec::new(), measured: Vec::new() };
    for (step, positions) in order[..n_removals].chunks(batch).enumerate() {
        let (report, _) = life.remove(positions)?;
        let removed = (step + 1) * batch;
        if removed.is_multiple_of(BATCH) || removed == 1 {
            followed.claimed.push((removed, report.claim.gradient_residual.get()));
            followed.measured.push((removed, life.model.measure(&life.rows)?.claim.gradient_residual.get()));
        }
        progress.step();
    }
    Ok(followed)
}
