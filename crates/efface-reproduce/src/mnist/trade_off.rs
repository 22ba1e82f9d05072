//! Figure 1: what noise costs in accuracy, and what it buys.

use efface_core::rounding::LowerBound;
use serde::{Deserialize, Serialize};

use super::reference::{self, Comparison};
use crate::data::DataSet;
use crate::measure::mean;
use crate::objective::{Effort, ObjectiveRun, Strength, Unperturbed, drawn, measure_grid, published_plan, unperturbed};
use crate::{Result, Setting};

/// λ of the figure.
const L2_PER_ROW: [f64; 4] = [1e-4, 1e-3, 1e-2, 1e-1];

/// σ of the figure.
const NOISE_STD: [f64; 5] = [0.01, 0.1, 1.0, 10.0, 100.0];

/// ε of the middle panel.
const EPSILONS: [f64; 7] = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0];

/// Removals that the middle panel supports.
pub(super) const SUPPORTED: f64 = 100.0;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TradeOff {
    /// Accuracy without a perturbation, for each λ.
    pub(crate) unperturbed: Vec<Unperturbed>,
    /// Left and right panel: every λ and σ.
    pub(crate) runs: Vec<ObjectiveRun>,
    /// Middle panel: every λ and ε for which some σ of the runs supports 100 removals.
    pub(crate) supporting: Vec<Supporting>,
    /// The runs beside what the published code gives.
    pub(crate) comparison: Vec<Comparison>,
}

/// A model with as much noise as 100 removals need.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Supporting {
    pub(crate) l2_per_row: f64,
    pub(crate) epsilon: f64,
    /// σ that makes the budget the bound of 100 removals.
    pub(crate) noise_std: f64,
    /// Accuracy on the test rows, mean over the draws of b.
    pub(crate) accuracy: f64,
}

pub(super) fn run(data: &DataSet, setting: &Setting<'_>) -> Result<TradeOff> {
    let effort = Effort::of(setting);
    let l2_per_row = if setting.quick { &L2_PER_ROW[1..3] } else { &L2_PER_ROW[..] };
    let unperturbed = unperturbed(data, l2_per_row, setting)?;
    let runs = measure_grid(data, l2_per_row, &NOISE_STD, effort, setting)?;
    let supporting = supporting(data, l2_per_row, &runs, effort.n_draws, setting)?;
    // The published figures are of all rows.
    let comparison = if setting.quick { Vec::new() } else { reference::compare(&runs) };
    Ok(TradeOff { unperturbed, runs, supporting, comparison })
}

fn supporting(
    data: &DataSet,
    l2_per_row: &[f64],
    runs: &[ObjectiveRun],
    n_draws: usize,
    setting: &Setting<'_>,
) -> Result<Vec<Supporting>> {
    setting.begin("MNIST: noise for 100 removals", l2_per_row.len() * EPSILONS.len() * n_draws);
    let mut all = Vec::new();
    for (&l2_per_row, epsilon) in l2_per_row.iter().flat_map(|l2| EPSILONS.map(|epsilon| (l2, epsilon))) {
        let bounds: Vec<(f64, f64)> = runs
            .iter()
            .filter(|run| run.strength.l2_per_row == l2_per_row)
            .map(|run| (run.strength.noise_std, run.accumulated_bound / run.n_removals as f64))
            .collect();
        let unit = Strength { l2_per_row, noise_std: 1.0 };
        let budget_of_unit = published_plan(data, unit, epsilon)?.removal_budget();
        let Some(noise_std) = noise_for(&bounds, budget_of_unit.map_or(1.0, LowerBound::get)) else { continue };
        let plan = published_plan(data, Strength { l2_per_row, noise_std }, epsilon)?;
        let accuracy = mean(&drawn(data, &plan, n_draws, setting)?.1);
        all.push(Supporting { l2_per_row, epsilon, noise_std, accuracy });
    }
    Ok(all)
}

/// The least σ with `σ · budget_of_unit ≥ 100 · bound(σ)`, where the bound of one removal is known at some σ and
/// interpolated between them, both as logarithms. Below them it is that of the least: what little noise adds to the
/// weights does not show in it. Beyond them nothing is known: `None` when no σ that was measured is enough.
fn noise_for(bounds: &[(f64, f64)], budget_of_unit: f64) -> Option<f64> {
    let enough = |log_std: f64| log_std.exp() * budget_of_unit >= SUPPORTED * bound_at(bounds, log_std);
    let first = bounds.iter().position(|(std, _)| enough(std.ln()))?;
    let mut high = bounds[first].0.ln();
    let mut low = if first == 0 { high - 40.0 } else { bounds[first - 1].0.ln() };
    for _ in 0..80 {
        let middle = f64::midpoint(low, high);
        if enough(middle) { high = middle } else { low = middle }
    }
    Some(high.exp())
}

fn bound_at(bounds: &[(f64, f64)], log_std: f64) -> f64 {
    let (Some(first), Some(last)) = (bounds.first(), bounds.last()) else { return f64::NAN };
    if log_std <= first.0.ln() {
        return first.1;
    }
    let between = bounds.windows(2).find(|pair| log_std <= pair[1].0.ln());
    between.map_or(last.1, |pair| {
        let (from, to) = (pair[0].0.ln(), pair[1].0.ln());
        let share = (log_std - from) / (to - from);
        ((1.0 - share) * pair[0].1.ln() + share * pair[1].1.ln()).exp()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_makes_the_budget_the_bound_of_a_hundred_removals() {
        // A bound that does not depend on σ: σ = 100·bound / budget, between the σ measured and below them.
        for bound in [0.007, 1e-6] {
            let std = noise_for(&[(0.1, bound), (10.0, bound)], 0.228).expect("enough");
            assert!((std / (100.0 * bound / 0.228) - 1.0).abs() < 1e-9, "{std}");
        }
        // One that grows as √σ: σ = (100·a / budget)².
        let bounds: Vec<(f64, f64)> = [1e-3, 1e3].iter().map(|std: &f64| (*std, 0.01 * std.sqrt())).collect();
        let std = noise_for(&bounds, 0.5).expect("enough");
        assert!((std - 4.0).abs() < 1e-6, "{std}");
    }

    #[test]
    fn where_noise_makes_the_bound_grow_as_fast_none_is_enough() {
        let bounds = [(0.1, 0.01), (1.0, 0.1), (10.0, 1.0)];
        assert_eq!(noise_for(&bounds, 1.0), None);
        // Enough at first and no longer at the end: the least is found.
        let std = noise_for(&[(0.1, 1e-4), (1.0, 1e-4), (10.0, 10.0)], 0.05).expect("enough");
        assert!((std - 0.2).abs() < 1e-9, "{std}");
    }
}
