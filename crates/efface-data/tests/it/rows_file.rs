//! The older file of rows: what a released version wrote is copied to segments, and what is damaged is noticed.

use std::path::{Path, PathBuf};

use efface_core::rows::RowStore;
use efface_data::{MemoryRows, Precision, RowLayout, RowsFile, RowsFileError, StoredRows, StoredRowsError};
use tempfile::TempDir;

use crate::samples::{ALL, SALT, TRANSFORM, contents, crc32, encoded, file, store, stored};

const PRECISIONS: [Precision; 2] = [Precision::F32, Precision::F64];
/// Rows of the old files, and features of a row without the intercept.
const N: usize = 10;
const DIM: usize = 3;
/// Label, three features and the intercept in double precision, checksum.
const RECORD: usize = 8 + 4 * 8 + 4;

/// A file as version 0.1 wrote it: rows 0 to 9 of the samples, of which row 3 was purged.
fn old_file(precision: Precision) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/compat/rows-v1/{precision}.bin"))
}

/// A copy of the old file in double precision, to be damaged.
fn copy() -> (TempDir, PathBuf, Vec<u8>) {
    let good = std::fs::read(old_file(Precision::F64)).expect("readable");
    let (folder, path) = file("rows.bin", &good);
    (folder, path, good)
}

/// What `n` rows are selected by; those that are `gone` by nothing.
fn selectors(n: usize, gone: &[usize]) -> Vec<Option<u64>> {
    let all = encoded(0, n, 1, Precision::F64).selectors(&SALT);
    all.into_iter().enumerate().map(|(position, selector)| (!gone.contains(&position)).then_some(selector)).collect()
}

fn layout(dim: usize, precision: Precision) -> RowLayout {
    RowLayout { dim: dim + 1, precision, block_rows: 7, segment_blocks: 2, weighted: false }
}

/// Copies a file to a new store.
fn read(path: &Path, layout: RowLayout, selectors: &[Option<u64>]) -> Result<(TempDir, StoredRows), StoredRowsError> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut rows = stored(&folder.path().join("rows"), layout, ALL, 0);
    RowsFile::open(path)?.copy_to(&mut rows, selectors)?;
    Ok((folder, rows))
}

/// A store for the rows of [`copy`].
fn empty_store() -> (TempDir, StoredRows) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let rows = stored(&folder.path().join("rows"), layout(DIM, Precision::F64), ALL, 0);
    (folder, rows)
}

/// Copies a file of the shape of [`copy`], all rows but row 3.
fn copy_old(path: &Path, rows: &mut StoredRows) -> Result<(), StoredRowsError> {
    RowsFile::open(path)?.copy_to(rows, &selectors(N, &[3]))
}

/// A file of all these rows, written here from the design page alone.
fn written(rows: &MemoryRows) -> Vec<u8> {
    let value = |x: &f64| match rows.precision() {
        Precision::F32 => (*x as f32).to_le_bytes().to_vec(),
        Precision::F64 => x.to_le_bytes().to_vec(),
    };
    let mut bytes = b"EFFROWS\0\x01\0\0\0".to_vec();
    bytes.extend([rows.precision().bytes() as u8, 0, 0, 0]);
    bytes.extend((rows.dim() as u64).to_le_bytes());
    bytes.extend([0; 36]);
    bytes.extend(crc32(&bytes).to_le_bytes());
    for position in 0..rows.len() {
        let mut record = rows.label(position).expect("present").to_le_bytes().to_vec();
        record.extend(rows.row(position).expect("present").iter().flat_map(value));
        let checksum = crc32(&[&(position as u64).to_le_bytes(), &record[..]].concat());
        bytes.extend(record);
        bytes.extend(checksum.to_le_bytes());
    }
    bytes
}

/// Files of every released version are read for ever.
#[test]
fn files_of_version_1_are_still_read() {
    for precision in PRECISIONS {
        let mut memory = store(N, DIM, precision);
        memory.remove(&[3, 7]).expect("present");
        // Row 7 left, but was not purged before a crash.
        let (folder, rows) =
            read(&old_file(precision), layout(DIM, precision), &selectors(N, &[3, 7])).expect("readable");
        assert_eq!(contents(&rows), contents(&memory));
        assert_eq!(rows.count_classes(3).expect("readable"), memory.class_counts(3));
        assert_eq!(rows.count_written(&[2, 3, 7]).expect("readable"), 1);
        let (bound, path) = (TRANSFORM.row_norm_bound(), folder.path().join("rows"));
        let again = StoredRows::open(&path, bound, 0, N, [3, 7], None).expect("readable");
        assert_eq!(contents(&again), contents(&memory));
    }
}

#[test]
fn the_layout_is_the_one_in_the_design_page() {
    for precision in PRECISIONS {
        let mut expected = written(&store(N, DIM, precision));
        let record = (expected.len() - 64) / N;
        expected[64 + 3 * record..64 + 4 * record].fill(0);
        assert_eq!(std::fs::read(old_file(precision)).expect("readable"), expected);
    }
}

#[test]
fn a_file_larger_than_the_buffer_is_read_to_its_end() {
    // Records of 60 bytes do not divide a mebibyte.
    let (n, dim) = (40_000, 5);
    let memory = store(n, dim, Precision::F64);
    let (_folder, path) = file("rows.bin", &written(&memory));
    let (_rows_folder, rows) =
        read(&path, RowLayout::new(dim + 1, Precision::F64), &selectors(n, &[])).expect("readable");
    assert_eq!(contents(&rows), contents(&memory));
}

#[test]
fn rows_follow_those_that_a_store_has() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut rows = stored(folder.path(), layout(DIM, Precision::F64), ALL, 4);
    let before = contents(&rows);
    let file = RowsFile::open(old_file(Precision::F64)).expect("readable");
    file.copy_to(&mut rows, &selectors(N, &[3])).expect("readable");
    let all = contents(&rows);
    assert_eq!((&all[..4], rows.gone().collect::<Vec<_>>()), (&before[..], vec![7]));
    let (_folder, mut alone) = empty_store();
    copy_old(&old_file(Precision::F64), &mut alone).expect("readable");
    assert_eq!(all[4..], contents(&alone));
}

#[test]
fn the_tail_of_an_unfinished_append_is_ignored() {
    let (_folder, path, mut bytes) = copy();
    bytes.extend([0xaa; 3 * RECORD + 17]);
    std::fs::write(&path, &bytes).expect("writable");
    let (_rows_folder, mut rows) = empty_store();
    copy_old(&path, &mut rows).expect("readable");
    assert_eq!(rows.len(), N);
    let (_rows_folder, fewer) = read(&path, layout(DIM, Precision::F64), &selectors(N, &[3])[..6]).expect("readable");
    assert_eq!(contents(&fewer), contents(&rows)[..6]);
    let (_rows_folder, none) = read(&path, layout(DIM, Precision::F64), &[]).expect("readable");
    assert!(none.is_empty());
}

#[test]
fn a_flipped_byte_is_noticed_wherever_it_is() {
    let (_folder, path, good) = copy();
    let (_rows_folder, mut rows) = empty_store();
    for at in 0..good.len() {
        let damaged = at.checked_sub(64).map(|at| at / RECORD);
        // What the record of a removed row holds does not matter.
        if damaged == Some(3) {
            continue;
        }
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        std::fs::write(&path, &bad).expect("writable");
        let error = copy_old(&path, &mut rows).expect_err("must be noticed");
        let is_named = match error {
            StoredRowsError::File(RowsFileError::Checksum { position, .. }) => Some(position) == damaged,
            StoredRowsError::File(RowsFileError::BadHeader { .. } | RowsFileError::UnknownVersion { .. }) => at < 64,
            _ => false,
        };
        assert!(is_named && rows.is_empty(), "byte {at}");
    }
}

#[test]
fn a_record_that_is_purged_or_elsewhere_is_not_taken_for_a_row() {
    let (_folder, path, good) = copy();
    let error = |n_records: usize| {
        let all = selectors(N, &[]);
        read(&path, layout(DIM, Precision::F64), &all[..n_records]).expect_err("must be noticed")
    };
    assert!(matches!(error(N), StoredRowsError::File(RowsFileError::Checksum { position: 3, .. })));
    let mut swapped = good.clone();
    swapped[64..64 + RECORD].copy_from_slice(&good[64 + RECORD..64 + 2 * RECORD]);
    swapped[64 + RECORD..64 + 2 * RECORD].copy_from_slice(&good[64..64 + RECORD]);
    std::fs::write(&path, &swapped).expect("writable");
    assert!(matches!(error(2), StoredRowsError::File(RowsFileError::Checksum { position: 0, .. })));
}

#[test]
fn files_that_are_cut_foreign_or_too_new_are_refused() {
    let (_folder, path, good) = copy();
    let (_rows_folder, mut rows) = empty_store();
    for length in 0..good.len() {
        std::fs::write(&path, &good[..length]).expect("writable");
        let error = copy_old(&path, &mut rows).expect_err("must be noticed");
        let is_named = match error {
            StoredRowsError::File(RowsFileError::BadHeader { .. }) => length < 64,
            StoredRowsError::File(RowsFileError::Truncated { found, n_records: N, .. }) => found == length as u64,
            _ => false,
        };
        assert!(is_named && rows.is_empty(), "cut to {length} bytes");
    }
    let mut newer = good.clone();
    newer[8] = 2;
    std::fs::write(&path, &newer).expect("writable");
    let error = RowsFile::open(&path).expect_err("too new").to_string();
    assert!(error.ends_with("version 2 of the rows format is unknown; this program reads versions up to 1"), "{error}");
    std::fs::write(&path, b"id,a,b\n".repeat(20)).expect("writable");
    assert!(matches!(RowsFile::open(&path), Err(RowsFileError::BadHeader { .. })));
    std::fs::remove_file(&path).expect("there");
    assert!(matches!(RowsFile::open(&path), Err(RowsFileError::Io { .. })));
}

#[test]
fn absurd_sizes_are_refused_before_memory_is_taken() {
    let (_folder, path, good) = copy();
    let many = vec![None; 1_000_000];
    let error = read(&path, layout(DIM, Precision::F64), &many).expect_err("too many");
    assert!(matches!(error, StoredRowsError::File(RowsFileError::Truncated { n_records: 1_000_000, .. })));
    for other in [layout(DIM + 1, Precision::F64), layout(DIM, Precision::F32)] {
        let error = read(&path, other, &[]).expect_err("another shape");
        assert!(matches!(error, StoredRowsError::File(RowsFileError::Shape { .. })));
    }
    // Headers whose checksum is right.
    let opened = |at: usize, with: &[u8]| {
        let mut bytes = good.clone();
        bytes[at..at + with.len()].copy_from_slice(with);
        let checksum = crc32(&bytes[..60]).to_le_bytes();
        bytes[60..64].copy_from_slice(&checksum);
        std::fs::write(&path, bytes).expect("writable");
        RowsFile::open(&path)
    };
    for (at, with) in [(12, &[5][..]), (16, &[0; 8]), (16, &[0xff; 8])] {
        assert!(matches!(opened(at, with), Err(RowsFileError::BadHeader { .. })));
    }
    // As wide as a row may be: 2³² − 1 values.
    let widest = u64::from(u32::MAX).to_le_bytes();
    opened(16, &widest).expect("within the range");
    let wide = RowLayout { dim: u32::MAX as usize, ..layout(DIM, Precision::F64) };
    let error = read(&path, wide, &[None]).expect_err("too wide");
    assert!(matches!(error, StoredRowsError::File(RowsFileError::Truncated { .. })), "{error}");
}
