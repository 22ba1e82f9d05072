//! Networks that take images.

use ort::value::TensorRef;
use rayon::prelude::*;

use crate::error::{OpenError, RunError};
use crate::graph::{Attribute, Dim, Element, GraphBuilder};
use crate::session::{MOST_FEATURES, Output, Runner, check_features, written};

/// What a network is given.
///
/// ```text
/// (pixel / 255 − mean) / deviation      per channel, pixels from 0 to 255
/// ```
///
/// Means and deviations are fractions of white, as most networks state them. One that takes bytes as they are has mean 0
/// and deviation 1/255.
#[derive(Clone, Debug, PartialEq)]
pub struct ImageInput {
    /// Rows of pixels.
    pub height: usize,
    /// Pixels per row.
    pub width: usize,
    /// Numbers per pixel: 1 (grey) or 3 (red, green, blue).
    pub channels: usize,
    /// One number per channel.
    pub mean: Vec<f32>,
    /// One number per channel.
    pub deviation: Vec<f32>,
}

/// A network from images to features, opened once and run many times.
///
/// It has one input of single precision, whose sides are batch, channels, height and width, or batch, height, width and
/// channels; where its free sides allow both, they are meant in the first order. The batch may be fixed. Its features are
/// the first output: batch and features, perhaps with further sides of 1.
///
/// Images are worked with one at a time, beside black ones where the batch is fixed: whatever a network does with a batch, the
/// features of an image depend on no other one. They are those of ONNX Runtime on this machine, and another processor may
/// change their last bits. So features are stored when a row comes in, and removed as they were stored.
pub struct ImageNetwork {
    runner: Runner,
    input: ImageInput,
    channels_first: bool,
    /// Images of a batch, where the network fixes them.
    batch: Option<usize>,
    n_features: usize,
}

impl ImageNetwork {
    /// Opens a file and runs one black image through it.
    pub fn open(file: &[u8], input: &ImageInput) -> Result<Self, OpenError> {
        input.check()?;
        let runner = Runner::open(file)?;
        let [side] = runner.inputs() else {
            return Err(OpenError::ImageInputs { names: names(&runner) });
        };
        if side.element != FLOAT {
            return Err(OpenError::InputType { name: side.name.clone(), got: side.element.clone(), expected: FLOAT });
        }
        let [batch, shape @ ..] = &side.sides[..] else {
            return Err(input.misfit(&side.sides));
        };
        let ImageInput { height, width, channels, .. } = *input;
        let takes =
            |sides: [usize; 3]| shape.len() == 3 && shape.iter().zip(sides).all(|(a, b)| a.is_none_or(|a| a == b));
        let channels_first = takes([channels, height, width]);
        if !channels_first && !takes([height, width, channels]) {
            return Err(input.misfit(&side.sides));
        }
        let batch = *batch;
        if let Some(got) = batch.filter(|batch| !(1..=MOST_ROWS).contains(batch)) {
            return Err(OpenError::Batch { got, most: MOST_ROWS });
        }
        let mut network = Self { runner, input: input.clone(), channels_first, batch, n_features: 0 };
        let Output { sides, .. } =
            network.run(&vec![0_u8; input.n_inputs()]).map_err(|reason| OpenError::Probe { reason })?;
        network.n_features = match &sides[..] {
            [_, n, rest @ ..] if (1..=MOST_FEATURES).contains(n) && rest.iter().all(|side| *side == 1) => *n,
            _ => return Err(OpenError::ImageFeatures { got: format!("{sides:?}") }),
        };
        Ok(network)
    }

    /// Numbers per image.
    pub fn n_inputs(&self) -> usize {
        self.input.n_inputs()
    }

    /// Number of features.
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// What prepares images for the network: from an input of this name (batch, height, width and channels, from 0 to 255) to
    /// its own. [`crate::prepend`] puts it before the network, so that a file takes images as they are.
    pub fn front(&self, input: &str) -> GraphBuilder {
        let ImageInput { height, width, channels, mean, deviation } = &self.input;
        let sides = [*height, *width, *channels].map(Dim::Fixed);
        let batch = self.batch.map_or(Dim::Free("batch"), Dim::Fixed);
        let mut graph = GraphBuilder::new("pixels");
        let pixels = graph.input(input, Element::Float, &[batch, sides[0], sides[1], sides[2]]);
        graph.scope("pixels");
        let white = graph.constant("white", &[1], &[255.0]);
        let mean = graph.constant("mean", &[*channels], mean);
        let deviation = graph.constant("deviation", &[*channels], deviation);
        let fractions = graph.node("Div", &[&pixels, &white], &[]);
        let centred = graph.node("Sub", &[&fractions, &mean], &[]);
        let mut images = graph.node("Div", &[&centred, &deviation], &[]);
        let mut out = sides;
        if self.channels_first {
            images = graph.node("Transpose", &[&images], &[("perm", Attribute::Ints(vec![0, 3, 1, 2]))]);
            out = [sides[2], sides[0], sides[1]];
        }
        graph.output("images", &images, Element::Float, &[batch, out[0], out[1], out[2]]);
        graph
    }

    /// Writes the features of images that follow one another, each row by row with its channels together, pixels from 0
    /// to 255.
    pub fn apply<T>(&self, images: &[T], out: &mut [f32]) -> Result<(), RunError>
    where
        T: Copy + Into<f32> + Sync,
    {
        let n_inputs = self.n_inputs();
        if !images.len().is_multiple_of(n_inputs) {
            return Err(RunError::RowLength { got: images.len(), expected: n_inputs });
        }
        let n_images = images.len() / n_inputs;
        RunError::check_output(n_images, out.len(), self.n_features)?;
        if let Some(at) = images.iter().position(|v| !(*v).into().is_finite()) {
            return Err(RunError::Pixel { row: at / n_inputs, at: at % n_inputs, value: images[at].into() });
        }
        let rows = images.par_chunks_exact(n_inputs).zip(out.par_chunks_exact_mut(self.n_features)).enumerate();
        let failed = rows.find_map_first(|(row, (image, out))| self.apply_to(row, image, out).err());
        failed.map_or(Ok(()), Err)
    }

    fn apply_to<T: Copy + Into<f32>>(&self, row: usize, image: &[T], out: &mut [f32]) -> Result<(), RunError> {
        let refused = |reason| RunError::Refused { row, reason };
        let Output { sides, values } = self.run(image).map_err(refused)?;
        match values.get(..out.len()) {
            Some(values) if matches!(sides[..], [_, n, ..] if n == out.len()) => {
                check_features(row, values)?;
                out.copy_from_slice(values);
                Ok(())
            }
            _ => Err(refused(format!("it answered an image with {sides:?}"))),
        }
    }

    /// A batch of one image, filled up with black if the network takes no smaller one.
    fn run<T: Copy + Into<f32>>(&self, image: &[T]) -> Result<Output, String> {
        let ImageInput { height, width, channels, mean, deviation } = &self.input;
        let n_images = self.batch.unwrap_or(1);
        let mut numbers = vec![0.0; n_images * self.n_inputs()];
        for (at, pixel) in image.chunks_exact(*channels).enumerate() {
            for (channel, value) in pixel.iter().enumerate() {
                let place = if self.channels_first { channel * height * width + at } else { at * channels + channel };
                numbers[place] = ((*value).into() / 255.0 - mean[channel]) / deviation[channel];
            }
        }
        let shape = if self.channels_first {
            [n_images, *channels, *height, *width]
        } else {
            [n_images, *height, *width, *channels]
        };
        let tensor = TensorRef::from_array_view((shape, &numbers[..])).map_err(|error| error.to_string())?;
        self.runner.run(vec![(&self.runner.inputs()[0].name, tensor.into())])
    }
}

impl ImageInput {
    fn n_inputs(&self) -> usize {
        self.height * self.width * self.channels
    }

    fn check(&self) -> Result<(), OpenError> {
        let Self { height, width, channels, mean, deviation } = self;
        for (name, value) in [("height", *height), ("width", *width)] {
            if !(1..=MOST_PIXELS).contains(&value) {
                return Err(OpenError::Size { name, value, most: MOST_PIXELS });
            }
        }
        if ![1, 3].contains(channels) {
            return Err(OpenError::Channels { value: *channels });
        }
        for (name, values) in [("mean", mean), ("deviation", deviation)] {
            if values.len() != *channels {
                return Err(OpenError::PerChannel { name, channels: *channels, got: values.len() });
            }
        }
        if let Some(value) = mean.iter().find(|v| !v.is_finite()) {
            return Err(OpenError::Mean { value: *value });
        }
        match deviation.iter().find(|v| !v.is_finite() || **v <= 0.0) {
            Some(value) => Err(OpenError::Deviation { value: *value }),
            None => Ok(()),
        }
    }

    fn misfit(&self, sides: &[Option<usize>]) -> OpenError {
        let Self { height, width, channels, .. } = *self;
        OpenError::ImageShape { height, width, channels, got: written(sides) }
    }
}

fn names(runner: &Runner) -> String {
    runner.inputs().iter().map(|side| format!("`{}`", side.name)).collect::<Vec<_>>().join(", ")
}

/// What the library calls single precision.
const FLOAT: &str = "f32";

/// Of a network with a fixed batch.
const MOST_ROWS: usize = 1024;

const MOST_PIXELS: usize = 4096;
