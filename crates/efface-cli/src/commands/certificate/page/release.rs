//! The page of a release's certificate: what it says in plain words, its numbers, and its scope.

use efface_ledger::certificate::{Adversary, CoveredRequest, ReleaseCertificate};
use efface_ledger::statement::Subject;

use super::super::chance::{Chances, Guess};
use super::super::show::in_words;
use super::html::{capital, count, cut, escape, list, number};
use super::numbers::{self, guarantee};
use super::{argument, chart, check, document, named_files, provenance, section};
use crate::output::{bound, parameter};

/// The page of the certificate that lies in `file`.
pub(super) fn page(c: &ReleaseCertificate, files: &[Subject], file: &str) -> String {
    let guess = Guess::of(c);
    let chart = chart::curve(c).filter(|_| c.certified).map_or_else(String::new, |svg| {
        format!(
            "<figure>{svg}<figcaption>δ, the chance that the factor e<sup>ε</sup> does not hold, over ε. The lower the \
             line, the less can be told.</figcaption></figure>\n"
        )
    });
    let columns = [
        section("Requests that it is the first to cover", &requests(c)),
        section("What comparing two releases tells", &numbers::since_previous(c)),
        section(
            if c.certified { "Against whom it holds" } else { "Against whom it would hold" },
            &list(&against(c.adversary)),
        ),
        limits(c),
        section("What it does not cover", &list(&outside(c))),
        section(if c.certified { "The numbers" } else { "The numbers, none of them promised" }, &numbers::table(c)),
        chart,
        provenance(&c.issued, &c.software, &c.log, file),
    ];
    document(
        &format!("Release {} of model {}", c.release, c.model),
        "Efface: certificate of a release",
        is_dense(c),
        &[
            banner(c),
            figures(c, &guess),
            section("What this says", &says(c, &guess, files)),
            format!("<div class=\"columns\">\n{}</div>\n", columns.concat()),
            how_to_check(c, files, file),
        ],
    )
}

fn banner(c: &ReleaseCertificate) -> String {
    if c.certified && c.mechanism == "objective" {
        return "<div class=\"verdict\"><p><strong>The proof has gaps.</strong> They are known, and listed under “Limits of \
                the proof”. What this page states holds as far as that proof does.</p></div>\n"
            .into();
    }
    if c.certified {
        return String::new();
    }
    "<div class=\"verdict broken\"><p><strong>NOT CERTIFIED.</strong> The noise of this model, or of one before it, came \
     from a seed that somebody chose. Whoever knows the seed can take the noise off again. Nothing on this page is \
     promised.</p></div>\n"
        .into()
}

/// The few numbers to remember.
fn figures(c: &ReleaseCertificate, guess: &Guess) -> String {
    if !c.certified {
        return String::new();
    }
    let removed = format!(
        "<li><b>{}</b> removed on request before this release, which is the first to cover {}</li>\n",
        count(c.n_removed, "row", "rows"),
        count(c.requests.len(), "request", "requests"),
    );
    let claims = match guess {
        Guess::AtMost(Chances { so_far, at_limit }) => format!(
            "<li><b>≤&nbsp;{so_far}&nbsp;%</b> is how often the best guess at whether the rows were ever there is right; a \
             coin: 50&nbsp;%</li>\n\
             <li><b>≤&nbsp;{at_limit}&nbsp;%</b> is all that it can become over the model’s life</li>\n\
             <li><b>ε&nbsp;≤&nbsp;{}</b> is proved so far at δ&nbsp;=&nbsp;{}; promised for life: ε&nbsp;=&nbsp;{}</li>\n",
            number(&bound(c.epsilon_spent)),
            number(&parameter(c.delta)),
            number(&parameter(c.epsilon)),
        ),
        Guess::Exact => {
            "<li><b>50&nbsp;%</b> is how often the best guess at whether the rows were ever there is right: \
                         no better than a coin</li>\n"
                .into()
        }
        Guess::Unknown => String::new(),
    };
    format!("<ul class=\"figures\">\n{removed}{claims}</ul>\n")
}

/// In plain words.
fn says(c: &ReleaseCertificate, guess: &Guess, files: &[Subject]) -> String {
    let what = format!("The model file {}", named_files(files));
    if !c.certified {
        return format!(
            "<p>{what} was published as release {} of this model. Its certificate promises nothing, because the noise \
             could be predicted. The numbers below are what it would claim otherwise.</p>\n",
            c.release
        );
    }
    let rows = match c.n_removed {
        0 => "the rows that are removed from the model (none so far)".into(),
        n => format!("the {} removed on request", count(n, "row", "rows")),
    };
    let Chances { so_far, at_limit } = match guess {
        Guess::AtMost(chances) => chances,
        Guess::Exact => {
            return format!(
                "<p>{what} is bit for bit the one that training without {rows} would give. No noise was added: the model \
                 is computed from sums of integers, which a removed row leaves without a trace.</p>\n"
            );
        }
        Guess::Unknown => {
            return format!(
                "<p>{what} was published with noise of a law, “{}”, that this version does not know. What its claim, {}, \
                 means cannot be said here.</p>\n",
                escape(&c.law),
                guarantee(c.epsilon, c.delta),
            );
        }
    };
    let (seen, later) = if c.adversary.sees_later_releases {
        ("every model published since the removal", "However many releases follow, it stays at most")
    } else {
        ("this one model", "For a later model, that one alone, it stays at most")
    };
    let exception = match c.delta {
        0.0 => ", without exception".into(),
        delta => format!(", but for a chance of δ&nbsp;=&nbsp;{}", number(&parameter(delta))),
    };
    let extractor = c.extractor.map_or_else(String::new, |extractor| {
        let share = extractor.cost();
        format!(
            " The share of the private feature extractor, {} for up to {} removed or corrected, is in ε and δ, but not in \
             these percentages.",
            guarantee(share.epsilon, share.delta),
            count(extractor.group, "row", "rows")
        )
    });
    format!(
        "<p>{what} is statistically indistinguishable, up to {guarantee}, from one trained without {rows}.</p>\n\
         <p>That means: take two worlds. In one the rows were trained on and then removed; in the other they were never \
         there. Somebody who has {seen}, knows all the other rows and has any computing power wants to know which world \
         is the real one. What they see shifts the odds by a factor of at most e<sup>ε</sup>&nbsp;=&nbsp;{factor}\
         {exception}. If both worlds are equally likely, their best guess is right at most <b>{so_far}&nbsp;%</b> of the \
         time; tossing a coin gives 50&nbsp;%. {later} {at_limit}&nbsp;%.{extractor}</p>\n",
        guarantee = guarantee(c.epsilon, c.delta),
        factor = number(&bound(c.epsilon.exp())),
    )
}

/// The first of the requests, and how many more there are.
fn requests(c: &ReleaseCertificate) -> String {
    if c.requests.is_empty() {
        return "<p>None: no rows were removed on request since the release before.</p>\n".into();
    }
    let row = |request: &CoveredRequest| {
        let (id, time) = (cut(&request.id, 60), cut(&request.time, 30));
        format!("<tr><td>{id}</td><td class=\"num\">{time}</td><td class=\"num\">{}</td></tr>\n", request.n_rows)
    };
    let rows: String = c.requests.iter().take(REQUESTS_SHOWN).map(row).collect();
    let more = match c.requests.len().saturating_sub(REQUESTS_SHOWN) {
        0 => String::new(),
        n => format!(
            "<tr><td colspan=\"3\">and {} in the signed file</td></tr>\n",
            count(n, "more request", "more requests")
        ),
    };
    format!(
        "<table>\n<thead><tr><th scope=\"col\">Request</th><th scope=\"col\" class=\"num\">Carried out</th><th scope=\"col\" \
         class=\"num\">Rows</th></tr></thead>\n<tbody>\n{rows}{more}</tbody></table>\n"
    )
}

fn against(adversary: Adversary) -> Vec<String> {
    let choose = |yes: bool, words: [&str; 2]| words[usize::from(!yes)].to_owned();
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
                "Also if they choose whom to have removed next after seeing releases made since the removal; not if they chose by a model from before it.",
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
        choose(
            adversary.sees_prior_release,
            [
                "Also if they kept a model from before the removal.",
                "<b>Not</b> against somebody who kept a model from before the removal. No method is.",
            ],
        ),
    ]
}

/// Tags in words.
fn tagged(tags: &[String]) -> Vec<String> {
    tags.iter().map(|tag| format!("{}.", escape(&capital(&in_words(tag))))).collect()
}

fn limits(c: &ReleaseCertificate) -> String {
    if c.limits.is_empty() { String::new() } else { section("Limits of the proof", &list(&tagged(&c.limits))) }
}

fn outside(c: &ReleaseCertificate) -> Vec<String> {
    let mut items = tagged(&c.outside_scope);
    if !c.not_public.is_empty() {
        let names: Vec<String> = c.not_public.iter().take(COLUMNS_SHOWN).map(|name| cut(name, 40)).collect();
        let more = c.not_public.len().saturating_sub(COLUMNS_SHOWN);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        items.push(format!("Columns under not_public: {}{more}.", names.join(", ")));
    }
    items
}

/// Whether there is more to say than usual letters leave room for on one sheet.
fn is_dense(c: &ReleaseCertificate) -> bool {
    let lines = |request: &CoveredRequest| if request.id.chars().count() > 26 { 2 } else { 1 };
    let requests: usize = c.requests.iter().take(REQUESTS_SHOWN).map(lines).sum();
    let extractor = if c.extractor.is_some() { 2 } else { 0 };
    requests + 2 * c.limits.len() + extractor + c.not_public.len().min(COLUMNS_SHOWN) / 3 > 10
}

fn how_to_check(c: &ReleaseCertificate, files: &[Subject], file: &str) -> String {
    // `release --out model.json` puts `model.json.certificate.json` beside it.
    let named = files.first().map_or("MODEL", |file| &file.name);
    let model = file.strip_suffix(".certificate.json").filter(|name| !name.is_empty()).unwrap_or(named);
    let answer = if c.certified {
        "The answer must be “valid”."
    } else {
        "The answer will be “NOT VALID”, because nothing is certified."
    };
    check(
        &[format!("efface verify {} --key PUB --model {}", argument(file), argument(model))],
        &format!(
            "{answer} It is checked offline: the signature, the model file, the log, and every number here computed \
             again. That the distance holds is the word of whoever signed; inside, <code>efface verify DIR \
             --replay</code> measures it."
        ),
        &c.key_id,
    )
}

/// The most requests and names of columns that a page lists.
const REQUESTS_SHOWN: usize = 8;
const COLUMNS_SHOWN: usize = 12;
