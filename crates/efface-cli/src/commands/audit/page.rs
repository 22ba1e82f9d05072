//! The report as a whole: verdict, table of attacks, a section for each, and what a pass does not mean.

use std::fmt::Write as _;

use efface_audit::{Audit, Verdict};

use super::sections::{distribution, membership, reconstruction};
use crate::charts::escape;
use crate::numbers::{count, number, seconds as in_seconds, setting};
use crate::page;

pub(super) fn render(audit: &Audit, seconds: f64) -> String {
    let mut body = head(audit);
    body += &distribution::section(audit);
    if let Some(self_test) = &audit.self_test {
        body += &distribution::self_test(self_test);
    }
    if let Some(found) = &audit.membership {
        body += &membership::section(found);
    }
    if let Some(found) = &audit.reconstruction {
        body += &reconstruction::section(found, audit.subject.built_in);
    }
    body += &limits(audit);
    body += &foot(audit, seconds);
    page::document("Efface audit", &body)
}

fn head(audit: &Audit) -> String {
    let subject = &audit.subject;
    let title = if subject.built_in {
        "Attacks on Efface, on problems where its claim is tight".to_owned()
    } else {
        format!("Attacks on a model of {} rows and {} features", count(subject.n_rows), count(subject.dim))
    };
    let inside = if subject.built_in {
        ""
    } else {
        "<p><strong>Keep this page inside.</strong> It names no row, but it was made by someone who sees the secret weights \
         and the rows, and its numbers depend on them.</p>\n"
    };
    let notes: String = audit.notes.iter().fold(String::new(), |mut html, note| {
        let _ = writeln!(html, "<p class=\"formula\">{}</p>", escape(note));
        html
    });
    format!(
        "<header>\n<p class=\"kicker\">Efface audit report</p>\n<h1>{title}</h1>\n{verdict}{inside}{notes}{table}</header>\n",
        verdict = verdict(audit),
        table = table(audit),
    )
}

fn verdict(audit: &Audit) -> String {
    let (class, strong, rest) = match audit.verdict {
        Verdict::Stands => (
            "kept",
            "The claim stands.",
            "No attack told removal from retraining better than the certificate allows. An attack that fails is evidence; \
             the claim itself rests on a proof.",
        ),
        Verdict::Broken => (
            "broken",
            "The claim is broken.",
            "An attack did better than the certificate allows, or what was released is not what was claimed. The table \
             says which.",
        ),
        Verdict::Blind => (
            "broken",
            "No verdict.",
            "No attack broke the claim, but an engine that is broken on purpose went unseen, too: draw more.",
        ),
    };
    format!("<div class=\"verdict {class}\"><p><strong>{strong}</strong> {rest}</p></div>\n")
}

/// One line per attack: the question, what was found, what is allowed, and what follows.
fn table(audit: &Audit) -> String {
    let distribution = &audit.distribution;
    let mut rows = String::new();
    let mut row = |attack: &str, question: &str, found: &str, limit: &str, verdict: &str| {
        let _ = writeln!(
            rows,
            "<tr><th scope=\"row\">{attack}</th><td class=\"words\">{question}</td><td>{found}</td><td>{limit}</td>\
             <td>{verdict}</td></tr>"
        );
    };
    if let Some(closest) = distribution.closest() {
        row(
            "Distribution test",
            "Can releases after removal be told from releases after retraining?",
            &format!("ε ≥ {}", number(closest.epsilon_lower)),
            &format!("ε ≤ {} claimed", number(closest.epsilon_claimed)),
            kept(!distribution.broken),
        );
    }
    let checks = distribution.cases.iter().map(|case| case.direct.checks.len()).sum::<usize>();
    let failed = distribution.cases.iter().map(|case| case.direct.failed().len()).sum::<usize>();
    row(
        "The same from inside",
        "Are distance, noise and published numbers what is claimed of them?",
        &format!("{failed} of {} checks fail", count(checks)),
        "none may fail",
        kept(distribution.direct_checks_hold),
    );
    if let Some(self_test) = &audit.self_test {
        row(
            "Self-test",
            "Can this audit see? Engines broken on purpose must be caught.",
            &format!("{} of {} caught", self_test.n_caught(), self_test.engines.len()),
            "all",
            if self_test.passed() {
                "<span class=\"good\">✓ it can</span>"
            } else {
                "<span class=\"bad\">✗ it cannot</span>"
            },
        );
    }
    if let Some(found) = &audit.membership {
        row(
            "Membership inference",
            "Does a model still know an example that was removed?",
            &format!(
                "AUC {:.3} before removal, {:.3} after it, {:.3} after retraining",
                found.before_removal.auc.value, found.after_removal.auc.value, found.after_retraining.auc.value
            ),
            "no difference between the last two; guessing is 0.5",
            kept(!found.broken),
        );
    }
    if let Some(batch) = audit.reconstruction.as_ref().and_then(|found| found.batches.first()) {
        row(
            "Reconstruction",
            "What do a release before and one after a removal say about the row that left?",
            &format!("cosine {:.2} to the removed row", batch.removal.value),
            &format!("retraining: {:.2}; without any model: {:.2}", batch.retraining.value, batch.chance.value),
            "a limit of every method",
        );
    }
    format!(
        "<div class=\"wide\"><table>\n<thead><tr><th scope=\"col\">Attack</th><th scope=\"col\">Question</th>\
         <th scope=\"col\">Found</th><th scope=\"col\">Allowed</th><th scope=\"col\">Verdict</th></tr></thead>\n\
         <tbody>\n{rows}</tbody>\n</table></div>\n"
    )
}

/// A verdict in a table.
pub(super) fn kept(holds: bool) -> &'static str {
    if holds { "<span class=\"good\">✓ stands</span>" } else { "<span class=\"bad\">✗ broken</span>" }
}

fn limits(audit: &Audit) -> String {
    let direct = if audit.subject.built_in {
        "On an ordinary model the claim is far above what is true, and the same test would notice gross errors only."
    } else {
        "This model’s claim is far above what is true of it, so the test from outside would notice gross errors only. The \
         checks from inside see smaller ones, and <code>efface audit --built-in</code> tests the program where its claim is \
         tight."
    };
    format!(
        "<section>\n<h2>What a pass means, and what it does not</h2>\n<ul class=\"limits\">\n\
         <li><b>A pass is evidence, not proof.</b> An attack can show that a claim is wrong; that it is right follows \
         from its proof. {direct}</li>\n\
         <li><b>Someone who kept the old model</b> is outside every claim, of this and of any other method: that is the \
         reconstruction above. Publish on a schedule, several removals at a time, and withdraw old versions.</li>\n\
         <li><b>Copies of the data</b>, and preparation that was fitted on the rows, are not looked at.</li>\n\
         <li><b>Faults rarer than stated above</b>, faults in weights that were not looked at one by one, and what leaves \
         by other ways than the release (time, memory, logs) are not seen.</li>\n\
         <li><b>The attacker of the distribution test is inside:</b> they know all rows and the secret weights. Real ones \
         know less.</li>\n</ul>\n</section>\n"
    )
}

fn foot(audit: &Audit, seconds: f64) -> String {
    let subject = &audit.subject;
    let data = if subject.built_in {
        "<p>Digits: E. Alpaydin and C. Kaynak (1998), <cite>Optical Recognition of Handwritten Digits</cite>, UCI Machine \
         Learning Repository; licence CC BY 4.0.</p>\n"
    } else {
        ""
    };
    format!(
        "<footer>\n{data}<p>Promised (ε, δ): ({}, {}). The whole distribution test raises a false alarm with a \
         probability of at most {}. The audit took {}.</p>\n<p>Written by efface {}. This page loads nothing from \
         outside.</p>\n</footer>\n",
        setting(subject.epsilon),
        setting(subject.delta),
        setting(audit.distribution.size.false_alarm_rate),
        in_seconds(seconds),
        env!("CARGO_PKG_VERSION"),
    )
}
