//! Training: stochastic gradient descent with momentum, step by step.

use std::ops::ControlFlow;

use efface_core::accounting::statement::{
    ExtractorMechanism, ProtectedUnit, Statement, StatementError, StatementFields, StatementFormat,
};
use efface_core::accounting::subsampled::SubsampledGaussian;
use sha2::{Digest, Sha256};

use crate::error::TrainError;
use crate::images::Images;
use crate::network::Network;
use crate::plan::{Purpose, TrainingPlan};
use crate::step::{plain_sum, poisson_sample, private_sum};

/// A network, and what training it promised to each row.
#[derive(Clone, Debug)]
pub struct Trained {
    /// The network.
    pub network: Network,
    /// What it was trained by; `None` where nothing is promised.
    pub mechanism: Option<SubsampledGaussian>,
    /// C; `None` where nothing was clipped.
    pub clip: Option<f64>,
    /// Rows that were planned for.
    pub n_rows: usize,
}

impl Trained {
    /// What is to be said of this file of the network: how it was trained, and ε of one row at `delta`. `None` where
    /// nothing is promised.
    pub fn statement(&self, delta: f64, file: &[u8]) -> Option<Result<Statement, StatementError>> {
        let (mechanism, clip) = self.mechanism.zip(self.clip)?;
        Some(Statement::new(StatementFields {
            format: StatementFormat::One,
            mechanism: ExtractorMechanism::DpSgdPoisson,
            sampling_rate: mechanism.sampling_rate(),
            noise_multiplier: mechanism.noise_multiplier(),
            steps: mechanism.steps(),
            clip,
            unit: ProtectedUnit::Row,
            delta,
            n_rows: Some(self.n_rows as u64),
            epsilon: Some(mechanism.epsilon_at(delta)),
            digest: hex::encode(Sha256::digest(file)),
        }))
    }
}

/// Trains a network as planned.
///
/// `progress` is called after every step; it may take a checkpoint, and stop the training with `Break`.
pub fn train(
    images: &Images<'_>,
    labels: &[u8],
    plan: &TrainingPlan,
    progress: &mut dyn FnMut(&Trainer) -> ControlFlow<()>,
) -> Result<Trained, TrainError> {
    Trainer::new(plan.clone())?.run(images, labels, progress)
}

/// Training between two steps.
///
/// With [`Privacy`](crate::Privacy), weights and momentum are functions of what the steps published, so a checkpoint tells no
/// more about a row than the network does: but it is one more thing that was published, and going on twice from the same
/// one publishes more steps than are accounted for. Without privacy, keep checkpoints secret. The loss is never protected.
#[derive(Clone, Debug)]
pub struct Trainer {
    pub(crate) plan: TrainingPlan,
    pub(crate) network: Network,
    pub(crate) velocity: Vec<f32>,
    pub(crate) steps_done: u64,
    loss: f64,
}

impl Trainer {
    /// Before the first step, with random weights.
    pub fn new(plan: TrainingPlan) -> Result<Self, TrainError> {
        let mut source = plan.source(Purpose::FirstWeights)?;
        let network = Network::random(plan.config().architecture, plan.layout(), &mut source);
        Ok(Self::at(plan, network, None, 0))
    }

    /// After so many steps.
    pub(crate) fn at(plan: TrainingPlan, network: Network, velocity: Option<Vec<f32>>, steps_done: u64) -> Self {
        let velocity = velocity.unwrap_or_else(|| vec![0.0; network.weights.len()]);
        Self { plan, network, velocity, steps_done, loss: f64::NAN }
    }

    /// Takes all steps that are left.
    pub fn run(
        mut self,
        images: &Images<'_>,
        labels: &[u8],
        progress: &mut dyn FnMut(&Trainer) -> ControlFlow<()>,
    ) -> Result<Trained, TrainError> {
        self.check(images, labels)?;
        while self.steps_done < self.plan.steps() {
            self.step(images, labels)?;
            if progress(&self).is_break() {
                return Err(TrainError::Stopped { steps_done: self.steps_done, steps: self.plan.steps() });
            }
        }
        let private = self.plan.private();
        Ok(Trained {
            network: self.network,
            mechanism: private.map(|private| private.mechanism),
            clip: private.map(|private| private.clip),
            n_rows: self.plan.config().n_rows,
        })
    }

    /// What it was planned as.
    pub fn plan(&self) -> &TrainingPlan {
        &self.plan
    }

    /// The network as it is now.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Steps taken so far.
    pub fn steps_done(&self) -> u64 {
        self.steps_done
    }

    /// The mean loss of the rows of the last step, before it; not a number where there were none. Not protected: for the
    /// eyes of whoever has the rows.
    pub fn loss(&self) -> f64 {
        self.loss
    }

    fn check(&self, images: &Images<'_>, labels: &[u8]) -> Result<(), TrainError> {
        self.network.check(images)?;
        let n_images = images.n_images();
        if n_images != labels.len() {
            return Err(TrainError::Labels { n_images, n_labels: labels.len() });
        }
        let n_classes = self.network.architecture().n_classes;
        match labels.iter().position(|label| usize::from(*label) >= n_classes) {
            Some(row) => Err(TrainError::Label { row, label: labels[row], n_classes }),
            None => Ok(()),
        }
    }

    fn step(&mut self, images: &Images<'_>, labels: &[u8]) -> Result<(), TrainError> {
        let config = *self.plan.config();
        let mut source = self.plan.source(Purpose::Step(self.steps_done))?;
        let rows = poisson_sample(images.n_images(), self.plan.sampling_rate(), &mut source);
        let gradients = match self.plan.private() {
            Some(private) => private_sum(&self.network, images, labels, &rows, private, &mut source)?,
            None => plain_sum(&self.network, images, labels, &rows),
        };
        // Divided by a public number, not by how many rows there were.
        let scale = 1.0 / config.expected_batch as f64;
        let state = self.network.weights.iter_mut().zip(&mut self.velocity);
        for ((weight, velocity), slope) in state.zip(&gradients.sum) {
            *velocity = (config.momentum * f64::from(*velocity) + scale * slope) as f32;
            *weight = (f64::from(*weight) - config.learning_rate * f64::from(*velocity)) as f32;
        }
        self.steps_done += 1;
        self.loss = gradients.loss / rows.len() as f64;
        if self.network.weights.iter().all(|weight| weight.is_finite()) {
            Ok(())
        } else {
            Err(TrainError::Diverged { step: self.steps_done })
        }
    }
}
