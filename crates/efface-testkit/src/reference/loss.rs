//! The losses of the reference, in double-double and stable at every margin.

use crate::double::DoubleDouble;

/// A loss of the margin z = wᵀx and the target y.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferenceLoss {
    /// `ℓ = log(1 + e^(−yz))`, y = ±1.
    Logistic,
    /// `ℓ = ½ (z − y)²`.
    Squared,
    /// `ℓ = ln Σ_k e^(z_k) − z_y` for the scores of so many classes, y = 0, 1, …; of one score, the logistic loss.
    Softmax(usize),
}

impl ReferenceLoss {
    /// K: how many scores a row has.
    pub fn n_scores(self) -> usize {
        if let Self::Softmax(n_classes) = self { n_classes } else { 1 }
    }

    /// ℓ at the scores of a row.
    pub fn value_at(self, scores: &[DoubleDouble], target: f64) -> DoubleDouble {
        match scores {
            [margin] => self.value(*margin, target),
            scores => {
                let (largest, exponentials) = exponentials(scores);
                let all: DoubleDouble = exponentials.into_iter().sum();
                largest + (all - 1.0).ln_1p() - scores[target as usize]
            }
        }
    }

    /// ∂ℓ/∂z_k for each score.
    pub fn slopes_at(self, scores: &[DoubleDouble], target: f64) -> Vec<DoubleDouble> {
        match scores {
            [margin] => vec![self.slope(*margin, target)],
            scores => {
                let own = target as usize;
                let probabilities = probabilities(scores);
                // 1 − p_y as a sum: nothing cancels.
                let rest: DoubleDouble =
                    probabilities.iter().enumerate().filter(|(k, _)| *k != own).map(|(_, p)| *p).sum();
                let slope = |(k, p): (usize, &DoubleDouble)| if k == own { -rest } else { *p };
                probabilities.iter().enumerate().map(slope).collect()
            }
        }
    }

    /// ∂²ℓ/∂z_k∂z_l for each pair of scores.
    pub fn curvatures_at(self, scores: &[DoubleDouble], target: f64) -> Vec<Vec<DoubleDouble>> {
        match scores {
            [margin] => vec![vec![self.curvature(*margin, target)]],
            scores => {
                let p = probabilities(scores);
                let rest = |k: usize| -> DoubleDouble { (0..p.len()).filter(|j| *j != k).map(|j| p[j]).sum() };
                let entry = |k: usize, l: usize| if k == l { p[k] * rest(k) } else { -(p[k] * p[l]) };
                (0..p.len()).map(|k| (0..p.len()).map(|l| entry(k, l)).collect()).collect()
            }
        }
    }

    /// ℓ(z, y).
    pub fn value(self, margin: DoubleDouble, target: f64) -> DoubleDouble {
        match self {
            Self::Logistic | Self::Softmax(_) => {
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
            Self::Logistic | Self::Softmax(_) => {
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
            Self::Logistic | Self::Softmax(_) => {
                let e = (-(margin * target).abs()).exp();
                let both = e + 1.0;
                e / (both * both)
            }
            Self::Squared => DoubleDouble::ONE,
        }
    }

    /// Whether targets are the labels ±1.
    pub fn is_classification(self) -> bool {
        self != Self::Squared
    }
}

/// The largest score, and e^(z_k − that).
fn exponentials(scores: &[DoubleDouble]) -> (DoubleDouble, Vec<DoubleDouble>) {
    let largest = scores.iter().copied().reduce(DoubleDouble::max).expect("there are scores");
    (largest, scores.iter().map(|score| (*score - largest).exp()).collect())
}

fn probabilities(scores: &[DoubleDouble]) -> Vec<DoubleDouble> {
    let (_, exponentials) = exponentials(scores);
    let all: DoubleDouble = exponentials.iter().copied().sum();
    exponentials.into_iter().map(|exponential| exponential / all).collect()
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
