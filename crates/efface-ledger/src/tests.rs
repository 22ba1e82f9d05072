//! What the tests of several parts share: two keys, and the proof that every byte of a file counts.

use zeroize::Zeroizing;

use crate::key::SigningKey;

pub(crate) fn signing_key() -> SigningKey {
    SigningKey::generate("example.org/churn", &Zeroizing::new([1; 32])).expect("a valid name")
}

/// A key of the same name.
pub(crate) fn other_key() -> SigningKey {
    SigningKey::generate("example.org/churn", &Zeroizing::new([2; 32])).expect("a valid name")
}

/// Checks that `accepts` holds for the bytes as they are, and for none of the bytes with one of them replaced by another
/// value, removed or repeated.
pub(crate) fn assert_every_change_is_refused(bytes: &[u8], accepts: impl Fn(&[u8]) -> bool) {
    assert!(accepts(bytes), "refused as it is");
    let mut changed = bytes.to_vec();
    for position in 0..bytes.len() {
        for difference in 1..=255 {
            changed[position] = bytes[position] ^ difference;
            assert!(!accepts(&changed), "byte {position} changed by {difference:#04x} was accepted");
        }
        changed[position] = bytes[position];
        let mut shorter = bytes.to_vec();
        shorter.remove(position);
        assert!(!accepts(&shorter), "byte {position} removed was accepted");
        let mut longer = bytes.to_vec();
        longer.insert(position, bytes[position]);
        assert!(!accepts(&longer), "byte {position} repeated was accepted");
    }
}
