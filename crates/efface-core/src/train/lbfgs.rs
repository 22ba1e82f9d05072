//! L-BFGS with a preconditioner, for smooth strongly convex functions, one evaluation at a time.
//!
//! Two-loop recursion over the last steps, the preconditioner in the middle, backtracking to sufficient decrease.
//! Strong convexity makes every curvature product positive, so no Wolfe condition is needed.

use std::collections::VecDeque;

use crate::linalg::kernel;
use crate::objective::Measurement;
use crate::secret::SecretVector;

/// A run: it asks for the function at [`Self::question`] until it has none, and is told with [`Self::tell`].
pub(crate) struct Lbfgs {
    /// Stop when the gradient's norm is at most this.
    tolerance: f64,
    /// Stop after this many evaluations, the start's included.
    max_evaluations: usize,
    evaluations: usize,
    weights: SecretVector,
    at: Measurement,
    history: VecDeque<Pair>,
    search: Option<Search>,
}

/// A search for sufficient decrease along a line.
struct Search {
    direction: Vec<f64>,
    slope: f64,
    length: f64,
    trial: SecretVector,
}

/// Remembered steps.
const MEMORY: usize = 12;

/// Sufficient decrease, as a fraction of what the slope promises.
const ARMIJO: f64 = 1e-4;

/// A value is good to about this fraction of itself; smaller differences carry no information.
const VALUE_NOISE: f64 = 1e-13;

impl Lbfgs {
    /// Starts at weights where the function is known. `precondition` multiplies by an approximate inverse Hessian, or
    /// returns `false` where there is none.
    pub(crate) fn start(
        weights: SecretVector,
        at: Measurement,
        tolerance: f64,
        max_evaluations: usize,
        precondition: impl Fn(&mut [f64]) -> bool,
    ) -> Self {
        let history = VecDeque::with_capacity(MEMORY);
        let mut run = Self { tolerance, max_evaluations, evaluations: 1, weights, at, history, search: None };
        run.begin_search(precondition);
        run
    }

    /// Where to evaluate next; `None` when the run has ended.
    pub(crate) fn question(&self) -> Option<&[f64]> {
        self.search.as_ref().map(|search| &*search.trial)
    }

    /// Goes on from the function at the last question.
    pub(crate) fn tell(&mut self, at: Measurement, precondition: impl Fn(&mut [f64]) -> bool) {
        let Some(mut search) = self.search.take() else { return };
        self.evaluations += 1;
        let decrease = ARMIJO * search.length * search.slope + VALUE_NOISE * self.at.value.abs();
        if at.value <= self.at.value + decrease {
            let pair = Pair::new(&self.weights, &search.trial, &self.at.gradient, &at.gradient);
            (self.weights, self.at) = (search.trial, at);
            if pair.product > 0.0 {
                if self.history.len() == MEMORY {
                    self.history.pop_front();
                }
                self.history.push_back(pair);
            }
            self.begin_search(precondition);
            return;
        }
        search.length *= 0.5;
        if search.length >= 1e-10 && self.evaluations < self.max_evaluations {
            search.look(&self.weights);
            self.search = Some(search);
        }
    }

    /// The best weights so far, and the function there.
    pub(crate) fn end(self) -> (SecretVector, Measurement) {
        (self.weights, self.at)
    }

    /// Norm of the gradient there.
    pub(crate) fn gradient_norm(&self) -> f64 {
        norm(&self.at.gradient)
    }

    fn begin_search(&mut self, precondition: impl Fn(&mut [f64]) -> bool) {
        let gradient_norm = self.gradient_norm();
        // What is not a number ends the run, too.
        let goes_on = gradient_norm > self.tolerance && self.evaluations < self.max_evaluations;
        if !goes_on {
            return;
        }
        let gradient = &self.at.gradient;
        let direction = direction(gradient, &self.history, precondition);
        let slope = kernel::dot(&direction, gradient);
        // The first direction without a preconditioner is the bare gradient, which may be of any size.
        let bare = self.history.is_empty() && slope == -kernel::dot(gradient, gradient);
        let length = if bare { (1.0 / gradient_norm).min(1.0) } else { 1.0 };
        let mut search = Search { direction, slope, length, trial: SecretVector::default() };
        search.look(&self.weights);
        self.search = Some(search);
    }
}

impl Search {
    fn look(&mut self, from: &SecretVector) {
        self.trial = from.clone();
        kernel::axpy(self.length, &self.direction, &mut self.trial);
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
    use super::*;
    use crate::rounding::UpperBound;
    use crate::rows::RowCount;

    /// ½ Σ c_j (w_j − j)² with curvatures from 1 to 1000.
    fn quadratic(w: &[f64]) -> Measurement {
        let curvature = |j: usize| 10f64.powf(3.0 * j as f64 / 9.0);
        let gradient = w.iter().enumerate().map(|(j, w)| curvature(j) * (w - j as f64)).collect();
        let value = w.iter().enumerate().map(|(j, w)| 0.5 * curvature(j) * (w - j as f64).powi(2)).sum();
        Measurement { count: RowCount::default(), value, gradient, error: UpperBound::ZERO }
    }

    fn run(tolerance: f64, max_evaluations: usize, precondition: impl Fn(&mut [f64]) -> bool) -> Lbfgs {
        let start = SecretVector::zeros(10);
        let at = quadratic(&start);
        let mut run = Lbfgs::start(start, at, tolerance, max_evaluations, &precondition);
        while let Some(question) = run.question() {
            run.tell(quadratic(question), &precondition);
        }
        run
    }

    #[test]
    fn a_badly_scaled_quadratic_is_solved_with_and_without_preconditioner() {
        for preconditioned in [false, true] {
            let precondition = |v: &mut [f64]| {
                if preconditioned {
                    v.iter_mut().enumerate().for_each(|(j, x)| *x /= 10f64.powf(3.0 * j as f64 / 9.0));
                }
                preconditioned
            };
            let end = run(1e-9, 500, precondition);
            assert!(end.gradient_norm() <= 1e-9, "{}", end.gradient_norm());
            assert!(!preconditioned || end.evaluations <= 4, "{}", end.evaluations);
            assert!(end.end().0.iter().enumerate().all(|(j, w)| (w - j as f64).abs() < 1e-8));
        }
    }

    #[test]
    fn the_limit_of_evaluations_is_kept() {
        assert!(run(0.0, 7, |_| false).evaluations <= 7);
    }
}
