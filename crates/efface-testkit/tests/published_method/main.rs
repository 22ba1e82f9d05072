//! What the published proof leaves out, in numbers. The claim is (ε, 1e-4) everywhere.

mod one_dimension;

use efface_testkit::hockey_stick::gaussian_mu;
use efface_testkit::special::normal_cdf;
use efface_testkit::{Reference, ReferenceLoss};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;
use rand_distr::StandardNormal;

use crate::one_dimension::{PublishedDelta, PublishedMethod, RemovalStep};

const CLAIMED_DELTA: f64 = 1e-4;
/// γ as printed, and the tight value 1/(6√3).
const PRINTED_LIPSCHITZ: f64 = 0.25;
const TIGHT_LIPSCHITZ: f64 = 0.096_225_044_864_937_64;

/// φ(x).
fn normal_pdf(x: f64) -> f64 {
    (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt()
}

/// The removal budget as printed: σ ε / c with c = √(2 ln(1.5/δ)).
fn printed_budget(method: &PublishedMethod, epsilon: f64) -> f64 {
    method.perturbation_std * epsilon / (2.0 * (1.5 / CLAIMED_DELTA).ln()).sqrt()
}

/// Algorithm 2 with the printed bound and budget.
fn printed_algorithm(method: &PublishedMethod, epsilon: f64) -> PublishedDelta {
    let bound = |step: &RemovalStep| step.data_dependent_bound(PRINTED_LIPSCHITZ);
    method.published_algorithm_delta(bound, printed_budget(method, epsilon), epsilon)
}

/// The first row leaves.
fn method(rows: &[f64], targets: &[f64], l2_per_row: f64, perturbation_std: f64) -> PublishedMethod {
    PublishedMethod { rows: rows.to_vec(), targets: targets.to_vec(), l2_per_row, removed: 0, perturbation_std }
}

/// δ for a decision that keeps a set of probability 1 − ρ, when the residual is negligible: P has density (1 + ρ) q on
/// the kept set and ρ q off it.
fn stopping_delta(rho: f64, epsilon: f64) -> [f64; 2] {
    let weight = epsilon.exp();
    [(1.0 - rho) * (1.0 + rho - weight).max(0.0), rho * (1.0 - weight * rho).max(0.0)]
}

/// P2. Whether the algorithm retrains depends on b, and the output shows on which side of the decision b was.
#[test]
fn stopping_on_the_perturbed_model_breaks_the_claim() {
    let cases = [
        // (data, ε, true δ, probability of retraining)
        (method(&[0.85, -0.75, -0.6, -0.15], &[1.0, 1.0, -1.0, 1.0], 0.45, 3.2), 0.1, 0.2197, 0.372),
        (method(&[1.0, -0.9, -0.8], &[-1.0, 1.0, -1.0], 1.0, 0.4), 0.1, 0.2066, 0.319),
        (method(&[-0.25, -0.05, -0.05, 0.55], &[1.0, -1.0, 1.0, -1.0], 0.085, 2.0), 0.5, 0.1517, 0.330),
        (method(&[1.0, -0.9, -0.8], &[-1.0, 1.0, -1.0], 0.5, 1.0), 0.5, 0.0865, 0.102),
        (method(&[0.8, 0.6, -0.4, 0.5], &[1.0, -1.0, 1.0, 1.0], 0.2, 2.0), 1.0, 0.0765, 0.102),
        (method(&[0.8, 0.6, -0.4, 0.5], &[1.0, -1.0, 1.0, 1.0], 0.1, 1.0), 1.0, 0.0546, 0.302),
    ];
    for (method, epsilon, delta, probability) in cases {
        let truth = printed_algorithm(&method, epsilon);
        assert!((0.1..=0.6).contains(&truth.retraining_probability), "{truth:?}");
        assert!(truth.delta() > 0.03 && truth.delta() > 300.0 * CLAIMED_DELTA, "{truth:?}");
        assert!((truth.delta() - delta).abs() < 1e-4, "recorded {delta}, found {truth:?}");
        assert!((truth.retraining_probability - probability).abs() < 1e-3, "recorded {probability}, found {truth:?}");
    }
}

/// P2 without any data: δ is near max(ρ(1 − e^ε ρ), (1 − ρ)(1 + ρ − e^ε)), at most ¼ e^(−ε) in the first form.
#[test]
fn the_damage_of_stopping_follows_from_the_probability_of_retraining() {
    let data = method(&[1.0, -0.9, -0.8, 0.5], &[-1.0, 1.0, -1.0, 1.0], 0.4, 1.0);
    for epsilon in [0.1, 0.5, 1.0] {
        for budget in [0.02, 0.03, 0.045, 0.07] {
            let truth =
                data.published_algorithm_delta(|step| step.data_dependent_bound(PRINTED_LIPSCHITZ), budget, epsilon);
            let [forward, backward] = stopping_delta(truth.retraining_probability, epsilon);
            assert!((truth.removal_over_retraining - forward).abs() < 0.015, "ε = {epsilon}: {truth:?}");
            assert!((truth.retraining_over_removal - backward).abs() < 0.015, "ε = {epsilon}: {truth:?}");
        }
    }
    // At ε = 1 a decision that retrains more often than e^−1 of the time does no harm of this kind.
    assert_eq!(stopping_delta(0.4, 1.0), [0.0, 0.0]);
}

/// P2. Better constants make retraining rare, and rare is not enough: δ is then about ρ itself.
#[test]
fn rare_retraining_still_costs_its_own_probability() {
    let (data, epsilon) = (method(&[0.8, 0.6, -0.4, 0.5], &[1.0, -1.0, 1.0, 1.0], 0.1, 1.0), 1.0);
    let budget = data.perturbation_std * gaussian_mu(epsilon, CLAIMED_DELTA);
    let bound = |step: &RemovalStep| step.data_dependent_bound(0.5 * TIGHT_LIPSCHITZ);
    let truth = data.published_algorithm_delta(bound, budget, epsilon);
    assert!((0.001..0.01).contains(&truth.retraining_probability), "{truth:?}");
    assert!(truth.delta() > 0.9 * truth.retraining_probability && truth.delta() > 50.0 * CLAIMED_DELTA, "{truth:?}");
}

#[test]
fn the_claim_holds_when_retraining_never_happens_and_the_bound_is_loose() {
    let n_rows = 20;
    let rows: Vec<f64> = (0..n_rows).map(|i| 0.3 + 0.035 * f64::from(i * 7 % n_rows)).collect();
    let targets: Vec<f64> = (0..n_rows).map(|i| if i % 3 == 0 { -1.0 } else { 1.0 }).collect();
    for (epsilon, l2_per_row) in [(0.1, 0.3), (1.0, 0.1), (1.0, 1.0)] {
        let data = method(&rows, &targets, l2_per_row, 1.0);
        let truth = printed_algorithm(&data, epsilon);
        assert!(truth.retraining_probability < 1e-9, "{truth:?}");
        assert!(truth.delta() < 1e-3 * CLAIMED_DELTA, "{truth:?}");
        assert!(data.largest_residual() < printed_budget(&data, epsilon));
    }
}

/// P1. The budget is the largest residual that any b can leave, so nothing is ever retrained; the proof would give δ,
/// but u depends on b and the density of the updated model carries 1/|1 − u′(b)|.
#[test]
fn dependence_of_the_residual_on_the_noise_breaks_the_claim() {
    let (three, three_targets) = ([-0.85, 0.9, 0.9], [-1.0; 3]);
    let (six, six_targets) = ([0.55, -0.5, 0.4, 0.85, -0.6, -0.45], [1.0, 1.0, 1.0, 1.0, -1.0, 1.0]);
    let cases = [
        // (data, ε, true δ, smallest |1 − u′|)
        (method(&three, &three_targets, 5e-4, 0.0), 1.0, 0.1113, 0.050),
        (method(&three, &three_targets, 5e-3, 0.0), 1.0, 0.0695, 0.237),
        (method(&three, &three_targets, 1e-2, 0.0), 0.5, 0.0440, 0.349),
        (method(&three, &three_targets, 1e-2, 0.0), 0.1, 0.0151, 0.349),
        (method(&six, &six_targets, 1e-2, 0.0), 0.1, 0.0086, 0.816),
    ];
    for (mut data, epsilon, delta, jacobian) in cases {
        let (truth, smallest_jacobian) = measured_residual_as_budget(&mut data, epsilon);
        assert!(truth.retraining_probability < 1e-9, "{truth:?}");
        assert!(truth.delta() > 80.0 * CLAIMED_DELTA, "{truth:?}");
        assert!((truth.delta() - delta).abs() < 1e-4, "recorded {delta}, found {truth:?}");
        assert!((smallest_jacobian - jacobian).abs() < 1e-3, "recorded {jacobian}, found {smallest_jacobian}");
    }
}

/// P1 has no force where regularization keeps 1 − u′ within e^(±ε).
#[test]
fn dependence_is_harmless_under_strong_regularization() {
    let mut data = method(&[0.55, -0.5, 0.4, 0.85, -0.6, -0.45], &[1.0, 1.0, 1.0, 1.0, -1.0, 1.0], 0.1, 0.0);
    let (truth, smallest_jacobian) = measured_residual_as_budget(&mut data, 0.1);
    assert!(smallest_jacobian > 0.98);
    assert!(truth.delta() < CLAIMED_DELTA, "{truth:?}");
}

/// Chooses σ so that the budget σ μ(ε, δ) is the largest residual; returns the truth and the smallest |1 − u′|.
fn measured_residual_as_budget(data: &mut PublishedMethod, epsilon: f64) -> (PublishedDelta, f64) {
    let largest = data.largest_residual();
    data.perturbation_std = largest / gaussian_mu(epsilon, CLAIMED_DELTA);
    let budget = largest * (1.0 + 1e-9);
    let truth = data.published_algorithm_delta(|step| step.residual.abs(), budget, epsilon);
    let jacobians = (-2000..=2000).map(|k| {
        let weight = data.trained_weight(f64::from(k) / 500.0 * data.perturbation_std);
        data.removal_step(weight).jacobian.abs()
    });
    (truth, jacobians.fold(f64::INFINITY, f64::min))
}

#[test]
fn a_linear_problem_gives_the_closed_form() {
    // The remaining rows are zero, so the objective is quadratic and the residual vanishes: all δ is from stopping.
    let data = method(&[0.7, 0.0, 0.0], &[1.0, -1.0, 1.0], 0.3, 1.5);
    for (threshold, epsilon) in [(1.0, 0.1), (1.0, 0.5), (2.0, 0.5), (2.5, 1.0)] {
        let truth = data.published_algorithm_delta(|step| step.perturbation.abs(), threshold * 1.5, epsilon);
        let rho = 2.0 * normal_cdf(-threshold);
        let [forward, backward] = stopping_delta(rho, epsilon);
        assert!((truth.retraining_probability - rho).abs() < 1e-12);
        assert!((truth.removal_over_retraining - forward).abs() < 1e-9);
        assert!((truth.retraining_over_removal - backward).abs() < 1e-9);
    }
}

/// ∫ max(0, p − e^ε q) and its reverse with the densities of the module's header, over b instead of c. Needs a
/// monotone T, and shares only `removal_step` with the computation by masses.
fn by_densities(data: &PublishedMethod, budget: f64, epsilon: f64, n_points: u32) -> [f64; 2] {
    let (sigma, weight) = (data.perturbation_std, epsilon.exp());
    let width = 20.0 / f64::from(n_points);
    let points: Vec<(f64, f64, bool)> = (0..n_points)
        .map(|k| {
            let b = sigma * (width * (f64::from(k) + 0.5) - 10.0);
            let step = data.removal_step(data.trained_weight(b));
            assert!(step.jacobian > 0.0, "the update is not monotone");
            let retrained = normal_pdf((b - step.residual) / sigma) * step.jacobian;
            (normal_pdf(b / sigma), retrained, step.data_dependent_bound(PRINTED_LIPSCHITZ) <= budget)
        })
        .collect();
    let rho: f64 = points.iter().filter(|(.., kept)| !kept).map(|(density, ..)| density * width).sum();
    points.iter().fold([0.0, 0.0], |[forward, backward], &(density, retrained, kept)| {
        let removed = rho * retrained + if kept { density } else { 0.0 };
        [
            forward + width * (removed - weight * retrained).max(0.0),
            backward + width * (retrained - weight * removed).max(0.0),
        ]
    })
}

#[test]
fn masses_and_densities_agree() {
    // Smooth case: only kinks, midpoint errors are of second order.
    let mut data = method(&[-0.85, 0.9, 0.9], &[-1.0; 3], 5e-3, 0.0);
    let (truth, _) = measured_residual_as_budget(&mut data, 1.0);
    let [forward, backward] = by_densities(&data, f64::INFINITY, 1.0, 32_000);
    assert!((truth.removal_over_retraining - forward).abs() < 2e-6, "{truth:?} for {forward}");
    assert!((truth.retraining_over_removal - backward).abs() < 2e-6, "{truth:?} for {backward}");
    // With retraining the densities jump, and the midpoint rule has an error of the order of one cell.
    let data = method(&[0.8, 0.6, -0.4, 0.5], &[1.0, -1.0, 1.0, 1.0], 0.1, 1.0);
    let truth = printed_algorithm(&data, 0.1);
    let [forward, backward] = by_densities(&data, printed_budget(&data, 0.1), 0.1, 8000);
    assert!((truth.removal_over_retraining - forward).abs() < 2e-3, "{truth:?} for {forward}");
    assert!((truth.retraining_over_removal - backward).abs() < 2e-3, "{truth:?} for {backward}");
}

#[test]
fn simulation_agrees() {
    // Runs the algorithm. The event is a model outside of the range of the kept ones, which retraining on D′ reaches
    // more often than the removal does.
    let (data, epsilon, n_draws) = (method(&[1.0, -0.9, -0.8], &[-1.0, 1.0, -1.0], 1.0, 0.4), 0.1, 30_000);
    let budget = printed_budget(&data, epsilon);
    let mut rng = ChaCha12Rng::seed_from_u64(20);
    let mut draw = || data.perturbation_std * rng.sample::<f64, _>(StandardNormal);
    let remaining =
        PublishedMethod { rows: data.rows[1..].to_vec(), targets: data.targets[1..].to_vec(), ..data.clone() };
    let retrain = |b: f64| remaining.trained_weight(b);
    let (mut kept, mut again) = (Vec::new(), Vec::new());
    for _ in 0..n_draws {
        let step = data.removal_step(data.trained_weight(draw()));
        if step.data_dependent_bound(PRINTED_LIPSCHITZ) <= budget {
            kept.push(step.updated_weight);
        } else {
            again.push(retrain(draw()));
        }
    }
    let low = kept.iter().copied().fold(f64::INFINITY, f64::min);
    let high = kept.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let outside = |weight: &f64| *weight < low || *weight > high;
    let removed = again.iter().filter(|weight| outside(weight)).count() as f64;
    let retrained = (0..n_draws).filter(|_| outside(&retrain(draw()))).count() as f64;
    let simulated = (retrained - epsilon.exp() * removed) / f64::from(n_draws);

    let truth = printed_algorithm(&data, epsilon);
    // Standard deviations are near 0.003.
    assert!((again.len() as f64 / f64::from(n_draws) - truth.retraining_probability).abs() < 0.015);
    assert!((simulated - truth.retraining_over_removal).abs() < 0.015, "simulated {simulated}, {truth:?}");
}

#[test]
fn training_and_removal_agree_with_the_reference() {
    let data = method(&[0.9, -0.4, 0.7, 0.2], &[1.0, 1.0, -1.0, -1.0], 0.05, 1.0);
    for b in [-30.0, -1.0, 0.0, 0.3, 5.0] {
        let mut reference = Reference {
            loss: ReferenceLoss::Logistic,
            rows: data.rows.iter().map(|&x| vec![x]).collect(),
            targets: data.targets.clone(),
            l2_per_row: data.l2_per_row,
            total_ridge: 0.0,
            row_weights: Vec::new(),
            perturbation: vec![b],
        };
        let weight = data.trained_weight(b);
        assert!(reference.distance(&[weight]) < 1e-13 * weight.abs().max(1.0));
        let step = data.removal_step(weight);
        assert!((step.perturbation - b).abs() < 1e-13 * b.abs().max(1.0));
        let before = reference.gradient(&[weight])[0];
        reference.remove(0);
        let left = reference.gradient(&[weight])[0] - before;
        let newton = -left.to_f64() / reference.hessian(&[weight])[0][0].to_f64();
        assert!((step.newton_step - newton).abs() < 1e-13);
        let residual = reference.gradient(&[step.updated_weight])[0].to_f64();
        assert!((step.residual - residual).abs() < 1e-13 * b.abs().max(1.0));
        assert!(step.residual.abs() <= step.data_dependent_bound(0.5 * TIGHT_LIPSCHITZ));
    }
}

#[test]
fn jacobian_is_the_slope_of_the_output() {
    let data = method(&[-0.85, 0.9, 0.9], &[-1.0; 3], 5e-3, 1.0);
    for b in [-4.0, -1.0, -0.2, 0.0, 0.8, 2.5] {
        let output = |b: f64| data.output(data.trained_weight(b));
        let difference = (output(b + 1e-5) - output(b - 1e-5)) / 2e-5;
        let exact = data.removal_step(data.trained_weight(b)).jacobian;
        assert!((difference - exact).abs() < 1e-6 * exact.abs().max(1.0), "at b = {b}: {difference} for {exact}");
    }
}

#[test]
fn largest_residual_is_reached_and_not_exceeded() {
    let data = method(&[-0.85, 0.9, 0.9], &[-1.0; 3], 5e-4, 1.0);
    let largest = data.largest_residual();
    let sampled = (-4000..=4000)
        .map(|k| data.removal_step(data.trained_weight(f64::from(k) / 1000.0)).residual.abs())
        .fold(0.0, f64::max);
    assert!(sampled <= largest * (1.0 + 1e-12) && sampled > 0.9999 * largest, "{sampled} of {largest}");
}
