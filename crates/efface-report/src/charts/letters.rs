//! Text in pictures: made safe, measured, and broken into lines.

use askama::filters::{Escaper, Html};

use crate::in_one_line;

/// Text made safe for HTML and SVG, in elements and in quoted attributes.
pub(super) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    Html.write_escaped_str(&mut safe, &in_one_line(text)).expect("a string takes every text");
    safe
}

/// About how wide a line of text is in DejaVu Sans; other fonts without serifs are narrower.
pub(super) fn width(text: &str, size: f64) -> f64 {
    text.chars().map(advance).sum::<f64>() * size
}

/// Lines that are at most `most` wide, broken at blanks. A word that is wider has a line of its own.
pub(super) fn lines(text: &str, size: f64, most: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_ascii_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line, size) + width(" ", size) + width(word, size) <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Advance of a letter as a share of the size.
fn advance(letter: char) -> f64 {
    match letter {
        'i' | 'j' | 'l' | '\'' => 0.28,
        ' ' | '.' | ',' | '/' | '|' | 'I' | '\u{a0}' => 0.32,
        'f' | 't' | 'r' | '(' | ')' | '[' | ']' | ':' | ';' | '-' => 0.40,
        '⁰'..='⁹' | '⁻' | '¹' | '²' | '³' | '₀'..='₉' => 0.41,
        'm' | 'w' | 'M' | 'W' | '%' | '@' | '…' | '—' => 0.97,
        '=' | '+' | '<' | '>' | '−' | '≤' | '≥' | '≈' | '×' => 0.84,
        'A'..='Z' => 0.70,
        'c' | 'k' | 's' | 'z' | 'v' | 'x' | 'y' => 0.58,
        _ => 0.64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_breaks_at_blanks_and_loses_none_of_its_words() {
        let text = "gradient left after one removal, exact, and three bounds on it";
        let broken = lines(text, 10.0, 120.0);
        assert!(broken.len() > 2 && broken.iter().all(|line| width(line, 10.0) <= 120.0), "{broken:?}");
        assert_eq!(broken.join(" "), text);
        assert_eq!(lines("incomprehensibilities are", 10.0, 20.0), ["incomprehensibilities", "are"]);
        assert!(lines("", 10.0, 20.0).is_empty());
    }
}
