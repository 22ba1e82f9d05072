//! An array in a stream: what its header says, and its elements in the order of the file.
//!
//! NPY files, members of NPZ archives and IDX files differ in their headers only. Whatever the header, it is checked
//! against what the file can hold before memory is taken.

use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use super::super::input::{Input, Meter};
use super::super::kind::Kind;
use super::elements::{ElementType, Elements};
use super::npy::Header;
use crate::error::ReadError;
use crate::rows::FeatureValues;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::read) enum Role {
    Features,
    Labels,
    RowIds,
    Subjects,
    RowWeights,
}

impl Role {
    pub(in crate::read) fn name(self) -> &'static str {
        match self {
            Self::Features => "features",
            Self::Labels => "labels",
            Self::RowIds => "row ids",
            Self::Subjects => "subjects",
            Self::RowWeights => "weights",
        }
    }

    fn supported(self) -> &'static str {
        match self {
            Self::Features | Self::RowWeights => "bool, int8 to int64, uint8 to uint64, float16, float32 and float64",
            _ => "bool, int8 to int64, uint8 to uint64, float16, float32, float64, str and bytes",
        }
    }
}

pub(super) struct ArrayInput {
    /// As errors name it.
    pub(super) name: PathBuf,
    input: Input,
    pub(super) header: Header,
    element: ElementType,
    /// Whether rows may have several axes, as the images of an IDX file have.
    pub(super) flattens: bool,
    data_bytes: u64,
}

impl ArrayInput {
    /// Opens a file by its name: IDX, or else NPY.
    pub(super) fn open(path: &Path, role: Role) -> Result<Self, ReadError> {
        let mut input = Input::open(path)?;
        if Kind::of(path) != Some(Kind::Idx) {
            return Self::npy(path, input, role);
        }
        let header = Header::read_idx(path, &mut input)?;
        Self::checked(path, input, header, role, true)
    }

    pub(super) fn npy(name: &Path, mut input: Input, role: Role) -> Result<Self, ReadError> {
        let header = Header::read(name, &mut input)?;
        Self::checked(name, input, header, role, false)
    }

    /// Refuses a header that announces more than the file can hold.
    fn checked(name: &Path, input: Input, header: Header, role: Role, flattens: bool) -> Result<Self, ReadError> {
        let Some(element) = header.element else {
            return Err(unsupported(name, &header.descr, role));
        };
        let n_elements = header.shape.iter().try_fold(1_u128, |product, axis| product.checked_mul(u128::from(*axis)));
        let expected = n_elements.and_then(|n| n.checked_mul(element.n_bytes as u128)).unwrap_or(u128::MAX);
        let found = input.max_bytes.saturating_sub(header.n_bytes);
        if expected > u128::from(found) {
            return Err(ReadError::Truncated { file: name.into(), expected, found });
        }
        Ok(Self { name: name.into(), input, header, element, flattens, data_bytes: expected as u64 })
    }

    pub(super) fn refuse_text(&self, role: Role) -> Result<(), ReadError> {
        if self.element.is_text() { Err(unsupported(&self.name, &self.header.descr, role)) } else { Ok(()) }
    }

    pub(super) fn meter(&self) -> Meter {
        self.input.meter()
    }

    /// The next `n` elements, which must be numbers.
    pub(super) fn read_numbers(&mut self, n: usize) -> Result<FeatureValues, ReadError> {
        let room = self.room();
        self.element.read_numbers(&mut self.input, n, room).map_err(|error| self.failed(error))
    }

    pub(super) fn read_elements(&mut self, n: usize) -> Result<Elements, ReadError> {
        let room = self.room();
        self.element.read_elements(&mut self.input, n, room).map_err(|error| self.failed(error))
    }

    /// Elements for which room is made at once.
    fn room(&self) -> usize {
        usize::try_from(self.input.likely_bytes / self.element.n_bytes as u64).unwrap_or(usize::MAX)
    }

    /// Once all elements are read: refuses a file that goes on, or whose checksum is wrong.
    pub(super) fn finish(&mut self) -> Result<(), ReadError> {
        // Not `read_exact`: its error at the end would hide that of a compressed file that lacks its checksum.
        match (&mut self.input).take(1).read_to_end(&mut Vec::new()) {
            Ok(0) => Ok(()),
            Ok(_) => Err(ReadError::TrailingData { file: self.name.clone(), expected: self.data_bytes }),
            Err(source) => Err(ReadError::Io { file: self.name.clone(), source }),
        }
    }

    fn failed(&self, error: std::io::Error) -> ReadError {
        let file = self.name.clone();
        match error.kind() {
            ErrorKind::UnexpectedEof => {
                let found = self.input.bytes_read.saturating_sub(self.header.n_bytes);
                ReadError::Truncated { file, expected: u128::from(self.data_bytes), found }
            }
            ErrorKind::InvalidData if self.element.is_text() => {
                ReadError::NotUnicode { file, what: "an element".to_owned() }
            }
            _ => ReadError::Io { file, source: error },
        }
    }
}

fn unsupported(file: &Path, descr: &str, role: Role) -> ReadError {
    let (file, found) = (file.into(), descr.to_owned());
    ReadError::UnsupportedType { file, found, role: role.name(), supported: role.supported() }
}
