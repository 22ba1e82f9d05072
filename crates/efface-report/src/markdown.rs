//! A page in Markdown, as GitHub shows it, with its pictures as files beside it.

#![expect(clippy::format_push_string, clippy::format_collect, reason = "a page is short, and reads better so")]

use std::collections::BTreeSet;

use crate::charts::{Place, chart_svg, images_svg};
use crate::{Page, Part, Section, Style, Table, Text};

/// A picture as a file of its own.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Name of its file, without the extension.
    pub name: String,
    /// The picture.
    pub svg: String,
}

impl Page {
    /// The page in Markdown. `figures` is the link to the folder of pictures, with a slash at the end.
    pub fn markdown(&self, figures: &str) -> String {
        let mut page = format!("# {}\n\n", text(&self.title));
        self.head.iter().for_each(|part| push_part(&mut page, part, figures));
        if self.contents {
            let line = |section: &Section| format!("- [{}](#{})\n", escape(&section.title), anchor(&section.title));
            page.extend(self.sections.iter().map(line));
        }
        for section in &self.sections {
            page += &format!("\n## {}\n\n", escape(&section.title));
            section.parts.iter().for_each(|part| push_part(&mut page, part, figures));
        }
        self.foot.iter().for_each(|words| page += &format!("{}\n\n", paragraph(&text(words))));
        page.truncate(page.trim_end().len());
        page + "\n"
    }

    /// Every picture of the page. Two of the same name would overwrite each other: then the name is the error.
    pub fn figures(&self) -> Result<Vec<Figure>, String> {
        let (mut names, mut figures) = (BTreeSet::new(), Vec::new());
        for part in self.sections.iter().flat_map(|section| &section.parts) {
            let (id, svg) = match part {
                Part::Chart(chart) => (&chart.id, chart_svg(chart, Place::File)),
                Part::Images(images) => (&images.id, images_svg(images, Place::File)),
                _ => continue,
            };
            let name = file_name(id);
            if !names.insert(name.clone()) {
                return Err(name);
            }
            figures.push(Figure { name, svg });
        }
        Ok(figures)
    }
}

/// A picture's id as the name of a file.
pub(crate) fn file_name(id: &str) -> String {
    id.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' }).collect()
}

fn push_part(page: &mut String, part: &Part, figures: &str) {
    let list = |items: Vec<String>| items.into_iter().map(|item| format!("- {item}\n")).collect::<String>();
    let terms = |terms: &[(String, Text)]| {
        list(terms.iter().map(|(term, words)| format!("**{}**: {}", escape(term), text(words))).collect())
    };
    // The picture shows its own title; below it is what to see in it.
    let figure = |id: &str, title: &str, caption: &str| {
        format!("![{}]({figures}{}.svg)\n\n{}\n", escape(title), file_name(id), paragraph(&escape(caption)))
    };
    *page += &match part {
        Part::Text(words) | Part::Note(words) => paragraph(&text(words)) + "\n",
        Part::Heading(words) => format!("### {}\n", escape(words)),
        Part::List(items) => list(items.iter().map(text).collect()),
        Part::Terms(pairs) | Part::Figures(pairs) => terms(pairs),
        Part::Verdict { text: words, reasons, .. } => {
            let reasons: String = reasons.iter().map(|reason| format!("> - {}\n", text(reason))).collect();
            format!("> {}\n{reasons}", text(words))
        }
        Part::Commands(lines) => {
            let lines: String = lines.iter().map(|line| format!("    {}\n", line.plain())).collect();
            lines
        }
        Part::Chart(chart) => figure(&chart.id, &chart.title, &chart.caption),
        Part::Images(images) => figure(&images.id, &images.title, &images.caption),
        Part::Table(table) => of_table(table),
        Part::Columns(sections) => {
            for section in sections {
                push_part(page, &Part::Heading(section.title.clone()), figures);
                section.parts.iter().for_each(|part| push_part(page, part, figures));
            }
            return;
        }
    };
    page.push('\n');
}

fn of_table(table: &Table) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let n = table.n_columns();
    let head = |i: usize| table.columns.get(i).map_or_else(String::new, |head| escape(head));
    let rule = |i: usize| if table.is_numeric(i) { "---:" } else { "---" }.to_owned();
    let mut lines = line((0..n).map(head).collect()) + &line((0..n).map(rule).collect());
    for row in &table.rows {
        lines += &line((0..n).map(|i| row.get(i).map_or_else(String::new, text)).collect());
    }
    format!("{lines}\n{}\n", paragraph(&text(&table.caption)))
}

/// Text with its styles, as far as Markdown has them.
fn text(text: &Text) -> String {
    let mut markdown = String::new();
    for span in text.spans() {
        let words = escape(&span.words);
        markdown += &match span.style {
            Style::Strong | Style::Bad => format!("**{words}**"),
            Style::Emphasis => format!("*{words}*"),
            Style::Code | Style::Digest => format!("`{}`", span.words.replace('`', "'")),
            Style::Raised => format!("<sup>{words}</sup>"),
            Style::Plain | Style::Good => words,
        };
    }
    markdown
}

/// Text as a paragraph of its own, whatever it begins with.
fn paragraph(text: &str) -> String {
    // A number with a dot, or a dash, would begin a list.
    let digits = text.trim_start_matches(|c: char| c.is_ascii_digit());
    if digits.len() < text.len() && digits.starts_with(['.', ')']) {
        return format!("{}\\{digits}", &text[..text.len() - digits.len()]);
    }
    if text.starts_with(['-', '+', '=']) { format!("\\{text}") } else { text.to_owned() }
}

/// Plain text in one line, none of which Markdown takes for its own.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '\\' | '`' | '*' | '_' | '[' | ']' | '>' | '#' | '|' | '$' | '~' | '!' => escaped.extend(['\\', c]),
            c if c.is_ascii_whitespace() => escaped.push(' '),
            _ => escaped.push(c),
        }
    }
    escaped
}

/// A headline's anchor, as GitHub makes it.
fn anchor(title: &str) -> String {
    let kept = title.to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_stays_plain() {
        assert_eq!(escape("a_b *c* <d> $e$ [f](g)\nh | i"), "a\\_b \\*c\\* &lt;d\\> \\$e\\$ \\[f\\](g) h \\| i");
        let paragraph = |text: &str| paragraph(&escape(text));
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
        let table = Table::new("c", ["a", "b"], [vec!["x|y", "1"], vec!["z"]]);
        assert_eq!(of_table(&table), "| a | b |\n| --- | ---: |\n| x\\|y | 1 |\n| z |  |\n\nc\n");
    }
}
