//! The elements of an array (NPY or IDX): which types there are, and how their bytes become numbers or texts.

use std::io::Read;

use half::f16;

use crate::rows::FeatureValues;

/// A type of elements, with the order of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ElementType {
    pub(super) kind: ElementKind,
    big_endian: bool,
}

/// A type of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ElementKind {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    F32,
    F64,
    /// Text of this many 4-byte characters, padded with zeros.
    Unicode(usize),
    /// Text of this many bytes, padded with zeros.
    Bytes(usize),
}

/// Elements of a one-dimensional array.
#[derive(Debug)]
pub(super) enum Elements {
    Booleans(Vec<bool>),
    Integers(Vec<i64>),
    Numbers(Vec<f64>),
    Texts(Vec<String>),
}

impl ElementType {
    /// Elements with the highest byte first.
    pub(super) fn big_endian(kind: ElementKind) -> Self {
        Self { kind, big_endian: true }
    }

    /// Reads NumPy's name of a type, such as `<f8`. `None`: not supported.
    pub(super) fn parse(descr: &str) -> Option<Self> {
        use ElementKind as Kind;
        let big_endian = match descr.as_bytes().first()? {
            b'>' => true,
            b'<' | b'|' => false,
            _ => return None,
        };
        let kind = match &descr[1..] {
            "b1" => Kind::Bool,
            "i1" => Kind::I8,
            "i2" => Kind::I16,
            "i4" => Kind::I32,
            "i8" => Kind::I64,
            "u1" => Kind::U8,
            "u2" => Kind::U16,
            "u4" => Kind::U32,
            "u8" => Kind::U64,
            "f2" => Kind::F16,
            "f4" => Kind::F32,
            "f8" => Kind::F64,
            text => {
                let length = text.get(1..)?.parse().ok().filter(|length| (1..=MAX_TEXT_LENGTH).contains(length))?;
                match text.as_bytes()[0] {
                    b'U' => Kind::Unicode(length),
                    b'S' => Kind::Bytes(length),
                    _ => return None,
                }
            }
        };
        Some(Self { kind, big_endian })
    }

    /// Bytes of one element.
    pub(super) fn n_bytes(self) -> usize {
        use ElementKind as Kind;
        match self.kind {
            Kind::Bool | Kind::I8 | Kind::U8 => 1,
            Kind::I16 | Kind::U16 | Kind::F16 => 2,
            Kind::I32 | Kind::U32 | Kind::F32 => 4,
            Kind::I64 | Kind::U64 | Kind::F64 => 8,
            Kind::Unicode(length) => 4 * length,
            Kind::Bytes(length) => length,
        }
    }

    /// Whether elements are texts.
    pub(super) fn is_text(self) -> bool {
        matches!(self.kind, ElementKind::Unicode(_) | ElementKind::Bytes(_))
    }

    /// Reads `n` numbers; those that a single-precision number holds exactly are kept in single precision. Memory for at
    /// most `room` of them is taken before they have come.
    pub(super) fn read_numbers(self, input: &mut impl Read, n: usize, room: usize) -> std::io::Result<FeatureValues> {
        use ElementKind as Kind;
        let (swap, room) = (self.big_endian, room.min(n));
        Ok(match self.kind {
            Kind::Bool => {
                FeatureValues::F32(decode(input, n, room, swap, |[byte]: [u8; 1]| f32::from(u8::from(byte != 0)))?)
            }
            Kind::I8 => FeatureValues::F32(decode(input, n, room, swap, |b| f32::from(i8::from_le_bytes(b)))?),
            Kind::U8 => FeatureValues::F32(decode(input, n, room, swap, |[byte]: [u8; 1]| f32::from(byte))?),
            Kind::I16 => FeatureValues::F32(decode(input, n, room, swap, |b| f32::from(i16::from_le_bytes(b)))?),
            Kind::U16 => FeatureValues::F32(decode(input, n, room, swap, |b| f32::from(u16::from_le_bytes(b)))?),
            Kind::F16 => FeatureValues::F32(decode(input, n, room, swap, |b| f16::from_le_bytes(b).to_f32())?),
            Kind::F32 => FeatureValues::F32(decode(input, n, room, swap, f32::from_le_bytes)?),
            Kind::I32 => FeatureValues::F64(decode(input, n, room, swap, |b| f64::from(i32::from_le_bytes(b)))?),
            Kind::U32 => FeatureValues::F64(decode(input, n, room, swap, |b| f64::from(u32::from_le_bytes(b)))?),
            Kind::I64 => FeatureValues::F64(decode(input, n, room, swap, |b| i64::from_le_bytes(b) as f64)?),
            Kind::U64 => FeatureValues::F64(decode(input, n, room, swap, |b| u64::from_le_bytes(b) as f64)?),
            Kind::F64 => FeatureValues::F64(decode(input, n, room, swap, f64::from_le_bytes)?),
            Kind::Unicode(_) | Kind::Bytes(_) => return Err(std::io::ErrorKind::InvalidInput.into()),
        })
    }

    /// Reads `n` elements of any type. A text that is not Unicode is an error of kind `InvalidData`. Memory for at most
    /// `room` of them is taken before they have come.
    pub(super) fn read_elements(self, input: &mut impl Read, n: usize, room: usize) -> std::io::Result<Elements> {
        use ElementKind as Kind;
        let (swap, room) = (self.big_endian, room.min(n));
        Ok(match self.kind {
            Kind::Bool => Elements::Booleans(decode(input, n, room, swap, |[byte]: [u8; 1]| byte != 0)?),
            Kind::I8 => Elements::Integers(decode(input, n, room, swap, |b| i64::from(i8::from_le_bytes(b)))?),
            Kind::I16 => Elements::Integers(decode(input, n, room, swap, |b| i64::from(i16::from_le_bytes(b)))?),
            Kind::I32 => Elements::Integers(decode(input, n, room, swap, |b| i64::from(i32::from_le_bytes(b)))?),
            Kind::I64 => Elements::Integers(decode(input, n, room, swap, i64::from_le_bytes)?),
            Kind::U8 => Elements::Integers(decode(input, n, room, swap, |[byte]: [u8; 1]| i64::from(byte))?),
            Kind::U16 => Elements::Integers(decode(input, n, room, swap, |b| i64::from(u16::from_le_bytes(b)))?),
            Kind::U32 => Elements::Integers(decode(input, n, room, swap, |b| i64::from(u32::from_le_bytes(b)))?),
            Kind::U64 => {
                let integers = decode(input, n, room, swap, u64::from_le_bytes)?.into_iter().map(i64::try_from);
                Elements::Integers(integers.collect::<Result<_, _>>().map_err(std::io::Error::other)?)
            }
            Kind::F16 | Kind::F32 | Kind::F64 => match self.read_numbers(input, n, room)? {
                FeatureValues::F32(values) => Elements::Numbers(values.into_iter().map(f64::from).collect()),
                FeatureValues::F64(values) => Elements::Numbers(values),
            },
            Kind::Unicode(_) | Kind::Bytes(_) => {
                let mut element = vec![0; self.n_bytes()];
                let mut texts = Vec::with_capacity(room);
                for _ in 0..n {
                    input.read_exact(&mut element)?;
                    texts.push(self.text(&element).ok_or(std::io::ErrorKind::InvalidData)?);
                }
                Elements::Texts(texts)
            }
        })
    }

    fn text(self, element: &[u8]) -> Option<String> {
        if let ElementKind::Bytes(_) = self.kind {
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
