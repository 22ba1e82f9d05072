//! Logistic loss for targets y = ±1.

use super::{Derivatives, Loss};

/// ```text
/// ℓ(z, y) = log(1 + e^(−yz))      ℓ′ = −y s(−yz)      ℓ″ = s(z) s(−z)      s(z) = 1 / (1 + e^(−z))
/// ```
///
/// Constants, with s = s(z) and s′ = s(1 − s):
///
/// - |ℓ′| = s(−yz) < 1, so C = R for rows of norm at most R.
/// - ℓ″ = s(1 − s) ≤ 1/4, at s = 1/2.
/// - ℓ‴ = s(1 − s)(1 − 2s). As a function of s on (0, 1) its derivative is 1 − 6s + 6s², zero at s = ½ ± 1/(2√3), where
///   s(1 − s) = ¼ − 1/12 = 1/6 and |1 − 2s| = 1/√3. Hence γ = max |ℓ‴| = 1/(6√3) ≈ 0.09623, reached at
///   z = ±log(2 + √3) ≈ ±1.317. Guo et al. 2020 use 1/4, which is valid and 2.6 times as large.
#[derive(Clone, Copy, Debug)]
pub struct Logistic;

impl Loss for Logistic {
    fn tag(&self) -> &'static str {
        "logistic"
    }

    fn evaluate(&self, margin: f64, target: f64) -> Derivatives {
        // With m = yz and e = e^(−|m|) ≤ 1 nothing overflows and no two close numbers are subtracted.
        let m = target * margin;
        let e = (-m.abs()).exp();
        let wrong_side = if m >= 0.0 { e / (1.0 + e) } else { 1.0 / (1.0 + e) };
        Derivatives {
            value: (-m).max(0.0) + e.ln_1p(),
            slope: -target * wrong_side,
            curvature: e / ((1.0 + e) * (1.0 + e)),
        }
    }

    fn curvature_lipschitz(&self) -> f64 {
        MAX_THIRD_DERIVATIVE
    }

    fn printed_curvature_lipschitz(&self) -> f64 {
        0.25
    }

    fn curvature_bound(&self) -> f64 {
        0.25
    }

    fn slope_bound(&self) -> Option<f64> {
        Some(1.0)
    }

    fn is_classification(&self) -> bool {
        true
    }
}

/// 1/(6√3) = 0.096225044864937627418…, rounded up.
const MAX_THIRD_DERIVATIVE: f64 = 0.096_225_044_864_937_64;
