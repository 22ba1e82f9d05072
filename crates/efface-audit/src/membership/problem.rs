//! A problem on which membership shows: few rows, more features than rows, little regularization, little noise.

use efface_core::loss;
use efface_core::model::{TrainingConfig, TrainingPlan};
use efface_core::noise::{NoiseLaw, NoiseSource};
use efface_core::rounding::UpperBound;

use crate::error::AuditError;
use crate::rows::DenseRows;

const ROWS: usize = 40;
const DIM: usize = 128;
const L2: f64 = 2e-3;

/// Plan, rows, and the examples to attack.
pub fn built_in(n_examples: usize) -> Result<(TrainingPlan, DenseRows, Vec<usize>), AuditError> {
    let plan = TrainingPlan::new(TrainingConfig::new(&loss::Logistic, L2, Some(2)))?;
    let mut noise = NoiseSource::danger_fixed_seed(20_220_414);
    let mut rows = DenseRows::new(DIM, UpperBound::new(1.0 + 1e-6));
    for _ in 0..ROWS {
        let row = NoiseLaw::Gaussian.sample(DIM, 1.0, &mut noise).to_vec();
        let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt();
        let row: Vec<f64> = row.iter().map(|x| x / norm).collect();
        // A weak rule and much chance: a model can know such a label by heart only.
        let score = row[0] + 0.3 * NoiseLaw::Gaussian.sample(1, 1.0, &mut noise)[0];
        rows.push(&row, f64::from(u8::from(score > 0.0)));
    }
    Ok((plan, rows, (0..n_examples.min(ROWS)).collect()))
}
