//! What must never leave: secret weights, perturbations and matrices, and predictable noise under a certified name.

use efface_core::accounting::Guarantee;
use efface_core::loss::Logistic;
use efface_core::model::{Mechanism, Model, TrainingConfig, TrainingPlan};
use efface_core::noise::{NoiseLaw, NoiseSource};
use efface_testkit::{ReferenceLoss, Shape};

use crate::store::TestStore;
use crate::world::{Draw, OBJECTIVE, World, fixed_noise, published, small_world};

#[test]
fn secret_weights_are_never_published_with_noise_on() {
    for law in [NoiseLaw::Gaussian, NoiseLaw::Gamma] {
        for noise_std in [1e-6, 1.0] {
            let draw = Draw { n_classes: 3, ..Draw::plain(12, ReferenceLoss::Logistic, 60, 5, Shape::Isotropic) };
            let mut world = World::train(draw, |config| {
                (config.law, config.noise_std, config.gradient_tolerance) = (law, Some(noise_std), 1e-12);
            });
            let secret: Vec<f64> = world.model.state().fits.iter().flat_map(|fit| fit.weights.to_vec()).collect();
            let mut noise = fixed_noise();
            let [first, second] = [(); 2].map(|()| published(&mut world.model, &mut noise).weights.concat());
            for j in 0..secret.len() {
                assert!(first[j] != secret[j] && second[j] != secret[j] && first[j] != second[j]);
                assert!((first[j] - secret[j]).abs() < 200.0 * noise_std, "noise of the declared size");
            }
            let kept: Vec<f64> = world.model.state().fits.iter().flat_map(|fit| fit.weights.to_vec()).collect();
            assert_eq!(kept, secret, "publishing leaves the secret weights alone");
        }
    }
    // Noise on a loss that could do without it is noise all the same.
    let mut world = small_world(12, ReferenceLoss::Squared, |config| config.noise_std = Some(1e-3));
    let release = published(&mut world.model, &mut fixed_noise());
    assert!(release.weights[0].iter().zip(&*world.model.state().fits[0].weights).all(|(w, secret)| w != secret));
    assert_eq!(release.claim.guarantee, Guarantee { epsilon: 1.0, delta: 1e-4 });
}

/// Every number of the secret state as `{:?}` prints it.
fn secrets(model: &Model) -> Vec<f64> {
    let fits = &model.state().fits;
    let vectors = fits.iter().flat_map(|fit| [&fit.weights, &fit.gradient].into_iter().chain(&fit.perturbation));
    vectors.flat_map(|vector| vector.to_vec()).filter(|x| *x != 0.0).collect()
}

#[test]
fn debug_output_of_a_model_shows_no_weight() {
    for mechanism in [Mechanism::Release, OBJECTIVE] {
        let world = small_world(13, ReferenceLoss::Logistic, |config| config.mechanism = mechanism);
        let text = format!("{:?}\n{:#?}\n{:?}", world.model, world.model, world.model.state().fits[0]);
        assert!(secrets(&world.model).len() >= 10);
        for number in secrets(&world.model) {
            assert!(!text.contains(&format!("{number:?}")), "{number} is printed");
        }
    }
}

/// With few rows the Gram matrix is the rows: x xᵀ of a single one gives it away up to its sign.
#[test]
fn debug_output_of_a_model_shows_no_matrix() {
    let world = small_world(14, ReferenceLoss::Logistic, |_| {});
    let text = format!("{:?}", world.model);
    let state = world.model.state();
    let gram = state.gram.as_ref().expect("few features");
    let hessian = &state.fits[0].curvature.as_ref().expect("few features").hessian;
    for entry in gram.parts().0.iter().chain(&*hessian.parts().0).filter(|entry| **entry != 0.0) {
        assert!(!text.contains(&format!("{entry:?}")), "{entry} is printed");
    }
}

#[test]
fn a_fixed_seed_marks_model_and_release_as_uncertified() {
    let mut system = NoiseSource::from_system().expect("the system has entropy");
    // Mechanism `objective`: the perturbation is in the model for its life.
    let plan = |mechanism| {
        let mut config = TrainingConfig::new(&Logistic, 0.1, Some(2));
        (config.mechanism, config.noise_std) = (mechanism, Some(1.0));
        TrainingPlan::new(config).expect("valid")
    };
    let store = TestStore::of(&[vec![0.5], vec![-0.5], vec![0.2]], &[1.0, 0.0, 1.0]);
    let train = |mechanism, noise: &mut NoiseSource| {
        plan(mechanism).train(&store, noise, &mut |_| {}).expect("trainable").model
    };
    let mut model = train(OBJECTIVE, &mut fixed_noise());
    assert!(!model.state().certified && !published(&mut model, &mut system).claim.certified);
    let mut model = train(OBJECTIVE, &mut system);
    assert!(model.state().certified && published(&mut model, &mut system).claim.certified);
    // Mechanism `release`: training draws nothing; one predictable release spoils the joint claim of all that follow.
    let mut model = train(Mechanism::Release, &mut fixed_noise());
    assert!(model.state().certified && published(&mut model, &mut system).claim.certified);
    assert!(!published(&mut model, &mut fixed_noise()).claim.certified);
    assert!(!published(&mut model, &mut system).claim.certified);
}
