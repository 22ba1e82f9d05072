//! Parameters that no map has, and rows that a map cannot take.

/// Parameters that a map cannot be built from.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are named in the messages")]
#[non_exhaustive]
pub enum BuildError {
    /// A number is zero or too large.
    #[error("{name} must be at least {least} and at most {most}, got `{value}`")]
    OutOfRange { name: &'static str, value: usize, least: usize, most: usize },
    /// The length scale is not a positive number of a usable size.
    #[error("length scale must be at least {least:e} and at most {most:e}, got `{value}`")]
    LengthScale { value: f64, least: f64, most: f64 },
    /// Inputs times width is more than a matrix may hold.
    #[error("{n_inputs} inputs and width {width} make a matrix of more than {most} numbers")]
    Matrix { n_inputs: usize, width: usize, most: usize },
    /// Hashes are cut to a number of bits.
    #[error("buckets must be a power of two, got `{value}`")]
    NotAPowerOfTwo { value: usize },
    /// The shortest n-gram is longer than the longest, or empty, or one is too long.
    #[error("n-grams of {of} must go from at least 1 up to at most {most}, got `{shortest}` to `{longest}`")]
    Range { of: &'static str, shortest: usize, longest: usize, most: usize },
    /// Neither words nor characters are counted.
    #[error("n-grams must be of words, of characters or of both")]
    NoGrams,
    /// Each scale halves an image.
    #[error("{name} must be a multiple of 4, got `{value}`")]
    NotAMultipleOfFour { name: &'static str, value: usize },
    /// A file is named by another text than a digest.
    #[error("SHA-256 must be 64 hexadecimal digits, got `{found}`")]
    Digest { found: String },
    /// Nothing that could be called so.
    #[error("a transformer needs a name without control characters, got {found:?}")]
    Name { found: String },
    /// An image is grey (1) or red, green and blue (3).
    #[error("channels must be 1 or 3, got `{value}`")]
    Channels { value: usize },
}

/// Rows that a map cannot take. What was written to the output until then is of no use.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are named in the messages")]
#[non_exhaustive]
pub enum ApplyError {
    /// The numbers do not make whole rows (or images).
    #[error("rows must have {expected} numbers each, got {got} numbers in all")]
    RowLength { got: usize, expected: usize },
    /// The output is of another size.
    #[error("the output of {n_rows} rows must have {expected} numbers, got {got}")]
    OutputLength { n_rows: usize, got: usize, expected: usize },
    /// A value is infinite or not a number, or too large for single precision.
    #[error("value {column} must be finite and at most 3.4e38, got `{value}`")]
    NotFinite { row: usize, column: usize, value: f64 },
    /// The row is so long, measured in length scales, that its angles overflow.
    #[error("values are too large for length scale `{length_scale}`")]
    Overflow { row: usize, length_scale: f64 },
}

impl ApplyError {
    /// The row that cannot be taken; the first, where it is all of them.
    pub fn row(&self) -> usize {
        match self {
            Self::NotFinite { row, .. } | Self::Overflow { row, .. } => *row,
            Self::RowLength { .. } | Self::OutputLength { .. } => 0,
        }
    }

    /// The number of rows, if they are whole and the output has room for them.
    pub(crate) fn check(n_numbers: usize, row_len: usize, out_len: usize, width: usize) -> Result<usize, Self> {
        if !n_numbers.is_multiple_of(row_len) {
            return Err(Self::RowLength { got: n_numbers, expected: row_len });
        }
        let n_rows = n_numbers / row_len;
        if out_len != n_rows * width {
            return Err(Self::OutputLength { n_rows, got: out_len, expected: n_rows * width });
        }
        Ok(n_rows)
    }
}

/// `value`, if it lies between the limits.
pub(crate) fn in_range(name: &'static str, value: usize, least: usize, most: usize) -> Result<(), BuildError> {
    if (least..=most).contains(&value) { Ok(()) } else { Err(BuildError::OutOfRange { name, value, least, most }) }
}
