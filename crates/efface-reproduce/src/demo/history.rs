//! A sequence of removals without settling: what each rung promises after each of them, and what is true.

use efface_core::model::{Model, ReleaseOutcome, TrainingConfig, TrainingPlan};
use efface_core::noise::NoiseSource;
use efface_core::residual::Rung;
use efface_data::MemoryRows;

use super::scenario::{Scenario, true_residual};
use super::{AccuracyHistory, ResidualHistory};
use crate::Result;
use crate::life::{Life, weights};

/// Subjects removed one after another.
const REMOVALS: usize = 30;

/// After every so many of them a model is retrained and one is released, for comparison.
const COMPARE_EVERY: usize = 5;

/// Removes subject after subject from copies of the model, one copy per rung.
pub(super) fn play(
    scenario: &Scenario,
    trained: &Model,
    noise: &mut NoiseSource,
) -> Result<(ResidualHistory, AccuracyHistory)> {
    let mut residuals = ResidualHistory::default();
    let mut measured = Vec::with_capacity(REMOVALS);
    for rung in [Rung::WorstCase, Rung::StepNorm, Rung::DataDependent, Rung::PerRow] {
        // These four take the same steps, on a Hessian formed anew each time; only their claims differ.
        let mut bounds = Vec::with_capacity(REMOVALS);
        remove_all(scenario, trained, rung, |_, model, rows| {
            bounds.push(model.claim().gradient_residual.get());
            if rung == Rung::DataDependent {
                residuals.truth.push(true_residual(model, rows)?);
                measured.push(model.measure(rows)?.claim.gradient_residual.get());
            }
            Ok(())
        })?;
        residuals.bounds.push((rung, bounds));
    }

    let mut stale = Vec::with_capacity(REMOVALS);
    let mut accuracy = AccuracyHistory::default();
    let start = scenario.data.accuracy(&weights(trained))?;
    accuracy.updated.push((0, start));
    accuracy.retrained.push((0, start));
    remove_all(scenario, trained, Rung::Stale, |k, model, rows| {
        stale.push(model.claim().gradient_residual.get());
        residuals.stale_truth.push(true_residual(model, rows)?);
        accuracy.updated.push((k, scenario.data.accuracy(&weights(model))?));
        if k % COMPARE_EVERY == 0 {
            let retrained = scenario.plan.train(rows, noise, &mut |_| {})?.model;
            accuracy.retrained.push((k, scenario.data.accuracy(&weights(&retrained))?));
            let mut released = model.clone();
            released.settle(rows, None)?;
            if let ReleaseOutcome::Published(release) = released.release(noise) {
                accuracy.released.push((k, scenario.data.accuracy(&release.weights)?));
            }
        }
        Ok(())
    })?;
    residuals.bounds.extend([(Rung::Stale, stale), (Rung::Measured, measured)]);
    residuals.bounds.sort_by_key(|(rung, _)| Rung::LADDER.iter().position(|other| other == rung));
    Ok((residuals, accuracy))
}

/// Removes the first subjects one by one from a copy of the trained model, certified by `rung`.
fn remove_all(
    scenario: &Scenario,
    trained: &Model,
    rung: Rung,
    mut after_each: impl FnMut(usize, &Model, &MemoryRows) -> Result<()>,
) -> Result<()> {
    let config = TrainingConfig { bound: Some(rung), ..scenario.plan.config().clone() };
    let model = Model::from_state(TrainingPlan::new(config)?, trained.state().clone())
        .expect("the plan differs from the one trained with in its bound only");
    let mut life = Life::new(model, scenario.data.train_rows()?);
    for k in 1..=REMOVALS {
        life.remove(&scenario.positions_of(k - 1))?;
        after_each(k, &life.model, &life.rows)?;
    }
    Ok(())
}
