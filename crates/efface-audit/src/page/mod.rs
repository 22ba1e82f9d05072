//! The report of an audit: verdict, table of attacks, a section for each, and what a pass does not mean.

mod distribution;
mod membership;
mod reconstruction;
#[cfg(test)]
mod tests;

use efface_report::numbers::{count, number, seconds as in_seconds, setting};
use efface_report::{Page, Part, Section, Span, Table, Text, emphasis, strong, text, verdict};

use crate::{Audit, Verdict};

impl Audit {
    /// What was found, on one page.
    pub fn page(&self, seconds: f64) -> Page {
        let mut sections = vec![distribution::section(self)];
        sections.extend(self.self_test.as_ref().map(distribution::self_test));
        sections.extend(self.membership.as_ref().map(membership::section));
        let is_public = self.subject.built_in;
        sections.extend(self.reconstruction.as_ref().map(|found| reconstruction::section(found, is_public)));
        sections.push(limits(self));
        Page {
            kicker: "Efface audit report".to_owned(),
            title: self.title().into(),
            head: self.head(),
            sections,
            foot: self.foot(seconds),
            ..Page::default()
        }
    }

    fn title(&self) -> String {
        let subject = &self.subject;
        if subject.built_in {
            return "Attacks on Efface, on problems where its claim is tight".to_owned();
        }
        format!("Attacks on a model of {} rows and {} features", count(subject.n_rows), count(subject.dim))
    }

    fn head(&self) -> Vec<Part> {
        let (good, words, rest) = match self.verdict {
            Verdict::Stands => (
                true,
                "The claim stands.",
                " No attack told removal from retraining better than the certificate allows. An attack that fails is \
                 evidence; the claim itself rests on a proof.",
            ),
            Verdict::Broken => (
                false,
                "The claim is broken.",
                " An attack did better than the certificate allows, or what was released is not what was claimed. The table \
                 says which.",
            ),
            Verdict::Blind => (
                false,
                "No verdict.",
                " No attack broke the claim, but an engine that is broken on purpose went unseen, too: draw more.",
            ),
        };
        let mut parts = vec![Part::Verdict { good, text: text![strong(words), rest], reasons: Vec::new() }];
        if !self.subject.built_in {
            parts.push(Part::text(text![
                strong("Keep this page inside."),
                " It names no row, but it was made by someone who sees the secret weights and the rows, and its numbers \
                 depend on them.",
            ]));
        }
        parts.extend(self.notes.iter().map(|note| Part::Note(note.as_str().into())));
        parts.push(Part::Table(self.table()));
        parts
    }

    /// One line per attack: the question, what was found, what is allowed, and what follows.
    fn table(&self) -> Table {
        let distribution = &self.distribution;
        let mut rows: Vec<[Text; 5]> = Vec::new();
        let mut row = |attack: &str, question: &str, found: String, limit: String, verdict: Text| {
            rows.push([attack.into(), question.into(), found.into(), limit.into(), verdict]);
        };
        if let Some(closest) = distribution.closest() {
            row(
                "Distribution test",
                "Can releases after removal be told from releases after retraining?",
                format!("ε ≥ {}", number(closest.epsilon_lower)),
                format!("ε ≤ {} claimed", number(closest.epsilon_claimed)),
                stands(!distribution.broken).into(),
            );
        }
        let checks = distribution.cases.iter().map(|case| case.direct.checks.len()).sum::<usize>();
        let failed = distribution.cases.iter().map(|case| case.direct.failed().len()).sum::<usize>();
        row(
            "The same from inside",
            "Are distance, noise and published numbers what is claimed of them?",
            format!("{failed} of {} checks fail", count(checks)),
            "none may fail".to_owned(),
            stands(distribution.direct_checks_hold).into(),
        );
        if let Some(self_test) = &self.self_test {
            row(
                "Self-test",
                "Can this audit see? Engines broken on purpose must be caught.",
                format!("{} of {} caught", self_test.n_caught(), self_test.engines.len()),
                "all".to_owned(),
                verdict(self_test.passed(), "it can", "it cannot").into(),
            );
        }
        if let Some(found) = &self.membership {
            row(
                "Membership inference",
                "Does a model still know an example that was removed?",
                format!(
                    "AUC {:.3} before removal, {:.3} after it, {:.3} after retraining",
                    found.before_removal.auc.value, found.after_removal.auc.value, found.after_retraining.auc.value
                ),
                "no difference between the last two; guessing is 0.5".to_owned(),
                stands(!found.broken).into(),
            );
        }
        if let Some(batch) = self.reconstruction.as_ref().and_then(|found| found.batches.first()) {
            row(
                "Reconstruction",
                "What do a release before and one after a removal say about the removed row?",
                format!("cosine {:.2} to the removed row", batch.removal.value),
                format!("retraining: {:.2}; without any model: {:.2}", batch.retraining.value, batch.chance.value),
                "a limit of every method".into(),
            );
        }
        Table::new("", ["Attack", "Question", "Found", "Allowed", "Verdict"], rows)
    }

    fn foot(&self, seconds: f64) -> Vec<Text> {
        let data = text![
            "Digits: E. Alpaydin and C. Kaynak (1998), ",
            emphasis("Optical Recognition of Handwritten Digits"),
            ", UCI Machine Learning Repository; licence CC BY 4.0.",
        ];
        let facts = format!(
            "Promised (ε, δ): ({}, {}). The whole distribution test raises a false alarm with a probability of at most {}. The \
             audit took {}.",
            setting(self.subject.epsilon),
            setting(self.subject.delta),
            setting(self.distribution.size.false_alarm_rate),
            in_seconds(seconds),
        );
        let written =
            concat!("Written by efface ", env!("CARGO_PKG_VERSION"), ". This page loads nothing from outside.");
        self.subject.built_in.then_some(data).into_iter().chain([facts.into(), written.into()]).collect()
    }
}

/// A verdict in a table.
fn stands(holds: bool) -> Span {
    verdict(holds, "stands", "broken")
}

fn limits(audit: &Audit) -> Section {
    let direct = if audit.subject.built_in {
        text![
            "On an ordinary model the claim is far above what is true, and the same test would notice gross errors only.",
        ]
    } else {
        text![
            "This model’s claim is far above what is true of it, so the test from outside would notice gross errors only. The \
             checks from inside see smaller ones, and the built-in audit tests the program where its claim is tight.",
        ]
    };
    let limits = vec![
        text![
            strong("A pass is evidence, not proof."),
            " An attack can show that a claim is wrong; that it is right follows from its proof. ",
            direct,
        ],
        text![
            strong("Someone who kept the old model"),
            " is outside every claim, of this and of any other method: that is the reconstruction above. Publish on a \
             schedule, several removals at a time, and withdraw old versions.",
        ],
        text![strong("Copies of the data"), ", and preparation that was fitted on the rows, are not looked at."],
        text![
            strong("Faults rarer than stated above"),
            ", faults in weights that were not looked at one by one, and what leaves by other ways than the release (time, \
             memory, logs) are not seen.",
        ],
        text![
            strong("The attacker of the distribution test is inside:"),
            " they know all rows and the secret weights. Real ones know less.",
        ],
    ];
    Section::new("", "What a pass means, and what it does not", vec![Part::List(limits)])
}
