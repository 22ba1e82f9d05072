//! Witnesses: what is accepted has a right checksum on every line but half a last one, and is read the same again.

use std::fmt::Write;

use efface_engine::fuzzing;

use crate::scratch;

/// A witness, as it is and with the checksum of every line put right.
pub(crate) fn witness(bytes: &[u8]) {
    let path = scratch::file("witness", bytes);
    if let Ok(Some(known)) = fuzzing::witness(&path) {
        assert_eq!(std::fs::read(&path).expect("our own file"), bytes, "a witness is altered by reading");
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        let text = std::str::from_utf8(&bytes[..whole]).expect("it was read");
        assert!(text.lines().all(is_sealed), "a line with a wrong checksum is accepted");
        assert_eq!(fuzzing::witness(&path).expect("still readable"), Some(known), "read again");
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = fuzzing::witness(&scratch::file("witness", sealed(text).as_bytes()));
    }
}

fn is_sealed(line: &str) -> bool {
    line.rsplit_once(' ')
        .is_some_and(|(content, checksum)| u32::from_str_radix(checksum, 16) == Ok(crc32fast::hash(content.as_bytes())))
}

fn sealed(text: &str) -> String {
    let mut sealed = String::new();
    for line in text.lines() {
        let content = line.rsplit_once(' ').map_or(line, |(content, _)| content);
        let _ = writeln!(sealed, "{content} {:08x}", crc32fast::hash(content.as_bytes()));
    }
    sealed
}
