//! Instant removal does not depend on the number of rows: the same d, twenty times the rows, interleaved in one run.

use efface_core::loss;
use efface_core::model::{Model, TrainingConfig, TrainingPlan};
use efface_core::noise::NoiseSource;
use efface_core::removal::Change;
use efface_core::rows::RowStore;
use efface_data::MemoryRows;

use crate::measure::{median, timed};
use crate::rows::synthetic;

const DIM: usize = 256;
const REMOVALS: usize = 400;

pub(crate) fn run() -> anyhow::Result<()> {
    let plan = TrainingPlan::new(TrainingConfig::new(&loss::Logistic, 1e-3, Some(2)))?;
    let mut small = Subject::new(&plan, 10_000)?;
    let mut large = Subject::new(&plan, 200_000)?;
    for i in 0..REMOVALS {
        small.remove(i * 7)?;
        large.remove(i * 151)?;
    }
    let (small_ms, large_ms) = (1e3 * median(small.times.clone()), 1e3 * median(large.times.clone()));
    println!("instant removal, d = {DIM}, single precision, medians of {REMOVALS} interleaved removals");
    println!("  n = {:7}  {small_ms:.3} ms", 10_000);
    println!("  n = {:7}  {large_ms:.3} ms   ratio {:.2}", 200_000, large_ms / small_ms);
    Ok(())
}

struct Subject {
    rows: MemoryRows,
    model: Model,
    times: Vec<f64>,
}

impl Subject {
    fn new(plan: &TrainingPlan, n_rows: usize) -> anyhow::Result<Self> {
        let rows = synthetic(n_rows, DIM)?;
        let (trained, seconds) = timed(|| plan.train(&rows, &mut NoiseSource::danger_fixed_seed(0), &mut |_| {}));
        let trained = trained?;
        let residual = trained.model.claim().gradient_residual.get();
        println!("  trained n = {} in {:.0} ms, gradient ≤ {residual:.1e}", rows.n_rows(), 1e3 * seconds);
        Ok(Self { rows, model: trained.model, times: Vec::new() })
    }

    fn remove(&mut self, position: usize) -> anyhow::Result<()> {
        let (done, seconds) = timed(|| -> anyhow::Result<()> {
            let batch = self.rows.batch(&[position])?;
            self.rows.remove(&[position])?;
            self.model.change(&Change::remove(&batch), &self.rows)?;
            Ok(())
        });
        self.times.push(seconds);
        done
    }
}
