//! Images of one size, one after another.

use crate::error::ImagesError;

/// Images of bytes: each row by row, the channels of a pixel together.
#[derive(Clone, Copy, Debug)]
pub struct Images<'a> {
    shape: (usize, usize, usize),
    pixels: &'a [u8],
}

impl<'a> Images<'a> {
    /// Images of `height` rows of `width` pixels of `channels` bytes.
    pub fn new(height: usize, width: usize, channels: usize, pixels: &'a [u8]) -> Result<Self, ImagesError> {
        let size = height.checked_mul(width).and_then(|n| n.checked_mul(channels)).unwrap_or(usize::MAX);
        if size == 0 {
            return Err(ImagesError::Empty { height, width, channels });
        }
        if !pixels.len().is_multiple_of(size) {
            return Err(ImagesError::Length { got: pixels.len(), expected: size });
        }
        Ok(Self { shape: (height, width, channels), pixels })
    }

    /// Height, width and channels.
    pub fn shape(&self) -> (usize, usize, usize) {
        self.shape
    }

    /// How many there are.
    pub fn n_images(&self) -> usize {
        self.pixels.len() / self.size()
    }

    /// The bytes of one.
    pub fn get(&self, index: usize) -> &'a [u8] {
        &self.pixels[index * self.size()..][..self.size()]
    }

    fn size(&self) -> usize {
        let (height, width, channels) = self.shape;
        height * width * channels
    }
}
