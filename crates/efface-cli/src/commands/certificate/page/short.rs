//! The shorter pages: what became of a request, and the withdrawal of a release.

use efface_ledger::certificate::{RequestCertificate, RequestState, RevocationCertificate};
use efface_ledger::statement::Subject;
use efface_report::numbers::counted;
use efface_report::{Page, Part, Table, Text, strong, text};

use super::{argument, check, hash, named_files, provenance, section, sheet, shown};

/// The page of a request certificate that lies in `file`.
pub(super) fn request(c: &RequestCertificate, file: &str) -> Page {
    let request = &c.request;
    let mut rows = vec![
        ("Request", Text::from(shown(&request.id))),
        ("Carried out", shown(&request.time).into()),
        ("Rows removed", request.n_rows.to_string().into()),
        ("State", strong(shown(&c.state)).into()),
        ("Change of the model", request.change.to_string().into()),
        ("Entry in the log", text![format!("{} of ", request.position), hash(&c.request_origin)]),
    ];
    if let Some(release) = c.release {
        let certificate = c.release_certificate.as_ref().map_or_else(Text::default, |digest| {
            text![" (its certificate has the payload SHA-256 ", hash(digest), ")"]
        });
        rows.push(("First release without them", text![format!("release {release}"), certificate]));
    }
    rows.extend(request.rows.as_ref().map(|rows| ("Commitment to the rows", hash(rows))));
    let meanings =
        RequestState::ALL.map(|state| (state.tag().to_owned(), Text::from(format!("{}.", state.in_words()))));
    let none_of_them = "None of them covers models that were published before the removal, copies of the data elsewhere, \
                        or models trained elsewhere from the same rows. How close a release is to a model that never saw the \
                        rows stands in the certificate of that release.";
    let answer = "The answer must be “valid”. It is checked offline: the signature, that the log has this certificate, and that \
                  it has the removal.";
    sheet(
        &format!("Request {} to model {}", request.id, c.model),
        "Efface: what became of a removal request",
        false,
        Vec::new(),
        vec![
            section("What this says", vec![says(c)]),
            section("The request", vec![Part::Table(Table::pairs("", rows))]),
            section("What the states mean", vec![Part::Terms(meanings.to_vec()), Part::text(none_of_them)]),
            check(vec![format!("efface verify {} --key PUB", argument(file))], answer.into(), &c.issue.key_id),
            provenance(&c.issued, &c.software, &c.issue.log, file),
        ],
    )
}

fn says(c: &RequestCertificate) -> Part {
    let (request, state) = (&c.request, RequestState::by_tag(&c.state));
    if state == Some(RequestState::NothingFound) {
        let nothing = ", nothing was removed: no row of the model was found by what it named.";
        return Part::text(text!["On request ", strong(shown(&request.id)), nothing]);
    }
    let rows = counted(request.n_rows, "row was", "rows were");
    let now = match (state, c.release) {
        (Some(RequestState::Covered), Some(release)) => format!(
            "Release {release} was published and certified after that: it is the first that does not know them."
        ),
        (Some(RequestState::Covered), None) | (Some(RequestState::NothingFound) | None, _) => {
            format!("Its state, “{}”, is none that this version knows.", shown(&c.state))
        }
        (Some(RequestState::Pending), _) => "A model that was published before the removal is still in use and still \
                                             knows them; the next release will not."
            .into(),
        (Some(RequestState::Applied), _) => "No published model that is in use knows them.".into(),
    };
    Part::text(text![
        "On request ",
        strong(shown(&request.id)),
        format!(
            ", {rows} removed from the model on {}: they have left its secret state and its own copy of the rows. {now}",
            shown(&request.time)
        ),
    ])
}

/// The page of a withdrawal that lies in `file`.
pub(super) fn revocation(c: &RevocationCertificate, files: &[Subject], file: &str) -> Page {
    let reason = c.reason.as_ref().map_or_else(
        || "No reason is given.".to_owned(),
        |reason| format!("The reason, in the operator’s words: “{}”.", shown(reason)),
    );
    let certificate = c
        .release_certificate
        .as_ref()
        .map_or_else(Text::default, |digest| text![" Its certificate has the payload SHA-256 ", hash(digest), "."]);
    let says = text![
        format!("Release {} of this model is withdrawn: ", c.release),
        named_files(files),
        format!(". It must not be used any more. {reason}"),
        certificate,
    ];
    let copies = "A withdrawal cannot take a copy out of anybody’s hands. Whoever keeps the file keeps what it knows, and whoever \
                  uses it has to be told.";
    let verdict = strong(format!("Release {} must not be used.", c.release)).into();
    let answers = "The first line checks the withdrawal, and its answer must be “WITHDRAWN”; the second says whether a certificate \
                   that you have is the one withdrawn.";
    sheet(
        &format!("Withdrawal of release {} of model {}", c.release, c.model),
        "Efface: a release is withdrawn",
        false,
        vec![Part::Verdict { good: false, text: verdict, reasons: Vec::new() }],
        vec![
            section("What this says", vec![Part::text(says), Part::text(copies)]),
            check(
                vec![
                    format!("efface verify {} --key PUB", argument(file)),
                    format!("efface verify CERTIFICATE --key PUB --revocation {}", argument(file)),
                ],
                answers.into(),
                &c.issue.key_id,
            ),
            provenance(&c.issued, &c.software, &c.issue.log, file),
        ],
    )
}
