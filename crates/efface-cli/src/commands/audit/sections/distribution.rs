//! The distribution test and the self-test.

use std::fmt::Write as _;

use efface_audit::Audit;
use efface_audit::distribution::{CaseResult, DirectCheck, SelfTest};

use super::super::page::kept;
use crate::charts::{Horizontal, LineChart, Scale, Series, escape};
use crate::numbers::{count, number, setting};

pub(crate) fn section(audit: &Audit) -> String {
    let found = &audit.distribution;
    let mut rows = String::new();
    for (i, case) in found.cases.iter().enumerate() {
        let _ = writeln!(
            rows,
            "<tr><th scope=\"row\">{}. {}</th><td class=\"num\">{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td>\
             <td class=\"num\">{}</td><td>{}</td></tr>",
            i + 1,
            escape(&case.name),
            number(case.epsilon_claimed),
            number(case.epsilon_lower),
            number(case.mu_claimed),
            case.mu_lower.map_or_else(|| "–".to_owned(), number),
            kept(!case.broken),
        );
    }
    format!(
        "<section>\n<h2>Can removal be told from retraining?</h2>\n\
         <p>Two worlds: in one, rows were trained on and then removed; in the other, a system trained from scratch \
         without them. In each, {draws} models were released with fresh noise. The attacker knows everything but the \
         noise, and so knows the best question to ask: on which side of the middle between the two exact models does a \
         release lie? How often the answer is right gives a lower bound on the true ε (and on the true μ), which must not \
         exceed what the engine claims.</p>\n{picture}\
         <figure>\n<div class=\"wide\">\n<table>\n<thead><tr><th scope=\"col\">Removed</th>\
         <th scope=\"col\" class=\"num\">ε claimed</th><th scope=\"col\" class=\"num\">ε at least</th>\
         <th scope=\"col\" class=\"num\">μ claimed</th><th scope=\"col\" class=\"num\">μ at least</th>\
         <th scope=\"col\">Verdict</th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n\
         <figcaption>Claims, and lower confidence bounds of the truth, for all releases of a life together. ε at \
         δ&nbsp;=&nbsp;{delta}. All cases together raise a false alarm with a probability of at most \
         {rate}.</figcaption>\n</figure>\n{direct}</section>\n",
        draws = count(found.size.draws),
        picture = found.closest().map_or_else(String::new, picture),
        delta = found.cases.first().map_or_else(String::new, |case| setting(case.delta)),
        rate = setting(found.size.false_alarm_rate),
        direct = direct(&found.cases),
    )
}

/// Where the releases of the two worlds lie.
fn picture(case: &CaseResult) -> String {
    let picture = &case.picture;
    if picture.at.is_empty() {
        return String::new();
    }
    let series = [
        ("after retraining", &picture.retrained),
        ("after removal", &picture.removed),
        ("the farthest that the claim allows", &picture.claimed),
    ]
    .map(|(name, values)| Series {
        name: name.to_owned(),
        points: picture.at.iter().copied().zip(values.iter().copied()).collect(),
    });
    let chart = LineChart {
        description: "Line chart: where releases lie between the two worlds",
        x_label: "place of a release on the line between the two exact models (claimed noise = 1)",
        y_label: "share of releases",
        horizontal: Horizontal::Numbers { low: -4.0, high: 4.0, step: 1.0 },
        scale: Scale::Percent,
        series: &series,
    };
    format!(
        "<figure>\n{}\n<figcaption>{}: releases of the two worlds along the line on which they differ, in \
         standard deviations of the claimed noise, counted in steps of a fourth. The claim allows the two curves to be \
         {} apart.</figcaption>\n</figure>\n",
        chart.to_html(),
        escape(&capitalized(&case.name)),
        number(case.mu_claimed),
    )
}

/// The checks from inside: for each of them the case in which it is closest to its limit.
fn direct(cases: &[CaseResult]) -> String {
    let mut rows = String::new();
    for (name, words) in [
        ("distance", "Distance of the secret weights from the retrained ones"),
        ("noise-variance", "Variance of the noise (claimed = 1)"),
        ("noise-law", "Distance of the noise’s distribution from the claimed law (Kolmogorov–Smirnov)"),
        ("noise-independence", "Correlation of the noise of successive releases"),
    ] {
        let checks = cases.iter().flat_map(|case| &case.direct.checks).filter(|check| check.name == name);
        let Some(check) = checks.max_by(|a, b| strain(a).total_cmp(&strain(b))) else { continue };
        let allowed = if check.at_least == 0.0 {
            format!("at most {}", number(check.at_most))
        } else {
            format!("{} to {}", number(check.at_least), number(check.at_most))
        };
        let _ = writeln!(
            rows,
            "<tr><th scope=\"row\">{words}</th><td class=\"num\">{}</td><td class=\"num\">{allowed}</td><td>{}</td></tr>",
            number(check.found),
            kept(check.held),
        );
    }
    format!(
        "<h3>The same from inside</h3>\n<p>Whoever runs an audit sees the secret weights and can look at what was added to \
         them. These checks notice missing noise on any model, also where no attacker from outside could.</p>\n\
         <figure>\n<div class=\"wide\">\n<table>\n<thead><tr><th scope=\"col\">Quantity</th>\
         <th scope=\"col\" class=\"num\">Found</th><th scope=\"col\" class=\"num\">Allowed</th>\
         <th scope=\"col\">Verdict</th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n\
         <figcaption>Of each check the case that came closest to its limit. Limits other than that of the distance allow \
         for chance, at the rate stated above.</figcaption>\n</figure>\n"
    )
}

/// How much of what is allowed a check uses up.
fn strain(check: &DirectCheck) -> f64 {
    let middle = 0.5 * (check.at_least + check.at_most);
    (check.found - middle).abs() / (check.at_most - middle).max(f64::MIN_POSITIVE)
}

pub(crate) fn self_test(found: &SelfTest) -> String {
    let mut rows = String::new();
    for engine in &found.engines {
        let caught = if engine.caught {
            "<span class=\"good\">✓ caught</span>"
        } else {
            "<span class=\"bad\">✗ unseen</span>"
        };
        let _ = writeln!(
            rows,
            "<tr><th scope=\"row\">{}</th><td class=\"num\">{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td>\
             <td class=\"num\">{}</td><td>{caught}</td><td>{}</td></tr>",
            escape(&capitalized(engine.name)),
            number(engine.epsilon_claimed),
            number(engine.epsilon_lower),
            number(engine.mu_claimed),
            number(engine.mu_lower),
            engine.direct_failures.join(", "),
        );
    }
    format!(
        "<section>\n<h2>Can this audit see?</h2>\n<p>A test that never fails says nothing. So the same test is made on engines \
         that are broken on purpose. Each must be caught from outside: the lower bound of its ε must exceed the ε that it \
         claims. <strong>Caught: {caught} of {n}.</strong></p>\n\
         <figure>\n<div class=\"wide\">\n<table>\n<thead><tr><th scope=\"col\">What is wrong</th>\
         <th scope=\"col\" class=\"num\">ε claimed</th><th scope=\"col\" class=\"num\">ε at least</th>\
         <th scope=\"col\" class=\"num\">μ claimed</th><th scope=\"col\" class=\"num\">μ at least</th>\
         <th scope=\"col\">From outside</th><th scope=\"col\">From inside</th></tr></thead>\n<tbody>\n{rows}</tbody>\n\
         </table>\n</div>\n<figcaption>For each broken engine the case in which the bound exceeds the claim by most. The \
         last column names the checks from inside that fail as well.</figcaption>\n</figure>\n</section>\n",
        caught = found.n_caught(),
        n = found.engines.len(),
    )
}

/// With a capital letter, for the beginning of a line.
fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
