//! What a network looks like, and where each layer's weights are.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::convolution::Convolution;
use crate::error::ArchitectureError;

/// The sizes of a network.
///
/// ```text
/// image → standardize → convolution → pool → activation → convolution → pool → activation
///       → dense → activation (the features) → dense (a score per class)
/// ```
///
/// Convolutions have stride 1 and no padding, pooling takes the largest of 2 × 2. Standardizing subtracts the image's mean
/// and divides by √(variance + 64), with brightness from 0 to 255: it reads one image and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Architecture {
    /// Rows of pixels.
    pub height: usize,
    /// Pixels per row.
    pub width: usize,
    /// Bytes per pixel.
    pub channels: usize,
    /// Classes that it is trained to tell apart.
    pub n_classes: usize,
    /// Width of the layer below the scores.
    pub n_features: usize,
    /// Outputs of the first and of the second convolution; fastest at multiples of 16.
    pub filters: [usize; 2],
    /// Side of both convolutions.
    pub kernel: usize,
    /// What follows each layer but the last.
    pub activation: Activation,
}

/// What bends a layer's outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Activation {
    /// max(0, x).
    Relu,
    /// tanh x: bounded, which keeps gradients short and loses less to clipping.
    Tanh,
}

impl Architecture {
    /// 16 and 32 filters of 5 × 5 with tanh.
    pub fn new(height: usize, width: usize, channels: usize, n_classes: usize, n_features: usize) -> Self {
        let activation = Activation::Tanh;
        Self { height, width, channels, n_classes, n_features, filters: [16, 32], kernel: 5, activation }
    }

    /// Whether there can be such a network.
    pub fn check(&self) -> Result<(), ArchitectureError> {
        self.layout().map(drop)
    }

    /// The layers, where there can be such a network.
    pub(crate) fn layout(&self) -> Result<Layout, ArchitectureError> {
        let sizes = [
            ("height", self.height, 1),
            ("width", self.width, 1),
            ("channels", self.channels, 1),
            ("classes", self.n_classes, 2),
            ("features", self.n_features, 1),
            ("filters", self.filters[0], 1),
            ("filters", self.filters[1], 1),
            ("kernel", self.kernel, 1),
        ];
        for (name, value, least) in sizes {
            if !(least..=MOST).contains(&value) {
                return Err(ArchitectureError::OutOfRange { name, value, least, most: MOST });
            }
        }
        if self.n_classes > 256 {
            return Err(ArchitectureError::OutOfRange { name: "classes", value: self.n_classes, least: 2, most: 256 });
        }
        let Self { height, width, kernel, .. } = *self;
        let too_small = || ArchitectureError::TooSmall { height, width, kernel };
        let first = Convolution::new((height, width, self.channels), kernel, self.filters[0]).ok_or_else(too_small)?;
        let second = Convolution::new(first.pooled(), kernel, self.filters[1]).ok_or_else(too_small)?;
        let mut n_weights = 0;
        let mut place = |inputs: usize, outputs: usize| {
            let start = n_weights;
            n_weights += (inputs + 1) * outputs;
            Place { weights: start..start + inputs * outputs, biases: start + inputs * outputs..n_weights, outputs }
        };
        let places = [
            place(first.depth(), first.filters),
            place(second.depth(), second.filters),
            place(second.n_pooled(), self.n_features),
            place(self.n_features, self.n_classes),
        ];
        if n_weights > MOST_WEIGHTS {
            return Err(ArchitectureError::TooManyWeights { n_weights, most: MOST_WEIGHTS });
        }
        Ok(Layout { convolutions: [first, second], places, n_weights })
    }
}

impl Activation {
    pub(crate) fn apply(self, values: &mut [f32]) {
        match self {
            Self::Relu => values.iter_mut().for_each(|x| *x = x.max(0.0)),
            Self::Tanh => values.iter_mut().for_each(|x| *x = tanh(*x)),
        }
    }

    /// The derivative, from the output.
    pub(crate) fn slope(self, output: f32) -> f32 {
        match self {
            Self::Relu => f32::from(u8::from(output > 0.0)),
            Self::Tanh => 1.0 - output * output,
        }
    }
}

/// Where a layer's weights are in the vector of all: a matrix of inputs × outputs row by row, and the biases.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) weights: Range<usize>,
    pub(crate) biases: Range<usize>,
    pub(crate) outputs: usize,
}

/// The layers of a network.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) convolutions: [Convolution; 2],
    /// Two convolutions, the features, the scores.
    pub(crate) places: [Place; 4],
    pub(crate) n_weights: usize,
}

/// tanh from exponentials, in double precision: as exact as single precision can say.
fn tanh(x: f32) -> f32 {
    let power = (-2.0 * f64::from(x.abs())).exp_m1();
    ((-power / (2.0 + power)) as f32).copysign(x)
}

/// No side of anything is longer.
const MOST: usize = 1 << 14;

/// Rounding of clipped gradients is accounted for up to here.
const MOST_WEIGHTS: usize = 1 << 22;
