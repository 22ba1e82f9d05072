//! Every figure beside a slow computation of its definition.

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha12Rng;

use super::*;

/// Scores and classes of a random case: of a few values only, so that many are tied; far apart; all of one class.
fn case(rng: &mut ChaCha12Rng, kind: usize) -> (Vec<f64>, Vec<usize>) {
    let n_rows = rng.random_range(1..60);
    let score = |rng: &mut ChaCha12Rng| match kind % 4 {
        0 => rng.random_range(-1.0..1.0),
        1 => f64::from(rng.random_range(-2..3)),
        2 => 1000.0 * f64::from(rng.random_range(-1..2)),
        _ => 0.0,
    };
    let scores = (0..n_rows).map(|_| score(rng)).collect();
    let classes = (0..n_rows).map(|_| if kind.is_multiple_of(7) { 1 } else { rng.random_range(0..3) }).collect();
    (scores, classes)
}

fn cases() -> impl Iterator<Item = (Vec<f64>, Vec<usize>)> {
    let mut rng = ChaCha12Rng::seed_from_u64(21);
    (0..400).map(move |kind| case(&mut rng, kind))
}

#[test]
fn auc_counts_the_pairs_that_are_in_order() {
    for (scores, classes) in cases() {
        for class in 0..3 {
            let (mut won, mut pairs) = (0.0, 0.0);
            for i in (0..scores.len()).filter(|i| classes[*i] == class) {
                for j in (0..scores.len()).filter(|j| classes[*j] != class) {
                    pairs += 1.0;
                    won += if scores[i] > scores[j] { 1.0 } else { 0.5 * f64::from(u8::from(scores[i] == scores[j])) };
                }
            }
            let expected = (pairs > 0.0).then(|| won / pairs);
            assert_eq!(roc_auc(&scores, |i| classes[i] == class), expected, "{scores:?} {classes:?}");
        }
    }
}

#[test]
fn auc_of_perfect_reversed_and_tied_scores() {
    let is_second = |i: usize| i >= 2;
    assert_eq!(roc_auc(&[-1000.0, -3.0, 0.0, 1000.0], is_second), Some(1.0));
    assert_eq!(roc_auc(&[4.0, 3.0, 2.0, 1.0], is_second), Some(0.0));
    assert_eq!(roc_auc(&[0.0, -0.0, 0.0, -0.0], is_second), Some(0.5));
    assert_eq!(roc_auc(&[1.0, 2.0], is_second), None);
    assert_eq!(roc_auc(&[], is_second), None);
    assert_eq!(macro_auc(&[Some(0.5), None, Some(1.0)]), Some(0.75));
    assert_eq!(macro_auc(&[None, None]), None);
}

#[test]
fn class_figures_are_those_of_the_rows_counted_one_by_one() {
    let mut rng = ChaCha12Rng::seed_from_u64(22);
    for (scores, actual) in cases() {
        let predicted: Vec<usize> = scores.iter().map(|_| rng.random_range(0..3)).collect();
        let mut matrix = ConfusionMatrix::new(3);
        actual.iter().zip(&predicted).for_each(|(actual, predicted)| matrix.add(*actual, *predicted));
        let rows = || actual.iter().copied().zip(predicted.iter().copied());
        let share = |of: &dyn Fn((usize, usize)) -> bool, among: &dyn Fn((usize, usize)) -> bool| {
            let among: Vec<_> = rows().filter(|row| among(*row)).collect();
            let hits = among.iter().filter(|row| of(**row)).count() as f64;
            (!among.is_empty()).then(|| hits / among.len() as f64)
        };
        assert_eq!(matrix.n_rows(), actual.len() as u64);
        assert_eq!(matrix.accuracy(), share(&|(a, p)| a == p, &|_| true));
        let base = (0..3).map(|k| share(&|(a, _)| a == k, &|_| true).expect("rows")).fold(0.0, f64::max);
        assert_eq!(matrix.base_rate().map(|(_, share)| share), Some(base));
        for k in 0..3 {
            let figures = matrix.class(k);
            assert_eq!(figures.support, actual.iter().filter(|class| **class == k).count() as u64);
            assert_eq!(figures.precision, share(&|(a, _)| a == k, &|(_, p)| p == k));
            assert_eq!(figures.recall, share(&|(_, p)| p == k, &|(a, _)| a == k));
            if let (Some(precision), Some(recall)) = (figures.precision, figures.recall)
                && precision + recall > 0.0
            {
                let harmonic = 2.0 / (1.0 / precision + 1.0 / recall);
                assert!((figures.f1.expect("defined") - harmonic).abs() < 1e-15);
            }
        }
    }
}

#[test]
fn a_class_that_is_neither_there_nor_predicted_has_no_figures() {
    let mut matrix = ConfusionMatrix::new(3);
    matrix.add(1, 1);
    matrix.add(1, 0);
    assert_eq!(matrix.class(2), ClassFigures { support: 0, precision: None, recall: None, f1: None });
    assert_eq!(matrix.class(0), ClassFigures { support: 0, precision: Some(0.0), recall: None, f1: Some(0.0) });
    assert_eq!((matrix.accuracy(), matrix.base_rate()), (Some(0.5), Some((1, 1.0))));
    assert_eq!((ConfusionMatrix::new(2).accuracy(), ConfusionMatrix::new(2).base_rate()), (None, None));
}

#[test]
fn bins_hold_the_rows_between_their_edges() {
    let mut rng = ChaCha12Rng::seed_from_u64(23);
    for n_rows in [1, 5, 200] {
        let rows: Vec<(f64, bool)> = (0..n_rows).map(|_| (rng.random_range(0.0..=1.0), rng.random_bool(0.3))).collect();
        let rows: Vec<(f64, bool)> = rows.into_iter().chain([(0.0, false), (1.0, true), (0.5, true)]).collect();
        let mut calibration = Calibration::default();
        for (probability, is_true) in &rows {
            calibration.add(*probability, *is_true);
        }
        let mut expected_error = 0.0;
        for (index, bin) in calibration.bins().into_iter().enumerate() {
            let is_last = index == N_BINS - 1;
            let inside = |p: f64| bin.from <= p && (p < bin.to || is_last && p <= bin.to);
            let inside: Vec<&(f64, bool)> = rows.iter().filter(|row| inside(row.0)).collect();
            assert_eq!(bin.n_rows, inside.len() as u64, "{bin:?}");
            if inside.is_empty() {
                assert_eq!((bin.mean_predicted, bin.observed_share), (None, None));
                continue;
            }
            let n_inside = inside.len() as f64;
            let mean = inside.iter().map(|row| row.0 / n_inside).sum::<f64>();
            let share = inside.iter().filter(|row| row.1).count() as f64 / n_inside;
            assert!((bin.mean_predicted.expect("rows") - mean).abs() < 1e-14);
            assert_eq!(bin.observed_share, Some(share));
            expected_error += n_inside / rows.len() as f64 * (mean - share).abs();
        }
        assert!((calibration.expected_error().expect("rows") - expected_error).abs() < 1e-14);
    }
    assert_eq!(Calibration::default().expected_error(), None);
}

#[test]
fn probabilities_that_come_true_have_no_error() {
    let mut calibration = Calibration::default();
    (0..100).for_each(|i| calibration.add(0.25, i % 4 == 0));
    calibration.add(0.0, false);
    calibration.add(1.0, true);
    assert_eq!(calibration.expected_error(), Some(0.0));
}

#[test]
fn errors_of_numbers_are_those_of_their_sums() {
    let mut rng = ChaCha12Rng::seed_from_u64(24);
    for case in 0..200 {
        let (n_rows, centre) = (rng.random_range(2..50), [0.0, 1000.0, -1000.0][case % 3]);
        let labels: Vec<f64> = (0..n_rows).map(|_| centre + rng.random_range(-1.0..1.0)).collect();
        let predicted: Vec<f64> = labels.iter().map(|y| y + rng.random_range(-2.0..2.0)).collect();
        // Σ (y − ȳ)² from all pairs: Σᵢⱼ (yᵢ − yⱼ)² / 2n.
        let pairs = labels.iter().flat_map(|a| labels.iter().map(move |b| (a - b).powi(2)));
        let n = f64::from(n_rows);
        let spread = pairs.sum::<f64>() / (2.0 * n);
        let square: f64 = predicted.iter().zip(&labels).map(|(p, y)| (p - y) * (p - y)).sum();
        let errors = Errors::of(&predicted, &labels).expect("rows");
        assert!((errors.rmse.powi(2) * n - square).abs() < 1e-9 * square);
        assert!((errors.base_rmse.powi(2) * n - spread).abs() < 1e-9 * spread);
        assert!((errors.r2.expect("labels differ") - (spread - square) / spread).abs() < 1e-8);
        let absolute: f64 = predicted.iter().zip(&labels).map(|(p, y)| (p - y).max(y - p)).sum();
        assert!((errors.mae * n - absolute).abs() < 1e-9 * absolute);
    }
}

#[test]
fn errors_of_perfect_useless_and_undefined_predictions() {
    let labels = [1.0, 2.0, 6.0];
    let perfect = Errors::of(&labels, &labels).expect("rows");
    assert_eq!((perfect.rmse, perfect.mae, perfect.r2), (0.0, 0.0, Some(1.0)));
    assert_eq!(Errors::of(&[3.0; 3], &labels).expect("rows").r2, Some(0.0));
    let constant = Errors::of(&[0.3, 0.2], &[0.1, 0.1]).expect("rows");
    assert_eq!((constant.r2, constant.base_rmse), (None, 0.0));
    assert_eq!(Errors::of(&[], &[]), None);
}
