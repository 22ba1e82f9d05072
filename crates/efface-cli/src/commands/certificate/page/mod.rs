//! A certificate as one page for somebody who answers for data protection: what it says in plain words, what it does not
//! say, and how to check it.
//!
//! The page fits one sheet of A4. Whatever comes from the certificate is cut to a sensible length: its author may be
//! anybody.

mod chart;
mod numbers;
mod release;
mod short;
#[cfg(test)]
mod tests;

use std::path::Path;

use efface_ledger::certificate::LogPosition;
use efface_ledger::statement::Subject;
use efface_ledger::verify::Document;
use efface_report::{Layout, Page, Part, Section, Table, Text, digest, strong, text};

use crate::output::quoted;

/// The page of a certificate that lies at `path` and is about `files`.
pub(super) fn of(document: &Document, files: &[Subject], path: &Path) -> Page {
    let name = path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned());
    match document {
        Document::Release(certificate) => release::page(certificate, files, &name),
        Document::Request(certificate) => short::request(certificate, &name),
        Document::Revocation(certificate) => short::revocation(certificate, files, &name),
    }
}

/// A page of one sheet. A `dense` one is printed in smaller letters.
fn sheet(title: &str, kicker: &str, dense: bool, head: Vec<Part>, sections: Vec<Section>) -> Page {
    let foot = text![
        strong("This page proves nothing."),
        " It repeats, unchecked, what a signed file says; anybody can write such a page. The signed file is the certificate: \
         keep it, and check it as described above.",
    ];
    Page {
        kicker: kicker.to_owned(),
        title: cut(title, LONGEST).into(),
        head,
        sections,
        foot: vec![foot],
        layout: Layout::Sheet { dense },
        ..Page::default()
    }
}

fn section(title: &str, parts: Vec<Part>) -> Section {
    Section::new("", title, parts)
}

/// How to check the certificate: command lines, and what they answer and show.
fn check(commands: Vec<String>, shows: Text, key_id: &str) -> Section {
    let parts = vec![
        Part::Commands(commands.into_iter().map(Text::from).collect()),
        Part::text(text![
            "PUB is the issuer’s public key, taken from a source that you trust and not from whoever sent this page; its id must \
             be ",
            hash(key_id),
            ". ",
            shows,
        ]),
    ];
    section("How to check it", parts)
}

/// Who wrote a certificate, and where it is kept.
fn provenance(issued: &str, software: &str, log: &LogPosition, file: &str) -> Section {
    let rows = [
        ("Signed file", Text::from(shown(file))),
        ("Issued", format!("{} by {}", shown(issued), shown(software)).into()),
        ("Log", text![format!("entry {} of ", log.position), hash(&log.origin)]),
    ];
    section("Where it stands", vec![Part::Table(Table::pairs("", rows))])
}

/// The files that a certificate is about, with their hashes.
fn named_files(files: &[Subject]) -> Text {
    Text::joined(files.iter().enumerate().map(|(i, file)| {
        let and = if i == 0 { "" } else { " and " };
        text![and, strong(shown(&file.name)), " (SHA-256 ", hash(&hex::encode(file.digest.sha256)), ")"]
    }))
}

/// Text from a certificate. Very long ones are cut.
fn shown(text: &str) -> String {
    cut(text, LONGEST)
}

/// The first so many characters of a text.
fn cut(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Text without blanks that may be broken anywhere: a hash, a name of a log.
fn hash(text: &str) -> Text {
    digest(shown(text)).into()
}

/// A name of a file in a command line.
fn argument(name: &str) -> String {
    quoted(Path::new(name))
}

const LONGEST: usize = 300;
