//! The residual ladder: upper bounds on the gradient that a removal step leaves behind, from cheap and loose to dear
//! and exact. One file and one claim page per rung.
//!
//! ```text
//! ∇L_b(w + v; D′) = (g − Δ + S v) + (H̄ − S) v,      H̄ = ∫₀¹ ∇²L(w + t v; D′) dt
//! ```
//!
//! The first bracket is a vector that is computed and kept (what the solver left); the rungs bound the second, the error of
//! the curvature S that was used. They are increments: norms add up over a sequence of removals. The measured rung is
//! absolute and replaces what was added up.
//!
//! Where rows have weights s_i, X stands for the rows times √s_i and n for Σ s_i: with `(H̄ − S) v = Σ s_i (ā_i − a_i) t_i x_i`
//! every bound below is proved word for word, one √s_i going to X and the other to `X v`.
//!
//! Where a row has a score for each of K classes, v is a K × d matrix V and t_i = V x_i a vector:
//!
//! ```text
//! (H̄ − S) V = Σ_i a_i x_iᵀ,      a_i = (Ā_i − A_i) t_i,      ‖Ā_i − A_i‖₂ ≤ κ γ ‖t_i‖      A_i = ∇²ℓ
//! ‖Σ a_i x_iᵀ‖_F ≤ ‖X‖₂ √(Σ ‖a_i‖²) ≤ κ γ ‖X‖₂ √(Σ ‖t_i‖⁴) ≤ κ γ ‖X‖₂ R ‖V‖_F ‖X V‖_F
//! ```
//!
//! so every bound holds with Frobenius norms in the place of ‖v‖ and ‖X v‖, with the γ of the softmax loss, and
//! ‖X V‖_F² = Σ_k v_kᵀ K v_k comes from the same Gram matrix.

mod data_dependent;
mod measured;
mod per_row;
mod stale;
mod step_norm;
mod worst_case;

pub use data_dependent::data_dependent;
pub use measured::measured;
pub use per_row::per_row;
pub use stale::stale;
pub use step_norm::step_norm;
pub use worst_case::{RemovalSize, worst_case};

use crate::loss::Loss;
use crate::rounding::UpperBound;
use crate::tagged;

tagged! {
    /// A rung of the ladder, by its stable tag.
    pub enum Rung {
        /// From the sizes alone. Theorems 1 and 4.
        WorstCase = "worst-case",
        /// From the norm of the step.
        StepNorm = "step-norm",
        /// From norms of the design and the step, through the Gram matrix. Corollaries 1 and 2.
        DataDependent = "data-dependent",
        /// The same for a Hessian taken at an earlier point.
        Stale = "stale",
        /// From each remaining row's own change of margin.
        PerRow = "per-row",
        /// The gradient itself, computed.
        Measured = "measured",
        /// No step was taken: the gradient is known without a bound on any curvature.
        NoStep = "no-step",
        /// Nothing is left: the weights are a fixed function of sums that are retracted without rounding.
        Exact = "exact",
    }
}

impl Rung {
    /// All rungs that a removal can be asked for.
    pub const LADDER: [Self; 6] =
        [Self::WorstCase, Self::StepNorm, Self::DataDependent, Self::Stale, Self::PerRow, Self::Measured];

    /// Whether the bound is stated for the Hessian at the current weights, which takes a pass over the rows.
    pub fn needs_fresh_hessian(self) -> bool {
        matches!(self, Self::WorstCase | Self::StepNorm | Self::DataDependent | Self::PerRow)
    }
}

tagged! {
    /// Which constants the bounds use.
    pub enum Constants {
        /// The least γ, and the factor ½ of the integral form of the mean value theorem.
        Tight = "tight",
        /// γ = 1/4 for the logistic loss and no factor ½, as printed.
        Paper = "paper",
    }
}

/// The constants of a loss in the bounds.
#[derive(Clone, Copy, Debug)]
pub struct CurvatureChange {
    /// γ.
    pub lipschitz: UpperBound,
    /// Mean of t over the step in `H(w + t v)`: ½ by the integral form, 1 as printed.
    pub mean_position: UpperBound,
    /// R: bound on the norm of every row.
    pub row_norm: UpperBound,
}

impl CurvatureChange {
    /// The constants for a loss and rows of norm at most `row_norm`.
    pub fn new(loss: &dyn Loss, constants: Constants, row_norm: UpperBound) -> Self {
        let (lipschitz, mean_position) = match constants {
            Constants::Tight => (loss.curvature_lipschitz(), 0.5),
            Constants::Paper => (loss.printed_curvature_lipschitz(), 1.0),
        };
        Self { lipschitz: UpperBound::new(lipschitz), mean_position: UpperBound::new(mean_position), row_norm }
    }
}

/// Norms of a step and of the remaining rows, all upper bounds.
#[derive(Clone, Copy, Debug)]
pub struct StepNorms {
    /// ‖X‖₂ of the remaining rows.
    pub design: UpperBound,
    /// ‖v‖₂.
    pub step: UpperBound,
    /// ‖X v‖₂.
    pub step_image: UpperBound,
}
