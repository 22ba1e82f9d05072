//! The report as one page that refers to nothing outside itself.

use std::fmt::Write as _;

use efface_reproduce::page::{Part, Table};

use super::figures::file_name;
use super::shown::{SMOKE, Shown, TITLE, is_numeric};
use crate::charts::{Place, chart_svg, escape, images_svg};
use crate::page;

/// The page of these experiments.
pub(super) fn page(experiments: &[Shown]) -> String {
    let mut body = format!("<p class=\"kicker\">Efface</p>\n<h1>{TITLE}</h1>\n<nav aria-label=\"Contents\">\n<ol>\n");
    for Shown { section, quick, .. } in experiments {
        let smoke = if *quick { " <small>(smoke run)</small>" } else { "" };
        let _ = writeln!(body, "<li><a href=\"#{}\">{}</a>{smoke}</li>", section.id, escape(&section.title));
    }
    body += "</ol>\n</nav>\n";
    for Shown { section, quick, command, facts } in experiments {
        let _ = writeln!(body, "<section id=\"{}\">\n<h2>{}</h2>", section.id, escape(&section.title));
        if *quick {
            let _ = writeln!(body, "<div class=\"verdict broken\"><p><strong>{SMOKE}</strong></p></div>");
        }
        section.parts.iter().for_each(|part| push_part(&mut body, part));
        let made = format!("<code>{}</code>: {}", escape(command), escape(facts));
        let _ = writeln!(body, "<p class=\"formula\">{made}</p>\n</section>");
    }
    page::document(TITLE, &body)
}

fn push_part(body: &mut String, part: &Part) {
    let _ = match part {
        Part::Text(text) => writeln!(body, "<p>{}</p>", escape(text)),
        Part::Chart(chart) => {
            push_figure(body, &chart.id, &chart.title, &chart_svg(chart, Place::Page), &chart.caption)
        }
        Part::Images(images) => {
            push_figure(body, &images.id, &images.title, &images_svg(images, Place::Page), &images.caption)
        }
        Part::Table(table) => push_table(body, table),
    };
}

fn push_figure(body: &mut String, id: &str, title: &str, svg: &str, caption: &str) -> std::fmt::Result {
    writeln!(
        body,
        "<figure id=\"{}\">\n<h3>{}</h3>\n<div class=\"chart\">{svg}</div>\n<figcaption>{}</figcaption>\n</figure>",
        file_name(id),
        escape(title),
        escape(caption),
    )
}

fn push_table(body: &mut String, table: &Table) -> std::fmt::Result {
    let class = |column: usize| if is_numeric(table, column) { " class=\"num\"" } else { "" };
    let mut html = String::from("<figure>\n<div class=\"wide\">\n<table>\n<thead><tr>");
    for (i, head) in table.columns.iter().enumerate() {
        write!(html, "<th scope=\"col\"{}>{}</th>", class(i), escape(head))?;
    }
    html += "</tr></thead>\n<tbody>\n";
    for row in &table.rows {
        html += "<tr>";
        for i in 0..table.columns.len() {
            let text = row.get(i).map_or("", String::as_str);
            let (open, close) = if i == 0 { ("th scope=\"row\"", "th") } else { ("td", "td") };
            write!(html, "<{open}{}>{}</{close}>", class(i), escape(text))?;
        }
        html += "</tr>\n";
    }
    html += "</tbody>\n</table>\n</div>\n";
    writeln!(body, "{html}<figcaption>{}</figcaption>\n</figure>", escape(&table.caption))
}
