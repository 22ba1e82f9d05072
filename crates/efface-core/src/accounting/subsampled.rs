#![doc = include_str!("subsampled.md")]

use std::collections::BTreeMap;

use super::{Extractor, Guarantee, gaussian};
use crate::rounding::{LowerBound, UNIT_ROUNDOFF, UpperBound};

/// T steps of DP-SGD: each takes every row with probability q, adds up their vectors, of norm at most C, and adds
/// N(0, σ²C²) to each coordinate of the sum.
///
/// The claim page of this module says what is proved of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SubsampledGaussian {
    sampling_rate: f64,
    noise_multiplier: f64,
    steps: u64,
}

/// Numbers that no such mechanism has, or a promise that it cannot keep.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are named in the messages")]
#[non_exhaustive]
pub enum MechanismError {
    /// q is no probability, or zero.
    #[error("sampling rate must be above 0 and at most 1, got `{value}`")]
    SamplingRate { value: f64 },
    /// σ is out of range.
    #[error("noise multiplier must be at least {least:e} and at most {most:e}, got `{value}`")]
    NoiseMultiplier { value: f64, least: f64, most: f64 },
    /// T is out of range.
    #[error("steps must be at least 1 and at most {most}, got `{value}`")]
    Steps { value: u64, most: u64 },
    /// ε or δ of a wanted promise is no number that a promise has.
    #[error("a promise needs a positive, finite epsilon and a delta between 0 and 1, got `{epsilon}` and `{delta:e}`")]
    Promise { epsilon: f64, delta: f64 },
    /// Nobody is protected.
    #[error("the group must be at least 1 row")]
    EmptyGroup,
    /// More noise than the largest would be needed.
    #[error("epsilon `{epsilon}` at delta `{delta:e}` for a group of {group} takes a noise multiplier above {most:e}")]
    OutOfReach { epsilon: f64, delta: f64, group: usize, most: f64 },
    /// No δ for one row adds up to the δ for all of them.
    #[error(
        "no delta per row adds up to `{delta:e}` for a group of {group}: the training says too much about each row"
    )]
    NoGroup { delta: f64, group: usize },
}

impl SubsampledGaussian {
    /// Poisson sampling at `sampling_rate`, noise of `noise_multiplier` times the clipping norm, `steps` times.
    pub fn new(sampling_rate: f64, noise_multiplier: f64, steps: u64) -> Result<Self, MechanismError> {
        if !(sampling_rate > 0.0 && sampling_rate <= 1.0) {
            return Err(MechanismError::SamplingRate { value: sampling_rate });
        }
        if !(LEAST_NOISE..=MOST_NOISE).contains(&noise_multiplier) {
            let (least, most) = (LEAST_NOISE, MOST_NOISE);
            return Err(MechanismError::NoiseMultiplier { value: noise_multiplier, least, most });
        }
        if !(1..=MOST_STEPS).contains(&steps) {
            return Err(MechanismError::Steps { value: steps, most: MOST_STEPS });
        }
        Ok(Self { sampling_rate, noise_multiplier, steps })
    }

    /// The least noise, to a relative 1e-9, with which a group of rows is promised `promise`.
    pub fn keeping(promise: Guarantee, group: usize, sampling_rate: f64, steps: u64) -> Result<Self, MechanismError> {
        Self::check_promise(promise, group)?;
        let Guarantee { epsilon, delta } = promise;
        let with = |noise_multiplier: f64| Self::new(sampling_rate, noise_multiplier, steps);
        let keeps = |mechanism: &Self| {
            mechanism.extractor(group, delta).is_ok_and(|extractor| extractor.cost().epsilon <= epsilon)
        };
        let (mut low, mut best) = (LEAST_NOISE, with(MOST_NOISE)?);
        if !keeps(&best) {
            return Err(MechanismError::OutOfReach { epsilon, delta, group, most: MOST_NOISE });
        }
        // The one that is kept as `best` keeps the promise, wherever the bisection stops.
        while best.noise_multiplier > low * (1.0 + 1e-9) {
            let middle = with((low * best.noise_multiplier).sqrt())?;
            if keeps(&middle) { best = middle } else { low = middle.noise_multiplier }
        }
        Ok(best)
    }

    /// Whether it is a promise to anybody.
    pub fn check_promise(promise: Guarantee, group: usize) -> Result<(), MechanismError> {
        let Guarantee { epsilon, delta } = promise;
        if !(epsilon > 0.0 && epsilon.is_finite() && delta > 0.0 && delta < 1.0) {
            return Err(MechanismError::Promise { epsilon, delta });
        }
        if group == 0 { Err(MechanismError::EmptyGroup) } else { Ok(()) }
    }

    /// q.
    pub fn sampling_rate(&self) -> f64 {
        self.sampling_rate
    }

    /// σ, in clipping norms.
    pub fn noise_multiplier(&self) -> f64 {
        self.noise_multiplier
    }

    /// T.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The least ε that is proved for one row at δ, rounded up; infinite where there is none.
    ///
    /// Below a sampling rate of 1 the best of the integer orders at hand; at 1 exact.
    pub fn epsilon_at(&self, delta: f64) -> f64 {
        Divergences::of(self).epsilon_at(delta)
    }

    /// The Rényi divergence of integer order α ≥ 2 between training with a row and without it, T steps, rounded up.
    ///
    /// ```text
    /// T/(α−1) · ln( 1 + Σ_{k=2}^{α} C(α,k) (1−q)^{α−k} q^k (e^{k(k−1)/2σ²} − 1) )
    /// ```
    ///
    /// Mironov, Talwar and Zhang 2019, Section 3.3; an upper bound in both directions.
    pub fn renyi_divergence(&self, order: u32) -> UpperBound {
        let steps = UpperBound::count(self.steps as usize);
        if self.sampling_rate == 1.0 {
            let square = self.gaussian_distance().squared();
            return UpperBound::new(f64::from(order)) * square * UpperBound::new(0.5);
        }
        steps * self.log_moment(order).over(LowerBound::new(f64::from(order - 1)))
    }

    /// What the training promises to a group of k rows together, with the largest δ per row that adds up to at most
    /// `delta` for all of them.
    ///
    /// ```text
    /// (k ε(δ₁), δ₁ Σ_{i<k} e^{iε(δ₁)}),   δ₁ Σ_{i<k} e^{iε(δ₁)} ≤ δ
    /// ```
    pub fn extractor(&self, group: usize, delta: f64) -> Result<Extractor, MechanismError> {
        if group == 0 {
            return Err(MechanismError::EmptyGroup);
        }
        let mut divergences = Divergences::of(self);
        let mut per_row = |delta: f64| Extractor { epsilon: divergences.epsilon_at(delta), delta, group };
        let fits = |one: &Extractor| one.is_possible() && one.cost().delta <= delta;
        let mut best = per_row(delta);
        if fits(&best) {
            return Ok(best);
        }
        let mut high = delta;
        while !fits(&best) {
            high = best.delta;
            best = per_row(0.25 * high);
            if high < LEAST_DELTA {
                return Err(MechanismError::NoGroup { delta, group });
            }
        }
        // The one that is kept as `best` fits, wherever the bisection stops.
        while high > best.delta * (1.0 + 1e-6) {
            let middle = per_row(best.delta.sqrt() * high.sqrt());
            if fits(&middle) { best = middle } else { high = middle.delta }
        }
        Ok(best)
    }

    /// √T/σ: without sampling, the steps together are one Gaussian mechanism.
    fn gaussian_distance(&self) -> UpperBound {
        UpperBound::count(self.steps as usize).sqrt().over(LowerBound::new(self.noise_multiplier))
    }

    /// ln of the sum above, one step's, rounded up.
    fn log_moment(&self, order: u32) -> UpperBound {
        let (log_out, log_in) = (libm::log1p(-self.sampling_rate), libm::log(self.sampling_rate));
        let inverse_variance = 1.0 / (self.noise_multiplier * self.noise_multiplier);
        // ln C(α,k), and the sizes of all that was added up to it.
        let (mut log_binomial, mut added) = (libm::log(f64::from(order)), libm::log(f64::from(order)));
        let mut terms = Vec::with_capacity(order as usize - 1);
        for k in 2..=order {
            let (n, left) = (f64::from(k), f64::from(order - k));
            let log_ratio = libm::log((left + 1.0) / n);
            log_binomial += log_ratio;
            added += log_ratio.abs();
            let exponent = 0.5 * n * (n - 1.0) * inverse_variance;
            let log_growth = if exponent > 40.0 { exponent } else { libm::log(libm::expm1(exponent)) };
            let term = log_binomial + left * log_out + n * log_in + log_growth;
            let size = added - left * log_out - n * log_in + log_growth.abs() + exponent + 4.0;
            terms.push(term + 4.0 * (n + 16.0) * UNIT_ROUNDOFF * size);
        }
        let largest = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = terms.iter().map(|term| libm::exp(term - largest)).sum();
        let excess = largest + libm::log(sum);
        let excess = excess + 4.0 * UNIT_ROUNDOFF * (f64::from(order) + 16.0 + excess.abs() + largest.abs());
        // ln(1 + e^excess)
        let logarithm = excess.max(0.0) + libm::log1p(libm::exp(-excess.abs()));
        UpperBound::new(logarithm * (1.0 + 32.0 * UNIT_ROUNDOFF)) + UpperBound::new(f64::MIN_POSITIVE)
    }
}

/// The divergences of a mechanism, each computed once: they are the same for every δ.
struct Divergences<'a> {
    mechanism: &'a SubsampledGaussian,
    known: BTreeMap<u32, UpperBound>,
}

impl<'a> Divergences<'a> {
    fn of(mechanism: &'a SubsampledGaussian) -> Self {
        Self { mechanism, known: BTreeMap::new() }
    }

    fn at(&mut self, order: u32) -> UpperBound {
        *self.known.entry(order).or_insert_with(|| self.mechanism.renyi_divergence(order))
    }

    fn epsilon_at(&mut self, delta: f64) -> f64 {
        if delta >= 1.0 {
            return 0.0;
        }
        if self.mechanism.sampling_rate == 1.0 {
            return gaussian::epsilon_at(self.mechanism.gaussian_distance(), delta);
        }
        let mut epsilon = |order: u32| converted(self.at(order), order, delta);
        // Every order is valid: which one is best only has to be found roughly.
        let (mut best, mut least) = (2, epsilon(2));
        let mut order = 4;
        while order <= LARGEST_ORDER {
            let found = epsilon(order);
            if found > 2.0 * least {
                break;
            }
            if found < least {
                (best, least) = (order, found);
            }
            order *= 2;
        }
        let (mut low, mut high) = (best / 2 + 1, 2 * best);
        while low < high {
            let middle = low.midpoint(high);
            let (left, right) = (epsilon(middle), epsilon(middle + 1));
            least = least.min(left).min(right);
            if left <= right { high = middle } else { low = middle + 1 }
        }
        least
    }
}

/// The ε that a Rényi divergence of order α proves at δ, rounded up, and at least 0.
///
/// ```text
/// ε = D_α + ln((α−1)/α) − (ln δ + ln α)/(α−1)
/// ```
///
/// Canonne, Kamath and Steinke 2020, Proposition 12.
fn converted(divergence: UpperBound, order: u32, delta: f64) -> f64 {
    let (alpha, log_delta) = (f64::from(order), libm::log(delta));
    if !divergence.is_finite() || log_delta.is_nan() || log_delta == f64::NEG_INFINITY {
        return f64::INFINITY;
    }
    let less_one = alpha - 1.0;
    let (log_share, log_order) = (libm::log1p(-1.0 / alpha), libm::log(alpha));
    let epsilon = divergence.get() + log_share - (log_delta + log_order) / less_one;
    let size = divergence.get() - log_share + (log_order - log_delta) / less_one;
    let epsilon = epsilon + 16.0 * UNIT_ROUNDOFF * size;
    // What is no number proves nothing.
    if epsilon.is_nan() { f64::INFINITY } else { epsilon.max(0.0) }
}

/// Below it every row is told in full anyway.
const LEAST_NOISE: f64 = 1e-2;

/// Above it nothing is learned.
const MOST_NOISE: f64 = 1e6;

/// Counts stay exact in double precision.
const MOST_STEPS: u64 = 1 << 40;

/// Orders beyond it are best only where ε is below 1e-3.
const LARGEST_ORDER: u32 = 1 << 14;

/// No δ per row is looked for below it.
const LEAST_DELTA: f64 = 1e-200;
