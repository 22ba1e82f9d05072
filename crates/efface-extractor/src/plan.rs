//! What is to be trained, for how long, and how much noise it takes.

use efface_core::accounting::Guarantee;
use efface_core::accounting::subsampled::SubsampledGaussian;
use efface_core::noise::{NoiseError, NoiseSource};
use serde::{Deserialize, Serialize};

use crate::architecture::{Architecture, Layout};
use crate::error::PlanError;

/// What a plan is made from. None of it may depend on the rows: what is chosen by looking at them is not accounted for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainingConfig {
    /// The network.
    pub architecture: Architecture,
    /// Rows that are trained on; public.
    pub n_rows: usize,
    /// Rows that a step takes on average; public.
    pub expected_batch: usize,
    /// How often a row is taken on average.
    pub epochs: f64,
    /// Step size.
    pub learning_rate: f64,
    /// Share of the last step that the next one repeats; from 0 to below 1.
    pub momentum: f64,
    /// What rows are promised.
    pub privacy: Privacy,
    /// Where randomness comes from.
    pub randomness: Randomness,
}

/// What training promises to a row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Privacy {
    /// Nothing: no clipping, no noise.
    None,
    /// What this noise promises.
    Noise {
        /// σ, in clipping norms.
        noise_multiplier: f64,
        /// C: no row's gradient counts for more than this norm.
        clip: f64,
    },
    /// This promise, to a group of so many rows together, with the least noise that keeps it.
    Promise {
        /// ε and δ of the whole group.
        guarantee: Guarantee,
        /// Rows that may leave together.
        group: usize,
        /// C.
        clip: f64,
    },
}

/// Where coins, noise and first weights come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Randomness {
    /// The operating system, anew at every step.
    System,
    /// A seed that somebody chose: whoever knows it can take the noise off again. For tests and demonstrations.
    DangerFixedSeed(u64),
}

/// A plan that can be kept.
#[derive(Clone, Debug)]
pub struct TrainingPlan {
    config: TrainingConfig,
    layout: Layout,
    steps: u64,
    private: Option<Private>,
}

/// How rows are protected.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Private {
    pub(crate) mechanism: SubsampledGaussian,
    pub(crate) clip: f64,
}

impl TrainingPlan {
    /// Checks the numbers, and finds the noise where a promise is wanted.
    pub fn new(config: TrainingConfig) -> Result<Self, PlanError> {
        let TrainingConfig { n_rows, expected_batch, epochs, learning_rate, momentum, privacy, .. } = config;
        let layout = config.architecture.layout()?;
        if !(1..=n_rows).contains(&expected_batch) {
            return Err(PlanError::BatchSize { value: expected_batch, n_rows });
        }
        in_range("epochs", epochs, 1e-3, 1e5)?;
        in_range("learning rate", learning_rate, 1e-9, 1e6)?;
        in_range("momentum", momentum, 0.0, 0.9999)?;
        let rate = sampling_rate(&config);
        let steps = (epochs / rate).ceil() as u64;
        let private = match privacy {
            Privacy::None => None,
            Privacy::Noise { noise_multiplier, clip } => {
                Some((SubsampledGaussian::new(rate, noise_multiplier, steps)?, clip))
            }
            Privacy::Promise { guarantee, group, clip } => {
                Some((SubsampledGaussian::keeping(guarantee, group, rate, steps)?, clip))
            }
        };
        if let Some((_, clip)) = private {
            in_range("clip", clip, 1e-6, 1e6)?;
        }
        let private = private.map(|(mechanism, clip)| Private { mechanism, clip });
        Ok(Self { config, layout, steps, private })
    }

    /// What it was made from.
    pub fn config(&self) -> &TrainingConfig {
        &self.config
    }

    /// q: the probability with which a step takes a row.
    pub fn sampling_rate(&self) -> f64 {
        sampling_rate(&self.config)
    }

    /// Steps in all.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The mechanism of the whole training; `None` where nothing is promised.
    pub fn mechanism(&self) -> Option<SubsampledGaussian> {
        self.private.map(|private| private.mechanism)
    }

    /// The layers of the network.
    pub(crate) fn layout(&self) -> Layout {
        self.layout.clone()
    }

    pub(crate) fn private(&self) -> Option<Private> {
        self.private
    }

    /// Randomness for one step, or for the first weights.
    pub(crate) fn source(&self, purpose: Purpose) -> Result<NoiseSource, NoiseError> {
        match self.config.randomness {
            Randomness::System => NoiseSource::from_system(),
            Randomness::DangerFixedSeed(seed) => {
                let place = match purpose {
                    Purpose::FirstWeights => 0,
                    Purpose::Step(step) => step + 1,
                };
                Ok(NoiseSource::danger_fixed_seed(seed ^ place.wrapping_mul(0x9E37_79B9_7F4A_7C15)))
            }
        }
    }
}

/// What randomness is for.
#[derive(Clone, Copy)]
pub(crate) enum Purpose {
    FirstWeights,
    Step(u64),
}

fn sampling_rate(config: &TrainingConfig) -> f64 {
    config.expected_batch as f64 / config.n_rows as f64
}

fn in_range(name: &'static str, value: f64, least: f64, most: f64) -> Result<(), PlanError> {
    if (least..=most).contains(&value) { Ok(()) } else { Err(PlanError::OutOfRange { name, value, least, most }) }
}
