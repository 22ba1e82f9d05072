//! Showing: one JSON object on stdout for machines, or text on stderr for people.

use std::cell::Cell;
use std::io::Write;
use std::path::Path;

use comfy_table::Table;
use comfy_table::presets::NOTHING;
pub(crate) use efface_report::in_one_line;
pub(crate) use efface_report::numbers::plain::{bound, duration, number, parameter, promised};
use serde::Serialize;
use serde_json::json;

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
}

impl Output {
    pub(crate) fn new(json: bool) -> Self {
        Self { json, is_told: Cell::new(false) }
    }

    /// Whether people are reading.
    pub(crate) fn is_text(&self) -> bool {
        !self.json
    }

    /// Shows an answer: the whole of it as JSON, or a sentence and a few lines of it as text.
    pub(crate) fn show(&self, value: &impl Serialize, sentence: &str, lines: &[(&str, String)]) -> anyhow::Result<()> {
        if self.json {
            // As a whole: half an object helps nobody.
            let text = serde_json::to_string(value)?;
            self.is_told.set(true);
            writeln!(std::io::stdout().lock(), "{text}")?;
            return Ok(());
        }
        let mut table = Table::new();
        table.load_style(NOTHING);
        for (name, value) in lines {
            table.add_row([format!("  {name}"), in_one_line(value)]);
        }
        self.say(&in_one_line(sentence));
        if !lines.is_empty() {
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

/// What people cannot be told does not stop the work: a full or closed stderr is no error.
fn to_stderr(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// What a claim rests on, for people.
pub(crate) fn rung(tag: &str) -> &str {
    match tag {
        "stale" => "bounded without a look at the rows (stale curvature)",
        "measured" => "measured over all rows",
        "no-step" => "known exactly; the weights have not moved yet",
        "exact" => "the removed rows are out of every sum, without rounding",
        other => other,
    }
}

/// Number of features for people, who do not count the intercept.
pub(crate) fn features(dim: usize, intercept: bool) -> String {
    let n = dim - usize::from(intercept);
    let noun = if n == 1 { "feature" } else { "features" };
    format!("{n} {noun}{}", if intercept { " and an intercept" } else { "" })
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

/// A path that can be pasted into a shell.
pub(crate) fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}
