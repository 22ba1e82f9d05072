//! Training a plan on rows.

use super::{Curvature, Fit, Model, ModelState, ReleaseAccount, TrainingPlan};
use crate::exact::ExactSums;
use crate::linalg::{Cholesky, TrackedMatrix, largest_eigenvalue};
use crate::noise::NoiseSource;
use crate::objective::Objective;
use crate::residual::Rung;
use crate::rounding::{LowerBound, UpperBound};
use crate::rows::{Problem, RowStore, StoreError, WeightSum};
use crate::secret::SecretVector;
use crate::train::{Descent, polish};

/// A freshly trained model.
#[derive(Debug)]
pub struct Trained {
    /// The model.
    pub model: Model,
    /// Passes over the rows, over all problems.
    pub iterations: usize,
}

/// Where training is, for progress displays.
#[derive(Clone, Copy, Debug)]
pub struct Phase {
    /// Index of the problem.
    pub problem: usize,
    /// Number of problems.
    pub n_problems: usize,
    /// Passes over the rows so far.
    pub passes: usize,
    /// Gradient norm of the problem now.
    pub gradient_norm: f64,
}

/// Training could not be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrainError {
    /// Rows could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A problem has no rows at all, or none that counts.
    #[error("there are no rows to train on")]
    NoRows,
    /// No release could ever be made: double precision cannot show the weights to be as near to the exact ones as a release
    /// claims.
    #[error(
        "weights can be shown to be within {distance:.1e} of the exact ones, and a release claims {limit:.1e}: \
         nothing could ever be released; {}, or promise fewer releases",
        settings_that_work(*noise_std, *l2_per_row)
    )]
    OutOfReach {
        /// Their distance, at most.
        distance: f64,
        /// What a release claims, with room for rounding to grow.
        limit: f64,
        /// s that would do.
        noise_std: f64,
        /// λ that would do.
        l2_per_row: f64,
    },
    /// What is claimed rests on a bound of the rows' lengths, unless removal is exact.
    #[error(
        "rows of any length can only be removed from the squared loss without noise; scale them, or bound their length"
    )]
    UnboundedRows,
    /// Exact sums take a matrix, and there are too many features for one.
    #[error(
        "without noise the squared loss takes a square matrix of sums: {dim} features are more than {limit}; \
         (the intercept is one); give a noise-std, for example 0.001, and a bound on the rows"
    )]
    TooWide {
        /// d.
        dim: usize,
        /// The most features that a matrix is made of.
        limit: usize,
    },
    /// The Hessian is not positive definite in floating point.
    #[error("the Hessian could not be factorized: l2 `{l2_per_row}` is too small for these rows; raise it")]
    Singular {
        /// λ.
        l2_per_row: f64,
    },
}

const MOST_USEFUL_NOISE: f64 = 1e6;
const MOST_USEFUL_L2: f64 = 1.0;

fn settings_that_work(noise_std: f64, l2_per_row: f64) -> String {
    // Beyond these, neither leaves a model of any use.
    match (noise_std <= MOST_USEFUL_NOISE, l2_per_row <= MOST_USEFUL_L2) {
        (false, _) => format!("raise l2 to {l2_per_row:.1e}"),
        (true, false) => format!("raise noise-std to {noise_std:.1e}"),
        (true, true) => format!("raise noise-std to {noise_std:.1e} or l2 to {l2_per_row:.1e}"),
    }
}

impl TrainError {
    /// The settings that would work, to one digit more than is needed.
    fn out_of_reach(plan: &TrainingPlan, distance: UpperBound, limit: LowerBound) -> Self {
        let (distance, limit, l2_per_row) = (distance.get(), limit.get(), plan.config().l2_per_row);
        // A tenth more than is needed, and a tenth for the digits that are not shown.
        let factor = 1.2 * distance / limit;
        Self::OutOfReach { distance, limit, noise_std: factor * plan.noise_std(), l2_per_row: factor * l2_per_row }
    }
}

/// L-BFGS hands over to Newton when the gradient has shrunk to this fraction of its start: the Hessian is then close
/// to the one at the end, and Newton's steps on it gain two to three digits each.
const HANDOVER: f64 = 1e-5;

/// Passes that L-BFGS may take before Newton takes over.
const ROUGH_PASSES: usize = 60;

/// Passes that L-BFGS may take alone.
const MAX_PASSES: usize = 20_000;

/// Exact sums take one pass for the sizes of the columns and one for the sums.
const EXACT_PASSES: usize = 2;

/// Hessians that may be formed for one problem.
const MAX_HESSIANS: usize = 30;

impl TrainingPlan {
    /// Trains on the rows: perturbed under mechanism `objective`, unperturbed under mechanism `release`. Refuses settings under
    /// which nothing could ever be released.
    pub fn train(
        &self,
        rows: &dyn RowStore,
        noise: &mut NoiseSource,
        report: &mut dyn FnMut(Phase),
    ) -> Result<Trained, TrainError> {
        let trained = self.train_again(rows, noise, report)?;
        if trained.model.weights().is_empty() {
            return Err(TrainError::Singular { l2_per_row: self.config().l2_per_row });
        }
        match trained.model.unreachable() {
            None => Ok(trained),
            Some((distance, limit)) => Err(TrainError::out_of_reach(self, distance, limit)),
        }
    }

    /// The same for a model that exists: its rows can be removed, whatever can be released of it.
    pub fn train_again(
        &self,
        rows: &dyn RowStore,
        noise: &mut NoiseSource,
        report: &mut dyn FnMut(Phase),
    ) -> Result<Trained, TrainError> {
        let dim = rows.dim();
        if rows.n_rows() == 0 || dim == 0 {
            return Err(TrainError::NoRows);
        }
        if self.is_exact() {
            return self.train_exactly(rows);
        }
        let row_norm = rows.row_norm_bound();
        if !row_norm.is_finite() {
            return Err(TrainError::UnboundedRows);
        }
        let gram = if dim <= self.config().max_matrix_dim { Some(TrackedMatrix::from(rows.gram()?)) } else { None };
        let trace = rows.weight_sum().upper() * row_norm.squared();
        let design_norm_squared = gram.as_ref().map_or(trace, |gram| largest_eigenvalue(gram).min(trace));

        let problems = self.problems();
        let mut trainer = Trainer {
            plan: self,
            rows,
            gram: gram.as_ref(),
            n_problems: problems.len(),
            majorizer: None,
            passes: 0,
            report,
        };
        // One vector over all problems: under the gamma law their norms belong together.
        let perturbed = self.is_objective();
        let joint = perturbed.then(|| self.config().law.sample(dim * problems.len(), self.noise_std(), noise));
        let mut fits = Vec::with_capacity(problems.len());
        for (index, problem) in problems.into_iter().enumerate() {
            let perturbation = joint.as_ref().map(|b| b[index * dim..(index + 1) * dim].to_vec().into());
            fits.push(trainer.fit(index, problem, perturbation)?);
        }
        let iterations = trainer.passes;
        let state = ModelState {
            count: rows.row_count(),
            fits,
            sums: None,
            gram,
            design_norm_squared,
            row_norm,
            rung: Rung::Measured,
            certified: !self.is_objective() || noise.is_certified(),
            account: ReleaseAccount::default(),
        };
        Ok(Trained { model: Model { plan: self.clone(), state }, iterations })
    }

    /// The sums of the rows, from which weights follow.
    fn train_exactly(&self, rows: &dyn RowStore) -> Result<Trained, TrainError> {
        let (dim, limit) = (rows.dim(), self.config().max_matrix_dim);
        if dim > limit {
            return Err(TrainError::TooWide { dim, limit });
        }
        if rows.weight_sum() == WeightSum::ZERO {
            return Err(TrainError::NoRows);
        }
        let sums = ExactSums::over(rows, self.problems())?;
        let row_norm = rows.row_norm_bound();
        let state = ModelState {
            count: rows.row_count(),
            fits: Vec::new(),
            sums: Some(sums),
            gram: None,
            design_norm_squared: UpperBound::ZERO,
            row_norm,
            rung: Rung::Exact,
            certified: true,
            account: ReleaseAccount::default(),
        };
        Ok(Trained { model: Model { plan: self.clone(), state }, iterations: EXACT_PASSES })
    }
}

struct Trainer<'a> {
    plan: &'a TrainingPlan,
    rows: &'a dyn RowStore,
    gram: Option<&'a TrackedMatrix>,
    n_problems: usize,
    /// Factor of (largest ℓ″)·K + ridge·I and its ridge: above every Hessian, and shared by problems of equal size.
    majorizer: Option<(f64, Cholesky)>,
    passes: usize,
    report: &'a mut dyn FnMut(Phase),
}

impl Trainer<'_> {
    fn fit(&mut self, index: usize, problem: Problem, perturbation: Option<SecretVector>) -> Result<Fit, TrainError> {
        let dim = self.rows.dim();
        let objective = self.plan.objective();
        let count = self.rows.counts(std::slice::from_ref(&problem))?[0];
        if count.weight_sum == WeightSum::ZERO {
            return Err(TrainError::NoRows);
        }
        let mut fit = Fit {
            problem,
            count,
            weights: SecretVector::zeros(dim),
            perturbation,
            gradient: SecretVector::zeros(dim),
            gradient_error: UpperBound::INFINITE,
            curvature: None,
        };
        match self.gram {
            None => self.minimise(index, &objective, &mut fit, 0.0, MAX_PASSES)?,
            Some(gram) => {
                let ridge = objective.ridge(count.weight_sum);
                self.form_majorizer(gram, ridge, &objective)?;
                self.minimise(index, &objective, &mut fit, HANDOVER, ROUGH_PASSES)?;
                self.finish(index, &objective, &mut fit)?;
            }
        }
        Ok(fit)
    }

    fn form_majorizer(
        &mut self,
        gram: &TrackedMatrix,
        ridge: f64,
        objective: &Objective<'_>,
    ) -> Result<(), TrainError> {
        if self.majorizer.as_ref().is_none_or(|(of, _)| *of != ridge) {
            // c·K + ridge·I and K + (ridge/c)·I have the same direction; the factor c is put back when solving.
            let bound = objective.loss.curvature_bound();
            let factor =
                Cholesky::of(gram, ridge / bound).ok_or(TrainError::Singular { l2_per_row: objective.l2_per_row })?;
            self.majorizer = Some((ridge, factor));
        }
        Ok(())
    }

    /// L-BFGS from the current weights until the gradient is a `fraction` of its start, or the plan's tolerance.
    fn minimise(
        &mut self,
        index: usize,
        objective: &Objective<'_>,
        fit: &mut Fit,
        fraction: f64,
        max_passes: usize,
    ) -> Result<(), TrainError> {
        let Self { rows, majorizer, n_problems, passes, report, .. } = self;
        fit.measure(objective, *rows)?;
        // Below half its rounding error a gradient has little left to say.
        let floor = 0.5 * fit.gradient_error.get();
        let tolerance = 0.5 * self.plan.config().gradient_tolerance;
        let descent = Descent { tolerance: tolerance.max(fraction * fit.residual().get()).max(floor), max_passes };
        let bound = objective.loss.curvature_bound();
        let precondition = |v: &mut [f64]| {
            let Some((_, factor)) = majorizer.as_ref() else { return false };
            factor.solve(v);
            for x in v {
                *x /= bound;
            }
            true
        };
        let before = *passes + 1;
        let taken = descent.run(objective, *rows, fit, precondition, |progress| {
            let (passes, gradient_norm) = (before + progress.evaluations, progress.gradient_norm);
            report(Phase { problem: index, n_problems: *n_problems, passes, gradient_norm });
        })?;
        *passes = before + taken;
        Ok(())
    }

    /// Newton steps on the factor of the true Hessian, formed again while a step gains too little.
    fn finish(&mut self, index: usize, objective: &Objective<'_>, fit: &mut Fit) -> Result<(), TrainError> {
        for _ in 0..MAX_HESSIANS {
            self.form_hessian(objective, fit)?;
            let Some(curvature) = &fit.curvature else { break };
            let polished = polish(
                objective,
                self.rows,
                &fit.problem,
                fit.perturbation.as_deref(),
                &curvature.factor,
                &mut fit.weights,
                self.plan.config().gradient_tolerance,
                MAX_PASSES,
            )?;
            self.passes += polished.passes;
            let converged = polished.converged;
            fit.accept(polished.measurement);
            let gradient_norm = fit.residual().get();
            let (passes, n_problems) = (self.passes, self.n_problems);
            (self.report)(Phase { problem: index, n_problems, passes, gradient_norm });
            if converged {
                break;
            }
        }
        Ok(())
    }

    /// The Hessian at the current weights; for a loss of constant curvature 1 it is the Gram matrix, already at hand.
    fn form_hessian(&self, objective: &Objective<'_>, fit: &mut Fit) -> Result<(), TrainError> {
        let Objective { loss, .. } = objective;
        let constant =
            loss.curvature_lipschitz() == 0.0 && loss.curvature_bound() == 1.0 && fit.problem.negatives.is_none();
        let formed = match self.gram {
            Some(gram) if constant => {
                fit.curvature = Curvature::new(
                    fit.weights.clone(),
                    gram.clone().at_any_point(),
                    objective.ridge(fit.count.weight_sum),
                );
                fit.curvature.is_some()
            }
            _ => fit.anchor_here(objective, self.rows)?,
        };
        if formed { Ok(()) } else { Err(TrainError::Singular { l2_per_row: objective.l2_per_row }) }
    }
}
