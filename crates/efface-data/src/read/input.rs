//! The bytes of a file in a stream, decompressed if need be, with a count of how far it has been read.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;

use super::ReadProgress;
use super::kind::{is_gzipped, is_stdin};
use crate::error::ReadError;

/// The bytes of a file, decompressed if its name ends in `.gz`.
pub(super) struct Input {
    reader: Box<dyn Read + Send>,
    meter: Meter,
    /// No more than this many bytes can come.
    pub(super) max_bytes: u64,
    /// Room for this many bytes is made at once. More may come, but must be seen first.
    pub(super) likely_bytes: u64,
    pub(super) bytes_read: u64,
}

impl Input {
    pub(super) fn open(path: &Path) -> Result<Self, ReadError> {
        if is_stdin(path) {
            return Ok(Self::new(io::stdin(), Meter::new(0), u64::MAX));
        }
        let failed = |source| ReadError::Io { file: path.into(), source };
        let file = File::open(path).map_err(failed)?;
        let file_bytes = file.metadata().map_err(failed)?.len();
        let (file, meter) = MeteredFile::new(file, file_bytes);
        Ok(if is_gzipped(path) {
            let reader = MultiGzDecoder::new(BufReader::with_capacity(BUFFER_BYTES, file));
            Self::inflated(reader, meter, file_bytes, u64::MAX)
        } else {
            Self::new(file, meter, file_bytes)
        })
    }

    /// Bytes from any source, of which there are at most `max_bytes`.
    pub(super) fn new(reader: impl Read + Send + 'static, meter: Meter, max_bytes: u64) -> Self {
        Self { reader: Box::new(reader), meter, max_bytes, likely_bytes: max_bytes, bytes_read: 0 }
    }

    /// Bytes that are inflated from `compressed_bytes`, of which there are at most `max_bytes`.
    pub(super) fn inflated(
        reader: impl Read + Send + 'static,
        meter: Meter,
        compressed_bytes: u64,
        max_bytes: u64,
    ) -> Self {
        let max_bytes = max_bytes.min(compressed_bytes.saturating_mul(MAX_DEFLATE_RATIO));
        let likely_bytes = max_bytes.min(compressed_bytes.saturating_mul(USUAL_DEFLATE_RATIO));
        Self { likely_bytes, ..Self::new(reader, meter, max_bytes) }
    }

    /// The first bytes that come, to the end of a line if there is one within `most`; they come again when the input is read.
    pub(super) fn peek(&mut self, most: usize) -> io::Result<Vec<u8>> {
        let (mut first, mut n_read) = (vec![0; most], 0);
        while n_read < most && !first[..n_read].contains(&b'\n') {
            match self.reader.read(&mut first[n_read..])? {
                0 => break,
                n => n_read += n,
            }
        }
        first.truncate(n_read);
        let rest = std::mem::replace(&mut self.reader, Box::new(io::empty()));
        self.reader = Box::new(io::Cursor::new(first.clone()).chain(rest));
        Ok(first)
    }

    #[cfg(test)]
    pub(super) fn of_bytes(bytes: Vec<u8>) -> Self {
        let n_bytes = bytes.len() as u64;
        Self::new(io::Cursor::new(bytes), Meter::new(n_bytes), n_bytes)
    }

    pub(super) fn meter(&self) -> Meter {
        self.meter.clone()
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_bytes = self.reader.read(buffer)?;
        self.bytes_read += n_bytes as u64;
        Ok(n_bytes)
    }
}

/// A file that tells its [`Meter`] what has been read of it.
pub(super) struct MeteredFile {
    file: File,
    bytes_read: Arc<AtomicU64>,
}

impl MeteredFile {
    /// A file of which `bytes_total` bytes are going to be read.
    pub(super) fn new(file: File, bytes_total: u64) -> (Self, Meter) {
        let meter = Meter::new(bytes_total);
        (Self { file, bytes_read: Arc::clone(&meter.bytes_read) }, meter)
    }
}

impl Read for MeteredFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_bytes = self.file.read(buffer)?;
        self.bytes_read.fetch_add(n_bytes as u64, Ordering::Relaxed);
        Ok(n_bytes)
    }
}

/// How many bytes of a file have been read, before they are decompressed. Clones show the same count.
#[derive(Clone)]
pub(super) struct Meter {
    bytes_read: Arc<AtomicU64>,
    bytes_total: u64,
    /// Whether its encoding had to be guessed.
    is_guessed: Arc<AtomicBool>,
}

impl Meter {
    fn new(bytes_total: u64) -> Self {
        Self { bytes_read: Arc::default(), bytes_total, is_guessed: Arc::default() }
    }

    /// Notes that the text is read as Windows-1252, which it does not say itself.
    pub(super) fn encoding_guessed(&self) {
        self.is_guessed.store(true, Ordering::Relaxed);
    }

    pub(super) fn progress(&self, rows: u64) -> ReadProgress {
        let bytes_read = self.bytes_read.load(Ordering::Relaxed).min(self.bytes_total);
        let guessed_encoding = self.is_guessed.load(Ordering::Relaxed).then_some(GUESSED);
        ReadProgress { rows, bytes_read, bytes_total: self.bytes_total, guessed_encoding }
    }
}

/// What a text is taken for that is not in Unicode and does not say in what.
const GUESSED: &str = "Windows-1252 (Latin-1)";

/// Bytes asked of the operating system at a time.
pub(super) const BUFFER_BYTES: usize = 1 << 18;

/// Deflate turns one byte into at most this many: 258 from a match coded in two bits.
const MAX_DEFLATE_RATIO: u64 = 1032;

/// Few files are compressed better than this.
const USUAL_DEFLATE_RATIO: u64 = 16;
