//! Certificates that a stranger can check, and the append-only log they are entered in. No clock and no randomness of
//! its own; no I/O but reading and writing key files.
//!
//! | part | what it is |
//! |---|---|
//! | [`key`] | Ed25519 keys: the private key as PKCS#8 PEM, with or without a passphrase; the public key as one line |
//! | [`certificate`] | what certificates say, of a release, a request, a withdrawal |
//! | [`entry`] | what the log says, without personal data |
//! | [`verify`] | checking a certificate, offline |
//! | [`statement`] | what is claimed about which file: an in-toto statement |
//! | [`envelope`] | a signed statement with its place in the log: a DSSE envelope, the file that is handed over |
//! | [`merkle`] | the log as a Merkle tree of RFC 6962: stored hashes, roots, proofs and their verification |
//! | [`note`] | a short signed text: a C2SP signed note |
//! | [`checkpoint`] | the log's size and root under a signature: a C2SP checkpoint, written as a note |
//! | [`consistency`] | a file that shows that one checkpoint's log continues another's |
//! | [`canonical`] | one text per value: what is read is refused unless it is what would be written |
//!
//! # How the parts hold together
//!
//! ```text
//!  statement ──payload──▶ envelope ──leaf──▶ log ──root──▶ checkpoint ◀──consistency──▶ later checkpoint
//!                            ▲ signed                          ▲ signed                     ▲ signed
//! ```
//!
//! A certificate is a statement in a signed envelope. Its entry in the log names the digest of the payload; the proof
//! that the entry is there is added to the same file, with the signed checkpoint that it leads to. So one file and one public key are enough to
//! see that the certificate is genuine and that its issuer is bound to having issued it. Two checkpoints of one log and
//! the file between them show that nothing was taken out or rewritten in the meantime.
//!
//! # Every byte counts
//!
//! Each text that is verified here has exactly one accepted spelling: base64 is strict, JSON is compared with its own
//! re-serialization, a note has one signature line, Ed25519 signatures are verified strictly. A file in which any byte
//! was changed is refused; a file with something in it that this version does not know is refused as unsupported.

pub mod canonical;
pub mod certificate;
pub mod checkpoint;
pub mod consistency;
mod encoding;
pub mod entry;
pub mod envelope;
pub mod key;
pub mod merkle;
pub mod note;
pub mod statement;
#[cfg(test)]
mod tests;
pub mod verify;
