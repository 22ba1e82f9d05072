//! The removal step: rows leave (or arrive), the weights follow by one Newton step, and the claim follows the weights.
//!
//! ```text
//! ∇L_b(w + v; D′) = (g − Δ + S v) + (H̄ − S) v
//! ```
//!
//! The first bracket is computed and becomes the new known gradient; the second is bounded by a rung of the ladder
//! and added to the unknown part. Adding rows is the same step with the other sign of Δ.

pub use crate::rows::Change;

use rayon::prelude::*;

use crate::curvature::{Curvature, Dense, NoMatrix, WithGram};
use crate::linalg::{self, TrackedMatrix, kernel};
use crate::model::Fit;
use crate::objective::Objective;
use crate::residual::{self, CurvatureChange, RemovalSize, Rung, StepNorms};
use crate::rounding::{UpperBound, norm, operations};
use crate::rows::{Point, RowCount, RowStore, Sign, StoreError, WeightSum, fold};
use crate::secret::SecretVector;
use crate::sums::{GradientSum, GramSum};

/// What a step needs besides the fit itself. The Gram matrix and ‖X‖₂ already count the change.
pub(crate) struct StepContext<'a> {
    pub(crate) objective: Objective<'a>,
    pub(crate) change: CurvatureChange,
    pub(crate) rung: Rung,
    /// `None` when there are too many features for a matrix.
    pub(crate) gram: Option<&'a TrackedMatrix>,
    pub(crate) design_norm_squared: UpperBound,
    /// The rows after the change.
    pub(crate) rows: &'a dyn RowStore,
}

impl StepContext<'_> {
    /// Whether the gradient is linear in the weights: a step has no curvature error.
    fn is_linear(&self) -> bool {
        self.change.lipschitz == UpperBound::ZERO
    }
}

/// The solver may leave this fraction of what the curvature error is going to cost.
const SOLVER_SHARE: f64 = 0.05;

const MAX_ITERATIONS: usize = 40;

/// What the changed rows bring to one fit: all that a step reads of them.
#[derive(Default)]
pub(crate) struct FitChange {
    gradients: Vec<(Sign, GradientSum)>,
    curvature: Vec<(Sign, GramSum)>,
    fresh: FreshHessian,
}

/// The Hessian at the current weights over the rows after the change, where the rung asks for it.
#[derive(Default)]
enum FreshHessian {
    #[default]
    NotAsked,
    Formed(Box<Dense>),
    /// It cannot be factorized: there is nothing to step on.
    Failed,
}

/// Reads what the changed rows bring to each fit, before any fit is changed.
pub(crate) fn read(
    fits: &[Fit],
    change: &Change<'_>,
    rung: Rung,
    objective: &Objective<'_>,
    rows: &dyn RowStore,
) -> Result<Vec<FitChange>, StoreError> {
    let mut changes: Vec<FitChange> = fits.iter().map(|_| FitChange::default()).collect();
    if fits.is_empty() {
        return Ok(changes);
    }
    let points: Vec<Point<'_>> = fits.iter().map(|fit| fit.point().0).collect();
    for (sign, part) in change.parts() {
        let sums = part.gradients(objective.loss, &points)?;
        changes.iter_mut().zip(sums).for_each(|(change, sum)| change.gradients.push((sign, sum)));
    }
    if rung == Rung::NoStep {
        return Ok(changes);
    }
    let is_touched = |change: &FitChange| change.gradients.iter().any(|(_, sum)| sum.count.n_rows > 0);
    let mut touched: Vec<(&Fit, &Dense, &mut FitChange)> = fits
        .iter()
        .zip(&mut changes)
        .filter_map(|(fit, change)| is_touched(change).then_some((fit, fit.curvature.as_ref()?, change)))
        .collect();
    if rung.needs_fresh_hessian() {
        let longest = fold::longest(&points);
        for group in touched.chunks_mut(fold::matrices_at_once(longest)) {
            let points: Vec<Point<'_>> = group.iter().map(|(fit, ..)| fit.point().0).collect();
            for ((fit, _, change), sum) in group.iter_mut().zip(rows.curvature(objective.loss, &points)?) {
                let ridge = objective.ridge.over(change.count_after(fit.count).weight_sum);
                let formed = Dense::new(fit.weights.clone(), sum.into(), ridge);
                change.fresh = formed.map_or(FreshHessian::Failed, |dense| FreshHessian::Formed(Box::new(dense)));
            }
        }
        return Ok(changes);
    }
    let points: Vec<Point<'_>> =
        touched.iter().map(|(fit, dense, _)| Point { problem: &fit.problem, weights: &dense.anchor }).collect();
    for (sign, part) in change.parts() {
        let sums = part.curvature(objective.loss, &points)?;
        touched.iter_mut().zip(sums).for_each(|((.., change), sum)| change.curvature.push((sign, sum)));
    }
    Ok(changes)
}

/// Moves the fits to the changed rows. Returns the rung that the new claim rests on; `None` when no changed row takes part in
/// any problem, so that everything that is known stands. Fails only where the rung asks for the rows after the step, which
/// are read once for all fits.
pub(crate) fn step(
    fits: &mut [Fit],
    changes: Vec<FitChange>,
    context: &StepContext<'_>,
) -> Result<Option<Rung>, StoreError> {
    // The fits share nothing that is written, so their order, and the number of threads, makes no difference.
    let step = |(fit, change)| step_fit(fit, change, context);
    let stepped: Vec<Stepped<'_>> = match fits {
        [only] => [only].into_iter().zip(changes).map(step).collect(),
        fits => fits.par_iter_mut().zip(changes).map(step).collect(),
    };
    let is_touched = stepped.iter().any(|stepped| !matches!(stepped, Stepped::Untouched));
    let moved: Vec<(&mut Fit, SecretVector)> = stepped
        .into_iter()
        .filter_map(|stepped| if let Stepped::Moved(fit, step) = stepped { Some((fit, step)) } else { None })
        .collect();
    if moved.is_empty() {
        return Ok(is_touched.then_some(Rung::NoStep));
    }
    read_after(moved, context)?;
    Ok(Some(context.rung))
}

/// What a change did to a fit.
enum Stepped<'a> {
    /// No changed row takes part in the problem.
    Untouched,
    /// There was no curvature to step on: the gradient followed the rows, and the weights stay.
    Stayed,
    /// The weights moved by this step.
    Moved(&'a mut Fit, SecretVector),
}

/// Reads what the rung asks of the rows after the step, for all fits that moved, in one pass.
fn read_after(mut moved: Vec<(&mut Fit, SecretVector)>, context: &StepContext<'_>) -> Result<(), StoreError> {
    match context.rung {
        Rung::PerRow if !context.is_linear() => {
            let points: Vec<Point<'_>> =
                moved.iter().map(|(fit, step)| Point { problem: &fit.problem, weights: step }).collect();
            let powers = context.rows.step_powers(&points)?;
            let design = context.design_norm_squared.sqrt();
            for ((fit, _), powers) in moved.iter_mut().zip(&powers) {
                fit.gradient_error += residual::per_row(&context.change, design, powers);
            }
        }
        Rung::Measured => {
            let points: Vec<_> = moved.iter().map(|(fit, _)| fit.point()).collect();
            let measurements = context.objective.measure(context.rows, &points)?;
            moved.iter_mut().zip(measurements).for_each(|((fit, _), measurement)| fit.accept(measurement));
        }
        _ => {}
    }
    Ok(())
}

/// Moves one fit. Under rung `per-row` its `gradient_error` lacks the curvature error until [`read_after`] adds it.
fn step_fit<'a>(fit: &'a mut Fit, change: FitChange, context: &StepContext<'_>) -> Stepped<'a> {
    let shift = change.shift(fit, &context.objective);
    if shift.n_changed == 0 {
        return Stepped::Untouched;
    }
    fit.count = shift.count_after;
    // g − Δ: the gradient at the old weights over the new rows.
    let gradient: SecretVector = fit.gradient.iter().zip(&*shift.delta).map(|(g, delta)| g - delta).collect();
    fit.gradient_error += shift.error + operations(1) * norm(&gradient);
    let solver_before = norm(&fit.gradient);
    fit.gradient = gradient;

    match change.fresh {
        FreshHessian::NotAsked => {}
        FreshHessian::Formed(dense) => fit.curvature = Some(*dense),
        FreshHessian::Failed => fit.curvature = None,
    }
    let (mut with_gram, mut no_matrix);
    let curvature: &mut dyn Curvature = if let (Some(dense), Some(gram)) = (fit.curvature.as_mut(), context.gram) {
        with_gram = WithGram { dense, gram };
        &mut with_gram
    } else {
        no_matrix = NoMatrix;
        &mut no_matrix
    };
    change.curvature.iter().for_each(|(sign, sum)| curvature.update(sum, *sign));
    if !curvature.is_known() {
        return Stepped::Stayed;
    }
    let ridge = context.objective.ridge.over(fit.count.weight_sum);
    let weights_norm = norm(&fit.weights);
    let anchor_distance = curvature.distance_from(&fit.weights);
    let right_hand_side: SecretVector = fit.gradient.iter().map(|g| -g).collect();

    let design = context.design_norm_squared.sqrt();
    let solution = newton_step(curvature, context, ridge, &right_hand_side, anchor_distance, design);
    let step = norm(&solution.step);
    let norms = StepNorms { design, step, step_image: curvature.image_norm(&solution.step, step) };

    let leftover = norm(&solution.leftover) + solution.leftover_error;
    let curvature_error = match context.rung {
        _ if context.is_linear() => UpperBound::ZERO,
        Rung::WorstCase => {
            let slope_bound = context.objective.loss.slope_bound().unwrap_or(f64::INFINITY);
            let size = RemovalSize {
                changed: shift.changed,
                remaining: fit.count.weight_sum,
                ridge: context.objective.ridge,
                gradient_norm_bound: UpperBound::new(slope_bound) * context.change.row_norm,
                weights_norm,
                solver: solver_before + leftover + shift.error,
                hessian_error: curvature.error(),
            };
            residual::worst_case(&context.change, &size)
        }
        Rung::StepNorm => residual::step_norm(&context.change, fit.count.weight_sum, step),
        Rung::DataDependent => residual::data_dependent(&context.change, &norms),
        Rung::Stale | Rung::Measured | Rung::NoStep | Rung::Exact => {
            residual::stale(&context.change, &norms, anchor_distance)
        }
        // Read off the rows after the step.
        Rung::PerRow => UpperBound::ZERO,
    };
    if curvature.is_worn(solution.iterations) {
        curvature.refresh(ridge);
    }

    kernel::axpy(1.0, &solution.step, &mut fit.weights);
    // The weights are rounded to the nearest numbers, which moves the gradient by at most ‖H‖ times that.
    let smoothness = context.objective.smoothness(context.design_norm_squared, fit.count.weight_sum);
    let weight_rounding = smoothness * operations(1) * norm(&fit.weights);
    fit.gradient = solution.leftover.iter().map(|x| -x).collect();
    fit.gradient_error += solution.leftover_error + curvature_error + weight_rounding;
    Stepped::Moved(fit, solution.step)
}

impl FitChange {
    fn count_after(&self, mut count: RowCount) -> RowCount {
        self.gradients.iter().for_each(|(sign, sum)| count.update(&sum.count, *sign));
        count
    }

    /// Norm of the step that the change would take, ‖H⁻¹Δ‖: how hard it is. An estimate, not a bound.
    pub(crate) fn step_size(&self, fit: &Fit, objective: &Objective<'_>) -> f64 {
        let mut step = self.shift(fit, objective).delta;
        if let Some(dense) = &fit.curvature {
            dense.factor().solve(&mut step);
        }
        kernel::dot(&step, &step).sqrt()
    }

    fn shift(&self, fit: &Fit, objective: &Objective<'_>) -> Shift {
        let mut shift = Shift {
            delta: SecretVector::zeros(fit.weights.len()),
            error: UpperBound::ZERO,
            n_changed: 0,
            changed: WeightSum::ZERO,
            count_after: self.count_after(fit.count),
        };
        let mut size = UpperBound::ZERO;
        for (sign, sum) in &self.gradients {
            shift.error += sum.error();
            shift.n_changed += sum.count.n_rows;
            shift.changed += sum.count.weight_sum;
            let ridge = objective.ridge.of_rows(sum.count.weight_sum);
            size += norm(&sum.gradient) + UpperBound::new(ridge) * sum.weights_norm();
            kernel::axpy(-sign.factor(), &sum.gradient, &mut shift.delta);
            kernel::axpy(-sign.factor() * ridge, &fit.weights, &mut shift.delta);
        }
        shift.error += operations(7) * size;
        shift
    }
}

/// Δ and what comes with it.
struct Shift {
    /// Δ = (m − p) λ w + Σ_removed s ∇ℓ − Σ_added s ∇ℓ, m and p being what leaves and what arrives weigh; without the first
    /// part under a total ridge.
    delta: SecretVector,
    /// Distance of `delta` from the exact one.
    error: UpperBound,
    n_changed: usize,
    /// What the changed rows weigh.
    changed: WeightSum,
    count_after: RowCount,
}

/// Solves `S v = Δ − g` until what is left is small beside what the curvature error will cost, or within rounding.
fn newton_step(
    curvature: &mut dyn Curvature,
    context: &StepContext<'_>,
    ridge: f64,
    right_hand_side: &[f64],
    anchor_distance: UpperBound,
    design: UpperBound,
) -> linalg::Solution {
    let change = &context.change;
    let bound = context.objective.loss.curvature_bound();
    let scale = (change.lipschitz * change.row_norm * design).get();
    let floor = (operations(right_hand_side.len() + 3) * curvature.size(ridge) + curvature.error()).get();
    let done = |v: &[f64], leftover: f64| {
        // vᵀ(S − ridge)v ≤ (largest ℓ″)·‖Xv‖²: an estimate of ‖Xv‖ from below that costs no product.
        let square = kernel::dot(v, v);
        let image_square = (kernel::dot(v, right_hand_side) - ridge * square).max(0.0) / bound;
        let cost = scale * (anchor_distance.get() + 0.5 * square.sqrt()) * image_square.sqrt();
        leftover <= (SOLVER_SHARE * cost).max(floor * square.sqrt())
    };
    let solution = linalg::solve(curvature, ridge, right_hand_side, MAX_ITERATIONS, done);
    if solution.converged {
        return solution;
    }
    curvature.refresh(ridge);
    linalg::solve(curvature, ridge, right_hand_side, MAX_ITERATIONS, done)
}
