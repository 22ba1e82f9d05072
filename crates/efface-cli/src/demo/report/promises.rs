//! The sections that a privacy officer reads: the verdict, what was promised, what was measured, what is not promised.

use std::fmt::Write as _;

use super::evidence::Rung;
use super::{Check, Report};
use crate::charts::escape;
use crate::numbers::{count, number, number_up, one_in, setting};

/// The verdict on top of the page: whether every promise that this run could check was kept.
pub(super) fn verdict(report: &Report) -> String {
    let broken = broken_promises(report);
    let mut html = if broken.is_empty() {
        format!(
            "<div class=\"verdict kept\"><p><strong>Every promise was kept.</strong> The {n} rows of subject \
             {subject} were removed, the model was settled and released, and it was compared with a model trained \
             from scratch without these rows. No measurement contradicts a promise.</p></div>\n",
            n = count(report.subject.rows.len()),
            subject = report.subject.number,
        )
    } else {
        format!(
            "<div class=\"verdict broken\"><p><strong>A promise was not kept.</strong> Do not rely on this program \
             before the cause is found. What went wrong:</p><ul><li>{}</li></ul></div>\n",
            broken.join("</li><li>"),
        )
    };
    if report.model.danger_fixed_seed {
        html += "<div class=\"verdict broken\"><p><strong>Not certified.</strong> The noise of this run came from a \
                 seed that someone chose. Whoever knows the seed can take the noise away again.</p></div>\n";
    }
    html
}

/// Every promise that does not hold, in words. A comparison with something that is not a number does not hold.
pub(in super::super) fn broken_promises(report: &Report) -> Vec<String> {
    let mut broken = Vec::new();
    for (moment, check) in moments(report) {
        if !residual_holds(check) {
            broken.push(format!("{moment}: the gradient left behind exceeds its limit"));
        }
        if !distance_holds(report, check) {
            broken.push(format!("{moment}: the distance to the retrained model exceeds its limit"));
        }
    }
    if !mu_covers_distance(report) {
        broken.push("The release claims a smaller μ than its distance and its noise give".to_owned());
    }
    if !epsilon_is_allowed(report) {
        broken.push("The release claims a larger ε than the model was set up for".to_owned());
    }
    for Rung { name: rung, bounds, truth } in report.residuals.rungs() {
        let holds = truth.len() == bounds.len() && truth.iter().zip(bounds).all(|(truth, bound)| truth <= bound);
        if !bounds.is_empty() && !holds {
            broken.push(format!("The rung “{rung}” lies below the residual it should bound"));
        }
    }
    broken
}

fn residual_holds(check: &Check) -> bool {
    check.residual.measured <= check.residual.promised
}

/// The retrained model is itself only near the exact optimum, so the promise is checked up to that much.
fn distance_holds(report: &Report, check: &Check) -> bool {
    check.distance.measured <= check.distance.promised + report.retrained_distance_bound
}

/// The μ of a release is never below `r / s`; the hair allows for the rounding of this very division.
fn mu_covers_distance(report: &Report) -> bool {
    let ratio = report.at_release.distance.promised / report.model.noise_std;
    ratio * (1.0 - 1e-12) <= report.at_release.mu.promised
}

fn epsilon_is_allowed(report: &Report) -> bool {
    report.at_release.epsilon.promised <= report.model.epsilon
}

fn moments(report: &Report) -> [(&'static str, &Check); 2] {
    [("Right after the instant removal", &report.after_removal), ("After settling, as released", &report.at_release)]
}

/// Section "What was promised".
pub(super) fn promised(report: &Report) -> String {
    let mu = report.at_release.mu.promised;
    let epsilon = report.at_release.epsilon.promised;
    format!(
        "<section>\n<h2>What was promised</h2>\n\
         <p>Imagine two worlds. In the first, the rows were trained on and Efface removed them. In the second, they \
         were never there: the model was trained from scratch on the other rows. The certificate limits how well \
         anybody can tell, from the released model, which of the two is the real one. It holds against every method \
         and any amount of computing, even for someone who knows all the rows.</p>\n<dl class=\"terms\">\n\
         <dt>In odds</dt><dd>ε&nbsp;=&nbsp;{epsilon} at δ&nbsp;=&nbsp;{delta}. Whatever is found in the released model \
         changes the odds between the two worlds by a factor of at most e<sup>ε</sup>&nbsp;=&nbsp;{factor}, but for an \
         exceptional chance of at most {one_in}.{all_in_delta} The model was set up to allow \
         ε&nbsp;=&nbsp;{allowed}.</dd>\n\
         <dt>In guesses</dt><dd>Whoever has to guess between the two worlds is right at most {guess} of the time: \
         no more than {points} percentage points better than a coin.</dd>\n\
         <dt>By which means</dt><dd>The engine keeps the exact weights secret, together with a proven limit on their \
         distance from the retrained ones: r&nbsp;=&nbsp;{distance}. A release adds fresh random noise of standard \
         deviation s&nbsp;=&nbsp;{noise} to each weight. What counts is how small \
         μ&nbsp;=&nbsp;r&nbsp;/&nbsp;s is. The digits of r depend on the rows, so a certificate does not show them: \
         every settled release claims the same μ&nbsp;=&nbsp;{mu}, which r&nbsp;/&nbsp;s stays below. The size of the noise was fixed when the model was created; it does not depend on the \
         data and does not grow with the number of removals.</dd>\n</dl>\n\
         <p class=\"formula\">δ = Φ(μ/2 − ε/μ) − e<sup>ε</sup> Φ(−μ/2 − ε/μ), where Φ is the normal distribution \
         function. Limits are printed rounded up.</p>\n</section>\n",
        delta = setting(report.model.delta),
        factor = number_up(epsilon.exp()),
        one_in = one_in(report.model.delta),
        all_in_delta =
            if epsilon == 0.0 { " Here the two worlds are so close that δ alone covers the difference." } else { "" },
        allowed = setting(report.model.epsilon),
        guess = best_guess(mu),
        points = number_up(points_over_half(mu)),
        distance = number_up(report.at_release.distance.promised),
        noise = setting(report.model.noise_std),
        epsilon = number_up(epsilon),
        mu = number_up(mu),
    )
}

/// How often the best guesser between two Gaussians μ apart is right, rounded up to a hundredth of a percent.
pub(super) fn best_guess(mu: f64) -> String {
    format!("{:.2}&nbsp;%", 50.0 + (100.0 * points_over_half(mu)).ceil() / 100.0)
}

/// Percentage points by which that guesser is better than a coin (upper bound; 50 when μ is not a number).
///
/// ```text
/// Φ(μ/2) − ½ ≤ μ / (2 √(2π)) ≤ 0.199472 μ
/// ```
fn points_over_half(mu: f64) -> f64 {
    (19.9472 * mu).min(50.0)
}

/// Section "What was measured": the table of promises and measurements.
pub(super) fn measured(report: &Report) -> String {
    let mut rows = String::new();
    for (moment, check) in moments(report) {
        let _ = writeln!(rows, "<tr class=\"group\"><th colspan=\"4\" scope=\"rowgroup\">{moment}</th></tr>");
        let residual = format!("Gradient left behind <small>(limit from the rung “{}”)</small>", escape(&check.rung));
        let lines = [
            (residual.as_str(), check.residual, kept(residual_holds(check))),
            ("Distance r to the retrained weights", check.distance, kept(distance_holds(report, check))),
            ("μ, if released now", check.mu, "from r and s"),
            ("ε at δ, if released now", check.epsilon, "from μ"),
        ];
        for (what, pair, note) in lines {
            let _ = writeln!(
                rows,
                "<tr><th scope=\"row\">{what}</th><td class=\"num\">{}</td><td \
                 class=\"num\">{}</td><td>{note}</td></tr>",
                number_up(pair.promised),
                number(pair.measured),
            );
        }
    }
    format!(
        "<section>\n<h2>What was measured</h2>\n\
         <p>The remaining rows were trained on once more, from scratch. That model shows how far the updated weights \
         really were from where they should be. A measurement can expose a broken promise; that a promise always \
         holds is shown by proof, not by a run like this one.</p>\n<figure>\n<div class=\"wide\">\n<table>\n\
         <thead><tr><th scope=\"col\">Quantity</th><th scope=\"col\" class=\"num\">Promised, at most</th>\
         <th scope=\"col\" class=\"num\">Measured</th><th scope=\"col\">Check</th></tr></thead>\n\
         <tbody>\n{rows}</tbody>\n</table>\n</div>\n\
         <figcaption>Promised and measured, for the weights of all {classes} classes together. All values are pure \
         numbers. The retrained model is itself known up to {slack}, so a measured distance may exceed its promise by \
         this much.</figcaption>\n</figure>\n\
         <p>The instant removal answers at once, with a cautious limit. Settling then takes a few passes over the \
         rows and brings the limit close to what computer arithmetic allows. Only then is the model \
         released.</p>\n</section>\n",
        classes = report.model.n_classes,
        slack = number_up(report.retrained_distance_bound),
    )
}

fn kept(holds: bool) -> &'static str {
    if holds { "<span class=\"good\">✓ kept</span>" } else { "<span class=\"bad\">✗ not kept</span>" }
}

/// Section "What this does not promise".
pub(super) fn not_promised(report: &Report) -> String {
    let seed = if report.model.danger_fixed_seed {
        "In this run the seed was chosen: nothing is certified"
    } else {
        "In this run the noise came from the operating system’s generator"
    };
    format!(
        "<section>\n<h2>What this does not promise</h2>\n<ul class=\"limits\">\n\
         <li><b>Someone who kept the old model.</b> Whoever has a copy from before the removal can compare it with \
         the new one, and the difference points to the rows that left. Retraining from scratch has the same limit. \
         What helps is a policy: publish on a schedule, several removals at a time, and withdraw old versions.</li>\n\
         <li><b>Copies of the data.</b> Backups, caches, and models trained elsewhere from the same rows are \
         untouched.</li>\n\
         <li><b>Preparation of the data.</b> Averages, vocabularies, encoders or settings that were fitted to the rows \
         remember them, unless they are public, private by themselves, or were fixed before the data was seen. In this \
         run: {preprocessing}</li>\n\
         <li><b>A chosen seed.</b> Noise hides nothing from someone who knows the seed it came from. {seed}.</li>\n\
         </ul>\n</section>\n",
        preprocessing = escape(&report.model.preprocessing),
    )
}
