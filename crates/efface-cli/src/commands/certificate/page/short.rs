//! The shorter pages: what became of a request, and the withdrawal of a release.

use efface_ledger::certificate::{RequestCertificate, RequestState, RevocationCertificate};
use efface_ledger::statement::Subject;

use super::html::{count, escape, hash, table};
use super::{argument, check, document, named_files, provenance, section};

/// The page of a request certificate that lies in `file`.
pub(super) fn request(c: &RequestCertificate, file: &str) -> String {
    let request = &c.request;
    let mut rows = vec![
        ("Request", escape(&request.id)),
        ("Carried out", escape(&request.time)),
        ("Rows removed", request.n_rows.to_string()),
        ("State", format!("<b>{}</b>", escape(&c.state))),
        ("Change of the model", request.change.to_string()),
        ("Entry in the log", format!("{} of {}", request.position, hash(&c.request_origin))),
    ];
    if let Some(release) = c.release {
        let certificate = c
            .release_certificate
            .as_ref()
            .map_or_else(String::new, |digest| format!(" (its certificate has the payload SHA-256 {})", hash(digest)));
        rows.push(("First release without them", format!("release {release}{certificate}")));
    }
    if let Some(rows_commitment) = &request.rows {
        rows.push(("Commitment to the rows", hash(rows_commitment)));
    }
    let meanings = [RequestState::Applied, RequestState::Covered, RequestState::Pending]
        .map(|state| format!("<dt>{}</dt><dd>{}.</dd>", state.tag(), escape(state.in_words())))
        .concat();
    document(
        &format!("Request {} to model {}", request.id, c.model),
        "Efface: what became of a removal request",
        false,
        &[
            section("What this says", &says(c)),
            section("The request", &table(&rows)),
            section(
                "What the states mean",
                &format!(
                    "<dl class=\"terms\">{meanings}</dl>\n<p>None of them speaks of models that were published before the \
                     removal, of copies of the data elsewhere, or of models trained elsewhere from the same rows. How \
                     close a release is to a model that never saw the rows stands in the certificate of that release.</p>\n"
                ),
            ),
            check(
                &[format!("efface verify {} --key PUB", argument(file))],
                "The answer must be “valid”. It is checked offline: the signature, that the log has this certificate, and that it has the removal.",
                &c.key_id,
            ),
            provenance(&c.issued, &c.software, &c.log, file),
        ],
    )
}

fn says(c: &RequestCertificate) -> String {
    let (request, rows) = (&c.request, count(c.request.n_rows, "row was", "rows were"));
    let now = match (RequestState::by_tag(&c.state), c.release) {
        (Some(RequestState::Covered), Some(release)) => format!(
            "Release {release} was published and certified after that: it is the first that does not know them."
        ),
        (Some(RequestState::Covered), None) | (None, _) => {
            format!("Its state, “{}”, is none that this version knows.", escape(&c.state))
        }
        (Some(RequestState::Pending), _) => "A model that was published before the removal is still in use and still \
                                             knows them; the next release will not."
            .into(),
        (Some(RequestState::Applied), _) => "No published model that is in use knows them.".into(),
    };
    format!(
        "<p>On request <b>{}</b>, {rows} removed from the model on {}: they have left its secret state and its own copy \
         of the rows. {now}</p>\n",
        escape(&request.id),
        escape(&request.time),
    )
}

/// The page of a withdrawal that lies in `file`.
pub(super) fn revocation(c: &RevocationCertificate, files: &[Subject], file: &str) -> String {
    let reason = c.reason.as_ref().map_or_else(
        || "No reason is given.".into(),
        |reason| format!("The reason, in the operator’s words: “{}”.", escape(reason)),
    );
    let certificate = c
        .release_certificate
        .as_ref()
        .map_or_else(String::new, |digest| format!(" Its certificate has the payload SHA-256 {}.", hash(digest)));
    let says = format!(
        "<p>Release {} of this model is withdrawn: {}. It must not be used any more. {reason}{certificate}</p>\n\
         <p>A withdrawal cannot take a copy out of anybody’s hands. Whoever keeps the file keeps what it knows, and \
         whoever uses it has to be told.</p>\n",
        c.release,
        named_files(files),
    );
    document(
        &format!("Withdrawal of release {} of model {}", c.release, c.model),
        "Efface: a release is withdrawn",
        false,
        &[
            format!(
                "<div class=\"verdict broken\"><p><strong>Release {} must not be used.</strong></p></div>\n",
                c.release
            ),
            section("What this says", &says),
            check(
                &[
                    format!("efface verify {} --key PUB", argument(file)),
                    format!("efface verify CERTIFICATE --key PUB --revocation {}", argument(file)),
                ],
                "The first line checks the withdrawal, and its answer must be “valid”; the second says whether a certificate that you have is the one \
                 withdrawn.",
                &c.key_id,
            ),
            provenance(&c.issued, &c.software, &c.log, file),
        ],
    )
}
