//! A short list of rows, each with a factor: a matrix of small rank.

use zeroize::Zeroizing;

use super::kernel;

/// `Σ f_i x_i x_iᵀ` as the rows themselves. Wiped when dropped.
#[derive(Clone, Default)]
pub(super) struct Listed {
    rows: Zeroizing<Vec<f64>>,
    factors: Vec<f64>,
}

impl Listed {
    /// How many rows there are.
    pub(super) fn len(&self) -> usize {
        self.factors.len()
    }

    /// The rows, one after the other.
    pub(super) fn rows(&self) -> &[f64] {
        &self.rows
    }

    /// Lists rows of `dim` numbers with one factor. Makes room for `most` rows at once: what grows leaves copies behind.
    pub(super) fn push(&mut self, rows: &[f64], dim: usize, factor: f64, most: usize) {
        let length = self.rows.len() + rows.len();
        if self.rows.capacity() < length {
            let mut roomy = Zeroizing::new(Vec::with_capacity(length.max(most * dim)));
            roomy.extend_from_slice(&self.rows);
            self.rows = roomy;
        }
        self.rows.extend_from_slice(rows);
        self.factors.resize(length / dim.max(1), factor);
    }

    /// Rows of one factor after the other, with that factor.
    pub(super) fn runs(&self, dim: usize) -> impl Iterator<Item = (&[f64], f64)> {
        let mut rest = &self.rows[..];
        self.factors.chunk_by(|a, b| a == b).map(move |run| {
            let (rows, later) = rest.split_at(run.len() * dim);
            rest = later;
            (rows, run[0])
        })
    }

    /// `out += Σ f_i x_i (x_iᵀ v)`.
    pub(super) fn add_product(&self, v: &[f64], out: &mut [f64]) {
        if self.len() > 0 {
            let scales: Vec<f64> = self.images(v).iter().zip(&self.factors).map(|(image, f)| f * image).collect();
            kernel::add_scaled_rows(&self.rows, v.len(), &scales, out);
        }
    }

    /// `Σ f_i (x_iᵀ v)²`.
    pub(super) fn quadratic_form(&self, v: &[f64]) -> f64 {
        self.images(v).iter().zip(&self.factors).map(|(image, f)| f * image * image).sum()
    }

    /// `x_iᵀ v` of each row.
    fn images(&self, v: &[f64]) -> Vec<f64> {
        let mut images = vec![0.0; self.len()];
        if !images.is_empty() {
            kernel::margins(&self.rows, v, &mut images);
        }
        images
    }
}
