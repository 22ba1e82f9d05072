//! A line on stderr for anything that takes longer than a second.

use std::time::{Duration, Instant};

use efface_core::model::Phase;
use efface_data::ReadProgress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work of less than this is not worth a line.
const QUIET: Duration = Duration::from_secs(1);

/// A line that appears once the work takes long, and goes when it is done.
pub(crate) struct Progress {
    visible: bool,
    start: Instant,
    stage: Option<&'static str>,
    bar: ProgressBar,
}

impl Progress {
    pub(crate) fn new(visible: bool) -> Self {
        Self { visible, start: Instant::now(), stage: None, bar: hidden() }
    }

    /// Rows are being read: how many, how fast, how long it will take.
    pub(crate) fn reading(&mut self, progress: ReadProgress) {
        self.enter("{spinner} reading  [{elapsed}] {wide_bar} {percent} % {msg}");
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
        self.enter("{spinner} training [{elapsed}] {msg}");
        let Phase { n_done, n_problems, passes, gradient_norm } = phase;
        let classes = if n_problems > 1 { format!("{n_done} of {n_problems} classes, ") } else { String::new() };
        self.show(format!("{classes}{passes} passes, gradient norm {gradient_norm:.1e}"));
    }

    fn enter(&mut self, template: &'static str) {
        if self.stage != Some(template) {
            self.bar.finish_and_clear();
            self.bar = hidden();
            self.start = Instant::now();
            self.stage = Some(template);
            if let Ok(style) = ProgressStyle::with_template(template) {
                self.bar.set_style(style);
            }
        }
    }

    fn show(&self, message: String) {
        if self.visible && self.bar.is_hidden() && self.start.elapsed() > QUIET {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.set_message(message);
        self.bar.tick();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// A line that moves while something is done of which nothing is known until it is done.
pub(crate) struct Working(ProgressBar);

impl Working {
    pub(crate) fn new(visible: bool, what: &'static str) -> Self {
        let bar = hidden();
        if visible {
            bar.set_draw_target(ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} [{elapsed}]") {
                bar.set_style(style);
            }
            bar.set_message(what);
            bar.enable_steady_tick(QUIET);
        }
        Self(bar)
    }

    /// Says what is being done now.
    pub(crate) fn now(&self, what: &str) {
        self.0.set_message(what.to_owned());
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// A bar per stage of a long piece of work: what is being done, how much of it is done, and how long it will take.
pub(crate) struct Stages {
    visible: bool,
    bar: ProgressBar,
    stage: String,
}

impl Stages {
    pub(crate) fn new(visible: bool) -> Self {
        Self { visible, bar: hidden(), stage: String::new() }
    }

    /// Of the stage `what` of `name`, `done` steps of `of` are done.
    pub(crate) fn now(&mut self, name: &'static str, what: &str, done: usize, of: usize) {
        if !self.visible {
            return;
        }
        let stage = format!("{name}: {what}");
        if stage != self.stage || done == 0 {
            self.clear();
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            let template = "{spinner} {msg} {wide_bar} {pos}/{len} [{elapsed}, {eta} left]";
            if let Ok(style) = ProgressStyle::with_template(template) {
                self.bar.set_style(style);
            }
            self.bar.set_message(stage.clone());
            self.bar.enable_steady_tick(QUIET);
            self.stage = stage;
        }
        self.bar.set_length(of as u64);
        self.bar.set_position(done as u64);
    }

    /// Takes the bar away, so that a line can be written.
    pub(crate) fn clear(&mut self) {
        self.bar.finish_and_clear();
        self.bar = hidden();
        self.stage.clear();
    }
}

impl Drop for Stages {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn hidden() -> ProgressBar {
    ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden())
}
