//! What a step adds for a row, its noise and its coins.

use efface_core::accounting::subsampled::SubsampledGaussian;
use efface_core::noise::NoiseSource;
use efface_testkit::special::normal_cdf;
use efface_testkit::{kolmogorov_smirnov, ks_threshold};

use super::{random_bytes, random_network, small};
use crate::architecture::{Activation, Architecture};
use crate::clipping::{Summand, scale};
use crate::images::Images;
use crate::plan::Private;
use crate::step::{poisson_sample, private_sum, sum};

/// From vanishing gradients to ones that overflow: the integers of one row are never longer than the clipping norm, and point
/// where the gradient does.
#[test]
fn what_one_row_adds_is_never_longer_than_the_clipping_norm() {
    let (mut n_clipped, mut n_whole, mut longest) = (0, 0, 0.0_f64);
    for (case, size) in [1e-3, 0.1, 1.0, 3.0, 30.0, 1e4, 1e12, 1e18, 1e30].into_iter().enumerate() {
        for activation in [Activation::Relu, Activation::Tanh] {
            let network = random_network(small(activation), size, case as u64);
            let n_weights = network.weights.len();
            let pixels = random_bytes(20 * 11 * 12 * 2, 50 + case as u64);
            let images = Images::new(11, 12, 2, &pixels).expect("whole");
            let labels: Vec<u8> = (0..20).map(|row| row % 4).collect();
            for clip in [1e-6, 0.01, 1.0, 40.0, 1e6] {
                for row in 0..20 {
                    let clipped = |example: &crate::example::Example| scale(example.squared_norm(), clip, n_weights);
                    let (integers, _) = sum::<i32>(&network, &images, &labels, &[row], clipped);
                    let square: i128 = integers.iter().map(|x| i128::from(*x).pow(2)).sum();
                    assert!(square <= 1 << 42, "{activation:?}, size {size:e}, clip {clip}: {square}");
                    let (gradient, _) = sum::<f32>(&network, &images, &labels, &[row], |_| Some(1.0));
                    let norm = gradient.iter().map(|x| x * x).sum::<f64>().sqrt();
                    if !norm.is_finite() {
                        continue;
                    }
                    let factor = f64::from(1 << 21) / norm.max(clip);
                    let apart = integers.iter().zip(&gradient).map(|(a, b)| (*a as f64 - factor * b).abs());
                    let apart = apart.fold(0.0, f64::max);
                    // Half for rounding, a millionth and √n/2 of the length for the room that it needs.
                    assert!(apart < 30.0, "{activation:?}, size {size:e}, clip {clip}: {apart}");
                    longest = longest.max((square as f64).sqrt() / f64::from(1 << 21));
                    if norm > clip { n_clipped += 1 } else { n_whole += 1 }
                }
            }
        }
    }
    assert!(n_clipped > 200 && n_whole > 200, "{n_clipped} {n_whole}");
    assert!(longest > 0.9999, "{longest}: clipped to less than need be");
    assert_eq!([scale(f64::INFINITY, 1.0, 10), scale(f64::NAN, 1.0, 10)], [None, None]);
}

#[test]
fn single_precision_is_rounded_to_the_nearest_integer() {
    for value in [0.0, 0.49, 0.5, 0.51, 1.5, 2.5, 1e-30, 12_345.678, 2_097_151.5, 2_097_152.0] {
        for value in [value, -value] {
            let mut sum = 7_i32;
            sum.add(value);
            assert_eq!(f64::from(sum - 7), f64::from(value).round_ties_even(), "{value}");
        }
    }
}

#[test]
fn noise_is_normal_with_the_stated_deviation() {
    let network = random_network(Architecture::new(16, 16, 1, 10, 512), 1.0, 1);
    let images = Images::new(16, 16, 1, &[]).expect("no images are whole images");
    let noise_multiplier = 1.7;
    let mechanism = SubsampledGaussian::new(0.1, noise_multiplier, 1).expect("possible");
    let private = Private { mechanism, clip: 0.3 };
    let mut source = NoiseSource::danger_fixed_seed(9);
    let mut draw = || private_sum(&network, &images, &[], &[], private, &mut source).expect("in range").sum;
    let (mut first, second) = (draw(), draw());
    let n = first.len() as f64;
    assert!(n > 30_000.0);
    let deviation = 0.3 * noise_multiplier;
    // The square of a normal number has mean 1 and variance 2; 4.9 deviations: one false alarm in a million.
    let square = first.iter().map(|x| (x / deviation).powi(2)).sum::<f64>() / n;
    assert!((square - 1.0).abs() < 4.9 * (2.0 / n).sqrt(), "{square}");
    let product = first.iter().zip(&second).map(|(a, b)| a * b / deviation.powi(2)).sum::<f64>() / n;
    assert!(product.abs() < 4.9 / n.sqrt(), "steps are not independent: {product}");
    let neighbours = first.windows(2).map(|pair| pair[0] * pair[1] / deviation.powi(2)).sum::<f64>() / n;
    assert!(neighbours.abs() < 4.9 / n.sqrt(), "weights are not independent: {neighbours}");
    let distance = kolmogorov_smirnov(&mut first, |x| normal_cdf(x / deviation));
    assert!(distance < ks_threshold(second.len(), 1e-6), "{distance}");
}

/// A step is the integer sum plus noise, in clipping norms: with the same noise, two steps differ by what one row adds.
#[test]
fn a_step_is_the_clipped_sum_plus_noise() {
    let network = random_network(small(Activation::Tanh), 1.0, 3);
    let pixels = random_bytes(30 * 11 * 12 * 2, 4);
    let images = Images::new(11, 12, 2, &pixels).expect("whole");
    let labels: Vec<u8> = (0..30).map(|row| row % 4).collect();
    let mechanism = SubsampledGaussian::new(0.1, 2.0, 1).expect("possible");
    let private = Private { mechanism, clip: 0.25 };
    let step = |rows: &[usize]| {
        let mut source = NoiseSource::danger_fixed_seed(11);
        private_sum(&network, &images, &labels, rows, private, &mut source).expect("in range").sum
    };
    let all: Vec<usize> = (0..30).collect();
    let n_weights = network.weights.len();
    let (with, without) = (step(&all), step(&all[1..]));
    let (alone, _) =
        sum::<i32>(&network, &images, &labels, &[0], |example| scale(example.squared_norm(), private.clip, n_weights));
    for ((with, without), alone) in with.iter().zip(&without).zip(alone) {
        assert_eq!(((with - without) / private.clip * f64::from(1 << 21)).round(), alone as f64);
    }
}

#[test]
fn rows_are_taken_by_coins_of_their_own() {
    let (n_rows, rate, n_steps) = (1_000, 0.03, 2_000);
    let mut source = NoiseSource::danger_fixed_seed(12);
    let mut per_row = vec![0_u32; n_rows];
    let mut squares = 0.0;
    let mean = n_rows as f64 * rate;
    for _ in 0..n_steps {
        let taken = poisson_sample(n_rows, rate, &mut source);
        assert!(taken.is_sorted() && taken.last().is_none_or(|row| *row < n_rows));
        squares += (taken.len() as f64 - mean).powi(2);
        for row in taken {
            per_row[row] += 1;
        }
    }
    let variance = n_rows as f64 * rate * (1.0 - rate);
    // Sizes of batches vary as binomial numbers do (shuffled batches would not vary): 4.9 deviations.
    let spread = squares / f64::from(n_steps) / variance;
    assert!((spread - 1.0).abs() < 4.9 * (2.0 / f64::from(n_steps)).sqrt(), "{spread}");
    // Counts per row too; the sum of squares of n standardized ones is nearly normal.
    let expected = f64::from(n_steps) * rate;
    let chi: f64 = per_row.iter().map(|n| (f64::from(*n) - expected).powi(2) / (expected * (1.0 - rate))).sum();
    assert!((chi - n_rows as f64).abs() < 5.2 * (2.0 * n_rows as f64).sqrt(), "{chi}");
    assert_eq!(poisson_sample(5, 1.0, &mut source), [0, 1, 2, 3, 4]);
    assert!(poisson_sample(100_000, 1e-15, &mut source).is_empty());
}
