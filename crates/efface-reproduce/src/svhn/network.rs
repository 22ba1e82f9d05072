//! A small convolutional network that is trained on the pictures: with privacy, an extractor for a head; without, what
//! privacy costs.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use efface_core::accounting::Guarantee;
use efface_data::{FeatureValues, RowTransform, Scale};
use efface_extractor::{Architecture, Images, Network, Privacy, Randomness, Trainer, TrainingConfig, TrainingPlan};
use serde::{Deserialize, Serialize};

use super::head::Head;
use super::{DELTA, GROUP};
use crate::data::{
    DataSet, Pictures, SVHN_CHANNELS as CHANNELS, SVHN_CLASSES as N_CLASSES, SVHN_SIDE as SIDE, Split, rows_of,
};
use crate::{Result, Setting};

/// A private extractor, alone and under a head.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct PrivateRun {
    /// ε of the extractor for the whole group: what the network promises by itself.
    pub(super) extractor_epsilon: f64,
    /// ε of the extractor for one row.
    pub(super) epsilon_per_row: f64,
    pub(super) noise_multiplier: f64,
    pub(super) steps: u64,
    /// Accuracy of the network's own scores.
    pub(super) network_accuracy: f64,
    /// Training the network took so long; nothing where an earlier run did a part of it.
    pub(super) network_seconds: Option<f64>,
    /// Extractor and head together.
    #[serde(flatten)]
    pub(super) head: Head,
}

/// The network without privacy, and before it was trained.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct PlainRun {
    /// Accuracy of its own scores.
    pub(super) accuracy: f64,
    pub(super) seconds: Option<f64>,
    pub(super) steps: u64,
    /// A head on features of the random weights that training begins with.
    pub(super) untrained: Head,
}

impl PrivateRun {
    /// Most of ε and half of δ go to the extractor.
    pub(super) fn measure(pictures: &Pictures, epsilon: f64, setting: &Setting<'_>) -> Result<Self> {
        let guarantee = Guarantee { epsilon: EXTRACTOR_SHARE * epsilon, delta: 0.5 * DELTA };
        let privacy = Privacy::Promise { guarantee, group: GROUP, clip: CLIP };
        let mut config = usual(pictures, privacy, setting);
        config.learning_rate = config.usual_learning_rate()?;
        let plan = TrainingPlan::new(config)?;
        let mechanism = plan.mechanism().expect("a promise takes a mechanism");
        let extractor = mechanism.extractor(GROUP, guarantee.delta)?;
        let steps = plan.steps();
        let (network, network_seconds) = train(plan, &checkpoint_name(epsilon), pictures, setting)?;
        Ok(Self {
            extractor_epsilon: extractor.cost().epsilon,
            epsilon_per_row: extractor.epsilon,
            noise_multiplier: mechanism.noise_multiplier(),
            steps,
            network_accuracy: accuracy(&network, &pictures.test)?,
            network_seconds,
            head: Head::measure(features(&network, pictures)?, L2_PER_ROW, (epsilon, Some(extractor)), setting)?,
        })
    }
}

impl PlainRun {
    pub(super) fn measure(pictures: &Pictures, setting: &Setting<'_>) -> Result<Self> {
        let usual = usual(pictures, Privacy::None, setting);
        let expected_batch = PLAIN_BATCH.min(usual.expected_batch);
        let plan = TrainingPlan::new(TrainingConfig { expected_batch, ..usual })?;
        let untrained = features(Trainer::new(plan.clone())?.network(), pictures)?;
        let untrained = Head::measure(untrained, L2_PER_ROW, (1.0, None), setting)?;
        let steps = plan.steps();
        let (network, seconds) = train(plan, PLAIN_CHECKPOINT, pictures, setting)?;
        Ok(Self { accuracy: accuracy(&network, &pictures.test)?, seconds, steps, untrained })
    }
}

fn usual(pictures: &Pictures, privacy: Privacy, setting: &Setting<'_>) -> TrainingConfig {
    let architecture = Architecture::new(SIDE, SIDE, CHANNELS, N_CLASSES as usize, N_FEATURES);
    let usual = TrainingConfig::usual(architecture, pictures.train.n_pictures(), privacy);
    TrainingConfig { randomness: Randomness::DangerFixedSeed(setting.seed), ..usual }
}

/// Trains a network, from where an earlier run of the same plan was stopped. The seconds are those of a whole training.
fn train(plan: TrainingPlan, name: &str, pictures: &Pictures, setting: &Setting<'_>) -> Result<(Network, Option<f64>)> {
    // What cannot be gone on from is begun anew.
    let kept = setting.kept(name).and_then(|bytes| Trainer::resume(plan.clone(), &bytes).ok());
    let trainer = kept.map_or_else(|| Trainer::new(plan), Ok)?;
    let (steps, is_whole) = (trainer.plan().steps(), trainer.steps_done() == 0);
    setting.begin(format!("SVHN: network {name}"), steps as usize);
    let (start, mut written, mut failed) = (Instant::now(), Instant::now(), None);
    let mut go_on = |trainer: &Trainer| {
        setting.is_at(trainer.steps_done() as usize);
        if written.elapsed() >= BETWEEN_CHECKPOINTS || trainer.steps_done() == steps {
            written = Instant::now();
            failed = setting.keep(name, &trainer.checkpoint()).err();
        }
        if failed.is_none() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let trained = trainer.run(&images(&pictures.train)?, &pictures.train.labels, &mut go_on);
    match failed {
        Some(error) => Err(error),
        None => Ok((trained?.network, is_whole.then(|| start.elapsed().as_secs_f64()))),
    }
}

/// Takes away what runs were to go on from.
pub(super) fn forget_checkpoints(runs: &[PrivateRun], setting: &Setting<'_>) {
    setting.forget(PLAIN_CHECKPOINT);
    for run in runs {
        setting.forget(&checkpoint_name(run.head.epsilon));
    }
}

fn checkpoint_name(epsilon: f64) -> String {
    format!("epsilon-{epsilon}")
}

fn images(split: &Split) -> Result<Images<'_>> {
    Ok(Images::new(SIDE, SIDE, CHANNELS, &split.pixels)?)
}

/// Fraction of the pictures of which the network's own scores find the digit.
fn accuracy(network: &Network, split: &Split) -> Result<f64> {
    let scores = network.scores(&images(split)?)?;
    let best = |scores: &[f32]| (0..scores.len()).max_by(|a, b| scores[*a].total_cmp(&scores[*b]));
    let found = scores.chunks_exact(N_CLASSES as usize).map(best);
    let right = found.zip(&split.labels).filter(|(found, label)| *found == Some(usize::from(**label))).count();
    Ok(right as f64 / split.n_pictures() as f64)
}

/// What the layer below the scores makes of the pictures, as rows of norm 1.
fn features(network: &Network, pictures: &Pictures) -> Result<DataSet> {
    let unit = RowTransform { scale: Scale::Unit, intercept: true };
    let rows = |split: &Split| {
        let features = FeatureValues::F32(network.features(&images(split)?)?);
        rows_of(features, N_FEATURES, (split.classes(), N_CLASSES), &unit)
    };
    Ok(DataSet { name: "SVHN", n_classes: N_CLASSES, train: rows(&pictures.train)?, test: rows(&pictures.test)? })
}

/// Width of the layer below the scores.
const N_FEATURES: usize = 256;

/// C.
const CLIP: f64 = 0.5;

/// The extractor's share of ε; the rest is the head's.
const EXTRACTOR_SHARE: f64 = 0.9;

/// λ of the heads.
const L2_PER_ROW: f64 = 1e-5;

/// Rows of a step without privacy.
const PLAIN_BATCH: usize = 256;

const PLAIN_CHECKPOINT: &str = "without-privacy";

/// So much work may be lost.
const BETWEEN_CHECKPOINTS: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;

    /// Pictures of noise, with a stripe where the digit says.
    fn pictures() -> Pictures {
        let split = |n: usize| {
            let labels: Vec<u8> = (0..n).map(|i| (i % 10) as u8).collect();
            let pixel = |label: u8, at: usize| {
                let row = at / (SIDE * CHANNELS);
                let noise = (at * 2_654_435_761 + usize::from(label) * 40_503) >> 7 & 127;
                if row / 3 == usize::from(label) { 255 } else { noise as u8 }
            };
            let pixels = labels.iter().flat_map(|label| (0..SIDE * SIDE * CHANNELS).map(|at| pixel(*label, at)));
            Split { pixels: pixels.collect(), labels }
        };
        Pictures { train: split(80), test: split(40) }
    }

    #[test]
    fn a_training_that_was_stopped_goes_on_to_the_same_network() {
        let (pictures, place) = (pictures(), tempfile::tempdir().expect("a temporary folder"));
        let folder = place.path().join("checkpoints");
        let mut tell = |_: &crate::Stage| {};
        let setting = Setting::new(place.path().into(), true, 5, &mut tell).with_checkpoints(folder.clone());
        let usual = usual(&pictures, Privacy::Noise { noise_multiplier: 1.0, clip: CLIP }, &setting);
        let plan = TrainingPlan::new(TrainingConfig { epochs: 3.0, ..usual }).expect("a plan");
        let whole = train(plan.clone(), "whole", &pictures, &setting).expect("trained").0;
        setting.forget("whole");
        assert!(!folder.exists());

        let mut half = Vec::new();
        let mut stop = |trainer: &Trainer| {
            half = trainer.checkpoint();
            if trainer.steps_done() < 2 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let images = images(&pictures.train).expect("whole pictures");
        Trainer::new(plan.clone())
            .and_then(|trainer| trainer.run(&images, &pictures.train.labels, &mut stop))
            .expect_err("stopped");
        for kept in [&half[..], b"damaged"] {
            setting.keep("half", kept).expect("written");
            let again = train(plan.clone(), "half", &pictures, &setting).expect("trained").0;
            assert_eq!(again.weights(), whole.weights());
        }
    }
}
