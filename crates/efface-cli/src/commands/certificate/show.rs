//! What a certificate says, as lines for a terminal of a hundred columns.

use efface_core::accounting::{Extractor, Guarantee};
use efface_core::residual::Rung;
use efface_ledger::certificate::{
    FeatureMap, LogPosition, MapOrigin, ReleaseCertificate, RequestCertificate, RequestState, RevocationCertificate,
    tags,
};
use efface_ledger::statement::Subject;
use efface_ledger::verify::Document;

use super::super::ledger::in_words as policy;
use super::chance::{Chances, Guess};
use crate::output::{bound, counted, first_of, number, pair, parameter, promise, ridge, rung};

type Line = (&'static str, String);

/// A sentence, and the lines under it. A line without a value is the heading of a group.
pub(super) fn lines(document: &Document, files: &[Subject]) -> (String, Vec<Line>) {
    match document {
        Document::Release(c) => (format!("certificate of release {}", c.release), release(c, files)),
        Document::Request(c) => (format!("certificate of request {}", c.request.id), request(c)),
        Document::Revocation(c) => (format!("withdrawal of release {}", c.release), revocation(c, files)),
    }
}

fn release(c: &ReleaseCertificate, files: &[Subject]) -> Vec<Line> {
    let since = &c.since_previous;
    let mut lines = issued("the release", &c.issued, &c.software, &c.model);
    lines.extend(named_files(files));
    lines.push((
        "  certified",
        if c.certified { "yes" } else { "NO: a fixed seed was used, and nothing is promised" }.into(),
    ));
    let removed = match since.release {
        Some(_) => format!("{} before it, {} since the release before", c.n_removed, since.n_removed),
        None => format!("{} before it", c.n_removed),
    };
    lines.push(("  rows removed", removed));
    lines.push(("  first to cover", requests(c)));
    lines.push(("  with the one before", in_words(&since.exposure)));
    lines.push(("the claim", String::new()));
    lines.extend(claim(c));
    if c.scale == "auto" {
        lines.push(("  covered, too", tags::DERIVED.into()));
    }
    lines.extend(c.feature_maps.iter().map(|map| ("  features", feature_map(map))));
    if let Some(extractor) = &c.extractor {
        lines.push(("  extractor", covered(extractor)));
    }
    lines.push(("what it rests on", String::new()));
    lines.extend([
        ("  distance", format!("to the retrained weights: at most {}, {}", bound(c.distance_bound), known_by(c))),
        ("  noise", format!("{} {}, {}", c.law, parameter(c.noise_std), c.arithmetic.noise)),
        ("  mechanism", format!("{}, {} loss, {}, scale {}", c.mechanism, c.loss, ridge(c.ridge), c.scale)),
    ]);
    lines.extend(list("  limits of the proof", &c.limits));
    lines.push(("what it does not cover", String::new()));
    lines.extend(list("  outside it", &c.outside_scope));
    if !c.not_public.is_empty() {
        lines.push(("  columns not public", c.not_public.join(", ")));
    }
    lines.extend(provenance(&c.issue.log, &c.issue.key_id));
    lines.push(("  releases are made", policy(c.decided.policy)));
    if !c.decided.revoked.is_empty() {
        lines.push(("  revoked before it", first_of(c.decided.revoked.iter().map(usize::to_string), usize::MAX)));
    }
    lines
}

/// The guarantee, in numbers and as a guess.
fn claim(c: &ReleaseCertificate) -> Vec<Line> {
    let guess = match Guess::of(c) {
        Guess::Exact => {
            return vec![("  promised (ε, δ)", promise(c.epsilon, c.delta, 0.0))];
        }
        _ if !c.certified => "whoever knows the seed can take the noise off again, and needs no guess".into(),
        Guess::Unknown => "not known: this version does not know the law of the noise".into(),
        Guess::AtMost(Chances { so_far, at_limit }) => {
            let extractor = if c.extractor.is_some() { ", the extractor's share left out" } else { "" };
            format!("right at most {so_far} % of the time, a coin 50 %; at the whole promise {at_limit} %{extractor}")
        }
    };
    vec![
        ("  promised (ε, δ)", format!("{} for all releases together{}", pair(c.epsilon, c.delta), renewed(c.lives))),
        ("  proved so far", format!("ε = {} at that δ", bound(c.epsilon_spent))),
        ("  spent (μ)", format!("{} of {}", bound(c.mu_total), number(c.mu_limit))),
        ("  best guess", guess),
    ]
}

/// Whether a promise was added to, for people.
pub(super) fn renewed(lives: Option<u32>) -> String {
    match lives {
        None => String::new(),
        Some(2) => ", renewed once: certificates from before that promised less".into(),
        Some(lives) => format!(", renewed {} times: certificates from before that promised less", lives - 1),
    }
}

/// What made features of which cells.
pub(in crate::commands) fn feature_map(map: &FeatureMap) -> String {
    let origin = MapOrigin::by_tag(&map.origin).map_or(map.origin.as_str(), |origin| origin.in_words());
    format!("of {}: {}, {origin}", map.of(), map.kind())
}

/// What a private extractor adds to the promise.
fn covered(extractor: &Extractor) -> String {
    let Guarantee { epsilon, delta } = extractor.cost();
    format!(
        "private, {} per row; for {} together {}, which is in the promise. A public extractor would add nothing",
        pair(extractor.epsilon, extractor.delta),
        counted(extractor.group, "row"),
        pair(epsilon, delta)
    )
}

fn request(c: &RequestCertificate) -> Vec<Line> {
    let meaning =
        RequestState::by_tag(&c.state).map_or("a state that this version does not know", RequestState::in_words);
    let state = match c.release {
        Some(release) => format!("{} by release {release}", c.state),
        None => c.state.clone(),
    };
    let mut lines = issued("the request", &c.issued, &c.software, &c.model);
    lines.extend([
        ("  carried out", c.request.time.clone()),
        ("  rows removed", c.request.n_rows.to_string()),
        ("  state", state),
        ("  meaning", meaning.into()),
    ]);
    lines.extend(provenance(&c.issue.log, &c.issue.key_id));
    lines
}

fn revocation(c: &RevocationCertificate, files: &[Subject]) -> Vec<Line> {
    let mut lines = issued("the withdrawal", &c.issued, &c.software, &c.model);
    lines.extend(named_files(files));
    lines.push(("  reason", c.reason.clone().unwrap_or_else(|| "none given".into())));
    lines.push(("  meaning", "this release must not be used any more".into()));
    lines.extend(provenance(&c.issue.log, &c.issue.key_id));
    lines
}

fn issued(heading: &'static str, issued: &str, software: &str, model: &str) -> Vec<Line> {
    vec![(heading, String::new()), ("  issued", format!("{issued} by {software}")), ("  model", model.into())]
}

fn named_files(files: &[Subject]) -> impl Iterator<Item = Line> {
    files.iter().map(|file| ("  file", format!("{} (SHA-256 {})", file.name, hex::encode(file.digest.sha256))))
}

fn provenance(log: &LogPosition, key_id: &str) -> Vec<Line> {
    vec![
        ("who says so", String::new()),
        ("  key", key_id.into()),
        ("  log", format!("entry {} of {}", log.position, log.origin)),
    ]
}

/// The requests that a release is the first to cover; the first of them where they are many.
fn requests(c: &ReleaseCertificate) -> String {
    match c.requests.len() {
        0 => "no request".into(),
        _ => first_of(c.requests.iter().map(|request| request.id.clone()), 5),
    }
}

/// Tags in words, as one compact list; one that this version does not know as it is.
fn list(name: &'static str, tags: &[String]) -> Option<Line> {
    let words: Vec<String> = tags.iter().map(|tag| in_words(tag)).collect();
    (!words.is_empty()).then(|| (name, words.join("; ")))
}

/// How its distance from retraining is known; another version may know more ways.
pub(super) fn known_by(c: &ReleaseCertificate) -> &str {
    Rung::by_tag(&c.rung).map_or(&c.rung, |known| rung(known))
}

pub(super) fn in_words(tag: &str) -> String {
    tags::in_words(tag).unwrap_or_else(|| format!("a tag that this version does not know: {tag}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_that_is_not_known_is_shown_as_it_is() {
        assert_eq!(in_words("row-count"), tags::OutsideScope::RowCount.in_words());
        assert_eq!(in_words("threshold:Tuned"), "a decision threshold that was chosen on the rows: Tuned");
        assert_eq!(in_words("moonlight"), "a tag that this version does not know: moonlight");
    }
}
