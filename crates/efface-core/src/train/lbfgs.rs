//! L-BFGS with a preconditioner, for smooth strongly convex functions.
//!
//! Two-loop recursion over the last steps, the preconditioner in the middle, backtracking to sufficient decrease.
//! Strong convexity makes every curvature product positive, so no Wolfe condition is needed.

use std::collections::VecDeque;

use crate::linalg::kernel;

/// Settings of a run.
pub(crate) struct Lbfgs {
    /// Stop when the gradient's norm is at most this.
    pub(crate) tolerance: f64,
    /// Stop after this many evaluations.
    pub(crate) max_evaluations: usize,
}

/// Where a run is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    /// Evaluations of the function so far.
    pub(crate) evaluations: usize,
    /// Norm of the current gradient.
    pub(crate) gradient_norm: f64,
}

/// Remembered steps.
const MEMORY: usize = 12;

/// Sufficient decrease, as a fraction of what the slope promises.
const ARMIJO: f64 = 1e-4;

/// A value is good to about this fraction of itself; smaller differences carry no information.
const VALUE_NOISE: f64 = 1e-13;

impl Lbfgs {
    /// Minimises from `weights`, in place. `evaluate` returns value and gradient; `precondition` multiplies by an
    /// approximate inverse Hessian, or returns `false` where there is none. `report` may stop the run.
    pub(crate) fn run<E>(
        &self,
        weights: &mut [f64],
        mut evaluate: impl FnMut(&[f64]) -> Result<(f64, Vec<f64>), E>,
        precondition: impl Fn(&mut [f64]) -> bool,
        mut report: impl FnMut(Progress) -> bool,
    ) -> Result<Progress, E> {
        let (mut value, mut gradient) = evaluate(weights)?;
        let mut history: VecDeque<Pair> = VecDeque::with_capacity(MEMORY);
        let mut progress = Progress { evaluations: 1, gradient_norm: norm(&gradient) };
        while progress.gradient_norm > self.tolerance && progress.evaluations < self.max_evaluations && report(progress)
        {
            let direction = direction(&gradient, &history, &precondition);
            let slope = kernel::dot(&direction, &gradient);
            // The first direction without a preconditioner is the bare gradient, which may be of any size.
            let bare = history.is_empty() && slope == -kernel::dot(&gradient, &gradient);
            let mut length = if bare { (1.0 / progress.gradient_norm).min(1.0) } else { 1.0 };
            let accepted = loop {
                let mut trial = weights.to_vec();
                kernel::axpy(length, &direction, &mut trial);
                let (trial_value, trial_gradient) = evaluate(&trial)?;
                progress.evaluations += 1;
                let decrease = ARMIJO * length * slope + VALUE_NOISE * value.abs();
                if trial_value <= value + decrease {
                    break Some((trial, trial_value, trial_gradient));
                }
                length *= 0.5;
                if length < 1e-10 || progress.evaluations >= self.max_evaluations {
                    break None;
                }
            };
            let Some((trial, trial_value, trial_gradient)) = accepted else { break };
            let pair = Pair::new(weights, &trial, &gradient, &trial_gradient);
            weights.copy_from_slice(&trial);
            (value, gradient) = (trial_value, trial_gradient);
            progress.gradient_norm = norm(&gradient);
            if pair.product > 0.0 {
                if history.len() == MEMORY {
                    history.pop_front();
                }
                history.push_back(pair);
            }
        }
        Ok(progress)
    }
}

/// A step and the change of the gradient along it.
struct Pair {
    step: Vec<f64>,
    change: Vec<f64>,
    /// step · change.
    product: f64,
}

impl Pair {
    fn new(from: &[f64], to: &[f64], gradient_from: &[f64], gradient_to: &[f64]) -> Self {
        let step: Vec<f64> = to.iter().zip(from).map(|(to, from)| to - from).collect();
        let change: Vec<f64> = gradient_to.iter().zip(gradient_from).map(|(to, from)| to - from).collect();
        let product = kernel::dot(&step, &change);
        Self { step, change, product }
    }
}

/// −(approximate inverse Hessian) · gradient.
fn direction(gradient: &[f64], history: &VecDeque<Pair>, precondition: impl Fn(&mut [f64]) -> bool) -> Vec<f64> {
    let mut direction: Vec<f64> = gradient.iter().map(|g| -g).collect();
    let mut factors = Vec::with_capacity(history.len());
    for pair in history.iter().rev() {
        let factor = kernel::dot(&pair.step, &direction) / pair.product;
        kernel::axpy(-factor, &pair.change, &mut direction);
        factors.push(factor);
    }
    if !precondition(&mut direction)
        && let Some(last) = history.back()
    {
        let scale = last.product / kernel::dot(&last.change, &last.change);
        for x in &mut direction {
            *x *= scale;
        }
    }
    for (pair, factor) in history.iter().zip(factors.into_iter().rev()) {
        let correction = factor - kernel::dot(&pair.change, &direction) / pair.product;
        kernel::axpy(correction, &pair.step, &mut direction);
    }
    direction
}

fn norm(v: &[f64]) -> f64 {
    kernel::dot(v, v).sqrt()
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    /// ½ Σ c_j (w_j − j)² with curvatures from 1 to 1000.
    #[expect(clippy::unnecessary_wraps, reason = "the solver's evaluations can fail")]
    fn quadratic(w: &[f64]) -> Result<(f64, Vec<f64>), Infallible> {
        let curvature = |j: usize| 10f64.powf(3.0 * j as f64 / 9.0);
        let gradient: Vec<f64> = w.iter().enumerate().map(|(j, w)| curvature(j) * (w - j as f64)).collect();
        let value = w.iter().enumerate().map(|(j, w)| 0.5 * curvature(j) * (w - j as f64).powi(2)).sum();
        Ok((value, gradient))
    }

    #[test]
    fn a_badly_scaled_quadratic_is_solved_with_and_without_preconditioner() {
        for preconditioned in [false, true] {
            let mut w = vec![0.0; 10];
            let solver = Lbfgs { tolerance: 1e-9, max_evaluations: 500 };
            let precondition = |v: &mut [f64]| {
                v.iter_mut().enumerate().for_each(|(j, x)| *x /= 10f64.powf(3.0 * j as f64 / 9.0));
                preconditioned || {
                    v.iter_mut().enumerate().for_each(|(j, x)| *x *= 10f64.powf(3.0 * j as f64 / 9.0));
                    false
                }
            };
            let end = solver.run(&mut w, quadratic, precondition, |_| true).unwrap_or_else(|never| match never {});
            assert!(end.gradient_norm <= 1e-9, "{end:?}");
            assert!(w.iter().enumerate().all(|(j, w)| (w - j as f64).abs() < 1e-8));
            assert!(!preconditioned || end.evaluations <= 4, "{end:?}");
        }
    }

    #[test]
    fn the_limit_of_evaluations_is_kept() {
        let mut w = vec![0.0; 10];
        let solver = Lbfgs { tolerance: 0.0, max_evaluations: 7 };
        let end = solver.run(&mut w, quadratic, |_| false, |_| true).unwrap_or_else(|never| match never {});
        assert!(end.evaluations <= 7);
    }
}
