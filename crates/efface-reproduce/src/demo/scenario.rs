//! What the demo does: train, remove one subject, settle, release, and compare with a model retrained from scratch.

use efface_core::accounting::gaussian;
use efface_core::loss;
use efface_core::model::{Claim, Model, ReleaseOutcome, TrainingConfig, TrainingPlan};
use efface_core::noise::NoiseSource;
use efface_core::rounding::UpperBound;
use efface_data::MemoryRows;
use efface_digits::Digits;

use super::history;
use super::{Accuracy, Check, DemoResults, Digit, ModelFacts, Pair, StageSeconds, Subject};
use crate::data::{DataSet, digits};
use crate::life::{Life, distance, weights};
use crate::measure::try_timed;
use crate::{ExperimentError, Result};

/// λ of the demo.
pub(super) const L2: f64 = 1e-3;

/// Each class has its own weights (one-vs-rest).
pub(super) const N_CLASSES: u32 = 10;

/// What is done to the rows before training.
pub(super) const PREPROCESSING: &str =
    "each image was divided by its own norm, and a constant was added for the intercept.";

/// Rows dealt to each subject.
pub(super) const ROWS_PER_SUBJECT: usize = 10;

/// The subject that asks to be forgotten.
const SUBJECT: usize = 17;

/// Pictures shown of the hardest and of the easiest rows.
const RANKED: usize = 10;

/// Rows to train on, rows to test on, and what to promise.
pub(super) struct Scenario {
    /// For each row to train on its place among the embedded digits.
    kept: Vec<usize>,
    pub(super) plan: TrainingPlan,
    pub(super) data: DataSet,
}

impl Scenario {
    /// Every fifth digit is held out; the others are dealt to numbered subjects, ten rows each.
    pub(super) fn prepare() -> Result<Self> {
        let (held_out, kept): (Vec<usize>, Vec<usize>) = (0..Digits::embedded().n_images()).partition(|i| i % 5 == 4);
        let plan = TrainingPlan::new(TrainingConfig::new(&loss::Logistic, L2, Some(N_CLASSES)))?;
        let data = DataSet { name: "Digits", n_classes: N_CLASSES, train: digits(&kept)?, test: digits(&held_out)? };
        Ok(Self { kept, plan, data })
    }

    pub(super) fn play(self) -> Result<DemoResults> {
        let Self { plan, data, .. } = &self;
        let mut noise = NoiseSource::from_system()?;
        let (trained, train) = try_timed(|| plan.train(&data.train, &mut noise, &mut |_| {}))?;
        let mut life = Life::new(trained.model, data.train_rows()?);
        let everyone = self.digits(&life.model)?;
        let before = data.accuracy(&weights(&life.model))?;
        let (residuals, accuracy_history) = history::play(&self, &life.model, &mut noise)?;

        let positions = self.positions_of(SUBJECT);
        let (changed, remove) = life.remove(&positions)?;
        let (retrained, retrain) = try_timed(|| plan.train(&life.rows, &mut noise, &mut |_| {}))?;
        let retrained = retrained.model;
        let after_removal = self.check(&life, &changed.claim, &retrained)?;

        let (settled, settle) = life.settle()?;
        let after = data.accuracy(&weights(&life.model))?;
        let mut at_release = self.check(&life, &settled.claim, &retrained)?;
        let (released, release) = try_timed(|| match life.model.release(&mut noise) {
            ReleaseOutcome::Published(release) => Ok(release),
            _ => Err(ExperimentError::NotReleased { what: "the settled model of the demo".to_owned() }),
        })?;
        at_release.mu.promised = released.claim.mu_total.get();
        at_release.epsilon.promised = released.claim.epsilon_spent;

        let accuracy = Accuracy {
            n_held_out: data.test.len(),
            before,
            after,
            retrained: data.accuracy(&weights(&retrained))?,
            released: data.accuracy(&released.weights)?,
        };
        let (n_rows, n_subjects) = (data.n_rows(), data.n_rows().div_ceil(ROWS_PER_SUBJECT));
        let subject_rows = positions.iter().map(|position| everyone[*position].clone()).collect();
        let mut ranked = everyone;
        ranked.sort_by(|a, b| b.step_norm.total_cmp(&a.step_norm));
        let guarantee = plan.guarantee();
        Ok(DemoResults {
            model: ModelFacts {
                n_rows,
                dim: data.dim(),
                epsilon: guarantee.epsilon,
                delta: guarantee.delta,
                noise_std: plan.noise_std(),
                threads: std::thread::available_parallelism().map_or(1, usize::from),
                danger_fixed_seed: !released.claim.certified,
            },
            seconds: StageSeconds { train, remove, settle, release, retrain },
            subject: Subject { number: SUBJECT, n_subjects, rows: subject_rows },
            after_removal,
            at_release,
            retrained_distance_bound: retrained.claim().distance_bound.get(),
            accuracy,
            residuals,
            accuracy_history,
            hardest: ranked.iter().take(RANKED).cloned().collect(),
            easiest: ranked.iter().rev().take(RANKED).cloned().collect(),
        })
    }

    /// Where the rows of a subject are.
    pub(super) fn positions_of(&self, subject: usize) -> Vec<usize> {
        (0..self.data.train.len()).skip(subject * ROWS_PER_SUBJECT).take(ROWS_PER_SUBJECT).collect()
    }

    /// Promises of a claim beside what comparing with the retrained model gives.
    fn check(&self, life: &Life, claim: &Claim, retrained: &Model) -> Result<Check> {
        let (std, delta) = (self.plan.noise_std(), self.plan.guarantee().delta);
        let measured = distance(&weights(&life.model), &weights(retrained));
        let distance = Pair { promised: claim.distance_bound.get(), measured };
        let mu = Pair { promised: (distance.promised / std).next_up(), measured: distance.measured / std };
        let residual = true_residual(&life.model, &life.rows)?;
        let epsilon = |mu: f64| gaussian::epsilon_at(UpperBound::new(mu), delta);
        Ok(Check {
            rung: claim.rung.tag(),
            residual: Pair { promised: claim.gradient_residual.get(), measured: residual },
            distance,
            epsilon: Pair { promised: epsilon(mu.promised), measured: epsilon(mu.measured) },
            mu,
        })
    }

    /// All rows, each with the length of the step that removing it alone would take.
    fn digits(&self, model: &Model) -> Result<Vec<Digit>> {
        let embedded = Digits::embedded();
        let steps = model.influences(&self.data.train)?;
        let digit = |(&row_id, step_norm): (&usize, f64)| Digit {
            row_id,
            label: embedded.label(row_id),
            image: embedded.picture(row_id),
            step_norm,
        };
        Ok(self.kept.iter().zip(steps).map(digit).collect())
    }
}

/// Norm of the gradient as measured, without the allowance for rounding that a claim adds.
pub(super) fn true_residual(model: &Model, rows: &MemoryRows) -> Result<f64> {
    let mut measured = model.clone();
    measured.settle(rows, Some(f64::MAX))?;
    let squares = measured.state().fits.iter().flat_map(|fit| fit.gradient.iter()).map(|g| g * g);
    Ok(squares.sum::<f64>().sqrt())
}
