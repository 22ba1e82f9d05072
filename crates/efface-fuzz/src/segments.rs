//! Rows on disk: a pass over a segment succeeds only when every record is whole.

use efface_core::rounding::UpperBound;
use efface_core::rows::RowBlocks;
use efface_data::{Access, PositionSet, StoredRows};

use crate::scratch;

/// Segment 0 of a folder, as it is and with the checksum of its header put right.
pub(crate) fn row_segment(bytes: &[u8]) {
    pass_over_segment(bytes);
    let mut sealed = bytes.to_vec();
    if seal_header(&mut sealed) {
        pass_over_segment(&sealed);
    }
}

fn pass_over_segment(bytes: &[u8]) {
    let folder = scratch::empty_folder("rows");
    scratch::write(&folder.join("000000.rows"), bytes);
    for (n_positions, memory_bytes) in [(0, 0), (1, 0), (5, 1 << 20), (60, 0), (600, 1 << 20)] {
        for gone in [vec![], vec![n_positions / 2]] {
            let gone: PositionSet = gone.into_iter().filter(|position| *position < n_positions).collect();
            let Ok(rows) = StoredRows::open(
                Access::Read,
                &folder,
                UpperBound::new(1.0),
                memory_bytes,
                n_positions,
                gone.clone(),
                None,
            ) else {
                continue;
            };
            let present: Vec<usize> = (0..n_positions).filter(|position| !gone.contains(*position)).collect();
            let mut n_rows = 0;
            let passed = (0..rows.n_blocks()).try_for_each(|index| {
                rows.visit_block(index, &mut |block| {
                    n_rows += block.present.iter().filter(|present| **present).count();
                    assert_eq!(block.labels.len(), block.present.len(), "labels of a block");
                    assert_eq!(block.selectors.len(), block.present.len(), "selectors of a block");
                    assert_eq!(block.row_weights.len(), block.present.len(), "weights of a block");
                })
            });
            assert_eq!(passed.is_ok(), rows.verify(0).is_ok(), "a pass and the verification disagree");
            assert_eq!(passed.is_ok(), rows.batch(&present).is_ok(), "a pass and single rows disagree");
            let _ = (rows.count_classes(3), rows.batch(&[0]), rows.epochs());
            if passed.is_ok() {
                assert_eq!(n_rows, present.len(), "rows of a pass");
                for position in present {
                    check_record(bytes, position);
                }
            }
        }
    }
}

/// Compares the checksum of a record with its bytes, as `docs/design/row-segments.md` lays them out.
fn check_record(segment: &[u8], position: usize) {
    let number = |at: usize| u64::from_le_bytes(field(segment, at)) as usize;
    let value_bytes = u32::from_le_bytes(field(segment, 12)) as usize;
    let (dim, block_rows) = (number(16), number(24));
    // Weights, where there are any, lie between selectors and checksums.
    let n_columns = if u32::from_le_bytes(field(segment, 56)) == 1 { 3 } else { 2 };
    let leading_bytes = ((8 * n_columns + 4) * block_rows).next_multiple_of(8);
    let block_bytes = leading_bytes + (block_rows * dim * value_bytes).next_multiple_of(8);
    let (block_at, row) = (4096 + position / block_rows * block_bytes, position % block_rows);
    let label: [u8; 8] = field(segment, block_at + 8 * row);
    let selector: [u8; 8] = field(segment, block_at + 8 * (block_rows + row));
    let weight: Option<[u8; 8]> = (n_columns == 3).then(|| field(segment, block_at + 8 * (2 * block_rows + row)));
    let checksum: [u8; 4] = field(segment, block_at + 8 * n_columns * block_rows + 4 * row);
    let features_at = block_at + leading_bytes + row * dim * value_bytes;
    let features = &segment[features_at..features_at + dim * value_bytes];
    let position = (position as u64).to_le_bytes();
    let weight = weight.as_ref().map_or(&[][..], |weight| weight);
    let expected = crc32(&[&position, &selector, weight, features]) ^ crc32(&[&position, &label, b"label"]);
    assert_eq!(u32::from_le_bytes(checksum), expected, "checksum of a record");
}

fn field<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut field = [0; N];
    field.copy_from_slice(&bytes[at..at + N]);
    field
}

fn crc32(parts: &[&[u8]]) -> u32 {
    crc32fast::hash(&parts.concat())
}

/// Headers end with the CRC-32 of their first 60 bytes. Tells whether that was another one.
fn seal_header(bytes: &mut [u8]) -> bool {
    let Some((content, checksum)) = bytes.split_at_mut_checked(60) else { return false };
    let Some(checksum) = checksum.first_chunk_mut::<4>() else { return false };
    let right = crc32fast::hash(content).to_le_bytes();
    std::mem::replace(checksum, right) != right
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_checksum_of_a_record_covers_all_of_it() {
        let weighted = include_bytes!("../../efface-data/tests/compat/row-segments/000000.rows");
        let unweighted = include_bytes!("../models/release.rows");
        for segment in [weighted.to_vec(), unweighted.to_vec()] {
            check_record(&segment, 1);
            let distinct: BTreeSet<bool> = (4096..segment.len())
                .map(|at| {
                    let mut altered = segment.clone();
                    altered[at] ^= 1;
                    std::panic::catch_unwind(|| check_record(&altered, 1)).is_ok()
                })
                .collect();
            assert_eq!(distinct.len(), 2);
        }
    }
}
