//! Arrays of doubles and of integers as bytes, little-endian.

use efface_core::linalg::TrackedMatrix;
use efface_core::rounding::UpperBound;
use zeroize::Zeroizing;

pub(super) fn put(bytes: &mut Vec<u8>, numbers: &[f64]) {
    bytes.reserve(numbers.len() * 8);
    for x in numbers {
        bytes.extend(x.to_le_bytes());
    }
}

/// Appends the lower triangle of a symmetric matrix, column by column.
pub(super) fn put_lower(bytes: &mut Vec<u8>, matrix: &TrackedMatrix) {
    let (dim, (entries, _, _)) = (matrix.dim(), matrix.parts());
    bytes.reserve(dim * (dim + 1) * 4);
    for j in 0..dim {
        put(bytes, &entries[j * dim + j..(j + 1) * dim]);
    }
}

pub(super) fn put_integers(bytes: &mut Vec<u8>, integers: &[i128]) {
    bytes.reserve(integers.len() * 16);
    for integer in integers {
        bytes.extend(integer.to_le_bytes());
    }
}

/// Numbers still to be read. Sizes are checked against what is there before anything is allocated.
pub(super) struct Numbers<'a>(pub(super) &'a [u8]);

impl Numbers<'_> {
    pub(super) fn take(&mut self, n: usize) -> Option<Vec<f64>> {
        let (taken, rest) = self.0.split_at_checked(n.checked_mul(8)?)?;
        self.0 = rest;
        Some(taken.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect())
    }

    /// The lower triangle of a square of integers.
    pub(super) fn take_integers(&mut self, n_columns: usize) -> Option<Vec<i128>> {
        let n = n_columns.checked_mul(n_columns.checked_add(1)?)? / 2;
        let (taken, rest) = self.0.split_at_checked(n.checked_mul(16)?)?;
        self.0 = rest;
        Some(taken.as_chunks().0.iter().map(|bytes| i128::from_le_bytes(*bytes)).collect())
    }

    /// A matrix from its lower triangle, with its error and its trace bound.
    pub(super) fn take_matrix(&mut self, dim: usize, bounds: (UpperBound, UpperBound)) -> Option<TrackedMatrix> {
        let packed_len = dim.checked_mul(dim.checked_add(1)?)? / 2;
        let packed = Zeroizing::new(self.take(packed_len)?);
        let mut entries = vec![0.0; dim * dim];
        let mut start = 0;
        for j in 0..dim {
            entries[j * dim + j..(j + 1) * dim].copy_from_slice(&packed[start..start + dim - j]);
            start += dim - j;
        }
        TrackedMatrix::from_parts(dim, entries, bounds.0, bounds.1)
    }
}
