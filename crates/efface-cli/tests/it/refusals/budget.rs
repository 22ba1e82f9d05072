//! Negative answers: a spent budget is exit code 1 and an outcome, not an error, and retraining makes up for it.

use crate::sandbox::{COLUMNS, Sandbox, class, number, table, target};

/// A perturbation so small that any removal spends more than the budget.
const TINY: &str = "--mechanism objective --noise-std 1e-7";

#[test]
fn a_spent_budget_is_answered_with_code_1_until_the_model_is_retrained() {
    let sandbox = Sandbox::with_model(TINY);
    sandbox.json("release model");

    let removed = sandbox.run("remove model --id u1 --json");
    removed.ends_with(1);
    let report = removed.json();
    assert_eq!((&report["outcome"], &report["n_rows"]), (&"retrain-required".into(), &59.into()));
    assert!(number(&report, "spent") > number(&report, "budget"), "{report}");

    let status = sandbox.run("status model --json");
    status.ends_with(1);
    assert_eq!(status.json()["outcome"], "retrain-required");

    let refused = sandbox.run("release model --json");
    refused.ends_with(1);
    let report = refused.json();
    assert_eq!(report["outcome"], "retrain-required");
    assert!(number(&report, "spent") > number(&report, "budget"), "{report}");
    assert_eq!(sandbox.names("model/releases"), ["1"]);

    // The removal counts all the same, and further ones may follow.
    sandbox.refuses("remove model --id u1", &["row id `u1` has already been removed"]);
    sandbox.run("remove model --id u2 --json").ends_with(1);

    let retrained = sandbox.json("retrain model");
    assert_eq!(retrained["n_rows"], 58);
    let status = sandbox.json("status model");
    assert_eq!((&status["outcome"], &status["n_removed"]), (&"done".into(), &2.into()));
    assert_eq!(sandbox.json("release model")["release"], 2);
}

#[test]
fn settling_right_after_a_removal_decides_whether_the_model_stands() {
    let sandbox = Sandbox::with_model("--mechanism objective --noise-std 1e-4");
    sandbox.run("remove model --id u1 --json").ends_with(1);
    let settled = sandbox.json("remove model --id u2 --settle");
    assert_eq!(settled["outcome"], "done");
    assert_eq!(sandbox.json("status model")["outcome"], "done");
}

/// Exact sums take a matrix: with more features than one is made of there must be noise, never a bare ε = 0.
#[test]
fn too_many_features_for_exact_sums_need_noise() {
    let sandbox = Sandbox::new();
    sandbox.write("numbers.csv", table(0..60, target));
    let train = format!("train numbers.csv {COLUMNS} --loss squared --max-matrix-dim 1 --out model");
    sandbox.refuses(
        &train,
        &["3 features (an intercept counts as one) are more than the limit of 1", "hint: add noise with"],
    );
    sandbox.json(&format!("{train} --noise-std 0.001"));
    sandbox.json("remove model --id u5");
    let released = sandbox.json("release model");
    assert_eq!((number(&released, "epsilon"), number(&released, "delta")), (1.0, 1e-4));
}

#[test]
fn people_are_told_what_to_do_about_a_spent_budget() {
    let sandbox = Sandbox::with_model(TINY);
    for arguments in ["remove model --id u1", "status model", "release model"] {
        let answer = sandbox.run(arguments);
        answer.ends_with(1);
        assert_eq!(answer.stdout, "");
        assert!(answer.stderr.contains("efface retrain model"), "{answer:?}");
    }
}

#[test]
fn retraining_draws_a_fresh_perturbation() {
    let sandbox = Sandbox::with_model("--mechanism objective --noise-std 10");
    let weights = |release: usize| {
        sandbox.json("release model");
        sandbox.json_file(&format!("model/releases/{release}/model.json"))["weights"].clone()
    };
    let first = weights(1);
    assert_eq!(first, weights(2), "a perturbed model is published as it is");
    sandbox.json("retrain model");
    assert_ne!(first, weights(3));
}

/// Settings under which nothing could ever be released are refused by `train`, with others that work.
#[test]
fn a_promise_that_the_noise_cannot_keep_is_refused_before_there_is_a_model() {
    let sandbox = Sandbox::new();
    sandbox.write("rows.csv", table(0..60, class));
    for hopeless in ["--noise-std 1e-14", "--l2 1e-13"] {
        let train = |settings: &str| sandbox.run(&format!("train rows.csv {COLUMNS} {settings} --out model"));
        let refused = train(hopeless);
        refused.is_refusal(&[
            "ever be released without noise of at least ",
            " or fewer releases",
            "hint: set --noise-std",
        ]);
        assert!(!sandbox.names(".").contains(&"model".into()));
        let advice = refused.stderr.split("noise of at least ").nth(1).expect("advice");
        let noise_std = advice.split([' ', ',']).next().expect("a number");
        train(&format!("{hopeless} --noise-std {noise_std}").replace("--noise-std 1e-14", "")).ends_with(0);
        sandbox.json("release model");
        std::fs::remove_dir_all(sandbox.path("model")).expect("removable");
    }
    let tiny = format!("train rows.csv {COLUMNS} --l2 1e-300 --out model");
    sandbox.refuses(&tiny, &["nothing could ever be released without an l2 of at least ", " or fewer releases"]);
}

#[test]
fn what_releases_spend_adds_up_by_squares() {
    let sandbox = Sandbox::with_model("");
    let mut squares = 0.0;
    for release in 1..=4 {
        let released = sandbox.json("release model");
        assert_eq!(released["release"], release);
        squares += number(&released, "mu").powi(2);
        let total = number(&released, "mu_total");
        assert!((total / squares.sqrt() - 1.0).abs() < 1e-9 && total.powi(2) >= squares, "{total} {squares}");
    }
    let before = number(&sandbox.json("status model"), "mu_total");
    sandbox.json("retrain model");
    assert_eq!(number(&sandbox.json("status model"), "mu_total"), before, "retraining takes no release back");
}
