//! The rows that the built-in reconstruction is made on: hand-written digits, which are public.

use efface_core::loss;
use efface_core::model::{TrainingConfig, TrainingPlan};
use efface_data::MemoryRows;
use efface_digits::{Digits, N_PIXELS};

use crate::dense::normalized;
use crate::error::AuditError;
use crate::rows::of_norm_one;

/// Public rows: those to train on, and the attacker's sample.
pub(crate) struct PublicRows {
    /// What to train.
    pub(crate) plan: TrainingPlan,
    /// Rows to train on.
    pub(crate) rows: MemoryRows,
    /// Rows of the same kind.
    pub(crate) sample: MemoryRows,
}

/// λ, as in the demo.
const L2: f64 = 1e-3;

/// Digits below five against the others. Every third one is the attacker's sample.
pub(crate) fn digits() -> Result<PublicRows, AuditError> {
    let plan = TrainingPlan::new(TrainingConfig::new(&loss::Logistic, L2, Some(2)))?;
    let digits = Digits::embedded();
    let row = |i: usize| {
        let pixels: Vec<f64> = digits.image(i).iter().map(|pixel| f64::from(*pixel)).collect();
        (normalized(&pixels), f64::from(u8::from(digits.label(i) >= 5)))
    };
    let (sample, rows): (Vec<usize>, Vec<usize>) = (0..digits.n_images()).partition(|i| is_in_sample(*i));
    let [rows, sample] = [rows, sample].map(|chosen| of_norm_one(N_PIXELS, chosen.into_iter().map(row)));
    Ok(PublicRows { plan, rows, sample })
}

/// The picture of the row at a position of the rows trained on: 0 is paper, 255 is ink.
pub(crate) fn image_at(position: usize) -> Option<Vec<u8>> {
    let digits = Digits::embedded();
    (0..digits.n_images()).filter(|i| !is_in_sample(*i)).nth(position).map(|i| digits.picture(i))
}

fn is_in_sample(i: usize) -> bool {
    i % 3 == 2
}

/// A reconstruction as a picture, in which the most is all ink.
pub(crate) fn picture_of(guess: &[f64]) -> Vec<u8> {
    let most = guess.iter().fold(f64::MIN_POSITIVE, |most, x| most.max(*x));
    guess.iter().take(N_PIXELS).map(|x| (255.0 * (x / most).max(0.0)).round() as u8).collect()
}
