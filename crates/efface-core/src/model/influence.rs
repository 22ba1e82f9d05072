//! Influence: how far the weights would move if rows left. What is hard to remove has much of it.

use rayon::prelude::*;

use super::{Fit, Model};
use crate::linalg::kernel::{self, Value};
use crate::loss::softmax;
use crate::objective::Objective;
use crate::removal::{self, Change};
use crate::residual::Rung;
use crate::rows::{BLOCK_ROWS, Features, RowBlock, RowBlocks, RowStore, StoreError, WeightSum};
use crate::secret::SecretVector;

impl Model {
    /// Norm of the step that removing these rows would take, ‖H⁻¹Δ‖, jointly over the problems. An estimate.
    pub fn influence(&self, batch: &dyn RowStore) -> Result<f64, StoreError> {
        let (fits, objective) = (self.fits(), self.objective());
        let changes = removal::read(&fits, &Change::remove(batch), Rung::NoStep, &objective, batch)?;
        let sum: f64 = fits.iter().zip(changes).map(|(fit, change)| change.step_size(fit, &objective).powi(2)).sum();
        Ok(sum.sqrt())
    }

    /// [`Self::influence`] of each row alone, in the order of their positions; 0 for a row that is not present.
    ///
    /// ```text
    /// √(Σ_k ‖H_k⁻¹ Δ_ik‖²)      Δ_ik = s_i (λ w_k + ℓ′(w_kᵀx_i, y_ik) x_i), for the problems k that row i takes part in
    /// ```
    ///
    /// The rows of a block share one solve, which reads the factor once instead of once per row.
    pub fn influences(&self, rows: &dyn RowBlocks) -> Result<Vec<f64>, StoreError> {
        let (objective, fits) = (self.objective(), self.fits());
        let blocks: Result<Vec<Vec<f64>>, StoreError> = (0..rows.n_blocks())
            .into_par_iter()
            .map_init(
                || BlockSteps::new(fits.iter().map(|fit| fit.weights.len()).max().unwrap_or(0)),
                |steps, index| {
                    let mut squares = Vec::new();
                    rows.visit_block(index, &mut |block| {
                        squares.resize(block.labels.len(), 0.0);
                        for fit in &*fits {
                            match block.features {
                                Features::F32(values) => steps.add(fit, &objective, block, values, &mut squares),
                                Features::F64(values) => steps.add(fit, &objective, block, values, &mut squares),
                            }
                        }
                    })?;
                    Ok(squares.into_iter().map(f64::sqrt).collect())
                },
            )
            .collect();
        Ok(blocks?.concat())
    }
}

/// Room for the steps of the rows of one block, used again for the next.
struct BlockSteps {
    /// One column per row that takes part.
    steps: SecretVector,
    /// Score after score.
    margins: Vec<f64>,
    /// Place in the block of each column's row.
    places: Vec<usize>,
}

impl BlockSteps {
    fn new(n_weights: usize) -> Self {
        Self { steps: SecretVector::zeros(n_weights * BLOCK_ROWS), margins: Vec::new(), places: Vec::new() }
    }

    /// Adds ‖H⁻¹Δ_i‖² of one problem to the squares of the block's rows.
    fn add<T: Value>(
        &mut self,
        fit: &Fit,
        objective: &Objective<'_>,
        block: &RowBlock<'_>,
        values: &[T],
        squares: &mut [f64],
    ) {
        let (n, dim, n_weights) = (block.labels.len(), fit.dim(), fit.weights.len());
        self.margins.resize(n * fit.problem.n_scores(), 0.0);
        for (weights, margins) in fit.weights.chunks_exact(dim).zip(self.margins.chunks_exact_mut(n.max(1))) {
            kernel::margins(values, weights, margins);
        }
        self.places.clear();
        let mut slopes = vec![0.0; fit.problem.n_scores()];
        let rows = values.chunks_exact(dim).zip(block.taking_part(&fit.problem)).enumerate();
        let taking_part = rows.filter_map(|(place, (row, part))| Some((place, row, part?)));
        for ((place, row, part), step) in taking_part.zip(self.steps.chunks_exact_mut(n_weights)) {
            slopes.iter_mut().enumerate().for_each(|(k, slope)| *slope = self.margins[k * n + place]);
            match &mut slopes[..] {
                [slope] => *slope = objective.loss.slope(*slope, part.target),
                slopes => _ = softmax::evaluate(slopes, part.target as usize),
            }
            let ridge = objective.ridge.of_rows(WeightSum::of_row(part.weight));
            let classes = step.chunks_exact_mut(dim).zip(fit.weights.chunks_exact(dim)).zip(&slopes);
            for ((step, weights), slope) in classes {
                for ((step, weight), x) in step.iter_mut().zip(weights).zip(row) {
                    *step = part.weight * slope * x.wide() + ridge * weight;
                }
            }
            self.places.push(place);
        }
        let steps = &mut self.steps[..n_weights * self.places.len()];
        if let Some(curvature) = &fit.curvature {
            curvature.factor().solve_columns(steps);
        }
        for (step, place) in steps.chunks_exact(n_weights).zip(&self.places) {
            squares[*place] += kernel::dot(step, step);
        }
    }
}
