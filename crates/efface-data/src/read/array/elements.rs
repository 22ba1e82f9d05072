//! The elements of an array (NPY or IDX): which types there are, and how their bytes become numbers or texts.

use std::io::Read;

use half::f16;

use crate::rows::FeatureValues;

/// A type of elements, in the terms of NumPy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ElementType {
    /// `b`ool, `i`nt, `u`int, `f`loat; text of `U`nicode characters or of byte`S`, padded with zeros.
    kind: u8,
    pub(super) n_bytes: usize,
    big_endian: bool,
}

#[derive(Debug)]
pub(super) enum Elements {
    Booleans(Vec<bool>),
    Integers(Vec<i64>),
    Numbers(Vec<f64>),
    Texts(Vec<String>),
}

impl ElementType {
    /// Reads NumPy's name of a type, such as `<f8`. `None`: not supported.
    pub(super) fn parse(descr: &str) -> Option<Self> {
        let big_endian = match descr.as_bytes().first()? {
            b'>' => true,
            b'<' | b'|' => false,
            _ => return None,
        };
        let kind = *descr.as_bytes().get(1)?;
        let size = descr.get(2..).filter(|size| matches!(size.as_bytes(), [b'1'..=b'9', ..]))?;
        let n_bytes = match (kind, size.parse().ok()?) {
            (b'b', 1) => 1,
            (b'i' | b'u', size @ (1 | 2 | 4 | 8)) | (b'f', size @ (2 | 4 | 8)) => size,
            (b'U', length @ 1..=MAX_TEXT_LENGTH) => 4 * length,
            (b'S', length @ 1..=MAX_TEXT_LENGTH) => length,
            _ => return None,
        };
        Some(Self { kind, n_bytes, big_endian })
    }

    pub(super) fn is_text(self) -> bool {
        matches!(self.kind, b'U' | b'S')
    }

    /// Reads `n` numbers; those that a single-precision number holds exactly are kept in single precision. Memory for at
    /// most `room` of them is taken before they have come.
    pub(super) fn read_numbers(self, input: &mut impl Read, n: usize, room: usize) -> std::io::Result<FeatureValues> {
        use FeatureValues::{F32, F64};
        let (swap, room) = (self.big_endian, room.min(n));
        Ok(match (self.kind, self.n_bytes) {
            (b'b', _) => F32(decode(input, n, room, swap, |[byte]: [u8; 1]| f32::from(u8::from(byte != 0)))?),
            (b'i', 1) => F32(decode(input, n, room, swap, |b| f32::from(i8::from_le_bytes(b)))?),
            (b'i', 2) => F32(decode(input, n, room, swap, |b| f32::from(i16::from_le_bytes(b)))?),
            (b'i', 4) => F64(decode(input, n, room, swap, |b| f64::from(i32::from_le_bytes(b)))?),
            (b'i', _) => F64(decode(input, n, room, swap, |b| i64::from_le_bytes(b) as f64)?),
            (b'u', 1) => F32(decode(input, n, room, swap, |[byte]: [u8; 1]| f32::from(byte))?),
            (b'u', 2) => F32(decode(input, n, room, swap, |b| f32::from(u16::from_le_bytes(b)))?),
            (b'u', 4) => F64(decode(input, n, room, swap, |b| f64::from(u32::from_le_bytes(b)))?),
            (b'u', _) => F64(decode(input, n, room, swap, |b| u64::from_le_bytes(b) as f64)?),
            (b'f', 2) => F32(decode(input, n, room, swap, |b| f16::from_le_bytes(b).to_f32())?),
            (b'f', 4) => F32(decode(input, n, room, swap, f32::from_le_bytes)?),
            (b'f', _) => F64(decode(input, n, room, swap, f64::from_le_bytes)?),
            _ => return Err(std::io::ErrorKind::InvalidInput.into()),
        })
    }

    /// Reads `n` elements of any type. A text that is not Unicode is an error of kind `InvalidData`. Memory for at most
    /// `room` of them is taken before they have come.
    pub(super) fn read_elements(self, input: &mut impl Read, n: usize, room: usize) -> std::io::Result<Elements> {
        let (swap, room) = (self.big_endian, room.min(n));
        Ok(match (self.kind, self.n_bytes) {
            (b'U' | b'S', n_bytes) => {
                let mut element = vec![0; n_bytes];
                let mut texts = Vec::with_capacity(room);
                for _ in 0..n {
                    input.read_exact(&mut element)?;
                    texts.push(self.text(&element).ok_or(std::io::ErrorKind::InvalidData)?);
                }
                Elements::Texts(texts)
            }
            (b'i', 8) => Elements::Integers(decode(input, n, room, swap, i64::from_le_bytes)?),
            (b'u', 8) => {
                let integers = decode(input, n, room, swap, u64::from_le_bytes)?.into_iter().map(i64::try_from);
                Elements::Integers(integers.collect::<Result<_, _>>().map_err(std::io::Error::other)?)
            }
            _ => {
                let numbers: Vec<f64> = match self.read_numbers(input, n, room)? {
                    FeatureValues::F32(values) => values.into_iter().map(f64::from).collect(),
                    FeatureValues::F64(values) => values,
                };
                match self.kind {
                    b'b' => Elements::Booleans(numbers.iter().map(|x| *x != 0.0).collect()),
                    // Integers of at most 32 bits are exact as doubles.
                    b'i' | b'u' => Elements::Integers(numbers.iter().map(|x| *x as i64).collect()),
                    _ => Elements::Numbers(numbers),
                }
            }
        })
    }

    fn text(self, element: &[u8]) -> Option<String> {
        if self.kind == b'S' {
            return Some(std::str::from_utf8(element).ok()?.trim_end_matches('\0').to_owned());
        }
        let (characters, _) = element.as_chunks::<4>();
        let code = |b: &[u8; 4]| if self.big_endian { u32::from_be_bytes(*b) } else { u32::from_le_bytes(*b) };
        let text: String = characters.iter().map(|bytes| char::from_u32(code(bytes))).collect::<Option<_>>()?;
        Some(text.trim_end_matches('\0').to_owned())
    }
}

/// Reads `n` elements of `N` bytes, a buffer at a time. Ends with `UnexpectedEof` when there are fewer.
fn decode<T, const N: usize>(
    input: &mut impl Read,
    n: usize,
    room: usize,
    swap: bool,
    convert: impl Fn([u8; N]) -> T,
) -> std::io::Result<Vec<T>> {
    let mut decoded = Vec::with_capacity(room);
    let mut buffer = vec![0; BUFFER_ELEMENTS.min(n) * N];
    while decoded.len() < n {
        let n_bytes = buffer.len().min((n - decoded.len()) * N);
        input.read_exact(&mut buffer[..n_bytes])?;
        let (elements, _) = buffer[..n_bytes].as_chunks_mut::<N>();
        if swap {
            for element in elements.iter_mut() {
                element.reverse();
            }
        }
        decoded.extend(elements.iter().map(|element| convert(*element)));
    }
    Ok(decoded)
}

const BUFFER_ELEMENTS: usize = 1 << 15;

/// Longest text of a label or an id, in characters.
const MAX_TEXT_LENGTH: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_precision_numbers_are_widened_exactly() {
        let known = [
            (0x0000, 0.0),
            (0x8000, -0.0),
            (0x0001, 2f32.powi(-24)),
            (0x03ff, 1023.0 * 2f32.powi(-24)),
            (0x0400, 2f32.powi(-14)),
            (0x3555, 0.333_251_95),
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
            (0x7c00, f32::INFINITY),
            (0xfc00, f32::NEG_INFINITY),
        ];
        let widened = |descr: &str, bytes: [u8; 2]| {
            let element = ElementType::parse(descr).expect("supported");
            match element.read_numbers(&mut bytes.as_slice(), 1, 1).expect("one element") {
                FeatureValues::F32(values) => values[0],
                FeatureValues::F64(_) => panic!("single precision holds it exactly"),
            }
        };
        for (bits, value) in known {
            assert_eq!(widened("<f2", u16::to_le_bytes(bits)).to_bits(), f32::to_bits(value), "{bits:#06x}");
            assert_eq!(widened(">f2", u16::to_be_bytes(bits)).to_bits(), f32::to_bits(value), "{bits:#06x}");
        }
        assert!(widened("<f2", 0x7e00_u16.to_le_bytes()).is_nan());
    }

    /// A gzipped array can announce a thousand times the size of its file, and a room for that many elements was made
    /// before the first of them had come.
    #[test]
    fn elements_that_do_not_come_take_no_memory() {
        for descr in ["|u1", "<f8", "|S1", "<U1"] {
            let element = ElementType::parse(descr).expect("supported");
            let n = usize::MAX / 64;
            let error = element.read_elements(&mut [0; 100].as_slice(), n, 10).expect_err("cut short");
            assert_eq!(error.kind(), std::io::ErrorKind::UnexpectedEof, "{descr}");
        }
    }

    #[test]
    fn types_of_no_length_or_another_kind_are_not_supported() {
        for descr in ["", "<", "<U0", "|S0", "<c16", "|O", "<M8[s]", "f8", "<f16", "<U99999999999999999999", "<ä"] {
            assert_eq!(ElementType::parse(descr), None, "{descr}");
        }
    }
}
