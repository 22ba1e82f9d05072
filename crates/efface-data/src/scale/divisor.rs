//! Scaling as a division that can be made again: what a row is divided by is found once and kept, and the row itself
//! stays where it is.
//!
//! A row that is scaled on the fly has the same bits as one that [`encode_table`](crate::encode_table) scaled and
//! stored.

use std::fmt;

use efface_core::rows::RowValue;
use pulp::Arch;
use zeroize::DefaultIsZeroes;

use super::{RowTransform, Scale, check_finite, length, refuse_infinite};
use crate::error::ScaleError;

/// What the features of a row are divided by: a norm, a radius, or 1. Negative where the row is not tame; NaN where the
/// norm is not to be had as one double without losing digits: such a row is divided by its largest value, and then by
/// the norm of what is left.
#[derive(Clone, Copy)]
pub(crate) struct RowDivisor(pub(super) f64);

impl RowDivisor {
    pub(crate) const ONE: Self = Self(1.0);

    pub(super) const EXTREME: Self = Self(f64::NAN);

    /// The divisor of a row that is divided again and again.
    fn of_row<T: RowValue>(self, row: &[T]) -> Self {
        if self.is_one() || self.0.is_nan() || is_tame(row, self.0) { self } else { Self(-self.0) }
    }

    /// Whether the row stays as it is.
    pub(crate) fn is_one(self) -> bool {
        self.0 == 1.0
    }

    pub(super) fn divide(self, row: &mut [f64]) {
        if self.0.is_nan() {
            let (unit, norm) = length(row);
            for x in row {
                *x = *x / unit / norm;
            }
        } else if !self.is_one() {
            for x in row {
                *x /= self.0.abs();
            }
        }
    }

    /// Writes the divided row, rounded to its own precision. `row` must be the one that the divisor was found for.
    pub(crate) fn write<T: RowValue>(self, row: &[T], into: &mut [T]) {
        let pairs = into.iter_mut().zip(row);
        match self.0 {
            1.0 => pairs.for_each(|(to, x)| *to = *x),
            divisor if divisor > 0.0 => divide_tame(row, divisor, into),
            divisor if divisor < 0.0 => pairs.for_each(|(to, x)| *to = T::nearest(x.wide() / -divisor)),
            _ => {
                let (unit, norm) = length(row);
                pairs.for_each(|(to, x)| *to = T::nearest(x.wide() / unit / norm));
            }
        }
    }
}

/// Whether no step of [`divide_tame`] on this row can underflow, overflow or lose the sign of a zero.
fn is_tame<T: RowValue>(row: &[T], divisor: f64) -> bool {
    let fits = |x: f64| x.to_bits() == 0 || (1e-150..1e150).contains(&x.abs());
    (1e-100..1e100).contains(&divisor) && row.iter().fold(true, |tame, x| tame & fits(x.wide()))
}

/// Divides without a division per value: a product with the reciprocal y = RN(1/d), and two corrections.
///
/// ```text
/// q₀ = RN(x y),   q_{k+1} = RN(q_k + RN(x − d q_k) y),   q₂ = RN(x/d)
/// ```
///
/// Markstein: y is the rounded reciprocal, so the first correction leaves q within one unit of the quotient, and the second
/// gives the rounded quotient itself, as long as nothing under- or overflows. Divisions take four times as long, and
/// all rows are divided in every pass of training.
fn divide_tame<T: RowValue>(row: &[T], divisor: f64, into: &mut [T]) {
    let arch = Arch::new();
    if matches!(arch, Arch::Scalar) {
        // Without fused products in hardware, the corrections are slower than dividing.
        into.iter_mut().zip(row).for_each(|(to, x)| *to = T::nearest(x.wide() / divisor));
        return;
    }
    let reciprocal = 1.0 / divisor;
    arch.dispatch(
        #[inline(always)]
        || {
            for (to, x) in into.iter_mut().zip(row) {
                let x = x.wide();
                let quotient = x * reciprocal;
                let quotient = (-divisor).mul_add(quotient, x).mul_add(reciprocal, quotient);
                *to = T::nearest((-divisor).mul_add(quotient, x).mul_add(reciprocal, quotient));
            }
        },
    );
}

/// Not the number: it tells how long the row is.
impl fmt::Debug for RowDivisor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowDivisor").finish_non_exhaustive()
    }
}

/// The row stays as it is.
impl Default for RowDivisor {
    fn default() -> Self {
        Self::ONE
    }
}

impl DefaultIsZeroes for RowDivisor {}

impl RowTransform {
    /// Checks the features of a row, as they are before scaling, and finds what they are divided by. `scratch` is room
    /// for the row.
    pub(crate) fn divisor_of<T: RowValue>(&self, row: &[T], scratch: &mut Vec<f64>) -> Result<RowDivisor, ScaleError> {
        if self.scale == Scale::Auto {
            // Kept as it is: texts and gaps are encoded when the row is read.
            return refuse_infinite(row).map(|()| RowDivisor::ONE);
        }
        check_finite(row)?;
        let divisor = self.scale.divisor(row);
        scratch.clear();
        scratch.extend(row.iter().map(|x| x.wide()));
        divisor.divide(scratch);
        for x in scratch.iter_mut() {
            *x = T::nearest(*x).wide();
        }
        self.check_norm(scratch)?;
        Ok(divisor.of_row(row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::{FeatureOrder, FeatureValues, encode_table};
    use crate::scale::Scale;
    use crate::table::{Origin, Table, TableParts};
    use zeroize::Zeroize;

    fn encoded(features: FeatureValues, n_features: usize, transform: &RowTransform) -> FeatureValues {
        let n_rows = features.len() / n_features;
        let origin = Origin::with_lines("t.csv", vec![0; n_rows]);
        let feature_names = (0..n_features).map(|i| format!("x{i}")).collect();
        let precision = features.precision();
        let parts = TableParts {
            feature_names,
            features,
            labels: None,
            ids: None,
            subjects: None,
            row_weights: None,
            origin,
            texts: None,
        };
        let table = Table::new(parts).expect("valid");
        encode_table(table, transform, None, FeatureOrder::AsRead, precision).expect("valid").features.clone()
    }

    fn on_the_fly<T: RowValue>(values: &[T], n_features: usize, transform: &RowTransform) -> Vec<T> {
        let mut scaled = vec![T::default(); values.len()];
        for (row, into) in values.chunks(n_features).zip(scaled.chunks_mut(n_features)) {
            transform.divisor_of(row, &mut Vec::new()).expect("valid").write(row, into);
        }
        scaled
    }

    #[test]
    fn rows_scaled_on_the_fly_have_the_bits_of_encoded_ones() {
        let n_features = 11;
        let values: Vec<f64> = (0..n_features * 40)
            .map(|i| {
                let unit = [1.0, 1e-3, 1e-180, 1e180, 0.0][i / n_features % 5];
                unit * ((i * 7919 % 1013) as f64 / 1013.0 - 0.5)
            })
            .collect();
        let short: Vec<f32> = values.iter().map(|x| (*x).clamp(-1e30, 1e30) as f32).collect();
        for scale in [Scale::Unit, Scale::Clip { radius: 0.7 }, Scale::Clip { radius: 1e200 }] {
            let transform = RowTransform { scale, intercept: false };
            let wide = FeatureValues::F64(on_the_fly(&values, n_features, &transform));
            assert_eq!(encoded(FeatureValues::F64(values.clone()), n_features, &transform), wide, "{scale}");
            let narrow = FeatureValues::F32(on_the_fly(&short, n_features, &transform));
            assert_eq!(encoded(FeatureValues::F32(short.clone()), n_features, &transform), narrow, "{scale}");
        }
    }

    #[test]
    fn corrected_products_are_the_quotients_that_division_gives() {
        let mut state = 7_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 12
        };
        // Significands at random and at the ends of their range, and exponents far apart.
        let ends = [0, 1, 2, (1 << 52) - 1, (1 << 52) - 2, 1 << 51, (1 << 51) - 1];
        let mut significand = move || if next() % 4 == 0 { ends[next() as usize % ends.len()] } else { next() };
        let mut number = |exponent: u64| f64::from_bits(((1023 + exponent) << 52) | significand());
        let mut quotients = [0.0; 64];
        for round in 0..20_000_u64 {
            let divisor = number(round % 41);
            let row: Vec<f64> = (0..64).map(|i| number(i % 5) * [1.0, -1.0][i as usize % 2]).collect();
            assert!(is_tame(&row, divisor));
            divide_tame(&row, divisor, &mut quotients);
            for (x, quotient) in row.iter().zip(&quotients) {
                assert_eq!(quotient.to_bits(), (x / divisor).to_bits(), "{x:e} / {divisor:e}");
            }
        }
        for wild in [-0.0, 1e-160, 1e160, f64::MIN_POSITIVE] {
            assert!(!is_tame(&[1.0, wild], 1.0));
        }
        assert!(!is_tame(&[1.0], 1e120) && is_tame(&[0.0, 1.0], 3.0));
    }

    #[test]
    fn a_divisor_does_not_tell_how_long_the_row_is() {
        let transform = RowTransform { scale: Scale::Unit, intercept: false };
        let mut divisor = transform.divisor_of(&[3.0, 4.0], &mut Vec::new()).expect("valid");
        assert_eq!(format!("{divisor:?}"), "RowDivisor { .. }");
        divisor.zeroize();
        assert!(divisor.is_one());
    }

    #[test]
    fn a_row_that_cannot_be_scaled_is_refused() {
        let transform = RowTransform { scale: Scale::None, intercept: false };
        let refused = |row: &[f64]| transform.divisor_of(row, &mut Vec::new()).expect_err("must be refused");
        assert_eq!(refused(&[0.0, f64::INFINITY]), ScaleError::NotFinite { feature: 1, value: f64::INFINITY });
        assert!(matches!(refused(&[1.0, 1.0]), ScaleError::NormTooLarge { .. }));
    }
}
