//! The distribution test and the self-test.

use efface_report::numbers::{count, number, setting};
use efface_report::{Axis, Chart, Part, Section, Series, Table, Text, capitalized, strong, text, verdict};

use super::stands;
use crate::Audit;
use crate::distribution::{CaseResult, SelfTest};

pub(super) fn section(audit: &Audit) -> Section {
    let found = &audit.distribution;
    let rows = found.cases.iter().enumerate().map(|(i, case)| {
        [
            Text::from(format!("{}. {}", i + 1, case.name)),
            number(case.epsilon_claimed).into(),
            number(case.epsilon_lower).into(),
            number(case.mu_claimed).into(),
            case.mu_lower.map_or_else(|| "–".to_owned(), number).into(),
            stands(!case.broken).into(),
        ]
    });
    let caption = format!(
        "Claims, and lower confidence bounds of the truth, for all releases of a life together. ε at δ = {}. All cases together \
         raise a false alarm with a probability of at most {}.",
        found.cases.first().map_or_else(String::new, |case| setting(case.delta)),
        setting(found.size.false_alarm_rate)
    );
    let columns = ["Removed", "ε claimed", "ε at least", "μ claimed", "μ at least", "Verdict"];
    let mut parts = vec![Part::text(format!(
        "Two worlds: in one, rows were trained on and then removed; in the other, a system trained from scratch without them. \
         In each, {} models were released with fresh noise. The attacker knows everything but the noise, and so knows the best \
         question to ask: on which side of the middle between the two exact models does a release lie? How often the answer is \
         right gives a lower bound on the true ε (and on the true μ), which must not exceed what the engine claims.",
        count(found.size.draws)
    ))];
    parts.extend(found.closest().filter(|case| !case.picture.at.is_empty()).map(|case| Part::Chart(chart(case))));
    parts.push(Part::Table(Table::new(caption, columns, rows)));
    parts.extend(direct(&found.cases));
    Section::new("", "Can removal be told from retraining?", parts)
}

/// Where the releases of the two worlds lie.
fn chart(case: &CaseResult) -> Chart {
    let picture = &case.picture;
    let line = |name: &str, values: &[f64]| Series::line(name, picture.at.iter().copied().zip(values.iter().copied()));
    Chart {
        id: "audit-distribution".to_owned(),
        caption: format!(
            "{}: releases of the two worlds along the line on which they differ, in standard deviations of the claimed noise, \
             counted in steps of a fourth. The claim allows the two curves to be {} apart.",
            capitalized(&case.name),
            number(case.mu_claimed)
        ),
        x: Axis::linear("place of a release on the line between the two exact models (claimed noise = 1)"),
        y: Axis::percent("share of releases"),
        series: vec![
            line("after retraining", &picture.retrained),
            line("after removal", &picture.removed),
            line("the farthest that the claim allows", &picture.claimed),
        ],
        ..Chart::default()
    }
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
fn direct(cases: &[CaseResult]) -> [Part; 3] {
    let rows = CHECKS.iter().filter_map(|(name, words)| {
        let checks = cases.iter().flat_map(|case| &case.direct.checks).filter(|check| check.name == *name);
        let check = checks.max_by(|a, b| a.strain().total_cmp(&b.strain()))?;
        let allowed = if check.at_least == 0.0 {
            format!("≤ {}", number(check.at_most))
        } else {
            format!("{} to {}", number(check.at_least), number(check.at_most))
        };
        Some([Text::from(*words), number(check.found).into(), allowed.into(), stands(check.held).into()])
    });
    let caption = "Of each check the case that came closest to its limit. Limits of the noise allow for chance, at the rate \
                   stated above.";
    [
        Part::Heading("The same from inside".to_owned()),
        Part::text(format!(
            "Whoever runs an audit sees the secret weights and can look at what was added to them, and at everything else that \
             leaves. These checks notice missing noise on any model, also where no attacker from outside could. {}",
            power(cases)
        )),
        Part::Table(Table::new(caption, ["Quantity", "Found", "Allowed", "Verdict"], rows)),
    ]
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

pub(super) fn self_test(found: &SelfTest) -> Section {
    let rows = found.engines.iter().map(|engine| {
        [
            Text::from(capitalized(engine.name)),
            number(engine.epsilon_claimed).into(),
            number(engine.epsilon_lower).into(),
            number(engine.mu_claimed).into(),
            number(engine.mu_lower).into(),
            verdict(engine.caught, "caught", "unseen").into(),
            if engine.from_outside { "✓" } else { "–" }.into(),
            engine.direct_failures.join(", ").into(),
        ]
    });
    let columns = [
        "What is wrong",
        "ε claimed",
        "ε at least",
        "μ claimed",
        "μ at least",
        "Verdict",
        "From outside",
        "From inside",
    ];
    let caption = "For each broken engine the first case in which it was caught. The last column names the checks from inside \
                   that fail.";
    let parts = vec![
        Part::text(text![
            "A test that never fails says nothing. So the same test is made on engines that are broken on purpose. Each must be \
             caught: from outside, where the lower bound of its ε exceeds the ε that it claims, or from inside. ",
            strong(format!("Caught: {} of {}.", found.n_caught(), found.engines.len())),
        ]),
        Part::Table(Table::new(caption, columns, rows)),
    ];
    Section::new("", "Can this audit see?", parts)
}
