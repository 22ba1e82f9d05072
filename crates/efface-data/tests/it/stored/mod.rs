//! Rows in segments: what is written is read back, what is purged is gone, what is damaged is noticed. What they share
//! with other stores is in `conformance`.

mod changes;
mod damage;
mod model;
mod weights;
mod written;

use std::path::{Path, PathBuf};

use efface_core::linalg::TrackedMatrix;
use efface_core::rounding::UpperBound;
use efface_core::rows::RowStore;
use efface_data::{Access, Precision, RowLayout, StoredRows, StoredRowsError};
use tempfile::TempDir;

use crate::samples::{ALL, TRANSFORM, stored, without_folder};

const DIM: usize = 5;
/// Three segments for 37 rows: 14, 14 and 9.
const N: usize = 37;
const SMALL: RowLayout =
    RowLayout { dim: DIM + 1, precision: Precision::F64, block_rows: 7, segment_blocks: 2, weighted: false };
/// Bytes of a block of [`SMALL`], and of those in front of its features.
const LEADING: usize = 144;
const BLOCK: usize = LEADING + 7 * 6 * 8;

fn sample() -> (TempDir, PathBuf, StoredRows) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("rows");
    let rows = stored(&path, SMALL, ALL, N);
    (folder, path, rows)
}

fn bound() -> UpperBound {
    TRANSFORM.row_norm_bound()
}

fn open(path: &Path, n: usize, gone: &[usize]) -> Result<StoredRows, StoredRowsError> {
    StoredRows::open(Access::Change, path, bound(), 0, n, gone.iter().copied().collect(), None)
}

/// The positions whose rows have been removed.
fn gone(rows: &StoredRows) -> Vec<usize> {
    (0..rows.len()).filter(|position| !rows.is_present(*position)).collect()
}

fn bytes(path: &Path, segment: usize) -> Vec<u8> {
    std::fs::read(segment_path(path, segment)).expect("readable")
}

fn segment_path(path: &Path, segment: usize) -> PathBuf {
    path.join(format!("{segment:06}.rows"))
}

/// Message of the refusal with the folder taken out.
fn refusal<T: std::fmt::Debug>(folder: &TempDir, outcome: Result<T, StoredRowsError>) -> String {
    without_folder(&outcome.expect_err("must be refused").to_string(), folder.path())
}

fn gram(store: &StoredRows) -> Result<TrackedMatrix, String> {
    store.gram().map(TrackedMatrix::from).map_err(|error| error.to_string())
}
