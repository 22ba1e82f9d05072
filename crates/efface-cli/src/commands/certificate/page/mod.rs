//! A certificate as one page of HTML for somebody who answers for data protection: what it says in plain words, what it
//! does not say, and how to check it.
//!
//! The page refers to nothing outside itself and fits one sheet of A4. Whatever comes from the certificate passes
//! through `html::escape`: its author may be anybody.

mod chart;
mod html;
mod numbers;
mod release;
mod short;
#[cfg(test)]
mod tests;

use std::path::Path;

use efface_ledger::certificate::LogPosition;
use efface_ledger::statement::Subject;
use efface_ledger::verify::Document;

use self::html::{escape, hash};
use crate::output::quoted;

/// The page of a certificate that lies at `path` and is about `files`.
pub(super) fn render(document: &Document, files: &[Subject], path: &Path) -> String {
    let name = path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned());
    match document {
        Document::Release(certificate) => release::page(certificate, files, &name),
        Document::Request(certificate) => short::request(certificate, &name),
        Document::Revocation(certificate) => short::revocation(certificate, files, &name),
    }
}

/// A whole document around its parts. `title` and `kicker` are plain text, `parts` HTML. A `dense` one is printed in
/// smaller letters.
fn document(title: &str, kicker: &str, dense: bool, parts: &[String]) -> String {
    let (title, kicker) = (escape(title), escape(kicker));
    let class = if dense { " class=\"dense\"" } else { "" };
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"{class}>\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{}</style>\n</head>\n<body>\n<main>\n\
         <header><p class=\"kicker\">{kicker}</p>\n<h1>{title}</h1></header>\n{}{FOOT}</main>\n</body>\n</html>\n",
        include_str!("page.css"),
        parts.concat(),
    )
}

/// A section with a heading (plain text) and a body (HTML).
fn section(heading: &str, body: &str) -> String {
    format!("<section>\n<h2>{heading}</h2>\n{body}</section>\n")
}

/// How to check the certificate: command lines (plain text), and what they answer and show (HTML).
fn check(commands: &[String], shows: &str, key_id: &str) -> String {
    let commands: Vec<String> = commands.iter().map(|command| format!("<code>{}</code>", escape(command))).collect();
    section(
        "How to check it",
        &format!(
            "<div class=\"commands\">{}</div>\n<p>PUB is the issuer’s public key, taken from a source that you \
             trust and not from whoever sent this page; its id must be {}. {shows}</p>\n",
            commands.concat(),
            hash(key_id),
        ),
    )
}

/// Who wrote a certificate, and where it is kept.
fn provenance(issued: &str, software: &str, log: &LogPosition, file: &str) -> String {
    section(
        "Where it stands",
        &html::table(&[
            ("Signed file", escape(file)),
            ("Issued", format!("{} by {}", escape(issued), escape(software))),
            ("Log", format!("entry {} of {}", log.position, hash(&log.origin))),
        ]),
    )
}

/// The files that a certificate is about, with their hashes.
fn named_files(files: &[Subject]) -> String {
    let name =
        |file: &Subject| format!("<b>{}</b> (SHA-256 {})", escape(&file.name), hash(&hex::encode(file.digest.sha256)));
    files.iter().map(name).collect::<Vec<_>>().join(" and ")
}

/// A name of a file in a command line.
fn argument(name: &str) -> String {
    quoted(Path::new(name))
}

const FOOT: &str = "<footer><p><b>This page proves nothing.</b> It repeats, unchecked, what a signed file says; anybody \
                    can write such a page. The signed file is the certificate: keep it, and check it as described \
                    above.</p></footer>\n";
