//! Texts of any encoding, read as UTF-8.
//!
//! A byte order mark says what the encoding is; so do zero bytes beside the first letter. Otherwise the first byte that is
//! not ASCII decides: what follows it is UTF-8, or it is not, and then the text is read as Windows-1252, of which Latin-1 is a
//! part. All that comes before is the same in both, so nothing has to be read twice.

use std::io::{self, Read};

use encoding_rs::{CoderResult, Decoder, Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

use crate::read::input::{Input, Meter};

/// The bytes of a text as UTF-8. Of a text in UTF-8 they are passed on as they are, whether they are valid or not.
pub(super) struct Decoded {
    inner: Input,
    meter: Meter,
    state: State,
    /// Bytes that were read ahead, as they are in the file.
    ahead: Vec<u8>,
    /// Bytes that were decoded, and how many of them have been passed on.
    as_utf8: Vec<u8>,
    passed_on: usize,
    is_at_end: bool,
}

enum State {
    Beginning(Option<&'static Encoding>),
    /// Only ASCII so far.
    Undecided,
    Unicode,
    Other(Box<Decoder>),
}

impl Decoded {
    /// A text in the named encoding, or in one that is still to be found out.
    pub(super) fn new(inner: Input, encoding: Option<&'static Encoding>) -> Self {
        let meter = inner.meter();
        let state = State::Beginning(encoding);
        Self { inner, meter, state, ahead: Vec::new(), as_utf8: Vec::new(), passed_on: 0, is_at_end: false }
    }

    /// Reads ahead until there are this many bytes, or no more.
    fn read_ahead(&mut self, n_bytes: usize) -> io::Result<()> {
        let mut n_read = self.ahead.len();
        self.ahead.resize(n_bytes.max(n_read), 0);
        while n_read < self.ahead.len() {
            match self.inner.read(&mut self.ahead[n_read..])? {
                0 => break,
                n => n_read += n,
            }
        }
        self.ahead.truncate(n_read);
        Ok(())
    }

    fn begin(&mut self, encoding: Option<&'static Encoding>) -> io::Result<State> {
        self.read_ahead(4)?;
        let marked = Encoding::for_bom(&self.ahead);
        let found = encoding.or(marked.map(|(encoding, _)| encoding)).or(match self.ahead.as_slice() {
            [0, 1..=255, ..] => Some(UTF_16BE),
            [1..=255, 0, ..] => Some(UTF_16LE),
            _ => None,
        });
        if let Some((_, length)) = marked.filter(|(marked, _)| Some(*marked) == found) {
            self.ahead.drain(..length);
        }
        Ok(match found {
            None => State::Undecided,
            Some(encoding) if encoding == UTF_8 => State::Unicode,
            Some(encoding) => State::Other(Box::new(encoding.new_decoder_without_bom_handling())),
        })
    }

    /// Looks at the first byte that is not ASCII and what comes with it.
    fn decide(&mut self) -> io::Result<State> {
        self.read_ahead(4)?;
        Ok(match std::str::from_utf8(&self.ahead) {
            Err(error) if error.valid_up_to() == 0 => {
                self.meter.encoding_guessed();
                State::Other(Box::new(WINDOWS_1252.new_decoder_without_bom_handling()))
            }
            _ => State::Unicode,
        })
    }

    /// The next bytes of the file, as they are.
    fn read_raw(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.ahead.is_empty() {
            return self.inner.read(buffer);
        }
        let n_bytes = buffer.len().min(self.ahead.len());
        buffer[..n_bytes].copy_from_slice(&self.ahead[..n_bytes]);
        self.ahead.drain(..n_bytes);
        Ok(n_bytes)
    }

    /// Decodes the next bytes of the file.
    fn decode(&mut self, raw: &mut [u8]) -> io::Result<()> {
        let n_bytes = self.read_raw(raw)?;
        self.is_at_end = n_bytes == 0;
        let State::Other(decoder) = &mut self.state else { return Ok(()) };
        let room = decoder.max_utf8_buffer_length(n_bytes).unwrap_or(8 * n_bytes + 16);
        self.as_utf8.resize(room, 0);
        self.passed_on = 0;
        let (result, _, n_decoded, is_damaged) =
            decoder.decode_to_utf8(&raw[..n_bytes], &mut self.as_utf8, self.is_at_end);
        self.as_utf8.truncate(n_decoded);
        if is_damaged || result == CoderResult::OutputFull {
            let reason = format!("not valid {}", decoder.encoding().name());
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        }
        Ok(())
    }
}

impl Read for Decoded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let State::Beginning(encoding) = self.state {
            self.state = self.begin(encoding)?;
        }
        if matches!(self.state, State::Undecided) {
            if self.ahead.first().is_some_and(|byte| !byte.is_ascii()) {
                self.state = self.decide()?;
            } else {
                let n_bytes = self.read_raw(buffer)?;
                let bytes = &buffer[..n_bytes];
                let n_ascii =
                    if bytes.is_ascii() { n_bytes } else { bytes.iter().take_while(|b| b.is_ascii()).count() };
                self.ahead.splice(..0, bytes[n_ascii..].iter().copied());
                if n_ascii > 0 || n_bytes == 0 {
                    return Ok(n_ascii);
                }
                self.state = self.decide()?;
            }
        }
        if matches!(self.state, State::Unicode) {
            return self.read_raw(buffer);
        }
        let mut raw = [0; 1 << 14];
        while self.passed_on == self.as_utf8.len() && !self.is_at_end {
            self.decode(&mut raw)?;
        }
        let rest = &self.as_utf8[self.passed_on..];
        let n_bytes = rest.len().min(buffer.len());
        buffer[..n_bytes].copy_from_slice(&rest[..n_bytes]);
        self.passed_on += n_bytes;
        Ok(n_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads bytes through a buffer of this size.
    fn read(bytes: &[u8], encoding: Option<&'static Encoding>, buffer: usize) -> io::Result<String> {
        let mut decoded = Decoded::new(Input::of_bytes(bytes.to_vec()), encoding);
        let (mut all, mut buffer) = (Vec::new(), vec![0; buffer]);
        loop {
            match decoded.read(&mut buffer)? {
                0 => return Ok(String::from_utf8(all).expect("valid")),
                n => all.extend_from_slice(&buffer[..n]),
            }
        }
    }

    fn utf16(text: &str, to_bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(to_bytes).collect()
    }

    #[test]
    fn a_text_is_the_same_in_every_encoding() {
        let text = "naïve,Zürich,€ 5\nébloui,𝄞,ok\n";
        let latin = "naïve,Zürich,5 £\nébloui,ÿ,ok\n";
        let as_latin: Vec<u8> = latin.chars().map(|c| u8::try_from(u32::from(c)).expect("Latin-1")).collect();
        for buffer in [1, 2, 3, 7, 4096] {
            assert_eq!(read(text.as_bytes(), None, buffer).expect("valid"), text);
            assert_eq!(read(&[b"\xef\xbb\xbf", text.as_bytes()].concat(), None, buffer).expect("valid"), text);
            for (mark, to_bytes) in [(b"\xff\xfe", u16::to_le_bytes as fn(u16) -> _), (b"\xfe\xff", u16::to_be_bytes)] {
                let bytes = utf16(text, to_bytes);
                assert_eq!(read(&[mark, bytes.as_slice()].concat(), None, buffer).expect("valid"), text);
                assert_eq!(read(&bytes, None, buffer).expect("valid"), text, "without a mark");
            }
            assert_eq!(read(&as_latin, None, buffer).expect("valid"), latin);
            assert_eq!(read(&as_latin, Some(WINDOWS_1252), buffer).expect("valid"), latin);
            assert_eq!(read(b"a,b\n\x80 5", None, buffer).expect("valid"), "a,b\n€ 5");
            for plain in ["", "a", "a,b", "a,b\nc", "é"] {
                assert_eq!(read(plain.as_bytes(), None, buffer).expect("valid"), plain);
            }
        }
    }

    #[test]
    fn what_is_not_valid_in_its_encoding_is_refused() {
        let mut odd = utf16("\u{feff}a,b\n", u16::to_le_bytes);
        odd.push(0x41);
        assert_eq!(read(&odd, None, 64).expect_err("cut short").to_string(), "not valid UTF-16LE");
        let half = [b"\xff\xfe".as_slice(), &0xd834_u16.to_le_bytes(), &0x41_u16.to_le_bytes()].concat();
        assert!(read(&half, None, 64).is_err());
    }

    /// A letter of two bytes that ends a reading is not taken for Latin-1.
    #[test]
    fn letters_on_the_edge_of_a_reading_are_whole() {
        for n_before in 0..40 {
            let text = format!("{}é,ü\n", "x".repeat(n_before));
            for buffer in 1..20 {
                assert_eq!(read(text.as_bytes(), None, buffer).expect("valid"), text);
            }
        }
    }
}
