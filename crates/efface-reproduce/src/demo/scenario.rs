//! What the demo does: train, remove one subject, settle, release, and compare with a model retrained from scratch.

use efface_core::accounting::gaussian;
use efface_core::loss;
use efface_core::model::{Claim, Model, ReleaseOutcome, TrainingConfig, TrainingPlan};
use efface_core::noise::NoiseSource;
use efface_core::predict;
use efface_core::removal::Change;
use efface_core::rounding::UpperBound;
use efface_core::rows::RowStore;
use efface_data::MemoryRows;
use efface_digits::Digits;

use super::history;
use super::{Accuracy, Check, DemoResults, Digit, ModelFacts, Pair, RankedDigit, StageSeconds, Subject};
use crate::ExperimentError;
use crate::data::digits;
use crate::life::{distance, weights};
use crate::measure::timed;

/// λ of the demo.
const L2: f64 = 1e-3;

/// Rows dealt to each subject.
pub(super) const ROWS_PER_SUBJECT: usize = 10;

/// The subject that asks to be forgotten.
const SUBJECT: usize = 17;

/// Pictures shown of the hardest and of the easiest rows.
const RANKED: usize = 10;

/// Rows to train on, rows to test on, and what to promise.
pub(super) struct Scenario {
    digits: Digits,
    /// For each row to train on its place in the data set.
    kept: Vec<usize>,
    pub(super) plan: TrainingPlan,
    pub(super) rows: MemoryRows,
    test: MemoryRows,
    test_labels: Vec<f64>,
}

impl Scenario {
    /// Every fifth digit is held out; the others are dealt to numbered subjects, ten rows each.
    pub(super) fn prepare() -> Result<Self, ExperimentError> {
        let embedded = Digits::embedded();
        let (held_out, kept): (Vec<usize>, Vec<usize>) = (0..embedded.n_images()).partition(|i| i % 5 == 4);
        let plan = TrainingPlan::new(TrainingConfig::new(&loss::Logistic, L2, Some(10)))?;
        let rows = digits(&kept)?;
        let test = digits(&held_out)?;
        let test_labels = (0..test.len()).map(|i| test.label(i).unwrap_or(f64::NAN)).collect();
        Ok(Self { digits: embedded, kept, plan, rows, test, test_labels })
    }

    pub(super) fn play(mut self) -> Result<DemoResults, ExperimentError> {
        let mut noise = NoiseSource::from_system()?;
        let (trained, train) = timed_ok(|| self.train(&mut noise))?;
        let ranked = self.ranked(&trained)?;
        let before = self.accuracy(&weights(&trained))?;
        let (residuals, accuracy_history) = history::play(&self, &trained, &mut noise)?;
        let n_rows = self.rows.n_rows();

        let mut model = trained;
        let positions = self.positions_of(SUBJECT);
        let subject_rows = self.digits_at(&positions);
        let (after_claim, remove) = timed_ok(|| {
            let batch = self.rows.batch(&positions)?;
            self.rows.remove(&positions)?;
            Ok(model.change(&Change::remove(&batch), &self.rows)?.claim)
        })?;
        let (retrained, retrain) = timed_ok(|| self.train(&mut noise))?;
        let after_removal = self.check(&model, &after_claim, &retrained)?;

        let (settled, settle) = timed_ok(|| Ok(model.settle(&self.rows, None)?))?;
        let after = self.accuracy(&weights(&model))?;
        let mut at_release = self.check(&model, &settled.claim, &retrained)?;
        let (released, release) = timed_ok(|| match model.release(&mut noise) {
            ReleaseOutcome::Published(release) => Ok(release),
            _ => Err(ExperimentError::NotReleased { what: "the settled model of the demo".to_owned() }),
        })?;
        at_release.mu.promised = released.claim.mu_total.get();
        at_release.epsilon.promised = released.claim.epsilon_spent;

        let accuracy = Accuracy {
            n_held_out: self.test.n_rows(),
            before,
            after,
            retrained: self.accuracy(&weights(&retrained))?,
            released: self.accuracy(&released.weights)?,
        };
        let n_subjects = n_rows.div_ceil(ROWS_PER_SUBJECT);
        let guarantee = self.plan.guarantee();
        Ok(DemoResults {
            model: ModelFacts {
                n_rows,
                dim: self.rows.dim(),
                n_classes: 10,
                l2_per_row: L2,
                epsilon: guarantee.epsilon,
                delta: guarantee.delta,
                noise_std: self.plan.noise_std(),
                threads: std::thread::available_parallelism().map_or(1, usize::from),
                preprocessing: "each image was divided by its own norm, and a constant was added for the intercept."
                    .into(),
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
        (0..self.rows.len()).skip(subject * ROWS_PER_SUBJECT).take(ROWS_PER_SUBJECT).collect()
    }

    /// Trains from scratch on the rows that are present.
    pub(super) fn train(&self, noise: &mut NoiseSource) -> Result<Model, ExperimentError> {
        Ok(self.plan.train(&self.rows, noise, &mut |_| {})?.model)
    }

    /// Fraction of held-out rows that these weights classify rightly.
    pub(super) fn accuracy(&self, weights: &[Vec<f64>]) -> Result<f64, ExperimentError> {
        Ok(predict::accuracy(&predict::margins(&self.test, weights)?, &self.test_labels))
    }

    /// Promises of a claim beside what comparing with the retrained model gives.
    fn check(&self, model: &Model, claim: &Claim, retrained: &Model) -> Result<Check, ExperimentError> {
        let (std, delta) = (self.plan.noise_std(), self.plan.guarantee().delta);
        let distance =
            Pair { promised: claim.distance_bound.get(), measured: distance(&weights(model), &weights(retrained)) };
        let mu = Pair { promised: (distance.promised / std).next_up(), measured: distance.measured / std };
        let epsilon = |mu: f64| gaussian::epsilon_at(UpperBound::new(mu), delta);
        Ok(Check {
            rung: claim.rung.tag().into(),
            residual: Pair { promised: claim.gradient_residual.get(), measured: true_residual(model, &self.rows)? },
            distance,
            epsilon: Pair { promised: epsilon(mu.promised), measured: epsilon(mu.measured) },
            mu,
        })
    }

    /// All rows with the length of the step that removing each alone would take, longest first.
    fn ranked(&self, model: &Model) -> Result<Vec<RankedDigit>, ExperimentError> {
        let positions: Vec<usize> = (0..self.rows.len()).collect();
        let mut ranked = Vec::with_capacity(positions.len());
        for (digit, position) in self.digits_at(&positions).into_iter().zip(positions) {
            let step_norm = model.influence(&self.rows.batch(&[position])?)?;
            ranked.push(RankedDigit { digit, step_norm });
        }
        ranked.sort_by(|a, b| b.step_norm.total_cmp(&a.step_norm));
        Ok(ranked)
    }

    fn digits_at(&self, positions: &[usize]) -> Vec<Digit> {
        let places = positions.iter().map(|position| self.kept[*position]);
        places.map(|i| Digit { row_id: i, label: self.digits.label(i), image: self.digits.picture(i) }).collect()
    }
}

/// Norm of the gradient as measured, without the allowance for rounding that a claim adds.
pub(super) fn true_residual(model: &Model, rows: &MemoryRows) -> Result<f64, ExperimentError> {
    let mut measured = model.clone();
    measured.settle(rows, Some(f64::MAX))?;
    let squares = measured.state().fits.iter().flat_map(|fit| fit.gradient.iter()).map(|g| g * g);
    Ok(squares.sum::<f64>().sqrt())
}

/// What `work` returns and its seconds, unless it fails.
fn timed_ok<T>(work: impl FnOnce() -> Result<T, ExperimentError>) -> Result<(T, f64), ExperimentError> {
    let (done, seconds) = timed(work);
    Ok((done?, seconds))
}
