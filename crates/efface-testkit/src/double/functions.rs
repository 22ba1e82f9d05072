//! Exponential, logarithm and square root of double-doubles.
//!
//! The exponential reduces its argument by multiples of ln 2 held in three parts (so that nothing is lost at ±700),
//! halves the rest nine times, sums a short Taylor series of e^r − 1 and squares back. The logarithms take one Newton
//! step on it from the library's double. Relative error below 1e-29 wherever the low part is representable; the tests
//! compare with 60-digit values from `golden/double_double.py`.

use crate::double::DoubleDouble;

impl DoubleDouble {
    /// `e^self`; infinite above 709.78, zero below −745.2.
    #[must_use]
    pub fn exp(self) -> Self {
        if self.to_f64() > EXP_OVERFLOW {
            return f64::INFINITY.into();
        }
        if self.to_f64() < EXP_UNDERFLOW {
            return Self::ZERO;
        }
        let (power_of_two, rest) = self.reduce_by_ln_2();
        (exp_m1_of_reduced(rest) + 1.0).scale_by_power_of_two(power_of_two)
    }

    /// `e^self − 1`, with small relative error near zero.
    #[must_use]
    pub fn exp_m1(self) -> Self {
        if self.to_f64().abs() < 0.5 * std::f64::consts::LN_2 { exp_m1_of_reduced(self) } else { self.exp() - 1.0 }
    }

    /// Natural logarithm of a positive number. The absolute error is small; near 1 use [`Self::ln_1p`].
    #[must_use]
    pub fn ln(self) -> Self {
        let estimate = self.to_f64().ln();
        if !estimate.is_finite() {
            return estimate.into();
        }
        // y − (e^y − x)/e^y; the estimate is off by one rounding, so the next Newton step would change nothing.
        (self * Self::from(-estimate).exp() - 1.0) + estimate
    }

    /// `ln(1 + self)` for `self > −1`, with small relative error near zero.
    #[must_use]
    pub fn ln_1p(self) -> Self {
        let estimate = self.to_f64().ln_1p();
        if !estimate.is_finite() || estimate == 0.0 {
            return estimate.into();
        }
        let reached = Self::from(estimate).exp_m1();
        (self - reached) / (reached + 1.0) + estimate
    }

    /// Square root of a number that is not negative.
    #[must_use]
    pub fn sqrt(self) -> Self {
        let estimate = self.to_f64().sqrt();
        if !estimate.is_finite() || estimate == 0.0 {
            return estimate.into();
        }
        // One Newton step: s + (x − s²)/(2s).
        let remainder = self - Self::from_product(estimate, estimate);
        remainder / (2.0 * estimate) + estimate
    }

    /// `(k, self − k ln 2)` with the second part at most ½ ln 2 in size.
    fn reduce_by_ln_2(self) -> (i32, Self) {
        let multiple = (self.to_f64() * std::f64::consts::LOG2_E).round();
        let [high, middle, low] = LN_2_PARTS.map(|part| part * multiple);
        (multiple as i32, ((self - high) - middle) - low)
    }
}

/// e^r − 1 for |r| ≤ 0.35.
fn exp_m1_of_reduced(r: DoubleDouble) -> DoubleDouble {
    let small = r.scale_by_power_of_two(-HALVINGS);
    // r (1 + r/2 (1 + r/3 (…))): the first term left out is below 1e-35 of the sum.
    let mut series = DoubleDouble::ONE;
    for divisor in (2..=TAYLOR_TERMS).rev() {
        series = series * small / f64::from(divisor) + 1.0;
    }
    let mut result = series * small;
    // e^(2r) − 1 = 2 (e^r − 1) + (e^r − 1)².
    for _ in 0..HALVINGS {
        result = result.scale_by_power_of_two(1) + result * result;
    }
    result
}

/// ln 2 in parts of 40, 40 and 53 bits: the first two have exact products with integers below 2¹³.
const LN_2_PARTS: [f64; 3] = [0.693_147_180_559_208_2, 7.371_002_565_161_996e-13, 5.802_988_983_595_690_5e-25];
const HALVINGS: i32 = 9;
const TAYLOR_TERMS: u32 = 9;
/// ln of the largest double, rounded down.
const EXP_OVERFLOW: f64 = 709.782_712_893_383_9;
/// Below the ln of half the smallest positive double.
const EXP_UNDERFLOW: f64 = -745.2;

#[cfg(test)]
mod tests {
    use super::DoubleDouble;
    use crate::golden::double_double_table;

    type Function = fn(DoubleDouble) -> DoubleDouble;

    /// Relative error against the stored value, or 0 where both are below what a low part can express.
    fn relative_error(computed: DoubleDouble, exact: DoubleDouble) -> f64 {
        let error = (computed - exact).abs().to_f64();
        // The low part of a result below 1e-291 is subnormal: an absolute error of a few 2^−1074 is all one can ask.
        if error <= 1e-322 { 0.0 } else { error / exact.abs().to_f64() }
    }

    #[test]
    fn functions_match_sixty_digit_values() {
        let functions: [(&str, Function); 5] = [
            ("exp", DoubleDouble::exp),
            ("exp_m1", DoubleDouble::exp_m1),
            ("ln", DoubleDouble::ln),
            ("ln_1p", DoubleDouble::ln_1p),
            ("sqrt", DoubleDouble::sqrt),
        ];
        for (name, function) in functions {
            let table = double_double_table(name);
            assert!(table.len() >= 10, "{name}: table too short");
            for [argument, exact] in table {
                let error = relative_error(function(argument), exact);
                assert!(error < 1e-29, "{name}({argument:?}) has relative error {error:e}");
            }
        }
    }

    #[test]
    fn limits_are_reached_without_nan() {
        assert_eq!(DoubleDouble::from(1e20).exp().to_f64(), f64::INFINITY);
        assert_eq!(DoubleDouble::from(-1e20).exp(), DoubleDouble::ZERO);
        assert_eq!(DoubleDouble::from(-1e20).exp_m1().to_f64(), -1.0);
        assert_eq!(DoubleDouble::ZERO.ln_1p(), DoubleDouble::ZERO);
        assert_eq!(DoubleDouble::ZERO.sqrt(), DoubleDouble::ZERO);
        assert_eq!(DoubleDouble::ZERO.ln().to_f64(), f64::NEG_INFINITY);
    }

    #[test]
    fn logarithm_undoes_the_exponential() {
        for step in -60..=60 {
            let x = DoubleDouble::from(f64::from(step)) / 7.0;
            let error = (x.exp().ln() - x).abs().to_f64();
            assert!(error < 1e-29, "at {x:?}: {error:e}");
        }
    }
}
