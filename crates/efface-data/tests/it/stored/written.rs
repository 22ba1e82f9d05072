//! What is written is read back, laid out as the design page says, and for its owner only.

use std::path::Path;

use efface_data::{Precision, RowLayout, StoredRows};

use super::{BLOCK, DIM, LEADING, N, SMALL, bound, bytes, open, refusal, sample, segment_path};
use crate::samples::{ALL, contents, crc32, store, stored};

#[test]
fn rows_are_read_back_as_they_were_written() {
    for precision in [Precision::F32, Precision::F64] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let layout = RowLayout { precision, ..SMALL };
        let written = stored(folder.path(), layout, ALL, N);
        written.sync().expect("writable");
        let memory = store(N, DIM, precision);
        let read = open(folder.path(), N, &[]).expect("readable");
        assert_eq!((read.len(), read.n_segments(), *read.layout()), (N, 3, layout));
        assert_eq!(contents(&read), contents(&memory));
        assert_eq!(read.count_classes(4).expect("readable"), memory.class_counts(4));
        for position in [0, 13, 36] {
            assert_eq!(read.batch(&[position]).expect("readable").label(0), memory.label(position));
            assert_eq!(read.batch(&[position]).expect("readable").row(0), memory.row(position));
        }
        assert!(read.batch(&[37]).is_err());
        (0..3).for_each(|segment| read.verify(segment).expect("whole"));
        let error = read.verify(3).expect_err("no such segment").to_string();
        assert_eq!(error, "no segment 3; there are 3");
        assert!(read.batch(&[5, 5]).is_err() && read.batch(&[37]).is_err());
    }
}

#[test]
fn the_layout_is_the_one_in_the_design_page() {
    let (_folder, path, rows) = sample();
    let memory = store(N, DIM, Precision::F64);
    let bytes = bytes(&path, 1);
    assert_eq!(bytes.len(), 4096 + 2 * BLOCK);
    assert_eq!(bytes[..24], *b"EFFRSEG\0\x01\0\0\0\x08\0\0\0\x06\0\0\0\0\0\0\0");
    let numbers = [7_u64, 2, 1, 0].map(u64::to_le_bytes).concat();
    assert_eq!(bytes[24..56], numbers);
    assert_eq!(bytes[56..60], [0; 4]);
    assert_eq!(bytes[60..64], crc32(&bytes[..60]).to_le_bytes());
    assert_eq!((&bytes[64..2048], &bytes[2112..4096]), (&[0; 1984][..], &[0; 1984][..]));
    assert_eq!(bytes[2048..2112], bytes[..64]);
    // Position 23 is row 2 of block 1 of segment 1.
    let block = &bytes[4096 + BLOCK..];
    let label = memory.label(23).expect("present").to_le_bytes();
    assert_eq!(block[16..24], label);
    let selector = contents(&rows)[23].clone().expect("present").2.to_le_bytes();
    assert_eq!(block[56 + 16..56 + 24], selector);
    let features: Vec<u8> = memory.row(23).expect("present").iter().flat_map(|x| x.to_le_bytes()).collect();
    assert_eq!(block[LEADING + 2 * 48..LEADING + 3 * 48], features);
    let position = 23_u64.to_le_bytes();
    let checksum =
        crc32(&[&position, &selector, &features[..]].concat()) ^ crc32(&[&position, &label, &b"label"[..]].concat());
    assert_eq!(block[112 + 8..112 + 12], checksum.to_le_bytes());
    assert_eq!(block[140..144], [0; 4]);
}

#[test]
#[cfg(unix)]
fn a_store_is_for_its_owner_only_and_never_overwrites_another() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, path, _rows) = sample();
    let mode = |path: &Path| std::fs::metadata(path).expect("readable").permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(&segment_path(&path, 0)), mode(&segment_path(&path, 2))), (0o700, 0o600, 0o600));
    let again = StoredRows::create(&path, SMALL, bound(), 0);
    assert!(refusal(&folder, again).starts_with("rows/000000.rows: "));
    let open_to_all = folder.path().join("shared");
    std::fs::create_dir(&open_to_all).expect("writable");
    StoredRows::create(&open_to_all, SMALL, bound(), 0).expect("writable");
    assert_eq!(mode(&open_to_all), 0o700);
    StoredRows::create(&folder.path().join("a/b"), SMALL, bound(), 0).expect("writable");
    assert_eq!((mode(&folder.path().join("a")), mode(&folder.path().join("a/b"))), (0o700, 0o700));
    let flat = StoredRows::create(&folder.path().join("c"), RowLayout { block_rows: 0, ..SMALL }, bound(), 0);
    assert_eq!(refusal(&folder, flat), "rows per block must be 1 to 256, got 0");
    assert!(!folder.path().join("c").exists());

    let file = segment_path(&path, 1);
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o400)).expect("owner");
    // Whoever may write to every file, such as root, is not stopped.
    if std::fs::OpenOptions::new().write(true).open(&file).is_err() {
        assert!(refusal(&folder, open(&path, N, &[])).starts_with("rows/000001.rows: "));
    }
}

#[test]
fn a_debug_print_shows_the_shape_only() {
    let (_folder, _path, rows) = sample();
    contents(&rows);
    assert_eq!(format!("{rows:?}"), "StoredRows { n_rows: 37, dim: 6, precision: F64, .. }");
}
