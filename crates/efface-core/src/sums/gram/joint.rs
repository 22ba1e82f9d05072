//! The Hessian of all classes together: rows that have a score for each.

use zeroize::Zeroizing;

use super::{GramScratch, GramSum};
use crate::linalg::kernel::{self, Value};
use crate::loss::softmax::Partition;
use crate::rows::{Point, RowBlock};
use crate::sums::{SumDepth, entries};

impl GramSum {
    /// Adds the rows of a block where each has a score for every class.
    ///
    /// ```text
    /// diag(p) − ppᵀ = Σ_l p_l (e_l − p)(e_l − p)ᵀ      few rows, K long ones each
    /// block (k, l) = Σ_i s_i p_k (δ_kl − p_l) x_i x_iᵀ    many rows, a product for every column of blocks
    /// ```
    pub(super) fn add_joint<T: Value>(
        &mut self,
        point: &Point<'_>,
        block: &RowBlock<'_>,
        values: &[T],
        scratch: &mut GramScratch,
    ) {
        let GramScratch { margins, roots, scaled } = scratch;
        let (n, n_scores, dim) = (block.labels.len(), point.problem.n_scores(), self.origin.dim);
        if n == 0 {
            return;
        }
        let row_dim = dim / n_scores;
        margins.resize(n * n_scores, 0.0);
        for (weights, margins) in point.weights.chunks_exact(row_dim).zip(margins.chunks_exact_mut(n)) {
            kernel::margins(values, weights, margins);
        }
        self.depth.margins = self.depth.margins.max(SumDepth::of_scores(row_dim, n_scores).margins);
        // Probabilities of each row that counts, and of these rows the values.
        roots.clear();
        let mut rows = Zeroizing::new(Vec::with_capacity(values.len()));
        let (mut probabilities, mut rests) = (Vec::with_capacity(n * n_scores), Vec::with_capacity(n * n_scores));
        for (i, (row, part)) in values.chunks_exact(row_dim).zip(block.taking_part(point.problem)).enumerate() {
            let Some(part) = part else { continue };
            self.count.count(part.weight);
            self.charged.count(part.weight);
            let start = probabilities.len();
            probabilities.extend((0..n_scores).map(|k| margins[k * n + i]));
            let partition = Partition::of(&mut probabilities[start..]);
            for (k, place) in probabilities[start..].iter_mut().enumerate() {
                let (p, rest) = partition.probability(k, *place);
                self.weight_size += part.weight * (p * rest);
                *place = p;
                rests.push(rest);
            }
            roots.push(part.weight);
            rows.extend(row.iter().map(|x| x.wide()));
        }
        let n_rows = roots.len();
        let of_row =
            || roots.iter().zip(rows.chunks_exact(row_dim)).zip(probabilities.chunks_exact(n_scores)).enumerate();
        // (e_l − p)_k, without a difference of two close numbers.
        let factor = |i: usize, k: usize, l: usize, p: &[f64]| if k == l { rests[i * n_scores + k] } else { -p[k] };
        scaled.clear();
        if self.entries.has_room(dim, n_rows * n_scores) {
            for (i, ((weight, row), p)) in of_row() {
                for l in 0..n_scores {
                    let root = (weight * p[l]).sqrt();
                    for k in 0..n_scores {
                        let factor = root * factor(i, k, l, p);
                        scaled.extend(row.iter().map(|x| factor * x));
                    }
                }
            }
            self.depth.accumulation += self.entries.add(dim, scaled, n_rows * n_scores);
            return;
        }
        let (lower, operations) = self.entries.lower_mut(dim);
        for l in 0..n_scores {
            scaled.clear();
            for (i, ((weight, row), p)) in of_row() {
                for k in l..n_scores {
                    let factor = weight * p[l] * factor(i, k, l, p);
                    scaled.extend(row.iter().map(|x| factor * x));
                }
            }
            entries::add_products(lower, dim, l * row_dim, scaled, &rows, n_rows);
        }
        self.depth.accumulation += operations + n_rows;
    }
}
