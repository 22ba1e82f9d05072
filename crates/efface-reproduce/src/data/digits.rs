//! The hand-written digits that are compiled in.

use efface_data::{FeatureValues, MemoryRows, RowTransform, Scale};
use efface_digits::{Digits, N_PIXELS};

use super::rows_of;
use crate::Result;

/// These images, as rows of norm 1 with an intercept.
pub(crate) fn digits(indices: &[usize]) -> Result<MemoryRows> {
    let digits = Digits::embedded();
    let pixels = indices.iter().flat_map(|i| digits.image(*i)).map(|pixel| f32::from(*pixel)).collect();
    let classes = indices.iter().map(|i| f64::from(digits.label(*i))).collect();
    let unit = RowTransform { scale: Scale::Unit, intercept: true };
    rows_of(FeatureValues::F32(pixels), N_PIXELS, (classes, 10), &unit)
}
