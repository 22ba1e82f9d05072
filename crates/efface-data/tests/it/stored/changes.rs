//! Rows come and go: what is purged is gone, and what was not committed never was there.

use std::path::Path;

use efface_core::rounding::UpperBound;
use efface_core::rows::{RowBlocks, RowStore};
use efface_data::{AppendError, Precision, RowLayout, StoredRows, StoredRowsError};

use super::{DIM, LEADING, N, SMALL, bytes, gram, open, refusal, sample, segment_path};
use crate::samples::{contents, encoded, key, store, stored};

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
    assert_eq!(super::gone(&rows), [3, 4, 20]);
    assert_eq!(rows.count_classes(3).expect("readable"), memory.class_counts(3));
    rows.purge(&[3, 4, 20]).expect("writable");
    assert_eq!(contents(&open(&path, N, &[3, 4, 20]).expect("readable")), contents(&memory));
    // The file as it was before the removal, with valid checksums.
    std::fs::write(segment_path(&path, 0), &backup).expect("writable");
    let restored = open(&path, N, &[3, 4, 20]).expect("readable");
    assert_eq!(contents(&restored), contents(&memory));
    assert_eq!(gram(&restored).expect("readable").parts().0[..], gram(&rows).expect("readable").parts().0[..]);
    assert!(restored.batch(&[3]).is_err());
    assert!(restored.batch(&[3]).is_err());
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
        rows.append(&new, &new.selectors(&key())).expect("writable");
        let before = contents(&rows);
        let gone = [6, 7, 8, 13, 14, 36];
        let traces: Vec<Vec<u8>> = gone
            .iter()
            .flat_map(|position| {
                let (features, label, selector, _) = before[*position].clone().expect("present");
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
    assert_eq!(super::gone(&rows), [2]);
    assert!(!segment_path(&path, 2).exists());
    assert_eq!(bytes(&path, 1).len(), 4096 + LEADING + 3 * 48);
    let files = [bytes(&path, 0), bytes(&path, 1)].concat();
    assert!(traces.iter().all(|trace| !files.windows(8).any(|window| window == trace.as_slice())));
    assert_eq!(contents(&rows)[..2], before[..2]);
    assert_eq!(refusal(&folder, rows.truncate(18)), "cannot keep 18 positions, there are 17");

    // Other rows take their positions.
    let new = encoded(100, 30, DIM, Precision::F64);
    assert_eq!(rows.append(&new, &new.selectors(&key())).expect("writable"), 17..47);
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
    rows.append(&new, &new.selectors(&key())).expect("writable");
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
    let mut short = StoredRows::create(&folder.path().join("short"), SMALL, UpperBound::new(1.0), 0).expect("writable");
    let error = short.append(&new, &[1, 2, 3]).expect_err("an intercept makes rows longer than 1");
    assert!(matches!(error, StoredRowsError::Append(AppendError::NormBound { limit: 1.0, .. })));
    assert_eq!((rows.len(), short.len()), (N, 0));
    // A folder stands where the next segment belongs.
    let blocked = folder.path().join("rows/000003.rows");
    std::fs::create_dir(&blocked).expect("writable");
    let many = encoded(100, 20, DIM, Precision::F64);
    assert!(rows.append(&many, &many.selectors(&key())).is_err());
    assert_eq!((rows.len(), contents(&rows).len()), (N, N));
    std::fs::remove_dir(&blocked).expect("writable");
    assert_eq!(rows.append(&many, &many.selectors(&key())).expect("writable"), N..N + 20);
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
    let expected: Vec<_> =
        before.into_iter().map(|row| row.map(|row| (row.0, [2.0, 2.0, 0.0][row.1 as usize], row.2, row.3))).collect();
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
    rows.append(&new, &new.selectors(&key())).expect("writable");
    rows.stamp(8).expect("writable");
    assert_eq!(rows.epochs(), [5, 7, 8, 8]);
    rows.truncate(30).expect("writable");
    rows.stamp(9).expect("writable");
    let read = open(&path, 30, &[15]).expect("readable");
    assert_eq!((rows.epochs(), read.epochs()), (vec![5, 7, 9], vec![5, 7, 9]));
    assert_eq!(contents(&read), contents(&rows));
}
