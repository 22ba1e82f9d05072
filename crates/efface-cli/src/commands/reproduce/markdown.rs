//! The report in Markdown, as GitHub shows it, with links to the pictures.

use std::fmt::Write as _;

use efface_reproduce::page::{Part, Table};

use super::figures::file_name;
use super::shown::{SMOKE, Shown, TITLE, is_numeric};

/// The report of these experiments. `figures` is the link to the folder of pictures.
pub(super) fn page(experiments: &[Shown], figures: &str) -> String {
    let mut page = format!("# {TITLE}\n\n");
    for Shown { section, quick, .. } in experiments {
        let smoke = if *quick { " (smoke run)" } else { "" };
        let _ = writeln!(page, "- [{}](#{}){smoke}", escape(&section.title), anchor(&section.title));
    }
    for Shown { section, quick, command, facts } in experiments {
        let _ = write!(page, "\n## {}\n\n", escape(&section.title));
        if *quick {
            let _ = write!(page, "> **{SMOKE}**\n\n");
        }
        section.parts.iter().for_each(|part| push_part(&mut page, part, figures));
        let _ = writeln!(page, "Made by `{}`: {}", command, escape(facts));
    }
    page
}

fn push_part(page: &mut String, part: &Part, figures: &str) {
    let _ = match part {
        Part::Text(text) => write!(page, "{}\n\n", paragraph(text)),
        Part::Chart(chart) => push_figure(page, figures, &chart.id, &chart.title, &chart.caption),
        Part::Images(images) => push_figure(page, figures, &images.id, &images.title, &images.caption),
        Part::Table(table) => push_table(page, table),
    };
}

/// The picture, which shows its own title, and what to see in it.
fn push_figure(page: &mut String, figures: &str, id: &str, title: &str, caption: &str) -> std::fmt::Result {
    write!(page, "![{}]({figures}{}.svg)\n\n{}\n\n", escape(title), file_name(id), paragraph(caption))
}

fn push_table(page: &mut String, table: &Table) -> std::fmt::Result {
    let row = |cells: &mut dyn Iterator<Item = String>| format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "));
    let n = table.columns.len();
    let ruler = (0..n).map(|i| if is_numeric(table, i) { "---:" } else { "---" }.to_owned());
    let mut text = row(&mut table.columns.iter().map(|head| escape(head))) + &row(&mut ruler.into_iter());
    for cells in &table.rows {
        text += &row(&mut (0..n).map(|i| cells.get(i).map_or_else(String::new, |cell| escape(cell))));
    }
    write!(page, "{text}\n{}\n\n", paragraph(&table.caption))
}

/// Text as a paragraph of its own, whatever it begins with.
fn paragraph(text: &str) -> String {
    let text = escape(text);
    // A number with a dot, or a dash, would begin a list.
    let digits = text.trim_start_matches(|c: char| c.is_ascii_digit());
    if digits.len() < text.len() && digits.starts_with(['.', ')']) {
        return format!("{}\\{digits}", &text[..text.len() - digits.len()]);
    }
    if text.starts_with(['-', '+', '=']) { format!("\\{text}") } else { text }
}

/// Plain text in one line, none of which Markdown takes for its own.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for (i, word) in text.split_whitespace().enumerate() {
        if i > 0 {
            escaped.push(' ');
        }
        for c in word.chars() {
            match c {
                '&' => escaped += "&amp;",
                '<' => escaped += "&lt;",
                '\\' | '`' | '*' | '_' | '[' | ']' | '>' | '#' | '|' | '$' | '~' | '!' => escaped.extend(['\\', c]),
                _ => escaped.push(c),
            }
        }
    }
    escaped
}

/// A headline's anchor, as GitHub makes it.
fn anchor(title: &str) -> String {
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    let kept = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_stays_plain() {
        assert_eq!(escape("a_b *c* <d> $e$ [f](g)\n\nh | i"), "a\\_b \\*c\\* &lt;d\\> \\$e\\$ \\[f\\](g) h \\| i");
        assert_eq!(paragraph("1. first"), "1\\. first");
        assert_eq!(paragraph("- no list"), "\\- no list");
        assert_eq!(paragraph("# no headline"), "\\# no headline");
        assert_eq!(paragraph("10 rows."), "10 rows.");
    }

    #[test]
    fn anchors_are_those_that_github_makes() {
        assert_eq!(anchor("MNIST, 3 against 8"), "mnist-3-against-8");
        assert_eq!(anchor("What removal costs: Table 1"), "what-removal-costs-table-1");
    }

    #[test]
    fn rows_that_are_too_short_are_filled() {
        let text = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>();
        let table =
            Table { caption: "c".into(), columns: text(&["a", "b"]), rows: vec![text(&["x|y", "1"]), text(&["z"])] };
        let mut page = String::new();
        push_table(&mut page, &table).expect("a text");
        assert_eq!(page, "| a | b |\n| --- | ---: |\n| x\\|y | 1 |\n| z |  |\n\nc\n\n");
    }
}
