//! Squared loss for any finite target.

use super::{Derivatives, Loss};

/// ```text
/// ℓ(z, y) = ½ (z − y)²      ℓ′ = z − y      ℓ″ = 1      ℓ‴ = 0
/// ```
///
/// The curvature is constant: γ = 0, one Newton step is exact, and a removal leaves nothing but rounding. The slope has
/// no bound, and none is needed. The paper prints (z − y)² with the Hessian of ½ (z − y)²; the latter is meant.
#[derive(Clone, Copy, Debug)]
pub struct Squared;

impl Loss for Squared {
    fn tag(&self) -> &'static str {
        "squared"
    }

    fn evaluate(&self, margin: f64, target: f64) -> Derivatives {
        let slope = margin - target;
        Derivatives { value: 0.5 * slope * slope, slope, curvature: 1.0 }
    }

    fn curvature_lipschitz(&self) -> f64 {
        0.0
    }

    fn printed_curvature_lipschitz(&self) -> f64 {
        0.0
    }

    fn curvature_bound(&self) -> f64 {
        1.0
    }

    fn slope_bound(&self) -> Option<f64> {
        None
    }

    fn is_classification(&self) -> bool {
        false
    }
}
