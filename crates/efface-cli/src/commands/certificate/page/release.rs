//! The page of a release's certificate: what it says in plain words, its numbers, and its scope.

use efface_core::model::MechanismKind;
use efface_ledger::certificate::tags::{self, OutsideScope};
use efface_ledger::certificate::{Adversary, CoveredRequest, ReleaseCertificate};
use efface_ledger::statement::Subject;
use efface_report::numbers::{bound, counted, setting};
use efface_report::{Page, Part, Table, Text, capitalized, code, raised, strong, text};

use super::super::chance::{Chances, Guess};
use super::super::show::in_words;
use super::numbers::{self, guarantee};
use super::{argument, chart, check, cut, named_files, provenance, section, sheet, shown};
use crate::output::first_of;

/// The page of the certificate that lies in `file`.
pub(super) fn page(c: &ReleaseCertificate, files: &[Subject], file: &str) -> Page {
    let guess = Guess::of(c);
    let mut columns = vec![
        section("Requests that it is the first to cover", vec![requests(c)]),
        section("What comparing two releases tells", vec![numbers::since_previous(c)]),
        section(
            if c.certified { "Against whom it holds" } else { "Against whom it would hold" },
            vec![Part::List(against(c.adversary))],
        ),
    ];
    if !c.limits.is_empty() {
        columns.push(section("Limits of the proof", vec![Part::List(tagged(&c.limits).collect())]));
    }
    if c.scale == "auto" {
        columns.push(section("What it covers, too", vec![Part::text(format!("{}.", capitalized(tags::DERIVED)))]));
    }
    columns.push(section("What it does not cover", vec![Part::List(outside(c))]));
    let title = if c.certified { "The numbers" } else { "The numbers, none of them promised" };
    let mut numbers = vec![Part::Table(numbers::table(c))];
    numbers.extend(chart::curve(c).filter(|_| c.certified).map(Part::Chart));
    columns.push(section(title, numbers));
    columns.push(provenance(&c.issued, &c.software, &c.issue.log, file));
    sheet(
        &format!("Release {} of model {}", c.release, c.model),
        "Efface: certificate of a release",
        is_dense(c),
        banner(c).into_iter().chain(figures(c, &guess)).collect(),
        vec![
            section("What this says", says(c, &guess, files)),
            section("", vec![Part::Columns(columns)]),
            how_to_check(c, files, file),
        ],
    )
}

fn banner(c: &ReleaseCertificate) -> Option<Part> {
    let (good, text) = if !c.certified {
        let words = " The noise of this model, or of one before it, came from a seed that somebody chose. Whoever knows the seed \
                     can take the noise off again. Nothing on this page is promised.";
        (false, text![strong("NOT CERTIFIED."), words])
    } else if MechanismKind::by_tag(&c.mechanism) == Some(MechanismKind::Objective) {
        let words = " They are known, and listed under “Limits of the proof”. What this page states holds as far as that proof \
                     does.";
        (true, text![strong("The proof has gaps."), words])
    } else {
        return None;
    };
    Some(Part::Verdict { good, text, reasons: Vec::new() })
}

/// The few numbers to remember.
fn figures(c: &ReleaseCertificate, guess: &Guess) -> Option<Part> {
    if !c.certified {
        return None;
    }
    let requests = counted(c.requests.len(), "request", "requests");
    let mut figures = vec![(
        counted(c.n_removed, "row", "rows"),
        format!("removed on request before this release, which is the first to cover {requests}").into(),
    )];
    match guess {
        Guess::AtMost(Chances { so_far, at_limit }) => figures.extend([
            (
                format!("≤\u{a0}{so_far}\u{a0}%"),
                "is how often the best guess at whether the rows were ever there is right; a coin: 50\u{a0}%".into(),
            ),
            (format!("≤\u{a0}{at_limit}\u{a0}%"), "is all that it can become, unless the promise is renewed".into()),
            (
                format!("ε\u{a0}≤\u{a0}{}", bound(c.epsilon_spent)),
                format!(
                    "is proved so far at δ\u{a0}=\u{a0}{}; promised for all releases: ε\u{a0}=\u{a0}{}",
                    setting(c.delta),
                    setting(c.epsilon)
                )
                .into(),
            ),
        ]),
        Guess::Exact => figures.push((
            "50\u{a0}%".to_owned(),
            "is how often the best guess at whether the rows were ever there is right: no better than a coin".into(),
        )),
        Guess::Unknown => {}
    }
    Some(Part::Figures(figures))
}

/// In plain words.
fn says(c: &ReleaseCertificate, guess: &Guess, files: &[Subject]) -> Vec<Part> {
    let what = text!["The model file ", named_files(files)];
    let one = |words: String| vec![Part::text(text![what.clone(), words])];
    if !c.certified {
        return one(format!(
            " was published as release {} of this model. Its certificate promises nothing, because the noise could be predicted. \
             The numbers below are what it would claim otherwise.",
            c.release
        ));
    }
    let rows = match c.n_removed {
        0 => "the rows that are removed from the model (none so far)".into(),
        n => format!("the {} removed on request", counted(n, "row", "rows")),
    };
    let Chances { so_far, at_limit } = match guess {
        Guess::AtMost(chances) => chances,
        Guess::Exact => {
            return one(format!(
                " is bit for bit the one that training without {rows} would give. No noise was added: the model is computed from \
                 sums of integers, which a removed row leaves without a trace."
            ));
        }
        Guess::Unknown => {
            return one(format!(
                " was published with noise of a law, “{}”, that this version does not know. What its claim, {}, means cannot be \
                 said here.",
                shown(&c.law),
                guarantee(c.epsilon, c.delta),
            ));
        }
    };
    let (seen, later) = if c.adversary.sees_later_releases {
        ("every model published since the removal", "However many releases follow, it stays at most")
    } else {
        ("this one model", "For a later model, that one alone, it stays at most")
    };
    let exception = match c.delta {
        0.0 => ", without exception".into(),
        delta => format!(", but for a chance of δ\u{a0}=\u{a0}{}", setting(delta)),
    };
    let extractor = c.extractor.map_or_else(String::new, |extractor| {
        let share = extractor.cost();
        format!(
            " The share of the private feature extractor, {} for up to {} removed or corrected, is in ε and δ, but not in these \
             percentages.",
            guarantee(share.epsilon, share.delta),
            counted(extractor.group, "row", "rows")
        )
    });
    let means = text![
        format!(
            "That means: take two worlds. In one the rows were trained on and then removed; in the other they were never there. \
             Somebody who has {seen}, knows all the other rows and has any computing power wants to know which world is the real \
             one. What they see shifts the odds by a factor of at most e"
        ),
        raised("ε"),
        format!(
            "\u{a0}=\u{a0}{}{exception}. If both worlds are equally likely, their best guess is right at most ",
            bound(c.epsilon.exp())
        ),
        strong(format!("{so_far}\u{a0}%")),
        format!(" of the time; tossing a coin gives 50\u{a0}%. {later} {at_limit}\u{a0}%.{extractor}"),
    ];
    let close = format!(
        " is statistically indistinguishable, up to {}, from one trained without {rows}.",
        guarantee(c.epsilon, c.delta)
    );
    one(close).into_iter().chain([Part::text(means)]).collect()
}

/// The first of the requests, and how many more there are.
fn requests(c: &ReleaseCertificate) -> Part {
    if c.requests.is_empty() {
        return Part::text("None: no rows were removed on request since the release before.");
    }
    let mut rows: Vec<Vec<String>> = c
        .requests
        .iter()
        .take(REQUESTS_SHOWN)
        .map(|request| vec![cut(&request.id, 60), cut(&request.time, 30), request.n_rows.to_string()])
        .collect();
    if let more @ 1.. = c.requests.len().saturating_sub(REQUESTS_SHOWN) {
        rows.push(vec![format!("and {} in the signed file", counted(more, "more request", "more requests"))]);
    }
    Part::Table(Table::new("", ["Request", "Carried out", "Rows"], rows))
}

fn against(adversary: Adversary) -> Vec<Text> {
    let choose = |yes: bool, words: [&str; 2]| Text::from(words[usize::from(!yes)]);
    vec![
        choose(
            adversary.sees_later_releases,
            [
                "Somebody who has all releases made after the removal, together.",
                "Somebody who has one model. Two successive ones together are not covered.",
            ],
        ),
        choose(
            adversary.adaptive_requests,
            [
                "Also if they choose whom to have removed next after seeing releases made since the removal; not if they chose \
                 by a model from before it.",
                "Only if nobody chose whom to have removed by looking at models.",
            ],
        ),
        choose(
            adversary.secret_state,
            [
                "As long as the model directory stayed secret: exact weights and rows are in it.",
                "Also if the secret state of the model is known.",
            ],
        ),
        if adversary.sees_prior_release {
            "Also if they kept a model from before the removal.".into()
        } else {
            text![strong("Not"), " against somebody who kept a model from before the removal. No method is."]
        },
    ]
}

/// Tags in words.
fn tagged(tags: &[String]) -> impl Iterator<Item = Text> {
    tags.iter().map(|tag| format!("{}.", shown(&capitalized(&in_words(tag)))).into())
}

fn outside(c: &ReleaseCertificate) -> Vec<Text> {
    let mut items: Vec<Text> = tagged(&c.outside_scope).collect();
    if !c.not_public.is_empty() {
        let names = first_of(c.not_public.iter().map(|name| cut(name, 40)), COLUMNS_SHOWN);
        items.push(format!("Columns under not_public: {names}.").into());
    }
    items
}

/// Whether there is more to say than usual letters leave room for on one sheet.
fn is_dense(c: &ReleaseCertificate) -> bool {
    let lines = |request: &CoveredRequest| if request.id.chars().count() > 26 { 2 } else { 1 };
    let requests: usize = c.requests.iter().take(REQUESTS_SHOWN).map(lines).sum();
    let extractor = if c.extractor.is_some() { 2 } else { 0 };
    let declared = c.outside_scope.iter().filter(|scope| OutsideScope::by_tag(scope).is_none()).count();
    let derived = if c.scale == "auto" { 2 } else { 0 };
    requests + 2 * c.limits.len() + extractor + derived + declared + c.not_public.len().min(COLUMNS_SHOWN) / 3 > 10
}

fn how_to_check(c: &ReleaseCertificate, files: &[Subject], file: &str) -> efface_report::Section {
    // `release --out model.json` puts `model.json.certificate.json` beside it.
    let named = files.first().map_or("MODEL", |file| &file.name);
    let model = file.strip_suffix(".certificate.json").filter(|name| !name.is_empty()).unwrap_or(named);
    let answer = match (c.certified, c.release) {
        (false, _) => "The answer will be “NOT VALID”, because nothing is certified.",
        (true, 1) => "The answer must be “valid”.",
        (true, _) => {
            "The answer must be “valid”, or “partly verified” until the certificates of the releases before are given, \
             too (--previous)."
        }
    };
    check(
        vec![format!("efface verify {} --key PUB --model {}", argument(file), argument(model))],
        text![
            answer,
            " It is checked offline: the signature, the model file, the log, and every number here computed again. That the \
             distance holds is the word of whoever signed; inside, ",
            code("efface verify DIR --replay"),
            " measures it.",
        ],
        &c.issue.key_id,
    )
}

/// The most requests and names of columns that a page lists.
const REQUESTS_SHOWN: usize = 8;
const COLUMNS_SHOWN: usize = 12;
