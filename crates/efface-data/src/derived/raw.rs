//! A cell of a raw table as it is kept: a number, a text by its hash, or nothing.
//!
//! A text stands in the payload of a NaN, so that a column needs no type: what its cells are is counted, and may change
//! when rows leave.

use efface_core::rows::RowValue;
use sha2::{Digest, Sha256};

/// A cell of a raw table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum RawCell {
    Missing,
    Number(f64),
    /// The hash of a text.
    Text(u64),
}

/// A quiet NaN; its other bits are free.
pub(super) const NAN: u64 = 0x7ff8 << 48;

/// Bits of a hash.
const HASH_BITS: u32 = 51;

impl RawCell {
    /// The cell that a double stands for.
    pub(crate) fn of(value: f64) -> Self {
        if !value.is_nan() {
            return Self::Number(value);
        }
        match value.to_bits() & ((1 << HASH_BITS) - 1) {
            0 => Self::Missing,
            hash => Self::Text(hash),
        }
    }

    /// The cell that a value stands for. Single precision has no room for texts: whatever is no number is missing.
    pub(crate) fn of_value<T: RowValue>(value: T) -> Self {
        let wide = value.wide();
        if size_of::<T>() == size_of::<f64>() || !wide.is_nan() { Self::of(wide) } else { Self::Missing }
    }

    /// The double that stands for a cell.
    pub(crate) fn packed(self) -> f64 {
        match self {
            Self::Missing => f64::from_bits(NAN),
            Self::Number(value) => value,
            Self::Text(hash) => f64::from_bits(NAN | hash),
        }
    }

    /// A text of a column, by a hash that is the same on every machine and in every version.
    ///
    /// ```text
    /// first 8 bytes of SHA-256(text), little-endian, its lowest 51 bits; 1 in the place of 0
    /// ```
    ///
    /// Two texts of one column with the same hash are one category, with and without the rows that leave.
    pub(crate) fn text(text: &str) -> Self {
        let digest = Sha256::digest(text);
        let first = digest.iter().take(8).rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
        Self::Text((first & ((1 << HASH_BITS) - 1)).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_packed_and_read_back() {
        let cells = [
            RawCell::Missing,
            RawCell::Number(0.0),
            RawCell::Number(-1.5e300),
            RawCell::text("basic"),
            RawCell::text(""),
            RawCell::Text((1 << HASH_BITS) - 1),
        ];
        for cell in cells {
            assert_eq!(RawCell::of(cell.packed()), cell);
        }
        assert_eq!(RawCell::of(f64::NAN), RawCell::Missing);
        assert_ne!(RawCell::text("basic"), RawCell::text("plus"));
        // SHA-256("abc") begins with ba 78 16 bf 8f 01 cf ea.
        assert_eq!(RawCell::text("abc"), RawCell::Text(0xeacf_018f_bf16_78ba & ((1 << HASH_BITS) - 1)));
    }
}
