//! Pixels from the bytes of PNG and JPEG files, of a declared size.
//!
//! Decoders are pure Rust and use no instructions of one processor or another, so a file has the same pixels everywhere.
//! The size in a file's header is checked before anything is decoded.

mod decode;
mod resize;

use decode::Picture;

/// What a picture has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Rows of pixels.
    pub height: usize,
    /// Pixels per row.
    pub width: usize,
    /// Numbers per pixel: 1 (grey) or 3 (red, green, blue).
    pub channels: usize,
}

/// What becomes of pictures of another size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherSizes {
    /// They are an error.
    Refused,
    /// Each side is stretched or shrunk by itself.
    ///
    /// ```text
    /// out(i) = Σ w(k) in(k) / Σ w(k)      w(k) = max(0, 1 − |k + ½ − (i + ½) s| / max(s, 1))      s = side in / side out
    /// ```
    ///
    /// Linear interpolation where it is stretched, the triangle filter where it is shrunk. Columns first, in double
    /// precision.
    Resized,
}

/// The pixels of a picture, row by row with channels together, from 0 to 255.
///
/// Grey from colours is `0.299 red + 0.587 green + 0.114 blue` (ITU-R BT.601), not rounded; colours from grey are three
/// times the same. Samples of 16 bits lose the lower 8. Transparency, colour profiles, gamma and the orientation that a
/// camera noted are not looked at; of an animation the first picture is taken.
pub fn pixels(file: &[u8], shape: Shape, other_sizes: OtherSizes) -> Result<Vec<f32>, ImageError> {
    let Shape { height, width, channels } = shape;
    if ![1, 3].contains(&channels) {
        return Err(ImageError::Channels { value: channels });
    }
    let accept = |h: usize, w: usize| {
        if (h, w) == (height, width) {
            Ok(())
        } else if other_sizes == OtherSizes::Refused {
            Err(ImageError::Size { height: h, width: w, expected_height: height, expected_width: width })
        } else if h.saturating_mul(w) > MOST_PIXELS {
            Err(ImageError::TooLarge { height: h, width: w, most: MOST_PIXELS })
        } else {
            Ok(())
        }
    };
    let picture = decode::picture(file, accept)?;
    let (h, w) = (picture.height, picture.width);
    let pixels = in_channels(picture, channels);
    Ok(if (h, w) == (height, width) { pixels } else { resize::resized(&pixels, [h, w], [height, width], channels) })
}

/// Bytes that are no picture of the size that is asked for.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are named in the messages")]
#[non_exhaustive]
pub enum ImageError {
    /// Pixels are grey (1) or red, green and blue (3).
    #[error("channels must be 1 or 3, got `{value}`")]
    Channels { value: usize },
    /// Neither format's signature.
    #[error("not a PNG or JPEG file")]
    Format,
    /// Cut off, damaged, or of a variant that is not supported.
    #[error("the {format} file cannot be decoded: {reason}")]
    Malformed { format: &'static str, reason: String },
    /// The picture's size is not the declared one.
    #[error(
        "the picture is {width} pixels wide and {height} high, expected {expected_width} wide and {expected_height} high"
    )]
    Size { height: usize, width: usize, expected_height: usize, expected_width: usize },
    /// Decoding it would take too much memory.
    #[error("the picture is {width} pixels wide and {height} high; at most {most} pixels are decoded")]
    TooLarge { height: usize, width: usize, most: usize },
}

fn in_channels(picture: Picture, channels: usize) -> Vec<f32> {
    let Picture { samples, channels: own, .. } = picture;
    // Grey may come with transparency, as may colours.
    let pixels = samples.chunks_exact(own);
    match (own >= 3, channels) {
        (true, 1) => pixels
            .map(|p| {
                let [red, green, blue] = [p[0], p[1], p[2]].map(f64::from);
                (0.299 * red + 0.587 * green + 0.114 * blue) as f32
            })
            .collect(),
        (true, _) => pixels.flat_map(|p| [p[0], p[1], p[2]]).map(f32::from).collect(),
        (false, n) => pixels.flat_map(|p| std::iter::repeat_n(f32::from(p[0]), n)).collect(),
    }
}

/// Of a picture that is resized: 128 MiB as bytes of four channels.
const MOST_PIXELS: usize = 1 << 25;
