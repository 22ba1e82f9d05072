//! What a configuration chooses from, by stable tags.

use serde::{Deserialize, Serialize};

use crate::tagged;

/// How models are protected when they leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mechanism {
    /// Secret exact weights; fresh noise at every release.
    Release,
    /// Guo et al. 2020, Algorithms 1 and 2: one perturbation of the objective for the model's life.
    Objective {
        /// How the removal budget follows from σ, ε and δ.
        budget: BudgetRule,
    },
}

tagged! {
    /// What three classes or more become.
    pub enum MultiClass {
        /// One problem with a score for each class, taken together: the softmax loss.
        Softmax = "softmax",
        /// Each class against all others: as many problems as classes.
        OneVsRest = "one-vs-rest",
    }
}

tagged! {
    /// Which mechanism, without its parameters.
    pub enum MechanismKind {
        /// [`Mechanism::Release`]
        Release = "release",
        /// [`Mechanism::Objective`]
        Objective = "objective",
    }
}

tagged! {
    /// How the removal budget of mechanism `objective` follows from σ, ε and δ.
    pub enum BudgetRule {
        /// σ·μ(ε, δ), exact for every ε.
        Analytic = "analytic",
        /// σ·ε/c with c = √(2 ln(1.5/δ)), as printed, but never above the exact one.
        Paper = "paper",
    }
}

impl Mechanism {
    /// The mechanism of a kind; `budget` is that of mechanism `objective`.
    pub fn new(kind: MechanismKind, budget: BudgetRule) -> Self {
        match kind {
            MechanismKind::Release => Self::Release,
            MechanismKind::Objective => Self::Objective { budget },
        }
    }

    /// Which one, without its settings.
    pub const fn kind(self) -> MechanismKind {
        match self {
            Self::Release => MechanismKind::Release,
            Self::Objective { .. } => MechanismKind::Objective,
        }
    }
}
