//! One image through the network and back: its loss, and the gradient of its loss alone.
//!
//! The gradient of a dense layer is an outer product and stays in two factors: its norm is the product of theirs, and its
//! entries are made when they are added to a sum.

use crate::clipping::Summand;
use crate::network::Network;
use crate::product::{Left, transpose};

/// Room for one image and its gradient, used again for the next one.
pub(crate) struct Example {
    image: Vec<f32>,
    stages: [Stage; 2],
    features: Vec<f32>,
    scores: Vec<f32>,
    feature_slopes: Vec<f32>,
    score_slopes: Vec<f32>,
}

/// A convolution's numbers.
struct Stage {
    patches: Vec<f32>,
    response: Vec<f32>,
    chosen: Vec<u32>,
    output: Vec<f32>,
    /// Slopes of the loss in the output.
    output_slopes: Vec<f32>,
    /// Slopes of the loss in what was there before pooling.
    response_slopes: Vec<f32>,
    weight_gradient: Vec<f32>,
    bias_gradient: Vec<f32>,
}

/// Weights as the way back needs them: outputs × inputs.
pub(crate) struct Transposed {
    convolution: Vec<f32>,
    features: Vec<f32>,
    scores: Vec<f32>,
}

impl Transposed {
    pub(crate) fn new(network: &Network) -> Self {
        let [convolution, features, scores] = [1, 2, 3].map(|layer| {
            let place = &network.layout.places[layer];
            transpose(&network.weights[place.weights.clone()], place.outputs)
        });
        Self { convolution, features, scores }
    }
}

impl Example {
    pub(crate) fn new(network: &Network) -> Self {
        let architecture = network.architecture();
        let [first, second] = &network.layout.convolutions;
        let stages = [first, second].map(|convolution| Stage {
            patches: vec![0.0; convolution.n_patches()],
            response: vec![0.0; convolution.n_response()],
            chosen: vec![0; convolution.n_pooled()],
            output: vec![0.0; convolution.n_pooled()],
            output_slopes: vec![0.0; convolution.n_pooled()],
            response_slopes: vec![0.0; convolution.n_response()],
            weight_gradient: vec![0.0; convolution.depth() * convolution.filters],
            bias_gradient: vec![0.0; convolution.filters],
        });
        Self {
            image: vec![0.0; architecture.height * architecture.width * architecture.channels],
            stages,
            features: vec![0.0; architecture.n_features],
            scores: vec![0.0; architecture.n_classes],
            feature_slopes: vec![0.0; architecture.n_features],
            score_slopes: vec![0.0; architecture.n_classes],
        }
    }

    pub(crate) fn features(&self) -> &[f32] {
        &self.features
    }

    pub(crate) fn scores(&self) -> &[f32] {
        &self.scores
    }

    /// Features and scores of an image.
    pub(crate) fn forward(&mut self, network: &Network, image: &[u8]) {
        let activation = network.architecture().activation;
        standardize(image, &mut self.image);
        let mut input = &self.image;
        for ((stage, convolution), place) in
            self.stages.iter_mut().zip(&network.layout.convolutions).zip(&network.layout.places)
        {
            let (weights, biases) = (&network.weights[place.weights.clone()], &network.weights[place.biases.clone()]);
            convolution.patches(input, &mut stage.patches);
            convolution.respond(&stage.patches, weights, biases, &mut stage.response);
            convolution.pool(&stage.response, &mut stage.output, &mut stage.chosen);
            // Both activations rise, so the largest before is the largest after.
            activation.apply(&mut stage.output);
            input = &stage.output;
        }
        let dense = |layer: usize, input: &[f32], output: &mut [f32]| {
            let place = &network.layout.places[layer];
            output.copy_from_slice(&network.weights[place.biases.clone()]);
            let weights = &network.weights[place.weights.clone()];
            Left::by_rows(input, input.len()).add_product(weights, place.outputs, output);
        };
        dense(2, input, &mut self.features);
        activation.apply(&mut self.features);
        dense(3, &self.features, &mut self.scores);
    }

    /// Takes the gradient of the loss, after [`Example::forward`]. Returns the loss.
    ///
    /// ```text
    /// −ln( e^{s_label} / Σ_j e^{s_j} )
    /// ```
    pub(crate) fn backward(&mut self, network: &Network, transposed: &Transposed, label: u8) -> f64 {
        let activation = network.architecture().activation;
        let loss = softmax(&self.scores, label, &mut self.score_slopes);
        let back = |slopes: &[f32], weights: &[f32], outputs: &[f32], out: &mut [f32]| {
            out.fill(0.0);
            Left::by_rows(slopes, slopes.len()).add_product(weights, out.len(), out);
            out.iter_mut().zip(outputs).for_each(|(slope, output)| *slope *= activation.slope(*output));
        };
        back(&self.score_slopes, &transposed.scores, &self.features, &mut self.feature_slopes);
        let [first, second] = &mut self.stages;
        back(&self.feature_slopes, &transposed.features, &second.output, &mut second.output_slopes);
        let [_, convolution] = &network.layout.convolutions;
        second.take_gradient(convolution.filters);
        // The patches are not needed any more: the slopes in them take their place.
        second.patches.fill(0.0);
        Left::by_rows(&second.response_slopes, convolution.filters).add_product(
            &transposed.convolution,
            convolution.depth(),
            &mut second.patches,
        );
        first.output_slopes.fill(0.0);
        convolution.add_patches(&second.patches, &mut first.output_slopes);
        for (slope, output) in first.output_slopes.iter_mut().zip(&first.output) {
            *slope *= activation.slope(*output);
        }
        first.take_gradient(network.layout.convolutions[0].filters);
        loss
    }

    /// The square of the gradient's norm, within a relative 1e-9.
    ///
    /// ```text
    /// ‖g‖² of the convolutions + (‖a‖² + 1)·‖s‖² of each dense layer with inputs a and slopes s in its outputs
    /// ```
    pub(crate) fn squared_norm(&self) -> f64 {
        let convolutions: f64 =
            self.stages.iter().map(|s| squares(&s.weight_gradient) + squares(&s.bias_gradient)).sum();
        let features = (squares(&self.stages[1].output) + 1.0) * squares(&self.feature_slopes);
        let scores = (squares(&self.features) + 1.0) * squares(&self.score_slopes);
        convolutions + features + scores
    }

    /// Adds the gradient times `scale` to a sum of gradients, laid out like the weights.
    pub(crate) fn add_to<T: Summand>(&mut self, network: &Network, scale: f32, sum: &mut [T]) {
        let [first, second, features, scores] = &network.layout.places;
        for (stage, place) in self.stages.iter().zip([first, second]) {
            add_scaled(&stage.weight_gradient, scale, &mut sum[place.weights.clone()]);
            add_scaled(&stage.bias_gradient, scale, &mut sum[place.biases.clone()]);
        }
        let layers = [
            (features, &self.stages[1].output, &mut self.feature_slopes),
            (scores, &self.features, &mut self.score_slopes),
        ];
        for (place, inputs, slopes) in layers {
            // Scaled first: a slope is at most as long as the gradient, so nothing overflows.
            for slope in slopes.iter_mut() {
                *slope *= scale;
            }
            let lines = sum[place.weights.clone()].chunks_exact_mut(place.outputs);
            for (line, input) in lines.zip(inputs).filter(|(_, input)| **input != 0.0) {
                add_scaled(slopes, *input, line);
            }
            add_scaled(slopes, 1.0, &mut sum[place.biases.clone()]);
        }
    }
}

impl Stage {
    /// From slopes after pooling to slopes before it, and to those of weights and biases.
    fn take_gradient(&mut self, filters: usize) {
        self.response_slopes.fill(0.0);
        for (chosen, slope) in self.chosen.iter().zip(&self.output_slopes) {
            self.response_slopes[*chosen as usize] = *slope;
        }
        self.weight_gradient.fill(0.0);
        let depth = self.weight_gradient.len() / filters;
        Left::transposed(&self.patches, depth).add_product(&self.response_slopes, filters, &mut self.weight_gradient);
        self.bias_gradient.fill(0.0);
        for place in self.output_slopes.chunks_exact(filters) {
            self.bias_gradient.iter_mut().zip(place).for_each(|(sum, slope)| *sum += slope);
        }
    }
}

/// `(pixel − mean)/√(variance + 64)` over all pixels and channels of the image.
fn standardize(image: &[u8], out: &mut [f32]) {
    let n = image.len() as f64;
    let mean = image.iter().map(|p| u64::from(*p)).sum::<u64>() as f64 / n;
    let square = image.iter().map(|p| u64::from(*p) * u64::from(*p)).sum::<u64>() as f64 / n;
    let factor = 1.0 / ((square - mean * mean).max(0.0) + LEAST_VARIANCE).sqrt();
    let (mean, factor) = (mean as f32, factor as f32);
    out.iter_mut().zip(image).for_each(|(out, p)| *out = (f32::from(*p) - mean) * factor);
}

/// Writes the slopes of the loss in the scores, and returns the loss.
fn softmax(scores: &[f32], label: u8, slopes: &mut [f32]) -> f64 {
    let largest = f64::from(scores.iter().copied().fold(f32::NEG_INFINITY, f32::max));
    let sum: f64 = scores.iter().map(|s| (f64::from(*s) - largest).exp()).sum();
    for (slope, score) in slopes.iter_mut().zip(scores) {
        *slope = ((f64::from(*score) - largest).exp() / sum) as f32;
    }
    let label = usize::from(label);
    // 1 − p from the others, so that it keeps its digits where p is near 1.
    let others: f64 = slopes.iter().enumerate().filter(|(j, _)| *j != label).map(|(_, p)| f64::from(*p)).sum();
    slopes[label] = -others as f32;
    sum.ln() + largest - f64::from(scores[label])
}

/// Σ x², in double precision: below 2²³ terms, within a relative 2⁻³⁰.
fn squares(values: &[f32]) -> f64 {
    let mut sums = [0.0; 8];
    let mut chunks = values.chunks_exact(8);
    for chunk in &mut chunks {
        sums.iter_mut().zip(chunk).for_each(|(sum, x)| *sum += f64::from(*x) * f64::from(*x));
    }
    let rest: f64 = chunks.remainder().iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
    sums.iter().sum::<f64>() + rest
}

#[inline]
fn add_scaled<T: Summand>(values: &[f32], scale: f32, sum: &mut [T]) {
    sum.iter_mut().zip(values).for_each(|(sum, value)| sum.add(value * scale));
}

/// Added to an image's variance, so that plain images are not blown up.
pub(crate) const LEAST_VARIANCE: f64 = 64.0;
