//! The distribution test and the self-test.

use std::fmt::Write as _;

use efface_audit::Audit;
use efface_audit::distribution::{CaseResult, SelfTest};

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

/// The checks from inside, by name and in words.
const CHECKS: [(&str, &str); 14] = [
    ("distance", "Distance of the secret weights from the retrained ones"),
    ("gradient", "Distance from the minimiser, by the gradient computed anew from the rows"),
    ("released-bits", "Released weights that differ in any bit, where there is no noise"),
    ("published-fields", "Published numbers that differ between the worlds"),
    ("noise-variance", "Variance of the noise (claimed = 1)"),
    ("noise-law", "Distance of the noise’s distribution from the claimed law (Kolmogorov–Smirnov)"),
    ("noise-independence", "Correlation of the noise of successive releases"),
    ("noise-mean", "Mean of the noise along a direction (claimed = 0)"),
    ("noise-directions", "Variance of the noise along a direction (claimed = 1)"),
    ("noise-missing", "Releases with less noise than chance explains"),
    ("noise-tails", "Releases with little or much noise, counted beyond a quantile"),
    ("lattice", "Released weights off the lattice that is claimed"),
    ("low-bits", "Frequency of a low bit of a released weight"),
    ("low-bits-repeated", "Patterns of low bits that had been there before"),
];

/// The checks from inside: for each of them the case in which it is closest to its limit.
fn direct(cases: &[CaseResult]) -> String {
    let mut rows = String::new();
    for (name, words) in CHECKS {
        let checks = cases.iter().flat_map(|case| &case.direct.checks).filter(|check| check.name == name);
        let Some(check) = checks.max_by(|a, b| a.strain().total_cmp(&b.strain())) else { continue };
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
         them, and at everything else that leaves. These checks notice missing noise on any model, also where no attacker \
         from outside could. {power}</p>\n\
         <figure>\n<div class=\"wide\">\n<table>\n<thead><tr><th scope=\"col\">Quantity</th>\
         <th scope=\"col\" class=\"num\">Found</th><th scope=\"col\" class=\"num\">Allowed</th>\
         <th scope=\"col\">Verdict</th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n\
         <figcaption>Of each check the case that came closest to its limit. Limits of the noise allow for chance, at the \
         rate stated above.</figcaption>\n</figure>\n",
        power = power(cases),
    )
}

/// How rare a failure would have been seen, in the case that sees least.
fn power(cases: &[CaseResult]) -> String {
    let powers = cases.iter().filter_map(|case| case.direct.power);
    let Some(least) = powers.max_by(|a, b| a.without_noise.total_cmp(&b.without_noise)) else { return String::new() };
    let half = if least.half_noise < 1.0 {
        format!(", or one in {} had only half of it,", count((1.0 / least.half_noise) as usize))
    } else {
        String::new()
    };
    format!(
        "In each case {} releases were looked at one by one. If one release in {} had no noise{half} an alarm would follow with \
         a probability of {} %; rarer failures may go unseen.",
        count(least.releases),
        count((1.0 / least.without_noise) as usize),
        setting(100.0 * least.probability),
    )
}

pub(crate) fn self_test(found: &SelfTest) -> String {
    let mut rows = String::new();
    for engine in &found.engines {
        let caught = if engine.caught {
            "<span class=\"good\">✓ caught</span>"
        } else {
            "<span class=\"bad\">✗ unseen</span>"
        };
        let outside = if engine.from_outside { "✓" } else { "–" };
        let _ = writeln!(
            rows,
            "<tr><th scope=\"row\">{}</th><td class=\"num\">{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td>\
             <td class=\"num\">{}</td><td>{caught}</td><td>{outside}</td><td>{}</td></tr>",
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
         that are broken on purpose. Each must be caught: from outside, where the lower bound of its ε exceeds the ε that it \
         claims, or from inside. <strong>Caught: {caught} of {n}.</strong></p>\n\
         <figure>\n<div class=\"wide\">\n<table>\n<thead><tr><th scope=\"col\">What is wrong</th>\
         <th scope=\"col\" class=\"num\">ε claimed</th><th scope=\"col\" class=\"num\">ε at least</th>\
         <th scope=\"col\" class=\"num\">μ claimed</th><th scope=\"col\" class=\"num\">μ at least</th>\
         <th scope=\"col\">Verdict</th><th scope=\"col\">From outside</th><th scope=\"col\">From inside</th></tr></thead>\n<tbody>\n{rows}</tbody>\n\
         </table>\n</div>\n<figcaption>For each broken engine the first case in which it was caught. The \
         last column names the checks from inside that fail.</figcaption>\n</figure>\n</section>\n",
        caught = found.n_caught(),
        n = found.engines.len(),
    )
}

/// With a capital letter, for the beginning of a line.
fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
