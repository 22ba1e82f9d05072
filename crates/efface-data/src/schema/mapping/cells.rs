//! Cells that wait for their map: texts, and images in every way in which tables have them.

use std::fs;
use std::path::{Component, Path};

use efface_features::ImageShape;
use efface_images::{OtherSizes, Shape, pixels};
use rayon::prelude::*;
use zeroize::Zeroizing;

use crate::error::CellError;
use crate::schema::cell::Cell;

pub(super) enum Gathered {
    Missing,
    Text(Zeroizing<String>),
    Numbers(Zeroizing<Vec<f32>>),
    /// A PNG or JPEG file.
    Picture(Zeroizing<Vec<u8>>),
    /// Its name, from the table's folder.
    Name(String),
}

impl Gathered {
    /// A cell as a text.
    pub(super) fn text_of(cell: &Cell<'_>) -> Result<Self, CellError> {
        Ok(match cell {
            Cell::List(values) => return Err(CellError::List { found: values.len() }),
            Cell::Bytes(_) => return Err(CellError::Bytes),
            Cell::Text(text) => Self::Text(Zeroizing::new((*text).to_owned())),
            cell => Self::Text(Zeroizing::new(cell.spelling().into_owned())),
        })
    }

    /// A cell as an image.
    pub(super) fn image_of(cell: &Cell<'_>, shape: ImageShape) -> Result<Self, CellError> {
        match cell {
            Cell::List(values) if values.len() == shape.n_inputs() => {
                Ok(Self::Numbers(Zeroizing::new(values.iter().map(|x| *x as f32).collect())))
            }
            Cell::List(values) => Err(CellError::ListLength { found: values.len(), expected: shape.n_inputs() }),
            Cell::Bytes(bytes) => Ok(Self::Picture(Zeroizing::new(bytes.to_vec()))),
            Cell::Text(name) => {
                let is_below = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
                if !Path::new(name.trim()).components().all(is_below) {
                    return Err(CellError::Elsewhere { value: name.trim().into() });
                }
                Ok(Self::Name(name.trim().into()))
            }
            cell => Err(CellError::NotAnImage { value: cell.spelling().into_owned() }),
        }
    }

    /// A cell as a list of so many numbers.
    pub(super) fn list_of(cell: &Cell<'_>, expected: usize) -> Result<Self, CellError> {
        let values = match cell {
            Cell::List(values) if values.len() == expected => values,
            Cell::List(values) => return Err(CellError::ListLength { found: values.len(), expected }),
            cell => return Err(CellError::NotAList { value: cell.spelling().into_owned() }),
        };
        let narrow: Zeroizing<Vec<f32>> = Zeroizing::new(values.iter().map(|x| *x as f32).collect());
        match narrow.iter().position(|x| !x.is_finite()) {
            Some(at) => Err(CellError::NotFinite { value: values[at].to_string() }),
            None => Ok(Self::Numbers(narrow)),
        }
    }

    pub(super) fn numbers(&self) -> &[f32] {
        if let Self::Numbers(numbers) = self { numbers } else { &[] }
    }

    pub(super) fn text(&self) -> &str {
        if let Self::Text(text) = self { text } else { "" }
    }

    /// The pixels, from 0 to 255 where they come from a picture.
    fn pixels(&self, shape: ImageShape, folder: &Path) -> Result<Zeroizing<Vec<f32>>, CellError> {
        let ImageShape { height, width, channels, resize } = shape;
        let other_sizes = if resize { OtherSizes::Resized } else { OtherSizes::Refused };
        let decoded = |bytes: &[u8]| pixels(bytes, Shape { height, width, channels }, other_sizes);
        match self {
            Self::Numbers(pixels) => Ok(pixels.clone()),
            Self::Picture(bytes) => decoded(bytes).map(Zeroizing::new).map_err(CellError::Image),
            Self::Name(name) => {
                let failed = |reason: String| CellError::Picture { value: name.clone(), reason };
                let path = folder.join(name);
                // Whoever reads a pipe waits for its writer.
                if fs::metadata(&path).is_ok_and(|file| !file.is_file()) {
                    return Err(failed("it is no plain file".to_owned()));
                }
                let bytes = fs::read(path).map_err(|error| failed(error.to_string()))?;
                decoded(&bytes).map(Zeroizing::new).map_err(|error| failed(error.to_string()))
            }
            Self::Missing | Self::Text(_) => Ok(Zeroizing::new(vec![0.0; shape.n_inputs()])),
        }
    }
}

/// Makes bytes of the pixels of cells: those of pictures are rounded, those that stand in lists must be some.
pub(super) fn in_bytes(cells: &[&Gathered], pixels: &mut [f32]) -> Result<(), (usize, CellError)> {
    let size = pixels.len() / cells.len().max(1);
    for (at, (cell, pixels)) in cells.iter().zip(pixels.chunks_exact_mut(size.max(1))).enumerate() {
        let is_byte = |x: &f32| x.fract() == 0.0 && (0.0..=255.0).contains(x);
        match cell {
            Gathered::Numbers(_) => {
                if let Some(x) = pixels.iter().find(|x| !is_byte(x)) {
                    return Err((at, CellError::NotAByte { value: x.to_string() }));
                }
            }
            _ => pixels.iter_mut().for_each(|x| *x = x.round().clamp(0.0, 255.0)),
        }
    }
    Ok(())
}

/// The pixels of all cells, one image after the other; or which cell is none.
pub(super) fn all_pixels(
    cells: &[&Gathered],
    shape: ImageShape,
    folder: &Path,
) -> Result<Zeroizing<Vec<f32>>, (usize, CellError)> {
    let mut pixels = Zeroizing::new(vec![0.0; cells.len() * shape.n_inputs()]);
    let places = pixels.par_chunks_exact_mut(shape.n_inputs()).zip(cells).enumerate();
    let failed = places.find_map_first(|(at, (place, cell))| match cell.pixels(shape, folder) {
        Ok(pixels) => {
            place.copy_from_slice(&pixels);
            None
        }
        Err(error) => Some((at, error)),
    });
    failed.map_or(Ok(pixels), Err)
}
