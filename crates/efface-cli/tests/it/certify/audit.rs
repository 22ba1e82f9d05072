//! `efface audit`: what it answers, which files it leaves, and that it tells nothing about a row.

use serde_json::Value;

use crate::sandbox::{COLUMNS, Sandbox, features, number, table, three_classes};

fn cases(value: &Value) -> &[Value] {
    value["distribution"]["cases"].as_array().expect("a list")
}

#[test]
fn built_in_problems_stand_and_broken_engines_are_caught() {
    let sandbox = Sandbox::new();
    let answer = sandbox.run("audit --built-in --quick --danger-fixed-seed 7 --json --out audit.html");
    answer.ends_with(0);
    let value = answer.json();
    assert_eq!((&value["verdict"], &value["report"]), (&"stands".into(), &"audit.html".into()));
    for case in cases(&value) {
        assert!(number(case, "epsilon_lower") <= number(case, "epsilon_claimed"), "{case}");
        let has_noise = number(case, "mu_claimed") > 0.0;
        assert!(!has_noise || number(case, "mu_lower") <= number(case, "mu_claimed"), "{case}");
    }
    let engines = value["self_test"]["engines"].as_array().expect("a list");
    assert_eq!(engines.len(), 11);
    for (i, engine) in engines.iter().enumerate() {
        assert_eq!((&engine["caught"], &engine["from_outside"]), (&true.into(), &(i < 5).into()), "{engine}");
        let exceeds = number(engine, "epsilon_lower") > number(engine, "epsilon_claimed");
        assert!(exceeds == (i < 5), "{engine}");
        assert!(engine["direct_failures"].as_array().is_some_and(|failures| !failures.is_empty()), "{engine}");
    }
    let membership = &value["membership"];
    assert!(number(&membership["before_removal"]["auc"], "value") > 0.9, "{membership}");
    assert!((number(&membership["after_removal"]["auc"], "value") - 0.5).abs() < 0.15, "{membership}");
    assert!(number(membership, "distance") < number(membership, "distance_limit"));
    let batches = value["reconstruction"]["batches"].as_array().expect("a list");
    let met = |i: usize, by: &str| number(&batches[i][by], "value");
    assert!(met(0, "removal") > 0.9 && met(0, "retraining") > 0.9, "{batches:?}");
    assert!(met(5, "removal") < met(0, "removal") - 0.15, "{batches:?}");
    let page = sandbox.text("audit.html");
    assert!(page.contains("The claim stands.") && page.contains("reconstructed") && !page.contains("Keep this page"));
}

#[test]
fn too_few_draws_are_a_negative_answer() {
    let sandbox = Sandbox::new();
    let answer = sandbox.run("audit --built-in --quick --draws 200 --danger-fixed-seed 7");
    answer.ends_with(1);
    assert!(answer.stdout.is_empty() && answer.stderr.contains("went unseen"), "{answer:?}");
    assert!(sandbox.text("efface-audit.html").contains("No verdict."));
}

/// Where the first class had gone, each label was scored by the margin of the class behind it, the last one by none, and the
/// audit never ended.
#[test]
fn a_model_that_lost_its_first_class_is_attacked() {
    let sandbox = Sandbox::new();
    let first = table([100], |_, _| "first".into());
    let others = table(0..80, |i, _| ["low", "middle", "high"][i % 3].into());
    sandbox.write("rows.csv", format!("{first}{}", others.split_once('\n').expect("a header").1));
    sandbox.json(&format!("train rows.csv {COLUMNS} --out model"));
    assert_eq!(sandbox.json("remove model --id u100")["classes_gone"], serde_json::json!(["first"]));
    let answer = sandbox.run("audit model --quick --draws 1000 --danger-fixed-seed 3 --json --out audit.html");
    let auc = number(&answer.json()["membership"]["before_removal"]["auc"], "value");
    assert!((0.0..=1.0).contains(&auc), "{answer:?}");
}

#[test]
fn a_model_is_attacked_and_left_as_it_is() {
    let sandbox = Sandbox::with_model("");
    sandbox.json("remove model --id u3");
    let before = sandbox.snapshot();
    let answer = sandbox.run("audit model --quick --draws 1000 --danger-fixed-seed 3 --json --out audit.html");
    answer.ends_with(0);
    let mut after = sandbox.snapshot();
    let page = String::from_utf8(after.remove(&sandbox.path("audit.html")).expect("a report")).expect("text");
    assert!(before == after, "files of the model have changed");
    let value = answer.json();
    assert_eq!((value["verdict"].as_str(), number(&value["subject"], "n_rows")), (Some("stands"), 59.0));
    assert_eq!(cases(&value).len(), 4);
    assert!(value["self_test"].is_null() && value["notes"].as_array().is_some_and(Vec::is_empty), "{value}");
    assert!(page.contains("Keep this page inside") && !page.contains("class=\"digit\""));
    // No id, no subject, no feature of any row.
    for i in 0..60 {
        for secret in features(i).map(|x| format!("{x:.6}")) {
            assert!(!page.contains(&secret) && !answer.stdout.contains(&secret), "{secret} of row {i} is told");
        }
        for id in [format!("\"u{i}\""), format!(">u{i}<"), format!("\"p{i}\""), format!(" u{i} ")] {
            assert!(!page.contains(&id) && !answer.stdout.contains(&id), "{id} is told");
        }
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(sandbox.path("audit.html")).expect("a report").permissions().mode();
        assert_eq!(mode & 0o077, 0, "the report is for its owner only");
    }
}

#[test]
fn several_classes_and_text_for_people() {
    let sandbox = Sandbox::new();
    sandbox.write("three.csv", three_classes(60));
    sandbox.json(&format!("train three.csv {COLUMNS} --out model"));
    let answer = sandbox.run("audit model --quick --draws 1000");
    answer.ends_with(0);
    assert!(answer.stdout.is_empty(), "{answer:?}");
    for part in ["the claim stands", "ε between removal and retraining", "membership attack", "efface-audit.html"] {
        assert!(answer.stderr.contains(part), "`{part}` is missing: {answer:?}");
    }
}

#[test]
fn what_cannot_be_audited_is_refused_and_leaves_no_report() {
    let sandbox = Sandbox::with_model("--mechanism objective");
    sandbox.refuses("audit model", &["mechanism `release`", "`objective`"]);
    sandbox.refuses("audit missing", &["missing"]);
    sandbox.run("audit").ends_with(2);
    sandbox.run("audit model --built-in").ends_with(2);
    sandbox.run("audit --built-in --draws 10").ends_with(2);
    assert!(!sandbox.exists("efface-audit.html"));
}
