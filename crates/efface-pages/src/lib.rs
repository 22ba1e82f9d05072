//! SQLite files whose every page carries a checksum, compared whenever the page is read.
//!
//! SQLite believes what it reads: a flipped bit in an index leads to another row, or to none. Here the last four bytes of each
//! page are the CRC-32 of its number and its content. They are written and compared below SQLite, in a file system layer (a
//! VFS) that is the system's own but for reading and writing the main file. The write-ahead log has checksums of its own.
//!
//! A page that does not match is an error, [`is_damage`], and never data.

mod layer;

use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read};
use std::path::Path;

use rusqlite::{Connection, ErrorCode, OpenFlags, ffi};

/// Bytes of a page.
pub const PAGE_BYTES: usize = 4096;

/// Bytes at the end of a page that are its checksum.
pub const CHECKSUM_BYTES: usize = 4;

/// Makes a database in a file that is empty.
pub fn create(path: &Path) -> rusqlite::Result<Connection> {
    let connection = open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.execute_batch(&format!("PRAGMA page_size = {PAGE_BYTES};"))?;
    layer::reserve(&connection, CHECKSUM_BYTES)?;
    Ok(connection)
}

/// Opens a database that [`create`] made. With `SQLITE_OPEN_URI` the path is a URI.
pub fn open(path: impl AsRef<Path>, flags: OpenFlags) -> rusqlite::Result<Connection> {
    // Without the lock that SQLite would take at every call: no two threads share a `Connection`.
    Connection::open_with_flags_and_vfs(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX, layer::name()?)
}

/// Whether an error says that the file is damaged, and not that it could not be read.
pub fn is_damage(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|error| {
        error.extended_code == ffi::SQLITE_IOERR_DATA
            || matches!(error.code, ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
    })
}

/// Reads every page of a file, used by SQLite or not; the numbers, from 1, of those that do not match their checksum. Nobody
/// may be writing to it.
pub fn damaged_pages(path: &Path) -> io::Result<Vec<u64>> {
    let mut file = BufReader::with_capacity(64 * PAGE_BYTES, File::open(path)?);
    let (mut page, mut damaged) = (vec![0; PAGE_BYTES], Vec::new());
    for number in 1.. {
        match read_whole(&mut file, &mut page)? {
            0 => break,
            PAGE_BYTES if is_whole(number, &page) => {}
            _ => damaged.push(number),
        }
    }
    Ok(damaged)
}

/// Puts the checksum of every whole page of a file's bytes right, so that what was altered passes for what was written: for
/// fuzzing and tests, which look at what is read behind the checksums.
pub fn seal(file: &mut [u8]) {
    for (number, page) in (1..).zip(file.chunks_exact_mut(PAGE_BYTES)) {
        seal_page(number, page);
    }
}

fn read_whole(file: &mut impl Read, page: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < page.len() {
        match file.read(&mut page[length..]) {
            Ok(0) => break,
            Ok(n) => length += n,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

fn seal_page(number: u64, page: &mut [u8]) {
    let checksum = checksum(number, page);
    page[PAGE_BYTES - CHECKSUM_BYTES..].copy_from_slice(&checksum);
}

fn is_whole(number: u64, page: &[u8]) -> bool {
    page.ends_with(&checksum(number, page))
}

/// Of a page's number and its content; a page that stands in the place of another does not match.
fn checksum(number: u64, page: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&number.to_le_bytes());
    hasher.update(&page[..page.len() - CHECKSUM_BYTES]);
    hasher.finalize().to_le_bytes()
}
