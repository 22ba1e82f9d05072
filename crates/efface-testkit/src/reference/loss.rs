//! The losses of the reference, in double-double and stable at every margin.

use crate::double::DoubleDouble;

/// A loss of the margin z = wᵀx and the target y.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferenceLoss {
    /// `ℓ = log(1 + e^(−yz))`, y = ±1.
    Logistic,
    /// `ℓ = ½ (z − y)²`.
    Squared,
}

impl ReferenceLoss {
    /// ℓ(z, y).
    pub fn value(self, margin: DoubleDouble, target: f64) -> DoubleDouble {
        match self {
            Self::Logistic => {
                let m = margin * target;
                (-m).max(DoubleDouble::ZERO) + (-m.abs()).exp().ln_1p()
            }
            Self::Squared => {
                let error = margin - target;
                error * error * 0.5
            }
        }
    }

    /// ℓ′(z, y), the derivative in the margin.
    pub fn slope(self, margin: DoubleDouble, target: f64) -> DoubleDouble {
        match self {
            // With e = e^(−|yz|) ≤ 1 nothing overflows and no close numbers are subtracted.
            Self::Logistic => {
                let m = margin * target;
                let e = (-m.abs()).exp();
                let wrong_side = if m.to_f64() > 0.0 { e / (e + 1.0) } else { 1.0 / (e + 1.0) };
                -(wrong_side * target)
            }
            Self::Squared => margin - target,
        }
    }

    /// ℓ″(z, y), the second derivative in the margin.
    pub fn curvature(self, margin: DoubleDouble, target: f64) -> DoubleDouble {
        match self {
            Self::Logistic => {
                let e = (-(margin * target).abs()).exp();
                let both = e + 1.0;
                e / (both * both)
            }
            Self::Squared => DoubleDouble::ONE,
        }
    }

    /// Whether targets are the labels ±1.
    pub fn is_classification(self) -> bool {
        self == Self::Logistic
    }
}

#[cfg(test)]
mod tests {
    use super::ReferenceLoss;
    use crate::double::DoubleDouble;
    use crate::golden::double_double_table;

    type Derivative = fn(ReferenceLoss, DoubleDouble, f64) -> DoubleDouble;

    #[test]
    fn logistic_matches_sixty_digits_at_every_margin() {
        let derivatives: [(&str, Derivative); 3] = [
            ("logistic_value", ReferenceLoss::value),
            ("logistic_slope", ReferenceLoss::slope),
            ("logistic_curvature", ReferenceLoss::curvature),
        ];
        for (name, derivative) in derivatives {
            for [margin, exact] in double_double_table(name) {
                let error = (derivative(ReferenceLoss::Logistic, margin, 1.0) - exact).abs().to_f64();
                let allowed = 1e-29 * exact.abs().to_f64() + 1e-322;
                assert!(error <= allowed, "{name} at {margin:?}: error {error:e}");
            }
        }
    }

    #[test]
    fn logistic_depends_on_the_product_of_target_and_margin() {
        for margin in [-1e20, -3.0, 0.0, 0.4, 37.0, 1e3].map(DoubleDouble::from) {
            let loss = ReferenceLoss::Logistic;
            assert_eq!(loss.value(margin, -1.0), loss.value(-margin, 1.0));
            assert_eq!(loss.slope(margin, -1.0), -loss.slope(-margin, 1.0));
            assert_eq!(loss.curvature(margin, -1.0), loss.curvature(-margin, 1.0));
        }
    }

    #[test]
    fn derivatives_agree_with_differences() {
        let step = 1e-9;
        for loss in [ReferenceLoss::Logistic, ReferenceLoss::Squared] {
            for margin in [-4.0, -0.3, 0.0, 1.2, 9.0].map(DoubleDouble::from) {
                let (after, before) = (margin + step, margin - step);
                let slope = (loss.value(after, 1.0) - loss.value(before, 1.0)) / (2.0 * step);
                let curvature = (loss.slope(after, 1.0) - loss.slope(before, 1.0)) / (2.0 * step);
                assert!((slope - loss.slope(margin, 1.0)).abs().to_f64() < 1e-18);
                assert!((curvature - loss.curvature(margin, 1.0)).abs().to_f64() < 1e-18);
            }
        }
    }
}
