//! Rows that do not count once each: their weights are kept, checked, purged and added up exactly.

use std::path::Path;

use efface_core::rows::{RowStore, WeightSum};
use efface_data::derived::Texts;
use efface_data::{Access, MemoryRows, PositionSet, Precision, RowLayout, StoredRows};
use tempfile::TempDir;

use super::{DIM, N, SMALL, bound, bytes, open, refusal, segment_path};
use crate::samples::{ALL, contents, crc32, encoded, key, stored, weighted, weighted_store};

const WEIGHTED: RowLayout = RowLayout { weighted: true, ..SMALL };
/// Bytes of a block of [`WEIGHTED`], and of those in front of its features: 7 × 28 = 196, padded to 200.
const LEADING: usize = 200;
const BLOCK: usize = LEADING + 7 * 6 * 8;

fn sample() -> (TempDir, std::path::PathBuf, StoredRows) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("rows");
    let rows = stored(&path, WEIGHTED, ALL, N);
    (folder, path, rows)
}

#[test]
fn weights_are_read_back_and_added_up() {
    let (_folder, path, rows) = sample();
    rows.sync().expect("writable");
    let memory = weighted_store(N, DIM, Precision::F64);
    let read = open(&path, N, &[]).expect("readable");
    assert_eq!(*read.layout(), WEIGHTED);
    assert_eq!(contents(&read), contents(&memory));
    assert_eq!(read.weight_sum(), memory.weight_sum());
    let batch = read.batch(&[36, 4, 5]).expect("readable");
    assert_eq!((batch.row_weight(0), batch.row_weight(1), batch.row_weight(3)), (Some(0.37), Some(4.0 * 0.37), None));
    // What whoever keeps the sum says is taken, so that opening needs no pass over the rows.
    let told =
        StoredRows::open(Access::Change, &path, bound(), 0, N, PositionSet::default(), Some(WeightSum::of_rows(3)))
            .expect("readable");
    assert_eq!(told.weight_sum(), WeightSum::of_rows(3));
}

#[test]
fn weights_lie_behind_the_selectors() {
    let (_folder, path, rows) = sample();
    let bytes = bytes(&path, 1);
    assert_eq!(bytes.len(), 4096 + 2 * BLOCK);
    assert_eq!((&bytes[8..12], &bytes[56..60]), (&[1, 0, 0, 0][..], &[1, 0, 0, 0][..]));
    // Position 23 is row 2 of block 1 of segment 1.
    let block = &bytes[4096 + BLOCK..];
    let (features, label, selector, weight) = contents(&rows)[23].clone().expect("present");
    let (label, selector, weight) = (label.to_le_bytes(), selector.to_le_bytes(), weight.to_le_bytes());
    assert_eq!((&block[16..24], &block[72..80], &block[128..136]), (&label[..], &selector[..], &weight[..]));
    let features: Vec<u8> = features.iter().flat_map(|x| x.to_le_bytes()).collect();
    assert_eq!(block[LEADING + 2 * 48..LEADING + 3 * 48], features);
    let position = 23_u64.to_le_bytes();
    let checksum = crc32(&[&position, &selector, &weight, &features[..]].concat())
        ^ crc32(&[&position, &label, &b"label"[..]].concat());
    assert_eq!(block[168 + 8..168 + 12], checksum.to_le_bytes());
    assert_eq!(block[196..200], [0; 4]);
}

#[test]
fn a_damaged_weight_is_noticed() {
    let (folder, path, rows) = sample();
    rows.sync().expect("writable");
    let good = bytes(&path, 1);
    for at in 4096 + BLOCK + 112..4096 + BLOCK + 168 {
        let mut bad = good.clone();
        bad[at] ^= 0x01;
        std::fs::write(segment_path(&path, 1), &bad).expect("writable");
        let damaged = open(&path, N, &[]).expect("headers are whole");
        let position = 14 + 7 + (at - 4096 - BLOCK - 112) / 8;
        let text = format!("rows/000001.rows: the row at position {position} is damaged: its checksum does not match");
        assert_eq!(refusal(&folder, damaged.verify(1)), text);
        assert_eq!(refusal(&folder, damaged.batch(&[position])), text);
    }
}

#[test]
fn a_removed_row_weighs_nothing_and_its_weight_is_overwritten() {
    let (_folder, path, mut rows) = sample();
    let mut memory = weighted_store(N, DIM, Precision::F64);
    let gone = [23, 0, 24, 36];
    rows.remove(&gone).expect("present");
    memory.remove(&gone).expect("present");
    assert_eq!((contents(&rows), rows.weight_sum()), (contents(&memory), memory.weight_sum()));
    assert_eq!(memory.row_weight(23), None);
    rows.purge(&gone).expect("gone");
    let block = &bytes(&path, 1)[4096 + BLOCK..];
    assert_eq!(block[128..144], [0; 16]);
    assert_ne!(block[120..128], [0; 8]);
    assert_eq!(rows.count_written(&gone).expect("readable"), 0);
    let again = open(&path, N, &gone).expect("readable");
    assert_eq!(again.weight_sum(), memory.weight_sum());
    assert!(again.purged_records().expect("readable").is_empty());
}

#[test]
fn rows_that_come_late_bring_their_weight() {
    let (_folder, path, mut rows) = sample();
    rows.sync().expect("writable");
    let before = rows.weight_sum();
    let late = weighted(37, 5, DIM, Precision::F64);
    rows.append(&late, &late.selectors(&key())).expect("writable");
    let after = before + MemoryRows::of_encoded(late, &key()).weight_sum();
    assert_eq!(rows.weight_sum(), after);
    let mut waiting = open(&path, N + 5, &[37, 38, 39, 40, 41]).expect("readable");
    assert_eq!(waiting.weight_sum(), before);
    waiting.admit(37..42, &Texts::new()).expect("written");
    assert_eq!(waiting.weight_sum(), after);
    waiting.truncate(N).expect("writable");
    assert_eq!(waiting.weight_sum(), before);
    // Without weights of their own they count once.
    let plain = encoded(100, 2, DIM, Precision::F64);
    waiting.append(&plain, &plain.selectors(&key())).expect("writable");
    assert_eq!(waiting.weight_sum(), before + WeightSum::of_rows(2));
}

#[test]
fn a_store_without_weights_takes_rows_that_count_once_only() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut rows = stored(&folder.path().join("rows"), SMALL, 0, 3);
    let heavy = weighted(3, 4, DIM, Precision::F64);
    let error = refusal(&folder, rows.append(&heavy, &heavy.selectors(&key())));
    assert!(
        error.starts_with("row 0 weighs 1.1") && error.ends_with(", and every row of the store counts once"),
        "{error}"
    );
    let once = encoded(3, 4, DIM, Precision::F64).with_row_weights(vec![1.0; 4]).expect("one per row");
    rows.append(&once, &once.selectors(&key())).expect("they count once");
    assert_eq!(rows.weight_sum(), WeightSum::of_rows(7));
}

#[test]
fn weights_that_no_row_can_have_are_refused() {
    let message = |weights: Vec<f64>| {
        let rows = encoded(0, 2, DIM, Precision::F64).with_row_weights(weights);
        rows.expect_err("must be refused").to_string()
    };
    assert_eq!(message(vec![1.0]), "1 row weights for 2 rows");
    assert_eq!(message(vec![1.0, -0.5]), "row weights must be from 0 to 2147483648, got `-0.5` for row 1");
    assert!(message(vec![f64::NAN, 1.0]).ends_with("got `NaN` for row 0"));
    assert!(message(vec![3e9, 1.0]).ends_with("got `3000000000` for row 0"));
    let mut kept = weighted(0, 5, DIM, Precision::F64);
    assert_eq!(kept.retain(&[true, false, true, false, true]), 2);
    assert_eq!(kept.row_weights(), Some(&[0.0, 2.0 * 0.37, 4.0 * 0.37][..]));
}

/// Files of every released version are read for ever, and written again byte for byte as long as the version stays.
/// `EFFACE_WRITE_COMPAT=1` writes those of this one, once.
#[test]
fn segments_of_version_1_are_read_and_written() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compat/row-segments");
    let layout = RowLayout { dim: 4, precision: Precision::F32, block_rows: 3, segment_blocks: 2, weighted: true };
    let write = |path: &Path| {
        let mut rows = stored(path, layout, 0, 10);
        rows.remove(&[3, 7]).expect("present");
        rows.purge(&[3]).and_then(|()| rows.stamp(9)).expect("writable");
    };
    if std::env::var_os("EFFACE_WRITE_COMPAT").is_some() {
        write(&path);
    }
    let rows = open(&path, 10, &[3, 7]).expect("readable");
    let mut memory = weighted_store(10, 3, Precision::F32);
    memory.remove(&[3, 7]).expect("present");
    assert_eq!((contents(&rows), rows.weight_sum()), (contents(&memory), memory.weight_sum()));
    assert_eq!((*rows.layout(), rows.epochs()), (layout, vec![9, 9]));
    let folder = tempfile::tempdir().expect("a temporary folder");
    write(folder.path());
    for segment in 0..2 {
        assert!(bytes(folder.path(), segment) == bytes(&path, segment), "segment {segment}");
    }
}
