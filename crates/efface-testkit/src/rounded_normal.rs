//! The law of `round(σ·ξ)` for a standard normal ξ, in double-double: P(j) = Φ((j+½)/σ) − Φ((j−½)/σ).

use crate::counts::{ChiSquare, chi_square};
use crate::double::DoubleDouble;

/// A normal deviate of standard deviation σ, rounded to the nearest integer.
#[derive(Clone, Copy, Debug)]
pub struct RoundedNormalLaw {
    /// σ.
    pub std: f64,
}

impl RoundedNormalLaw {
    /// P(first ≤ j ≤ last).
    pub fn between(self, first: i128, last: i128) -> DoubleDouble {
        let (low, high) = (self.edge(first) - self.half(), self.edge(last) + self.half());
        if low.to_f64() >= 0.0 {
            upper_tail(low) - upper_tail(high)
        } else if high.to_f64() <= 0.0 {
            upper_tail(-high) - upper_tail(-low)
        } else {
            1.0 - upper_tail(high) - upper_tail(-low)
        }
    }

    /// P(|j| ≥ least), for least ≥ 1.
    pub fn beyond(self, least: i128) -> DoubleDouble {
        upper_tail(self.edge(least) - self.half()) * 2.0
    }

    /// χ² of draws counted by `count(first, last)` over cells of the given width between −limit and limit, with a cell for
    /// each tail. Cells that expect fewer than ten of the `n` draws are joined with their neighbours.
    ///
    /// # Panics
    ///
    /// When the counts do not add up to n.
    pub fn test(self, n: u64, width: i128, limit: i128, count: impl Fn(i128, i128) -> u64) -> ChiSquare {
        let (mut counts, mut probabilities) = (Vec::new(), Vec::new());
        let (mut first, mut last) = (FAR_LEFT, -limit);
        let enough = |probability: f64| n as f64 * probability >= 10.0;
        while first <= limit {
            let end = if last < limit { last } else { -FAR_LEFT };
            let (inside, left) = (self.between(first, end).to_f64(), self.between(end + 1, -FAR_LEFT).to_f64());
            if last >= limit || enough(inside) && enough(left) {
                counts.push(count(first, end));
                probabilities.push(inside);
                first = end + 1;
            }
            last += width;
        }
        assert_eq!(counts.iter().sum::<u64>(), n, "every draw is in a cell");
        chi_square(&counts, &probabilities)
    }

    /// j/σ; j exactly, in three parts of 43 bits.
    fn edge(self, j: i128) -> DoubleDouble {
        let part = |shift: u32| ((j.unsigned_abs() >> shift) & ((1 << 43) - 1)) as f64;
        let magnitude = DoubleDouble::from(part(86)) * 2_f64.powi(86)
            + DoubleDouble::from(part(43)) * 2_f64.powi(43)
            + DoubleDouble::from(part(0));
        (if j < 0 { -magnitude } else { magnitude }) / self.std
    }

    fn half(self) -> DoubleDouble {
        DoubleDouble::from(0.5) / self.std
    }
}

/// Far beyond every draw, and yet its neighbours are integers.
const FAR_LEFT: i128 = i128::MIN / 4;

/// Φ(−t), the probability of more than t standard deviations.
///
/// Up to 4 by the series `Φ(t) − ½ = φ(t)·(t + t³/3 + t⁵/15 + …)`, all terms of one sign; above by the continued
/// fraction `Φ(−t) = φ(t)/(t + 1/(t + 2/(t + …)))`. Absolute error below 1e-30.
pub(crate) fn upper_tail(t: DoubleDouble) -> DoubleDouble {
    if t.to_f64() < 0.0 {
        return 1.0 - upper_tail(-t);
    }
    if t.to_f64() > 40.0 {
        return DoubleDouble::ZERO;
    }
    let two_pi = DoubleDouble::from_sum(std::f64::consts::TAU, 2.449_293_598_294_706_4e-16);
    let density = (t * t * -0.5).exp() / two_pi.sqrt();
    if t.to_f64() < 4.0 {
        let (mut term, mut sum, mut odd) = (t, t, 3.0);
        while term.to_f64() > 1e-33 * sum.to_f64() {
            term = term * t * t / odd;
            sum += term;
            odd += 2.0;
        }
        return 0.5 - density * sum;
    }
    let mut fraction = t;
    for numerator in (1..=200).rev() {
        fraction = t + f64::from(numerator) / fraction;
    }
    density / fraction
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::special_table;

    #[test]
    fn tails_match_sixty_digit_values() {
        for row in special_table("normal_cdf") {
            let computed = upper_tail(DoubleDouble::from(-row[0])).to_f64();
            assert!((computed - row[1]).abs() <= 1e-15 * row[1] + 1e-300, "Φ({}) = {computed:e}", row[0]);
        }
    }

    #[test]
    fn series_and_fraction_meet() {
        // On both sides of 4, and the slope between them.
        let (below, above) = (DoubleDouble::from(4.0 - 1e-14), DoubleDouble::from(4.0));
        let slope = (upper_tail(below) - upper_tail(above)) / (above - below);
        let density = (DoubleDouble::from(-8.0)).exp() / (2.0 * std::f64::consts::PI).sqrt();
        assert!((slope / density - 1.0).abs().to_f64() < 1e-11, "{slope:?}");
    }

    #[test]
    fn probabilities_add_up_and_are_symmetric() {
        for std in [0.3, 1.5, 7.25, 1e6] {
            let law = RoundedNormalLaw { std };
            let sum: DoubleDouble = (-20..=20).map(|j| law.between(j, j)).sum();
            assert!((sum - law.between(-20, 20)).abs().to_f64() < 1e-28);
            assert!((law.between(-20, 20) + law.beyond(21) - 1.0).abs().to_f64() < 1e-28);
            assert!((law.between(3, 9) - law.between(-9, -3)).abs().to_f64() < 1e-30);
        }
        // One draw in the middle: Φ(½/σ) − Φ(−½/σ) = erf(½/(σ√2)).
        let middle = RoundedNormalLaw { std: 0.5 }.between(0, 0).to_f64();
        assert!((middle - 0.682_689_492_137_085_9).abs() < 1e-15);
    }

    #[test]
    fn edges_beyond_fifty_three_bits_are_exact() {
        let law = RoundedNormalLaw { std: 1.0 };
        let j = (1_i128 << 90) + 1;
        assert_eq!((law.edge(j) - law.edge(j - 1)).to_f64(), 1.0);
        assert_eq!(law.edge(-j), -law.edge(j));
    }
}
