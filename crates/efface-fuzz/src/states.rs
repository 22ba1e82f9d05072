//! State files: what is accepted has the right digest, is written again the same, and no damaged copy of it is accepted.

use std::sync::LazyLock;

use efface_engine::{Settings, fuzzing};
use serde_json::{Deserializer, Value};
use sha2::{Digest, Sha256};

use crate::alteration::only_as_it_is;

/// `state/<generation>`, as it is and with sizes and digest put right.
pub(crate) fn state_file(bytes: &[u8]) {
    let read = |bytes: &[u8]| SETTINGS.iter().find_map(|settings| fuzzing::state_file(bytes, settings).ok());
    only_as_it_is(bytes, |bytes| read(bytes).is_some());
    if read(bytes).is_some() {
        let (content, digest) = bytes.split_at(bytes.len() - DIGEST_BYTES);
        assert_eq!(Sha256::digest(content).as_slice(), digest, "a state with the wrong digest is accepted");
    }
    let Some(sealed) = sealed(bytes) else { return };
    if let Some(written) = read(&sealed) {
        assert_eq!(read(&written).as_ref(), Some(&written), "a state that was read is written in another way");
    }
}

/// The bytes with the length of the header (at 12), that of the numbers (at 28) and the digest put right.
fn sealed(bytes: &[u8]) -> Option<Vec<u8>> {
    let content = bytes.get(..bytes.len().checked_sub(DIGEST_BYTES)?)?;
    let mut sealed = content.to_vec();
    let mut header = Deserializer::from_slice(content.get(PREFIX_BYTES..)?).into_iter::<Value>();
    if let Some(Ok(_)) = header.next() {
        sealed[12..20].copy_from_slice(&(header.byte_offset() as u64).to_le_bytes());
    }
    let number = |at: usize| u64::from_le_bytes(*sealed[at..].first_chunk().expect("within the prefix"));
    let lens = number(12).checked_add(number(20))?.checked_add(PREFIX_BYTES as u64)?;
    let numbers_len = (content.len() as u64).checked_sub(lens)?;
    sealed[28..36].copy_from_slice(&numbers_len.to_le_bytes());
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

const PREFIX_BYTES: usize = 36;
const DIGEST_BYTES: usize = 32;
