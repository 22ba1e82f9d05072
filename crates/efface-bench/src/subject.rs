//! What operations are measured on: rows to train on, rows to predict, and λ.

use efface_core::rows::RowStore;
use efface_data::MemoryRows;
use efface_reproduce::data::first;

use crate::rows::{in_doubles, synthetic};

/// Rows to measure on.
pub(crate) struct Subject {
    /// Name, as on the command line.
    pub(crate) name: String,
    pub(crate) l2_per_row: f64,
    pub(crate) n_classes: u32,
    pub(crate) train: MemoryRows,
    /// Rows to predict.
    pub(crate) test: MemoryRows,
}

/// λ of rows of norm 1.
pub(crate) const L2_PER_ROW: f64 = 1e-3;

impl Subject {
    /// Synthetic rows, and a fifth as many of the same law to predict.
    pub(crate) fn synthetic(name: String, n_rows: usize, dim: usize) -> anyhow::Result<Self> {
        let all = in_doubles(synthetic(n_rows + n_rows / 5, dim)?, 2)?;
        let positions: Vec<usize> = (0..all.len()).collect();
        let (train, test) = (all.batch(&positions[..n_rows])?, all.batch(&positions[n_rows..])?);
        Ok(Self { name, l2_per_row: L2_PER_ROW, n_classes: 2, train, test })
    }

    /// A copy of the rows to train on, from which rows may leave.
    pub(crate) fn train_rows(&self) -> anyhow::Result<MemoryRows> {
        Ok(first(&self.train, usize::MAX)?)
    }

    /// Positions of `n` rows that leave, spread over all.
    pub(crate) fn leaving(&self, n: usize) -> Vec<usize> {
        (0..n).map(|i| i * self.train.len() / n).collect()
    }

    /// n, d, K and λ in words.
    pub(crate) fn shape(&self) -> String {
        let problems = if self.n_classes > 2 { format!(", K = {} one-vs-rest", self.n_classes) } else { String::new() };
        let (n, dim) = (self.train.n_rows(), self.train.dim());
        format!("n = {n}, d = {dim}{problems}, λ = {:e}", self.l2_per_row)
    }
}
