//! What is attacked: an engine that trains, removes and releases, and the life of a model under it.

use efface_core::model::{Model, ModelState, Release, ReleaseAccount, TrainingPlan};
use efface_core::noise::NoiseSource;
use efface_core::removal::Change;
use efface_core::rows::{RowBlocks, RowStore};

use crate::error::AuditError;
use crate::rows::{HiddenRows, read};

/// A story to play in both worlds: rows, a trained model of them, and one removal or several, each followed by a release.
#[derive(Clone)]
pub(crate) struct Case<'a> {
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

/// An engine under audit: train, remove, release. [`SOUND`] is Efface as it is; [`crate::broken`] has others.
///
/// Models are secret here, and each is released again and again, each time as if for the first time.
#[derive(Clone, Copy)]
pub(crate) struct Engine {
    /// What it is, in a few words.
    pub(crate) name: &'static str,
    /// The model before each release, in the world in which rows were trained on and then removed.
    pub(crate) remove: fn(&Case<'_>) -> Result<Vec<Model>, AuditError>,
    /// The model before each release, in the world in which it was trained on the remaining rows only.
    pub(crate) retrain: fn(&Case<'_>) -> Result<Vec<Model>, AuditError>,
    /// Releases each of the models once, in order and on one account.
    pub(crate) release: fn(&mut [Model], &mut NoiseSource) -> Result<Vec<Release>, AuditError>,
}

/// Efface as it is.
pub(crate) const SOUND: Engine =
    Engine { name: "Efface as it is", remove: remove_by_steps, retrain: retrain_each_time, release: release_in_order };

/// The weights of a model, one problem after the other.
pub(crate) fn weights_of(model: &Model) -> Vec<f64> {
    model.weights().iter().flat_map(|weights| weights.to_vec()).collect()
}

/// Upper bound of a model's distance to the exact weights, as it verifies it itself.
pub(crate) fn distance_bound_of(model: &Model) -> f64 {
    model.claim().distance_bound.get()
}

/// The model in another state.
pub(crate) fn with_state(model: &Model, state: ModelState) -> Result<Model, AuditError> {
    Model::from_state(model.plan().clone(), state).ok_or(AuditError::State)
}

/// The model without matrices, which a release does not need: light enough to be copied for every thread.
pub(crate) fn without_matrices(model: &Model) -> Result<Model, AuditError> {
    let mut state = model.state().clone();
    state.gram = None;
    for fit in &mut state.fits {
        fit.curvature = None;
    }
    with_state(model, state)
}

/// Trains, removes step by step, and settles before each release, as a model directory does.
pub(crate) fn remove_by_steps(case: &Case<'_>) -> Result<Vec<Model>, AuditError> {
    let mut model = case.trained.clone().with_account(ReleaseAccount::default());
    let mut gone = Vec::new();
    let mut models = Vec::with_capacity(case.removals.len());
    for removal in &case.removals {
        let mut removal = removal.clone();
        removal.sort_unstable();
        let batch = read(case.rows, &removal)?;
        gone.extend(removal);
        let left = HiddenRows::new(case.rows, &gone)?;
        if !batch.is_empty() {
            model.change(&Change::remove(&batch), &left)?;
        }
        match case.tolerance {
            Some(tolerance) => drop(model.settle(&left, Some(tolerance))?),
            None => drop(model.settle_before_release(&left)?),
        }
        models.push(model.clone());
    }
    Ok(models)
}

/// Trains from scratch on the rows that are left before each release, as exactly as rounding allows.
pub(crate) fn retrain_each_time(case: &Case<'_>) -> Result<Vec<Model>, AuditError> {
    let mut gone = Vec::new();
    let mut retrained = |removal: &Vec<usize>| {
        gone.extend(removal);
        train_exactly(case.trained.plan(), &HiddenRows::new(case.rows, &gone)?)
    };
    case.removals.iter().map(&mut retrained).collect()
}

/// Trains, and settles as far as rounding allows.
pub(crate) fn train_exactly(plan: &TrainingPlan, rows: &dyn RowStore) -> Result<Model, AuditError> {
    let mut model = train(plan, rows)?;
    model.settle(rows, Some(f64::MIN_POSITIVE))?;
    Ok(model)
}

/// Trains as a user does.
pub(crate) fn train(plan: &TrainingPlan, rows: &dyn RowStore) -> Result<Model, AuditError> {
    // Mechanism `release` draws nothing while it trains.
    Ok(plan.train(rows, &mut NoiseSource::danger_fixed_seed(0), &mut |_| {})?.model)
}

/// Releases each model once; what one spends the next one counts.
pub(crate) fn release_in_order(models: &mut [Model], noise: &mut NoiseSource) -> Result<Vec<Release>, AuditError> {
    let mut account = ReleaseAccount::default();
    let mut release = |model: &mut Model| {
        model.set_account(account);
        let outcome = model.release(noise);
        account = model.state().account;
        outcome.into_result().map_err(|refused| AuditError::Refused { outcome: refused.outcome })
    };
    models.iter_mut().map(&mut release).collect()
}

/// The weights that one release of a model publishes.
pub(crate) fn released(model: &Model, noise: &mut NoiseSource) -> Result<Vec<Vec<f64>>, AuditError> {
    Ok(release_in_order(&mut [model.clone()], noise)?.remove(0).weights)
}

/// Whether a model can be audited at all.
pub(crate) fn check_mechanism(plan: &TrainingPlan) -> Result<(), AuditError> {
    if plan.is_objective() {
        return Err(AuditError::Mechanism { found: plan.config().mechanism.kind().tag() });
    }
    Ok(())
}
