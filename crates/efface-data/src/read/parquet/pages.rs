//! The pages of a Parquet file, as the decoder asks for them. The head of a page is looked at before it is believed.
//!
//! A head announces the size of the page once it is decompressed, and how many values it holds. The decoder makes room
//! for what is announced, which in a damaged file can be two gigabytes per column, and for as many entries of a
//! dictionary.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;

use bytes::Bytes;
use parquet::errors::Result;
use parquet::file::reader::{ChunkReader, Length};

use super::thrift::{Compact, I32, STRUCT};

#[derive(Clone)]
pub(super) struct PageFile {
    pub(super) file: Arc<File>,
    /// Whether lists are read: of one row, all values come at once.
    pub(super) has_lists: bool,
}

impl Length for PageFile {
    fn len(&self) -> u64 {
        Length::len(&*self.file)
    }
}

impl ChunkReader for PageFile {
    type T = HeadReader;

    /// Called where a page begins, to read its head; or, when that has been read, not read from.
    fn get_read(&self, start: u64) -> Result<HeadReader> {
        let inner = self.file.get_read(start)?;
        Ok(HeadReader { inner, has_lists: self.has_lists, is_checked: false })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        self.file.get_bytes(start, length)
    }
}

/// Reads the head of a page, if it is a possible one.
pub(super) struct HeadReader {
    inner: BufReader<File>,
    has_lists: bool,
    is_checked: bool,
}

impl Read for HeadReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.is_checked {
            // The numbers come first, so that they are among the bytes of a buffer.
            PageHead::parse(self.inner.fill_buf()?)
                .ok_or("the head of a page cannot be parsed".to_owned())
                .and_then(|head| head.check(self.has_lists))
                .map_err(|reason| io::Error::new(io::ErrorKind::InvalidData, reason))?;
            self.is_checked = true;
        }
        self.inner.read(buffer)
    }
}

#[derive(Debug, PartialEq, Eq)]
struct PageHead {
    n_bytes: u64,
    compressed_bytes: u64,
    /// Of an index, which the decoder passes over, nothing is known.
    n_values: u64,
    is_dictionary: bool,
}

impl PageHead {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let (mut n_bytes, mut compressed_bytes, mut n_values, mut is_dictionary) = (None, None, 0, false);
        Compact::new(bytes).fields(|this, id, kind| {
            match (id, kind) {
                (2, I32) => n_bytes = size(this.integer()?),
                (3, I32) => compressed_bytes = size(this.integer()?),
                // What is said of a data page, a dictionary or a data page of version 2; the values come first.
                (5 | 7 | 8, STRUCT) => {
                    is_dictionary = id == 7;
                    this.fields(|this, id, kind| {
                        if (id, kind) != (1, I32) {
                            return None;
                        }
                        n_values = size(this.integer()?)?;
                        Some(false)
                    })?;
                    return Some(false);
                }
                _ => this.skip(kind)?,
            }
            Some(true)
        })?;
        Some(Self { n_bytes: n_bytes?, compressed_bytes: compressed_bytes?, n_values, is_dictionary })
    }

    fn check(&self, has_lists: bool) -> std::result::Result<(), String> {
        let Self { n_bytes, compressed_bytes, n_values, is_dictionary } = *self;
        if n_bytes > PAGE_BYTES + PAGE_BYTES_PER_BYTE * compressed_bytes {
            return Err(format!("a page announces {n_bytes} bytes, and has {compressed_bytes}"));
        }
        let limit = match (is_dictionary, has_lists) {
            (true, _) => DICTIONARY_VALUES + DICTIONARY_VALUES_PER_BYTE * compressed_bytes,
            (false, true) => LIST_VALUES + LIST_VALUES_PER_BYTE * compressed_bytes,
            // Values that are not in lists are decoded a batch at a time.
            (false, false) => return Ok(()),
        };
        if n_values > limit {
            return Err(format!("a page announces {n_values} values, and has {compressed_bytes} bytes"));
        }
        Ok(())
    }
}

/// A size is never negative, and fits 32 bits with a sign.
fn size(number: i64) -> Option<u64> {
    i32::try_from(number).ok().and_then(|size| u64::try_from(size).ok())
}

/// Pages have a megabyte as a rule; larger ones must be there, compressed as well as deflate can.
const PAGE_BYTES: u64 = 16 << 20;
const PAGE_BYTES_PER_BYTE: u64 = 1040;

/// Dictionaries have a megabyte as a rule, which is a quarter of this for the smallest values.
const DICTIONARY_VALUES: u64 = 1 << 20;
const DICTIONARY_VALUES_PER_BYTE: u64 = 64;

/// Twenty thousand rows, which some writers put into a page, of lists of 800; of longer lists, the values must be there.
const LIST_VALUES: u64 = 1 << 24;
const LIST_VALUES_PER_BYTE: u64 = 256;

#[cfg(test)]
mod tests {
    use super::*;

    /// A head with a type, two sizes, and what is said of a data page or (field 7) a dictionary.
    fn head(n_bytes: u32, compressed_bytes: u32, field: u8, n_values: u32) -> Vec<u8> {
        let number = |value: u32| {
            let mut zigzag = u64::from(value) << 1;
            let mut bytes = vec![0x15];
            while zigzag >= 0x80 {
                bytes.push(zigzag as u8 | 0x80);
                zigzag >>= 7;
            }
            bytes.push(zigzag as u8);
            bytes
        };
        let step = field - 3;
        [number(0), number(n_bytes), number(compressed_bytes), vec![step << 4 | 0x0c], number(n_values), vec![0, 0]]
            .concat()
    }

    fn refusal(head: &[u8], has_lists: bool) -> Option<String> {
        PageHead::parse(head).expect("a head").check(has_lists).err()
    }

    #[test]
    fn a_head_is_parsed() {
        let parsed = PageHead::parse(&head(1 << 20, 1000, 7, 5)).expect("a head");
        let expected = PageHead { n_bytes: 1 << 20, compressed_bytes: 1000, n_values: 5, is_dictionary: true };
        assert_eq!(parsed, expected);
        assert_eq!(PageHead::parse(&head(1, 1, 5, 1)[..6]), None);
        assert_eq!(PageHead::parse(b"no head"), None);
    }

    /// The decoder cuts a size to 32 bits; what was computed with the whole of it overflowed.
    #[test]
    fn sizes_beyond_32_bits_are_refused() {
        let most = [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
        for (n_bytes, compressed_bytes) in [(&most[..], &[2][..]), (&[2], &most), (&[2], &[3])] {
            let head = [&[0x15, 0, 0x15], n_bytes, &[0x15], compressed_bytes, &[0x2c, 0x15, 2, 0, 0]].concat();
            assert_eq!(PageHead::parse(&head), None);
        }
    }

    #[test]
    fn pages_are_as_large_as_their_bytes_allow() {
        assert_eq!(refusal(&head(1 << 20, 50, 5, 1 << 30), false), None);
        assert_eq!(refusal(&head(2_000_000_000, 2_000_000, 5, 1), false), None);
        let text = "a page announces 2147483647 bytes, and has 100";
        assert_eq!(refusal(&head(i32::MAX as u32, 100, 5, 1), false).as_deref(), Some(text));
    }

    #[test]
    fn dictionaries_and_lists_have_as_many_values_as_their_bytes_allow() {
        assert_eq!(refusal(&head(1 << 20, 1 << 20, 7, 1 << 18), false), None);
        let text = "a page announces 2147483647 values, and has 100 bytes";
        assert_eq!(refusal(&head(400, 100, 7, i32::MAX as u32), false).as_deref(), Some(text));
        assert_eq!(refusal(&head(400, 100, 5, i32::MAX as u32), true).as_deref(), Some(text));
        assert_eq!(refusal(&head(400, 100, 5, 20_000 * 768), true), None);
    }
}
