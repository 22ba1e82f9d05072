//! Line numbers of a text that is parsed in a stream.
//!
//! The CSV parser's own count is one line behind in files with `\r\n`, and counts blank lines towards the row that
//! follows them. Here each newline is noted as it passes, and counted once the parser says how far it has come. A parser
//! that asks for more bytes has parsed those it was given, so no more newlines are held than one reading brings.
//!
//! The parser holds a record as a whole, however long it is: a quote that is never closed makes one of all that follows. So
//! bytes are given out only up to a limit since the last record ended.

use std::collections::VecDeque;
use std::io::{self, Read};

/// Passes bytes on and remembers where the newlines were.
pub(super) struct LineCounter<R> {
    inner: R,
    bytes_read: u64,
    /// Offsets of newlines not yet counted.
    pending: VecDeque<u64>,
    counted: u64,
    /// Where the record begins that is being parsed, blank lines before it included, and its line.
    record_start: u64,
    record_line: u64,
    is_at_end: bool,
}

/// A longer record is taken for a quote that is never closed. A million cells of doubles take half of it.
pub(super) const MAX_RECORD_BYTES: u64 = 1 << 26;

impl<R> LineCounter<R> {
    /// Bytes that begin with this line of a text.
    pub(super) fn new(inner: R, first_line: u64) -> Self {
        Self {
            inner,
            bytes_read: 0,
            pending: VecDeque::new(),
            counted: first_line - 1,
            record_start: 0,
            record_line: first_line,
            is_at_end: false,
        }
    }

    /// Whether all bytes come before `offset`, and there are no more.
    pub(super) fn ends_at(&self, offset: u64) -> bool {
        self.is_at_end && offset >= self.bytes_read
    }

    /// Notes that all records before `offset` have been parsed.
    pub(super) fn record_ended(&mut self, offset: u64) {
        self.record_start = offset;
        // Of `\r\n` the second byte is still to come.
        self.record_line = self.line_of(offset + 1);
    }

    /// The line of the record that is being parsed, if it is too long to go on.
    pub(super) fn over_limit(&self) -> Option<u64> {
        let n_bytes = self.bytes_read.saturating_sub(self.record_start);
        (n_bytes > MAX_RECORD_BYTES).then_some(self.record_line)
    }

    /// The line, counted from 1, of the byte at `offset`. Offsets must not decrease from call to call.
    pub(super) fn line_of(&mut self, offset: u64) -> u64 {
        while self.pending.front().is_some_and(|newline| *newline < offset) {
            self.pending.pop_front();
            self.counted += 1;
        }
        self.counted + 1
    }
}

impl<R: Read> Read for LineCounter<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.over_limit().is_some() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        // No record ends before the last byte that was given.
        self.line_of(self.bytes_read.saturating_sub(1));
        let n_bytes = self.inner.read(buffer)?;
        self.is_at_end |= n_bytes == 0 && !buffer.is_empty();
        let newlines = (self.bytes_read..).zip(&buffer[..n_bytes]).filter(|(_, byte)| **byte == b'\n');
        self.pending.extend(newlines.map(|(offset, _)| offset));
        self.bytes_read += n_bytes as u64;
        Ok(n_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_without_an_end_is_given_out_up_to_a_limit() {
        let mut counter = LineCounter::new("ab\n".as_bytes().chain(io::repeat(b'x')), 1);
        let mut buffer = vec![0; 1 << 20];
        counter.read_exact(&mut buffer[..3]).expect("readable");
        counter.record_ended(3);
        for _ in 0..=MAX_RECORD_BYTES >> 20 {
            assert_eq!(counter.over_limit(), None);
            counter.read_exact(&mut buffer).expect("readable");
        }
        assert_eq!(counter.over_limit(), Some(2));
        assert!(counter.read(&mut buffer).is_err());
        counter.record_ended(1 << 26);
        assert!(counter.read(&mut buffer).is_ok());
    }

    #[test]
    fn lines_are_counted_up_to_an_offset() {
        let mut counter = LineCounter::new("ab\n\ncd\nef".as_bytes(), 1);
        assert_eq!(counter.read(&mut [0; 16]).expect("readable"), 9);
        assert_eq!([0, 2, 3, 4, 6, 7, 8].map(|offset| counter.line_of(offset)), [1, 1, 2, 3, 3, 4, 4]);
    }

    /// A gzipped file of a few kilobytes can hold millions of blank lines, which the parser skips without saying how far
    /// it has come. All of their offsets were held, eight bytes for each of one.
    #[test]
    fn blank_lines_without_end_take_no_memory() {
        let mut counter = LineCounter::new(io::repeat(b'\n').take(1 << 20), 1);
        let mut buffer = [0; 1 << 10];
        while counter.read(&mut buffer).expect("readable") > 0 {
            assert!(counter.pending.len() <= buffer.len() + 1);
        }
        assert_eq!(counter.line_of(1 << 20), (1 << 20) + 1);
    }
}
