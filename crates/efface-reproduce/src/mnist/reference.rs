//! What the published code gives on the same rows, and whether we land there.
//!
//! ε = 1, δ = 1e-4, 100 removals, one random order. Only the figures were taken over, not the code.

use serde::{Deserialize, Serialize};

use crate::objective::ObjectiveRun;

/// λ and σ; then accuracy, bound after 100 removals and supported removals of the published code, each from and to.
type Reference = ((f64, f64), (f64, f64), (f64, f64), (f64, f64));

/// Where repeated runs differ, both ends are given.
const REFERENCES: [Reference; 7] = [
    ((1e-4, 0.1), (0.970, 0.970), (7.6, 7.6), (0.2, 0.2)),
    ((1e-4, 1.0), (0.969, 0.969), (6.9, 6.9), (2.0, 2.0)),
    ((1e-3, 0.1), (0.954, 0.954), (0.66, 0.66), (3.1, 3.1)),
    ((1e-3, 1.0), (0.955, 0.955), (0.66, 0.66), (31.0, 31.0)),
    ((1e-3, 10.0), (0.945, 0.947), (0.67, 0.94), (250.0, 290.0)),
    ((1e-2, 1.0), (0.913, 0.913), (0.059, 0.059), (372.0, 372.0)),
    ((1e-2, 10.0), (0.910, 0.910), (0.059, 0.059), (3_700.0, 3_700.0)),
];

/// Accuracies agree within so much.
pub(super) const ACCURACY_TOLERANCE: f64 = 0.006;

/// Bounds and counts agree within this factor.
pub(super) const FACTOR: f64 = 1.6;

/// At λ = 1e-4 bounds are heavy-tailed and depend on the order: they agree within this factor.
pub(super) const HEAVY_FACTOR: f64 = 4.0;

/// One of our runs beside the published code's.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Comparison {
    pub(crate) l2_per_row: f64,
    pub(crate) noise_std: f64,
    /// Accuracy: ours, theirs from and to.
    pub(crate) accuracy: (f64, f64, f64),
    /// Accumulated bound after 100 removals: ours, theirs from and to.
    pub(crate) accumulated_bound: (f64, f64, f64),
    /// Supported removals: ours, theirs from and to.
    pub(crate) supported_removals: (f64, f64, f64),
    /// How many times smaller the measured residual is than the bound.
    pub(crate) bound_over_measured: f64,
    /// Whether all three agree.
    pub(crate) agrees: bool,
}

/// Our runs beside theirs, where both exist.
pub(super) fn compare(runs: &[ObjectiveRun]) -> Vec<Comparison> {
    let comparisons = REFERENCES.iter().filter_map(|theirs| {
        let same = |run: &&ObjectiveRun| (run.strength.l2_per_row, run.strength.noise_std) == theirs.0;
        runs.iter().find(same).map(|ours| comparison(ours, theirs))
    });
    comparisons.collect()
}

fn comparison(ours: &ObjectiveRun, &((l2_per_row, noise_std), accuracy, bound, supported): &Reference) -> Comparison {
    let factor = if l2_per_row < 5e-4 { HEAVY_FACTOR } else { FACTOR };
    let near = |value: f64, (low, high): (f64, f64)| value >= low / factor && value <= high * factor;
    let beside = |value: f64, (low, high): (f64, f64)| (value, low, high);
    // Of fewer removals, the bound that a hundred would add up to.
    let our_bound = ours.accumulated_bound * 100.0 / ours.n_removals as f64;
    let accurate = ours.accuracy >= accuracy.0 - ACCURACY_TOLERANCE && ours.accuracy <= accuracy.1 + ACCURACY_TOLERANCE;
    Comparison {
        l2_per_row,
        noise_std,
        accuracy: beside(ours.accuracy, accuracy),
        accumulated_bound: beside(our_bound, bound),
        supported_removals: beside(ours.supported_removals, supported),
        bound_over_measured: ours.accumulated_bound / ours.measured_residual,
        agrees: accurate && near(our_bound, bound) && near(ours.supported_removals, supported),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Setting;
    use crate::data::mnist_3_vs_8;
    use crate::objective::{Effort, Strength, measure};

    #[test]
    fn the_published_method_lands_where_the_published_code_does() {
        let Some(folder) = efface_testkit::real_data() else { return };
        let data = mnist_3_vs_8(&folder, false).expect("MNIST");
        let effort = Effort { n_removals: 30, n_draws: 2 };
        let runs = [(1e-3, 1.0), (1e-2, 10.0)].map(|(l2_per_row, noise_std)| {
            let strength = Strength { l2_per_row, noise_std };
            measure(&data, strength, effort, &Setting::new("".into(), false, 1, &mut |_| {})).expect("a run")
        });
        let compared = compare(&runs);
        assert_eq!(compared.len(), 2);
        for row in compared {
            assert!(row.agrees, "{row:?}");
            assert!((100.0..10_000.0).contains(&row.bound_over_measured), "{row:?}");
        }
    }

    #[test]
    fn what_is_outside_the_tolerance_does_not_agree() {
        let run = |accuracy: f64, bound: f64, supported: f64| ObjectiveRun {
            strength: Strength { l2_per_row: 1e-3, noise_std: 1.0 },
            accuracy,
            accuracies: vec![accuracy],
            n_removals: 100,
            accumulated_bound: bound,
            measured_residual: 1e-3,
            budget: 0.228,
            supported_removals: supported,
            removal_seconds: 0.1,
        };
        let agrees = |run: ObjectiveRun| compare(&[run])[0].agrees;
        assert!(agrees(run(0.955, 0.66, 31.0)));
        assert!(agrees(run(0.9605, 1.0, 49.0)));
        assert!(!agrees(run(0.962, 0.66, 31.0)));
        assert!(!agrees(run(0.948, 0.66, 31.0)));
        assert!(!agrees(run(0.955, 1.1, 31.0)));
        assert!(!agrees(run(0.955, 0.66, 51.0)));
        assert!(!agrees(run(0.955, 0.66, 19.0)));
    }
}
