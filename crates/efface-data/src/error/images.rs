//! Why labelled images cannot be had of a table.

use super::{EncodeError, ReadError};
use crate::schema::MAX_FEATURES;

/// A table is none of labelled images.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImagesError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Its labels are no classes.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// No image has that size.
    #[error(
        "images must have 1 or 3 channels and at most {MAX_FEATURES} numbers, got {height} × {width} with {channels} channels"
    )]
    Size { height: usize, width: usize, channels: usize },
}
