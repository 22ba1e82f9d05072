//! Every attack is run, and is repelled by the check that is there for it; the untampered thing passes each time.

use std::collections::BTreeSet;
use std::process::Command;
use std::thread;

use efface_attacks::{ALL, Expected, Outcome, slow_down};

/// Every check that certificates, directories, logs and keys go through. Each must be the reason for which something is
/// refused: a check that never refuses anything is none.
const CHECKS: [&str; 26] = [
    "previous",
    "certified",
    "checkpoint",
    "consistency",
    "curve",
    "epsilon",
    "features",
    "form",
    "issuer",
    "key",
    "labels",
    "lattice",
    "limit",
    "log",
    "model",
    "mu",
    "numbers",
    "release",
    "replay",
    "request",
    "requests",
    "residual",
    "revocation",
    "signature",
    "tags",
    "total",
];

#[test]
fn every_attack_is_repelled_by_the_check_that_is_there_for_it() {
    let outcomes: Vec<(&str, Outcome)> = thread::scope(|scope| {
        let runs = ALL.map(|attack| (attack.name(), scope.spawn(|| attack.run())));
        runs.into_iter()
            .map(|(name, run)| {
                (name, run.join().expect("no panic").unwrap_or_else(|error| panic!("{name}: {error:#}")))
            })
            .collect()
    });
    let mut refusing = BTreeSet::new();
    for (name, outcome) in &outcomes {
        for attempt in &outcome.tries {
            assert!(attempt.honest.is_accepted(), "{name}: the untampered thing was refused\n{attempt}");
            assert!(attempt.is_as_expected(), "{name}: succeeded, or was refused for another reason\n{attempt}");
            if let Expected::RefusedBy(check) = attempt.expected {
                refusing.insert(check);
            }
        }
        assert!(outcome.is_repelled(), "{name}");
        let refused = |attempt: &&efface_attacks::Try| matches!(attempt.expected, Expected::RefusedBy(_));
        assert!(outcome.tries.iter().any(|attempt| refused(&attempt)), "{name}: nothing was refused");
    }
    let idle: Vec<&str> = CHECKS.into_iter().filter(|check| !refusing.contains(check)).collect();
    assert!(idle.is_empty(), "no attack is repelled by {idle:?}");
}

#[test]
fn the_budget_collapses_under_mechanism_objective_and_not_under_release() {
    let found = slow_down().expect("both mechanisms run");
    assert!(found.objective_random >= 50, "{found:?}");
    assert!(found.objective_hardest <= 5, "{found:?}");
    for releases in [&found.random, &found.hardest] {
        assert_eq!(releases.last().map(|release| release.n_removed), Some(1000), "half of the rows leave");
        for release in releases {
            assert!(release.epsilon.0 <= 0.05 * release.epsilon.1, "the promise is hardly touched: {release:?}");
            assert!(release.before_settling.1 <= release.before_settling.0, "{release:?}");
            assert!(release.released.1 <= release.released.0, "{release:?}");
            assert!(release.released.0 <= 1e-5, "the claim is as good as that of a settled model: {release:?}");
            assert!((release.accuracy.0 - release.accuracy.1).abs() <= 0.005, "{release:?}");
            assert!(release.passes <= 60, "settling takes a few passes: {release:?}");
        }
    }
}

#[test]
fn attacks_run_alone_and_unknown_names_are_refused() {
    let run = |names: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_efface-attacks")).args(names).output().expect("runs");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (code, text) = run(&["forged-certificate"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("refused by signature") && text.ends_with("forged-certificate: REPELLED\n\n"), "{text}");
    assert_eq!(run(&["no-such-attack"]).0, Some(2));
    assert_eq!(run(&["all", "no-such-attack"]).0, Some(2));
    assert_eq!(run(&[]).0, Some(2));
}
