//! A trained model that can forget: one fit per problem, one Gram matrix for all, and one joint claim.

mod choices;
mod fit;
mod influence;
mod plan;
mod plan_error;
mod release;
mod release_outcome;
mod scale;
mod settle;
mod training;

pub use choices::{BudgetRule, Mechanism, MechanismKind, MultiClass};
pub use fit::Fit;
pub use plan::{TrainingConfig, TrainingPlan};
pub use plan_error::PlanError;
pub use release::{Release, ReleaseAccount, ReleaseClaim};
pub use release_outcome::{Excess, Refusal, Refused, ReleaseOutcome};
pub use settle::{Measured, Settled};
pub use training::{TrainError, Trained};

pub use crate::train::Phase;

use std::borrow::Cow;

use crate::curvature::Dense;
use crate::exact::ExactSums;
use crate::linalg::{TrackedMatrix, largest_eigenvalue};
use crate::objective::Objective;
use crate::removal::{self, Change, FitChange, StepContext};
use crate::residual::Rung;
use crate::rounding::{LowerBound, UpperBound};
use crate::rows::{RowCount, RowStore, Sign, StoreError};
use crate::secret::SecretVector;
use crate::sums::{GramSum, SumError};

/// The secret state of a model: everything that must be kept to remove rows later. Never published.
#[derive(Clone, Debug)]
pub struct ModelState {
    /// Rows present, and what they weigh.
    pub count: RowCount,
    /// One fit per problem; none where removal is exact.
    pub fits: Vec<Fit>,
    /// Where removal is exact: all that is kept of the rows, and what weights are computed from.
    pub sums: Option<ExactSums>,
    /// `Σ s_i x_i x_iᵀ` over all rows present; `None` when there are too many features for a matrix.
    pub gram: Option<TrackedMatrix>,
    /// Upper bound of ‖X‖₂², each row of X times √s_i.
    pub design_norm_squared: UpperBound,
    /// R: bound on the norm of every row.
    pub row_norm: UpperBound,
    /// The rung that the current claim rests on.
    pub rung: Rung,
    /// Whether every random number so far came from the operating system.
    pub certified: bool,
    /// What releases have spent.
    pub account: ReleaseAccount,
}

/// A plan and the secret state that it led to.
#[derive(Clone, Debug)]
pub struct Model {
    plan: TrainingPlan,
    state: ModelState,
}

/// What a change of the rows led to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangeReport {
    /// What is claimed now.
    pub claim: Claim,
    /// Whether the model still stands.
    pub outcome: Outcome,
}

/// The current claim of a model, jointly over its problems.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Claim {
    /// Upper bound of the gradient's norm, `√(Σ_k ‖∇L_k‖²)`.
    pub gradient_residual: UpperBound,
    /// Upper bound of the distance to the exactly retrained weights, `√(Σ_k r_k²)`.
    pub distance_bound: UpperBound,
    /// What the claim rests on.
    pub rung: Rung,
}

/// Whether a model still stands after a change. Not an error: both are answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The claim is within its budget, or has none.
    Done,
    /// Mechanism `objective`: the residual exceeds the budget; train again with a fresh perturbation. Or more rows have left
    /// than a private feature extractor covers; train another one.
    RetrainRequired,
}

impl Model {
    /// A model from a plan and a state that was kept; `None` when they do not fit each other.
    pub fn from_state(plan: TrainingPlan, state: ModelState) -> Option<Self> {
        let problems = plan.problems();
        if let Some(sums) = &state.sums {
            let fits = plan.is_exact() && sums.problems() == problems && state.fits.is_empty() && state.gram.is_none();
            return fits.then_some(Self { plan, state });
        }
        let dim = state.fits.first()?.dim();
        let fits = !plan.is_exact()
            && state.fits.len() == problems.len()
            && state.gram.as_ref().is_none_or(|gram| gram.dim() == dim)
            && state.fits.iter().zip(&problems).all(|(fit, problem)| {
                let (curvature, n_weights) = (fit.curvature.as_ref(), dim * problem.n_scores());
                fit.problem == *problem
                    && fit.weights.len() == n_weights
                    && fit.gradient.len() == n_weights
                    && fit.perturbation.as_ref().is_none_or(|b| b.len() == n_weights)
                    && curvature.is_none_or(|c| c.anchor.len() == n_weights && c.hessian.dim() == n_weights)
            });
        fits.then_some(Self { plan, state })
    }

    /// The same model with what earlier releases spent: retraining does not take a release back.
    #[must_use]
    pub fn with_account(mut self, account: ReleaseAccount) -> Self {
        self.set_account(account);
        self
    }

    /// Takes over what releases have spent, as far as anybody knows.
    pub fn set_account(&mut self, account: ReleaseAccount) {
        self.state.account = account;
    }

    /// What was asked for.
    pub fn plan(&self) -> &TrainingPlan {
        &self.plan
    }

    /// The secret state, to be kept.
    pub fn state(&self) -> &ModelState {
        &self.state
    }

    /// d.
    pub fn dim(&self) -> usize {
        match &self.state.sums {
            Some(sums) => sums.dim(),
            None => self.state.fits.first().map_or(0, Fit::dim),
        }
    }

    /// The secret weights, one vector per problem, class after class in a joint one; none while exact sums wait for a pass over the rows.
    pub fn weights(&self) -> Vec<SecretVector> {
        match &self.state.sums {
            Some(sums) => sums.weights(self.exact_ridge()).unwrap_or_default(),
            None => self.state.fits.iter().map(|fit| fit.weights.clone()).collect(),
        }
    }

    /// What the weights minimise, with what is known of the rows.
    pub(crate) fn objective(&self) -> Objective<'static> {
        Objective { square_sum: self.state.gram.as_ref().map(TrackedMatrix::square_sum), ..self.plan.objective() }
    }

    /// λ·n.
    fn exact_ridge(&self) -> f64 {
        self.plan.config().ridge.over(self.state.count.weight_sum)
    }

    /// One fit per problem, made from the sums where removal is exact: for estimates, not for claims.
    fn fits(&self) -> Cow<'_, [Fit]> {
        let Some(sums) = &self.state.sums else { return Cow::Borrowed(&self.state.fits) };
        let (weights, hessian) = (self.weights(), sums.hessian());
        let fit = |(problem, weights): (_, SecretVector)| Fit {
            problem,
            count: self.state.count,
            perturbation: None,
            gradient: SecretVector::zeros(weights.len()),
            gradient_error: UpperBound::ZERO,
            curvature: hessian.clone().and_then(|h| Dense::new(weights.clone(), h, self.exact_ridge())),
            weights,
        };
        self.plan.problems().into_iter().zip(weights).map(fit).collect()
    }

    /// What is claimed now, jointly: K problems are one Gaussian in R^{dK}, so squares add up. Where removal is exact,
    /// nothing is left of rows that were removed.
    pub fn claim(&self) -> Claim {
        if self.state.sums.is_some() {
            let nothing = UpperBound::ZERO;
            return Claim { gradient_residual: nothing, distance_bound: nothing, rung: Rung::Exact };
        }
        let objective = self.objective();
        let joint = |part: &dyn Fn(&Fit) -> UpperBound| {
            let squares: UpperBound = self.state.fits.iter().map(|fit| part(fit).squared()).sum();
            if let [fit] = &self.state.fits[..] { part(fit) } else { squares.sqrt() }
        };
        Claim {
            gradient_residual: joint(&Fit::residual),
            distance_bound: joint(&|fit| fit.distance_bound(&objective)),
            rung: self.state.rung,
        }
    }

    /// Largest residual that the perturbation covers, under mechanism `objective`.
    pub fn removal_budget(&self) -> Option<LowerBound> {
        self.plan.removal_budget()
    }

    /// Whether the current claim is within the budget, and a private extractor covers the rows that left, where there are such.
    pub fn outcome(&self) -> Outcome {
        let over = self.removal_budget().is_some_and(|budget| self.claim().gradient_residual.get() > budget.get());
        if over || self.uncovered_extractor().is_some() { Outcome::RetrainRequired } else { Outcome::Done }
    }

    /// Removes and adds rows by one Newton step per problem.
    ///
    /// `rows` are the rows after the change; mechanism `release` with its default bound does not read them. After an
    /// error the model is as it was: what is read is read before anything is changed, and where a bound asks for the rows
    /// after the step, the state before it is kept meanwhile. That copy is small beside the pass over the rows that such a
    /// bound makes: at 11,982 × 784 it takes 0.8 ms of the 11 of `measured`, and 0.9 of the 250 of `per-row`. The default
    /// bound, whose step takes 0.6 ms there, makes none.
    pub fn change(&mut self, change: &Change<'_>, rows: &dyn RowStore) -> Result<ChangeReport, StoreError> {
        let (objective, rung, dim) = (self.objective(), self.plan.rung(), self.dim());
        if let Some((_, part)) = change.parts().find(|(_, part)| part.dim() != dim) {
            return Err(SumError::Dimension { expected: dim, got: part.dim() }.into());
        }
        let grams: Vec<(Sign, GramSum)> = match &self.state.gram {
            Some(_) => {
                change.parts().map(|(sign, rows)| Ok((sign, rows.gram()?))).collect::<Result<_, StoreError>>()?
            }
            None => Vec::new(),
        };
        let changes = removal::read(&self.state.fits, change, rung, &objective, rows)?;
        if let Some(sums) = &mut self.state.sums {
            sums.change(change)?;
        }
        let before = matches!(rung, Rung::PerRow | Rung::Measured).then(|| self.state.clone());
        let stepped = self.step(change, &grams, changes, rows);
        if let (Err(_), Some(before)) = (&stepped, before) {
            self.state = before;
        }
        stepped?;
        Ok(ChangeReport { claim: self.claim(), outcome: self.outcome() })
    }

    /// The change itself, given all that it reads of the changed rows. Fails only where the rung asks for the rows after the
    /// step.
    fn step(
        &mut self,
        change: &Change<'_>,
        grams: &[(Sign, GramSum)],
        changes: Vec<FitChange>,
        rows: &dyn RowStore,
    ) -> Result<(), StoreError> {
        let state = &mut self.state;
        if let Some(gram) = state.gram.as_mut() {
            for (sign, sum) in grams {
                gram.update(sum, *sign)?;
            }
        }
        if let Some(added) = change.added {
            state.row_norm = state.row_norm.max(added.row_norm_bound());
            // ‖X‖² grows by at most the squared norms of the new rows, and never by a removal.
            let arriving = added.row_count();
            state.design_norm_squared += arriving.weight_sum.upper() * state.row_norm.squared();
            state.count.merge(&arriving);
        }
        if let Some(removed) = change.removed {
            let leaving = removed.row_count();
            state.count = state.count.without(&leaving);
            state.account.n_left = state.account.n_left.saturating_add(leaving.n_rows);
        }
        let whole = state.count.weight_sum.upper() * state.row_norm.squared();
        state.design_norm_squared = state.design_norm_squared.min(whole);
        let context = StepContext {
            objective: Objective {
                square_sum: state.gram.as_ref().map(TrackedMatrix::square_sum),
                ..self.plan.objective()
            },
            change: self.plan.curvature_change(state.row_norm),
            rung: self.plan.rung(),
            gram: state.gram.as_ref(),
            design_norm_squared: state.design_norm_squared,
            rows,
        };
        if let Some(rung) = removal::step(&mut state.fits, changes, &context)? {
            state.rung = rung;
        }
        Ok(())
    }

    /// Lets classes go whose last row has left. The problem of another class does not change when a class has no rows:
    /// its rows are negatives there, and there are none of them. Classes that are taken together are to be
    /// [trained anew](TrainingPlan::must_train_without) instead.
    pub fn drop_classes(&mut self, absent: impl IntoIterator<Item = u32>) {
        let mut gone = self.plan.config().absent_classes.clone();
        let new = absent.into_iter().filter(|class| !gone.contains(class)).collect::<Vec<_>>();
        if new.is_empty() {
            return;
        }
        gone.extend(new);
        self.plan = self.plan.without_classes(gone);
        let problems = self.plan.problems();
        self.state.fits.retain(|fit| problems.contains(&fit.problem));
        if let Some(sums) = &mut self.state.sums {
            sums.retain_problems(&problems);
        }
    }

    /// Bounds ‖X‖₂ again from the Gram matrix as it is now.
    fn bound_design(&mut self) {
        if let Some(gram) = &self.state.gram {
            self.state.design_norm_squared = largest_eigenvalue(gram);
        }
    }
}
