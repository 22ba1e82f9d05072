//! Running text: words, some of them in bold, as code or as a digest.
//!
//! Text may come from a file that anybody wrote. Escaping for HTML is the templates' work; what a reader's eye would
//! take for something else (control characters, marks that hide or turn text) is spelled out here, when a span is made.

use askama::Template;

/// A run of words in one style after another. It is displayed as HTML.
#[derive(Clone, Debug, Default, PartialEq, Eq, Template)]
#[template(path = "text.html")]
pub struct Text(Vec<Span>);

/// Words in one style.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    pub(crate) style: Style,
    pub(crate) words: String,
}

/// How words look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// As the text around.
    Plain,
    /// Bold.
    Strong,
    /// Stressed.
    Emphasis,
    /// What is typed.
    Code,
    /// A digest or an id: may be broken anywhere.
    Digest,
    /// Raised, as an exponent.
    Raised,
    /// A check that holds.
    Good,
    /// A check that fails.
    Bad,
}

impl Text {
    /// These texts, one after the other.
    pub fn joined(texts: impl IntoIterator<Item = Self>) -> Self {
        Self(texts.into_iter().flat_map(|text| text.0).collect())
    }

    /// The words without their styles.
    pub fn plain(&self) -> String {
        self.0.iter().map(|span| &*span.words).collect()
    }

    pub(crate) fn spans(&self) -> &[Span] {
        &self.0
    }
}

impl From<Span> for Text {
    fn from(span: Span) -> Self {
        Self(vec![span])
    }
}

impl From<&str> for Text {
    fn from(words: &str) -> Self {
        if words.is_empty() { Self::default() } else { Span::new(Style::Plain, words).into() }
    }
}

impl From<String> for Text {
    fn from(words: String) -> Self {
        words.as_str().into()
    }
}

impl Span {
    fn new(style: Style, words: impl AsRef<str>) -> Self {
        Self { style, words: in_one_line(words.as_ref()) }
    }
}

/// Text from parts: strings, spans and texts.
#[macro_export]
macro_rules! text {
    ($($part:expr),+ $(,)?) => { $crate::Text::joined([$($crate::Text::from($part)),+]) };
}

/// Words in bold.
pub fn strong(words: impl AsRef<str>) -> Span {
    Span::new(Style::Strong, words)
}

/// Stressed words.
pub fn emphasis(words: impl AsRef<str>) -> Span {
    Span::new(Style::Emphasis, words)
}

/// What is typed.
pub fn code(words: impl AsRef<str>) -> Span {
    Span::new(Style::Code, words)
}

/// A digest or an id.
pub fn digest(words: impl AsRef<str>) -> Span {
    Span::new(Style::Digest, words)
}

/// An exponent that no superscript letter exists for.
pub fn raised(words: impl AsRef<str>) -> Span {
    Span::new(Style::Raised, words)
}

/// The verdict of a check, in one of two words.
pub fn verdict(holds: bool, good: &str, bad: &str) -> Span {
    if holds { Span::new(Style::Good, format!("✓ {good}")) } else { Span::new(Style::Bad, format!("✗ {bad}")) }
}

/// With a capital letter, for the beginning of a sentence.
pub fn capitalized(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// A text that may quote a file: no line break or escape sequence, and no mark that hides or turns the text.
pub fn in_one_line(text: &str) -> String {
    let escaped = |c: char| if is_unseen(c) { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(escaped).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_quoted_moves_the_cursor_or_hides() {
        let text = "a\nb\t\u{1b}[31mc\u{9b}d\u{202e}e\u{2066}f\u{feff}g\u{2028}h";
        let shown = r"a\nb\t\u{1b}[31mc\u{9b}d\u{202e}e\u{2066}f\u{feff}g\u{2028}h";
        assert_eq!(in_one_line(text), shown);
        assert_eq!(Text::from(text).plain(), shown);
        assert_eq!(strong(text).words, shown);
        assert_eq!(in_one_line("ε ≤ 1, “ü”, می\u{200c}خواهم"), "ε ≤ 1, “ü”, می\u{200c}خواهم");
    }

    #[test]
    fn texts_are_joined_in_order() {
        let text = crate::text!["one ", strong("two"), String::from(" three"), text!["; ", code("four")]];
        assert_eq!(text.plain(), "one two three; four");
        assert_eq!(text.spans().len(), 5);
        assert_eq!(capitalized("über"), "Über");
    }
}
