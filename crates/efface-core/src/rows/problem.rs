//! The problem that a set of weights solves: which rows count, and with which target.

use serde::{Deserialize, Serialize};

/// One set of weights' view of the rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Problem {
    /// How a label becomes a target.
    pub target: TargetRule,
    /// Which negatives take part; `None`: all.
    pub negatives: Option<NegativeSampling>,
}

/// How a label becomes a target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TargetRule {
    /// The label is the target (squared loss).
    Value,
    /// +1 for the class of this index, −1 for every other one.
    OneVsRest {
        /// Index of the positive class.
        positive: u32,
    },
    /// The place of the class among these, each of which has weights of its own: d·K numbers, class after class.
    Softmax {
        /// Indices of the classes, in order.
        classes: Vec<u32>,
    },
}

/// Keeps a fraction of the negatives by a rule that looks at the keyed hash of the row's own id only, so that it does not change
/// when another row leaves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct NegativeSampling {
    /// Fraction of the negatives that is kept, in (0, 1].
    pub fraction: f64,
}

impl Problem {
    /// All rows, the label itself as target.
    pub fn regression() -> Self {
        Self { target: TargetRule::Value, negatives: None }
    }

    /// Class `positive` against all others.
    pub fn one_vs_rest(positive: u32, negatives: Option<NegativeSampling>) -> Self {
        Self { target: TargetRule::OneVsRest { positive }, negatives }
    }

    /// All of these classes at once.
    pub fn softmax(classes: Vec<u32>) -> Self {
        Self { target: TargetRule::Softmax { classes }, negatives: None }
    }

    /// K: how many scores a row has, each with d weights.
    pub fn n_scores(&self) -> usize {
        match &self.target {
            TargetRule::Value | TargetRule::OneVsRest { .. } => 1,
            TargetRule::Softmax { classes } => classes.len(),
        }
    }

    /// The target of a row with that label, or `None` when the row takes no part.
    pub fn target(&self, label: f64, selector: u64) -> Option<f64> {
        match &self.target {
            TargetRule::Value => Some(label),
            TargetRule::OneVsRest { positive } if label == f64::from(*positive) => Some(1.0),
            TargetRule::OneVsRest { positive } => {
                self.negatives.is_none_or(|s| s.keeps(*positive, selector)).then_some(-1.0)
            }
            TargetRule::Softmax { classes } => {
                classes.iter().position(|class| label == f64::from(*class)).map(|place| place as f64)
            }
        }
    }
}

impl NegativeSampling {
    /// Whether the negative with that selector is kept for the class: an independent coin per class.
    fn keeps(self, positive: u32, selector: u64) -> bool {
        let coin = mix(selector ^ mix(u64::from(positive).wrapping_add(1)));
        // 53 bits make a uniform number in [0, 1).
        ((coin >> 11) as f64) * 2f64.powi(-53) < self.fraction
    }
}

/// A bijection of 64-bit words in which every output bit depends on every input bit (finalizer with the constants of
/// SplitMix64).
fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positives_are_always_kept_and_negatives_at_the_declared_fraction() {
        let problem = Problem::one_vs_rest(3, Some(NegativeSampling { fraction: 0.2 }));
        let n = 100_000_u64;
        let selector = |i: u64| mix(i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        assert!((0..1000).all(|i| problem.target(3.0, selector(i)) == Some(1.0)));
        let kept = (0..n).filter(|i| problem.target(1.0, selector(*i)).is_some()).count() as f64;
        // Six standard deviations of a binomial count.
        let slack = 6.0 * (n as f64 * 0.2 * 0.8).sqrt();
        assert!((kept - n as f64 * 0.2).abs() < slack, "kept {kept}");
    }

    #[test]
    fn classes_choose_their_negatives_independently() {
        let sampling = NegativeSampling { fraction: 0.5 };
        let both = (0..10_000_u64).filter(|i| sampling.keeps(0, mix(*i)) && sampling.keeps(1, mix(*i))).count() as f64;
        assert!((both - 2_500.0).abs() < 6.0 * (10_000.0_f64 * 0.25 * 0.75).sqrt(), "both {both}");
    }
}
