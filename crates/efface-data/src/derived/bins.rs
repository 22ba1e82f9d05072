//! The numbers of a column in coarse bins, each with exact sums of what the bins leave out.
//!
//! A bin is a sign, an exponent and three bits of mantissa. It counts its numbers, as many times as their rows count, and adds
//! up their offsets, the next twenty bits of mantissa, and the squares of these. All of them are integers: whatever was added can
//! be retracted, in any order, and nothing is left of it.

use std::cmp::Ordering;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

/// The numbers of one bin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Bin {
    n: u128,
    /// Σ offset.
    sum: u128,
    /// Σ offset².
    squares: u128,
}

/// Bins of three bits of mantissa.
const BINS: usize = 8;

/// Bits of mantissa in an offset.
const OFFSET_BITS: u32 = 20;

/// The bins of one sign, by exponent.
#[derive(Clone, Debug, Default)]
struct Side {
    /// Exponent field of the first entry.
    first: usize,
    exponents: Vec<Option<Box<[Bin; BINS]>>>,
}

/// How many numbers a column has in each bin.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(into = "Vec<Listed>", try_from = "Vec<Listed>")]
pub(crate) struct BinCounts {
    n: u128,
    n_zeros: u128,
    negative: Side,
    positive: Side,
}

impl BinCounts {
    /// How often numbers count.
    pub(crate) fn n(&self) -> u128 {
        self.n
    }

    /// Counts a finite number so many times.
    #[inline]
    pub(crate) fn add(&mut self, x: f64, times: u64) {
        let times = u128::from(times);
        self.n += times;
        let Some((side, place)) = self.place(x) else {
            self.n_zeros += times;
            return;
        };
        let bin = side.bin(place.exponent, place.bin);
        bin.n += times;
        bin.sum += times * u128::from(place.offset);
        bin.squares += times * u128::from(place.offset * place.offset);
    }

    /// Takes out a number that was counted. What was not is an error of the caller, and leaves wrong counts.
    pub(crate) fn retract(&mut self, x: f64, times: u64) {
        let times = u128::from(times);
        self.n = self.n.wrapping_sub(times);
        let Some((side, place)) = self.place(x) else {
            self.n_zeros = self.n_zeros.wrapping_sub(times);
            return;
        };
        let bin = side.bin(place.exponent, place.bin);
        bin.n = bin.n.wrapping_sub(times);
        bin.sum = bin.sum.wrapping_sub(times * u128::from(place.offset));
        bin.squares = bin.squares.wrapping_sub(times * u128::from(place.offset * place.offset));
    }

    fn place(&mut self, x: f64) -> Option<(&mut Side, Place)> {
        let bits = x.to_bits();
        if bits << 1 == 0 {
            return None;
        }
        let side = if bits >> 63 == 0 { &mut self.positive } else { &mut self.negative };
        let exponent = (bits >> 52 & 0x7ff) as usize;
        let bin = (bits >> 49 & 7) as usize;
        let offset = bits >> (49 - OFFSET_BITS) & ((1 << OFFSET_BITS) - 1);
        Some((side, Place { exponent, bin, offset }))
    }

    /// The bins that have numbers, from the lowest to the highest.
    pub(crate) fn groups(&self) -> Vec<Group> {
        let negative = self.negative.groups(-1.0).into_iter().rev();
        let zeros = Group { n: self.n_zeros, low: 0.0, unit: 0.0, sum: 0.0, squares: 0.0 };
        let positive = self.positive.groups(1.0);
        negative.chain((self.n_zeros > 0).then_some(zeros)).chain(positive).collect()
    }
}

impl PartialEq for BinCounts {
    fn eq(&self, other: &Self) -> bool {
        self.listed() == other.listed()
    }
}

struct Place {
    exponent: usize,
    bin: usize,
    offset: u64,
}

impl Side {
    #[inline]
    fn bin(&mut self, exponent: usize, bin: usize) -> &mut Bin {
        let known = exponent.wrapping_sub(self.first);
        if !matches!(self.exponents.get(known), Some(Some(_))) {
            self.make_room(exponent);
        }
        &mut self.exponents[exponent - self.first].get_or_insert_default()[bin]
    }

    /// Makes bins for an exponent.
    #[cold]
    fn make_room(&mut self, exponent: usize) {
        if self.exponents.is_empty() {
            self.first = exponent;
        }
        if exponent < self.first {
            let missing = self.first - exponent;
            self.exponents.splice(0..0, std::iter::repeat_with(|| None).take(missing));
            self.first = exponent;
        }
        let index = exponent - self.first;
        if index >= self.exponents.len() {
            self.exponents.resize_with(index + 1, || None);
        }
        self.exponents[index].get_or_insert_default();
    }

    fn by_exponent(&self) -> impl Iterator<Item = (usize, &[Bin; BINS])> {
        let bins = self.exponents.iter().enumerate();
        bins.filter_map(|(index, bins)| Some((self.first + index, bins.as_deref()?)))
    }

    /// By size.
    fn groups(&self, sign: f64) -> Vec<Group> {
        let mut groups = Vec::new();
        for (exponent, bins) in self.by_exponent() {
            for (index, bin) in bins.iter().enumerate().filter(|(_, bin)| bin.n > 0) {
                let low = f64::from_bits((exponent as u64) << 52 | (index as u64) << 49);
                let next = low.to_bits() + (1 << 49);
                // The last bin of all ends beyond the largest number: its unit is that of the one before.
                let width = match f64::from_bits(next) {
                    next if next.is_finite() => next - low,
                    _ => low - f64::from_bits(low.to_bits() - (1 << 49)),
                };
                let unit = sign * width / f64::from(1 << OFFSET_BITS);
                // Offsets are cut off, not rounded: half a unit is missing.
                let low = sign * low + 0.5 * unit;
                groups.push(Group { n: bin.n, low, unit, sum: bin.sum as f64, squares: bin.squares as f64 });
            }
        }
        groups
    }
}

/// A bin with numbers in it: `Σ x = n·low + unit·sum`, `Σ (x − low)² = unit²·squares`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    pub(crate) n: u128,
    low: f64,
    unit: f64,
    sum: f64,
    squares: f64,
}

/// Mean and spread of some bins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moments {
    pub(crate) mean: f64,
    /// √(Σ (x − about)² / n).
    pub(crate) spread: f64,
    /// Differences below this are not told apart.
    pub(crate) resolution: f64,
}

impl Moments {
    /// Of some bins, their spread about `about`, or about their mean. `None`: they have no numbers.
    pub(crate) fn of(groups: &[Group], about: Option<f64>) -> Option<Self> {
        let n: u128 = groups.iter().map(|group| group.n).sum();
        if n == 0 {
            return None;
        }
        // In shares of all numbers: sums of the largest doubles would be infinite.
        let share = |count: f64| count / n as f64;
        let mean = groups.iter().map(|g| share(g.n as f64) * g.low + share(g.sum) * g.unit).sum();
        let about = about.unwrap_or(mean);
        let size = groups.iter().fold(about.abs(), |size, g| size.max(g.low.abs()).max(g.unit.abs()));
        let mut square = 0.0;
        for g in groups.iter().filter(|_| size > 0.0) {
            let (low, unit) = (g.low / size - about / size, g.unit / size);
            square += share(g.n as f64) * low * low + 2.0 * low * unit * share(g.sum) + unit * unit * share(g.squares);
        }
        let resolution = groups.iter().fold(0.0_f64, |resolution, g| resolution.max(g.unit.abs()));
        Some(Self { mean, spread: square.max(0.0).sqrt() * size, resolution })
    }
}

/// Indices of the bins from the one with the `low`-th part of a hundred on to that with the `high`-th.
pub(crate) fn between(groups: &[Group], low: u128, high: u128) -> Option<RangeInclusive<usize>> {
    let n: u128 = groups.iter().map(|group| group.n).sum();
    // The smallest rank that leaves at least so many hundredths at or below it.
    let rank = |part: u128| (n * part).div_ceil(100).max(1);
    let bin_of = |rank: u128| {
        let mut below = 0;
        groups.iter().position(|group| {
            below += group.n;
            below >= rank
        })
    };
    Some(bin_of(rank(low))?..=bin_of(rank(high))?)
}

/// A bin as it is written: sign, exponent and three bits of mantissa as one number (0: zeros), then its integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Listed(i32, u128, u128, u128);

impl BinCounts {
    fn listed(&self) -> Vec<Listed> {
        let mut listed = Vec::new();
        let number = |index: usize| i32::try_from(index).expect("there are 16,384 bins of a sign");
        for (side, sign) in [(&self.negative, -1), (&self.positive, 1)] {
            for (exponent, bins) in side.by_exponent() {
                let with_numbers = bins.iter().enumerate().filter(|(_, bin)| **bin != Bin::default());
                // Above 0: that stands for zeros.
                listed.extend(with_numbers.map(|(index, bin)| {
                    Listed(sign * number(exponent * BINS + index + 1), bin.n, bin.sum, bin.squares)
                }));
            }
        }
        listed.extend((self.n_zeros > 0).then_some(Listed(0, self.n_zeros, 0, 0)));
        listed.sort_unstable_by_key(|Listed(bin, ..)| *bin);
        listed
    }
}

impl From<BinCounts> for Vec<Listed> {
    fn from(counts: BinCounts) -> Self {
        counts.listed()
    }
}

impl TryFrom<Vec<Listed>> for BinCounts {
    type Error = String;

    fn try_from(listed: Vec<Listed>) -> Result<Self, String> {
        let mut counts = Self::default();
        for Listed(number, n, sum, squares) in listed {
            counts.n = counts.n.checked_add(n).ok_or("more numbers than can be counted")?;
            let index = number.unsigned_abs() as usize;
            let side = match number.cmp(&0) {
                Ordering::Equal => {
                    counts.n_zeros = n;
                    continue;
                }
                Ordering::Less => &mut counts.negative,
                Ordering::Greater => &mut counts.positive,
            };
            let (exponent, bin) = ((index - 1) / BINS, (index - 1) % BINS);
            if exponent >= 0x7ff {
                return Err(format!("bin {number} holds no number"));
            }
            *side.bin(exponent, bin) = Bin { n, sum, squares };
        }
        Ok(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(numbers: &[f64]) -> BinCounts {
        let mut counts = BinCounts::default();
        for x in numbers {
            counts.add(*x, 3);
        }
        counts
    }

    const NUMBERS: [f64; 12] =
        [0.0, -0.0, 1.0, 1.1, 1.124, 1.125, -3.5, 2020.0, 2024.0, 5e-324, f64::MAX, -f64::MIN_POSITIVE];

    #[test]
    fn what_was_added_is_retracted_without_a_trace() {
        let mut counts = counted(&NUMBERS);
        for (i, x) in NUMBERS.iter().enumerate().rev() {
            assert_eq!(counts, counted(&NUMBERS[..=i]));
            counts.retract(*x, 3);
        }
        assert_eq!(counts, BinCounts::default());
        assert!(counts.groups().is_empty() && counts.n() == 0);
    }

    #[test]
    fn the_order_makes_no_difference_and_counts_are_read_back() {
        let mut other = NUMBERS;
        other.reverse();
        let counts = counted(&other);
        assert_eq!(counts, counted(&NUMBERS));
        let text = serde_json::to_string(&counts).expect("plain");
        assert_eq!(serde_json::from_str::<BinCounts>(&text).expect("plain"), counts);
    }

    #[test]
    fn groups_ascend_and_tell_mean_and_spread() {
        let counts = counted(&NUMBERS);
        let groups = counts.groups();
        assert!(groups.windows(2).all(|pair| pair[0].low < pair[1].low), "{groups:?}");
        assert_eq!(groups.iter().map(|group| group.n).sum::<u128>(), 36);
        // All years lie in one bin.
        let years: Vec<f64> = (0..100).map(|i| 2015.0 + f64::from(i % 10)).collect();
        let groups = counted(&years).groups();
        let Moments { mean, spread, resolution } = Moments::of(&groups, None).expect("numbers");
        assert_eq!((groups.len(), groups[0].n), (1, 300));
        assert!((mean - 2019.5).abs() <= resolution && resolution < 1e-3, "{mean} {resolution}");
        assert!((spread - 8.25_f64.sqrt()).abs() <= resolution, "{spread}");
        assert!(Moments::of(&[], None).is_none());
    }

    #[test]
    fn quantiles_are_bins() {
        let numbers: Vec<f64> = (1..=100).map(f64::from).collect();
        let groups = counted(&numbers).groups();
        let range = between(&groups, 5, 95).expect("numbers");
        assert!(groups[*range.start()].low <= 5.5 && groups[*range.end()].low >= 88.0, "{range:?}");
        assert_eq!(between(&groups, 0, 100), Some(0..=groups.len() - 1));
        assert_eq!(between(&[], 5, 95), None);
    }

    #[test]
    fn the_largest_numbers_do_not_overflow() {
        let groups = counted(&[f64::MAX, -f64::MAX, f64::MAX / 2.0]).groups();
        let moments = Moments::of(&groups, None).expect("numbers");
        assert!(moments.mean.is_finite() && moments.spread.is_finite(), "{moments:?}");
    }
}
