//! A line on stderr for anything that takes longer than a second.

use std::time::{Duration, Instant};

use efface_core::model::Phase;
use efface_data::ReadProgress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work of less than this is not worth a line.
const QUIET: Duration = Duration::from_secs(1);

/// A line that says what is being done, and goes when it is done.
pub(crate) struct Progress {
    visible: bool,
    start: Instant,
    stage: String,
    bar: ProgressBar,
}

impl Progress {
    pub(crate) fn new(visible: bool) -> Self {
        Self { visible, start: Instant::now(), stage: String::new(), bar: hidden() }
    }

    /// Rows are being read: how many, how fast, how long it will take.
    pub(crate) fn reading(&mut self, progress: ReadProgress) {
        self.enter("reading", "{spinner} reading  [{elapsed}] {wide_bar} {percent} % {msg}");
        let seconds = self.start.elapsed().as_secs_f64();
        let per_second = progress.rows as f64 / seconds;
        let left = match progress.bytes_read {
            0 => String::new(),
            read => {
                let rest = progress.bytes_total.saturating_sub(read) as f64 * seconds / read as f64;
                format!(", {rest:.0} s left")
            }
        };
        self.bar.set_length(progress.bytes_total);
        self.bar.set_position(progress.bytes_read);
        self.show(format!("{} rows, {per_second:.0} rows/s{left}", progress.rows));
    }

    /// A model is being trained: classes that are done, passes over the rows, the gradient's norm.
    pub(crate) fn training(&mut self, phase: Phase) {
        self.enter("training", "{spinner} training [{elapsed}] {msg}");
        let Phase { n_done, n_problems, passes, gradient_norm } = phase;
        let classes = if n_problems > 1 { format!("{n_done} of {n_problems} classes, ") } else { String::new() };
        self.show(format!("{classes}{passes} passes, gradient norm {gradient_norm:.1e}"));
    }

    /// Something is being done of which nothing is known until it is done.
    pub(crate) fn working(&mut self, what: &str) {
        self.enter("working", "{spinner} {msg} [{elapsed}]");
        self.tick(what);
    }

    /// Of the stage `what` of `name`, `done` steps of `of` are done.
    pub(crate) fn steps(&mut self, name: &'static str, what: &str, done: usize, of: usize) {
        let stage = format!("{name}: {what}");
        if done == 0 {
            self.clear();
        }
        if self.enter(&stage, "{spinner} {msg} {wide_bar} {pos}/{len} [{elapsed}, {eta} left]") {
            self.tick(&stage);
        }
        self.bar.set_length(of as u64);
        self.bar.set_position(done as u64);
    }

    /// A network is being trained: `done` steps of `of`, the first `before` of them by an earlier run.
    pub(crate) fn network(&mut self, before: u64, done: u64, of: u64, loss: f64) {
        self.enter("network", "{spinner} training [{elapsed}] {wide_bar} {pos}/{len} {msg}");
        self.bar.set_length(of);
        self.bar.set_position(done);
        let seconds = self.start.elapsed().as_secs_f64();
        let left = match done - before {
            0 => String::new(),
            n => format!(", {:.0} s left", (of - done) as f64 * seconds / n as f64),
        };
        self.show(format!("steps{left}, loss {loss:.3}"));
    }

    /// Takes the line away, so that another can be written.
    pub(crate) fn clear(&mut self) {
        self.bar.finish_and_clear();
        self.bar = hidden();
        self.stage.clear();
    }

    /// Begins another line, unless this is the stage at hand.
    fn enter(&mut self, stage: &str, template: &str) -> bool {
        let is_new = self.stage != stage;
        if is_new {
            self.clear();
            self.start = Instant::now();
            stage.clone_into(&mut self.stage);
            if let Ok(style) = ProgressStyle::with_template(template) {
                self.bar.set_style(style);
            }
        }
        is_new
    }

    /// Shows a message once the stage has taken long.
    fn show(&self, message: String) {
        if self.visible && self.bar.is_hidden() && self.start.elapsed() > QUIET {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.set_message(message);
        self.bar.tick();
    }

    /// Shows a message from now on, and moves by itself.
    fn tick(&self, message: &str) {
        if self.visible {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.bar.set_message(message.to_owned());
            self.bar.enable_steady_tick(QUIET);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn hidden() -> ProgressBar {
    ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden())
}
