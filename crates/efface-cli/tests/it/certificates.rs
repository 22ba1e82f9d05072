//! What a certificate says: the promise with an extractor's share, and the mark of predictable noise.

use serde_json::Value;

use crate::sandbox::{COLUMNS, Sandbox, number};

/// Releases once and returns the answer and the certificate.
fn release(sandbox: &Sandbox, arguments: &str) -> (Value, Value) {
    let released = sandbox.json(&format!("release model {arguments}"));
    let certificate = sandbox.certificate(released["certificate"].as_str().expect("a path"));
    (released, certificate)
}

#[test]
fn a_certificate_repeats_what_release_answers() {
    let sandbox = Sandbox::with_model("");
    sandbox.json("remove model --id u1 u2");
    let (released, certificate) = release(&sandbox, "");
    for key in ["release", "noise_std", "mu", "mu_total", "epsilon", "delta", "distance_bound", "certified"] {
        assert_eq!(released[key], certificate[key], "{key}");
    }
    assert_eq!((&certificate["n_removed"], &certificate["dim"]), (&2.into(), &3.into()));
    assert_eq!((number(&certificate, "epsilon"), number(&certificate, "delta")), (1.0, 1e-4));
    assert!(number(&certificate, "mu_total") <= number(&certificate, "mu_limit"));
    let secret = certificate.to_string();
    for id in ["u1", "p0", "salt", "weights"] {
        assert!(!secret.contains(id), "{id} in {secret}");
    }
}

#[test]
fn what_an_extractor_spent_is_added_to_the_promise() {
    for (law, delta) in [("gaussian", 1e-4 + 1e-5), ("gamma", 1e-5)] {
        let sandbox = Sandbox::with_model(&format!("--law {law} --extractor-epsilon 0.5 --extractor-delta 1e-5"));
        let (released, certificate) = release(&sandbox, "");
        for claim in [&released, &certificate, &sandbox.json("status model")] {
            assert!((number(claim, "epsilon") - 1.5).abs() < 1e-12, "{claim}");
            assert!((number(claim, "delta") - delta).abs() < 1e-12, "{claim}");
        }
        assert!(number(&released, "epsilon_spent") >= 0.5);
        assert_eq!(number(&certificate["extractor"], "epsilon"), 0.5);
    }
}

#[test]
fn a_fixed_seed_marks_the_release_and_all_that_follow() {
    let sandbox = Sandbox::with_model("");
    let (released, certificate) = release(&sandbox, "");
    assert_eq!((&released["certified"], &certificate["certified"]), (&true.into(), &true.into()));
    let (released, certificate) = release(&sandbox, "--danger-fixed-seed 7");
    assert_eq!((&released["certified"], &certificate["certified"]), (&false.into(), &false.into()));
    let (released, certificate) = release(&sandbox, "");
    assert_eq!((&released["certified"], &certificate["certified"]), (&false.into(), &false.into()));
    assert_eq!(sandbox.json("status model")["certified"], false);
}

#[test]
fn a_fixed_seed_marks_a_model_that_is_perturbed_at_training() {
    let sandbox = Sandbox::with_table();
    let train = format!("train two.csv {COLUMNS} --mechanism objective --danger-fixed-seed 7 --json --out model");
    let trained = sandbox.run(&train);
    trained.ends_with(0);
    assert!(trained.stderr.starts_with("warning: "), "{trained:?}");
    assert_eq!(trained.json()["certified"], false);
    let (released, certificate) = release(&sandbox, "");
    assert_eq!((&released["certified"], &certificate["certified"]), (&false.into(), &false.into()));
    assert_eq!(sandbox.json("status model")["certified"], false);
    assert_eq!(sandbox.json(&format!("train two.csv {COLUMNS} --mechanism objective --out other"))["certified"], true);
}

#[test]
fn the_same_seed_gives_the_same_release() {
    let weights = |seed: u64| {
        let sandbox = Sandbox::with_model("");
        sandbox.json(&format!("release model --danger-fixed-seed {seed}"));
        sandbox.json_file("model/releases/1/model.json")["weights"].clone()
    };
    assert_eq!(weights(7), weights(7));
    assert_ne!(weights(7), weights(8));
}

#[test]
fn people_are_warned_of_a_fixed_seed() {
    let sandbox = Sandbox::with_model("");
    let released = sandbox.run("release model --danger-fixed-seed 7");
    released.ends_with(0);
    assert!(released.stderr.contains("NOT certified"), "{released:?}");
    assert!(sandbox.run("status model").stderr.contains("NO: a fixed seed was used"));
}

#[test]
fn the_limits_of_the_published_proof_are_named_with_mechanism_objective() {
    let limits = |mechanism: &str| {
        let sandbox = Sandbox::with_model(&format!("--mechanism {mechanism}"));
        release(&sandbox, "").1["limits"].as_array().expect("a list").len()
    };
    assert_eq!((limits("release"), limits("objective")), (0, 3));
}
