//! The header of a segment, as bytes and back. Layout: `docs/design/row-segments.md`.

use std::path::Path;

use super::layout::{HEADER_BYTES, RowLayout};
use crate::error::SegmentError;
use crate::rows::Precision;

/// What a header says, its numbers not yet checked against anything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) layout: RowLayout,
    pub(super) segment: u64,
    pub(super) epoch: u64,
}

impl Header {
    pub(super) fn to_bytes(self) -> [u8; FIELD_BYTES] {
        let RowLayout { dim, precision, block_rows, segment_blocks, weighted } = self.layout;
        let mut bytes = [0; FIELD_BYTES];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&(precision.bytes() as u32).to_le_bytes());
        let numbers = [dim as u64, block_rows as u64, segment_blocks as u64, self.segment, self.epoch];
        for (field, number) in bytes[16..].chunks_exact_mut(8).zip(numbers) {
            field.copy_from_slice(&number.to_le_bytes());
        }
        bytes[WEIGHTED_AT..CHECKSUM_AT].copy_from_slice(&u32::from(weighted).to_le_bytes());
        let checksum = crc32fast::hash(&bytes[..CHECKSUM_AT]);
        bytes[CHECKSUM_AT..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Whether the bytes have the checksum that they were written with.
    pub(super) fn is_whole(bytes: &[u8; FIELD_BYTES]) -> bool {
        bytes[CHECKSUM_AT..] == crc32fast::hash(&bytes[..CHECKSUM_AT]).to_le_bytes()
    }

    /// Magic, version and checksum are checked, in this order.
    pub(super) fn parse(bytes: &[u8; FIELD_BYTES], file: &Path) -> Result<Self, SegmentError> {
        let bad = |reason| SegmentError::BadHeader { file: file.into(), reason };
        if !bytes.starts_with(MAGIC) {
            return Err(bad("it does not begin with the magic bytes"));
        }
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let number = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        if word(8) != VERSION {
            return Err(SegmentError::UnknownVersion { file: file.into(), found: word(8), known: VERSION });
        }
        if !Self::is_whole(bytes) {
            return Err(bad("the checksum of its header does not match"));
        }
        let precision = match word(12) {
            4 => Precision::F32,
            8 => Precision::F64,
            _ => return Err(bad("values have neither 4 nor 8 bytes")),
        };
        let weighted = match word(WEIGHTED_AT) {
            0 => false,
            1 => true,
            _ => return Err(bad("the flag for weights is neither 0 nor 1")),
        };
        let count = |at| usize::try_from(number(at)).map_err(|_| bad("a count is too large for this machine"));
        let (dim, block_rows, segment_blocks) = (count(16)?, count(24)?, count(32)?);
        let layout = RowLayout { dim, precision, block_rows, segment_blocks, weighted };
        Ok(Self { layout, segment: number(40), epoch: number(48) })
    }
}

const MAGIC: &[u8; 8] = b"EFFRSEG\0";
const VERSION: u32 = 1;
/// Bytes of the header that say something.
pub(super) const FIELD_BYTES: usize = 64;
/// Where they stand a second time, in another sector: one damaged bit must not lock a segment.
pub(super) const COPY_AT: u64 = 2048;
const WEIGHTED_AT: usize = 56;
const CHECKSUM_AT: usize = FIELD_BYTES - 4;
const _: () = assert!(COPY_AT + FIELD_BYTES as u64 <= HEADER_BYTES);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_back_and_every_flipped_bit_is_noticed() {
        let layout =
            RowLayout { dim: 300, precision: Precision::F64, block_rows: 7, segment_blocks: 1 << 33, weighted: false };
        for weighted in [false, true] {
            let header = Header { layout: RowLayout { weighted, ..layout }, segment: 5, epoch: u64::MAX - 1 };
            let bytes = header.to_bytes();
            assert_eq!((&bytes[8..12], &bytes[56..60]), (&[1, 0, 0, 0][..], &[u8::from(weighted), 0, 0, 0][..]));
            assert_eq!(Header::parse(&bytes, Path::new("x")).expect("valid"), header);
            for bit in 0..8 * FIELD_BYTES {
                let mut bad = bytes;
                bad[bit / 8] ^= 1 << (bit % 8);
                assert!(Header::parse(&bad, Path::new("x")).is_err(), "bit {bit}");
            }
        }
    }
}
