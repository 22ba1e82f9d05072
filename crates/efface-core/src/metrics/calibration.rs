//! Whether a probability of 70 % comes true 7 times in 10.

use serde::Serialize;

/// Number of bins, all of the same width.
pub const N_BINS: usize = 10;

/// Predicted probabilities beside what came true, in bins `[0, 0.1), [0.1, 0.2), …, [0.9, 1]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Calibration {
    bins: [Sums; N_BINS],
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sums {
    n_rows: u64,
    predicted: f64,
    n_true: u64,
}

/// One bin; the means are `None` where it is empty.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CalibrationBin {
    /// Where it begins.
    pub from: f64,
    /// Where the next one begins.
    pub to: f64,
    /// Rows in it.
    pub n_rows: u64,
    /// Mean of their probabilities.
    pub mean_predicted: Option<f64>,
    /// Share of them of which it came true.
    pub observed_share: Option<f64>,
}

impl Calibration {
    /// One more row: what was predicted with this probability came true, or did not.
    pub fn add(&mut self, probability: f64, is_true: bool) {
        let bin = ((probability * N_BINS as f64) as usize).min(N_BINS - 1);
        let Sums { n_rows, predicted, n_true } = &mut self.bins[bin];
        *n_rows += 1;
        *predicted += probability;
        *n_true += u64::from(is_true);
    }

    /// The bins, in order.
    pub fn bins(&self) -> Vec<CalibrationBin> {
        let bin = |(index, sums): (usize, &Sums)| {
            let mean = |sum: f64| (sums.n_rows > 0).then(|| sum / sums.n_rows as f64);
            let edge = |index: usize| index as f64 / N_BINS as f64;
            CalibrationBin {
                from: edge(index),
                to: edge(index + 1),
                n_rows: sums.n_rows,
                mean_predicted: mean(sums.predicted),
                observed_share: mean(sums.n_true as f64),
            }
        };
        self.bins.iter().enumerate().map(bin).collect()
    }

    /// How far probabilities are from what comes true, on average.
    ///
    /// ```text
    /// ECE = Σ_b (n_b / n) |mean predicted_b − observed share_b|
    /// ```
    ///
    /// `None` without rows.
    pub fn expected_error(&self) -> Option<f64> {
        let n_rows: u64 = self.bins.iter().map(|bin| bin.n_rows).sum();
        let gaps: f64 = self.bins.iter().map(|bin| (bin.predicted - bin.n_true as f64).abs()).sum();
        (n_rows > 0).then(|| gaps / n_rows as f64)
    }
}
