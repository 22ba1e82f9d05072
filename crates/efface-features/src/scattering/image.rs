//! From pixels to an image of zero mean and unit contrast, with a mirrored border.

use super::{CELL, ImageShape};

/// Writes the prepared image, or says where a value is not finite.
pub(super) fn prepare<T>(image: &[T], shape: ImageShape, out: &mut Vec<f32>) -> Result<(), usize>
where
    T: Copy + Into<f32>,
{
    let ImageShape { height, width, channels, .. } = shape;
    if let Some(at) = image.iter().position(|v| !(*v).into().is_finite()) {
        return Err(at);
    }
    let mut grey: Vec<f64> = image.chunks_exact(channels).map(brightness).collect();
    standardize(&mut grey);
    out.clear();
    for y in 0..height + 2 * CELL {
        let row = &grey[mirrored(y, height) * width..][..width];
        out.extend((0..width + 2 * CELL).map(|x| row[mirrored(x, width)] as f32));
    }
    Ok(())
}

/// ITU-R BT.601.
fn brightness<T: Copy + Into<f32>>(pixel: &[T]) -> f64 {
    match pixel {
        [red, green, blue] => {
            let [red, green, blue] = [*red, *green, *blue].map(|v| f64::from(v.into()));
            0.299 * red + 0.587 * green + 0.114 * blue
        }
        _ => f64::from(pixel[0].into()),
    }
}

/// Subtracts the mean and divides by the standard deviation. Zero where all that deviates is rounding.
fn standardize(grey: &mut [f64]) {
    let n = grey.len() as f64;
    let mean = grey.iter().sum::<f64>() / n;
    for v in grey.iter_mut() {
        *v -= mean;
    }
    let deviation = (grey.iter().map(|v| v * v).sum::<f64>() / n).sqrt();
    let scale = if deviation > 1e-6 * mean.abs() { 1.0 / deviation } else { 0.0 };
    for v in grey {
        *v *= scale;
    }
}

/// The pixel that stands at place `at` of the continued side: the border's own pixel is not repeated.
fn mirrored(at: usize, side: usize) -> usize {
    let from_first = at.abs_diff(CELL);
    if from_first < side { from_first } else { 2 * (side - 1) - from_first }
}
