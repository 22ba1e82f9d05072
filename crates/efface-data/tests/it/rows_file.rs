//! Rows on disk: what is written is read back, what is purged is gone, what is damaged is noticed.

use std::path::{Path, PathBuf};

use efface_core::rows::RowStore;
use efface_data::{MemoryRows, Precision, RowId, RowsFile, RowsFileError};
use tempfile::TempDir;

use crate::samples::{empty, encoded, store};

const DIM: usize = 5;
/// Label, five features and the intercept, checksum.
const RECORD: usize = 8 + 6 * 8 + 4;

type Ids = Vec<Option<RowId>>;

fn index(store: &MemoryRows) -> (Ids, Ids) {
    let ids = (0..store.len()).map(|position| store.id(position).cloned()).collect();
    let subjects = (0..store.len()).map(|position| store.subject(position).cloned()).collect();
    (ids, subjects)
}

fn written(store: &MemoryRows) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("rows.bin");
    let mut file = RowsFile::create(&path, store.dim(), store.precision()).expect("writable");
    file.append(store, 0..store.len()).and_then(|()| file.sync()).expect("writable");
    (folder, path)
}

fn load(path: &Path, like: &MemoryRows) -> Result<MemoryRows, RowsFileError> {
    let (ids, subjects) = index(like);
    RowsFile::open(path)?.load(like.empty_like(), ids, subjects)
}

fn assert_same(a: &MemoryRows, b: &MemoryRows) {
    assert_eq!((a.len(), a.n_rows()), (b.len(), b.n_rows()));
    assert_eq!(index(a), index(b));
    for position in 0..a.len() {
        assert_eq!(a.row(position), b.row(position));
        assert_eq!(a.label(position), b.label(position));
    }
    assert_eq!(a.class_counts(3), b.class_counts(3));
    let selectors = |store: &MemoryRows| {
        let mut selectors: Vec<u64> = Vec::new();
        store.visit_block(0, &mut |block| selectors.extend(block.selectors)).expect("in range");
        selectors
    };
    assert_eq!(selectors(a), selectors(b));
}

#[test]
fn rows_are_read_back_as_they_were_written() {
    for precision in [Precision::F32, Precision::F64] {
        let mut store = store(700, DIM, precision);
        store.remove(&[3, 699]).expect("present");
        let (_folder, path) = written(&store);
        let file = RowsFile::open(&path).expect("readable");
        assert_eq!((file.dim(), file.precision()), (DIM + 1, precision));
        assert_same(&load(&path, &store).expect("readable"), &store);
    }
}

#[test]
fn the_layout_is_the_one_in_the_design_page() {
    let store = store(2, DIM, Precision::F64);
    let (_folder, path) = written(&store);
    let bytes = std::fs::read(&path).expect("readable");
    assert_eq!(bytes.len(), 64 + 2 * RECORD);
    assert_eq!(bytes[..24], *b"EFFROWS\0\x01\0\0\0\x08\0\0\0\x06\0\0\0\0\0\0\0");
    assert_eq!(bytes[24..60], [0; 36]);
    let record = &bytes[64 + RECORD..];
    assert_eq!(record[..8], 1_f64.to_le_bytes());
    let values: Vec<u8> = store.row(1).expect("present").iter().flat_map(|x| x.to_le_bytes()).collect();
    assert_eq!(record[8..56], values);
    assert_eq!(record[56..], crc32(&[&1_u64.to_le_bytes(), &record[..56]].concat()).to_le_bytes());
    assert_eq!(bytes[60..64], crc32(&bytes[..60]).to_le_bytes());
}

/// CRC-32 (reflected, polynomial 0xedb88320), bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    let bit = |crc: u32| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| bit(crc)))
}

#[test]
fn a_purged_row_leaves_no_byte_behind_and_purging_again_changes_nothing() {
    let mut store = store(50, DIM, Precision::F64);
    let (_folder, path) = written(&store);
    let before = std::fs::read(&path).expect("readable");
    let mut file = RowsFile::open(&path).expect("readable");
    file.purge(&[7, 49]).expect("writable");
    let after = std::fs::read(&path).expect("readable");
    let record = |position: usize| 64 + position * RECORD..64 + (position + 1) * RECORD;
    for position in 0..50 {
        if position == 7 || position == 49 {
            assert!(after[record(position)].iter().all(|byte| *byte == 0));
        } else {
            assert_eq!(after[record(position)], before[record(position)]);
        }
    }
    for value in store.row(7).expect("present").iter().take(DIM) {
        assert!(!after.windows(8).any(|window| window == value.to_le_bytes()));
    }
    file.purge(&[49, 7, 7]).expect("writable");
    assert_eq!(std::fs::read(&path).expect("readable"), after);

    assert!(matches!(load(&path, &store), Err(RowsFileError::Checksum { position: 7, .. })));
    store.remove(&[7, 49]).expect("present");
    assert_same(&load(&path, &store).expect("readable"), &store);
    assert!(matches!(file.purge(&[50]), Err(RowsFileError::Truncated { .. })));
}

#[test]
fn the_tail_of_an_unfinished_append_is_ignored_and_then_cut_off() {
    let mut store = store(20, DIM, Precision::F64);
    let (_folder, path) = written(&store);
    let mut bytes = std::fs::read(&path).expect("readable");
    bytes.extend([0xaa; 3 * RECORD + 17]);
    std::fs::write(&path, &bytes).expect("writable");
    assert_same(&load(&path, &store).expect("readable"), &store);

    let added = store.append(encoded(20, 2, DIM, Precision::F64)).expect("new ids");
    let mut file = RowsFile::open(&path).expect("readable");
    file.append(&store, added).expect("writable");
    assert_eq!(std::fs::metadata(&path).expect("readable").len() as usize, 64 + 22 * RECORD);
    assert_same(&load(&path, &store).expect("readable"), &store);
}

#[test]
fn a_flipped_byte_is_noticed_wherever_it_is() {
    let store = store(4, DIM, Precision::F64);
    let (_folder, path) = written(&store);
    let good = std::fs::read(&path).expect("readable");
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        std::fs::write(&path, &bad).expect("writable");
        let error = load(&path, &store).expect_err("must be noticed");
        match error {
            RowsFileError::Checksum { position, .. } => assert_eq!(position, (at - 64) / RECORD),
            _ => assert!(at < 64, "byte {at}: {error}"),
        }
    }
    // Two records that changed places are whole, but not where they belong.
    let mut swapped = good.clone();
    swapped[64..64 + RECORD].copy_from_slice(&good[64 + RECORD..64 + 2 * RECORD]);
    swapped[64 + RECORD..64 + 2 * RECORD].copy_from_slice(&good[64..64 + RECORD]);
    std::fs::write(&path, &swapped).expect("writable");
    assert!(matches!(load(&path, &store), Err(RowsFileError::Checksum { position: 0, .. })));
}

#[test]
fn files_that_are_cut_foreign_or_too_new_are_refused() {
    let store = store(4, DIM, Precision::F64);
    let (_folder, path) = written(&store);
    let good = std::fs::read(&path).expect("readable");
    for length in 0..good.len() {
        std::fs::write(&path, &good[..length]).expect("writable");
        assert!(load(&path, &store).is_err(), "cut to {length} bytes");
    }
    let mut newer = good.clone();
    newer[8] = 2;
    std::fs::write(&path, &newer).expect("writable");
    let error = RowsFile::open(&path).expect_err("too new").to_string();
    assert!(error.ends_with("version 2 of the rows format is unknown; this program reads version 1"), "{error}");
    std::fs::write(&path, b"id,a,b\n".repeat(20)).expect("writable");
    assert!(matches!(RowsFile::open(&path), Err(RowsFileError::BadHeader { .. })));
}

#[test]
fn more_rows_than_the_file_can_hold_are_refused_before_memory_is_taken() {
    let store = store(4, DIM, Precision::F64);
    let (_folder, path) = written(&store);
    let mut file = RowsFile::open(&path).expect("readable");
    let many = vec![None; 1_000_000];
    let error = file.load(store.empty_like(), many.clone(), many).expect_err("too many");
    assert!(matches!(error, RowsFileError::Truncated { n_records: 1_000_000, .. }));
    let other = file.load(empty(DIM + 1, Precision::F64), vec![], vec![]).expect_err("another shape");
    assert!(matches!(other, RowsFileError::Shape { .. }));
    let (mut ids, subjects) = index(&store);
    ids[1] = ids[0].clone();
    assert!(matches!(file.load(store.empty_like(), ids, subjects), Err(RowsFileError::Index { .. })));
}

#[test]
fn a_new_file_is_for_its_owner_only_and_never_overwrites_another() {
    let store = store(1, DIM, Precision::F64);
    let (_folder, path) = written(&store);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(&path).expect("readable").permissions().mode() & 0o777, 0o600);
    }
    assert!(matches!(RowsFile::create(&path, 1, Precision::F32), Err(RowsFileError::Io { .. })));
    assert!(matches!(RowsFile::create(&path, 0, Precision::F32), Err(RowsFileError::BadHeader { .. })));
}

/// Files of every released version are read for ever. `EFFACE_WRITE_COMPAT=1` writes those of this one, once.
#[test]
fn files_of_version_1_are_still_read() {
    for precision in [Precision::F32, Precision::F64] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/compat/rows-v1/{precision}.bin"));
        let mut store = store(10, 3, precision);
        if std::env::var_os("EFFACE_WRITE_COMPAT").is_some() {
            let mut file = RowsFile::create(&path, store.dim(), store.precision()).expect("writable");
            file.append(&store, 0..10).and_then(|()| file.purge(&[3])).expect("writable");
        }
        store.remove(&[3, 7]).expect("present");
        assert_same(&load(&path, &store).expect("readable"), &store);
    }
}
