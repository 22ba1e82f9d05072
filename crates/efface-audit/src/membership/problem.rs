//! A problem on which membership shows: few rows, more features than rows, little regularization, little noise.

use efface_core::loss;
use efface_core::model::{TrainingConfig, TrainingPlan};
use efface_core::noise::{NoiseLaw, NoiseSource};
use efface_data::MemoryRows;

use crate::dense::normalized;
use crate::error::AuditError;
use crate::rows::of_norm_one;

const ROWS: usize = 40;
const DIM: usize = 128;
const L2: f64 = 2e-3;

/// Plan, rows, and the examples to attack.
pub(crate) fn built_in(n_examples: usize) -> Result<(TrainingPlan, MemoryRows, Vec<usize>), AuditError> {
    let plan = TrainingPlan::new(TrainingConfig::new(&loss::Logistic, L2, Some(2)))?;
    let mut noise = NoiseSource::danger_fixed_seed(20_220_414);
    let rows = (0..ROWS).map(|_| {
        let row = normalized(&NoiseLaw::Gaussian.sample(DIM, 1.0, &mut noise));
        // A weak rule and much chance: a model can know such a label by heart only.
        let score = row[0] + 0.3 * NoiseLaw::Gaussian.sample(1, 1.0, &mut noise)[0];
        (row, f64::from(u8::from(score > 0.0)))
    });
    Ok((plan, of_norm_one(DIM, rows), (0..n_examples.min(ROWS)).collect()))
}
