//! The table of a release's numbers: each as the certificate has it, bounds never shown smaller than they are.

use efface_core::model::MechanismKind;
use efface_core::noise::{NoiseArithmetic, NoiseLaw};
use efface_core::ridge::Ridge;
use efface_ledger::certificate::ReleaseCertificate;
use efface_report::numbers::{bound, counted, promised, setting};
use efface_report::{Part, Table, Text, capitalized, text};

use super::super::super::ledger::in_words as policy;
use super::super::show::{feature_map, in_words, known_by, renewed};
use super::{hash, shown};
use crate::output::first_of;

/// Every number that the claim is made of.
pub(super) fn table(c: &ReleaseCertificate) -> Table {
    let mut rows = vec![
        ("Promised for all releases", format!("{}{}", guarantee(c.epsilon, c.delta), renewed(c.lives))),
        ("Proved so far", format!("ε = {} at that δ", bound(c.epsilon_spent))),
        ("μ: this, all, limit", [c.mu, c.mu_total, c.mu_limit].map(bound).join(" / ")),
        ("From retraining", format!("weights at most {} away; {}", bound(c.distance_bound), shown(known_by(c)))),
        ("Gradient residual", format!("at most {}", bound(c.gradient_residual))),
        ("Noise", noise(c)),
        ("Mechanism", mechanism(c)),
        ("Rows", rows_and_weights(c)),
        ("Scale of rows", scale(c)),
        (
            "Extractor",
            c.extractor.map_or_else(
                || "none".into(),
                |extractor| {
                    let cost = extractor.cost();
                    let whole = match extractor.group {
                        1 => String::new(),
                        n => format!(
                            "; for {} together {}",
                            counted(n, "row", "rows"),
                            guarantee(cost.epsilon, cost.delta)
                        ),
                    };
                    format!("private per row: {}{whole}", guarantee(extractor.epsilon, extractor.delta))
                },
            ),
        ),
        ("Releases made", shown(&policy(c.decided.policy))),
        ("Withdrawn so far", withdrawn(&c.decided.revoked)),
    ];
    if !c.feature_maps.is_empty() {
        let maps: Vec<String> = c.feature_maps.iter().map(|map| shown(&feature_map(map))).collect();
        rows.insert(9, ("Features", maps.join("; ")));
    }
    if c.extractor.is_some() {
        rows.insert(1, ("… by removal", guarantee(c.promise.epsilon, c.promise.delta)));
    }
    Table::pairs("", rows)
}

/// `(ε, δ) = (1, 10⁻⁴)`.
pub(super) fn guarantee(epsilon: f64, delta: f64) -> String {
    format!("(ε,\u{a0}δ)\u{a0}=\u{a0}({},\u{a0}{})", promised(epsilon), promised(delta))
}

fn noise(c: &ReleaseCertificate) -> String {
    if c.noise_std == 0.0 {
        return "none".into();
    }
    let law = match NoiseLaw::by_tag(&c.law) {
        Some(NoiseLaw::Gaussian) => "Gaussian, standard deviation".into(),
        Some(NoiseLaw::Gamma) => "Gamma (density falls with the norm), scale".into(),
        None => shown(&c.law),
    };
    let drawn = match (NoiseArithmetic::by_tag(&c.arithmetic.noise), c.lattice_step) {
        (Some(NoiseArithmetic::Idealized), _) => "drawn in double precision and treated as ideal".into(),
        (Some(NoiseArithmetic::Exact), Some(step)) => format!("exact, on a lattice of step {}", setting(step)),
        _ => shown(&c.arithmetic.noise),
    };
    format!("{law} {}; {drawn}", setting(c.noise_std))
}

fn mechanism(c: &ReleaseCertificate) -> String {
    let noise = match MechanismKind::by_tag(&c.mechanism) {
        Some(MechanismKind::Release) if c.noise_std > 0.0 => "release: fresh noise on every published model".into(),
        Some(MechanismKind::Objective) => "objective: one perturbation at training".into(),
        _ => shown(&c.mechanism),
    };
    let budget = c.budget.as_ref().map_or_else(String::new, |budget| format!(", {} budget", shown(budget)));
    let symbol = if let Ridge::PerRow(_) = c.ridge { "λ" } else { "α" };
    let ridge = format!("{symbol}\u{a0}=\u{a0}{}", setting(c.ridge.strength()));
    format!("{noise}; {} loss, {ridge}, {} constants{budget}", shown(&c.loss), shown(&c.gamma))
}

fn rows_and_weights(c: &ReleaseCertificate) -> String {
    let rows = counted(c.n_rows, "row", "rows");
    let problems =
        if c.n_problems == 1 { String::new() } else { format!(", {}", counted(c.n_problems, "problem", "problems")) };
    let negatives = c.negatives.map_or_else(String::new, |part| format!("; {} of the negatives", setting(part)));
    let weighing = c.weight_sum.map_or_else(String::new, |sum| format!(" that count as {}", setting(sum)));
    format!("{rows}{weighing}{problems}; {}{negatives}", counted(c.dim, "weight", "weights"))
}

fn scale(c: &ReleaseCertificate) -> String {
    let intercept = if c.intercept { ", with an intercept" } else { "" };
    let norms = c.row_norm_bound.map_or_else(|| "any norm".into(), |norm| format!("norms at most {}", bound(norm)));
    format!("{}{intercept}; {norms}", shown(&c.scale))
}

fn withdrawn(releases: &[usize]) -> String {
    if releases.is_empty() { "none".into() } else { first_of(releases.iter().map(usize::to_string), 12) }
}

/// What whoever has this release and the one before could learn.
pub(super) fn since_previous(c: &ReleaseCertificate) -> Part {
    let since = &c.since_previous;
    let words = shown(&capitalized(&in_words(&since.exposure)));
    let Some(release) = since.release else { return Part::text(format!("{words}.")) };
    let changed = counted(since.n_people, "person’s rows left or changed", "people’s rows left or changed");
    let before = since.certificate.as_ref().map_or_else(Text::default, |certificate| {
        text![" Its certificate has the payload SHA-256 ", hash(certificate), "."]
    });
    Part::text(text![
        format!(
            "{words}. The release before is release {release}; since then {changed} ({} removed, {} corrected, {} added).",
            since.n_removed, since.n_corrected, since.n_added
        ),
        before,
    ])
}
