//! The same network in double precision, written as its definition says: no patches, no products, no gradient.

use crate::architecture::{Activation, Architecture};

/// An image or what became of it: numbers at (row, column, channel).
struct Map {
    height: usize,
    width: usize,
    channels: usize,
    values: Vec<f64>,
}

impl Map {
    fn at(&self, y: usize, x: usize, c: usize) -> f64 {
        self.values[(y * self.width + x) * self.channels + c]
    }
}

/// Features and scores of an image.
pub(super) fn outputs(architecture: &Architecture, weights: &[f64], image: &[u8]) -> [Vec<f64>; 2] {
    let pixels: Vec<f64> = image.iter().map(|p| f64::from(*p)).collect();
    let mean = pixels.iter().sum::<f64>() / pixels.len() as f64;
    let variance = pixels.iter().map(|p| (p - mean).powi(2)).sum::<f64>() / pixels.len() as f64;
    let Architecture { height, width, channels, .. } = *architecture;
    let values = pixels.iter().map(|p| (p - mean) / (variance + 64.0).sqrt()).collect();
    let mut map = Map { height, width, channels, values };
    let mut left = weights;
    for filters in architecture.filters {
        map = convolved(architecture, &map, filters, &mut left);
    }
    let bend = |x| activation(architecture.activation, x);
    let features: Vec<f64> = dense(&map.values, architecture.n_features, &mut left).into_iter().map(bend).collect();
    let scores = dense(&features, architecture.n_classes, &mut left);
    assert!(left.is_empty());
    [features, scores]
}

/// −ln of the share of the label.
pub(super) fn loss(architecture: &Architecture, weights: &[f64], image: &[u8], label: u8) -> f64 {
    let [_, scores] = outputs(architecture, weights, image);
    scores.iter().map(|s| (s - scores[usize::from(label)]).exp()).sum::<f64>().ln()
}

/// The loss's gradient by central differences.
pub(super) fn gradient(architecture: &Architecture, weights: &[f64], image: &[u8], label: u8) -> Vec<f64> {
    let mut moved = weights.to_vec();
    let mut at = |place: usize, step: f64| {
        moved[place] = weights[place] + step;
        let loss = loss(architecture, &moved, image, label);
        moved[place] = weights[place];
        loss
    };
    (0..weights.len()).map(|place| (at(place, STEP) - at(place, -STEP)) / (2.0 * STEP)).collect()
}

fn convolved(architecture: &Architecture, input: &Map, filters: usize, weights: &mut &[f64]) -> Map {
    let k = architecture.kernel;
    let depth = k * k * input.channels;
    let (kernels, rest) = weights.split_at(depth * filters);
    let (biases, rest) = rest.split_at(filters);
    *weights = rest;
    let response = |y: usize, x: usize, f: usize| {
        let mut sum = biases[f];
        for dy in 0..k {
            for dx in 0..k {
                for c in 0..input.channels {
                    sum += kernels[((dy * k + dx) * input.channels + c) * filters + f] * input.at(y + dy, x + dx, c);
                }
            }
        }
        activation(architecture.activation, sum)
    };
    let (height, width) = ((input.height - k).div_ceil(2), (input.width - k).div_ceil(2));
    let mut values = Vec::new();
    for y in 0..height {
        for x in 0..width {
            for f in 0..filters {
                let square = [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(dy, dx)| response(2 * y + dy, 2 * x + dx, f));
                values.push(square.into_iter().fold(f64::NEG_INFINITY, f64::max));
            }
        }
    }
    Map { height, width, channels: filters, values }
}

fn dense(input: &[f64], n_outputs: usize, weights: &mut &[f64]) -> Vec<f64> {
    let (matrix, rest) = weights.split_at(input.len() * n_outputs);
    let (biases, rest) = rest.split_at(n_outputs);
    *weights = rest;
    (0..n_outputs)
        .map(|j| biases[j] + input.iter().enumerate().map(|(i, x)| x * matrix[i * n_outputs + j]).sum::<f64>())
        .collect()
}

fn activation(kind: Activation, x: f64) -> f64 {
    match kind {
        Activation::Relu => x.max(0.0),
        Activation::Tanh => x.tanh(),
    }
}

/// Its cube is lost in the slope, its inverse in rounding: both about 1e-10.
const STEP: f64 = 1e-5;
