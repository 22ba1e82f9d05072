//! What to train and what to promise: a plain configuration comes in, a valid plan comes out, and only the plan trains.

use serde::{Deserialize, Serialize};

use super::choices::{BudgetRule, Mechanism, MultiClass};
use super::plan_error::PlanError;
use crate::accounting::{Extractor, Guarantee, gaussian};
use crate::loss::{self, Logistic, Loss, Softmax};
use crate::noise::normal::RoundedNormal;
use crate::noise::{NoiseArithmetic, NoiseLaw};
use crate::objective::Objective;
use crate::residual::{Constants, CurvatureChange, Rung};
use crate::ridge::Ridge;
use crate::rounding::{LowerBound, UpperBound};
use crate::rows::{NegativeSampling, Problem};

/// Everything that is decided before the first row is read.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TrainingConfig {
    /// ℓ.
    #[serde(with = "loss_tag")]
    pub loss: &'static dyn Loss,
    /// λ or α: what the objective adds.
    #[serde(flatten)]
    pub ridge: Ridge,
    /// Number of classes; `None` for regression, which only a loss of numbers can do.
    pub n_classes: Option<u32>,
    /// What three classes or more become, under the logistic loss.
    pub multi_class: MultiClass,
    /// Classes whose last row has left, in that order: there is no problem for them any more.
    pub absent_classes: Vec<u32>,
    /// How models are protected when they leave.
    pub mechanism: Mechanism,
    /// Law of the noise.
    pub law: NoiseLaw,
    /// Standard deviation of the noise (scale of the exponent, for the gamma law); `None`: the mechanism's default.
    pub noise_std: Option<f64>,
    /// ε.
    pub epsilon: f64,
    /// δ; ignored and taken as 0 under the gamma law.
    pub delta: f64,
    /// Rung that certifies removals; `None`: the mechanism's default.
    pub bound: Option<Rung>,
    /// Constants of the bounds.
    pub constants: Constants,
    /// N: the promise is shared out evenly among so many releases under mechanism `release`.
    pub max_releases: u64,
    /// How many promises in a row ε and N add up, the first one included ([`TrainingPlan::renewed`]).
    pub lives: u32,
    /// A private feature extractor that the rows went through, and how many of them its promise is to cover.
    pub extractor: Option<Extractor>,
    /// Fraction of the negatives that each one-vs-rest problem keeps; `None`: all.
    pub negatives: Option<f64>,
    /// Training and settling stop at this gradient norm.
    pub gradient_tolerance: f64,
    /// With more features than this no d × d matrix is kept: training by L-BFGS, removal without a step.
    pub max_matrix_dim: usize,
}

impl TrainingConfig {
    /// The defaults for a loss, a ridge per row and a number of classes: mechanism `release` at ε = 1, δ = 1e-4.
    pub fn new(loss: &'static dyn Loss, l2_per_row: f64, n_classes: Option<u32>) -> Self {
        Self {
            loss,
            ridge: Ridge::PerRow(l2_per_row),
            n_classes,
            multi_class: MultiClass::OneVsRest,
            absent_classes: Vec::new(),
            mechanism: Mechanism::Release,
            law: NoiseLaw::Gaussian,
            noise_std: None,
            epsilon: 1.0,
            delta: 1e-4,
            bound: None,
            constants: Constants::Tight,
            max_releases: DEFAULT_RELEASES,
            lives: 1,
            extractor: None,
            negatives: None,
            gradient_tolerance: 1e-9,
            max_matrix_dim: 4096,
        }
    }

    /// Checks everything but the classes, which may be known only once the rows have been read.
    pub fn check(&self) -> Result<(), PlanError> {
        TrainingPlan::for_any_classes(self.clone()).map(drop)
    }

    fn check_classes(&self) -> Result<(), PlanError> {
        let found = self.n_classes.unwrap_or(0);
        // The squared loss takes numbers, or the signs that classes become.
        let can_be_trained = found >= 2 || self.n_classes.is_none() && !self.loss.is_classification();
        if !can_be_trained || self.absent_classes.iter().any(|class| *class >= found) {
            return Err(PlanError::Classes { loss: self.loss.tag(), found });
        }
        Ok(())
    }
}

/// A valid [`TrainingConfig`].
#[derive(Clone, Debug)]
pub struct TrainingPlan {
    config: TrainingConfig,
    noise_std: f64,
    mu_limit: LowerBound,
}

/// Noise of mechanism `release` when none is given: a margin moves by a thousandth, which no accuracy notices, and a
/// settled model is a million times closer than that to the retrained one.
const DEFAULT_RELEASE_STD: f64 = 1e-3;

/// Releases that the promise is shared among when their number is not given: a release every day for eleven years.
const DEFAULT_RELEASES: u64 = 4_096;

/// More releases than this are not counted exactly by a double.
const MOST_RELEASES: u64 = 1 << 52;

/// Perturbation of mechanism `objective` when none is given.
const DEFAULT_PERTURBATION_STD: f64 = 1.0;

/// More noise than this leaves no room for sums of squares in double precision.
const MOST_NOISE: f64 = 1e100;

/// Lattices are asked for that hold the releases of so many weights. More do not fit any memory.
const MOST_WEIGHTS: usize = 1 << 40;

impl TrainingPlan {
    /// Checks every value.
    pub fn new(config: TrainingConfig) -> Result<Self, PlanError> {
        let plan = Self::for_any_classes(config)?;
        plan.config.check_classes()?;
        Ok(plan)
    }

    /// Checks every value but the classes, on which nothing else depends.
    fn for_any_classes(config: TrainingConfig) -> Result<Self, PlanError> {
        positive(config.ridge.name(), config.ridge.strength())?;
        positive("epsilon", config.epsilon)?;
        if config.law == NoiseLaw::Gaussian && !(config.delta > 0.0 && config.delta < 1.0) {
            return Err(PlanError::Delta { value: config.delta });
        }
        positive("tolerance", config.gradient_tolerance)?;
        if let Some(fraction) = config.negatives
            && !(fraction > 0.0 && fraction <= 1.0)
        {
            return Err(PlanError::Negatives { value: fraction });
        }
        if config.negatives.is_some() && config.multi_class == MultiClass::Softmax {
            return Err(PlanError::NegativesOfSoftmax);
        }
        if let Some(extractor) = config.extractor {
            let Extractor { epsilon, delta, group } = extractor;
            if !extractor.is_possible() {
                return Err(PlanError::Extractor { epsilon, delta, group });
            }
        }
        if !(1..=MOST_RELEASES).contains(&config.max_releases) {
            return Err(PlanError::Releases { value: config.max_releases });
        }
        let linear = config.loss.curvature_lipschitz() == 0.0;
        let noise_std = config.noise_std.unwrap_or(match config.mechanism {
            _ if linear => 0.0,
            Mechanism::Release => DEFAULT_RELEASE_STD,
            Mechanism::Objective { .. } => DEFAULT_PERTURBATION_STD,
        });
        let may_be_none = linear && noise_std == 0.0;
        if !(may_be_none || noise_std > 0.0 && noise_std <= MOST_NOISE) {
            return Err(PlanError::Noise { value: noise_std });
        }
        let unbounded = config.loss.slope_bound().is_none() && !linear;
        if config.bound == Some(Rung::WorstCase) && unbounded
            || config.bound.is_some_and(|bound| !Rung::LADDER.contains(&bound))
        {
            return Err(PlanError::Bound { bound: config.bound.map_or("", Rung::tag) });
        }
        if noise_std == 0.0 && config.negatives.is_some() {
            return Err(PlanError::NegativesWithoutNoise);
        }
        let mu_limit = gaussian::mu_limit(config.epsilon, config.delta);
        let plan = Self { config, noise_std, mu_limit };
        if !plan.is_exact() && plan.config.law == NoiseLaw::Gaussian && plan.mu_limit().get() <= 0.0 {
            return Err(PlanError::Unreachable { epsilon: plan.config.epsilon, delta: plan.config.delta });
        }
        let promised = plan.claimed_guarantee();
        if let (Some(Extractor { epsilon, delta, group }), false) = (plan.config.extractor, is_claim(promised)) {
            return Err(PlanError::ExtractorGroup { epsilon, delta, group, reached: promised });
        }
        if plan.noise_arithmetic() == NoiseArithmetic::Exact {
            let lattice = plan.lattice(MOST_WEIGHTS).and_then(|lattice| RoundedNormal::new(noise_std, lattice));
            let TrainingConfig { epsilon, delta, .. } = plan.config;
            lattice.ok_or(PlanError::Lattice { noise_std, epsilon, delta })?;
        }
        Ok(plan)
    }

    /// The plan of one more life: as many releases again, each at the distance that it claimed so far, and a promise that
    /// covers the releases of all lives together.
    ///
    /// ```text
    /// N′ = N·(L+1)/L      μ(ε′, δ) = μ(ε, δ)·√((L+1)/L)  (Gaussian)      ε′ = ε·(L+1)/L  (gamma)      L: lives so far
    /// ```
    ///
    /// Releases of different lives have independent noise, so their μ² add up as those of one life do: what is claimed of
    /// all of them follows from one account. ε′ is rounded up.
    pub fn renewed(&self) -> Result<Self, PlanError> {
        let TrainingConfig { lives, max_releases, epsilon, delta, law, .. } = self.config;
        let growth = UpperBound::count(lives as usize + 1).over(LowerBound::new(f64::from(lives)));
        let epsilon = match law {
            NoiseLaw::Gaussian => gaussian::epsilon_at(UpperBound::new(self.mu_limit.get()) * growth.sqrt(), delta),
            NoiseLaw::Gamma => (UpperBound::new(epsilon) * growth).get(),
        };
        let max_releases = max_releases + max_releases / u64::from(lives);
        Self::new(TrainingConfig { lives: lives + 1, epsilon, max_releases, ..self.config.clone() })
    }

    /// The configuration as given.
    pub fn config(&self) -> &TrainingConfig {
        &self.config
    }

    /// ℓ: softmax where classes are taken together, whatever was configured for two.
    pub fn loss(&self) -> &'static dyn Loss {
        if self.is_joint() { &Softmax } else { self.config.loss }
    }

    /// Whether there is one problem with a score for each class.
    pub fn is_joint(&self) -> bool {
        self.config.multi_class == MultiClass::Softmax
            && self.config.loss.tag() == Logistic.tag()
            && self.problem_classes().len() > 2
    }

    /// The noise's standard deviation (or scale).
    pub fn noise_std(&self) -> f64 {
        self.noise_std
    }

    /// Whether removal is exact and no noise is asked for: the squared loss without noise, where ε = 0.
    pub fn is_exact(&self) -> bool {
        self.noise_std == 0.0
    }

    /// Whether models are perturbed at training rather than at release.
    pub fn is_objective(&self) -> bool {
        matches!(self.config.mechanism, Mechanism::Objective { .. })
    }

    /// The guarantee that is promised for the model's life, without the extractor's.
    pub fn guarantee(&self) -> Guarantee {
        if self.is_exact() {
            return Guarantee { epsilon: 0.0, delta: 0.0 };
        }
        let delta = if self.config.law == NoiseLaw::Gamma { 0.0 } else { self.config.delta };
        Guarantee { epsilon: self.config.epsilon, delta }
    }

    /// What is claimed of the model: the guarantee plus the feature extractor's share for the group that it covers.
    /// Theorem 5.
    pub fn claimed_guarantee(&self) -> Guarantee {
        let share = |extractor: Extractor| self.guarantee().plus(extractor.cost());
        self.config.extractor.map_or(self.guarantee(), share)
    }

    /// μ(ε, δ): the most that all releases together may spend under the Gaussian law.
    pub fn mu_limit(&self) -> LowerBound {
        self.mu_limit
    }

    /// Largest gradient residual that mechanism `objective` covers; `None` under mechanism `release`, or when removal
    /// is exact.
    ///
    /// Guo et al. 2020, Theorem 3: `σε/c` (Gaussian, printed), `σ·μ(ε, δ)` (Gaussian, exact), `scale·ε` (gamma).
    pub fn removal_budget(&self) -> Option<LowerBound> {
        let Mechanism::Objective { budget } = self.config.mechanism else { return None };
        if self.is_exact() {
            return None;
        }
        let scale = LowerBound::new(self.noise_std);
        let epsilon = LowerBound::new(self.config.epsilon);
        Some(match (self.config.law, budget) {
            (NoiseLaw::Gamma, _) => scale.times(epsilon),
            (NoiseLaw::Gaussian, BudgetRule::Analytic) => scale.times(self.mu_limit()),
            (NoiseLaw::Gaussian, BudgetRule::Paper) => {
                // The printed rule is proved for ε ≤ 1 only; where it would promise too much, the exact one rules.
                let printed = scale.times(epsilon).over(gaussian::gaussian_tail_factor(self.config.delta));
                let exact = scale.times(self.mu_limit());
                if printed.get() <= exact.get() { printed } else { exact }
            }
        })
    }

    /// The rung that certifies removals.
    pub fn rung(&self) -> Rung {
        self.config.bound.unwrap_or(match self.config.mechanism {
            Mechanism::Release => Rung::Stale,
            Mechanism::Objective { .. } => Rung::DataDependent,
        })
    }

    /// Classes that have rows.
    pub fn classes(&self) -> Vec<u32> {
        let absent = &self.config.absent_classes;
        (0..self.config.n_classes.unwrap_or(0)).filter(|class| !absent.contains(class)).collect()
    }

    /// Classes that there are problems of. Where a single one is left nothing can be released, and the problem of the last two
    /// stays.
    fn problem_classes(&self) -> Vec<u32> {
        let mut classes = self.classes();
        if let ([_], Some(last)) = (&classes[..], self.config.absent_classes.last()) {
            classes.push(*last);
            classes.sort_unstable();
        }
        classes
    }

    /// One problem for regression, for two classes, and for more that are taken together; otherwise one per class.
    pub fn problems(&self) -> Vec<Problem> {
        let negatives = self.config.negatives.map(|fraction| NegativeSampling { fraction });
        let classes = self.problem_classes();
        if self.is_joint() {
            return vec![Problem::softmax(classes)];
        }
        match (self.config.n_classes, &classes[..]) {
            (None, _) => vec![Problem::regression()],
            (Some(_), [_, second]) => vec![Problem::one_vs_rest(*second, negatives)],
            (Some(_), classes) => classes.iter().map(|class| Problem::one_vs_rest(*class, negatives)).collect(),
        }
    }

    /// Whether the problem of the others is another one without these classes: it is to be trained anew.
    pub fn must_train_without(&self, mut absent: impl Iterator<Item = u32>) -> bool {
        let classes = self.classes();
        self.is_joint() && absent.any(|class| classes.contains(&class))
    }

    /// The plan without some classes, in the order in which they left.
    pub(super) fn without_classes(&self, absent_classes: Vec<u32>) -> Self {
        Self { config: TrainingConfig { absent_classes, ..self.config.clone() }, ..self.clone() }
    }

    pub(crate) fn objective(&self) -> Objective<'static> {
        Objective { loss: self.loss(), ridge: self.config.ridge, square_sum: None }
    }

    pub(crate) fn curvature_change(&self, row_norm: UpperBound) -> CurvatureChange {
        CurvatureChange::new(self.loss(), self.config.constants, row_norm)
    }
}

/// Whether a guarantee says anything.
fn is_claim(guarantee: Guarantee) -> bool {
    guarantee.epsilon.is_finite() && guarantee.delta < 1.0
}

fn positive(name: &'static str, value: f64) -> Result<(), PlanError> {
    if value > 0.0 && value.is_finite() { Ok(()) } else { Err(PlanError::NotPositive { name, value }) }
}

mod loss_tag {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    use super::{Loss, loss};

    pub(super) fn serialize<S: Serializer>(loss: &&'static dyn Loss, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(loss.tag())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<&'static dyn Loss, D::Error> {
        let tag = String::deserialize(deserializer)?;
        loss::by_tag(&tag).ok_or_else(|| D::Error::custom(format!("unknown loss `{tag}`")))
    }
}
