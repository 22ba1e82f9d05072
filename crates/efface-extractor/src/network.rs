//! A network with its weights, and what it makes of images.

use efface_core::noise::NoiseSource;
use rayon::prelude::*;

use crate::architecture::{Architecture, Layout, Place};
use crate::error::TrainError;
use crate::example::Example;
use crate::images::Images;

/// A convolutional network for images.
#[derive(Clone, Debug)]
pub struct Network {
    architecture: Architecture,
    pub(crate) layout: Layout,
    pub(crate) weights: Vec<f32>,
}

impl Network {
    /// With uniform random weights, ±√(6/(inputs + outputs)) in each layer, and biases of 0.
    pub(crate) fn random(architecture: Architecture, layout: Layout, source: &mut NoiseSource) -> Self {
        let mut weights = vec![0.0; layout.n_weights];
        for Place { weights: range, outputs, .. } in &layout.places {
            let inputs = range.len() / outputs;
            let limit = (6.0 / (inputs + outputs) as f64).sqrt();
            for weight in &mut weights[range.clone()] {
                let mut bytes = [0; 4];
                source.fill(&mut bytes);
                let uniform = f64::from(u32::from_le_bytes(bytes)) / f64::from(u32::MAX);
                *weight = (limit * (2.0 * uniform - 1.0)) as f32;
            }
        }
        Self::of(architecture, layout, weights)
    }

    /// With these weights, which fit the layout.
    pub(crate) fn of(architecture: Architecture, layout: Layout, weights: Vec<f32>) -> Self {
        Self { architecture, layout, weights }
    }

    /// What it looks like.
    pub fn architecture(&self) -> &Architecture {
        &self.architecture
    }

    /// All weights: a layer after the other, each as inputs × outputs row by row, then its biases.
    pub fn weights(&self) -> &[f32] {
        &self.weights
    }

    /// The features of each image, one after another.
    pub fn features(&self, images: &Images<'_>) -> Result<Vec<f32>, TrainError> {
        self.each(images, self.architecture.n_features, |example, out| out.copy_from_slice(example.features()))
    }

    /// The scores of each image, a number per class, one image after another.
    pub fn scores(&self, images: &Images<'_>) -> Result<Vec<f32>, TrainError> {
        self.each(images, self.architecture.n_classes, |example, out| out.copy_from_slice(example.scores()))
    }

    /// Whether images are of the size that it takes.
    pub(crate) fn check(&self, images: &Images<'_>) -> Result<(), TrainError> {
        let Architecture { height, width, channels, .. } = self.architecture;
        let (got, expected) = (images.shape(), (height, width, channels));
        if got == expected { Ok(()) } else { Err(TrainError::Shape { got, expected }) }
    }

    fn each(
        &self,
        images: &Images<'_>,
        width: usize,
        write: impl Fn(&Example, &mut [f32]) + Sync,
    ) -> Result<Vec<f32>, TrainError> {
        self.check(images)?;
        let mut out = vec![0.0; images.n_images() * width];
        out.par_chunks_mut(width).enumerate().for_each_init(
            || Example::new(self),
            |example, (i, out)| {
                example.forward(self, images.get(i));
                write(example, out);
            },
        );
        Ok(out)
    }
}
