//! Whole trainings: that they learn, go on where they stopped, and refuse what does not fit.

use std::ops::ControlFlow;

use efface_core::accounting::Guarantee;
use efface_core::accounting::statement::Statement;
use sha2::{Digest, Sha256};

use super::random_bytes;
use crate::architecture::Architecture;
use crate::error::{CheckpointError, PlanError, TrainError};
use crate::images::Images;
use crate::plan::{Privacy, Randomness, TrainingConfig, TrainingPlan};
use crate::train::{Trained, Trainer, train};

const SIDE: usize = 10;

/// Noise with a bright bar: lying at the top, lying below, or standing.
fn bars(n: usize) -> (Vec<u8>, Vec<u8>) {
    let mut pixels: Vec<u8> = random_bytes(n * SIDE * SIDE, 21).into_iter().map(|p| p / 2).collect();
    let labels: Vec<u8> = (0..n).map(|row| (row % 3) as u8).collect();
    for (image, label) in pixels.chunks_exact_mut(SIDE * SIDE).zip(&labels) {
        for i in 0..SIDE {
            let place = [2 * SIDE + i, 7 * SIDE + i, i * SIDE + 5][usize::from(*label)];
            image[place] = 250;
        }
    }
    (pixels, labels)
}

fn config(n_rows: usize, privacy: Privacy) -> TrainingConfig {
    TrainingConfig {
        architecture: Architecture { filters: [4, 8], kernel: 3, ..Architecture::new(SIDE, SIDE, 1, 3, 12) },
        n_rows,
        expected_batch: 60,
        epochs: 8.0,
        learning_rate: 0.4,
        momentum: 0.5,
        privacy,
        randomness: Randomness::DangerFixedSeed(1),
    }
}

fn plan(config: TrainingConfig) -> TrainingPlan {
    TrainingPlan::new(config).expect("possible")
}

fn accuracy(trained: &Trained, images: &Images<'_>, labels: &[u8]) -> f64 {
    let scores = trained.network.scores(images).expect("fits");
    let right = scores.chunks_exact(3).zip(labels).filter(|(scores, label)| {
        let best = (0..3).max_by(|a, b| scores[*a].total_cmp(&scores[*b])).expect("three classes");
        best == usize::from(**label)
    });
    right.count() as f64 / labels.len() as f64
}

#[test]
fn networks_learn_with_and_without_privacy() {
    let (pixels, labels) = bars(900);
    let (seen, unseen) = pixels.split_at(600 * SIDE * SIDE);
    let (seen, unseen) = [seen, unseen].map(|pixels| Images::new(SIDE, SIDE, 1, pixels).expect("whole")).into();
    let guarantee = Guarantee { epsilon: 8.0, delta: 1e-4 };
    for privacy in [Privacy::None, Privacy::Promise { guarantee, group: 1, clip: 1.0 }] {
        let plan = plan(config(600, privacy));
        let mut losses = Vec::new();
        let trained = train(&seen, &labels[..600], &plan, &mut |trainer| {
            losses.push(trainer.loss());
            ControlFlow::Continue(())
        });
        let trained = trained.expect("trainable");
        assert_eq!((losses.len() as u64, plan.steps()), (80, 80));
        let found = accuracy(&trained, &unseen, &labels[600..]);
        assert!(found > 0.95, "{privacy:?}: {found}");
        assert_eq!(trained.mechanism, plan.mechanism());
        let file = trained.network.to_onnx().expect("a small file");
        let statement = trained.statement(1e-4, &file).map(|statement| statement.expect("possible"));
        assert_eq!(statement.as_ref().map(Statement::training), plan.mechanism());
        if let Some(fields) = statement.as_ref().map(Statement::fields) {
            assert_eq!((fields.n_rows, fields.clip), (Some(600), 1.0));
            assert_eq!(fields.digest, hex::encode(Sha256::digest(&file)));
        }
        assert!(trained.mechanism.is_none_or(|mechanism| (7.9..=8.0).contains(&mechanism.epsilon_at(1e-4))));
    }
}

#[test]
fn training_goes_on_as_if_it_had_never_stopped() {
    let (pixels, labels) = bars(120);
    let images = Images::new(SIDE, SIDE, 1, &pixels).expect("whole");
    for privacy in [Privacy::None, Privacy::Noise { noise_multiplier: 1.0, clip: 0.5 }] {
        let plan = plan(TrainingConfig { epochs: 3.0, ..config(120, privacy) });
        let go_on = &mut |_: &Trainer| ControlFlow::Continue(());
        let whole = train(&images, &labels, &plan, go_on).expect("trainable");
        let mut checkpoint = Vec::new();
        let stopped = train(&images, &labels, &plan, &mut |trainer| {
            checkpoint = trainer.checkpoint();
            if trainer.steps_done() == 4 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert!(matches!(stopped, Err(TrainError::Stopped { steps_done: 4, steps: 6 })));
        let resumed = Trainer::resume(plan.clone(), &checkpoint).expect("whole");
        assert_eq!(resumed.steps_done(), 4);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().expect("threads can be had");
        let continued = pool.install(|| resumed.run(&images, &labels, &mut |_| ControlFlow::Continue(())));
        assert_eq!(continued.expect("trainable").network.weights(), whole.network.weights(), "{privacy:?}");

        let other = TrainingConfig { learning_rate: 0.3, ..*plan.config() };
        let refused = Trainer::resume(TrainingPlan::new(other).expect("possible"), &checkpoint);
        assert!(matches!(refused, Err(CheckpointError::OtherPlan)));
        for length in (0..checkpoint.len()).step_by(41) {
            assert!(Trainer::resume(plan.clone(), &checkpoint[..length]).is_err(), "cut at {length}");
        }
        for place in (0..checkpoint.len()).step_by(37) {
            checkpoint[place] ^= 1;
            assert!(Trainer::resume(plan.clone(), &checkpoint).is_err(), "altered at {place}");
            checkpoint[place] ^= 1;
        }
    }
}

#[test]
fn randomness_of_the_system_is_never_the_same() {
    let (pixels, labels) = bars(60);
    let images = Images::new(SIDE, SIDE, 1, &pixels).expect("whole");
    let privacy = Privacy::Noise { noise_multiplier: 1.0, clip: 1.0 };
    let config = TrainingConfig { epochs: 1.0, randomness: Randomness::System, ..config(60, privacy) };
    let mut weights = Vec::new();
    let start = Trainer::new(plan(config)).expect("entropy");
    for _ in 0..2 {
        let trained = start.clone().run(&images, &labels, &mut |_| ControlFlow::Continue(())).expect("trainable");
        weights.push(trained.network.weights().to_vec());
    }
    assert!(
        weights[0].iter().zip(&weights[1]).all(|(a, b)| a != b),
        "the same weights, batch and start: noise differs"
    );
    assert_ne!(start.network().weights(), Trainer::new(plan(config)).expect("entropy").network().weights());
}

#[test]
fn what_does_not_fit_the_plan_is_refused() {
    let (pixels, mut labels) = bars(60);
    let plan = plan(config(60, Privacy::None));
    let run = |images: &Images<'_>, labels: &[u8]| {
        train(images, labels, &plan, &mut |_| ControlFlow::Continue(())).expect_err("refused").to_string()
    };
    let images = Images::new(SIDE, SIDE, 1, &pixels).expect("whole");
    let other = Images::new(SIDE, SIDE / 2, 2, &pixels).expect("whole");
    let expected = "images are (10, 5, 2), the network takes (10, 10, 1) (height, width, channels)";
    assert_eq!(run(&other, &labels), expected);
    assert_eq!(run(&images, &labels[1..]), "60 images have 59 labels");
    let fewer = Images::new(SIDE, SIDE, 1, &pixels[SIDE * SIDE..]).expect("whole");
    let trained = train(&fewer, &labels[1..], &plan, &mut |_| ControlFlow::Continue(())).expect("a public number");
    assert_eq!((trained.n_rows, plan.sampling_rate()), (60, 1.0));
    labels[17] = 3;
    assert_eq!(run(&images, &labels), "row 17: label must be below 3, got `3`");
    let cut = Images::new(SIDE, SIDE, 1, &pixels[1..]).expect_err("refused");
    assert_eq!(cut.to_string(), "images must have 100 bytes each, got 5999 bytes in all");
    assert!(Images::new(usize::MAX, 2, 3, &pixels).is_err() && Images::new(0, 2, 3, &[]).is_err());
}

#[test]
fn plans_that_cannot_be_are_refused() {
    let some = config(60, Privacy::None);
    let noise = |noise_multiplier, clip| TrainingConfig { privacy: Privacy::Noise { noise_multiplier, clip }, ..some };
    let refused = |config: TrainingConfig| TrainingPlan::new(config).expect_err("refused");
    for expected_batch in [0, 61] {
        let error = refused(TrainingConfig { expected_batch, ..some });
        assert!(matches!(error, PlanError::BatchSize { .. }), "{error}");
    }
    for config in [
        TrainingConfig { epochs: 0.0, ..some },
        TrainingConfig { epochs: f64::NAN, ..some },
        TrainingConfig { learning_rate: -1.0, ..some },
        TrainingConfig { momentum: 1.0, ..some },
        noise(1.0, 0.0),
        noise(1.0, f64::INFINITY),
    ] {
        assert!(matches!(refused(config), PlanError::OutOfRange { .. }), "{config:?}");
    }
    assert!(matches!(refused(noise(0.0, 1.0)), PlanError::Mechanism(_)));
}

#[test]
fn training_that_diverges_says_so() {
    let (pixels, labels) = bars(60);
    let images = Images::new(SIDE, SIDE, 1, &pixels).expect("whole");
    let activation = crate::Activation::Relu;
    let wild = TrainingConfig { learning_rate: 1e6, epochs: 400.0, ..config(60, Privacy::None) };
    let wild = TrainingConfig { architecture: Architecture { activation, ..wild.architecture }, ..wild };
    let found = train(&images, &labels, &plan(wild), &mut |_| ControlFlow::Continue(()));
    assert!(matches!(found, Err(TrainError::Diverged { .. })), "{:?}", found.err());
}
