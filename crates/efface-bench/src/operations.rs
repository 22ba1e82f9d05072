//! The life of a model, each operation timed: train, remove, settle, release, predict.

use efface_core::loss;
use efface_core::model::{Model, ReleaseOutcome, TrainingConfig, TrainingPlan};
use efface_core::noise::NoiseSource;
use efface_core::predict;
use efface_core::removal::Change;
use efface_core::rows::RowStore;
use efface_data::MemoryRows;
use efface_reproduce::measure::timed;
use efface_reproduce::weights;
use serde::Serialize;

use crate::figure::{Figure, Samples, repeated};
use crate::subject::Subject;

/// Rows that leave one by one before settling.
pub(crate) const REMOVALS: usize = 100;

/// What was measured.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Figures {
    /// Training until ‖∇L‖ ≤ 1e-9.
    pub(crate) train: Figure,
    /// Training until ‖∇L‖ is at most what was asked for.
    pub(crate) train_matched: Figure,
    /// One instant removal; the gradient is the bound that is claimed after the first one.
    pub(crate) remove_one: Figure,
    /// A hundred instant removals and settling.
    pub(crate) remove_hundred: Figure,
    /// Settling after a hundred removals.
    pub(crate) settle: Figure,
    /// A release after a hundred removals: settling, then exact noise.
    pub(crate) release: Figure,
    /// Classes of all test rows.
    pub(crate) predict: Figure,
}

/// Measures in rounds, so that something else can be measured in between.
pub(crate) struct Bench<'a> {
    subject: &'a Subject,
    plan: TrainingPlan,
    matched: TrainingPlan,
    noise: NoiseSource,
    model: Option<Model>,
    train: Samples,
    train_matched: Samples,
    remove_one: Samples,
    remove_hundred: Samples,
    settle: Samples,
    release: Samples,
    predict: Samples,
}

/// Most repeats of one operation in a round …
const MOST_REPEATS: usize = 5;

/// … and seconds after which no other is begun.
const ROUND_SECONDS: f64 = 2.0;

/// Predictions in a round.
const PREDICTIONS: usize = 15;

impl<'a> Bench<'a> {
    /// `gradient_norm` is what the looser of the two trainings stops at.
    pub(crate) fn new(subject: &'a Subject, gradient_norm: f64) -> anyhow::Result<Self> {
        let config = TrainingConfig::new(&loss::Logistic, subject.l2_per_row, Some(subject.n_classes));
        let matched = TrainingConfig { gradient_tolerance: gradient_norm, ..config.clone() };
        Ok(Self {
            subject,
            plan: TrainingPlan::new(config)?,
            matched: TrainingPlan::new(matched)?,
            noise: NoiseSource::from_system()?,
            model: None,
            train: Samples::default(),
            train_matched: Samples::default(),
            remove_one: Samples::default(),
            remove_hundred: Samples::default(),
            settle: Samples::default(),
            release: Samples::default(),
            predict: Samples::default(),
        })
    }

    /// Measures everything a few times.
    pub(crate) fn round(&mut self) -> anyhow::Result<()> {
        let (rows, noise) = (&self.subject.train, &mut self.noise);
        let mut model = None;
        let plans = [(&self.matched, &mut self.train_matched), (&self.plan, &mut self.train)];
        for (plan, samples) in plans {
            repeated(MOST_REPEATS, ROUND_SECONDS, || {
                let (trained, seconds) = timed(|| plan.train(rows, noise, &mut |_| {}));
                let trained = trained?.model;
                samples.push_with_gradient(seconds, gradient_norm(&trained));
                model = Some(trained);
                Ok(())
            })?;
        }
        let Some(model) = model else { return Ok(()) };
        repeated(MOST_REPEATS, ROUND_SECONDS, || self.removals(model.clone()))?;

        let weights = weights(&model);
        for _ in 0..PREDICTIONS {
            let (classes, seconds) = timed(|| -> anyhow::Result<Vec<usize>> {
                let margins = predict::margins(&self.subject.test, &weights)?;
                Ok((0..self.subject.test.len()).map(|i| predict::predicted_class(&margins, i)).collect())
            });
            anyhow::ensure!(classes?.len() == self.subject.test.n_rows(), "one class per row");
            self.predict.push(seconds);
        }
        self.model = Some(model);
        Ok(())
    }

    /// A hundred removals one by one, then settling, and on a copy a release.
    fn removals(&mut self, mut model: Model) -> anyhow::Result<()> {
        let mut rows = self.subject.train_rows()?;
        let mut total = 0.0;
        for position in self.subject.leaving(REMOVALS) {
            let seconds = remove_one(&mut model, &mut rows, position)?;
            if total == 0.0 {
                self.remove_one.push_with_gradient(seconds, gradient_norm(&model));
            } else {
                self.remove_one.push(seconds);
            }
            total += seconds;
        }
        let mut leaving = model.clone();
        let (released, seconds) = timed(|| -> anyhow::Result<ReleaseOutcome> {
            leaving.settle_before_release(&rows)?;
            Ok(leaving.release(&mut self.noise))
        });
        let published = matches!(released?, ReleaseOutcome::Published(_));
        anyhow::ensure!(published, "the release was refused");
        self.release.push(seconds);

        let (settled, seconds) = timed(|| model.settle(&rows, None));
        let left = settled?.claim.gradient_residual.get();
        self.settle.push_with_gradient(seconds, left);
        self.remove_hundred.push_with_gradient(total + seconds, left);
        Ok(())
    }

    /// Medians over all rounds.
    pub(crate) fn figures(&self) -> Option<Figures> {
        Some(Figures {
            train: self.train.figure()?,
            train_matched: self.train_matched.figure()?,
            remove_one: self.remove_one.figure()?,
            remove_hundred: self.remove_hundred.figure()?,
            settle: self.settle.figure()?,
            release: self.release.figure()?,
            predict: self.predict.figure()?,
        })
    }

    /// The weights, to be compared with those of another program.
    pub(crate) fn weights(&self) -> Vec<Vec<f64>> {
        self.model.as_ref().map(weights).unwrap_or_default()
    }
}

/// Removes one row; seconds that it took.
pub(crate) fn remove_one(model: &mut Model, rows: &mut MemoryRows, position: usize) -> anyhow::Result<f64> {
    let (done, seconds) = timed(|| -> anyhow::Result<()> {
        let batch = rows.batch(&[position])?;
        rows.remove(&[position])?;
        model.change(&Change::remove(&batch), rows)?;
        Ok(())
    });
    done?;
    Ok(seconds)
}

fn gradient_norm(model: &Model) -> f64 {
    model.claim().gradient_residual.get()
}
