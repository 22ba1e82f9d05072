//! Settling and retraining.

use std::time::Instant;

use efface_core::model::{Model, Outcome, Phase, ReleaseAccount, TrainingConfig, TrainingPlan};
use efface_core::noise::NoiseSource;
use efface_core::rows::RowStore;
use efface_data::VaultError;
use efface_data::derived::Constants;
use serde::Serialize;

use super::Life;
use super::guard::check_is_bounded;
use crate::error::{ChangeError, EngineError, StorageError};
use crate::history::Kept;
use crate::settings::{Settings, absent_classes};

/// What settling led to.
#[derive(Clone, Debug, Serialize)]
pub struct SettleReport {
    /// Passes over the rows.
    pub passes: usize,
    /// Whether location, scale or categories of a column had changed with the rows, and the model was trained again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub constants_changed: bool,
    /// Hessians that had to be formed anew.
    pub hessians: usize,
    /// Measured, upper bound.
    pub gradient_residual: f64,
    /// Distance to the retrained weights, upper bound.
    pub distance_bound: f64,
    /// Whether the model stands now.
    pub outcome: Outcome,
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

impl Life<'_> {
    /// Measures the residual and polishes the weights until it is at most `tolerance`; `None`: the plan's.
    pub fn settle(&mut self, tolerance: Option<f64>) -> Result<SettleReport, EngineError> {
        if let Some(value) = tolerance.filter(|value| !(*value > 0.0 && value.is_finite())) {
            return Err(ChangeError::Tolerance { value }.into());
        }
        let start = Instant::now();
        self.keeper.check_usable()?;
        let constants_changed = self.follow_constants()?;
        let settled = self.over_rows(|model, rows| model.settle(rows, tolerance))??;
        self.commit_weights(false)?;
        Ok(SettleReport {
            passes: settled.passes,
            constants_changed,
            hessians: settled.hessians,
            gradient_residual: settled.claim.gradient_residual.get(),
            distance_bound: settled.claim.distance_bound.get(),
            outcome: self.model.outcome(),
            seconds: start.elapsed().as_secs_f64(),
        })
    }

    /// Trains again from zero on the rows that are left, with a fresh perturbation under mechanism `objective`. What
    /// earlier releases spent stays spent.
    pub fn retrain(
        &mut self,
        noise: &mut NoiseSource,
        report: &mut dyn FnMut(Phase),
    ) -> Result<RetrainReport, EngineError> {
        let start = Instant::now();
        self.keeper.check_usable()?;
        let before = self.rows.derive()?;
        let trained = self.rows.sum(|rows| {
            let trained = self.model.plan().train_again(rows, noise, report)?;
            check_is_bounded(&trained.model).map(|()| trained)
        });
        let trained = self.or_encode_by(before, trained)?;
        *self.model = trained.model.with_account(self.model.state().account);
        self.commit_weights(true)?;
        let claim = self.model.claim();
        Ok(RetrainReport {
            n_rows: self.model.state().count.n_rows,
            gradient_residual: claim.gradient_residual.get(),
            distance_bound: claim.distance_bound.get(),
            iterations: trained.iterations,
            seconds: start.elapsed().as_secs_f64(),
        })
    }

    pub(super) fn commit_weights(&mut self, is_stale: bool) -> Result<(), EngineError> {
        let of = Kept { settings: self.settings, model: self.model, preparation: self.rows.preparation() };
        self.keeper.commit_weights(is_stale, of)
    }

    /// Trains again where rows that came or left have changed the constants by which all are encoded, as training without
    /// them would have found them. Whether that was so.
    pub(super) fn follow_constants(&mut self) -> Result<bool, EngineError> {
        let Some(before) = self.rows.derive()? else { return Ok(false) };
        let (account, class_counts) = (self.model.state().account, &self.keeper.history().class_counts);
        let trained = self.rows.sum(|rows| train_again(self.settings, rows, class_counts, account));
        *self.model = self.or_encode_by(Some(before), trained)?;
        self.commit_weights(true)?;
        Ok(true)
    }

    /// What was trained under new constants; where nothing was, rows are encoded as `before` again, as the model knows them.
    pub(super) fn or_encode_by<T, E: Into<EngineError>>(
        &mut self,
        before: Option<Constants>,
        trained: Result<Result<T, E>, VaultError>,
    ) -> Result<T, EngineError> {
        let trained = trained.map_err(EngineError::from).and_then(|trained| trained.map_err(Into::into));
        if let (Err(_), Some(before)) = (&trained, before) {
            self.rows.encode_by(before);
        }
        trained
    }

    /// Changes the model by sums over rows that are the same before and after. If they are not, what is known of the
    /// weights is known of other rows: the model is not to be used again.
    pub(super) fn over_rows<T>(
        &mut self,
        operation: impl FnOnce(&mut Model, &dyn RowStore) -> T,
    ) -> Result<T, EngineError> {
        self.rows.check()?;
        let done = self.pass(operation);
        if let Err(changed) = self.rows.check() {
            self.keeper.give_up();
            return Err(changed.into());
        }
        done
    }

    /// The same without a look at whether the rows are what they were.
    pub(super) fn pass<T>(&mut self, operation: impl FnOnce(&mut Model, &dyn RowStore) -> T) -> Result<T, EngineError> {
        let (mut operation, mut done) = (Some(operation), None);
        self.rows.pass(&mut |rows| done = operation.take().map(|operation| operation(self.model, rows)));
        done.ok_or(EngineError::Storage(StorageError::Damaged))
    }
}

/// A model trained on the rows that are there, without the classes that have none. What was spent stays spent.
pub(crate) fn train_again(
    settings: &Settings,
    rows: &dyn RowStore,
    class_counts: &[usize],
    account: ReleaseAccount,
) -> Result<Model, EngineError> {
    let absent_classes = absent_classes(class_counts).collect();
    let plan = TrainingPlan::new(TrainingConfig { absent_classes, ..settings.config.clone() })?;
    let trained = plan.train_again(rows, &mut NoiseSource::from_system()?, &mut |_| {})?;
    check_is_bounded(&trained.model)?;
    Ok(trained.model.with_account(account))
}
