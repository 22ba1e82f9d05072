//! What is damaged, cut or foreign is noticed and named.

use std::path::Path;

use efface_data::{SegmentError, StoredRowsError};

use super::{BLOCK, LEADING, N, bytes, gram, open, refusal, sample, segment_path};
use crate::samples::{contents, crc32};

#[test]
fn a_damaged_record_is_named_and_refused_at_the_first_reading() {
    let (folder, path, rows) = sample();
    rows.sync().expect("writable");
    let good = bytes(&path, 1);
    let memory = contents(&rows);
    for at in 4096..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        std::fs::write(segment_path(&path, 1), &bad).expect("writable");
        let damaged = open(&path, N, &[]).expect("headers are whole");
        let (block, within) = ((at - 4096) / BLOCK, (at - 4096) % BLOCK);
        let row = match within {
            0..56 => within / 8,
            56..112 => (within - 56) / 8,
            112..140 => (within - 112) / 4,
            140..144 => {
                // Padding says nothing.
                assert_eq!(contents(&damaged), memory);
                continue;
            }
            _ => (within - LEADING) / 48,
        };
        let position = 14 + 7 * block + row;
        let text = format!("rows/000001.rows: the row at position {position} is damaged: its checksum does not match");
        assert_eq!(refusal(&folder, damaged.verify(1)), text);
        let text = format!("rows could not be read: {}/{text}", folder.path().display());
        assert_eq!(gram(&damaged).expect_err("must be noticed"), text);
        assert_eq!(gram(&damaged).expect_err("must be noticed again"), text);
        assert!(damaged.batch(&[position]).is_err() && damaged.batch(&[(position + 1) % N]).is_ok());
        assert!(damaged.verify(0).is_ok() && damaged.verify(2).is_ok());
        // A row that is gone may be damaged.
        assert!(gram(&open(&path, N, &[position]).expect("headers are whole")).is_ok());
    }
    // Two records that changed places are whole, but not where they belong.
    let mut swapped = good.clone();
    for (first, size) in [(0, 8), (56, 8), (112, 4), (LEADING, 48)] {
        let (a, b) = (4096 + first, 4096 + first + size);
        swapped[a..a + size].copy_from_slice(&good[b..b + size]);
        swapped[b..b + size].copy_from_slice(&good[a..a + size]);
    }
    std::fs::write(segment_path(&path, 1), &swapped).expect("writable");
    let error = open(&path, N, &[]).expect("headers are whole").verify(1).expect_err("must be noticed");
    assert!(matches!(error, StoredRowsError::File(SegmentError::Checksum { position: 14, .. })));
}

#[test]
fn a_file_cut_at_any_length_is_an_error() {
    let (folder, path, rows) = sample();
    drop(rows);
    for segment in 0..3 {
        let good = bytes(&path, segment);
        let file = std::fs::OpenOptions::new().write(true).open(segment_path(&path, segment)).expect("writable");
        for length in (0..good.len()).rev() {
            file.set_len(length as u64).expect("writable");
            let error = refusal(&folder, open(&path, N, &[]));
            let name = format!("rows/00000{segment}.rows: ");
            if length < 64 {
                assert_eq!(error, format!("{name}not a file of rows: it ends within the header"));
            } else {
                let needed = good.len();
                assert_eq!(error, format!("{name}truncated: {length} bytes, {needed} needed for 37 rows"));
            }
        }
        std::fs::write(segment_path(&path, segment), &good).expect("writable");
    }
    std::fs::remove_file(segment_path(&path, 1)).expect("writable");
    assert!(refusal(&folder, open(&path, N, &[])).starts_with("rows/000001.rows: "));
    assert!(refusal(&folder, open(&path, usize::MAX, &[])).starts_with("rows/000001.rows: "));
    assert!(open(&path, 14, &[]).is_ok() && open(&path, 14, &[14]).is_err());
}

/// Rewrites the header of a segment with a valid checksum.
fn change_header(path: &Path, segment: usize, at: usize, with: &[u8]) {
    let mut bytes = bytes(path, segment);
    bytes[at..at + with.len()].copy_from_slice(with);
    let checksum = crc32(&bytes[..60]).to_le_bytes();
    bytes[60..64].copy_from_slice(&checksum);
    std::fs::write(segment_path(path, segment), bytes).expect("writable");
}

#[test]
fn foreign_newer_and_absurd_headers_are_refused_before_memory_is_taken() {
    let cases: [(usize, usize, &[u8], &str); 12] = [
        (0, 0, b"X", "rows/000000.rows: not a file of rows: it does not begin with the magic bytes"),
        (0, 8, &[2], "rows/000000.rows: version 2 of the rows format is unknown; this program reads version 1"),
        (0, 56, &[2], "rows/000000.rows: not a file of rows: the flag for weights is neither 0 nor 1"),
        (
            1,
            56,
            &[1],
            "rows/000001.rows: weighted rows of 6 values in f64, blocks of 7, 2 blocks per segment, \
             but the first segment has rows of 6 values in f64, blocks of 7, 2 blocks per segment",
        ),
        (0, 12, &[5], "rows/000000.rows: not a file of rows: values have neither 4 nor 8 bytes"),
        (0, 16, &[0; 8], "values per row must be 1 to 2^32 - 1, got 0"),
        (0, 16, &[0xff; 8], "values per row must be 1 to 2^32 - 1, got 18446744073709551615"),
        (0, 24, &[0xff; 8], "rows per block must be 1 to 256, got 18446744073709551615"),
        (
            0,
            32,
            &[0xff; 8],
            "blocks per segment must be 1 or more, and a segment less than 2^62 bytes, got 18446744073709551615",
        ),
        (0, 40, &[3], "rows/000000.rows: this is segment 3, expected segment 0"),
        (1, 40, &[0], "rows/000001.rows: this is segment 0, expected segment 1"),
        (
            2,
            12,
            &[4],
            "rows/000002.rows: rows of 6 values in f32, blocks of 7, 2 blocks per segment, \
             but the first segment has rows of 6 values in f64, blocks of 7, 2 blocks per segment",
        ),
    ];
    for (segment, at, with, text) in cases {
        let (folder, path, rows) = sample();
        drop(rows);
        change_header(&path, segment, at, with);
        assert_eq!(refusal(&folder, open(&path, N, &[])), text);
    }
    // As wide as a row may be: 2³² − 1 values. The size of the file says that there is no such row.
    let (folder, path, rows) = sample();
    drop(rows);
    change_header(&path, 0, 16, &[0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
    let error = refusal(&folder, open(&path, N, &[]));
    assert!(error.starts_with("rows/000000.rows: truncated: "), "{error}");
    // A damaged header without a new checksum is read from its copy, unless that is damaged too.
    let (folder, path, rows) = sample();
    drop(rows);
    let mut damaged = bytes(&path, 0);
    damaged[16] ^= 1;
    std::fs::write(segment_path(&path, 0), &damaged).expect("writable");
    assert_eq!(open(&path, N, &[]).expect("readable").layout().dim, 6);
    damaged[2048 + 16] ^= 1;
    std::fs::write(segment_path(&path, 0), damaged).expect("writable");
    let text = "rows/000000.rows: not a file of rows: the checksum of its header does not match";
    assert_eq!(refusal(&folder, open(&path, N, &[])), text);
}
