//! What is accepted as it is, and as nothing else.

use sha2::{Digest, Sha256};

/// If a file is accepted, a copy with one bit altered is not, nor one cut short, nor one with a byte more.
pub(crate) fn only_as_it_is(bytes: &[u8], accepts: impl Fn(&[u8]) -> bool) {
    if !accepts(bytes) {
        return;
    }
    // A bit that depends on all others.
    let bit = u64::from_le_bytes(*Sha256::digest(bytes).first_chunk().expect("32 bytes")) as usize % (8 * bytes.len());
    let mut altered = bytes.to_vec();
    altered[bit / 8] ^= 1 << (bit % 8);
    assert!(!accepts(&altered), "accepted with bit {bit} altered");
    assert!(!accepts(&bytes[..bit / 8]), "accepted when cut to {} bytes", bit / 8);
    altered[bit / 8] ^= 1 << (bit % 8);
    altered.push(b'\n');
    assert!(!accepts(&altered), "accepted with a byte more");
}
