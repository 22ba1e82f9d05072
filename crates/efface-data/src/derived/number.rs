//! Location and scale of the numbers of a column, from their counts.

use serde::{Deserialize, Serialize};

use super::bins::{BinCounts, Group, Moments, between};

/// Location and scale of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct NumberScale {
    /// A multiple of the scale.
    pub location: f64,
    /// A power of two.
    pub scale: f64,
}

impl NumberScale {
    /// Numbers as they are.
    pub const UNIT: Self = Self { location: 0.0, scale: 1.0 };

    /// The location and the scale of a column; `None` if its numbers are not told apart.
    ///
    /// ```text
    /// scale = the power of two nearest to 1.25 σ,   location = μ as a multiple of it
    /// ```
    ///
    /// μ and σ are mean and deviation of the numbers in the bins between the 5th and the 95th hundredth: outliers do not
    /// rule. Where these are all equal, as in a column of which few rows have anything but 0, σ² is the share p of the
    /// others times their mean square about μ. Where at least half of all numbers are equal and the others are not, usual ones of
    /// those are not cut: the scale is half the root of their mean square at least.
    pub(crate) fn of(numbers: &BinCounts) -> Option<Self> {
        let groups = numbers.groups();
        let middle = Moments::of(&groups[between(&groups, 5, 95)?], None)?;
        let spread = if middle.spread > middle.resolution {
            NORMAL * middle.spread
        } else {
            spread_of_others(&groups, &middle)?
        };
        let scale = nearest_power_of_two(spread.max(reach_of_others(&groups).unwrap_or(0.0)))?;
        // Not −0.
        let location = (middle.mean / scale).round() * scale + 0.0;
        location.is_finite().then_some(Self { location, scale })
    }

    /// The scaled number, within ±8.
    pub(crate) fn apply(self, x: f64) -> f64 {
        ((x - self.location) / self.scale).clamp(-MOST_SCALES, MOST_SCALES)
    }
}

/// What the deviation between the 5th and the 95th hundredth of a normal law is short of.
const NORMAL: f64 = 1.25;

/// Numbers further than this from their location, in units of their scale, are taken for so far.
pub(crate) const MOST_SCALES: f64 = 8.0;

fn spread_of_others(groups: &[Group], middle: &Moments) -> Option<f64> {
    let range = between(groups, 5, 95)?;
    let others: Vec<Group> = [&groups[..*range.start()], &groups[range.end() + 1..]].concat();
    let usual = &others[between(&others, 5, 95)?];
    let n_others: u128 = others.iter().map(|group| group.n).sum();
    let n: u128 = groups.iter().map(|group| group.n).sum();
    let Moments { spread, .. } = Moments::of(usual, Some(middle.mean))?;
    Some((n_others as f64 / n as f64).sqrt() * spread)
}

/// Half the distance of usual numbers from the one that at least half of all are; `None`: there is no such one, or the others
/// are one number, too, and nothing is lost where that is cut.
fn reach_of_others(groups: &[Group]) -> Option<f64> {
    let n: u128 = groups.iter().map(|group| group.n).sum();
    let place = groups.iter().position(|group| 2 * group.n >= n)?;
    let is_one = |moments: &Moments| moments.spread <= moments.resolution;
    let most = Moments::of(&groups[place..=place], None).filter(is_one)?;
    let others = [&groups[..place], &groups[place + 1..]].concat();
    let usual = &others[between(&others, 5, 95)?];
    let varied = !is_one(&Moments::of(usual, None)?);
    varied.then_some(0.5 * Moments::of(usual, Some(most.mean))?.spread)
}

/// Nearest by ratio; `None` for what is not positive, or so small or large that one would divide by nothing.
fn nearest_power_of_two(x: f64) -> Option<f64> {
    if !(f64::MIN_POSITIVE..f64::MAX / 4.0).contains(&x) {
        return None;
    }
    let power = f64::from_bits(x.to_bits() & 0x7ff0_0000_0000_0000);
    Some(if x / power > std::f64::consts::SQRT_2 { 2.0 * power } else { power })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_are_nearest_by_ratio() {
        for (x, power) in [(1.0, 1.0), (1.41, 1.0), (1.42, 2.0), (3.0, 4.0), (0.7, 0.5), (0.75, 1.0)] {
            assert_eq!(nearest_power_of_two(x), Some(power), "{x}");
        }
        assert!([0.0, -1.0, f64::NAN, f64::MAX, 5e-324].map(nearest_power_of_two) == [None; 5]);
    }
}
