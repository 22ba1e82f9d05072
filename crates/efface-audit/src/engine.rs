//! What is attacked: an engine that trains, removes and releases, and the life of a model under it.

use efface_core::model::{Model, Release, ReleaseAccount, ReleaseOutcome, TrainingPlan};
use efface_core::noise::NoiseSource;
use efface_core::removal::Change;
use efface_core::rows::{RowBlocks, RowStore};

use crate::error::AuditError;
use crate::rows::{DenseRows, HiddenRows};

/// A story to play in both worlds: rows, a trained model of them, and one removal or several, each followed by a release.
#[derive(Clone)]
pub struct Case<'a> {
    /// Which rows are removed, in words that identify none.
    pub name: String,
    /// All rows.
    pub rows: &'a dyn RowBlocks,
    /// A model of all rows.
    pub trained: &'a Model,
    /// For each release the positions that are removed before it.
    pub removals: Vec<Vec<usize>>,
    /// How far to settle before a release; `None`: as the plan asks.
    pub tolerance: Option<f64>,
}

/// An engine under audit: train, remove, release. Every method has the sound behaviour; [`crate::broken`] has others.
pub trait Engine: Sync {
    /// What it is, in a few words.
    fn name(&self) -> &'static str;

    /// The secret model before each release, in the world in which rows were trained on and then removed.
    fn remove(&self, case: &Case<'_>) -> Result<Vec<Secret>, AuditError> {
        remove_by_steps(case)
    }

    /// The secret model before each release, in the world in which it was trained on the remaining rows only.
    fn retrain(&self, case: &Case<'_>) -> Result<Vec<Secret>, AuditError> {
        retrain_each_time(case)
    }

    /// Releases each of the models once, in order and on one account.
    fn release(&self, secrets: &mut [Secret], noise: &mut NoiseSource) -> Result<Vec<Release>, AuditError> {
        release_in_order(secrets, noise)
    }
}

/// Efface as it is.
pub struct Sound;

impl Engine for Sound {
    fn name(&self) -> &'static str {
        "Efface as it is"
    }
}

/// A secret model that is released again and again, each time as if for the first time.
#[derive(Clone)]
pub struct Secret(Option<Model>);

impl Secret {
    /// Takes a model over.
    pub fn new(model: Model) -> Self {
        Self(Some(model))
    }

    /// The model.
    #[expect(clippy::missing_panics_doc, reason = "a model is always put back")]
    pub fn model(&self) -> &Model {
        self.0.as_ref().expect("a model is always put back")
    }

    /// The secret weights, one problem after the other.
    pub fn weights(&self) -> Vec<f64> {
        self.model().weights().iter().flat_map(|weights| weights.to_vec()).collect()
    }

    /// The same without matrices, which a release does not need: light enough to be copied for every thread.
    pub(crate) fn without_matrices(&self) -> Result<Self, AuditError> {
        let mut state = self.model().state().clone();
        state.gram = None;
        for fit in &mut state.fits {
            fit.curvature = None;
        }
        Model::from_state(self.model().plan().clone(), state).map(Self::new).ok_or(AuditError::State)
    }

    /// Upper bound of the distance to the exact weights, as the model itself verifies it.
    pub fn distance_bound(&self) -> f64 {
        self.model().claim().distance_bound.get()
    }

    /// Releases the model after what `account` says was released before, and returns the account after it.
    fn release(
        &mut self,
        account: ReleaseAccount,
        noise: &mut NoiseSource,
    ) -> Result<(Release, ReleaseAccount), AuditError> {
        let mut model = self.0.take().ok_or(AuditError::State)?.with_account(account);
        let outcome = model.release(noise);
        let account = model.state().account;
        self.0 = Some(model);
        match outcome {
            ReleaseOutcome::Published(release) => Ok((release, account)),
            ReleaseOutcome::BudgetExhausted { .. } => Err(AuditError::Refused { outcome: "budget-exhausted" }),
            ReleaseOutcome::OutOfReach { .. } => Err(AuditError::Refused { outcome: "out-of-reach" }),
            ReleaseOutcome::OneClass => Err(AuditError::Refused { outcome: "one-class" }),
            ReleaseOutcome::Singular { .. } => Err(AuditError::Refused { outcome: "singular" }),
            ReleaseOutcome::RetrainRequired { .. } => Err(AuditError::Refused { outcome: "retrain-required" }),
            ReleaseOutcome::ExtractorExhausted { .. } => Err(AuditError::Refused { outcome: "extractor-exhausted" }),
            ReleaseOutcome::OffLattice { .. } => Err(AuditError::Refused { outcome: "off-lattice" }),
        }
    }
}

/// Trains, removes step by step, and settles before each release, as `efface remove` and `efface release` do.
pub(crate) fn remove_by_steps(case: &Case<'_>) -> Result<Vec<Secret>, AuditError> {
    let mut model = case.trained.clone().with_account(ReleaseAccount::default());
    let mut gone = Vec::new();
    let mut secrets = Vec::with_capacity(case.removals.len());
    for removal in &case.removals {
        let mut removal = removal.clone();
        removal.sort_unstable();
        let batch = DenseRows::read(case.rows, &removal)?;
        gone.extend(removal);
        let left = HiddenRows::new(case.rows, &gone)?;
        if !batch.is_empty() {
            model.change(&Change::remove(&batch), &left)?;
        }
        match case.tolerance {
            Some(tolerance) => drop(model.settle(&left, Some(tolerance))?),
            None => drop(model.settle_before_release(&left)?),
        }
        secrets.push(Secret::new(model.clone()));
    }
    Ok(secrets)
}

/// Trains from scratch on the rows that are left before each release, as exactly as rounding allows.
pub(crate) fn retrain_each_time(case: &Case<'_>) -> Result<Vec<Secret>, AuditError> {
    let mut gone = Vec::new();
    let mut secrets = Vec::with_capacity(case.removals.len());
    for removal in &case.removals {
        gone.extend(removal);
        let left = HiddenRows::new(case.rows, &gone)?;
        secrets.push(Secret::new(train_exactly(case.trained.plan(), &left)?));
    }
    Ok(secrets)
}

/// Trains, and settles as far as rounding allows.
pub(crate) fn train_exactly(plan: &TrainingPlan, rows: &dyn RowStore) -> Result<Model, AuditError> {
    // Mechanism `release` draws nothing while it trains.
    let mut model = plan.train(rows, &mut NoiseSource::danger_fixed_seed(0), &mut |_| {})?.model;
    model.settle(rows, Some(f64::MIN_POSITIVE))?;
    Ok(model)
}

/// Releases each model once; what one spends the next one counts.
pub(crate) fn release_in_order(secrets: &mut [Secret], noise: &mut NoiseSource) -> Result<Vec<Release>, AuditError> {
    let mut account = ReleaseAccount::default();
    let mut releases = Vec::with_capacity(secrets.len());
    for secret in secrets {
        let (release, after) = secret.release(account, noise)?;
        account = after;
        releases.push(release);
    }
    Ok(releases)
}

/// Whether a model can be audited at all.
pub(crate) fn check_mechanism(plan: &TrainingPlan) -> Result<(), AuditError> {
    if plan.is_objective() {
        return Err(AuditError::Mechanism { found: plan.config().mechanism.tag() });
    }
    Ok(())
}
