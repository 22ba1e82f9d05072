//! Trained networks as ONNX files, run by ONNX Runtime.

use std::ops::ControlFlow;

use efface_core::noise::NoiseSource;
use efface_extractor::{Activation, Architecture, Images, Privacy, Randomness, TrainingConfig, TrainingPlan, train};
use efface_onnx::{ImageInput, ImageNetwork};

#[test]
fn features_of_the_file_are_those_of_the_network() {
    let (height, width, channels, n_rows) = (22, 19, 3, 40);
    let mut pixels = vec![0; n_rows * height * width * channels];
    NoiseSource::danger_fixed_seed(1).fill(&mut pixels);
    // One image without any contrast.
    pixels[..height * width * channels].fill(200);
    let images = Images::new(height, width, channels, &pixels).expect("whole");
    let labels: Vec<u8> = (0..n_rows).map(|row| (row % 4) as u8).collect();
    for (activation, kernel, filters) in [(Activation::Tanh, 5, [16, 32]), (Activation::Relu, 3, [5, 7])] {
        let architecture = Architecture::new(height, width, channels, 4, 33);
        let plan = TrainingPlan::new(TrainingConfig {
            architecture: Architecture { activation, kernel, filters, ..architecture },
            n_rows,
            expected_batch: 20,
            epochs: 3.0,
            learning_rate: 0.1,
            momentum: 0.9,
            privacy: Privacy::Noise { noise_multiplier: 0.2, clip: 1.0 },
            randomness: Randomness::DangerFixedSeed(2),
        });
        let plan = plan.expect("possible");
        let trained = train(&images, &labels, &plan, &mut |_| ControlFlow::Continue(())).expect("trainable");
        let file = trained.network.to_onnx().expect("a small file");
        // As a schema has it that says nothing of means and deviations.
        let input = ImageInput { height, width, channels, mean: vec![0.0; 3], deviation: vec![1.0; 3] };
        let runtime = ImageNetwork::open(&file, &input).expect("ONNX Runtime takes it");
        assert_eq!(runtime.n_features(), 33);
        let mut found = vec![0.0; n_rows * 33];
        runtime.apply(&pixels, &mut found).expect("finite");
        let ours = trained.network.features(&images).expect("fits");
        let worst = found.iter().zip(&ours).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        let size = ours.iter().map(|x| x.abs()).fold(0.0, f32::max);
        assert!(worst < 1e-4 && size > 0.1, "{activation:?}: {worst:e} of {size}");
    }
}
