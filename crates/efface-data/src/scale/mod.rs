//! Row-local scaling: each row is brought to a bounded norm, or found to have one, by looking at that row alone.
//!
//! Nothing is fitted on the data, so that removing one row changes no other. The norm is checked after rounding to the
//! precision in which the row is stored, and the check is rounded up: a stored row never has a larger norm than
//! [`RowTransform::row_norm_bound`] says.

mod divisor;

pub(crate) use divisor::RowDivisor;

use std::fmt;
use std::str::FromStr;

use efface_core::rounding::{self, UpperBound};
use efface_core::rows::RowValue;
use serde::{Deserialize, Serialize};

use crate::error::{ParseScaleError, ScaleError};

/// How much longer than its scale says a row may be, relative to it: covers rounding to single precision.
pub const NORM_TOLERANCE: f64 = 1e-6;

/// How the norm of a row is bounded. Written `auto`, `unit`, `clip:R`, `within:R`, `none`, `raw`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Scale {
    /// By constants that are [derived](crate::derived) from the rows present.
    Auto,
    /// Divided by its own norm; a row of zeros stays one.
    Unit,
    /// Divided by the radius, and shortened to norm 1 if it is still longer.
    Clip {
        /// R > 0: rows up to this norm keep their relative length.
        radius: f64,
    },
    /// Taken as it is; a row longer than the radius is an error.
    Within {
        /// R > 0: the largest norm that a row may have.
        radius: f64,
    },
    /// Taken as it is; a row longer than 1 is an error. The same as `within:1`.
    None,
    /// Taken as it is, of any length. For exact models only: what is claimed of any other one rests on a bound.
    Raw,
}

impl Scale {
    /// Largest norm of a scaled row, its intercept aside.
    ///
    /// ```text
    /// R · (1 + 10⁻⁶)        R = 1 unless the scale is within:R
    /// ```
    pub fn norm_limit(self) -> f64 {
        match self {
            Self::Within { radius } => radius * (1.0 + NORM_TOLERANCE),
            Self::Unit | Self::Clip { .. } | Self::None => 1.0 + NORM_TOLERANCE,
            Self::Raw | Self::Auto => f64::INFINITY,
        }
    }

    /// What a row of finite numbers is divided by.
    pub(crate) fn divisor<T: RowValue>(self, row: &[T]) -> RowDivisor {
        match self {
            Self::Within { .. } | Self::None | Self::Raw | Self::Auto => RowDivisor::ONE,
            Self::Unit => match length(row) {
                (_, 0.0) => RowDivisor::ONE,
                (1.0, norm) => RowDivisor(norm),
                _ => RowDivisor::EXTREME,
            },
            Self::Clip { radius } => match length(row) {
                (_, 0.0) => RowDivisor::ONE,
                // Infinite when the norm is beyond the range of doubles, and then beyond the radius too.
                (unit, norm) if unit * norm <= radius => RowDivisor(radius),
                _ => Self::Unit.divisor(row),
            },
        }
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Unit => f.write_str("unit"),
            Self::Clip { radius } => write!(f, "clip:{radius}"),
            Self::Within { radius } => write!(f, "within:{radius}"),
            Self::None => f.write_str("none"),
            Self::Raw => f.write_str("raw"),
        }
    }
}

impl FromStr for Scale {
    type Err = ParseScaleError;

    fn from_str(text: &str) -> Result<Self, ParseScaleError> {
        let scale = match text.split_once(':') {
            None if text == "auto" => Some(Self::Auto),
            None if text == "unit" => Some(Self::Unit),
            None if text == "none" => Some(Self::None),
            None if text == "raw" => Some(Self::Raw),
            Some(("clip", radius)) => radius.parse().ok().map(|radius| Self::Clip { radius }),
            Some(("within", radius)) => radius.parse().ok().map(|radius| Self::Within { radius }),
            _ => None,
        };
        let scale = scale.filter(|scale| match scale {
            Self::Clip { radius } => *radius > 0.0 && radius.is_finite(),
            Self::Within { radius } => *radius > 0.0 && scale.norm_limit().is_finite(),
            Self::Auto | Self::Unit | Self::None | Self::Raw => true,
        });
        scale.ok_or_else(|| ParseScaleError { text: text.to_owned() })
    }
}

impl From<Scale> for String {
    fn from(scale: Scale) -> Self {
        scale.to_string()
    }
}

impl TryFrom<String> for Scale {
    type Error = ParseScaleError;

    fn try_from(text: String) -> Result<Self, ParseScaleError> {
        text.parse()
    }
}

/// From a row of the table to a row of the model: scaled, and a constant 1 appended last for the intercept.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RowTransform {
    /// How features are scaled.
    pub scale: Scale,
    /// Whether the model has an intercept.
    pub intercept: bool,
}

impl RowTransform {
    /// What rows become where nobody says otherwise.
    pub const USUAL: Self = Self { scale: Scale::Auto, intercept: true };

    /// Number of values of a model row that is made of `n_features` features.
    pub fn model_dim(&self, n_features: usize) -> usize {
        n_features + usize::from(self.intercept)
    }

    /// How rows are kept: raw, where constants are derived from them that may change.
    #[must_use]
    pub fn kept(&self) -> Self {
        Self { intercept: self.intercept && self.scale != Scale::Auto, ..*self }
    }

    /// The same for rows that are only looked at: a prediction rests on no bound, so a row that is taken as it is may be of
    /// any length.
    #[must_use]
    pub fn for_prediction(&self) -> Self {
        let scale = match self.scale {
            Scale::None | Scale::Within { .. } | Scale::Raw => Scale::Raw,
            scale @ (Scale::Auto | Scale::Unit | Scale::Clip { .. }) => scale,
        };
        Self { scale, ..*self }
    }

    /// No model row that passed the check has a larger norm.
    ///
    /// ```text
    /// √((R (1 + 10⁻⁶))² + [1 with an intercept])        R = 1 unless the scale is within:R
    /// ```
    pub fn row_norm_bound(&self) -> UpperBound {
        let features = UpperBound::new(self.scale.norm_limit());
        if self.intercept { (features.squared() + UpperBound::new(1.0)).sqrt() } else { features }
    }

    /// Scales the features of one row in place; the intercept's constant is not among them.
    pub(crate) fn scale_features(&self, row: &mut [f64]) -> Result<(), ScaleError> {
        check_finite(row)?;
        self.scale.divisor(row).divide(row);
        Ok(())
    }

    /// Checks the features of one row once they are scaled and rounded.
    pub(crate) fn check_norm(&self, row: &[f64]) -> Result<(), ScaleError> {
        let (norm, limit) = (rounding::norm(row).get(), self.scale.norm_limit());
        if norm <= limit { Ok(()) } else { Err(ScaleError::NormTooLarge { norm, limit }) }
    }
}

/// Fails for the first value that is NaN or infinite.
pub(crate) fn check_finite<T: RowValue>(row: &[T]) -> Result<(), ScaleError> {
    // Without a branch per value; only a row that fails is searched.
    if row.iter().fold(true, |finite, x| finite & x.wide().is_finite()) {
        return Ok(());
    }
    let found = row.iter().enumerate().find(|(_, x)| !x.wide().is_finite());
    found.map_or(Ok(()), |(feature, x)| Err(ScaleError::NotFinite { feature, value: x.wide() }))
}

/// Fails for the first value that is infinite. A NaN is a text or a gap.
pub(crate) fn refuse_infinite<T: RowValue>(row: &[T]) -> Result<(), ScaleError> {
    if row.iter().fold(true, |fine, x| fine & !x.wide().is_infinite()) {
        return Ok(());
    }
    let found = row.iter().enumerate().find(|(_, x)| x.wide().is_infinite());
    found.map_or(Ok(()), |(feature, x)| Err(ScaleError::NotFinite { feature, value: x.wide() }))
}

/// The norm of a row as the product of a unit and the norm in that unit, such that no square over- or underflows. The
/// unit is 1 where it can be, and otherwise the largest value.
fn length<T: RowValue>(row: &[T]) -> (f64, f64) {
    // A sum of squares in this range has lost nothing that matters to under- or overflow.
    const SAFE: std::ops::Range<f64> = 1e-200..1e200;
    let squares = sum_of_squares(row, |x| x);
    if SAFE.contains(&squares) {
        return (1.0, squares.sqrt());
    }
    match row.iter().fold(0.0_f64, |largest, x| largest.max(x.wide().abs())) {
        0.0 => (1.0, 0.0),
        largest => (largest, sum_of_squares(row, |x| x / largest).sqrt()),
    }
}

/// `Σ in_units(x)²`, in a fixed order that the compiler can vectorize.
fn sum_of_squares<T: RowValue>(row: &[T], in_units: impl Fn(f64) -> f64) -> f64 {
    const LANES: usize = 8;
    let (chunks, rest) = row.as_chunks::<LANES>();
    let square = |x: &T| in_units(x.wide()) * in_units(x.wide());
    let mut sums = [0.0; LANES];
    for chunk in chunks {
        sums.iter_mut().zip(chunk).for_each(|(sum, x)| *sum += square(x));
    }
    sums.iter().sum::<f64>() + rest.iter().map(square).sum::<f64>()
}

#[cfg(test)]
mod tests;
