//! Classes that are taken together: every claim is at least what is true, and the constants behind it are the least.

use efface_core::loss::{Logistic, Loss, Softmax};
use efface_core::model::Mechanism;
use efface_core::noise::NoiseLaw;
use efface_core::residual::Rung;
use efface_core::rows::{Point, Problem, RowStore};
use efface_testkit::dense::norm;
use efface_testkit::{DoubleDouble, ReferenceLoss, Shape};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;

use crate::store::TestStore;
use crate::world::{Draw, OBJECTIVE, World, fixed_noise};

/// Few features, so that the truth of dK weights can be computed.
fn draw(seed: u64, n_classes: usize, n_rows: usize) -> Draw {
    let draw = Draw::any(seed, ReferenceLoss::Softmax(n_classes), n_rows);
    Draw { dim: draw.dim.min(24 / n_classes).max(1), ..draw }
}

/// 6 rungs × 4 laws and mechanisms × 3 to 20 classes.
#[test]
fn every_rung_dominates_truth() {
    let mechanisms = [
        (Mechanism::Release, NoiseLaw::Gaussian),
        (Mechanism::Release, NoiseLaw::Gamma),
        (OBJECTIVE, NoiseLaw::Gaussian),
        (OBJECTIVE, NoiseLaw::Gamma),
    ];
    let mut seed = 100;
    for rung in Rung::LADDER {
        for (mechanism, law) in mechanisms {
            for n_classes in [3, 4, 7, 20] {
                seed += 1;
                let mut world = World::train(draw(seed, n_classes, 60), |config| {
                    (config.bound, config.mechanism, config.law) = (Some(rung), mechanism, law);
                    config.noise_std = Some(10_f64.powi((seed % 4) as i32 - 2));
                });
                world.check_gradients();
                for step in 0..6 {
                    let report = world.random_change(6);
                    assert_eq!(report.claim.rung, rung);
                    world.check_gradients();
                    if step == 3 {
                        world.check_distance();
                    }
                }
                world.check_design();
            }
        }
    }
}

/// 40 worlds, most of them so wide that removed rows are listed, that change, settle and change again.
#[test]
fn settling_in_between_keeps_claims_above_truth() {
    for seed in 300..340 {
        let mut world = World::train(draw(seed, 3 + seed as usize % 4, 80), |_| {});
        for step in 0..16 {
            if step % 5 == 4 {
                let settled = world.model.settle(&world.store, None).expect("readable");
                assert!(settled.claim.gradient_residual.get() < 1e-6, "{settled:?}, {:?}", world.draw);
            } else {
                world.random_change(3);
            }
            world.check_gradients();
            if step % 6 == 0 {
                world.check_distance();
            }
        }
    }
}

/// Too many weights for a matrix of all, with and without one of the features: no step is taken, and settling finds the
/// minimiser all the same.
#[test]
fn without_a_matrix_of_all_weights_claims_hold() {
    for seed in 400..420 {
        let draw = Draw { dim: 5, ..draw(seed, 4, 60) };
        let mut world = World::train(draw, |config| config.max_matrix_dim = if seed % 2 == 0 { 0 } else { 10 });
        assert_eq!(world.model.state().gram.is_some(), seed % 2 == 1);
        for step in 0..6 {
            let report = world.random_change(3);
            assert_eq!(report.claim.rung, Rung::NoStep);
            world.check_gradients();
            if step % 2 == 0 {
                world.model.settle(&world.store, Some(1e-7)).expect("readable");
                assert!(world.model.claim().gradient_residual.get() < 1e-5, "{draw:?}");
                world.check_distance();
            }
        }
    }
}

#[test]
fn influences_are_the_length_of_the_newton_step_of_each_row() {
    for seed in 500..512 {
        let mut world = World::train(draw(seed, 3 + seed as usize % 3, 50), |_| {});
        let gone = world.some_rows(4);
        world.change(&gone, 0);
        let all = world.model.influences(&world.store).expect("readable");
        for place in world.store.present() {
            let alone = world.model.influence(&world.store.batch(&[place])).expect("readable");
            assert!((all[place] - alone).abs() <= 1e-9 * alone, "{:e} for {alone:e}", all[place]);
        }
    }
}

/// Of two classes the softmax of (−w/2, w/2) is the logistic loss at w.
#[test]
fn two_classes_are_the_logistic_loss() {
    let draw = Draw::plain(7, ReferenceLoss::Logistic, 200, 6, Shape::Isotropic);
    let store = World::train(draw, |_| {}).store;
    let w: Vec<f64> = (0..6).map(|j| (1.3 * f64::from(j)).sin() * 3.0).collect();
    let both: Vec<f64> = w.iter().map(|w| -w / 2.0).chain(w.iter().map(|w| w / 2.0)).collect();
    let (one, two) = (Problem::one_vs_rest(1, None), Problem::softmax(vec![0, 1]));
    let binary = &store.gradients(&Logistic, &[Point { problem: &one, weights: &w }]).expect("readable")[0];
    let joint = &store.gradients(&Softmax, &[Point { problem: &two, weights: &both }]).expect("readable")[0];
    assert!((binary.value - joint.value).abs() < 1e-10 * binary.value);
    for (j, expected) in binary.gradient.iter().enumerate() {
        assert!((joint.gradient[j] + expected).abs() < 1e-11 && (joint.gradient[6 + j] - expected).abs() < 1e-11);
    }
}

/// The order of the classes is nobody's business but that of the weights.
#[test]
fn permuted_classes_have_permuted_weights() {
    let draw = Draw { weighted: false, ..Draw::plain(8, ReferenceLoss::Softmax(3), 150, 4, Shape::Correlated) };
    let world = World::train(draw, |_| {});
    let train = |order: [f64; 3]| {
        let places = world.store.present();
        let rows: Vec<Vec<f64>> = places.iter().map(|place| world.store.row(*place)).collect();
        let labels: Vec<f64> = places.iter().map(|place| order[world.store.label(*place) as usize]).collect();
        let trained = world.model.plan().train(&TestStore::of(&rows, &labels), &mut fixed_noise(), &mut |_| {});
        trained.expect("trainable").model.weights().remove(0)
    };
    let (same, turned) = (train([0.0, 1.0, 2.0]), train([1.0, 2.0, 0.0]));
    for class in 0..3 {
        let moved = (class + 1) % 3;
        for j in 0..4 {
            assert!((same[class * 4 + j] - turned[moved * 4 + j]).abs() < 1e-9);
        }
    }
}

/// ‖∇²ℓ(z) − ∇²ℓ(z′)‖₂ / ‖z − z′‖₂ and ‖∇ℓ‖ in double-double: at most the constants, and no less than them by more than a
/// thousandth somewhere.
#[test]
fn constants_hold_and_are_the_least() {
    let mut rng = ChaCha12Rng::seed_from_u64(11);
    let (gamma, slope_bound) = (Softmax.curvature_lipschitz(), Softmax.slope_bound().expect("bounded"));
    let (mut steepest, mut largest) = (0.0_f64, 0.0_f64);
    for trial in 0..4000 {
        let n_classes = 2 + trial % 9;
        let loss = ReferenceLoss::Softmax(n_classes);
        let spread = 10_f64.powf(rng.random_range(-1.0..1.5));
        let mut z: Vec<f64> = (0..n_classes).map(|_| spread * rng.random_range(-1.0..1.0)).collect();
        let mut u: Vec<f64> = (0..n_classes).map(|_| rng.random_range(-1.0..1.0)).collect();
        if trial % 3 == 0 {
            // Where two classes reach the bound, the others far below.
            z.fill(-60.0);
            (z[0], z[1]) = (1.316_957_896_924_816_6, 0.0);
            u.fill(0.0);
            (u[0], u[1]) = (1.0, -1.0);
        }
        let apart = 1e-6 / norm(&u).to_f64();
        let at = |sign: f64| -> Vec<DoubleDouble> {
            z.iter()
                .zip(&u)
                .map(|(z, u)| DoubleDouble::from(*z) + DoubleDouble::from_product(sign * apart, *u))
                .collect()
        };
        let (before, after) = (loss.curvatures_at(&at(-0.5), 0.0), loss.curvatures_at(&at(0.5), 0.0));
        let change: Vec<Vec<f64>> = before
            .iter()
            .zip(&after)
            .map(|(a, b)| a.iter().zip(b).map(|(a, b)| ((*b - *a) * 1e6).to_f64()).collect())
            .collect();
        let spectral = spectral_norm(&change);
        assert!(spectral <= gamma * (1.0 + 1e-9), "{n_classes} classes: {spectral} above {gamma}");
        let slope = norm(&loss.slopes_at(&at(0.0), 0.0)).to_f64();
        assert!(slope <= slope_bound);
        let flat: Vec<f64> =
            loss.curvatures_at(&at(0.0), 0.0).into_iter().flatten().map(DoubleDouble::to_f64).collect();
        let matrix: Vec<Vec<f64>> = flat.chunks(n_classes).map(<[f64]>::to_vec).collect();
        assert!(spectral_norm(&matrix) <= Softmax.curvature_bound() * (1.0 + 1e-12));
        (steepest, largest) = (steepest.max(spectral), largest.max(slope));
    }
    assert!(steepest >= 0.999 * gamma, "the steepest pair has {steepest}, γ is {gamma}");
    assert!(largest >= 0.999 * slope_bound, "the steepest slope is {largest}");
}

/// Largest absolute eigenvalue of a symmetric matrix, by powers of its square from many starts: from below, and near.
fn spectral_norm(matrix: &[Vec<f64>]) -> f64 {
    let n = matrix.len();
    let mut v: Vec<f64> = (0..n).map(|i| 1.0 + (2.7 * i as f64).sin()).collect();
    let mut size = 0.0;
    for _ in 0..60 {
        let product: Vec<f64> = matrix.iter().map(|row| row.iter().zip(&v).map(|(a, b)| a * b).sum()).collect();
        size = norm(&product).to_f64() / norm(&v).to_f64();
        let length = norm(&product).to_f64();
        if length == 0.0 {
            return 0.0;
        }
        v = product.iter().map(|x| x / length).collect();
    }
    size
}
