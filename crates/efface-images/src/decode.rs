//! The two formats, told apart by their first bytes.

use png::{ColorType, Limits, Transformations};
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use crate::ImageError;

/// A picture as it is stored: grey, grey and transparency, colours, or colours and transparency.
pub(crate) struct Picture {
    pub(crate) height: usize,
    pub(crate) width: usize,
    pub(crate) channels: usize,
    pub(crate) samples: Vec<u8>,
}

/// Decodes a file, if its height and width are accepted.
pub(crate) fn picture(
    file: &[u8],
    accept: impl Fn(usize, usize) -> Result<(), ImageError>,
) -> Result<Picture, ImageError> {
    if file.starts_with(b"\x89PNG\r\n\x1a\n") {
        of_png(file, accept)
    } else if file.starts_with(b"\xff\xd8\xff") {
        of_jpeg(file, accept)
    } else {
        Err(ImageError::Format)
    }
}

fn of_png(file: &[u8], accept: impl Fn(usize, usize) -> Result<(), ImageError>) -> Result<Picture, ImageError> {
    let malformed = |error: png::DecodingError| ImageError::Malformed { format: "PNG", reason: error.to_string() };
    let mut decoder = png::Decoder::new_with_limits(std::io::Cursor::new(file), Limits { bytes: MOST_BYTES });
    decoder.set_transformations(Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().map_err(malformed)?;
    let (width, height) = reader.info().size();
    let (height, width) = (height as usize, width as usize);
    accept(height, width)?;
    let channels = match reader.output_color_type().0 {
        ColorType::Grayscale => 1,
        ColorType::GrayscaleAlpha => 2,
        // A palette is resolved.
        ColorType::Rgb | ColorType::Indexed => 3,
        ColorType::Rgba => 4,
    };
    let mut samples = vec![0; height * width * channels];
    reader.next_frame(&mut samples).map_err(malformed)?;
    Ok(Picture { height, width, channels, samples })
}

fn of_jpeg(file: &[u8], accept: impl Fn(usize, usize) -> Result<(), ImageError>) -> Result<Picture, ImageError> {
    let malformed = |reason: String| ImageError::Malformed { format: "JPEG", reason };
    let options = DecoderOptions::new_safe().set_strict_mode(true).set_max_height(1 << 16).set_max_width(1 << 16);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(file), options);
    decoder.decode_headers().map_err(|error| malformed(error.to_string()))?;
    let info = decoder.info().ok_or_else(|| malformed("it has no header".to_owned()))?;
    let (height, width) = (usize::from(info.height), usize::from(info.width));
    accept(height, width)?;
    let is_grey = decoder.input_colorspace() == Some(ColorSpace::Luma);
    let (space, channels) = if is_grey { (ColorSpace::Luma, 1) } else { (ColorSpace::RGB, 3) };
    decoder.set_options(options.jpeg_set_out_colorspace(space));
    let samples = decoder.decode().map_err(|error| malformed(error.to_string()))?;
    if samples.len() != height * width * channels {
        return Err(malformed(format!("{} samples are of another picture", samples.len())));
    }
    Ok(Picture { height, width, channels, samples })
}

/// What a decoder of PNG may keep besides the picture.
const MOST_BYTES: usize = 1 << 26;
