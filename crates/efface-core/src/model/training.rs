//! Training a plan on rows.

use super::{Fit, Model, ModelState, ReleaseAccount, TrainingConfig, TrainingPlan};
use crate::exact::ExactSums;
use crate::linalg::{TrackedMatrix, largest_eigenvalue};
use crate::noise::NoiseSource;
use crate::objective::Objective;
use crate::residual::Rung;
use crate::ridge::Ridge;
use crate::rounding::{LowerBound, UpperBound};
use crate::rows::{Problem, RowCount, RowStore, StoreError, WeightSum};
use crate::secret::SecretVector;
use crate::train::{self, CourseError, Means, Phase, Route};

/// A freshly trained model.
#[derive(Debug)]
pub struct Trained {
    /// The model.
    pub model: Model,
    /// Passes over the rows, each for all problems, those for matrices included.
    pub iterations: usize,
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
         nothing could ever be released without {} or fewer releases",
        settings_that_work(*noise_std, *ridge)
    )]
    OutOfReach {
        /// Their distance, at most.
        distance: f64,
        /// What a release claims, with room for rounding to grow.
        limit: f64,
        /// s that would do.
        noise_std: f64,
        /// λ or α that would do.
        ridge: Ridge,
    },
    /// What is claimed rests on a bound of the rows' lengths, unless removal is exact.
    #[error(
        "rows of any length can only be removed from the squared loss without noise; scale them, or bound their length"
    )]
    UnboundedRows,
    /// Exact sums take a matrix, and there are too many features for one.
    #[error(
        "without noise the squared loss takes a square matrix of sums, and {dim} features (an intercept counts as one) are \
         more than the limit of {limit}"
    )]
    TooWide {
        /// d.
        dim: usize,
        /// The most features that a matrix is made of.
        limit: usize,
    },
    /// The Hessian is not positive definite in floating point.
    #[error("the Hessian could not be factorized: {} `{}` is too small for these rows; raise it", ridge.name(), ridge.strength())]
    Singular {
        /// λ or α.
        ridge: Ridge,
    },
}

const MOST_USEFUL_NOISE: f64 = 1e6;
const MOST_USEFUL_L2: f64 = 1.0;

fn settings_that_work(noise_std: f64, ridge: Ridge) -> String {
    let stronger = format!("an {} of at least {:.1e}", ridge.name(), ridge.strength());
    let most_useful = if let Ridge::PerRow(_) = ridge { MOST_USEFUL_L2 } else { f64::INFINITY };
    // Beyond these, neither leaves a model of any use.
    match (noise_std <= MOST_USEFUL_NOISE, ridge.strength() <= most_useful) {
        (false, _) => stronger,
        (true, false) => format!("noise of at least {noise_std:.1e}"),
        (true, true) => format!("noise of at least {noise_std:.1e}, {stronger}"),
    }
}

impl TrainError {
    /// The settings that would work, to one digit more than is needed.
    fn out_of_reach(plan: &TrainingPlan, distance: UpperBound, limit: LowerBound) -> Self {
        let (distance, limit) = (distance.get(), limit.get());
        // A tenth more than is needed, and a tenth for the digits that are not shown.
        let factor = 1.2 * distance / limit;
        let (noise_std, ridge) = (factor * plan.noise_std(), plan.config().ridge.times(factor));
        Self::OutOfReach { distance, limit, noise_std, ridge }
    }
}

/// Exact sums take one pass for the sizes of the columns and one for the sums.
const EXACT_PASSES: usize = 2;

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
            return Err(TrainError::Singular { ridge: self.config().ridge });
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
        // One vector over all problems: under the gamma law their norms belong together.
        let perturbed = self.is_objective();
        let n_weights = dim * problems.iter().map(Problem::n_scores).sum::<usize>();
        let joint = perturbed.then(|| self.config().law.sample(n_weights, self.noise_std(), noise));
        let mut rest = joint.as_deref();
        let fit = |problem: Problem| {
            let n_weights = dim * problem.n_scores();
            let perturbation = rest.map(|b| {
                let (own, others) = b.split_at(n_weights);
                rest = Some(others);
                own.to_vec().into()
            });
            let (weights, gradient) = (SecretVector::zeros(n_weights), SecretVector::zeros(n_weights));
            let (count, gradient_error) = (RowCount::default(), UpperBound::INFINITE);
            Fit { problem, count, weights, perturbation, gradient, gradient_error, curvature: None }
        };
        let mut fits: Vec<Fit> = problems.into_iter().map(fit).collect();
        let means = gram.as_ref().map_or(Means::Descent, |gram| Means::Majorizer { gram });
        let square_sum = gram.as_ref().map(TrackedMatrix::square_sum);
        let objective = Objective { square_sum, ..self.objective() };
        let TrainingConfig { gradient_tolerance: tolerance, max_matrix_dim, .. } = *self.config();
        let route = Route { objective, tolerance, means, max_matrix_dim };
        let effort = train::run(&route, &mut fits, rows, report).map_err(|error| match error {
            CourseError::Store(error) => TrainError::Store(error),
            CourseError::NoRows => TrainError::NoRows,
            CourseError::Singular => TrainError::Singular { ridge: self.config().ridge },
        })?;
        // The Gram matrix takes one, too.
        let iterations = effort.passes + usize::from(gram.is_some());
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
