//! The header of an IDX file, the format of MNIST: all numbers big-endian.
//!
//! ```text
//! 0  0  type  n_axes   length of each axis (u32)   elements
//! ```

use std::io::Read;
use std::path::Path;

use super::elements::ElementType;
use super::npy::{Header, cut_short};
use crate::error::ReadError;

impl Header {
    /// Reads the header of an IDX file and leaves `input` at the first byte of data.
    pub(super) fn read_idx(path: &Path, input: &mut impl Read) -> Result<Self, ReadError> {
        let bad = |reason: String| ReadError::NotReadable { file: path.into(), format: ".idx", reason };
        let failed = |error| cut_short(path, ".idx", error);
        let mut magic = [0; 4];
        input.read_exact(&mut magic).map_err(failed)?;
        let [0, 0, code, n_axes] = magic else {
            return Err(bad("it does not begin with the magic bytes".to_owned()));
        };
        let element = match code {
            0x08 => ">u1",
            0x09 => ">i1",
            0x0b => ">i2",
            0x0c => ">i4",
            0x0d => ">f4",
            0x0e => ">f8",
            _ => return Err(bad(format!("its element type {code:#04x} is unknown"))),
        };
        if n_axes == 0 {
            return Err(bad("it has no axes".to_owned()));
        }
        let mut shape = Vec::with_capacity(usize::from(n_axes));
        for _ in 0..n_axes {
            let mut axis = [0; 4];
            input.read_exact(&mut axis).map_err(failed)?;
            shape.push(u64::from(u32::from_be_bytes(axis)));
        }
        let n_bytes = 4 + 4 * u64::from(n_axes);
        let (descr, element) = (format!("{code:#04x}"), ElementType::parse(element));
        Ok(Self { descr, element, fortran_order: false, shape, n_bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<Header, String> {
        Header::read_idx(Path::new("a.idx"), &mut &bytes[..]).map_err(|error| error.to_string())
    }

    #[test]
    fn the_header_of_mnist_is_read() {
        let bytes = [[0, 0, 8, 3], [0, 0, 0xea, 0x60], [0, 0, 0, 28], [0, 0, 0, 28]].concat();
        let header = read(&bytes).expect("valid");
        assert_eq!(header.element, ElementType::parse(">u1"));
        assert_eq!((header.shape, header.n_bytes), (vec![60_000, 28, 28], 16));
    }

    #[test]
    fn anything_else_is_refused() {
        let refusal = |bytes: &[u8]| read(bytes).expect_err("must be refused");
        assert_eq!(refusal(&[0, 0, 8]), "a.idx: not a readable .idx file: it ends within the header");
        assert_eq!(refusal(&[0, 0, 8, 2, 0, 0, 0, 1, 0]), "a.idx: not a readable .idx file: it ends within the header");
        assert_eq!(
            refusal(b"\x1f\x8b\x08\x00"),
            "a.idx: not a readable .idx file: it does not begin with the magic bytes"
        );
        assert_eq!(refusal(&[0, 0, 10, 1]), "a.idx: not a readable .idx file: its element type 0x0a is unknown");
        assert_eq!(refusal(&[0, 0, 8, 0]), "a.idx: not a readable .idx file: it has no axes");
    }
}
