//! The data of the demo and of the built-in audit: 1,797 hand-written digits, compiled into the program.
//!
//! Both must run on a machine without files and without a network, so the rows travel inside the binary as plain
//! bytes. Origin, citation, licence and checksum are in `digits.md` beside this file; the size is checked when the
//! program is compiled, the values by the tests.

/// Images of hand-written digits with their labels.
///
/// UCI *Optical Recognition of Handwritten Digits* (Alpaydin & Kaynak, 1998), CC BY 4.0. The copy does not say who
/// wrote which digit. An index that is not below [`Digits::n_images`] panics.
#[derive(Clone, Copy, Debug)]
pub struct Digits {
    /// Images one after the other, [`N_PIXELS`] bytes each, 0 (paper) to 16 (ink).
    pixels: &'static [u8],
    /// The digit that each image shows, 0 to 9.
    labels: &'static [u8],
}

impl Digits {
    /// The embedded digits.
    pub fn embedded() -> Self {
        let (pixels, labels) = BYTES.split_at(N_IMAGES * N_PIXELS);
        Self { pixels, labels }
    }

    /// Number of images.
    pub fn n_images(&self) -> usize {
        self.labels.len()
    }

    /// The pixels of image `i`, row by row from the top left.
    pub fn image(&self, i: usize) -> &'static [u8; N_PIXELS] {
        let (images, _) = self.pixels.as_chunks();
        &images[i]
    }

    /// Image `i` for a page: 0 is paper, 255 is ink.
    pub fn picture(&self, i: usize) -> Vec<u8> {
        self.image(i).iter().map(|pixel| (u16::from(*pixel) * 255 / 16) as u8).collect()
    }

    /// The digit that image `i` shows, 0 to 9.
    pub fn label(&self, i: usize) -> u8 {
        self.labels[i]
    }
}

/// Pixels per side of an image.
pub const SIDE: usize = 8;

/// Images in the embedded file.
const N_IMAGES: usize = 1797;

/// Pixels in an image of 8 rows and 8 columns.
pub const N_PIXELS: usize = SIDE * SIDE;

/// The embedded file: all images, then all labels.
static BYTES: &[u8] = include_bytes!("digits.bin");

const _: () = assert!(BYTES.len() == N_IMAGES * (N_PIXELS + 1), "digits.bin has the wrong size");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_and_labels_are_in_range() {
        let digits = Digits::embedded();
        assert_eq!(digits.n_images(), N_IMAGES);
        assert!(digits.pixels.iter().all(|&pixel| pixel <= 16));
        assert!(digits.labels.iter().all(|&label| label <= 9));
    }

    #[test]
    fn every_digit_occurs_as_often_as_the_origin_says() {
        let digits = Digits::embedded();
        let mut counts = [0; 10];
        for i in 0..digits.n_images() {
            counts[usize::from(digits.label(i))] += 1;
        }
        assert_eq!(counts, [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]);
    }

    #[test]
    fn the_first_image_is_a_zero_with_a_hole() {
        let digits = Digits::embedded();
        assert_eq!(digits.label(0), 0);
        assert_eq!(digits.image(0)[..8], [0, 0, 5, 13, 9, 1, 0, 0]);
        assert_eq!(digits.image(0)[3 * 8 + 3], 0);
    }
}
