//! Parameters out of range: the message names the parameter, the value and what is allowed, and nothing is made.

use crate::sandbox::{COLUMNS, Sandbox, table, target};

#[test]
fn numbers_out_of_range_are_refused_before_training() {
    let sandbox = Sandbox::with_table();
    let cases = [
        ("--l2", &["0", "-1e-3", "NaN", "inf", "-0.0"][..], "l2 must be positive and finite"),
        ("--epsilon", &["0", "-1", "NaN", "inf"], "epsilon must be positive and finite"),
        ("--delta", &["0", "1", "-0.1", "1.5", "NaN"], "delta must be above 0 and below 1"),
        ("--noise-std", &["0", "-1", "NaN", "inf"], "the standard deviation of the noise must be positive"),
        ("--tolerance", &["0", "-1e-9", "NaN", "inf"], "tolerance must be positive and finite"),
        ("--negatives", &["0", "-0.5", "1.01", "NaN"], "negatives must be above 0 and at most 1"),
    ];
    for (name, values, message) in cases {
        for value in values {
            // Numbers are shown as numbers are printed, not as they were typed.
            let shown = value.parse::<f64>().expect("a number").to_string();
            let parts = ["error: ", message, &format!("got `{shown}`")];
            sandbox.refuses(&format!("train two.csv {COLUMNS} --out model {name} {value}"), &parts);
            if !["--tolerance", "--negatives"].contains(&name) {
                sandbox.refuses(&format!("plan --rows 1000 --dim 5 {name} {value}"), &parts);
                sandbox.refuses(&format!("plan two.csv --label y --features a,b {name} {value}"), &parts);
            }
        }
    }
    for value in ["0", "-1", "NaN", "inf"] {
        let trained = Sandbox::with_model("");
        trained
            .refuses(&format!("settle model --tolerance {value}"), &["tolerance must be positive and finite, got `"]);
    }
    assert!(!sandbox.exists("model"));
}

#[test]
fn an_extractor_must_have_spent_something_possible() {
    let sandbox = Sandbox::with_table();
    for (epsilon, delta) in [("-1", "0"), ("NaN", "0"), ("inf", "0"), ("1", "-0.1"), ("1", "1"), ("1", "NaN")] {
        let arguments = format!("--extractor-epsilon {epsilon} --extractor-delta {delta}");
        let parts = ["the extractor's epsilon must be at least 0 and its delta in [0, 1)", "got `"];
        sandbox.refuses(&format!("train two.csv {COLUMNS} --out model {arguments}"), &parts);
    }
    let arguments = "--extractor-epsilon 1 --extractor-delta 1e-6 --extractor-group";
    let train = |group: usize| format!("train two.csv {COLUMNS} --out model {arguments} {group}");
    sandbox.refuses(&train(0), &["for a group of at least 1 row", "got `1`, `0.000001` and `0`"]);
    sandbox.refuses(&train(50), &["promises nothing to a group of `50` rows", "must stay below 1"]);
}

#[test]
fn a_plan_needs_rows_and_features() {
    let sandbox = Sandbox::new();
    for (rows, dim) in [(0, 5), (5, 0), (0, 0)] {
        let message = format!("rows and dim must be at least 1, got `{rows}` and `{dim}`");
        sandbox.refuses(&format!("plan --rows {rows} --dim {dim}"), &[&message]);
    }
}

#[test]
fn a_plan_for_very_many_rows_is_made_all_the_same() {
    let sandbox = Sandbox::new();
    sandbox.json("plan --rows 100000000000000 --dim 1000");
    assert_eq!(sandbox.json("plan --rows 1 --dim 1")["n_rows"], 1);
}

/// What the parser of arguments refuses by itself: its message has more than one line, and the code is 2 all the same.
#[test]
fn arguments_that_make_no_sense_end_with_code_2() {
    let sandbox = Sandbox::with_table();
    for (arguments, message) in [
        ("", "Usage"),
        ("fly", "fly"),
        ("train two.csv --label y", "--out"),
        ("train two.csv --out model", "--label"),
        ("train two.csv --label y --out model --l2 lots", "lots"),
        ("train two.csv --label y --out model --loss hinge", "hinge"),
        ("train two.csv --label y --out model --bound tight", "tight"),
        ("train two.csv --label y --out model --scale clip:0", "clip:R"),
        ("train two.csv --label y --out model --scale clip:NaN", "clip:R"),
        ("train two.csv --label y --out model --scale metric", "clip:R"),
        ("train two.csv --label y --out model --scale within:0", "within:R"),
        ("train two.csv --label y --out model --extractor-epsilon 1", "--extractor-delta"),
        ("train two.csv --label y --out model --extractor-group 3", "--extractor-epsilon"),
        ("remove model", "--id"),
        ("remove model --id u1 --subject p1", "--subject"),
        ("plan --rows 10", "--dim"),
    ] {
        let answer = sandbox.run(arguments);
        answer.ends_with(2);
        assert!(answer.stdout.is_empty() && answer.stderr.contains(message), "{answer:?}");
    }
    assert_eq!(sandbox.names("."), ["two.csv"]);
}

#[test]
fn a_place_that_is_taken_is_not_overwritten() {
    let sandbox = Sandbox::with_model("");
    let parts = ["error: model exists already", "hint: choose another place"];
    sandbox.refuses(&format!("train two.csv {COLUMNS} --out model"), &parts);
    sandbox.write("taken", "");
    sandbox.refuses(&format!("train two.csv {COLUMNS} --out taken"), &["error: taken exists already"]);
    sandbox.refuses(&format!("train two.csv {COLUMNS} --out taken/model"), &["error: taken/model"]);
    sandbox.refuses("release model --out taken", &["error: taken exists already"]);
    sandbox.write("free.json.certificate.json", "");
    sandbox.refuses("release model --out free.json", &["error: free.json.certificate.json exists already"]);
    assert_eq!(sandbox.json("status model")["n_releases"], 0);
}

/// A release that cannot be copied to where it was asked for must not count: the noise it spent would be lost.
#[test]
fn a_release_that_cannot_be_copied_is_not_spent() {
    let sandbox = Sandbox::with_model("");
    sandbox.refuses("release model --out nowhere/model.json", &["error: nowhere/model.json", "No such file"]);
    assert_eq!(sandbox.json("status model")["n_releases"], 0);
    sandbox.refuses("release model --out two.csv/model.json", &["error: two.csv/model.json"]);
    assert_eq!(sandbox.json("release model --out there.json")["release"], 1);
    assert_eq!(sandbox.names("."), ["model", "there.json", "there.json.certificate.json", "two.csv"]);
}

#[test]
fn noise_beyond_all_use_is_refused() {
    let sandbox = Sandbox::with_table();
    for mechanism in ["release", "objective"] {
        let train = format!("train two.csv {COLUMNS} --mechanism {mechanism} --noise-std 1e101 --out model");
        sandbox.refuses(&train, &["at most 1e100, got `1e101`", "hint: --noise-std sets it"]);
    }
}

#[test]
fn noise_may_be_left_out_for_the_squared_loss_only() {
    let sandbox = Sandbox::new();
    sandbox.write("numbers.csv", table(0..30, target));
    let train = format!("train numbers.csv {COLUMNS} --loss squared --noise-std");
    sandbox.json(&format!("{train} 0 --out exact"));
    sandbox.refuses(&format!("{train} -1 --out model"), &["the noise must be positive", "got `-1`"]);
}

/// A key was made without protection when the file with its passphrase was empty.
#[test]
fn an_empty_passphrase_file_makes_no_key() {
    let sandbox = Sandbox::new();
    for content in ["", "\n", "\nsecond line\n"] {
        sandbox.write("passphrase", content);
        sandbox.refuses("key new key --passphrase-file passphrase", &["the first line must be the passphrase"]);
        assert!(!sandbox.exists("key") && !sandbox.exists("key.pub"));
    }
}
