//! Sums and requests as bytes: a version, a kind, then numbers, little-endian. Sizes are checked before anything is
//! allocated; unknown versions, wrong lengths and numbers that are not finite are refused.

use zeroize::Zeroizing;

use super::{Origin, PointTag, SumDepth};
use crate::rounding::UpperBound;
use crate::rows::{NegativeSampling, Problem, RowCount, TargetRule, WeightSum};

/// Version of all sums and requests.
const VERSION: u8 = 1;

/// Bytes that are no sum, or no request.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// Written by another version.
    #[error("version {got} of sums is not known, only {VERSION}")]
    Version {
        /// As it was written.
        got: u8,
    },
    /// Another kind of sum, or none.
    #[error("these bytes are another kind of sum")]
    Kind,
    /// Too short, or too long.
    #[error("a sum of another length")]
    Length,
    /// A number that no sum has.
    #[error("a number that no sum has")]
    Number,
}

/// Bytes being written. Wiped when dropped: a gradient of one row is a multiple of it.
pub(crate) struct Writer(Zeroizing<Vec<u8>>);

impl Writer {
    /// An empty sum, with room for so many bytes: what grows leaves copies behind.
    pub(crate) fn new(capacity: usize) -> Self {
        Self(Zeroizing::new(Vec::with_capacity(capacity)))
    }

    pub(crate) fn of_kind(kind: u8, capacity: usize) -> Self {
        let mut writer = Self::new(capacity + 2);
        writer.raw(&[VERSION, kind]);
        writer
    }

    pub(crate) fn finish(self) -> Zeroizing<Vec<u8>> {
        self.0
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    pub(crate) fn byte(&mut self, value: u8) {
        self.0.push(value);
    }

    pub(crate) fn count(&mut self, n: usize) {
        self.raw(&(n as u64).to_le_bytes());
    }

    pub(crate) fn number(&mut self, value: f64) {
        self.raw(&value.to_le_bytes());
    }

    pub(crate) fn numbers(&mut self, values: &[f64]) {
        for value in values {
            self.number(*value);
        }
    }

    pub(crate) fn rows(&mut self, count: &RowCount) {
        self.count(count.n_rows);
        self.raw(&count.weight_sum.units().to_le_bytes());
    }

    pub(crate) fn depth(&mut self, depth: SumDepth) {
        self.count(depth.margins);
        self.count(depth.accumulation);
    }

    pub(crate) fn origin(&mut self, origin: &Origin) {
        self.count(origin.dim);
        self.raw(&origin.tag.0.to_le_bytes());
        self.numbers(&[origin.row_norm, origin.weights_norm, origin.lipschitz].map(UpperBound::get));
    }

    pub(crate) fn problem(&mut self, problem: &Problem) {
        match &problem.target {
            TargetRule::Value => self.byte(0),
            TargetRule::OneVsRest { positive } => {
                self.byte(1);
                self.raw(&positive.to_le_bytes());
            }
            TargetRule::Softmax { classes } => {
                self.byte(2);
                self.each(classes, |bytes, class| bytes.raw(&class.to_le_bytes()));
            }
        }
        match problem.negatives {
            None => self.byte(0),
            Some(NegativeSampling { fraction }) => {
                self.byte(1);
                self.number(fraction);
            }
        }
    }

    /// How many there are, and each of them.
    pub(crate) fn each<T>(&mut self, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        self.count(items.len());
        for item in items {
            write(self, item);
        }
    }
}

/// Bytes being read.
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Bytes of this kind.
    pub(crate) fn of_kind(bytes: &'a [u8], kind: u8) -> Result<Self, DecodeError> {
        let (found, reader) = Self::open(bytes)?;
        if found == kind { Ok(reader) } else { Err(DecodeError::Kind) }
    }

    /// The kind, and what follows.
    pub(crate) fn open(bytes: &'a [u8]) -> Result<(u8, Self), DecodeError> {
        match bytes {
            [VERSION, kind, rest @ ..] => Ok((*kind, Self(rest))),
            [version, ..] if *version != VERSION => Err(DecodeError::Version { got: *version }),
            _ => Err(DecodeError::Length),
        }
    }

    /// Nothing may follow.
    pub(crate) fn end(self) -> Result<(), DecodeError> {
        if self.0.is_empty() { Ok(()) } else { Err(DecodeError::Length) }
    }

    pub(crate) fn raw(&mut self, n: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, rest) = self.0.split_at_checked(n).ok_or(DecodeError::Length)?;
        self.0 = rest;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        self.raw(N)?.try_into().map_err(|_| DecodeError::Length)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, DecodeError> {
        Ok(self.array::<1>()?[0])
    }

    pub(crate) fn count(&mut self) -> Result<usize, DecodeError> {
        usize::try_from(u64::from_le_bytes(self.array()?)).map_err(|_| DecodeError::Length)
    }

    /// A finite number.
    pub(crate) fn number(&mut self) -> Result<f64, DecodeError> {
        Some(f64::from_le_bytes(self.array()?)).filter(|value| value.is_finite()).ok_or(DecodeError::Number)
    }

    /// A size: finite, not negative.
    pub(crate) fn size(&mut self) -> Result<f64, DecodeError> {
        Some(self.number()?).filter(|value| *value >= 0.0).ok_or(DecodeError::Number)
    }

    /// A bound, which may be infinite where none is known.
    fn bound(&mut self) -> Result<UpperBound, DecodeError> {
        let value = f64::from_le_bytes(self.array()?);
        if value >= 0.0 { Ok(UpperBound::new(value)) } else { Err(DecodeError::Number) }
    }

    /// So many finite numbers.
    pub(crate) fn numbers(&mut self, n: usize) -> Result<Vec<f64>, DecodeError> {
        let bytes = self.raw(n.checked_mul(8).ok_or(DecodeError::Length)?)?;
        let values = bytes.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes));
        // Collected at once: what grows leaves copies behind.
        let values: Vec<f64> = values.collect();
        if values.iter().all(|value| value.is_finite()) { Ok(values) } else { Err(DecodeError::Number) }
    }

    pub(crate) fn rows(&mut self) -> Result<RowCount, DecodeError> {
        let n_rows = self.count()?;
        Ok(RowCount { n_rows, weight_sum: WeightSum::from_units(u128::from_le_bytes(self.array()?)) })
    }

    pub(crate) fn depth(&mut self) -> Result<SumDepth, DecodeError> {
        Ok(SumDepth { margins: self.count()?, accumulation: self.count()? })
    }

    pub(crate) fn origin(&mut self) -> Result<Origin, DecodeError> {
        Ok(Origin {
            dim: self.count()?,
            tag: PointTag(u64::from_le_bytes(self.array()?)),
            row_norm: self.bound()?,
            weights_norm: self.bound()?,
            lipschitz: self.bound()?,
        })
    }

    pub(crate) fn problem(&mut self) -> Result<Problem, DecodeError> {
        let target = match self.byte()? {
            0 => TargetRule::Value,
            1 => TargetRule::OneVsRest { positive: u32::from_le_bytes(self.array()?) },
            2 => {
                let classes = self.each(|reader| Ok(u32::from_le_bytes(reader.array()?)))?;
                // A single score is that of another problem.
                if classes.len() < 2 {
                    return Err(DecodeError::Number);
                }
                TargetRule::Softmax { classes }
            }
            _ => return Err(DecodeError::Number),
        };
        let negatives = match self.byte()? {
            0 => None,
            1 => Some(NegativeSampling { fraction: self.number()? }),
            _ => return Err(DecodeError::Number),
        };
        Ok(Problem { target, negatives })
    }

    /// As many as were written. Each is read before room is made for the next.
    pub(crate) fn each<T>(
        &mut self,
        mut read: impl FnMut(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<Vec<T>, DecodeError> {
        (0..self.count()?).map(|_| read(self)).collect()
    }
}
