//! Feature values, row-major, in single or double precision.
//!
//! One type serves the table that was read, the encoded rows and the rows in memory, so that values move from one to
//! the next without a copy where precision and shape allow it.

use std::fmt;
use std::ops::Range;

use efface_core::rows::{Features, RowValue};
use serde::{Deserialize, Serialize};
use zeroize::Zeroize;

/// Precision in which feature values are stored. Sums are always taken in double precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 4 bytes per value.
    F32,
    /// 8 bytes per value.
    F64,
}

impl Precision {
    /// The precision of borrowed values.
    pub const fn of(features: Features<'_>) -> Self {
        match features {
            Features::F32(_) => Self::F32,
            Features::F64(_) => Self::F64,
        }
    }

    /// Bytes of one value.
    pub const fn bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
        })
    }
}

/// Values of many rows, row-major.
#[derive(Clone, PartialEq)]
pub enum FeatureValues {
    /// Single precision.
    F32(Vec<f32>),
    /// Double precision.
    F64(Vec<f64>),
}

/// Shape only: rows stay out of logs.
impl fmt::Debug for FeatureValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FeatureValues({} numbers, {})", self.len(), self.precision())
    }
}

/// The same for `Features` or `FeatureValues` of either precision.
macro_rules! each {
    ($kind:ident, $features:expr, $values:ident => $body:expr) => {
        match $features {
            $kind::F32($values) => $body,
            $kind::F64($values) => $body,
        }
    };
}
pub(crate) use each;

/// Shows the shape only: rows and ids stay out of logs.
macro_rules! debug_shape {
    ($type:ident) => {
        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let mut shape = f.debug_struct(stringify!($type));
                shape.field("n_rows", &self.n_rows()).field("dim", &self.dim()).field("precision", &self.precision());
                shape.finish_non_exhaustive()
            }
        }
    };
}
pub(crate) use debug_shape;

impl FeatureValues {
    /// No values yet, with room for `capacity` of them.
    pub(crate) fn with_capacity(precision: Precision, capacity: usize) -> Self {
        match precision {
            Precision::F32 => Self::F32(Vec::with_capacity(capacity)),
            Precision::F64 => Self::F64(Vec::with_capacity(capacity)),
        }
    }

    /// The values; none are left here.
    pub(crate) fn take(&mut self) -> Self {
        let empty = Self::zeros(self.precision(), 0);
        std::mem::replace(self, empty)
    }

    pub(crate) fn zeros(precision: Precision, len: usize) -> Self {
        match precision {
            Precision::F32 => Self::F32(vec![0.0; len]),
            Precision::F64 => Self::F64(vec![0.0; len]),
        }
    }

    /// The precision.
    pub fn precision(&self) -> Precision {
        match self {
            Self::F32(_) => Precision::F32,
            Self::F64(_) => Precision::F64,
        }
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        each!(Self, self, values => values.len())
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A run of values, as the sums over rows take them.
    ///
    /// # Panics
    ///
    /// When the range ends beyond [`len`](Self::len).
    pub fn slice(&self, range: Range<usize>) -> Features<'_> {
        match self {
            Self::F32(values) => Features::F32(&values[range]),
            Self::F64(values) => Features::F64(&values[range]),
        }
    }

    /// Index of the first value that is NaN or infinite, with that value.
    pub(crate) fn first_not_finite(&self) -> Option<(usize, f64)> {
        // Whole chunks are tested without a branch; only a chunk that fails is searched.
        const CHUNK: usize = 1024;
        each!(Self, self, values => values.chunks(CHUNK).enumerate().find_map(|(chunk, values)| {
            let all_finite = values.iter().fold(true, |finite, x| finite & x.is_finite());
            let within = (!all_finite).then(|| values.iter().position(|x| !x.is_finite())).flatten()?;
            Some((chunk * CHUNK + within, values[within].wide()))
        }))
    }

    /// Copies values from `start` on until `into` is full, as doubles.
    pub(crate) fn read(&self, start: usize, into: &mut [f64]) {
        let end = start + into.len();
        each!(Self, self, values => into.iter_mut().zip(&values[start..end]).for_each(|(to, from)| *to = from.wide()));
    }

    /// Rounds `from` to the stored precision, in place, and writes it from `start` on.
    pub(crate) fn write_rounded(&mut self, start: usize, from: &mut [f64]) {
        let end = start + from.len();
        each!(Self, self, values => for (to, from) in values[start..end].iter_mut().zip(from) {
            *to = RowValue::nearest(*from);
            *from = to.wide();
        });
    }

    /// Sets the number of values; new ones are zero. Room is reserved exactly.
    pub(crate) fn resize(&mut self, len: usize) {
        each!(Self, self, values => {
            values.reserve_exact(len.saturating_sub(values.len()));
            values.resize(len, 0.0);
        });
    }

    pub(crate) fn extend_zeros(&mut self, n: usize) {
        each!(Self, self, values => values.resize(values.len() + n, 0.0));
    }

    /// Moves the rows of a table of width `from` apart to width `to` ≥ `from`; the new columns hold what is left there.
    pub(crate) fn spread_rows(&mut self, n_rows: usize, from: usize, to: usize) {
        self.resize(n_rows * to);
        // From the last row back, so that no row is overwritten before it has moved.
        for row in (0..n_rows).rev() {
            each!(Self, self, values => values.copy_within(row * from..(row + 1) * from, row * to));
        }
    }

    /// Appends a run of another's values. Both must have the same precision; otherwise values are converted.
    pub(crate) fn extend_from(&mut self, other: &Self, range: Range<usize>) {
        match (self, other) {
            (Self::F32(to), Self::F32(from)) => extend_zeroizing(to, &from[range]),
            (Self::F64(to), Self::F64(from)) => extend_zeroizing(to, &from[range]),
            (Self::F32(to), Self::F64(from)) => to.extend(from[range].iter().map(|x| *x as f32)),
            (Self::F64(to), Self::F32(from)) => to.extend(from[range].iter().map(|x| f64::from(*x))),
        }
    }

    /// Appends a run of borrowed values of the same precision.
    pub(crate) fn extend_lent(&mut self, lent: Features<'_>, range: Range<usize>) {
        match (self, lent) {
            (Self::F32(to), Features::F32(from)) => extend_zeroizing(to, &from[range]),
            (Self::F64(to), Features::F64(from)) => extend_zeroizing(to, &from[range]),
            // Lent rows have the precision of their table.
            _ => {}
        }
    }

    /// A run of values as the bytes they have in memory.
    pub(crate) fn bytes(&self, range: Range<usize>) -> &[u8] {
        each!(Self, self, values => bytemuck::cast_slice(&values[range]))
    }

    /// A run of values as the bytes they have in memory, to be read into.
    pub(crate) fn bytes_mut(&mut self, range: Range<usize>) -> &mut [u8] {
        each!(Self, self, values => bytemuck::cast_slice_mut(&mut values[range]))
    }

    /// Overwrites a run of values with zeros, in a way the compiler may not leave out.
    ///
    /// # Panics
    ///
    /// When the range ends beyond [`len`](Self::len).
    pub fn zeroize_range(&mut self, range: Range<usize>) {
        each!(Self, self, values => values[range].zeroize());
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        each!(Self, self, values => values.capacity()) * self.precision().bytes()
    }
}

impl From<Features<'_>> for FeatureValues {
    fn from(features: Features<'_>) -> Self {
        match features {
            Features::F32(values) => Self::F32(values.to_vec()),
            Features::F64(values) => Self::F64(values.to_vec()),
        }
    }
}

impl Zeroize for FeatureValues {
    fn zeroize(&mut self) {
        each!(Self, self, values => values.zeroize());
    }
}

/// Appends to a vector; memory it outgrows is zeroed before it is given back.
pub(crate) fn extend_zeroizing<T: Copy + Zeroize>(vector: &mut Vec<T>, values: &[T]) {
    let needed = vector.len() + values.len();
    if needed > vector.capacity() {
        // The first fill is exact, so that a table takes no more memory than its values; later ones leave some room.
        let mut larger = Vec::with_capacity(needed + vector.len() / 8);
        larger.extend_from_slice(vector);
        vector.zeroize();
        *vector = larger;
    }
    vector.extend_from_slice(values);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_spread_without_losing_a_value() {
        let mut values = FeatureValues::F32(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        values.spread_rows(3, 2, 3);
        let mut row = [0.0; 3];
        for (i, expected) in [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]].iter().enumerate() {
            values.read(3 * i, &mut row);
            assert_eq!(&row[..2], expected);
        }
    }

    #[test]
    fn the_first_value_that_is_not_finite_is_found_in_any_chunk() {
        let mut values = vec![0.5_f64; 5000];
        assert_eq!(FeatureValues::F64(values.clone()).first_not_finite(), None);
        values[4097] = f64::NEG_INFINITY;
        values[4999] = f64::NAN;
        assert_eq!(FeatureValues::F64(values).first_not_finite(), Some((4097, f64::NEG_INFINITY)));
    }

    #[test]
    fn writing_rounds_what_was_written() {
        let mut values = FeatureValues::F32(vec![0.0; 2]);
        let mut row = [0.1, 0.2];
        values.write_rounded(0, &mut row);
        assert_eq!(row, [f64::from(0.1_f32), f64::from(0.2_f32)]);
    }
}
