//! Noise: both laws by Kolmogorov–Smirnov tests, and what the two kinds of source are marked as.
//!
//! A test with correct code raises a false alarm with probability 1e-6 per comparison; the seeds are fixed, so it does
//! not. Each comparison draws 20,000 vectors.

use std::f64::consts::PI;

use efface_core::loss::Logistic;
use efface_core::model::{TrainingConfig, TrainingPlan};
use efface_core::noise::{NoiseLaw, NoiseSource};
use efface_testkit::special::{gamma_p, normal_cdf};
use efface_testkit::statistics::{kolmogorov_smirnov, ks_threshold};

use crate::store::TestStore;
use crate::world::OBJECTIVE;

/// A distribution function.
type Cdf = fn(f64) -> f64;

const FALSE_ALARM_RATE: f64 = 1e-6;
const N: usize = 20_000;

fn assert_law(mut sample: Vec<f64>, cdf: impl Fn(f64) -> f64, what: &str) {
    let distance = kolmogorov_smirnov(&mut sample, cdf);
    let limit = ks_threshold(sample.len(), FALSE_ALARM_RATE);
    assert!(distance < limit, "{what}: distance {distance}, limit {limit}");
}

fn draw(law: NoiseLaw, dim: usize, scale: f64, seed: u64) -> Vec<Vec<f64>> {
    let mut source = NoiseSource::danger_fixed_seed(seed);
    (0..N).map(|_| law.sample(dim, scale, &mut source).to_vec()).collect()
}

fn length(v: &[f64]) -> f64 {
    v.iter().map(|x| x * x).sum::<f64>().sqrt()
}

#[test]
fn gaussian_coordinates_are_normal_with_the_declared_deviation() {
    for (seed, (dim, scale)) in [(1, 1.0), (2, 1e-3), (7, 250.0)].into_iter().enumerate() {
        let vectors = draw(NoiseLaw::Gaussian, dim, scale, seed as u64);
        for j in 0..dim {
            assert_law(vectors.iter().map(|v| v[j]).collect(), |x| normal_cdf(x / scale), "a Gaussian coordinate");
        }
        // Independence: a rotated coordinate is normal too, and squared norms follow the χ² law.
        let root = (dim as f64).sqrt() * scale;
        assert_law(vectors.iter().map(|v| v.iter().sum::<f64>() / root).collect(), normal_cdf, "a rotated coordinate");
        let squares = vectors.iter().map(|v| (length(v) / scale).powi(2) / 2.0).collect();
        assert_law(squares, |x| gamma_p(dim as f64 / 2.0, x), "a squared norm");
    }
}

#[test]
fn successive_gaussian_vectors_are_independent() {
    let vectors = draw(NoiseLaw::Gaussian, 3, 1.0, 10);
    let differences = vectors.windows(2).step_by(2).map(|pair| (pair[0][0] - pair[1][0]) / 2.0_f64.sqrt()).collect();
    assert_law(differences, normal_cdf, "the difference of two draws");
}

#[test]
fn gamma_norms_follow_their_law() {
    for (seed, (dim, scale)) in [(1, 1.0), (2, 0.01), (3, 5.0), (20, 1.0), (300, 2.0)].into_iter().enumerate() {
        let norms = draw(NoiseLaw::Gamma, dim, scale, 20 + seed as u64).iter().map(|v| length(v) / scale).collect();
        assert_law(norms, |x| gamma_p(dim as f64, x), "a norm");
    }
}

#[test]
fn gamma_directions_are_uniform() {
    // The law of one coordinate of a uniform direction, density ∝ (1 − t²)^((d−3)/2).
    let laws: [(usize, Cdf); 3] =
        [(2, |t| 0.5 + t.asin() / PI), (3, |t| 0.5 * (t + 1.0)), (5, |t| 0.5 + 0.75 * (t - t * t * t / 3.0))];
    for (seed, (dim, cdf)) in laws.into_iter().enumerate() {
        let vectors = draw(NoiseLaw::Gamma, dim, 0.3, 30 + seed as u64);
        for j in 0..dim {
            assert_law(vectors.iter().map(|v| v[j] / length(v)).collect(), cdf, "a coordinate of a direction");
        }
        let root = (dim as f64).sqrt();
        assert_law(vectors.iter().map(|v| v.iter().sum::<f64>() / length(v) / root).collect(), cdf, "a rotated one");
    }
    // In one dimension the sign is fair: a binomial count within 5 standard deviations (rate 6e-7).
    let positive = draw(NoiseLaw::Gamma, 1, 1.0, 40).iter().filter(|v| v[0] > 0.0).count() as f64;
    assert!((positive - N as f64 / 2.0).abs() < 5.0 * (N as f64 / 4.0).sqrt(), "{positive} of {N} positive");
}

#[test]
fn gamma_direction_and_norm_are_independent() {
    // Norms of the vectors that point to the right follow the same law.
    let vectors = draw(NoiseLaw::Gamma, 3, 1.0, 50);
    let norms = vectors.iter().filter(|v| v[0] > 0.5 * length(v)).map(|v| length(v)).collect();
    assert_law(norms, |x| gamma_p(3.0, x), "a norm, given the direction");
}

#[test]
fn one_dimensional_gamma_noise_is_the_laplace_law() {
    let laplace = |x: f64| if x < 0.0 { 0.5 * x.exp() } else { 1.0 - 0.5 * (-x).exp() };
    assert_law(draw(NoiseLaw::Gamma, 1, 1.0, 60).iter().map(|v| v[0]).collect(), laplace, "the Laplace law");
}

/// K independent gamma vectors are not one: the logarithms of their density ratios add up. So the perturbations of all
/// classes are one draw, and the budget covers their joint norm.
#[test]
fn the_perturbation_of_several_classes_is_one_gamma_vector() {
    let (dim, n_classes, scale) = (2, 3_u32, 0.7);
    let rows: Vec<Vec<f64>> = (0..6).map(|i| vec![0.5, f64::from(i) / 10.0]).collect();
    let labels: Vec<f64> = (0..6).map(|i| f64::from(i % 3)).collect();
    let store = TestStore::of(&rows, &labels);
    let plan = TrainingPlan::new(TrainingConfig {
        mechanism: OBJECTIVE,
        law: NoiseLaw::Gamma,
        noise_std: Some(scale),
        ..TrainingConfig::new(&Logistic, 0.5, Some(n_classes))
    })
    .expect("valid");
    let mut source = NoiseSource::danger_fixed_seed(80);
    let mut norms = Vec::new();
    for _ in 0..2000 {
        let model = plan.train(&store, &mut source, &mut |_| {}).expect("trainable").model;
        let b = model.state().fits.iter().flat_map(|fit| fit.perturbation.as_deref().unwrap_or_default().to_vec());
        norms.push(length(&b.collect::<Vec<f64>>()));
    }
    let shape = f64::from(n_classes) * f64::from(dim);
    assert_law(norms, |x| gamma_p(shape, x / scale), "the norm of all perturbations together");
}

#[test]
fn the_system_source_is_certified_and_never_repeats() {
    let mut first = NoiseSource::from_system().expect("the system has entropy");
    let mut second = NoiseSource::from_system().expect("the system has entropy");
    assert!(first.is_certified() && second.is_certified());
    let sample = |source: &mut NoiseSource| NoiseLaw::Gaussian.sample(4, 1.0, source);
    let (a, b, c) = (sample(&mut first), sample(&mut first), sample(&mut second));
    assert!(a != b && a != c && b != c);
    let (mut one, mut other) = ([0_u8; 32], [0_u8; 32]);
    first.fill(&mut one);
    second.fill(&mut other);
    assert!(one != other && one != [0; 32]);
}

#[test]
fn a_fixed_seed_repeats_and_is_not_certified() {
    let sample = |seed: u64| {
        let mut source = NoiseSource::danger_fixed_seed(seed);
        assert!(!source.is_certified());
        NoiseLaw::Gamma.sample(4, 1.0, &mut source)
    };
    assert!(sample(1) == sample(1));
    assert!(sample(1) != sample(2));
}
