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
        assert_eq!(certificate["extractor"], serde_json::json!({"epsilon": 0.5, "delta": 1e-5, "group": 1}));
    }
}

/// The share of a private extractor was added once, however many rows left.
#[test]
fn an_extractor_is_claimed_for_its_group_and_beyond_it_nothing_is_released() {
    let sandbox = Sandbox::with_model("--extractor-epsilon 0.5 --extractor-delta 1e-6 --extractor-group 3");
    let told = |words: &str| {
        let status = sandbox.run("status model");
        assert!(status.stdout.contains(words) || status.stderr.contains(words), "{status:?}");
    };
    told("(0.5, 1e-6) per row; the promise covers 3 rows removed or corrected, 0 so far");
    let claim = |group: u32, epsilon: f64| {
        let (_, certificate) = release(&sandbox, "");
        assert_eq!(certificate["extractor"]["group"], group);
        let (found, delta) = (number(&certificate, "epsilon"), number(&certificate, "delta"));
        assert!((found - epsilon).abs() < 1e-12, "{found} {epsilon}");
        let sum: f64 = (0..group).map(|i| (0.5 * f64::from(i)).exp()).sum();
        assert!((delta - 1e-4 - 1e-6 * sum).abs() < 1e-15, "{delta}");
        certificate
    };
    let first = claim(3, 2.5);
    sandbox.json("remove model --id u1 u2");
    let second = claim(3, 2.5);
    assert_eq!((&first["epsilon"], &first["delta"]), (&second["epsilon"], &second["delta"]));
    sandbox.json("remove model --id u3");
    claim(3, 2.5);
    told("the promise covers 3 rows removed or corrected, 3 so far");
    let last = "model/releases/3/certificate.json";
    sandbox.json(&format!("verify {last} --key model/signing.key.pub --model model/releases/3/model.json"));
    let shown = sandbox.run(&format!("certificate show {last}"));
    let words = "private, (0.5, 1e-6) per row; for 3 rows";
    assert!(format!("{}{}", shown.stdout, shown.stderr).contains(words), "{shown:?}");

    let removed = sandbox.run("remove model --id u4 --json");
    removed.ends_with(1);
    assert_eq!((&removed.json()["outcome"], &removed.json()["n_changed"]), (&"retrain-required".into(), &1.into()));
    sandbox.run("retrain model").ends_with(1);
    let refused = sandbox.run("release model");
    refused.ends_with(1);
    let told = format!("{}{}", refused.stdout, refused.stderr);
    assert!(told.contains("not published: extractor-exhausted"), "{told}");
    assert!(told.contains("train a new extractor on the remaining rows"), "{told}");
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
    assert_eq!((limits("release"), limits("objective")), (0, 4));
}
