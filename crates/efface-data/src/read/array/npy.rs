//! The header of an NPY file: a Python dictionary of three entries, in one fixed form.
//!
//! ```text
//! \x93NUMPY  major minor  length (u16 or u32, little-endian)  {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }
//! ```
//!
//! Only this form is parsed, without recursion and without arithmetic that could overflow, so that no file can bring
//! the reader down.

use std::io::Read;
use std::path::Path;

use super::elements::ElementType;
use crate::error::ReadError;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// The file's own name of the element type, such as `<f8`.
    pub(super) descr: String,
    /// That type; `None`: not supported.
    pub(super) element: Option<ElementType>,
    /// Whether the first axis varies fastest.
    pub(super) fortran_order: bool,
    pub(super) shape: Vec<u64>,
    pub(super) n_bytes: u64,
}

impl Header {
    /// Reads the header and leaves `input` at the first byte of data.
    pub(super) fn read(path: &Path, input: &mut impl Read) -> Result<Self, ReadError> {
        let bad =
            |reason: &str| ReadError::NotReadable { file: path.into(), format: ".npy", reason: reason.to_owned() };
        let failed = |error| cut_short(path, ".npy", error);
        let mut start = [0; 8];
        input.read_exact(&mut start).map_err(failed)?;
        if start[..6] != *MAGIC {
            return Err(bad("it does not begin with the magic bytes"));
        }
        let mut length = [0; 4];
        let length_bytes = match (start[6], start[7]) {
            (1, 0) => 2,
            (2 | 3, 0) => 4,
            _ => return Err(bad("its version is unknown")),
        };
        input.read_exact(&mut length[..length_bytes]).map_err(failed)?;
        let length = u32::from_le_bytes(length);
        if length > MAX_HEADER_BYTES {
            return Err(bad("its header is longer than 65535 bytes"));
        }
        let mut text = vec![0; length as usize];
        input.read_exact(&mut text).map_err(failed)?;
        let n_bytes = (start.len() + length_bytes + text.len()) as u64;
        let mut entries = Entries { rest: std::str::from_utf8(&text).map_err(|_| bad("its header is not text"))? };
        let (descr, fortran_order, shape) = entries.parse().ok_or_else(|| bad("its header cannot be parsed"))?;
        Ok(Self { element: ElementType::parse(&descr), descr, fortran_order, shape, n_bytes })
    }

    /// The shape as Python prints it.
    pub(super) fn shape_text(&self) -> String {
        let axes: Vec<String> = self.shape.iter().map(u64::to_string).collect();
        match axes.as_slice() {
            [one] => format!("({one},)"),
            axes => format!("({})", axes.join(", ")),
        }
    }
}

/// Why a header cannot be read to its end.
pub(super) fn cut_short(path: &Path, format: &'static str, error: std::io::Error) -> ReadError {
    let (file, reason) = (path.into(), "it ends within the header".to_owned());
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof => ReadError::NotReadable { file, format, reason },
        _ => ReadError::Io { file, source: error },
    }
}

/// A parser that eats the dictionary from the left. `None`: not of the expected form.
struct Entries<'a> {
    rest: &'a str,
}

impl<'a> Entries<'a> {
    fn parse(&mut self) -> Option<(String, bool, Vec<u64>)> {
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        self.eat("{")?;
        while self.eat("}").is_none() {
            let key = self.string()?;
            self.eat(":")?;
            match key {
                "descr" if descr.is_none() => descr = Some(self.descr()?),
                "fortran_order" if fortran_order.is_none() => fortran_order = Some(self.boolean()?),
                "shape" if shape.is_none() => shape = Some(self.tuple()?),
                _ => return None,
            }
            if self.eat(",").is_none() && !self.rest.trim_start().starts_with('}') {
                return None;
            }
        }
        self.rest.trim().is_empty().then_some(())?;
        Some((descr?, fortran_order?, shape?))
    }

    fn eat(&mut self, token: &str) -> Option<()> {
        self.rest = self.rest.trim_start().strip_prefix(token)?;
        Some(())
    }

    fn string(&mut self) -> Option<&'a str> {
        let rest = self.rest.trim_start();
        let quote = rest.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
        let (text, rest) = rest[1..].split_once(quote)?;
        self.rest = rest;
        Some(text)
    }

    /// A string, or the list of a structured type, which is kept whole: it is only shown in an error.
    fn descr(&mut self) -> Option<String> {
        let rest = self.rest.trim_start();
        if !rest.starts_with('[') {
            return self.string().map(str::to_owned);
        }
        let end = rest.find(']')? + 1;
        self.rest = &rest[end..];
        Some(rest[..end].to_owned())
    }

    fn boolean(&mut self) -> Option<bool> {
        if self.eat("True").is_some() { Some(true) } else { self.eat("False").map(|()| false) }
    }

    fn tuple(&mut self) -> Option<Vec<u64>> {
        self.eat("(")?;
        let (inside, rest) = self.rest.split_once(')')?;
        self.rest = rest;
        let inside = inside.trim();
        let inside = inside.strip_suffix(',').unwrap_or(inside);
        if inside.is_empty() {
            return Some(Vec::new());
        }
        // Python 2 wrote long integers with an `L`.
        inside.split(',').map(|axis| axis.trim().trim_end_matches('L').parse().ok()).collect()
    }
}

const MAGIC: &[u8; 6] = b"\x93NUMPY";
const MAX_HEADER_BYTES: u32 = 65_535;

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Option<(String, bool, Vec<u64>)> {
        Entries { rest: text }.parse()
    }

    #[test]
    fn headers_are_parsed_in_the_forms_that_numpy_has_written() {
        for text in [
            "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }     \n",
            "{\"shape\":(3,4),\"descr\":\"<f8\",\"fortran_order\":False}",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (3L, 4L), }",
        ] {
            assert_eq!(parse(text), Some(("<f8".into(), false, vec![3, 4])), "{text}");
        }
        let one_axis = "{'descr': '<U7', 'fortran_order': True, 'shape': (5,), }";
        assert_eq!(parse(one_axis), Some(("<U7".into(), true, vec![5])));
        let record = "{'descr': [('a', '<f8')], 'fortran_order': True, 'shape': (), }";
        assert_eq!(parse(record), Some(("[('a', '<f8')]".into(), true, vec![])));
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "{",
            "{}",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4)",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (3, -4), }",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,), }",
            "{'descr': '<f8', 'fortran_order': 0, 'shape': (3,), }",
            "{'descr': '<f8', 'descr': '<f4', 'fortran_order': False, 'shape': (3,), }",
            "{'descr': '<f8' 'fortran_order': False, 'shape': (3,), }",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), } x",
            "{'ä: '<f8'}",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(parse(&"(".repeat(60_000)), None);
    }
}
