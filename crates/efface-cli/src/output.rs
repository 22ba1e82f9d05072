//! Showing: one JSON object on stdout for machines, or text on stderr for people.

use std::cell::Cell;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;

use anyhow::Context;
use comfy_table::Table;
use comfy_table::presets::NOTHING;
use efface_core::residual::Rung;
use efface_core::ridge::Ridge;
use efface_data::Remark;
pub(crate) use efface_report::in_one_line;
use efface_report::numbers::plain::promised;
pub(crate) use efface_report::numbers::plain::{bound, duration, number, parameter};
use serde::Serialize;
use serde_json::json;

use crate::hints;
use crate::progress::Progress;

/// What a command answers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It is done.
    Done,
    /// Retraining is required, a budget is exhausted, a certificate is not valid, a release is held back.
    Negative,
}

/// Where answers go.
pub(crate) struct Output {
    json: bool,
    /// Whether machines have been told: one object, and no second.
    is_told: Cell<bool>,
    /// Whether something was changed that stays so, whatever becomes of the answer.
    is_in_force: Cell<bool>,
}

/// An answer that nobody got, about a change that is in force.
#[derive(Debug)]
pub(crate) struct NotTold(std::io::Error);

impl std::fmt::Display for NotTold {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the change is in force, but the answer could not be written to stdout: {}", self.0)
    }
}

impl std::error::Error for NotTold {}

impl Output {
    pub(crate) fn new(json: bool) -> Self {
        Self { json, is_told: Cell::new(false), is_in_force: Cell::new(false) }
    }

    /// Notes that what was asked for is done and stays done: an answer that cannot be shown does not undo it.
    pub(crate) fn in_force(&self) {
        self.is_in_force.set(true);
    }

    /// Whether people are reading.
    pub(crate) fn is_text(&self) -> bool {
        !self.json
    }

    /// Does something that may take long, and says so meanwhile.
    pub(crate) fn working<T>(&self, what: &str, work: impl FnOnce() -> T) -> T {
        let mut progress = Progress::new(self.is_text());
        progress.working(what);
        work()
    }

    /// Shows an answer: the whole of it as JSON, or a sentence and a few lines of it as text.
    pub(crate) fn show(&self, value: &impl Serialize, sentence: &str, lines: &[(&str, String)]) -> anyhow::Result<()> {
        self.show_in(plain_table(), value, sentence, lines)
    }

    /// The same in a table of its own.
    pub(crate) fn show_in(
        &self,
        mut table: Table,
        value: &impl Serialize,
        sentence: &str,
        lines: &[(&str, String)],
    ) -> anyhow::Result<()> {
        if self.json {
            // As a whole: half an object helps nobody.
            let text = serde_json::to_string(value)?;
            self.is_told.set(true);
            let mut stdout = std::io::stdout().lock();
            let written = writeln!(stdout, "{text}").and_then(|()| stdout.flush());
            return match written {
                Err(error) if self.is_in_force.get() => Err(NotTold(error).into()),
                written => Ok(written?),
            };
        }
        self.say(&in_one_line(sentence));
        if !lines.is_empty() {
            table.add_rows(lines.iter().map(|(name, value)| [format!("  {name}"), in_one_line(value)]));
            self.say(&table.trim_fmt());
        }
        Ok(())
    }

    /// A line for people.
    pub(crate) fn say(&self, line: &str) {
        if !self.json {
            to_stderr(line);
        }
    }

    /// A warning, for people and machines alike.
    #[expect(clippy::unused_self, reason = "reads as the other ways of showing do")]
    pub(crate) fn warn(&self, line: &str) {
        to_stderr(&format!("warning: {line}"));
    }

    /// What looks like a mistake in rows, and what can be done about it.
    pub(crate) fn remark(&self, remarks: &[Remark]) {
        for remark in remarks {
            self.warn(&format!("{remark}; {}", hints::for_remark(remark)));
        }
    }

    /// An error of a part; the others go on.
    #[expect(clippy::unused_self, reason = "reads as the other ways of showing do")]
    pub(crate) fn complain(&self, line: &str) {
        to_stderr(&format!("error: {}", in_one_line(line)));
    }

    /// An error and what can be done about it; `code` is its stable name for programs.
    pub(crate) fn error(&self, code: &str, line: &str, hint: Option<&str>) {
        if self.json && !self.is_told.get() {
            // Whoever closed stdout is told on stderr.
            let _ = writeln!(std::io::stdout(), "{}", json!({"error": {"code": code, "message": line, "hint": hint}}));
        }
        self.complain(line);
        if let Some(hint) = hint {
            to_stderr(&format!("hint: {hint}"));
        }
    }
}

/// A table without lines.
pub(crate) fn plain_table() -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING);
    table
}

/// What people cannot be told does not stop the work: a full or closed stderr is no error.
fn to_stderr(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// What a claim rests on, for people.
pub(crate) fn rung(rung: Rung) -> &'static str {
    match rung {
        Rung::Stale => "bounded without a look at the rows (stale curvature)",
        Rung::Measured => "measured over all rows",
        Rung::NoStep => "known exactly; the weights have not moved yet",
        Rung::Exact => "the removed rows are out of every sum, without rounding",
        other => other.tag(),
    }
}

/// The promise of a model with noise of this scale.
pub(crate) fn promise(epsilon: f64, delta: f64, noise_std: f64) -> String {
    let exact = if noise_std == 0.0 { ", bit for bit what training without the removed rows gives" } else { "" };
    format!("{}{exact}", pair(epsilon, delta))
}

/// The ridge under the names that people have for it.
pub(crate) fn ridge(ridge: Ridge) -> String {
    match ridge {
        Ridge::PerRow(lambda) => format!("l2 {} per row", parameter(lambda)),
        Ridge::Total(alpha) => format!("alpha {} in all (C = {})", parameter(alpha), parameter(1.0 / alpha)),
    }
}

/// (ε, δ), never shown smaller than they are.
pub(crate) fn pair(epsilon: f64, delta: f64) -> String {
    format!("({}, {})", promised(epsilon), promised(delta))
}

/// Number of features for people, who do not count the intercept.
pub(crate) fn features(dim: usize, intercept: bool) -> String {
    let intercept_too = if intercept { " and an intercept" } else { "" };
    format!("{}{intercept_too}", counted(dim - usize::from(intercept), "feature"))
}

/// So many of something: `1 row`, `2 rows`.
pub(crate) fn counted(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// The first so many names of a list, and how many more there are.
pub(crate) fn first_of(names: impl ExactSizeIterator<Item = String>, most: usize) -> String {
    let more = names.len().saturating_sub(most);
    let shown = names.take(most).collect::<Vec<_>>().join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}

/// A list for people; a long one is cut.
pub(crate) fn shortened(names: &[String]) -> String {
    const WIDTH: usize = 60;
    let mut shown = String::new();
    for (i, name) in names.iter().enumerate() {
        if i > 0 && shown.chars().count() + name.chars().count() > WIDTH {
            return format!("{shown} and {} more", names.len() - i);
        }
        shown += if i > 0 { ", " } else { "" };
        shown.extend(name.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }));
    }
    shown
}

/// Writes a new file; one that is there already is left alone.
pub(crate) fn write_new(path: &Path, text: &str, flag: &str) -> anyhow::Result<()> {
    let mut file = match fs::File::create_new(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            anyhow::bail!("{} exists already: choose another {flag}, or move it away", path.display())
        }
        opened => opened.with_context(|| path.display().to_string())?,
    };
    let written = file.write_all(text.as_bytes()).inspect_err(|_| {
        // Best effort: half a file would be in the way of the next one.
        let _ = fs::remove_file(path);
    });
    written.with_context(|| path.display().to_string())
}

/// A path that can be pasted into a shell.
pub(crate) fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}
