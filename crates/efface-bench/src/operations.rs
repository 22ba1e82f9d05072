//! The life of a model, each operation timed: train, remove, settle, release, predict.

use efface_core::loss;
use efface_core::model::{Model, ReleaseOutcome, TrainingConfig, TrainingPlan};
use efface_core::noise::NoiseSource;
use efface_core::predict;
use efface_core::rows::RowStore;
use efface_reproduce::measure::try_timed;
use efface_reproduce::{Life, weights};
use serde::Serialize;

use crate::figure::{Figure, Samples, repeated};
use crate::subject::Subject;

/// Rows that leave one by one before settling.
pub(crate) const REMOVALS: usize = 100;

/// One of each operation: its samples, or its figure.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Operations<T> {
    /// Training until ‖∇L‖ ≤ 1e-9.
    pub(crate) train: T,
    /// Training until ‖∇L‖ is at most what was asked for.
    pub(crate) train_matched: T,
    /// One instant removal; the gradient is the bound that is claimed after the first one.
    pub(crate) remove_one: T,
    /// A hundred instant removals and settling.
    pub(crate) remove_hundred: T,
    /// Settling after a hundred removals.
    pub(crate) settle: T,
    /// A release after a hundred removals: settling, then exact noise.
    pub(crate) release: T,
    /// Classes of all test rows.
    pub(crate) predict: T,
}

/// Measures in rounds, so that something else can be measured in between.
pub(crate) struct Bench<'a> {
    subject: &'a Subject,
    plan: TrainingPlan,
    matched: TrainingPlan,
    noise: NoiseSource,
    model: Option<Model>,
    samples: Operations<Samples>,
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
            samples: Operations::default(),
        })
    }

    /// Measures everything a few times.
    pub(crate) fn round(&mut self) -> anyhow::Result<()> {
        let (rows, noise) = (&self.subject.train, &mut self.noise);
        let mut model = None;
        let plans = [(&self.matched, &mut self.samples.train_matched), (&self.plan, &mut self.samples.train)];
        for (plan, samples) in plans {
            repeated(MOST_REPEATS, ROUND_SECONDS, || {
                let (trained, seconds) = try_timed(|| plan.train(rows, noise, &mut |_| {}))?;
                samples.push(seconds, gradient_norm(&trained.model));
                model = Some(trained.model);
                Ok(())
            })?;
        }
        let Some(model) = model else { return Ok(()) };
        repeated(MOST_REPEATS, ROUND_SECONDS, || self.removals(model.clone()))?;

        let weights = weights(&model);
        for _ in 0..PREDICTIONS {
            let (classes, seconds) = try_timed(|| -> anyhow::Result<Vec<usize>> {
                let margins = predict::margins(&self.subject.test, &weights)?;
                Ok((0..self.subject.test.len()).map(|i| predict::predicted_class(&margins, i)).collect())
            })?;
            anyhow::ensure!(classes.len() == self.subject.test.n_rows(), "one class per row");
            self.samples.predict.push(seconds, None);
        }
        self.model = Some(model);
        Ok(())
    }

    /// A hundred removals one by one, then settling, and on a copy a release.
    fn removals(&mut self, model: Model) -> anyhow::Result<()> {
        let mut life = Life::new(model, self.subject.train_rows()?);
        let mut total = 0.0;
        for position in self.subject.leaving(REMOVALS) {
            let (_, seconds) = life.remove(&[position])?;
            let claimed = (total == 0.0).then(|| gradient_norm(&life.model));
            self.samples.remove_one.push(seconds, claimed);
            total += seconds;
        }
        let (mut leaving, rows) = (life.model.clone(), &life.rows);
        let (released, seconds) = try_timed(|| -> anyhow::Result<ReleaseOutcome> {
            leaving.settle_before_release(rows)?;
            Ok(leaving.release(&mut self.noise))
        })?;
        anyhow::ensure!(matches!(released, ReleaseOutcome::Published(_)), "the release was refused");
        self.samples.release.push(seconds, None);

        let (settled, seconds) = try_timed(|| life.model.settle(rows, None))?;
        let left = settled.claim.gradient_residual.get();
        self.samples.settle.push(seconds, left);
        self.samples.remove_hundred.push(total + seconds, left);
        Ok(())
    }

    /// Medians over all rounds.
    pub(crate) fn figures(&self) -> Option<Operations<Figure>> {
        let samples = &self.samples;
        Some(Operations {
            train: samples.train.figure()?,
            train_matched: samples.train_matched.figure()?,
            remove_one: samples.remove_one.figure()?,
            remove_hundred: samples.remove_hundred.figure()?,
            settle: samples.settle.figure()?,
            release: samples.release.figure()?,
            predict: samples.predict.figure()?,
        })
    }

    /// The weights, to be compared with those of another program.
    pub(crate) fn weights(&self) -> Vec<Vec<f64>> {
        self.model.as_ref().map(weights).unwrap_or_default()
    }
}

fn gradient_norm(model: &Model) -> f64 {
    model.claim().gradient_residual.get()
}
