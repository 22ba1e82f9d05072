//! Text and numbers as HTML. Every function returns HTML that is safe to insert, in elements and in quoted attributes.

use crate::output::in_one_line;

/// Text as it is, with nothing in it that HTML or a reader's eye would take for something else. Very long ones are cut.
pub(super) fn escape(text: &str) -> String {
    cut(text, 300)
}

/// The first so many characters of a text.
pub(super) fn cut(text: &str, longest: usize) -> String {
    let mut text = in_one_line(text);
    if let Some((end, _)) = text.char_indices().nth(longest) {
        text.truncate(end);
        text.push('…');
    }
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}

/// Text without blanks that may be broken anywhere: a hash, a name of a log.
pub(super) fn hash(text: &str) -> String {
    format!("<span class=\"hash\">{}</span>", escape(text))
}

/// A number as `output` writes it, with a power of ten where that has an exponent.
pub(super) fn number(text: &str) -> String {
    let Some((factor, exponent)) = text.split_once('e') else { return escape(text).replace('-', "−") };
    let exponent = escape(exponent).replace('-', "−");
    let power = format!("10<sup>{exponent}</sup>");
    match factor {
        "1" | "1.00" => power,
        factor => format!("{}&nbsp;×&nbsp;{power}", escape(factor).replace('-', "−")),
    }
}

/// A whole number with separators, and its noun: `1 row`, `1,797 rows`.
pub(super) fn count(n: usize, one: &str, more: &str) -> String {
    let digits = n.to_string();
    let mut grouped = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{grouped}&nbsp;{}", if n == 1 { one } else { more })
}

/// A table of two columns: names (plain text) and values (HTML).
pub(super) fn table(rows: &[(&str, String)]) -> String {
    let row = |(name, value): &(&str, String)| format!("<tr><th scope=\"row\">{name}</th><td>{value}</td></tr>\n");
    format!("<table class=\"pairs\">\n{}</table>\n", rows.iter().map(row).collect::<String>())
}

/// A list of HTML.
pub(super) fn list(items: &[String]) -> String {
    format!("<ul><li>{}</li></ul>\n", items.join("</li>\n<li>"))
}

/// Words as the beginning of a sentence.
pub(super) fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
