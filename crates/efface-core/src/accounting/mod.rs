//! What indistinguishability costs: from the distance of two means and the noise to (ε, δ), and back; and what private
//! training of an extractor costs.

mod extractor;
pub mod gaussian;
pub mod statement;
pub mod subsampled;

pub use extractor::Extractor;

use serde::{Deserialize, Serialize};

/// An (ε, δ) guarantee. δ = 0 is pure ε.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Guarantee {
    /// ε.
    pub epsilon: f64,
    /// δ.
    pub delta: f64,
}

impl Guarantee {
    /// The guarantee of two mechanisms together, rounded up.
    ///
    /// Guo et al. 2020, Theorem 5: a feature extractor that is (ε_DP, δ_DP)-private and a removal that is
    /// (ε_CR, δ_CR)-certified make the whole (ε_DP + ε_CR, δ_DP + δ_CR)-certified. For one removed row; for more, the
    /// extractor's share is [`Extractor::cost`].
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let add = |a: f64, b: f64| if a == 0.0 || b == 0.0 { a + b } else { (a + b).next_up() };
        Self { epsilon: add(self.epsilon, other.epsilon), delta: add(self.delta, other.delta) }
    }
}
