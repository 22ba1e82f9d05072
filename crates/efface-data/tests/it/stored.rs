//! Rows in segments: what is written is read back, what is purged is gone, what is damaged is noticed.

use std::path::{Path, PathBuf};

use efface_core::linalg::TrackedMatrix;
use efface_core::rounding::UpperBound;
use efface_core::rows::{RowStore, Sign};
use efface_data::{Precision, RowLayout, RowsFileError, StoredRows, StoredRowsError};
use tempfile::TempDir;

use crate::samples::{ALL, SALT, TRANSFORM, contents, crc32, encoded, store, stored, without_folder};

const DIM: usize = 5;
/// Three segments for 37 rows: 14, 14 and 9.
const N: usize = 37;
const SMALL: RowLayout = RowLayout { dim: DIM + 1, precision: Precision::F64, block_rows: 7, segment_blocks: 2 };
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
    StoredRows::open(path, bound(), 0, n, gone.iter().copied())
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
    let mut gram = TrackedMatrix::zeros(store.dim());
    store.add_gram(Sign::Add, &mut gram).map_err(|error| error.to_string())?;
    Ok(gram)
}

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
            assert_eq!(read.label(position).expect("readable"), memory.label(position));
            assert_eq!(read.batch(&[position]).expect("readable").row(0), memory.row(position));
        }
        assert_eq!(read.label(37).expect("readable"), None);
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
    assert_eq!(bytes[64..4096], [0; 4032]);
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
        let text = format!("rows/000001.rows: checksum of the row at position {position} does not match");
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
    assert!(matches!(error, StoredRowsError::File(RowsFileError::Checksum { position: 14, .. })));
}

#[test]
fn a_row_that_is_gone_never_enters_a_sum_whatever_its_bytes() {
    let (_folder, path, mut rows) = sample();
    rows.sync().expect("writable");
    let backup = bytes(&path, 0);
    let mut memory = store(N, DIM, Precision::F64);
    memory.remove(&[3, 4, 20]).expect("present");
    contents(&rows);
    rows.remove(&[3, 4, 20]).expect("present");
    assert_eq!(contents(&rows), contents(&memory));
    assert_eq!(rows.gone().collect::<Vec<_>>(), [3, 4, 20]);
    assert_eq!(rows.count_classes(3).expect("readable"), memory.class_counts(3));
    rows.purge(&[3, 4, 20]).expect("writable");
    assert_eq!(contents(&open(&path, N, &[3, 4, 20]).expect("readable")), contents(&memory));
    // The file as it was before the removal, with valid checksums.
    std::fs::write(segment_path(&path, 0), &backup).expect("writable");
    let restored = open(&path, N, &[3, 4, 20]).expect("readable");
    assert_eq!(contents(&restored), contents(&memory));
    assert_eq!(gram(&restored).expect("readable").parts().0, gram(&rows).expect("readable").parts().0);
    assert!(restored.batch(&[3]).is_err());
    assert_eq!(restored.label(3).expect("readable"), None);
}

#[test]
fn removal_is_refused_as_a_whole() {
    let (_folder, _path, mut rows) = sample();
    rows.remove(&[5]).expect("present");
    for wrong in [&[1, 5][..], &[1, N], &[1, 2, 1], &[usize::MAX]] {
        assert!(rows.remove(wrong).is_err());
        assert_eq!(rows.n_rows(), N - 1);
    }
    let text = "the row at position 6 is present; it must be removed before it is purged";
    assert_eq!(rows.purge(&[5, 6]).expect_err("present").to_string(), text);
    assert!(rows.purge(&[N]).is_err());
    assert!(open(Path::new("/nowhere"), 1, &[]).is_err());
}

#[test]
fn a_purged_row_leaves_no_byte_behind_and_purging_again_changes_nothing() {
    for precision in [Precision::F32, Precision::F64] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut rows = stored(folder.path(), RowLayout { precision, ..SMALL }, 0, 0);
        let labels: Vec<f64> = (0..N).map(|row| 1234.5 + row as f64).collect();
        let new = encoded(0, N, DIM, precision).with_labels(labels).expect("one per row");
        rows.append(&new, &new.selectors(&SALT)).expect("writable");
        let before = contents(&rows);
        let gone = [6, 7, 8, 13, 14, 36];
        let traces: Vec<Vec<u8>> = gone
            .iter()
            .flat_map(|position| {
                let (features, label, selector) = before[*position].clone().expect("present");
                let features = features.into_iter().take(DIM).map(|x| match precision {
                    Precision::F32 => (x as f32).to_le_bytes().to_vec(),
                    Precision::F64 => x.to_le_bytes().to_vec(),
                });
                features.chain([label.to_le_bytes().to_vec(), selector.to_le_bytes().to_vec()]).collect::<Vec<_>>()
            })
            .collect();
        let found = || {
            let files: Vec<u8> = (0..3).flat_map(|segment| bytes(folder.path(), segment)).collect();
            traces.iter().filter(|trace| files.windows(trace.len()).any(|window| window == trace.as_slice())).count()
        };
        assert_eq!(found(), traces.len());
        rows.remove(&gone).expect("present");
        rows.purge(&gone).expect("writable");
        assert_eq!(found(), 0);
        let once: Vec<Vec<u8>> = (0..3).map(|segment| bytes(folder.path(), segment)).collect();
        rows.purge(&[36, 36, 6]).expect("writable");
        rows.purge(&[]).expect("nothing to do");
        assert_eq!(once, (0..3).map(|segment| bytes(folder.path(), segment)).collect::<Vec<_>>());
        // The neighbours are whole.
        let read = open(folder.path(), N, &gone).expect("readable");
        (0..3).for_each(|segment| read.verify(segment).expect("whole"));
        let after = contents(&read);
        (0..N).for_each(|position| assert_eq!(after[position].is_none(), gone.contains(&position)));
        assert!((0..N).all(|position| after[position].is_none() || after[position] == before[position]));
    }
}

#[test]
fn rows_that_were_not_committed_are_overwritten_and_forgotten() {
    let (folder, path, mut rows) = sample();
    let before = contents(&rows);
    let traces: Vec<Vec<u8>> = before[17..].iter().flatten().map(|row| row.0[0].to_le_bytes().to_vec()).collect();
    rows.remove(&[2, 30]).expect("present");
    rows.truncate(17).expect("writable");
    assert_eq!((rows.len(), rows.n_rows(), rows.n_segments()), (17, 16, 2));
    assert_eq!(rows.gone().collect::<Vec<_>>(), [2]);
    assert!(!segment_path(&path, 2).exists());
    assert_eq!(bytes(&path, 1).len(), 4096 + LEADING + 3 * 48);
    let files = [bytes(&path, 0), bytes(&path, 1)].concat();
    assert!(traces.iter().all(|trace| !files.windows(8).any(|window| window == trace.as_slice())));
    assert_eq!(contents(&rows)[..2], before[..2]);
    assert_eq!(refusal(&folder, rows.truncate(18)), "cannot keep 18 positions, there are 17");

    // Other rows take their positions.
    let new = encoded(100, 30, DIM, Precision::F64);
    assert_eq!(rows.append(&new, &new.selectors(&SALT)).expect("writable"), 17..47);
    let expected = contents(&stored(&folder.path().join("other"), SMALL, 0, N));
    let all = contents(&rows);
    assert_eq!((&all[3..17], all.len(), all[2].is_none()), (&expected[3..17], 47, true));
    assert_eq!(contents(&open(&path, 47, &[2]).expect("readable")), all);
    rows.truncate(0).expect("writable");
    assert_eq!((rows.len(), rows.n_rows(), rows.n_segments(), rows.n_blocks()), (0, 0, 1, 0));
    assert_eq!(bytes(&path, 0).len(), 4096);
}

#[test]
fn the_tail_of_an_unfinished_append_is_never_read_and_then_overwritten() {
    let (_folder, path, rows) = sample();
    let before = contents(&rows);
    drop(rows);
    // Only 20 rows were committed. Segment 1 is cut in the middle of a record, and there is rubbish further on.
    let mut torn = bytes(&path, 1);
    torn.truncate(4096 + LEADING + 6 * 48 + 17);
    torn[4096 + 6 * 8..4096 + 7 * 8].fill(0xaa);
    std::fs::write(segment_path(&path, 1), &torn).expect("writable");
    std::fs::write(segment_path(&path, 2), b"not even a header").expect("writable");
    std::fs::write(segment_path(&path, 7), [0xaa; 10_000]).expect("writable");
    std::fs::write(path.join("notes.txt"), b"mine").expect("writable");
    assert_eq!(contents(&open(&path, 20, &[]).expect("readable")), before[..20]);

    let mut rows = open(&path, 20, &[]).expect("readable");
    rows.truncate(20).expect("writable");
    assert!(!segment_path(&path, 2).exists() && !segment_path(&path, 7).exists() && path.join("notes.txt").exists());
    assert_eq!(bytes(&path, 1).len(), 4096 + LEADING + 6 * 48);
    assert_eq!(bytes(&path, 1)[4096 + 6 * 8..4096 + 7 * 8], [0; 8]);

    std::fs::write(segment_path(&path, 1), &torn).expect("writable");
    std::fs::write(segment_path(&path, 2), b"not even a header").expect("writable");
    let mut rows = open(&path, 20, &[]).expect("readable");
    let new = encoded(20, 17, DIM, Precision::F64);
    rows.append(&new, &new.selectors(&SALT)).expect("writable");
    assert_eq!(rows.len(), N);
    assert_eq!(contents(&open(&path, N, &[]).expect("readable")), contents(&rows));
    assert_eq!(contents(&rows)[..20], before[..20]);
}

#[test]
fn a_failed_append_adds_nothing() {
    let (folder, _path, mut rows) = sample();
    let new = encoded(100, 3, DIM, Precision::F64);
    assert_eq!(refusal(&folder, rows.append(&new, &[1, 2])), "2 selectors for 3 rows");
    let single = encoded(100, 3, DIM, Precision::F32);
    assert_eq!(refusal(&folder, rows.append(&single, &[1, 2, 3])), "rows are encoded as f32, the store keeps f64");
    let wide = encoded(100, 3, DIM + 1, Precision::F64);
    assert_eq!(refusal(&folder, rows.append(&wide, &[1, 2, 3])), "rows have 7 model features, the store has 6");
    assert_eq!(rows.len(), N);
    // A folder stands where the next segment belongs.
    let blocked = folder.path().join("rows/000003.rows");
    std::fs::create_dir(&blocked).expect("writable");
    let many = encoded(100, 20, DIM, Precision::F64);
    assert!(rows.append(&many, &many.selectors(&SALT)).is_err());
    assert_eq!((rows.len(), contents(&rows).len()), (N, N));
    std::fs::remove_dir(&blocked).expect("writable");
    assert_eq!(rows.append(&many, &many.selectors(&SALT)).expect("writable"), N..N + 20);
    assert_eq!((rows.n_segments(), contents(&rows).len()), (5, N + 20));
}

#[test]
fn labels_are_replaced_without_touching_the_features() {
    let (_folder, path, mut rows) = sample();
    rows.remove(&[4, 22]).expect("present");
    rows.purge(&[4]).expect("writable");
    let before = contents(&rows);
    rows.relabel(&[0.0, 1.0, 2.0]).and_then(|()| rows.relabel(&[])).expect("nothing to do");
    let error = rows.relabel(&[1.0, 0.0]).expect_err("label 2").to_string();
    assert_eq!(error, "label 2 of the row at position 2 is none of the 2 class numbers");
    assert_eq!(contents(&rows), before);
    rows.relabel(&[2.0, 2.0, 0.0]).expect("writable");
    let expected: Vec<_> = before
        .into_iter()
        .map(|row| row.map(|(features, label, selector)| (features, [2.0, 2.0, 0.0][label as usize], selector)))
        .collect();
    assert_eq!(contents(&rows), expected);
    let read = open(&path, N, &[4, 22]).expect("readable");
    assert_eq!(contents(&read), expected);
    (0..3).for_each(|segment| read.verify(segment).expect("whole"));
    assert_eq!(read.count_classes(3).expect("readable").iter().sum::<usize>(), N - 2);
}

#[test]
fn segments_are_stamped_when_they_have_changed() {
    let (_folder, path, mut rows) = sample();
    rows.stamp(5).expect("writable");
    assert_eq!(rows.epochs(), [5, 5, 5]);
    rows.stamp(6).expect("nothing to do");
    rows.remove(&[15]).expect("present");
    rows.stamp(6).expect("nothing to do");
    assert_eq!(rows.epochs(), [5, 5, 5]);
    rows.purge(&[15]).expect("writable");
    rows.stamp(7).expect("writable");
    assert_eq!(rows.epochs(), [5, 7, 5]);
    let new = encoded(100, 7, DIM, Precision::F64);
    rows.append(&new, &new.selectors(&SALT)).expect("writable");
    rows.stamp(8).expect("writable");
    assert_eq!(rows.epochs(), [5, 7, 8, 8]);
    rows.truncate(30).expect("writable");
    rows.stamp(9).expect("writable");
    let read = open(&path, 30, &[15]).expect("readable");
    assert_eq!((rows.epochs(), read.epochs()), (vec![5, 7, 9], vec![5, 7, 9]));
    assert_eq!(contents(&read), contents(&rows));
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
    let cases: [(usize, usize, &[u8], &str); 10] = [
        (0, 0, b"X", "rows/000000.rows: not a file of rows: it does not begin with the magic bytes"),
        (0, 8, &[2], "rows/000000.rows: version 2 of the rows format is unknown; this program reads version 1"),
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
    // A damaged header without a new checksum.
    let (folder, path, rows) = sample();
    drop(rows);
    let mut damaged = bytes(&path, 0);
    damaged[16] ^= 1;
    std::fs::write(segment_path(&path, 0), damaged).expect("writable");
    let text = "rows/000000.rows: not a file of rows: the checksum of its header does not match";
    assert_eq!(refusal(&folder, open(&path, N, &[])), text);
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
    assert!(StoredRows::create(&folder.path().join("a/b"), SMALL, bound(), 0).is_err());
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

/// Files of every released version are read for ever. `EFFACE_WRITE_COMPAT=1` writes those of this one, once.
#[test]
fn segments_of_version_1_are_still_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compat/row-segments-v1");
    let layout = RowLayout { dim: 4, precision: Precision::F32, block_rows: 3, segment_blocks: 2 };
    if std::env::var_os("EFFACE_WRITE_COMPAT").is_some() {
        let mut rows = stored(&path, layout, 0, 10);
        rows.remove(&[3, 7]).expect("present");
        rows.purge(&[3]).and_then(|()| rows.stamp(9)).expect("writable");
    }
    let rows = open(&path, 10, &[3, 7]).expect("readable");
    let mut memory = store(10, 3, Precision::F32);
    memory.remove(&[3, 7]).expect("present");
    assert_eq!(contents(&rows), contents(&memory));
    assert_eq!((*rows.layout(), rows.epochs()), (layout, vec![9, 9]));
}
