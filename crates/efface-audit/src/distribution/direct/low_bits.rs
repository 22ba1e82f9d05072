//! The low bits of what is released. Noise moves a weight by billions of its last digits, so those digits are uniform and
//! say nothing; an engine could write anything into them, and no average would notice.
//!
//! ```text
//! w̃ = h·round(m + s ξ/h), so for u = 2^j h the index ⌊w̃/u⌋ mod 2^k has probabilities within (1 ± 2^k u/s) 2^−k
//! ```
//!
//! because the variation of the normal density, 2/(s√(2π)), bounds how much sums over every 2^k-th cell of width u
//! can differ. Where weights are so large that doubles are coarser than the lattice, the double's last digit is left
//! out: halves are rounded to even there. Checked are multiples of h, the frequency of every bit for every weight looked at,
//! and how often a pattern comes back.

use super::check::{DirectCheck, closest};
use crate::statistics::count_limit;

/// Weights looked at in each release, evenly spread; all of them where there are no more.
const PLACES: usize = 16;

/// The most bits looked at.
const MOST_BITS: i32 = 40;

/// Bits left between the highest one looked at and the noise: probabilities are off by 2⁻⁸ of themselves at most.
const GUARD_BITS: i32 = 8;

/// With fewer bits there is nothing to see.
const LEAST_BITS: i32 = 4;

/// Noise is shorter than so many standard deviations, but for a probability of 10⁻¹⁰⁰.
const FARTHEST: f64 = 22.0;

/// The low bits of one release of a life, over many lives.
#[derive(Clone)]
pub(super) struct LowBits {
    step: Option<f64>,
    /// Values that a double could hold off the lattice, and those that are off it.
    n_fine: usize,
    n_off: usize,
    places: Vec<Place>,
}

/// One weight.
#[derive(Clone)]
struct Place {
    index: usize,
    /// u: one unit of the lowest bit looked at.
    unit: f64,
    bits: u32,
    words: Vec<u64>,
}

impl LowBits {
    /// For releases of these secret weights with noise of that scale on the lattice of that step.
    pub(super) fn new(secret: &[f64], scale: f64, step: Option<f64>) -> Self {
        let n = secret.len();
        let places = n.min(PLACES);
        let place = |i: usize| {
            let index = i * n / places;
            Place::new(index, secret[index].abs() + FARTHEST * scale, scale, step?)
        };
        Self { step, n_fine: 0, n_off: 0, places: (0..places).filter_map(place).collect() }
    }

    pub(super) fn add(&mut self, released: &[f64]) {
        let Some(step) = self.step else { return };
        for weight in released {
            // Beyond 2⁵³ steps every double is a multiple.
            let steps = weight / step;
            self.n_fine += usize::from(steps.abs() < EVERY_INTEGER);
            self.n_off += usize::from(steps != steps.trunc());
        }
        for place in &mut self.places {
            let index = (released[place.index] / place.unit).floor() as i64;
            place.words.push(index.cast_unsigned() & ((1 << place.bits) - 1));
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.n_fine += other.n_fine;
        self.n_off += other.n_off;
        for (place, other) in self.places.iter_mut().zip(other.places) {
            place.words.extend(other.words);
        }
    }
}

/// From here on a double has no digits after the point.
const EVERY_INTEGER: f64 = (1_u64 << 53) as f64;

impl Place {
    /// `None` where doubles of that magnitude have too few digits below the noise.
    fn new(index: usize, magnitude: f64, scale: f64, step: f64) -> Option<Self> {
        let last_digit = 2f64.powi((magnitude.log2().floor() as i32 - 52).max(-1074));
        let unit = if last_digit > step { 2.0 * last_digit } else { step };
        let bits = ((scale / unit).log2().floor() as i32 - GUARD_BITS).min(MOST_BITS);
        (bits >= LEAST_BITS).then(|| Self { index, unit, bits: bits.cast_unsigned(), words: Vec::new() })
    }

    /// How often each bit is set, at most and at least.
    fn frequencies(&self, rate: f64) -> Option<DirectCheck> {
        let n = self.words.len();
        let limit = count_limit(n, 0.5 * (1.0 + OFF), 0.5 * rate);
        let share = |count: usize| count as f64 / n.max(1) as f64;
        let check = |bit: u32| {
            let set = self.words.iter().filter(|word| *word >> bit & 1 == 1).count();
            DirectCheck::between("low-bits", share(set), share(n - limit), share(limit))
        };
        closest((0..self.bits).map(check))
    }

    /// How often a pattern had been there before. Each draw meets one of fewer than n patterns with probability at most
    /// n(1 + 2⁻⁸)/2^k, whatever came before it.
    fn repeats(&mut self, rate: f64) -> DirectCheck {
        let n = self.words.len();
        self.words.sort_unstable();
        let repeats = self.words.windows(2).filter(|pair| pair[0] == pair[1]).count();
        let chance = n as f64 * (1.0 + OFF) * 2f64.powi(-self.bits.cast_signed());
        DirectCheck::count("low-bits-repeated", repeats, count_limit(n, chance, rate))
    }
}

/// How far probabilities of patterns may be off, as a share of themselves: [`GUARD_BITS`].
const OFF: f64 = 1.0 / (1 << GUARD_BITS) as f64;

/// All checks over all releases; each kind fails for a sound engine with probability at most `rate`. What doubles are too
/// coarse for is left out.
pub(super) fn checks(releases: &mut [LowBits], rate: f64) -> Vec<DirectCheck> {
    let mut found = Vec::new();
    if releases.iter().any(|release| release.n_fine > 0) {
        let off = releases.iter().map(|release| release.n_off).sum();
        found.push(DirectCheck::count("lattice", off, 0));
    }
    let n_places = releases.iter().map(|release| release.places.len()).sum::<usize>().max(1) as f64;
    let places = || releases.iter().flat_map(|release| &release.places);
    let n_bits = places().map(|place| place.bits).sum::<u32>().max(1);
    found.extend(closest(places().filter_map(|place| place.frequencies(rate / f64::from(n_bits)))));
    let places = releases.iter_mut().flat_map(|release| &mut release.places);
    found.extend(closest(places.map(|place| place.repeats(rate / n_places))));
    found
}

#[cfg(test)]
mod tests {
    use efface_core::noise::NoiseSource;
    use efface_core::noise::lattice::Lattice;

    use super::*;

    const SCALE: f64 = 1e-3;

    /// Releases of weights from tiny to large on a lattice, each changed before it is looked at.
    fn sample(draws: usize, seed: u64, change: impl Fn(usize, &mut f64)) -> LowBits {
        let lattice = Lattice::new(-62).expect("fits");
        let weights = [0.0, 1e-5, 0.3, -1.0, 900.0, 3e9, 1e15];
        let mut bits = LowBits::new(&weights, SCALE, Some(lattice.step()));
        let mut noise = NoiseSource::danger_fixed_seed(seed);
        for draw in 0..draws {
            let mut released = lattice.publish(&weights, SCALE, &mut noise).expect("fits");
            for w in &mut released {
                change(draw, w);
            }
            bits.add(&released);
        }
        bits
    }

    fn failed(mut bits: LowBits) -> Vec<&'static str> {
        let found = checks(std::slice::from_mut(&mut bits), 1e-8);
        found.iter().filter(|check| !check.held).map(|check| check.name).collect()
    }

    #[test]
    fn bits_are_looked_at_where_doubles_have_them() {
        let bits = sample(1, 0, |_, _| {});
        let looked_at: Vec<(usize, u32)> = bits.places.iter().map(|place| (place.index, place.bits)).collect();
        // 10⁻³ is 42 bits above the last digit of a weight of 1, and only 11 above that of 3·10⁹.
        assert_eq!(looked_at, [(0, 39), (1, 39), (2, 35), (3, 33), (4, 24)]);
        assert_eq!((bits.n_off, bits.n_fine), (0, 2));
    }

    #[test]
    fn sound_releases_pass_at_a_coarse_rate() {
        let alarms = (0..200)
            .filter(|seed| {
                let mut bits = sample(300, *seed, |_, _| {});
                checks(std::slice::from_mut(&mut bits), 0.05).iter().any(|check| !check.held)
            })
            .count();
        // Two kinds of check at 5 % each: at most 20 expected.
        assert!(alarms <= 30, "{alarms}");
    }

    #[test]
    fn each_fault_fails_its_check() {
        assert!(failed(sample(1_000, 1, |_, _| {})).is_empty());
        // Off the lattice, by half a step of it.
        assert!(failed(sample(1_000, 1, |_, w| *w += 2f64.powi(-63))).contains(&"lattice"));
        // One bit that is always set; small weights leave the lattice by it.
        let one = failed(sample(1_000, 1, |_, w| *w = f64::from_bits(w.to_bits() | 1 << 5)));
        assert_eq!(one, ["lattice", "low-bits"]);
        // One release in ten has digits that were there before: the bits stay even enough, the patterns come back.
        let again = sample(1_000, 1, |draw, w| {
            if draw % 10 == 0 && (0.2..0.4).contains(w) {
                *w = 0.3 + (draw % 50) as f64 * 1.234_567_89e-5;
            }
        });
        assert_eq!(failed(again), ["low-bits-repeated"]);
    }
}
