//! Settling and retraining.

use std::time::Instant;

use efface_core::model::Phase;
use efface_core::noise::NoiseSource;
use serde::Serialize;

use crate::change_report::OutcomeTag;
use crate::error::EngineError;
use crate::model_directory::{ModelDirectory, check_is_bounded};

/// What settling led to.
#[derive(Clone, Debug, Serialize)]
pub struct SettleReport {
    /// Passes over the rows.
    pub passes: usize,
    /// Hessians that had to be formed anew.
    pub hessians: usize,
    /// Measured, upper bound.
    pub gradient_residual: f64,
    /// Distance to the retrained weights, upper bound.
    pub distance_bound: f64,
    /// Whether the model stands now.
    pub outcome: OutcomeTag,
    /// Time of the whole call.
    pub seconds: f64,
}

/// What retraining led to.
#[derive(Clone, Debug, Serialize)]
pub struct RetrainReport {
    /// Rows trained on.
    pub n_rows: usize,
    /// Measured, upper bound.
    pub gradient_residual: f64,
    /// Distance to the exact minimiser, upper bound.
    pub distance_bound: f64,
    /// Passes over the rows.
    pub iterations: usize,
    /// Time of the whole call.
    pub seconds: f64,
}

impl ModelDirectory {
    /// Measures the residual and polishes the weights until it is at most `tolerance`.
    pub fn settle(&mut self, tolerance: Option<f64>) -> Result<SettleReport, EngineError> {
        if let Some(value) = tolerance.filter(|value| !(*value > 0.0 && value.is_finite())) {
            return Err(EngineError::Tolerance { value });
        }
        let start = Instant::now();
        let report = self.transaction(|this| {
            let settled = this.model.settle(&this.rows, tolerance)?;
            this.commit_state(|_, _| Ok(()))?;
            Ok(SettleReport {
                passes: settled.passes,
                hessians: settled.hessians,
                gradient_residual: settled.claim.gradient_residual.get(),
                distance_bound: settled.claim.distance_bound.get(),
                outcome: this.model.outcome().into(),
                seconds: start.elapsed().as_secs_f64(),
            })
        })?;
        self.purge()?;
        Ok(report)
    }

    /// Trains again from zero on the rows that are left, with a fresh perturbation under mechanism `objective`. What
    /// earlier releases spent stays spent.
    pub fn retrain(
        &mut self,
        noise: &mut NoiseSource,
        report: &mut dyn FnMut(Phase),
    ) -> Result<RetrainReport, EngineError> {
        let start = Instant::now();
        let report = self.transaction(|this| {
            let account = this.model.state().account;
            let trained = this.model.plan().train_again(&this.rows, noise, report)?;
            check_is_bounded(&trained.model)?;
            this.model = trained.model.with_account(account);
            this.commit_state(|_, _| Ok(()))?;
            let claim = this.model.claim();
            Ok(RetrainReport {
                n_rows: this.model.state().count.n_rows,
                gradient_residual: claim.gradient_residual.get(),
                distance_bound: claim.distance_bound.get(),
                iterations: trained.iterations,
                seconds: start.elapsed().as_secs_f64(),
            })
        })?;
        self.purge()?;
        Ok(report)
    }
}
