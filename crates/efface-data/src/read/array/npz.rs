//! NPZ archives: a zip file whose members are NPY arrays.
//!
//! The archive's directory is read once; a member is then inflated in a stream from its place in the file, so that
//! nothing is held in memory, and its length and checksum are compared when it ends.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crc32fast::Hasher;
use flate2::bufread::DeflateDecoder;
use zip::read::ZipArchive;
use zip::{CompressionMethod, result::ZipError};

use super::super::FirstLine;
use super::super::input::{BUFFER_BYTES, Input, MeteredFile};
use super::super::kind::Kind;
use super::input::{ArrayInput, Role};
use crate::error::ReadError;
use crate::table::listed;

pub(super) struct Archive {
    path: PathBuf,
    members: Vec<Member>,
}

struct Member {
    /// Without `.npy`.
    name: String,
    start: u64,
    deflated: bool,
    compressed_bytes: u64,
    bytes: u64,
    crc32: u32,
}

impl Archive {
    /// Reads the directory. Members that are not arrays are left aside.
    pub(super) fn open(path: &Path) -> Result<Self, ReadError> {
        let failed = |source| ReadError::Io { file: path.into(), source };
        let bad = |reason: String| ReadError::NotReadable { file: path.into(), format: ".npz", reason };
        let not_zip = |error: ZipError| match error {
            ZipError::Io(source) if source.kind() != io::ErrorKind::UnexpectedEof => failed(source),
            other => bad(other.to_string()),
        };
        let file = File::open(path).map_err(failed)?;
        let file_bytes = file.metadata().map_err(failed)?.len();
        let mut archive = ZipArchive::new(BufReader::new(file)).map_err(not_zip)?;
        let mut members: Vec<Member> = Vec::new();
        for index in 0..archive.len() {
            let entry = archive.by_index_raw(index).map_err(not_zip)?;
            let full_name = entry.name().map_err(not_zip)?.into_owned();
            let Some(name) = full_name.strip_suffix(".npy") else { continue };
            let deflated = match entry.compression() {
                CompressionMethod::Stored => false,
                CompressionMethod::Deflated => true,
                other => return Err(bad(format!("member `{name}` is compressed by {other}, not by deflate"))),
            };
            if entry.encrypted() {
                return Err(bad(format!("member `{name}` is encrypted")));
            }
            let start = entry.data_start().ok_or_else(|| bad(format!("member `{name}` is nowhere")))?;
            let (compressed_bytes, bytes, crc32) = (entry.compressed_size(), entry.size(), entry.crc32());
            if start.checked_add(compressed_bytes).is_none_or(|end| end > file_bytes) {
                return Err(bad(format!("member `{name}` ends beyond the file's {file_bytes} bytes")));
            }
            if members.iter().any(|member| member.name == name) {
                return Err(bad(format!("two members are called `{name}`")));
            }
            members.push(Member { name: name.to_owned(), start, deflated, compressed_bytes, bytes, crc32 });
        }
        Ok(Self { path: path.into(), members })
    }

    /// The features: member `x` or `X`, or else the only one with two axes.
    pub(super) fn open_features(&self) -> Result<ArrayInput, ReadError> {
        let named = ["x", "X"].iter().find_map(|name| self.member(name));
        if let Some(member) = named {
            return self.open_member(member, Role::Features);
        }
        let mut tables = Vec::new();
        for member in &self.members {
            // A member of a type that cannot be read is no table of features.
            match self.open_member(member, Role::Features) {
                Ok(array) if array.header.shape.len() == 2 => tables.push(array),
                Ok(_) | Err(ReadError::UnsupportedType { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        if let (Some(only), true) = (tables.pop(), tables.is_empty()) {
            return Ok(only);
        }
        let known = if self.members.is_empty() { "no members".to_owned() } else { listed(&self.names()) };
        let reason = format!("the features must be called `x` or be the only member with two axes; there are {known}");
        Err(ReadError::NotReadable { file: self.path.clone(), format: ".npz", reason })
    }

    /// Labels, ids or subjects: a member, or else a file of their own.
    pub(super) fn open_column(&self, name: &str, role: Role) -> Result<ArrayInput, ReadError> {
        if let Some(member) = self.member(name.strip_suffix(".npy").unwrap_or(name)) {
            return self.open_member(member, role);
        }
        if Kind::of(Path::new(name)).is_some_and(Kind::is_array) {
            return ArrayInput::open(Path::new(name), role);
        }
        let known = listed(&self.names());
        let (file, column) = (self.path.clone(), name.to_owned());
        Err(ReadError::MissingColumn { file, column, known, first_line: FirstLine::Names })
    }

    fn names(&self) -> Vec<&str> {
        self.members.iter().map(|member| member.name.as_str()).collect()
    }

    fn member(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.name == name)
    }

    fn open_member(&self, member: &Member, role: Role) -> Result<ArrayInput, ReadError> {
        let failed = |source| ReadError::Io { file: self.path.clone(), source };
        let mut file = File::open(&self.path).map_err(failed)?;
        file.seek(SeekFrom::Start(member.start)).map_err(failed)?;
        let (file, meter) = MeteredFile::new(file, member.compressed_bytes);
        let compressed = file.take(member.compressed_bytes);
        let (bytes, crc32) = (member.bytes, member.crc32);
        let input = if member.deflated {
            let inflated = DeflateDecoder::new(BufReader::with_capacity(BUFFER_BYTES, compressed));
            Input::inflated(Checked::new(inflated, bytes, crc32), meter, member.compressed_bytes, bytes)
        } else {
            Input::new(Checked::new(compressed, bytes, crc32), meter, bytes.min(member.compressed_bytes))
        };
        ArrayInput::npy(&self.path.join(&member.name), input, role)
    }
}

/// Passes bytes on and compares their number and checksum with the directory's at the end.
struct Checked<R> {
    inner: R,
    hasher: Hasher,
    bytes_left: u64,
    crc32: u32,
}

impl<R> Checked<R> {
    fn new(inner: R, bytes: u64, crc32: u32) -> Self {
        Self { inner, hasher: Hasher::new(), bytes_left: bytes, crc32 }
    }
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_bytes = self.inner.read(buffer)?;
        self.hasher.update(&buffer[..n_bytes]);
        let Some(left) = self.bytes_left.checked_sub(n_bytes as u64) else {
            return Err(io::Error::other("the member is longer than the archive's directory says"));
        };
        self.bytes_left = left;
        if n_bytes == 0 && !buffer.is_empty() {
            if left > 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if self.hasher.clone().finalize() != self.crc32 {
                return Err(io::Error::other("the checksum of the member is wrong"));
            }
        }
        Ok(n_bytes)
    }
}
