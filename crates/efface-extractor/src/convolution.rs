//! A convolution as a matrix product over patches, and the pooling after it; forwards and backwards, for one image.

use crate::product::Left;

/// A convolution of stride 1 without padding, then the largest of each 2 × 2. Images are height × width × channels.
#[derive(Clone, Debug)]
pub(crate) struct Convolution {
    input: (usize, usize, usize),
    kernel: usize,
    pub(crate) filters: usize,
}

impl Convolution {
    /// `None` when nothing is left after pooling.
    pub(crate) fn new(input: (usize, usize, usize), kernel: usize, filters: usize) -> Option<Self> {
        (input.0 > kernel && input.1 > kernel).then_some(Self { input, kernel, filters })
    }

    /// Numbers in a patch.
    pub(crate) fn depth(&self) -> usize {
        self.kernel * self.kernel * self.input.2
    }

    /// Height, width and channels after pooling.
    pub(crate) fn pooled(&self) -> (usize, usize, usize) {
        let (height, width) = self.response();
        (height / 2, width / 2, self.filters)
    }

    /// Numbers after pooling.
    pub(crate) fn n_pooled(&self) -> usize {
        let (height, width, channels) = self.pooled();
        height * width * channels
    }

    /// Numbers before.
    pub(crate) fn n_response(&self) -> usize {
        let (height, width) = self.response();
        height * width * self.filters
    }

    fn response(&self) -> (usize, usize) {
        (self.input.0 - self.kernel + 1, self.input.1 - self.kernel + 1)
    }

    /// Numbers in all patches.
    pub(crate) fn n_patches(&self) -> usize {
        let (height, width) = self.response();
        height * width * self.depth()
    }

    /// Writes a row per place of the kernel: what it covers there.
    pub(crate) fn patches(&self, image: &[f32], patches: &mut [f32]) {
        let line = self.kernel * self.input.2;
        let mut lines = patches.chunks_exact_mut(line);
        self.lines(|start| {
            let patch = lines.next().expect("patches have room for all lines");
            patch.copy_from_slice(&image[start..start + line]);
        });
    }

    /// Adds each row back to where it was taken from.
    pub(crate) fn add_patches(&self, patches: &[f32], image: &mut [f32]) {
        let line = self.kernel * self.input.2;
        let mut lines = patches.chunks_exact(line);
        self.lines(|start| {
            let patch = lines.next().expect("patches have room for all lines");
            image[start..start + line].iter_mut().zip(patch).for_each(|(sum, x)| *sum += x);
        });
    }

    /// Where each line of each patch starts in the image, in the order of the patches.
    fn lines(&self, mut each: impl FnMut(usize)) {
        let (height, width) = self.response();
        let (_, across, channels) = self.input;
        for y in 0..height {
            for x in 0..width {
                for dy in 0..self.kernel {
                    each(((y + dy) * across + x) * channels);
                }
            }
        }
    }

    /// Writes what the kernel answers at each place.
    pub(crate) fn respond(&self, patches: &[f32], weights: &[f32], biases: &[f32], response: &mut [f32]) {
        response.chunks_exact_mut(self.filters).for_each(|place| place.copy_from_slice(biases));
        Left::by_rows(patches, self.depth()).add_product(weights, self.filters, response);
    }

    /// Writes the largest of each 2 × 2, and where it was; the first of equal ones.
    pub(crate) fn pool(&self, response: &[f32], pooled: &mut [f32], chosen: &mut [u32]) {
        let (_, across) = self.response();
        let (height, width, filters) = self.pooled();
        for y in 0..height {
            for x in 0..width {
                let at = (y * width + x) * filters;
                let corner = (2 * y * across + 2 * x) * filters;
                for f in 0..filters {
                    let first = corner + f;
                    let mut best = first;
                    for other in [first + filters, first + across * filters, first + (across + 1) * filters] {
                        if response[other] > response[best] {
                            best = other;
                        }
                    }
                    (pooled[at + f], chosen[at + f]) = (response[best], best as u32);
                }
            }
        }
    }
}
