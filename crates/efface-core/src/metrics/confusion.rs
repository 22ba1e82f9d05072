//! Which classes are taken for which, and the figures that follow from these counts alone.

use serde::Serialize;

/// Rows by actual and by predicted class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfusionMatrix {
    /// `counts[actual][predicted]`.
    counts: Vec<Vec<u64>>,
}

/// Figures of one class; `None` where they are not defined.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ClassFigures {
    /// Rows of this class.
    pub support: u64,
    /// Share of the rows predicted as this class that are of it: `TP / (TP + FP)`.
    pub precision: Option<f64>,
    /// Share of the rows of this class that are predicted as it: `TP / (TP + FN)`.
    pub recall: Option<f64>,
    /// Harmonic mean of both: `2 TP / (2 TP + FP + FN)`.
    pub f1: Option<f64>,
}

impl ConfusionMatrix {
    /// No rows, of so many classes.
    pub fn new(n_classes: usize) -> Self {
        Self { counts: vec![vec![0; n_classes]; n_classes] }
    }

    /// One more row.
    ///
    /// # Panics
    ///
    /// When a class is not below the number of classes.
    pub fn add(&mut self, actual: usize, predicted: usize) {
        self.counts[actual][predicted] += 1;
    }

    /// `counts()[actual][predicted]`.
    pub fn counts(&self) -> &[Vec<u64>] {
        &self.counts
    }

    /// Number of rows.
    pub fn n_rows(&self) -> u64 {
        self.counts.iter().flatten().sum()
    }

    /// Share of rows whose class is the predicted one.
    pub fn accuracy(&self) -> Option<f64> {
        share((0..self.counts.len()).map(|k| self.counts[k][k]).sum(), self.n_rows())
    }

    /// The class of most rows (of several, the first), and its share: the accuracy of always answering it.
    pub fn base_rate(&self) -> Option<(usize, f64)> {
        let most = (0..self.counts.len()).rev().max_by_key(|k| self.support(*k))?;
        Some((most, share(self.support(most), self.n_rows())?))
    }

    /// Number of rows of a class.
    pub fn support(&self, class: usize) -> u64 {
        self.counts[class].iter().sum()
    }

    /// Figures of a class.
    pub fn class(&self, class: usize) -> ClassFigures {
        let hits = self.counts[class][class];
        let (support, predicted) = (self.support(class), self.counts.iter().map(|row| row[class]).sum::<u64>());
        ClassFigures {
            support,
            precision: share(hits, predicted),
            recall: share(hits, support),
            f1: share(2 * hits, predicted + support),
        }
    }
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
