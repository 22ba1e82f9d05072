//! Line numbers of a text that is parsed in a stream.
//!
//! The CSV parser's own count is one line behind in files with `\r\n`, and counts blank lines towards the row that
//! follows them. Here each newline is noted as it passes, and counted once the parser says how far it has come.

use std::collections::VecDeque;
use std::io::{self, Read};

/// Passes bytes on and remembers where the newlines were.
pub(super) struct LineCounter<R> {
    inner: R,
    bytes_read: u64,
    /// Offsets of newlines not yet counted.
    pending: VecDeque<u64>,
    counted: u64,
}

impl<R> LineCounter<R> {
    pub(super) fn new(inner: R) -> Self {
        Self { inner, bytes_read: 0, pending: VecDeque::new(), counted: 0 }
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
        let n_bytes = self.inner.read(buffer)?;
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
    fn lines_are_counted_up_to_an_offset() {
        let mut counter = LineCounter::new("ab\n\ncd\nef".as_bytes());
        counter.read_to_end(&mut Vec::new()).expect("readable");
        assert_eq!([0, 2, 3, 4, 6, 7, 8].map(|offset| counter.line_of(offset)), [1, 1, 2, 3, 3, 4, 4]);
    }
}
