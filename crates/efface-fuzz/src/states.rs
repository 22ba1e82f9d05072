//! State files: what is accepted has the right digest, is written again the same, and no damaged copy of it is accepted.

use std::sync::LazyLock;

use efface_engine::{Settings, fuzzing};
use serde_json::{Deserializer, Value};
use sha2::{Digest, Sha256};

/// `state/<generation>`, as it is and with sizes and digest put right.
pub(crate) fn state_file(bytes: &[u8]) {
    let read = |bytes: &[u8]| SETTINGS.iter().find_map(|settings| fuzzing::state_file(bytes, settings).ok());
    check(bytes, |bytes| read(bytes).is_some());
    let Some(sealed) = sealed(bytes, 36, 28) else { return };
    if let Some(written) = read(&sealed) {
        assert_eq!(read(&written).as_ref(), Some(&written), "a state that was read is written in another way");
    }
}

/// If a file is accepted, its digest is right and a copy with one bit altered is not accepted, nor one cut short.
fn check(bytes: &[u8], accepts: impl Fn(&[u8]) -> bool) {
    if !accepts(bytes) {
        return;
    }
    let (content, digest) = bytes.split_at(bytes.len() - DIGEST_BYTES);
    let right = Sha256::digest(content);
    assert_eq!(right.as_slice(), digest, "a state with the wrong digest is accepted");
    // A bit that depends on all others.
    let bit = u64::from_le_bytes(*right.first_chunk().expect("32 bytes")) as usize % (8 * bytes.len());
    let mut altered = bytes.to_vec();
    altered[bit / 8] ^= 1 << (bit % 8);
    assert!(!accepts(&altered), "a state with bit {bit} altered is accepted");
    assert!(!accepts(&bytes[..bit / 8]), "a state cut to {} bytes is accepted", bit / 8);
    altered[bit / 8] ^= 1 << (bit % 8);
    altered.push(0);
    assert!(!accepts(&altered), "a state with a byte more is accepted");
}

/// The bytes with the length of the header (at 12), that of the numbers (at `numbers_len_at`) and the digest put right.
fn sealed(bytes: &[u8], prefix_bytes: usize, numbers_len_at: usize) -> Option<Vec<u8>> {
    let content =
        bytes.get(..bytes.len().checked_sub(DIGEST_BYTES)?).filter(|content| content.len() >= prefix_bytes)?;
    let mut sealed = content.to_vec();
    let mut header = Deserializer::from_slice(&content[prefix_bytes..]).into_iter::<Value>();
    if let Some(Ok(_)) = header.next() {
        let len = header.byte_offset() as u64;
        sealed[12..20].copy_from_slice(&len.to_le_bytes());
    }
    let lens: u64 = (12..numbers_len_at)
        .step_by(8)
        .map(|at| u64::from_le_bytes(*sealed[at..].first_chunk().expect("within the prefix")))
        .try_fold(prefix_bytes as u64, u64::checked_add)?;
    let numbers_len = (content.len() as u64).checked_sub(lens)?;
    sealed[numbers_len_at..numbers_len_at + 8].copy_from_slice(&numbers_len.to_le_bytes());
    let digest = Sha256::digest(&sealed);
    sealed.extend(digest);
    Some(sealed)
}

/// Settings of the models that the seeds are states of.
static SETTINGS: LazyLock<[Settings; 3]> = LazyLock::new(|| {
    let exact = include_str!("../models/exact.json");
    [include_str!("../models/release.json"), include_str!("../models/objective.json"), exact]
        .map(|text| serde_json::from_str(text).expect("settings"))
});

const DIGEST_BYTES: usize = 32;
