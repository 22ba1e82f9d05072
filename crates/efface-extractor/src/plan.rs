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
    /// So many rows are planned for; public. There may be a few more or fewer: the sampling rate, the steps and what sums are
    /// divided by follow from this number and not from theirs.
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

impl TrainingConfig {
    /// What serves where nobody knows better; `docs/features.md` says what it was measured on. The learning rate is for training
    /// without noise: with noise see [`usual_learning_rate`](Self::usual_learning_rate).
    pub fn usual(architecture: Architecture, n_rows: usize, privacy: Privacy) -> Self {
        Self {
            architecture,
            n_rows,
            expected_batch: (n_rows / 16).clamp(64, 2048).min(n_rows.max(1)),
            epochs: 10.0,
            learning_rate: 0.05,
            momentum: 0.9,
            privacy,
            randomness: Randomness::System,
        }
    }

    /// The learning rate at which the noise of all steps together moves a weight by 0.1, or at which a step moves all of them by
    /// 5 where that is less; a step counts with all that momentum makes of it.
    ///
    /// ```text
    /// (1 − momentum)/C · min( 0.1·B/(σ √T), 5 )
    /// ```
    pub fn usual_learning_rate(&self) -> Result<f64, PlanError> {
        let plan = TrainingPlan::new(*self)?;
        let Some(Private { mechanism, clip }) = plan.private else { return Ok(self.learning_rate) };
        let noise = mechanism.noise_multiplier() * (plan.steps as f64).sqrt() / self.expected_batch as f64;
        Ok((1.0 - self.momentum) / clip * (0.1 / noise).min(5.0))
    }
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

impl Privacy {
    /// Whether it is one, as far as that does not depend on the number of steps.
    pub fn check(&self) -> Result<(), PlanError> {
        let clip = match *self {
            Self::None => return Ok(()),
            Self::Noise { noise_multiplier, clip } => {
                SubsampledGaussian::new(1.0, noise_multiplier, 1)?;
                clip
            }
            Self::Promise { guarantee, group, clip } => {
                SubsampledGaussian::check_promise(guarantee, group)?;
                clip
            }
        };
        in_range("clip", clip, 1e-6, 1e6)
    }
}

impl TrainingPlan {
    /// Checks the numbers, and finds the noise where a promise is wanted.
    pub fn new(config: TrainingConfig) -> Result<Self, PlanError> {
        let TrainingConfig { n_rows, expected_batch, epochs, learning_rate, momentum, privacy, .. } = config;
        let layout = config.architecture.layout()?;
        privacy.check()?;
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

    /// Weights of the network.
    pub fn n_weights(&self) -> usize {
        self.layout.n_weights
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
