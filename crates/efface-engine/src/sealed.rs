//! Bytes with a name, a version and a digest, made of sections.
//!
//! ```text
//! magic (8) | version (u32) | length of each section (u64) | sections | SHA-256 of all before (32)      little-endian
//! ```

use std::path::Path;

use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::error::{EngineError, OpenError};

pub(crate) const DIGEST_BYTES: usize = 32;

pub(crate) struct Seal {
    pub(crate) magic: &'static [u8; 8],
    pub(crate) version: u32,
    pub(crate) name: &'static str,
}

impl Seal {
    /// The bytes of some sections, and their digest in hexadecimal.
    pub(crate) fn close<const N: usize>(&self, sections: [&[u8]; N]) -> (Zeroizing<Vec<u8>>, String) {
        let len = 12 + sections.iter().map(|section| 8 + section.len()).sum::<usize>() + DIGEST_BYTES;
        let mut bytes = Zeroizing::new(Vec::with_capacity(len));
        bytes.extend(self.magic);
        bytes.extend(self.version.to_le_bytes());
        bytes.extend(sections.iter().flat_map(|section| (section.len() as u64).to_le_bytes()));
        for section in sections {
            bytes.extend(section);
        }
        let digest = Sha256::digest(&*bytes);
        bytes.extend(digest);
        (bytes, hex::encode(digest))
    }

    /// The sections, once magic, version, lengths and digest are right. `path` is what errors name.
    pub(crate) fn open<'a, const N: usize>(&self, path: &Path, bytes: &'a [u8]) -> Result<[&'a [u8]; N], EngineError> {
        let damaged = |what: &str| self.damaged(path, what);
        let rest = bytes.strip_prefix(self.magic).ok_or_else(|| damaged("it does not begin with the magic bytes"))?;
        let early = || damaged("it ends too early");
        let (version, mut rest) = rest.split_first_chunk().ok_or_else(early)?;
        let (found, known) = (u32::from_le_bytes(*version), self.version);
        if found != known {
            let reason = format!("{} format version {found} is unknown; this program reads version {known}", self.name);
            return Err(OpenError::DamagedState { path: path.into(), reason }.into());
        }
        let mut lengths = [0; N];
        for length in &mut lengths {
            let (bytes, behind) = rest.split_first_chunk().ok_or_else(early)?;
            (*length, rest) = (usize::try_from(u64::from_le_bytes(*bytes)).map_err(|_| early())?, behind);
        }
        let mut sections = [&[][..]; N];
        for (section, length) in sections.iter_mut().zip(lengths) {
            (*section, rest) = rest.split_at_checked(length).ok_or_else(early)?;
        }
        let (content, digest) = bytes.split_at(bytes.len() - rest.len());
        if Sha256::digest(content).as_slice() == digest {
            Ok(sections)
        } else {
            Err(damaged("its checksum does not match"))
        }
    }

    pub(crate) fn damaged(&self, path: &Path, what: &str) -> EngineError {
        let reason = format!("the {} is damaged: {what}", self.name);
        EngineError::Open(OpenError::DamagedState { path: path.into(), reason })
    }
}
