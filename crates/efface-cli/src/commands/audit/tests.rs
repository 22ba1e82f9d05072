//! The report stands alone, and what it shows follows from the audit.

use efface_audit::{Settings, built_in, distribution, membership};
use efface_core::noise::NoiseSource;

use super::*;

fn small() -> Audit {
    let settings = Settings {
        distribution: distribution::Size { draws: 200, ..distribution::Size::default() },
        membership: membership::Size { shadows: 16, trials: 10, ..membership::Size::default() },
        n_examples: 2,
        reconstruction_trials: 1,
    };
    let public = public_rows::digits().expect("digits");
    built_in(&public, &settings, &mut NoiseSource::danger_fixed_seed(7), &mut |_| {}).expect("audits")
}

#[test]
fn report_stands_alone_and_shows_every_attack() {
    let audit = small();
    let page = page::render(&audit, 1.0).replace("http://www.w3.org/2000/svg", "");
    for reference in ["http", "<script", "<link", "<img", "@import", "src=", "NaN", "unknown"] {
        assert!(!page.contains(reference), "the page contains `{reference}`");
    }
    for tag in
        ["section", "table", "tr", "td", "th", "figure", "figcaption", "svg", "p", "ol", "ul", "li", "span", "div"]
    {
        let opened = page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count();
        assert_eq!(opened, page.matches(&format!("</{tag}>")).count(), "<{tag}>");
    }
    assert_eq!(page.matches("<section>").count(), 5);
    // With so few draws a broken engine goes unseen, and the report says so.
    assert_eq!(audit.verdict, Verdict::Blind);
    assert!(page.contains("No verdict."));
}

#[test]
fn verdicts_have_their_words() {
    let mut audit = small();
    for (verdict, words) in [(Verdict::Stands, "The claim stands."), (Verdict::Broken, "The claim is broken.")] {
        audit.verdict = verdict;
        assert!(page::render(&audit, 1.0).contains(words));
    }
    audit.subject.built_in = false;
    let page = page::render(&audit, 1.0);
    assert!(page.contains("Keep this page inside") && !page.contains("class=\"digit\""));
}
