//! What keeps a configuration from being a plan.

use crate::accounting::Guarantee;

/// A configuration that cannot be trained or promised.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// A number that must be positive is not.
    #[error("{name} must be positive and finite, got `{value}`")]
    NotPositive {
        /// The parameter.
        name: &'static str,
        /// Its value.
        value: f64,
    },
    /// There is no noise where some is needed, or more than is of any use.
    #[error("the standard deviation of the noise must be positive and at most 1e100, got `{}`", shown(*value))]
    Noise {
        /// s.
        value: f64,
    },
    /// δ is not a probability strictly between 0 and 1.
    #[error("delta must be above 0 and below 1, got `{value}`")]
    Delta {
        /// Its value.
        value: f64,
    },
    /// ε and δ are so small that no distance at all is allowed.
    #[error("epsilon `{epsilon}` and delta `{delta}` together allow no difference at all; raise one of them")]
    Unreachable {
        /// ε.
        epsilon: f64,
        /// δ.
        delta: f64,
    },
    /// The noise, or what the promise allows of it, is so small that no double can hold a step of the lattice that
    /// releases are rounded to.
    #[error(
        "noise of standard deviation `{noise_std}` is too small to be drawn exactly at epsilon `{epsilon}` and delta `{delta}`"
    )]
    Lattice {
        /// s.
        noise_std: f64,
        /// ε.
        epsilon: f64,
        /// δ.
        delta: f64,
    },
    /// There must be at least one release, and not more than can be counted.
    #[error("the number of releases must be at least 1 and at most 2^52, got `{value}`")]
    Releases {
        /// Its value.
        value: u64,
    },
    /// Exact sums are shared by all classes, so that every row counts for every class.
    #[error("negatives cannot be left out without noise")]
    NegativesWithoutNoise,
    /// Softmax takes every row for every class.
    #[error("negatives can be left out of one-vs-rest problems only, not of softmax")]
    NegativesOfSoftmax,
    /// The fraction of negatives is outside (0, 1].
    #[error("negatives must be above 0 and at most 1, got `{value}`")]
    Negatives {
        /// Its value.
        value: f64,
    },
    /// The extractor's guarantee is not one.
    #[error(
        "the extractor's epsilon must be at least 0 and its delta in [0, 1), for a group of at least 1 row, got \
         `{epsilon}`, `{delta}` and `{group}`"
    )]
    Extractor {
        /// ε_DP.
        epsilon: f64,
        /// δ_DP.
        delta: f64,
        /// k.
        group: usize,
    },
    /// For so many rows the extractor's guarantee says nothing.
    #[error(
        "an extractor of epsilon `{epsilon}` and delta `{delta}` per row promises nothing to a group of `{group}` rows: \
         epsilon comes to {:.3e} and delta to {:.3e}, which must stay below 1", reached.epsilon, reached.delta
    )]
    ExtractorGroup {
        /// ε_DP.
        epsilon: f64,
        /// δ_DP.
        delta: f64,
        /// k.
        group: usize,
        /// What they come to.
        reached: Guarantee,
    },
    /// Classes must be two or more.
    #[error("the {loss} loss needs labels of at least 2 classes, found {found}")]
    Classes {
        /// The loss.
        loss: &'static str,
        /// Classes found.
        found: u32,
    },
    /// The bound cannot certify this loss.
    #[error("the bound `{bound}` cannot be used here")]
    Bound {
        /// The bound.
        bound: &'static str,
    },
    /// A plan is asked for no rows or no features.
    #[error("rows and dim must be at least 1, got `{n_rows}` and `{dim}`")]
    Sizes {
        /// Rows.
        n_rows: usize,
        /// Features.
        dim: usize,
    },
}

/// Numbers as they are, unless that takes a line of zeros.
fn shown(value: f64) -> String {
    if value.is_finite() && value.abs() >= 1e16 { format!("{value:e}") } else { value.to_string() }
}
