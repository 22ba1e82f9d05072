use efface_report::Part;

use super::numbers::{Check, Reference};
use super::schedule::{Density, PERCENTS, schedule};
use super::*;
use crate::ExperimentError;

const DENSE: Density = Density { every_early_step: true, n_spread: 50 };

#[test]
fn percentages_are_reached_exactly_and_batches_are_cut_there() {
    for (n_rows, batch_rows) in [(11_982, 1), (11_982, 100), (400, 100), (7, 1), (1, 100)] {
        let stops = schedule(n_rows, batch_rows, DENSE);
        let reached: Vec<usize> = stops.iter().filter_map(|stop| stop.percent).collect();
        assert_eq!(reached.last(), Some(&50), "{n_rows} rows");
        assert!(n_rows < 100 || reached == PERCENTS);
        let mut before = 0;
        for stop in &stops {
            assert!((1..=batch_rows).contains(&(stop.n_removed - before)));
            before = stop.n_removed;
        }
        assert_eq!(before, n_rows.div_ceil(2));
    }
    let stops = schedule(11_982, 100, DENSE);
    assert_eq!(stops[..3].iter().map(|stop| stop.n_removed).collect::<Vec<_>>(), [100, 120, 220]);
}

#[test]
fn every_early_step_and_an_even_spread_are_compared() {
    let compared = |batch_rows, density| {
        let stops = schedule(10_000, batch_rows, density);
        stops.into_iter().filter(|stop| stop.compare).map(|stop| stop.n_removed).collect::<Vec<usize>>()
    };
    // The first 100, then 51 that are 100 apart less those that were counted.
    let dense = compared(1, DENSE);
    assert_eq!(dense[..100], (1..=100).collect::<Vec<usize>>());
    assert_eq!(dense.len(), 100 + 49);
    assert_eq!(compared(1, Density { every_early_step: false, n_spread: 2 }), [100, 500, 2000, 2500, 5000]);
}

#[test]
fn a_distance_beyond_its_bound_is_an_error() {
    let check = |distance| Check {
        n_removed: 7,
        reference: Reference::Retrained,
        distance,
        distance_bound: 0.5,
        reference_bound: 0.25,
        accuracy: 1.0,
        reference_accuracy: 1.0,
    };
    assert!(check(0.75).hold("rows").is_ok());
    for distance in [0.76, f64::NAN, f64::INFINITY] {
        let error = check(distance).hold("rows").expect_err("beyond the bound");
        assert!(matches!(error, ExperimentError::ClaimBroken { claimed: 0.75, .. }), "{error}");
    }
}

#[test]
fn hardest_first_is_by_influence() {
    assert_eq!(hardest_first(&[0.5, 2.0, 0.0, 1.0]), [1, 3, 0, 2]);
}

#[test]
fn without_any_data_the_experiment_says_what_is_missing() {
    let data = tempfile::tempdir().expect("a directory");
    let error = run(&Setting::new(data.path().into(), true, 1, &mut |_| {})).expect_err("nothing is there");
    assert!(matches!(error, ExperimentError::Missing { .. }), "{error}");
}

#[test]
fn a_quick_run_goes_from_data_to_page() {
    let Some(data) = efface_testkit::real_data() else { return };
    let mut stages = Vec::new();
    let mut tell = |stage: &crate::Stage| stages.push((stage.done, stage.of));
    let results = run(&Setting::new(data, true, 1, &mut tell)).expect("all claims hold");
    assert!(stages.iter().all(|(done, of)| done <= of));
    assert_eq!(results.data_sets.len() + results.missing.len(), 3);
    for set in &results.data_sets {
        assert_eq!((set.runs.len(), set.objective.len()), (4, 4));
        for run in &set.runs {
            assert_eq!(run.checkpoints.len(), PERCENTS.len());
            assert!(run.checkpoints.iter().all(|point| point.settled_bound < 1e-6 && point.mu_spent < point.mu_limit));
        }
    }
    let text = serde_json::to_string(&results).expect("numbers");
    let read: BeyondResults = serde_json::from_str(&text).expect("what was written");
    let parts = read.section().parts;
    let n_charts = parts.iter().filter(|part| matches!(part, Part::Chart(_))).count();
    assert_eq!(n_charts, 2 * results.data_sets.len());
    for part in parts {
        match part {
            Part::Chart(chart) => assert!(chart.series.len() <= 7 && chart.series.iter().all(|s| !s.points.is_empty())),
            Part::Table(table) => assert!(table.rows.iter().all(|row| row.len() == table.columns.len())),
            _ => {}
        }
    }
}
