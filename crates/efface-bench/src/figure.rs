//! A figure: seconds, how often they were measured, and the gradient that was reached in them.

use efface_reproduce::measure::{median, try_timed};
use serde::{Deserialize, Serialize};

/// Median of repeats of one operation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Figure {
    pub(crate) seconds: f64,
    pub(crate) repeats: usize,
    /// Largest ‖∇L‖₂ that was left, where the operation leaves one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) gradient_norm: Option<f64>,
}

/// Repeats of one operation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples {
    seconds: Vec<f64>,
    gradient_norm: Option<f64>,
}

impl Samples {
    /// One more repeat, and the norm of the gradient that it left, if it left one.
    pub(crate) fn push(&mut self, seconds: f64, gradient_norm: impl Into<Option<f64>>) {
        self.seconds.push(seconds);
        let norms = self.gradient_norm.into_iter().chain(gradient_norm.into());
        self.gradient_norm = norms.reduce(f64::max);
    }

    /// The median; nothing when nothing was measured.
    pub(crate) fn figure(&self) -> Option<Figure> {
        let repeats = self.seconds.len();
        let gradient_norm = self.gradient_norm;
        (repeats > 0).then(|| Figure { seconds: median(self.seconds.clone()), repeats, gradient_norm })
    }
}

/// Runs `work` once, and again while neither the number of repeats nor the time is used up.
pub(crate) fn repeated(most: usize, seconds: f64, mut work: impl FnMut() -> anyhow::Result<()>) -> anyhow::Result<()> {
    let mut spent = 0.0;
    for done in 0..most {
        spent += try_timed(&mut work)?.1;
        // Another one would take as long as the mean so far.
        if spent + spent / (done + 1) as f64 > seconds {
            break;
        }
    }
    Ok(())
}
