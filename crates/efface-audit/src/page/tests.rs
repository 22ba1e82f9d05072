//! The page shows every attack, and what it says follows from the audit.

use efface_core::noise::NoiseSource;

use crate::{Audit, Settings, Verdict, built_in, distribution, membership};

fn small() -> Audit {
    let settings = Settings {
        distribution: distribution::Size { draws: 200, ..distribution::Size::default() },
        membership: membership::Size { shadows: 16, trials: 10, ..membership::Size::default() },
        n_examples: 2,
        reconstruction_trials: 1,
    };
    built_in(&settings, &mut NoiseSource::danger_fixed_seed(7), &mut |_| {}).expect("audits")
}

#[test]
fn a_page_shows_every_attack() {
    let audit = small();
    let page = audit.page(1.0);
    assert_eq!(page.sections.len(), 5);
    let html = page.html();
    assert!(!html.contains("NaN") && !html.contains("not available"));
    assert!(html.contains("id=\"audit-roc\"") && html.contains("id=\"audit-digits\""));
    // With so few draws a broken engine goes unseen, and the report says so.
    assert_eq!(audit.verdict, Verdict::Blind);
    assert!(html.contains("No verdict."));
}

#[test]
fn verdicts_have_their_words() {
    let mut audit = small();
    for (verdict, words) in [(Verdict::Stands, "The claim stands."), (Verdict::Broken, "The claim is broken.")] {
        audit.verdict = verdict;
        assert!(audit.page(1.0).html().contains(words));
    }
    audit.subject.built_in = false;
    let page = audit.page(1.0).html();
    assert!(page.contains("Keep this page inside") && !page.contains("audit-digits"));
}
