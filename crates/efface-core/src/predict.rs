//! Margins of rows under given weights, and what follows from them: classes, their probabilities, accuracy, error.

use crate::linalg::kernel;
use crate::rows::{Features, RowBlocks, StoreError, fold};

/// `wᵀx` of every row, for each set of weights: `result[k][i]`. Blocks of rows are spread over all threads, and the margin of a
/// row does not depend on the rows around it.
pub fn margins(rows: &dyn RowBlocks, weights: &[Vec<f64>]) -> Result<Vec<Vec<f64>>, StoreError> {
    let n_runs = RUNS_PER_THREAD * rayon::current_num_threads();
    let none = || vec![Vec::new(); weights.len()];
    let runs = fold::fold(rows, n_runs, none, |margins, block| {
        for (weights, margins) in weights.iter().zip(margins) {
            let start = margins.len();
            margins.resize(start + block.labels.len(), 0.0);
            block_margins(block.features, weights, &mut margins[start..]);
        }
    })?;
    let mut all = none();
    for run in runs {
        all.iter_mut().zip(run).for_each(|(all, mut run)| all.append(&mut run));
    }
    Ok(all)
}

/// Threads that are held up leave runs to the others.
const RUNS_PER_THREAD: usize = 4;

/// `wᵀx` of every row of a block, one row per place in `into`.
pub fn block_margins(features: Features<'_>, weights: &[f64], into: &mut [f64]) {
    match features {
        Features::F32(values) => kernel::margins(values, weights, into),
        Features::F64(values) => kernel::margins(values, weights, into),
    }
}

/// Index of the class that the margins of row `i` speak for: the sign of the only margin, or the largest of several.
pub fn predicted_class(margins: &[Vec<f64>], i: usize) -> usize {
    match margins {
        [margin] => usize::from(margin[i] > 0.0),
        _ => (0..margins.len()).max_by(|a, b| margins[*a][i].total_cmp(&margins[*b][i])).unwrap_or(0),
    }
}

/// The probabilities of the classes at the margins of one row, for weights of the logistic or the softmax loss.
///
/// ```text
/// two classes    p₁ = σ(z), p₀ = σ(−z)              z the only margin, σ(z) = 1 / (1 + e⁻ᶻ)
/// more           p_k = σ(z_k) / Σⱼ σ(z_j)           each against the rest
///                p_k = e^(z_k) / Σⱼ e^(z_j)         taken together
/// ```
///
/// Kept as logarithms: probabilities of many classes may all be too small for a number and yet have a ratio, and the loss of
/// a row that is predicted badly is finite.
#[derive(Clone, Copy, Debug)]
pub struct ClassProbabilities<'a> {
    margins: &'a [Vec<f64>],
    row: usize,
    is_joint: bool,
    /// ln Σⱼ σ(z_j), or ln Σⱼ e^(z_j), as a sum of the logarithm of the largest term and what the others add; zero for two classes.
    ln_largest: f64,
    ln_others: f64,
}

impl<'a> ClassProbabilities<'a> {
    /// Those of row `row`, where the scores of several classes are taken together or each for itself.
    pub fn of(margins: &'a [Vec<f64>], row: usize, is_joint: bool) -> Self {
        let mut this = Self { margins, row, is_joint, ln_largest: 0.0, ln_others: 0.0 };
        if margins.len() > 1 {
            let most = predicted_class(margins, row);
            this.ln_largest = this.ln_term(most);
            let others = (0..margins.len()).filter(|k| *k != most);
            this.ln_others = others.map(|k| (this.ln_term(k) - this.ln_largest).exp()).sum::<f64>().ln_1p();
        }
        this
    }

    /// ln σ(z_k), or z_k.
    fn ln_term(&self, class: usize) -> f64 {
        let margin = self.margins[class][self.row];
        if self.is_joint { margin } else { ln_sigmoid(margin) }
    }

    /// ln p of a class.
    pub fn ln(&self, class: usize) -> f64 {
        match self.margins {
            [margin] if class == 0 => ln_sigmoid(-margin[self.row]),
            [margin] => ln_sigmoid(margin[self.row]),
            _ => self.ln_term(class) - self.ln_largest - self.ln_others,
        }
    }

    /// p of a class.
    pub fn probability(&self, class: usize) -> f64 {
        self.ln(class).exp()
    }
}

/// `ln σ(z)`, to the last digits for every z.
fn ln_sigmoid(z: f64) -> f64 {
    z.min(0.0) - (-z.abs()).exp().ln_1p()
}

/// Fraction of rows whose predicted class is their label.
pub fn accuracy(margins: &[Vec<f64>], labels: &[f64]) -> f64 {
    let right = labels.iter().enumerate().filter(|(i, label)| predicted_class(margins, *i) as f64 == **label).count();
    right as f64 / labels.len() as f64
}

/// Root of the mean squared difference between the only margin and the label.
pub fn root_mean_squared_error(margins: &[Vec<f64>], labels: &[f64]) -> f64 {
    let squares = margins.iter().take(1).flatten().zip(labels).map(|(margin, label)| (margin - label).powi(2));
    (squares.sum::<f64>() / labels.len() as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_of_two_classes_are_those_of_the_sigmoid() {
        for z in [-1000.0, -37.0, -1.5, -1e-9, 0.0, 0.3, 20.0, 700.0, 1000.0_f64] {
            let margins = [vec![z]];
            let probabilities = ClassProbabilities::of(&margins, 0, false);
            let direct = 1.0 / (1.0 + (-z).exp());
            assert!((probabilities.probability(1) - direct).abs() < 1e-15, "{z}");
            assert!((probabilities.probability(0) + probabilities.probability(1) - 1.0).abs() < 1e-15, "{z}");
            // Far out the logarithm is the margin itself, where that of the probability is −∞.
            assert!(z > -37.0 || probabilities.ln(1) == z, "{z}");
        }
        assert_eq!(ClassProbabilities::of(&[vec![0.0]], 0, false).probability(1), 0.5);
    }

    #[test]
    fn probabilities_of_many_classes_have_the_sum_one() {
        for scores in [[0.5, -0.25, 3.0], [-1000.0, -1001.0, -1003.0], [1000.0, 1000.0, -1000.0], [0.0; 3]] {
            let margins = scores.map(|score| vec![f64::NAN, score]);
            for is_joint in [false, true] {
                let probabilities = ClassProbabilities::of(&margins, 1, is_joint);
                let sum: f64 = (0..3).map(|k| probabilities.probability(k)).sum();
                assert!((sum - 1.0).abs() < 1e-15, "{scores:?}: {sum}");
                let term = |z: f64| if is_joint { z } else { ln_sigmoid(z) };
                for (a, b) in [(0, 1), (1, 2), (0, 2)] {
                    let ratio = term(scores[a]) - term(scores[b]);
                    assert!((probabilities.ln(a) - probabilities.ln(b) - ratio).abs() < 1e-12, "{scores:?}");
                }
            }
        }
    }
}
