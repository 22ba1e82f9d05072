//! The residual ladder on real rows, what each rung promises for one batch of 100.

use std::path::Path;

use efface_core::loss;
use efface_core::model::{Model, TrainingConfig, TrainingPlan};
use efface_core::noise::NoiseSource;
use efface_core::removal::Change;
use efface_core::residual::{Constants, Rung};
use efface_core::rows::RowStore;
use efface_data::MemoryRows;

use crate::Result;
use crate::data::mnist_3_vs_8;

/// Rows that leave in one batch.
const BATCH: usize = 100;

/// What each rung promises.
struct Ladder {
    /// Name and residual, loosest first.
    rungs: Vec<(String, f64)>,
    /// Measured residual after each further pass.
    settling: Vec<f64>,
}

impl Ladder {
    fn climb(data: &Path) -> Result<Self> {
        let config = TrainingConfig::new(&loss::Logistic, 1e-3, Some(2));
        let rows = mnist_3_vs_8(data, false)?.train;
        let plan = TrainingPlan::new(config.clone())?;
        let trained = plan.train(&rows, &mut NoiseSource::danger_fixed_seed(0), &mut |_| {})?.model;
        let positions: Vec<usize> = (0..BATCH).map(|i| i * rows.len() / BATCH).collect();
        let everyone: Vec<usize> = (0..rows.len()).collect();
        let (batch, mut remaining) = (rows.batch(&positions)?, rows.batch(&everyone)?);
        remaining.remove(&positions)?;

        let mut rungs = Vec::new();
        let cases = [
            (Rung::WorstCase, Constants::Paper),
            (Rung::StepNorm, Constants::Paper),
            (Rung::DataDependent, Constants::Paper),
            (Rung::Stale, Constants::Tight),
            (Rung::DataDependent, Constants::Tight),
            (Rung::PerRow, Constants::Tight),
            (Rung::Measured, Constants::Tight),
        ];
        for (rung, constants) in cases {
            let plan = TrainingPlan::new(TrainingConfig { bound: Some(rung), constants, ..config.clone() })?;
            let model = removed(plan, &trained, &batch, &remaining)?;
            let printed = if constants == Constants::Paper { ", printed constants" } else { "" };
            rungs.push((format!("{}{printed}", rung.tag()), model.claim().gradient_residual.get()));
        }

        let mut model = removed(plan, &trained, &batch, &remaining)?;
        let mut settling = Vec::new();
        for tolerance in [f64::MAX, 1e-4, 1e-7, 1e-10] {
            model.settle(&remaining, Some(tolerance))?;
            settling.push(model.claim().gradient_residual.get());
        }
        Ok(Self { rungs, settling })
    }
}

fn removed(plan: TrainingPlan, trained: &Model, batch: &MemoryRows, remaining: &MemoryRows) -> Result<Model> {
    let mut model = Model::from_state(plan, trained.state().clone()).expect("the plan differs in its bound only");
    model.change(&Change::remove(batch), remaining)?;
    assert_eq!(remaining.n_rows(), model.state().count.n_rows, "rows are counted alike");
    Ok(model)
}

/// The figures that the theory gives for one batch of 100 rows, each within a factor of 3: they depend on which rows
/// leave. Needs MNIST.
#[test]
fn the_ladder_on_mnist_is_where_the_theory_says() {
    let Some(data) = efface_testkit::real_data() else { return };
    let ladder = Ladder::climb(&data).expect("the MNIST files are readable");
    let residual = |name: &str| ladder.rungs.iter().find(|(rung, _)| rung == name).map_or(f64::NAN, |(_, r)| *r);
    let close = |name: &str, expected: f64| {
        let found = residual(name);
        assert!(found > expected / 3.0 && found < expected * 3.0, "{name}: {found:e}, expected about {expected:e}");
    };
    close("data-dependent, printed constants", 0.64);
    close("data-dependent", 0.12);
    close("per-row", 0.015);
    close("measured", 0.0014);
    let mut bounds = ladder.rungs.iter().filter(|(name, _)| name != "stale").map(|(_, r)| *r);
    assert!(bounds.clone().zip(bounds.by_ref().skip(1)).all(|(loose, tight)| tight < loose));
    let settled = ladder.settling.last().copied().unwrap_or(f64::NAN);
    assert!(settled < 1e-9, "settled to {settled:e}");
}
