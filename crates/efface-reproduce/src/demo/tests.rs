//! The verdict of the page follows the numbers. That a page stands alone is tested where pages are drawn.

use super::*;

/// A small report in which every promise is kept.
fn sample() -> DemoResults {
    let digit = |row_id| Digit { row_id, label: 3, image: (0..64).map(|i| 4 * i).collect(), step_norm: 0.5 };
    let ranked = |step_norm| Digit { step_norm, ..digit(7) };
    let pair = |promised, measured| Pair { promised, measured };
    DemoResults {
        model: ModelFacts {
            n_rows: 1500,
            dim: 64,
            epsilon: 1.0,
            delta: 1e-4,
            noise_std: 0.01,
            threads: 2,
            danger_fixed_seed: false,
        },
        seconds: StageSeconds { train: 0.2, remove: 8e-4, settle: 0.01, release: 5e-5, retrain: 0.19 },
        subject: Subject { number: 12, n_subjects: 150, rows: (0..10).map(digit).collect() },
        after_removal: Check {
            rung: "stale curvature",
            residual: pair(0.2, 0.008),
            distance: pair(0.14, 5e-4),
            mu: pair(14.0, 0.05),
            epsilon: pair(150.0, 0.1),
        },
        at_release: Check {
            rung: "measured",
            residual: pair(2e-12, 1e-12),
            distance: pair(2e-12, 3e-12),
            mu: pair(2e-10, 3e-10),
            epsilon: pair(0.0, 0.0),
        },
        retrained_distance_bound: 2e-12,
        accuracy: Accuracy { n_held_out: 297, before: 0.93, after: 0.93, retrained: 0.93, released: 0.927 },
        residuals: ResidualHistory {
            bounds: vec![
                (Rung::WorstCase, vec![8e4, 1.6e5, 2.4e5]),
                (Rung::StepNorm, vec![2.7, 6.0, 9.0]),
                (Rung::DataDependent, vec![0.3, 0.9, 1.5]),
                (Rung::Stale, vec![0.2, 0.6, 1.1]),
                (Rung::Measured, vec![1e-14, 0.02, 0.03]),
            ],
            truth: vec![0.0, 0.019, 0.029],
            stale_truth: vec![0.0, 0.05, 0.09],
        },
        accuracy_history: AccuracyHistory {
            updated: vec![(0, 0.93), (1, 0.93), (2, 0.92), (3, f64::NAN)],
            retrained: vec![(0, 0.93), (3, 0.92)],
            released: vec![],
        },
        hardest: vec![ranked(1.5), ranked(1.4)],
        easiest: vec![ranked(0.0), ranked(f64::NAN)],
    }
}

const ALL_KEPT: &str = "Every promise was kept";

#[test]
fn values_that_are_no_numbers_are_said_in_words() {
    let mut report = sample();
    report.accuracy.released = f64::NAN;
    report.seconds.remove = 0.0;
    report.at_release.mu.promised = f64::NAN;
    report.after_removal.epsilon.promised = f64::INFINITY;
    report.residuals.truth[1] = f64::NAN;
    report.residuals.bounds[0].1[2] = f64::INFINITY;
    report.accuracy.n_held_out = 0;
    let page = report.page().html();
    assert!(!page.contains("NaN"));
    assert!(!page.contains(">inf") && !page.contains("inf<") && !page.contains("\"inf"));
}

#[test]
fn a_report_of_nothing_is_drawn() {
    let mut report = sample();
    report.residuals = ResidualHistory::default();
    report.accuracy_history = AccuracyHistory::default();
    report.hardest.clear();
    report.easiest.clear();
    assert!(report.page().html().contains("no value that this chart could show"));
}

#[test]
fn verdict_allows_for_what_is_known_of_the_retrained_model() {
    let mut report = sample();
    assert!(report.page().html().contains(ALL_KEPT));
    report.retrained_distance_bound = 0.0;
    assert!(!report.page().html().contains(ALL_KEPT));
}

#[test]
fn verdict_names_each_broken_promise() {
    let breakers: [fn(&mut DemoResults); 6] = [
        |report| report.after_removal.residual.measured = 0.3,
        |report| report.at_release.residual.promised = f64::NAN,
        |report| report.at_release.epsilon.promised = 1.5,
        |report| report.at_release.mu.promised = 1e-10,
        |report| report.residuals.bounds[1].1[2] = 0.02,
        |report| report.residuals.truth.truncate(2),
    ];
    for break_it in breakers {
        let mut report = sample();
        break_it(&mut report);
        let page = report.page().html();
        assert!(!page.contains(ALL_KEPT) && page.contains("A promise was not kept"));
    }
}

#[test]
fn chosen_seed_is_said_on_top() {
    let mut report = sample();
    assert!(!report.page().html().contains("Not certified"));
    report.model.danger_fixed_seed = true;
    assert!(report.page().html().contains("Not certified"));
}
