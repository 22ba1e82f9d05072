//! What asking for a release leads to: the release, or why there is none.

use serde::Serialize;

use super::Release;
use crate::ridge::Ridge;
use crate::rounding::{LowerBound, UpperBound};
use crate::tagged;

/// Whether a model may leave.
#[derive(Clone, Debug)]
pub enum ReleaseOutcome {
    /// It may, and here it is.
    Published(Release),
    /// Mechanism `release`: even settled, this release would exceed the promise.
    BudgetExhausted {
        /// μ (or ε) of all releases with this one.
        mu_total: UpperBound,
        /// What the promise allows.
        mu_limit: LowerBound,
    },
    /// Mechanism `release`: even settled, the weights cannot be shown to be as near to the exact ones as every release of the
    /// model claims.
    OutOfReach {
        /// Their distance, at most.
        distance: UpperBound,
        /// The most that a release may have.
        limit: LowerBound,
    },
    /// Rows of a single class are left: nothing could be learnt from them alone.
    OneClass,
    /// Exact sums: the matrix is not positive definite in floating point.
    Singular {
        /// λ or α.
        ridge: Ridge,
    },
    /// A weight is too large for the lattice that the noise lives on, or there is no such lattice.
    OffLattice {
        /// The weight, or the scale of the noise.
        value: f64,
        /// The least magnitude that does not fit.
        limit: f64,
    },
    /// More rows have left than the private feature extractor's promise covers.
    ExtractorExhausted {
        /// Rows that have left.
        n_left: usize,
        /// So many are covered.
        group: usize,
    },
    /// Mechanism `objective`: the residual exceeds the budget.
    RetrainRequired {
        /// The residual.
        spent: UpperBound,
        /// What the perturbation covers.
        budget: LowerBound,
    },
}

tagged! {
    /// Why a model may not leave.
    pub enum Refusal {
        /// [`ReleaseOutcome::RetrainRequired`]
        RetrainRequired = "retrain-required",
        /// [`ReleaseOutcome::OutOfReach`]
        OutOfReach = "out-of-reach",
        /// [`ReleaseOutcome::OneClass`]
        OneClass = "one-class",
        /// [`ReleaseOutcome::Singular`]
        Singular = "singular",
        /// [`ReleaseOutcome::BudgetExhausted`]
        BudgetExhausted = "budget-exhausted",
        /// [`ReleaseOutcome::ExtractorExhausted`]
        ExtractorExhausted = "extractor-exhausted",
        /// [`ReleaseOutcome::OffLattice`]
        OffLattice = "off-lattice",
    }
}

/// A release that may not be made.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Refused {
    /// Why.
    pub outcome: Refusal,
    /// What exceeds a limit, where that is why.
    #[serde(flatten)]
    pub excess: Option<Excess>,
}

/// What was found, and the limit that it exceeds; `null` in JSON where it is infinite.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Excess {
    /// A residual (`retrain-required`), a distance (`out-of-reach`), μ or ε (`budget-exhausted`), a number of rows
    /// (`extractor-exhausted`), or the magnitude of a weight or of the noise (`off-lattice`).
    #[serde(rename = "spent")]
    pub found: f64,
    /// What is allowed.
    #[serde(rename = "budget")]
    pub limit: f64,
}

impl ReleaseOutcome {
    /// The release, or why there is none.
    pub fn into_result(self) -> Result<Release, Refused> {
        let over = |outcome, found, limit| Refused { outcome, excess: Some(Excess { found, limit }) };
        let without_a_limit = |outcome| Refused { outcome, excess: None };
        Err(match self {
            Self::Published(release) => return Ok(release),
            Self::RetrainRequired { spent, budget } => over(Refusal::RetrainRequired, spent.get(), budget.get()),
            Self::OutOfReach { distance, limit } => over(Refusal::OutOfReach, distance.get(), limit.get()),
            Self::OneClass => without_a_limit(Refusal::OneClass),
            Self::Singular { .. } => without_a_limit(Refusal::Singular),
            Self::BudgetExhausted { mu_total, mu_limit } => {
                over(Refusal::BudgetExhausted, mu_total.get(), mu_limit.get())
            }
            Self::ExtractorExhausted { n_left, group } => {
                over(Refusal::ExtractorExhausted, n_left as f64, group as f64)
            }
            Self::OffLattice { value, limit } => over(Refusal::OffLattice, value.abs(), limit),
        })
    }
}
