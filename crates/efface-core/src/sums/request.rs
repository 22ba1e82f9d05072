//! What is asked of a store, and what it answers: both as data, so that a store may sit behind a pipe.

use zeroize::Zeroizing;

use super::{
    ColumnRanges, DecodeError, GradientSum, GramSum, IntegerSum, PointTag, Reader, StepPowers, SumError, Writer,
};
use crate::loss::{self, Loss};
use crate::rows::{Point, Problem, RowCount, RowStore, StoreError};
use crate::secret::SecretVector;

/// A sum to be made.
#[derive(Clone, Copy, Debug)]
pub enum SumRequest<'a> {
    /// How many rows take part in each problem.
    Counts {
        /// Which problems.
        problems: &'a [Problem],
    },
    /// Losses and gradients at each point.
    Gradients {
        /// ℓ.
        loss: &'a dyn Loss,
        /// Where.
        points: &'a [Point<'a>],
    },
    /// `Σ s_i ℓ″ x_i x_iᵀ` at each point.
    Curvature {
        /// ℓ.
        loss: &'a dyn Loss,
        /// Where.
        points: &'a [Point<'a>],
    },
    /// `Σ s_i x_i x_iᵀ`.
    Gram,
    /// `Σ s_i (x_iᵀ v)⁴` for each step.
    StepPowers {
        /// Problems and steps.
        points: &'a [Point<'a>],
    },
    /// How large the values of each column are.
    Ranges {
        /// Whose targets are the last columns.
        problems: &'a [Problem],
    },
    /// Products of the columns as integers.
    Integers {
        /// Whose targets are the last columns.
        problems: &'a [Problem],
        /// The grid of each column.
        exponents: &'a [Option<i32>],
    },
}

/// The answer to a [`SumRequest`], by the same name.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each is the answer to the request of its name")]
pub enum Sums {
    Counts(Vec<RowCount>),
    Gradients(Vec<GradientSum>),
    Curvature(Vec<GramSum>),
    Gram(GramSum),
    StepPowers(Vec<StepPowers>),
    Ranges(ColumnRanges),
    Integers(IntegerSum),
}

const COUNTS: u8 = 1;
const GRADIENTS: u8 = 2;
const CURVATURE: u8 = 3;
const GRAM: u8 = 4;
const STEP_POWERS: u8 = 5;
const RANGES: u8 = 6;
const INTEGERS: u8 = 7;

impl SumRequest<'_> {
    fn kind(&self) -> u8 {
        match self {
            Self::Counts { .. } => COUNTS,
            Self::Gradients { .. } => GRADIENTS,
            Self::Curvature { .. } => CURVATURE,
            Self::Gram => GRAM,
            Self::StepPowers { .. } => STEP_POWERS,
            Self::Ranges { .. } => RANGES,
            Self::Integers { .. } => INTEGERS,
        }
    }

    /// The request as bytes. Points are secret weights.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let (Self::Gradients { points, .. } | Self::Curvature { points, .. } | Self::StepPowers { points }) = self
        else {
            return self.write(64);
        };
        self.write(64 + points.iter().map(|point| 8 * point.weights.len() + 32).sum::<usize>())
    }

    fn write(&self, capacity: usize) -> Zeroizing<Vec<u8>> {
        let mut bytes = Writer::of_kind(self.kind(), capacity);
        match self {
            Self::Counts { problems } | Self::Ranges { problems } => bytes.each(problems, Writer::problem),
            Self::Gradients { loss, points } | Self::Curvature { loss, points } => {
                bytes.byte(loss.tag().len() as u8);
                bytes.raw(loss.tag().as_bytes());
                bytes.each(points, write_point);
            }
            Self::Gram => {}
            Self::StepPowers { points } => bytes.each(points, write_point),
            Self::Integers { problems, exponents } => {
                bytes.each(problems, Writer::problem);
                bytes.each(exponents, |bytes, exponent| bytes.raw(&exponent.unwrap_or(i32::MIN).to_le_bytes()));
            }
        }
        bytes.finish()
    }

    /// Hands the request that these bytes say to `work`.
    pub fn with_bytes<T>(bytes: &[u8], work: impl FnOnce(&SumRequest<'_>) -> T) -> Result<T, DecodeError> {
        let (kind, mut reader) = Reader::open(bytes)?;
        let loss = match kind {
            GRADIENTS | CURVATURE => Some(read_loss(&mut reader)?),
            _ => None,
        };
        let (mut problems, mut weights, mut exponents) = (Vec::new(), Vec::new(), Vec::new());
        match kind {
            COUNTS | RANGES | INTEGERS => problems = reader.each(Reader::problem)?,
            GRADIENTS | CURVATURE | STEP_POWERS => {
                let read = reader.each(|reader| {
                    let problem = reader.problem()?;
                    let dim = reader.count()?;
                    let n_scores = problem.n_scores();
                    if dim == 0 || n_scores == 0 || !dim.is_multiple_of(n_scores) {
                        return Err(DecodeError::Length);
                    }
                    Ok((problem, SecretVector::from(reader.numbers(dim)?)))
                })?;
                (problems, weights) = read.into_iter().unzip();
            }
            GRAM => {}
            _ => return Err(DecodeError::Kind),
        }
        if kind == INTEGERS {
            exponents = reader.each(|reader| {
                let exponent = i32::from_le_bytes(reader.array()?);
                Ok((exponent != i32::MIN).then_some(exponent))
            })?;
        }
        reader.end()?;
        let points: Vec<Point<'_>> =
            problems.iter().zip(&weights).map(|(problem, weights)| Point { problem, weights }).collect();
        let (problems, points, exponents) = (&problems[..], &points[..], &exponents[..]);
        Ok(work(&match (kind, loss) {
            (COUNTS, _) => SumRequest::Counts { problems },
            (GRADIENTS, Some(loss)) => SumRequest::Gradients { loss, points },
            (CURVATURE, Some(loss)) => SumRequest::Curvature { loss, points },
            (STEP_POWERS, _) => SumRequest::StepPowers { points },
            (RANGES, _) => SumRequest::Ranges { problems },
            (INTEGERS, _) => SumRequest::Integers { problems, exponents },
            _ => SumRequest::Gram,
        }))
    }

    /// Answers a request in bytes with a sum in bytes: all that a process needs to do that sums for another.
    pub fn answer(bytes: &[u8], rows: &dyn RowStore) -> Result<Zeroizing<Vec<u8>>, StoreError> {
        let answer =
            Self::with_bytes(bytes, |request| rows.sum(request)).map_err(|error| StoreError(error.into()))??;
        Ok(answer.to_bytes())
    }
}

fn write_point(bytes: &mut Writer, point: &Point<'_>) {
    bytes.problem(point.problem);
    bytes.count(point.weights.len());
    bytes.numbers(point.weights);
}

fn read_loss(reader: &mut Reader<'_>) -> Result<&'static dyn Loss, DecodeError> {
    let len = reader.byte()?;
    let tag = std::str::from_utf8(reader.raw(len.into())?).map_err(|_| DecodeError::Number)?;
    loss::by_tag(tag).ok_or(DecodeError::Number)
}

impl Sums {
    /// The answer as bytes.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let (kind, sums): (u8, Vec<Zeroizing<Vec<u8>>>) = match self {
            Self::Counts(counts) => {
                let mut bytes = Writer::of_kind(COUNTS, 24 * counts.len() + 8);
                bytes.each(counts, Writer::rows);
                return bytes.finish();
            }
            Self::Gradients(sums) => (GRADIENTS, sums.iter().map(GradientSum::to_bytes).collect()),
            Self::Curvature(sums) => (CURVATURE, sums.iter().map(GramSum::to_bytes).collect()),
            Self::Gram(sum) => (GRAM, vec![sum.to_bytes()]),
            Self::StepPowers(sums) => (STEP_POWERS, sums.iter().map(StepPowers::to_bytes).collect()),
            Self::Ranges(ranges) => (RANGES, vec![ranges.to_bytes()]),
            Self::Integers(sum) => (INTEGERS, vec![sum.to_bytes()]),
        };
        let mut bytes = Writer::of_kind(kind, 8 + sums.iter().map(|sum| sum.len() + 8).sum::<usize>());
        bytes.each(&sums, |bytes, sum| {
            bytes.count(sum.len());
            bytes.raw(sum);
        });
        bytes.finish()
    }

    /// The answer that these bytes say.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let (kind, mut reader) = Reader::open(bytes)?;
        if kind == COUNTS {
            let counts = reader.each(Reader::rows)?;
            reader.end()?;
            return Ok(Self::Counts(counts));
        }
        let sums = reader.each(|reader| {
            let len = reader.count()?;
            reader.raw(len)
        })?;
        reader.end()?;
        let only = || if let [sum] = sums[..] { Ok(sum) } else { Err(DecodeError::Length) };
        Ok(match kind {
            GRADIENTS => Self::Gradients(sums.into_iter().map(GradientSum::from_bytes).collect::<Result<_, _>>()?),
            CURVATURE => Self::Curvature(sums.into_iter().map(GramSum::from_bytes).collect::<Result<_, _>>()?),
            GRAM => Self::Gram(GramSum::from_bytes(only()?)?),
            STEP_POWERS => Self::StepPowers(sums.into_iter().map(StepPowers::from_bytes).collect::<Result<_, _>>()?),
            RANGES => Self::Ranges(ColumnRanges::from_bytes(only()?)?),
            INTEGERS => Self::Integers(IntegerSum::from_bytes(only()?)?),
            _ => return Err(DecodeError::Kind),
        })
    }

    pub(crate) fn counts(self, problems: &[Problem]) -> Result<Vec<RowCount>, StoreError> {
        match self {
            Self::Counts(counts) if counts.len() == problems.len() => Ok(counts),
            _ => Err(SumError::AnotherSum.into()),
        }
    }

    pub(crate) fn gradients(self, loss: &dyn Loss, points: &[Point<'_>]) -> Result<Vec<GradientSum>, StoreError> {
        let fits = |sum: &GradientSum, point: &Point<'_>| {
            sum.tag() == PointTag::of(loss, point) && sum.gradient.len() == point.weights.len()
        };
        match self {
            Self::Gradients(sums) => all_at(sums, points, fits),
            _ => Err(SumError::AnotherSum.into()),
        }
    }

    pub(crate) fn curvature(self, loss: &dyn Loss, points: &[Point<'_>]) -> Result<Vec<GramSum>, StoreError> {
        let fits = |sum: &GramSum, point: &Point<'_>| {
            sum.tag() == PointTag::of(loss, point) && sum.dim() == point.weights.len()
        };
        match self {
            Self::Curvature(sums) => all_at(sums, points, fits),
            _ => Err(SumError::AnotherSum.into()),
        }
    }

    pub(crate) fn gram(self, dim: usize) -> Result<GramSum, StoreError> {
        match self {
            Self::Gram(sum) if sum.tag() == PointTag::EVERYWHERE && sum.dim() == dim => Ok(sum),
            _ => Err(SumError::AnotherSum.into()),
        }
    }

    pub(crate) fn step_powers(self, points: &[Point<'_>]) -> Result<Vec<StepPowers>, StoreError> {
        match self {
            Self::StepPowers(sums) => all_at(sums, points, |sum, point| sum.tag() == PointTag::of_step(point)),
            _ => Err(SumError::AnotherSum.into()),
        }
    }

    pub(crate) fn ranges(self, dim: usize, problems: &[Problem]) -> Result<ColumnRanges, StoreError> {
        match self {
            Self::Ranges(ranges) if ranges.counts().len() == dim + problems.len() => Ok(ranges),
            _ => Err(SumError::AnotherSum.into()),
        }
    }

    pub(crate) fn integers(self, exponents: &[Option<i32>]) -> Result<IntegerSum, StoreError> {
        match self {
            Self::Integers(sum) if sum.exponents() == exponents => Ok(sum),
            _ => Err(SumError::AnotherSum.into()),
        }
    }
}

/// One sum per point, each taken there.
fn all_at<S>(sums: Vec<S>, points: &[Point<'_>], fits: impl Fn(&S, &Point<'_>) -> bool) -> Result<Vec<S>, StoreError> {
    let all = sums.len() == points.len() && sums.iter().zip(points).all(|(sum, point)| fits(sum, point));
    if all { Ok(sums) } else { Err(SumError::AnotherSum.into()) }
}
