//! What a guarantee means for somebody who has to guess: are the removed rows in the model's past or not? At even odds
//! the best possible guess is right with a probability that follows from the guarantee alone.

use efface_core::accounting::gaussian;
use efface_core::noise::NoiseLaw;
use efface_core::rounding::UpperBound;
use efface_ledger::certificate::ReleaseCertificate;

/// How often the best guess between two equally likely worlds is right.
pub(super) enum Guess {
    /// There is nothing to tell the worlds apart by.
    Exact,
    /// At most so often.
    AtMost(Chances),
    /// This version does not know the law of the noise.
    Unknown,
}

/// Chances in percent, rounded up to a hundredth.
pub(super) struct Chances {
    /// By what the releases so far have spent.
    pub(super) so_far: String,
    /// When all that the promise allows is spent.
    pub(super) at_limit: String,
}

impl Guess {
    pub(super) fn of(c: &ReleaseCertificate) -> Self {
        let percent = match NoiseLaw::by_tag(&c.law) {
            _ if c.noise_std == 0.0 => return Self::Exact,
            Some(NoiseLaw::Gaussian) => |mu: f64| percent(gaussian_advantage(mu)),
            Some(NoiseLaw::Gamma) => |epsilon: f64| percent(pure_advantage(epsilon)),
            None => return Self::Unknown,
        };
        Self::AtMost(Chances { so_far: percent(c.mu_total), at_limit: percent(c.mu_limit) })
    }
}

/// Twice the gain over a coin under the Gaussian law: the total variation of N(0, 1) and N(μ, 1), rounded up.
///
/// ```text
/// 2Φ(μ/2) − 1 = δ(0, μ)
/// ```
fn gaussian_advantage(mu: f64) -> f64 {
    gaussian::delta(0.0, UpperBound::new(mu)).get()
}

/// The same for pure ε, rounded up. Kairouz et al. 2015: the best guess is right with probability e^ε/(1 + e^ε).
///
/// ```text
/// 2 e^ε/(1 + e^ε) − 1 = tanh(ε/2) ≤ min(1, ε/2)
/// ```
fn pure_advantage(epsilon: f64) -> f64 {
    if epsilon >= 0.0 { ((0.5 * epsilon).tanh() * (1.0 + 1e-12)).min(1.0) } else { 1.0 }
}

/// `50 + 50 · advantage` percent, rounded up to a hundredth.
fn percent(advantage: f64) -> String {
    // Two roundings of this very product are at most a hair; a coin stays a coin.
    let hundredths = (5000.0 * advantage * (1.0 + 1e-12)).ceil().clamp(0.0, 5000.0);
    format!("{:.2}", 50.0 + hundredths / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_guess_between_two_gaussians_is_that_of_the_normal_table() {
        // Φ(x) to fifteen digits.
        let table = [
            (0.25, 0.598_706_325_682_924),
            (0.5, 0.691_462_461_274_013),
            (1.0, 0.841_344_746_068_543),
            (2.0, 0.977_249_868_051_821),
            (3.0, 0.998_650_101_968_370),
        ];
        for (x, phi) in table {
            let found = 0.5 + 0.5 * gaussian_advantage(2.0 * x);
            assert!(found >= phi - 1e-15 && found < phi + 1e-13, "Φ({x}) = {phi}, found {found}");
        }
        assert_eq!(gaussian_advantage(0.0), 0.0);
        // The slope at zero is 1/√(2π).
        assert!((gaussian_advantage(1e-9) / 3.989_422_804_014_327e-10 - 1.0).abs() < 1e-5);
    }

    #[test]
    fn the_best_guess_under_pure_epsilon_is_the_logistic_function() {
        for epsilon in [0.0, 1e-9, 0.004, 0.5, 1.0, 3.0, 20.0] {
            let (found, exact) = (0.5 + 0.5 * pure_advantage(epsilon), epsilon.exp() / (1.0 + epsilon.exp()));
            assert!(found >= exact - 2e-16 && found < exact + 1e-11, "{epsilon}: {found} and {exact}");
        }
    }

    #[test]
    fn percents_are_rounded_up_and_stay_between_a_coin_and_certainty() {
        for (advantage, shown) in [
            (0.0, "50.00"),
            (1e-300, "50.01"),
            (0.000_199, "50.01"),
            (0.000_201, "50.02"),
            (0.5, "75.01"),
            (0.682_689_492_137_086, "84.14"),
            (1.0, "100.00"),
            (2.0, "100.00"),
        ] {
            assert_eq!(percent(advantage), shown, "{advantage}");
        }
    }

    #[test]
    fn what_is_not_a_number_hides_nothing() {
        for nothing in [f64::NAN, f64::INFINITY, -1.0] {
            assert_eq!(percent(gaussian_advantage(nothing)), "100.00");
        }
        assert_eq!(
            (percent(pure_advantage(f64::NAN)), percent(pure_advantage(-1.0))),
            ("100.00".into(), "100.00".into())
        );
        assert_eq!(percent(pure_advantage(f64::INFINITY)), "100.00");
    }
}
