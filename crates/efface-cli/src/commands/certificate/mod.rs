//! `efface certificate`

mod chance;
mod page;
mod show;

pub(super) use self::show::feature_map;

use std::borrow::Cow;

use anyhow::Context;
use comfy_table::ContentArrangement;
use efface_engine::latest_certificate;
use efface_ledger::certificate::RequestState;
use efface_ledger::verify::{Document, read, subjects};
use serde::Serialize;

use super::open_to_sign;
use crate::args::{CertificateArgs, CertificateCommand, RequestCertificateArgs, ShowCertificateArgs};
use crate::output::{Answer, Output, plain_table, quoted, write_new};

pub(crate) fn run(args: &CertificateArgs, output: &Output) -> anyhow::Result<Answer> {
    match &args.command {
        CertificateCommand::Show(args) => show(args, output),
        CertificateCommand::Request(args) => request(args, output),
    }
}

fn request(args: &RequestCertificateArgs, output: &Output) -> anyhow::Result<Answer> {
    let mut model = open_to_sign(&args.model, output)?;
    let report = model.certify_request(&args.request, &args.out)?;
    model.close()?;
    output.in_force();
    let state = match report.release {
        Some(release) => format!("covered by release {release}"),
        None => report.state.tag().into(),
    };
    let lines = [
        ("state", state),
        ("rows removed", report.n_rows.to_string()),
        ("when", report.time.clone()),
        ("meaning", report.state.in_words().into()),
        ("certificate", report.certificate.display().to_string()),
    ];
    output.show(&report, &format!("certified request {}", report.request), &lines)?;
    if report.state == RequestState::Pending {
        output.say(&format!("next: efface release {}", quoted(&args.model.directory.path)));
    }
    Ok(Answer::Done)
}

/// What a certificate says, for machines.
#[derive(Serialize)]
struct Shown<'a> {
    certificate: Cow<'a, str>,
    #[serde(flatten)]
    said: Said<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    html: Option<Cow<'a, str>>,
}

#[derive(Serialize)]
#[serde(tag = "kind", content = "predicate", rename_all = "kebab-case")]
enum Said<'a> {
    Release(&'a efface_ledger::certificate::ReleaseCertificate),
    Request(&'a efface_ledger::certificate::RequestCertificate),
    Revocation(&'a efface_ledger::certificate::RevocationCertificate),
}

fn show(args: &ShowCertificateArgs, output: &Output) -> anyhow::Result<Answer> {
    let path =
        &if args.certificate.is_dir() { latest_certificate(&args.certificate)? } else { args.certificate.clone() };
    let text = std::fs::read(path).with_context(|| path.display().to_string())?;
    let unread = |check: efface_ledger::verify::Check| anyhow::anyhow!("{}: {}", path.display(), check.message);
    let (document, files) = (read(&text).map_err(unread)?, subjects(&text).map_err(unread)?);
    if let Some(html) = &args.html {
        write_new(html, &page::of(&document, &files, path).html(), "--html")?;
    }
    let said = match &document {
        Document::Release(predicate) => Said::Release(predicate),
        Document::Request(predicate) => Said::Request(predicate),
        Document::Revocation(predicate) => Said::Revocation(predicate),
    };
    let shown = Shown {
        certificate: path.to_string_lossy(),
        said,
        html: args.html.as_ref().map(|html| html.to_string_lossy()),
    };
    let (sentence, lines) = show::lines(&document, &files);
    // For a terminal of a hundred columns.
    let mut table = plain_table();
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(100);
    output.show_in(table, &shown, &sentence, &lines)?;
    if let Some(html) = &args.html {
        output.say(&format!("wrote one page of HTML to {}", html.display()));
    }
    output.say(&format!("nothing of this was checked; next: efface verify {} --key PUB", quoted(path)));
    Ok(Answer::Done)
}
