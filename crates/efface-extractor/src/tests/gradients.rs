//! What the network computes, forwards and backwards, for one image at a time.

use super::{random_bytes, random_network, reference, small};
use crate::architecture::{Activation, Architecture};
use crate::error::ArchitectureError;
use crate::example::{Example, Transposed};
use crate::images::Images;
use crate::network::Network;
use crate::step::sum;

fn double(network: &Network) -> Vec<f64> {
    network.weights.iter().map(|weight| f64::from(*weight)).collect()
}

fn norm(values: &[f64]) -> f64 {
    values.iter().map(|x| x * x).sum::<f64>().sqrt()
}

#[test]
fn each_gradient_is_the_difference_quotient_of_a_slow_network() {
    for (case, activation) in [Activation::Tanh, Activation::Relu].into_iter().cycle().take(8).enumerate() {
        let architecture = small(activation);
        let network = random_network(architecture, 1.0, case as u64);
        let weights = double(&network);
        let transposed = Transposed::new(&network);
        let mut example = Example::new(&network);
        // The same room for one image after the other: nothing may be left of the first.
        for row in 0..3 {
            let image = random_bytes(11 * 12 * 2, 100 * case as u64 + row);
            let label = (row % 4) as u8;
            example.forward(&network, &image);
            let loss = example.backward(&network, &transposed, label);
            let exact = reference::loss(&architecture, &weights, &image, label);
            assert!((loss - exact).abs() < 1e-5 * exact.max(1.0), "{activation:?}: {loss} {exact}");
            let stated = example.squared_norm().sqrt();
            let mut gradient = vec![0.0_f32; weights.len()];
            example.add_to(&network, 1.0, &mut gradient);
            let slow = reference::gradient(&architecture, &weights, &image, label);
            let error: Vec<f64> = slow.iter().zip(&gradient).map(|(a, b)| a - f64::from(*b)).collect();
            assert!(norm(&error) < 1e-6 * norm(&slow), "{activation:?}: {:e} of {}", norm(&error), norm(&slow));
            assert!(norm(&slow) > 1e-3 && (stated / norm(&slow) - 1.0).abs() < 1e-6, "{activation:?}: {stated}");
        }
    }
}

#[test]
fn features_and_scores_are_those_of_a_slow_network() {
    for activation in [Activation::Tanh, Activation::Relu] {
        let architecture = Architecture { activation, ..Architecture::new(16, 18, 3, 10, 24) };
        let network = random_network(architecture, 1.0, 5);
        let pixels = random_bytes(3 * 16 * 18 * 3, 6);
        let images = Images::new(16, 18, 3, &pixels).expect("whole");
        let (features, scores) = (network.features(&images).expect("fits"), network.scores(&images).expect("fits"));
        for row in 0..3 {
            let [slow_features, slow_scores] = reference::outputs(&architecture, &double(&network), images.get(row));
            for (fast, slow) in [(&features[24 * row..][..24], slow_features), (&scores[10 * row..][..10], slow_scores)]
            {
                let worst = fast.iter().zip(&slow).map(|(a, b)| (f64::from(*a) - b).abs()).fold(0.0, f64::max);
                assert!(worst < 1e-5, "{activation:?}: {worst:e}");
            }
        }
    }
}

#[test]
fn a_sum_is_that_of_single_gradients_however_many_threads_there_are() {
    let network = random_network(small(Activation::Tanh), 1.0, 7);
    let pixels = random_bytes(90 * 11 * 12 * 2, 8);
    let images = Images::new(11, 12, 2, &pixels).expect("whole");
    let labels: Vec<u8> = (0..90).map(|row| (row * 7 % 4) as u8).collect();
    let rows: Vec<usize> = (0..90).filter(|row| row % 5 != 3).collect();
    let pooled = |n_threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().expect("threads can be had");
        pool.install(|| sum::<f32>(&network, &images, &labels, &rows, |_| Some(1.0)))
    };
    let (together, loss) = pooled(1);
    for n_threads in [2, 5] {
        assert_eq!(pooled(n_threads), (together.clone(), loss), "{n_threads} threads");
    }
    let mut single = vec![0.0; network.weights.len()];
    let mut losses = 0.0;
    for row in &rows {
        let (gradient, loss) = sum::<f32>(&network, &images, &labels, &[*row], |_| Some(1.0));
        single.iter_mut().zip(gradient).for_each(|(sum, x)| *sum += x);
        losses += loss;
    }
    let error: Vec<f64> = single.iter().zip(&together).map(|(a, b)| a - b).collect();
    assert!(norm(&error) < 1e-6 * norm(&single) && (loss - losses).abs() < 1e-9 * losses);
}

#[test]
fn networks_that_cannot_be_are_refused() {
    let refused = |architecture: Architecture| architecture.layout().expect_err("refused");
    let tiny = refused(Architecture::new(9, 32, 3, 10, 8));
    assert_eq!(tiny.to_string(), "images of 9 × 32 are too small for two convolutions of side 5 with pooling");
    let vast = refused(Architecture::new(200, 200, 3, 10, 256));
    assert!(matches!(vast, ArchitectureError::TooManyWeights { .. }), "{vast}");
    for architecture in [
        Architecture::new(32, 32, 0, 10, 8),
        Architecture::new(32, 32, 3, 1, 8),
        Architecture::new(32, 32, 3, 257, 8),
        Architecture::new(32, 32, 3, 10, usize::MAX),
        Architecture { kernel: 0, ..Architecture::new(32, 32, 3, 10, 8) },
    ] {
        assert!(matches!(refused(architecture), ArchitectureError::OutOfRange { .. }), "{architecture:?}");
    }
}
