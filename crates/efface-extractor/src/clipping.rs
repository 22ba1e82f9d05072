#![doc = include_str!("clipping.md")]

/// What gradients are added up as.
pub(crate) trait Summand: Copy + Default + Send + Sync {
    /// What many sums are added up as.
    type Wide: Copy + Default + Send + Sync + std::ops::AddAssign;

    /// Adds a number.
    fn add(&mut self, value: f32);

    /// The same number, with more room.
    fn wide(self) -> Self::Wide;
}

/// Clipped gradients: numbers up to 2²¹, rounded to the nearest integer. 512 of them leave room for as many again.
impl Summand for i32 {
    type Wide = i64;

    #[inline]
    fn add(&mut self, value: f32) {
        // The last bits of 1.5·2²³ + x are the integer nearest to x; ties go to the even one.
        let rounded = (value + ROUNDER).to_bits().cast_signed() - ROUNDER.to_bits().cast_signed();
        *self = self.wrapping_add(rounded);
    }

    #[inline]
    fn wide(self) -> i64 {
        i64::from(self)
    }
}

/// Gradients that nobody protects.
impl Summand for f32 {
    type Wide = f64;

    #[inline]
    fn add(&mut self, value: f32) {
        *self += value;
    }

    #[inline]
    fn wide(self) -> f64 {
        f64::from(self)
    }
}

/// The factor that takes a gradient to integers: at most 2²¹ long once they are rounded, whatever its norm; `None` for a
/// gradient that is no number, which is left out.
///
/// ```text
/// min( 2²¹/C, (2²¹ (1 − 10⁻⁶) − √n/2)/‖g‖ )
/// ```
pub(crate) fn scale(squared_norm: f64, clip: f64, n_weights: usize) -> Option<f32> {
    if !squared_norm.is_finite() {
        return None;
    }
    let norm = squared_norm.sqrt();
    let limit = UNITS * (1.0 - 1e-6) - 0.5 * (n_weights as f64).sqrt();
    let unclipped = UNITS / clip;
    Some(if norm * unclipped <= limit { unclipped as f32 } else { (limit / norm) as f32 })
}

/// 2^this steps of the lattice make a clipping norm.
pub(crate) const CLIP_EXPONENT: i32 = 21;

/// 2²¹.
const UNITS: f64 = (1 << CLIP_EXPONENT) as f64;

/// 1.5·2²³: next to it, numbers of single precision are the integers.
const ROUNDER: f32 = 12_582_912.0;

/// So many clipped gradients are added up in 32 bits: 512·2²¹ = 2³⁰.
pub(crate) const MOST_NARROW: usize = 512;
