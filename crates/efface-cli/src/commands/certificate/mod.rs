//! `efface certificate`

use std::path::{Path, PathBuf};

use anyhow::Context;
use efface_engine::latest_certificate;
use efface_ledger::certificate::{ReleaseCertificate, RequestCertificate, RequestState, RevocationCertificate, tags};
use efface_ledger::verify::{Document, read};
use serde::Serialize;

use super::open_to_sign;
use crate::args::{CertificateArgs, CertificateCommand, RequestCertificateArgs, ShowCertificateArgs};
use crate::output::{Answer, Output, bound, number, parameter, quoted, rung};

pub(crate) fn run(args: &CertificateArgs, output: &Output) -> anyhow::Result<Answer> {
    match &args.command {
        CertificateCommand::Show(args) => show(args, output),
        CertificateCommand::Request(args) => request(args, output),
    }
}

fn request(args: &RequestCertificateArgs, output: &Output) -> anyhow::Result<Answer> {
    let mut model = open_to_sign(&args.model, &args.store, &args.signing, output)?;
    let report = model.certify_request(&args.request, &args.out)?;
    model.close()?;
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
        output.say(&format!("next: efface release {}", quoted(&args.model)));
    }
    Ok(Answer::Done)
}

/// What a certificate says, for machines.
#[derive(Serialize)]
struct Shown<'a, P> {
    certificate: &'a Path,
    kind: &'static str,
    predicate: &'a P,
    #[serde(skip_serializing_if = "Option::is_none")]
    html: Option<&'a PathBuf>,
}

fn show(args: &ShowCertificateArgs, output: &Output) -> anyhow::Result<Answer> {
    let path =
        &if args.certificate.is_dir() { latest_certificate(&args.certificate)? } else { args.certificate.clone() };
    let text = std::fs::read(path).with_context(|| path.display().to_string())?;
    let document = read(&text).map_err(|check| anyhow::anyhow!("{}: {}", path.display(), check.message))?;
    let html = args.html.as_ref();
    match &document {
        Document::Release(predicate) => {
            let shown = Shown { certificate: path, kind: "release", predicate: &**predicate, html };
            output.show(&shown, &format!("certificate of release {}", predicate.release), &release_lines(predicate))?;
        }
        Document::Request(predicate) => {
            let shown = Shown { certificate: path, kind: "request", predicate: &**predicate, html };
            output.show(
                &shown,
                &format!("certificate of request {}", predicate.request.id),
                &request_lines(predicate),
            )?;
        }
        Document::Revocation(predicate) => {
            let shown = Shown { certificate: path, kind: "revocation", predicate: &**predicate, html };
            let sentence = format!("withdrawal of release {}", predicate.release);
            output.show(&shown, &sentence, &revocation_lines(predicate))?;
        }
    }
    output.say(&format!("nothing of this was checked; next: efface verify {} --key PUB", quoted(path)));
    Ok(Answer::Done)
}

fn release_lines(c: &ReleaseCertificate) -> Vec<(&'static str, String)> {
    let promise = match c.noise_std {
        0.0 => "(0, 0), exact up to rounding".into(),
        _ => format!("({}, {})", parameter(c.epsilon), parameter(c.delta)),
    };
    let requests: Vec<&str> = c.requests.iter().map(|request| &*request.id).collect();
    let mut lines = vec![
        ("issued", format!("{} by {}", c.issued, c.software)),
        ("model", c.model.clone()),
        ("certified", if c.certified { "yes" } else { "NO: a fixed seed was used, and nothing is promised" }.into()),
        ("rows removed before it", c.n_removed.to_string()),
        ("requests that it is the first to cover", shortened(&requests)),
        ("promised for the model's life (ε, δ)", promise),
        ("proved so far: ε at that δ", bound(c.epsilon_spent)),
        ("distance to the retrained weights", format!("at most {}", bound(c.distance_bound))),
        ("how that is known", rung(&c.rung).into()),
        ("noise", format!("{} {}, {}", c.law, parameter(c.noise_std), c.arithmetic.noise)),
        ("spent (μ)", format!("{} of {}", bound(c.mu_total), number(c.mu_limit))),
        ("with the release before", tags::in_words(&c.since_previous.exposure).into()),
        ("mechanism, loss, l2", format!("{}, {}, {}", c.mechanism, c.loss, parameter(c.l2))),
        ("log", format!("entry {} of {}", c.log.position, c.log.origin)),
        ("signed by key", c.key_id.clone()),
    ];
    lines.extend(c.limits.iter().map(|tag| ("limit of the proof", tags::in_words(tag).to_owned())));
    lines.extend(c.outside_scope.iter().map(|tag| ("not covered", tags::in_words(tag).to_owned())));
    lines
}

fn request_lines(c: &RequestCertificate) -> Vec<(&'static str, String)> {
    let meaning =
        RequestState::by_tag(&c.state).map_or("a state that this version does not know", RequestState::in_words);
    let mut lines = vec![
        ("issued", format!("{} by {}", c.issued, c.software)),
        ("model", c.model.clone()),
        ("carried out", c.request.time.clone()),
        ("rows removed", c.request.n_rows.to_string()),
        ("state", c.state.clone()),
        ("meaning", meaning.into()),
        ("log", format!("entry {} of {}", c.log.position, c.log.origin)),
        ("signed by key", c.key_id.clone()),
    ];
    if let Some(release) = c.release {
        lines.insert(5, ("covered by release", release.to_string()));
    }
    lines
}

fn revocation_lines(c: &RevocationCertificate) -> Vec<(&'static str, String)> {
    vec![
        ("issued", format!("{} by {}", c.issued, c.software)),
        ("model", c.model.clone()),
        ("reason", c.reason.clone().unwrap_or_else(|| "none given".into())),
        ("log", format!("entry {} of {}", c.log.position, c.log.origin)),
        ("signed by key", c.key_id.clone()),
    ]
}

/// The first of some names, and how many more there are.
fn shortened(names: &[&str]) -> String {
    const SHOWN: usize = 5;
    match names.len() {
        0 => "none".into(),
        n if n <= SHOWN => names.join(", "),
        n => format!("{} and {} more", names[..SHOWN].join(", "), n - SHOWN),
    }
}
