//! One segment: an open file, its header, and reads and writes at given places.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use super::header::{COPY_AT, FIELD_BYTES, Header};
use super::layout::{HEADER_BYTES, RowLayout};
use crate::error::{SegmentError, StoredRowsError};
use crate::files::private_options;

/// What rows in segments are opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Rows come and go.
    Change,
    /// The same, and a file that was cut short is filled up: the rows that stood there count as damaged.
    Salvage,
    /// Whatever would change a file is an error.
    Read,
}

pub(super) struct Segment {
    file: File,
    pub(super) path: PathBuf,
    pub(super) header: Header,
    /// Whether the epoch in the header is older than the last change.
    is_changed: bool,
    /// Whether something was written that may not be on the disk.
    is_unsynced: AtomicBool,
}

impl Segment {
    pub(super) fn path_in(directory: &Path, number: usize) -> PathBuf {
        directory.join(format!("{number:06}.rows"))
    }

    /// The number of a segment that a file is named after.
    pub(super) fn number_of(path: &Path) -> Option<usize> {
        let number = path.file_name()?.to_str()?.strip_suffix(".rows")?.parse().ok()?;
        (path.file_name() == Self::path_in(Path::new(""), number).file_name()).then_some(number)
    }

    /// Makes a segment without rows, for its owner only. A file that exists is an error.
    pub(super) fn create(directory: &Path, number: usize, layout: RowLayout) -> Result<Self, SegmentError> {
        let path = Self::path_in(directory, number);
        let file = private_options()
            .create_new(true)
            .open(&path)
            .map_err(|source| SegmentError::Io { file: path.clone(), source })?;
        expect_sequential(&file);
        let header = Header { layout, segment: number as u64, epoch: 0 };
        let mut segment = Self { file, path, header, is_changed: true, is_unsynced: AtomicBool::new(true) };
        segment.write_header(header)?;
        segment.set_len(HEADER_BYTES)?;
        Ok(segment)
    }

    /// Opens a segment and reads its header. The shape that it claims is not checked here.
    pub(super) fn open(directory: &Path, number: usize, access: Access) -> Result<Self, StoredRowsError> {
        let path = Self::path_in(directory, number);
        let failed = |source| SegmentError::Io { file: path.clone(), source };
        let file = OpenOptions::new().read(true).write(access != Access::Read).open(&path).map_err(failed)?;
        expect_sequential(&file);
        let (header, is_whole) = read_header(&file, &path, number)?;
        Ok(Self { file, path, header, is_changed: !is_whole, is_unsynced: AtomicBool::new(false) })
    }

    /// The epoch of a segment, which is only read.
    pub(super) fn epoch_in(directory: &Path, number: usize) -> Result<u64, StoredRowsError> {
        let path = Self::path_in(directory, number);
        let file = File::open(&path).map_err(|source| SegmentError::Io { file: path.clone(), source })?;
        Ok(read_header(&file, &path, number)?.0.epoch)
    }

    pub(super) fn len(&self) -> Result<u64, SegmentError> {
        Ok(self.file.metadata().map_err(|source| self.failed(source))?.len())
    }

    pub(super) fn read(&self, at: u64, into: &mut [u8]) -> Result<(), SegmentError> {
        read_exact_at(&self.file, into, at).map_err(|source| self.failed(source))
    }

    pub(super) fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), SegmentError> {
        self.note_change();
        write_all_at(&self.file, bytes, at).map_err(|source| self.failed(source))
    }

    pub(super) fn write_zeros(&mut self, start: u64, end: u64) -> Result<(), SegmentError> {
        const CHUNK: u64 = 1 << 20;
        let zeros = vec![0; end.saturating_sub(start).min(CHUNK) as usize];
        let mut at = start;
        while at < end {
            let n_bytes = (end - at).min(CHUNK);
            self.write(at, &zeros[..n_bytes as usize])?;
            at += n_bytes;
        }
        Ok(())
    }

    pub(super) fn set_len(&mut self, len: u64) -> Result<(), SegmentError> {
        self.note_change();
        self.file.set_len(len).map_err(|source| self.failed(source))
    }

    /// Returns once all that was written is on the disk.
    pub(super) fn sync(&self) -> Result<(), SegmentError> {
        if self.is_unsynced.load(Ordering::Acquire) {
            self.file.sync_all().map_err(|source| self.failed(source))?;
            self.is_unsynced.store(false, Ordering::Release);
        }
        Ok(())
    }

    /// Writes the epoch into the header, if something has changed since that was last done. It is on the disk after the
    /// change, never before.
    pub(super) fn stamp(&mut self, epoch: u64) -> Result<(), SegmentError> {
        if !self.is_changed {
            return Ok(());
        }
        self.sync()?;
        let header = Header { epoch, ..self.header };
        self.write_header(header)?;
        self.sync()?;
        self.header = header;
        self.is_changed = false;
        Ok(())
    }

    fn write_header(&mut self, header: Header) -> Result<(), SegmentError> {
        [0, COPY_AT].into_iter().try_for_each(|at| self.write(at, &header.to_bytes()))
    }

    pub(super) fn note_change(&mut self) {
        self.is_changed = true;
        *self.is_unsynced.get_mut() = true;
    }

    fn failed(&self, source: io::Error) -> SegmentError {
        SegmentError::Io { file: self.path.clone(), source }
    }
}

/// Tells the operating system that blocks are read in order, so that it reads on while they are summed. Announcing each
/// next block as well was measured and took longer: it walks pages that are mostly there.
fn expect_sequential(file: &File) {
    // A hint that is refused does no harm.
    #[cfg(target_os = "linux")]
    let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::Sequential);
    #[cfg(not(target_os = "linux"))]
    let _ = file;
}

/// The header, or its copy where it is damaged; and whether it is not. One that is whole and says what it should not is no
/// damage.
fn read_header(file: &File, path: &Path, number: usize) -> Result<(Header, bool), StoredRowsError> {
    let read = |at| {
        let mut bytes = [0; FIELD_BYTES];
        read_exact_at(file, &mut bytes, at).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                SegmentError::BadHeader { file: path.into(), reason: "it ends within the header" }
            }
            _ => SegmentError::Io { file: path.into(), source: error },
        })?;
        Ok(bytes)
    };
    let bytes = read(0)?;
    let is_whole = Header::is_whole(&bytes);
    let found = Header::parse(&bytes, path);
    let copy = if is_whole { None } else { read(COPY_AT).and_then(|bytes| Header::parse(&bytes, path)).ok() };
    let header = copy.map_or(found, Ok)?;
    if header.segment != number as u64 {
        return Err(StoredRowsError::OtherSegment { file: path.into(), found: header.segment, expected: number });
    }
    Ok((header, is_whole))
}

#[cfg(unix)]
fn read_exact_at(file: &File, into: &mut [u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, into, at)
}

#[cfg(unix)]
fn write_all_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, at)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut into: &mut [u8], mut at: u64) -> io::Result<()> {
    while !into.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, into, at)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            n => (into, at) = (&mut into[n..], at + n as u64),
        }
    }
    Ok(())
}

#[cfg(windows)]
fn write_all_at(file: &File, mut bytes: &[u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_write(file, bytes, at)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            n => (bytes, at) = (&bytes[n..], at + n as u64),
        }
    }
    Ok(())
}
