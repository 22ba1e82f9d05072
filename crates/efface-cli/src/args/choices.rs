//! Values that are picked from a list.

use clap::ValueEnum;
use efface_core::residual::Rung;

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum LossArg {
    Logistic,
    Squared,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum MechanismArg {
    /// Fresh noise at every release; no limit on removals.
    Release,
    /// The paper's Algorithms 1 and 2: one perturbation, a removal budget.
    Objective,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum LawArg {
    Gaussian,
    Gamma,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum BoundArg {
    DataDependent,
    Stale,
    PerRow,
    Measured,
    StepNorm,
    WorstCase,
}

impl BoundArg {
    pub(super) fn rung(self) -> Rung {
        match self {
            Self::DataDependent => Rung::DataDependent,
            Self::Stale => Rung::Stale,
            Self::PerRow => Rung::PerRow,
            Self::Measured => Rung::Measured,
            Self::StepNorm => Rung::StepNorm,
            Self::WorstCase => Rung::WorstCase,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum GammaArg {
    Tight,
    Paper,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum BudgetArg {
    Analytic,
    Paper,
}
