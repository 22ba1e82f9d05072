//! A line on stderr for anything that takes longer than a second.

use std::time::{Duration, Instant};

use efface_core::model::Phase;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Shows training as it goes: the class at hand, passes over the rows, the gradient's norm.
pub(crate) struct TrainingProgress {
    start: Instant,
    bar: ProgressBar,
}

impl TrainingProgress {
    pub(crate) fn new(visible: bool) -> Self {
        let bar = ProgressBar::new_spinner();
        bar.set_draw_target(ProgressDrawTarget::hidden());
        if visible && let Ok(style) = ProgressStyle::with_template("{spinner} training [{elapsed}] {msg}") {
            bar.set_style(style);
        }
        Self { start: Instant::now(), bar }
    }

    pub(crate) fn update(&mut self, phase: Phase) {
        if self.bar.is_hidden() && self.start.elapsed() > Duration::from_secs(1) {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        let Phase { problem, n_problems, passes, gradient_norm } = phase;
        let class = if n_problems > 1 { format!("class {} of {n_problems}, ", problem + 1) } else { String::new() };
        self.bar.set_message(format!("{class}{passes} passes, gradient norm {gradient_norm:.1e}"));
        self.bar.tick();
    }
}

impl Drop for TrainingProgress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
