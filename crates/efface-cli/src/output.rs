//! Showing: one JSON object on stdout for machines, or text on stderr for people.

use std::io::Write;
use std::path::Path;

use comfy_table::Table;
use comfy_table::presets::NOTHING;
use serde::Serialize;

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
}

impl Output {
    pub(crate) fn new(json: bool) -> Self {
        Self { json }
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

    /// An error and what can be done about it.
    #[expect(clippy::unused_self, reason = "reads as the other ways of showing do")]
    pub(crate) fn error(&self, line: &str, hint: Option<&str>) {
        to_stderr(&format!("error: {}", in_one_line(line)));
        if let Some(hint) = hint {
            to_stderr(&format!("hint: {hint}"));
        }
    }
}

/// What people cannot be told does not stop the work: a full or closed stderr is no error.
fn to_stderr(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// What is shown may quote what was found in a file: no line break and no escape sequence of that reaches the terminal,
/// and no mark that turns the direction of the text or hides in it.
pub(crate) fn in_one_line(message: &str) -> String {
    let escaped = |c: char| if is_unseen(c) { c.escape_default().to_string() } else { c.to_string() };
    message.chars().map(escaped).collect()
}

/// Control characters, line separators, and the marks of Unicode that have no width or turn the direction of text. The
/// two joiners are none of them: some scripts need them.
fn is_unseen(c: char) -> bool {
    let marks = ['\u{ad}', '\u{61c}', '\u{200b}', '\u{200e}', '\u{200f}', '\u{feff}'];
    c.is_control()
        || marks.contains(&c)
        || ('\u{2028}'..='\u{202e}').contains(&c)
        || ('\u{2060}'..='\u{206f}').contains(&c)
}

/// A number for people: three digits, powers of ten where they help.
pub(crate) fn number(x: f64) -> String {
    let size = x.abs();
    if x == 0.0 {
        "0".into()
    } else if !x.is_finite() {
        "unbounded".into()
    } else if (1e-3..1e5).contains(&size) {
        let digits = (2 - size.log10().floor() as i32).clamp(0, 6) as usize;
        format!("{x:.digits$}")
    } else {
        format!("{x:.2e}")
    }
}

/// A parameter for people, as somebody would type it: of two that were added up, the last bit is not shown.
pub(crate) fn parameter(x: f64) -> String {
    let typed = format!("{x:.12e}").parse().ok().filter(|typed: &f64| (typed - x).abs() <= 1e-15 * x.abs());
    let x = typed.unwrap_or(x);
    if x == 0.0 || (1e-3..1e6).contains(&x.abs()) { x.to_string() } else { format!("{x:e}") }
}

/// ε or δ of a promise, as it was typed; one that was computed as a bound.
pub(crate) fn promised(x: f64) -> String {
    let typed = parameter(x);
    if typed.len() <= 12 { typed } else { bound(x) }
}

/// A bound for people, never shown smaller than it is.
pub(crate) fn bound(x: f64) -> String {
    // The least number of three digits that is not below x is at most a hundredth above it.
    let steps = (0..=40).map(|step| number(x * (1.0 + 0.000_25 * f64::from(step))));
    let is_above = |text: &String| text.parse::<f64>().map_or(true, |shown| shown >= x);
    steps.into_iter().find(is_above).unwrap_or_else(|| number(x * 1.01))
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

/// A duration for people.
pub(crate) fn duration(seconds: f64) -> String {
    if seconds < 1e-3 {
        format!("{:.0} µs", seconds * 1e6)
    } else if seconds < 1.0 {
        format!("{:.1} ms", seconds * 1e3)
    } else {
        format!("{seconds:.2} s")
    }
}

#[cfg(test)]
mod tests {
    use super::{bound, in_one_line, number, parameter};

    #[test]
    fn a_parameter_is_shown_as_somebody_would_type_it() {
        for (x, typed) in [(1.0 + 0.5f64.next_up(), "1.5"), (1e-4 + 1e-5, "1.1e-4"), (1.0 / 3.0, "0.3333333333333333")]
        {
            assert_eq!(parameter(x), typed);
        }
        assert_eq!([0.0, 1e-4, 0.25, f64::INFINITY].map(parameter), ["0", "1e-4", "0.25", "inf"]);
    }

    #[test]
    fn nothing_that_is_quoted_moves_the_cursor_or_hides() {
        let text = "a\nb\t\u{1b}[31mc\u{9b}d\u{202e}e\u{2066}f\u{feff}g\u{2028}h";
        let shown = r"a\nb\t\u{1b}[31mc\u{9b}d\u{202e}e\u{2066}f\u{feff}g\u{2028}h";
        assert_eq!(in_one_line(text), shown);
        assert_eq!(in_one_line("ε ≤ 1, “ü”, می\u{200c}خواهم"), "ε ≤ 1, “ü”, می\u{200c}خواهم");
    }

    #[test]
    fn a_bound_is_never_shown_smaller_than_it_is_nor_much_larger() {
        for x in [
            9.2379e-9, 6.0159e-10, 0.61299, 0.613, 1.0, 1.001, 99.94, 99.96, 0.099_96, 123.4, 12_345.6, 9.999e7, 1e-300,
        ] {
            let shown: f64 = bound(x).parse().expect("a number");
            assert!(shown >= x && shown <= x * 1.0101, "{x}: {shown}");
        }
        assert_eq!((bound(9.2379e-9), bound(0.613), bound(1.0)), ("9.24e-9".into(), number(0.613), number(1.0)));
        assert_eq!((bound(0.0), bound(f64::INFINITY)), ("0".into(), "unbounded".into()));
    }
}
