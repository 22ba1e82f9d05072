//! The sections that a privacy officer reads: the verdict, what was promised, what was measured, what is not promised.

use efface_report::numbers::{bound, count, number, one_in, setting};
use efface_report::{Part, Section, Table, Text, raised, strong, text, verdict};

use super::evidence::in_words;
use super::scenario::{N_CLASSES, PREPROCESSING};
use super::{Check, DemoResults};

impl DemoResults {
    /// The verdict on top of the page: whether every promise that this run could check was kept.
    pub(super) fn verdicts(&self) -> Vec<Part> {
        let reasons: Vec<Text> = self.broken_promises().into_iter().map(Text::from).collect();
        let good = reasons.is_empty();
        let (n, subject) = (count(self.subject.rows.len()), self.subject.number);
        let text = if good {
            text![
                strong("Every promise was kept."),
                format!(
                    " The {n} rows of subject {subject} were removed, the model was settled and released, and it was compared with a \
                     model trained from scratch without these rows. No measurement contradicts a promise."
                ),
            ]
        } else {
            text![
                strong("A promise was not kept."),
                " Do not rely on this program before the cause is found. What went wrong:",
            ]
        };
        let mut parts = vec![Part::Verdict { good, text, reasons }];
        if self.model.danger_fixed_seed {
            let text = text![
                strong("Not certified."),
                " The noise of this run came from a seed that someone chose. Whoever knows the seed can take the noise away \
                 again.",
            ];
            parts.push(Part::Verdict { good: false, text, reasons: Vec::new() });
        }
        parts
    }

    /// Every promise that does not hold, in words. A comparison with something that is not a number does not hold.
    pub fn broken_promises(&self) -> Vec<String> {
        let mut broken = Vec::new();
        for (moment, check) in self.moments() {
            if !check.residual_holds() {
                broken.push(format!("{moment}: the gradient left behind exceeds its limit"));
            }
            if !self.distance_holds(check) {
                broken.push(format!("{moment}: the distance to the retrained model exceeds its limit"));
            }
        }
        if !self.mu_covers_distance() {
            broken.push("The release claims a smaller μ than its distance and its noise give".to_owned());
        }
        if !self.epsilon_is_allowed() {
            broken.push("The release claims a larger ε than the model was set up for".to_owned());
        }
        for (rung, bounds) in &self.residuals.bounds {
            let truth = self.residuals.truth_for(*rung);
            let holds = truth.len() == bounds.len() && truth.iter().zip(bounds).all(|(truth, bound)| truth <= bound);
            if !holds {
                let [name, ..] = in_words(*rung);
                broken.push(format!("The rung “{name}” lies below the residual it should bound"));
            }
        }
        broken
    }

    /// The retrained model is itself only near the exact optimum, so the promise is checked up to that much.
    fn distance_holds(&self, check: &Check) -> bool {
        check.distance.measured <= check.distance.promised + self.retrained_distance_bound
    }

    /// The μ of a release is never below `r / s`; the hair allows for the rounding of this very division.
    fn mu_covers_distance(&self) -> bool {
        let ratio = self.at_release.distance.promised / self.model.noise_std;
        ratio * (1.0 - 1e-12) <= self.at_release.mu.promised
    }

    fn epsilon_is_allowed(&self) -> bool {
        self.at_release.epsilon.promised <= self.model.epsilon
    }

    fn moments(&self) -> [(&'static str, &Check); 2] {
        [("Right after the instant removal", &self.after_removal), ("After settling, as released", &self.at_release)]
    }

    pub(super) fn promised(&self) -> Section {
        let (mu, epsilon) = (self.at_release.mu.promised, self.at_release.epsilon.promised);
        let all_in_delta =
            if epsilon == 0.0 { " Here the two worlds are so close that δ alone covers the difference." } else { "" };
        let (spent, factor) = (bound(epsilon), bound(epsilon.exp()));
        let (delta, chance, allowed) =
            (setting(self.model.delta), one_in(self.model.delta), setting(self.model.epsilon));
        let in_odds = text![
            format!(
                "ε\u{a0}=\u{a0}{spent} at δ\u{a0}=\u{a0}{delta}. Whatever is found in the released model changes the odds between the two worlds by a \
                 factor of at most e"
            ),
            raised("ε"),
            format!(
                "\u{a0}=\u{a0}{factor}, but for an exceptional chance of at most {chance}.{all_in_delta} The model was set up to allow ε\u{a0}=\u{a0}{allowed}."
            ),
        ];
        let (guess, points) = (best_guess(mu), bound(points_over_half(mu)));
        let in_guesses = format!(
            "Whoever has to guess between the two worlds is right at most {guess} of the time: no more than {points} \
             percentage points better than a coin."
        );
        let (r, s, mu) = (bound(self.at_release.distance.promised), setting(self.model.noise_std), bound(mu));
        let by_which_means = format!(
            "The engine keeps the exact weights secret, together with a proven limit on their distance from the retrained \
             ones: r\u{a0}=\u{a0}{r}. A release adds fresh random noise of standard deviation s\u{a0}=\u{a0}{s} to each weight. What counts is how \
             small μ = r / s is. The digits of r depend on the rows, so a certificate does not show them: every settled \
             release claims the same μ\u{a0}=\u{a0}{mu}, which r / s stays below. The size of the noise was fixed when the model was \
             created; it does not depend on the data and does not grow with the number of removals."
        );
        let parts = vec![
            Part::text(
                "Imagine two worlds. In the first, the rows were trained on and Efface removed them. In the second, they \
                 were never there: the model was trained from scratch on the other rows. The certificate limits how well \
                 anybody can tell, from the released model, which of the two is the real one. It holds against every method \
                 and any amount of computing, even for someone who knows all the rows.",
            ),
            Part::Terms(vec![
                ("In odds".to_owned(), in_odds),
                ("In guesses".to_owned(), in_guesses.into()),
                ("By which means".to_owned(), by_which_means.into()),
            ]),
            Part::Note(text![
                "δ = Φ(μ/2 − ε/μ) − e",
                raised("ε"),
                " Φ(−μ/2 − ε/μ), where Φ is the normal distribution function. Limits are printed rounded up.",
            ]),
        ];
        Section::new("", "What was promised", parts)
    }

    /// Section "What was measured": promises beside measurements.
    pub(super) fn measured(&self) -> Section {
        let mut parts = vec![Part::text(
            "The remaining rows were trained on once more, from scratch. That model shows how far the updated weights really \
             were from where they should be. A measurement can expose a broken promise; that a promise always holds is shown \
             by proof, not by a run like this one.",
        )];
        let kept = |holds: bool| Text::from(verdict(holds, "kept", "not kept"));
        for (moment, check) in self.moments() {
            let rows = [
                (
                    format!("Gradient left behind (limit from the rung “{}”)", check.rung),
                    check.residual,
                    kept(check.residual_holds()),
                ),
                ("Distance r to the retrained weights".to_owned(), check.distance, kept(self.distance_holds(check))),
                ("μ, if released now".to_owned(), check.mu, "from r and s".into()),
                ("ε at δ, if released now".to_owned(), check.epsilon, "from μ".into()),
            ]
            .map(|(what, pair, note)| [what.into(), bound(pair.promised).into(), number(pair.measured).into(), note]);
            parts.push(Part::Table(Table::new("", [moment, "Promised, at most", "Measured", "Check"], rows)));
        }
        let known = bound(self.retrained_distance_bound);
        let note = format!(
            "For the weights of all {N_CLASSES} classes together. All values are pure numbers. The retrained model is \
             itself known up to {known}, so a measured distance may exceed its promise by this much."
        );
        parts.push(Part::Note(note.into()));
        parts.push(Part::text(
            "The instant removal answers at once, with a cautious limit. Settling then takes a few passes over the rows and \
             brings the limit close to what computer arithmetic allows. Only then is the model released.",
        ));
        Section::new("", "What was measured", parts)
    }

    pub(super) fn not_promised(&self) -> Section {
        let seed = if self.model.danger_fixed_seed {
            "In this run the seed was chosen: nothing is certified."
        } else {
            "In this run the noise came from the operating system’s generator."
        };
        let limits = vec![
            text![
                strong("Someone who kept the old model."),
                " Whoever has a copy from before the removal can compare it with the new one, and the difference points to \
                 the removed rows. Retraining from scratch has the same limit. What helps is a policy: publish on a schedule, \
                 several removals at a time, and withdraw old versions.",
            ],
            text![
                strong("Copies of the data."),
                " Backups, caches, and models trained elsewhere from the same rows are untouched.",
            ],
            text![
                strong("Preparation of the data."),
                " Averages, vocabularies, encoders or settings that were fitted to the rows remember them, unless they are \
                 public, private by themselves, or were fixed before the data was seen. In this run: ",
                PREPROCESSING,
            ],
            text![
                strong("A chosen seed."),
                " Noise hides nothing from someone who knows the seed it came from. ",
                seed,
            ],
        ];
        Section::new("", "What this does not promise", vec![Part::List(limits)])
    }
}

impl Check {
    fn residual_holds(&self) -> bool {
        self.residual.measured <= self.residual.promised
    }
}

/// How often the best guesser between two Gaussians μ apart is right, rounded up to a hundredth of a percent.
pub(super) fn best_guess(mu: f64) -> String {
    format!("{:.2}\u{a0}%", 50.0 + (100.0 * points_over_half(mu)).ceil() / 100.0)
}

/// Percentage points by which that guesser is better than a coin (upper bound; 50 when μ is not a number).
///
/// ```text
/// Φ(μ/2) − ½ ≤ μ / (2 √(2π)) ≤ 0.199472 μ
/// ```
fn points_over_half(mu: f64) -> f64 {
    (19.9472 * mu).min(50.0)
}
