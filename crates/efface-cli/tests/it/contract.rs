//! The contract of the command line: each command's keys and their types under `--json`, which stream says what, and
//! the exit codes. What the numbers are worth is tested elsewhere.

use serde_json::Value;

use crate::sandbox::{COLUMNS, Sandbox, class, table, target, two_classes};

#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Count,
    Number,
    Text,
    Bool,
}

use Kind::{Bool, Count, Number, Text};

#[track_caller]
pub(crate) fn has_keys(value: &Value, keys: &[(&str, Kind)]) {
    for (key, kind) in keys {
        let found = &value[key];
        let right = match kind {
            Count => found.is_u64(),
            Number => found.is_number(),
            Text => found.is_string(),
            Bool => found.is_boolean(),
        };
        assert!(right, "`{key}` is {found} in {value}");
    }
}

/// Under `--json` one object on stdout; otherwise nothing on stdout, and something to read on stderr.
pub(crate) fn both_ways(json: &Sandbox, text: &Sandbox, arguments: &str) -> Value {
    let value = json.json(arguments);
    let answer = text.run(arguments);
    answer.ends_with(0);
    assert_eq!(answer.stdout, "", "{answer:?}");
    assert!(!answer.stderr.trim().is_empty(), "{answer:?}");
    value
}

const CLAIM: [(&str, Kind); 2] = [("gradient_residual", Number), ("distance_bound", Number)];
const CHANGE: [(&str, Kind); 5] =
    [("n_rows", Count), ("n_changed", Count), ("rung", Text), ("outcome", Text), ("seconds", Number)];
const STATUS: [(&str, Kind); 19] = [
    ("mechanism", Text),
    ("loss", Text),
    ("l2", Number),
    ("n_rows", Count),
    ("n_removed", Count),
    ("n_releases", Count),
    ("dim", Count),
    ("classes", Count),
    ("gradient_residual", Number),
    ("distance_bound", Number),
    ("rung", Text),
    ("outcome", Text),
    ("noise_std", Number),
    ("mu_total", Number),
    ("epsilon", Number),
    ("delta", Number),
    ("law", Text),
    ("scale", Text),
    ("certified", Bool),
];

#[test]
fn every_command_on_a_model_keeps_the_contract() {
    let (json, text) = (Sandbox::with_table(), Sandbox::with_table());
    for sandbox in [&json, &text] {
        sandbox.write("more.csv", table(100..103, class));
        sandbox.write("corrected.csv", table([7, 8], |_, _| "no".into()));
        sandbox.write("ids.txt", "\u{feff}u20\n\nu21\r\n");
    }
    let both = |arguments: &str| both_ways(&json, &text, arguments);

    let trained = both(&format!("train two.csv {COLUMNS} --out model"));
    has_keys(&trained, &CLAIM);
    has_keys(&trained, &[("n_rows", Count), ("dim", Count), ("classes", Count)]);
    has_keys(&trained, &[("iterations", Count), ("seconds", Number), ("certified", Bool), ("model", Text)]);
    assert_eq!((&trained["n_rows"], &trained["dim"], &trained["classes"]), (&60.into(), &3.into(), &2.into()));

    let changes = [
        ("remove model --id u1 --id u2", 2, 58),
        ("remove model --id u3 u4", 2, 56),
        ("remove model --subject p10", 4, 52),
        ("remove model --ids ids.txt --settle", 2, 50),
        ("add model more.csv", 3, 53),
        ("correct model corrected.csv", 2, 53),
    ];
    for (arguments, n_changed, n_rows) in changes {
        let changed = both(arguments);
        has_keys(&changed, &CLAIM);
        has_keys(&changed, &CHANGE);
        assert_eq!((&changed["n_changed"], &changed["n_rows"]), (&n_changed.into(), &n_rows.into()), "{arguments}");
        assert_eq!(changed["outcome"], "done");
        assert!(changed.get("budget").is_none() && changed.get("spent").is_none());
    }

    for arguments in ["settle model", "settle model --tolerance 1e-6"] {
        let settled = both(arguments);
        has_keys(&settled, &CLAIM);
        has_keys(&settled, &[("passes", Count), ("seconds", Number)]);
    }
    has_keys(&both("retrain model"), &CLAIM);

    let released = both("release model");
    has_keys(&released, &[("release", Count), ("noise_std", Number), ("mu", Number), ("mu_total", Number)]);
    has_keys(&released, &[("epsilon", Number), ("delta", Number), ("model", Text), ("certificate", Text)]);
    assert_eq!(released["release"], 1);
    for key in ["model", "certificate"] {
        assert!(json.exists(released[key].as_str().expect("a path")), "{released}");
    }

    let status = both("status model");
    has_keys(&status, &STATUS);
    assert_eq!((&status["n_rows"], &status["n_removed"], &status["n_releases"]), (&53.into(), &10.into(), &1.into()));
    assert_eq!((&status["mechanism"], &status["loss"]), (&"release".into(), &"logistic".into()));

    let evaluated = both("evaluate model two.csv --label y");
    has_keys(&evaluated, &[("accuracy", Number), ("n_rows", Count)]);
    assert!(evaluated.get("rmse").is_none());
    assert!(crate::sandbox::number(&evaluated, "accuracy") > 0.6, "{evaluated}");
}

#[test]
fn removing_with_settle_reports_both_steps() {
    let sandbox = Sandbox::with_model("");
    let removed = sandbox.json("remove model --id u1 --settle");
    has_keys(&removed["settled"], &CLAIM);
    has_keys(&removed["settled"], &[("passes", Count), ("seconds", Number)]);
    let status = sandbox.json("status model");
    assert_eq!(status["distance_bound"], removed["settled"]["distance_bound"]);
    assert_eq!(status["rung"], "measured");
}

#[test]
fn a_model_of_mechanism_objective_tells_its_budget() {
    let sandbox = Sandbox::with_model("--mechanism objective --noise-std 10 --l2 0.1");
    let removed = sandbox.json("remove model --id u1");
    has_keys(&removed, &CHANGE);
    has_keys(&removed, &[("budget", Number), ("spent", Number)]);
    let status = sandbox.json("status model");
    has_keys(&status, &STATUS);
    has_keys(&status, &[("budget", Number), ("spent", Number)]);
    assert_eq!(status["mechanism"], "objective");
}

#[test]
fn predictions_are_csv_on_stdout_a_file_or_one_object() {
    let sandbox = Sandbox::with_model("");
    sandbox.json("release model");

    let printed = sandbox.run("predict model two.csv --id id");
    printed.ends_with(0);
    let lines: Vec<&str> = printed.stdout.lines().collect();
    assert_eq!((lines.len(), lines[0]), (61, "id,prediction,probability"));
    assert!(lines[1].starts_with("u0,yes,") || lines[1].starts_with("u0,no,"), "{}", lines[1]);

    let written = sandbox.run("predict model two.csv --id id --out predictions.csv");
    written.ends_with(0);
    assert_eq!(written.stdout, "");
    assert!(written.stderr.contains("predictions.csv"), "{written:?}");
    assert_eq!(sandbox.text("predictions.csv"), printed.stdout);

    let object = sandbox.json("predict model two.csv --id id");
    assert_eq!(object["n_rows"], 60);
    assert_eq!(object["predictions"].as_array().map(Vec::len), Some(60));
    assert_eq!(object["predictions"][3]["id"], "u3");
    has_keys(&object["predictions"][3], &[("prediction", Text), ("probability", Number)]);

    let object = sandbox.json("predict model two.csv --out again.csv");
    assert_eq!((&object["n_rows"], &object["out"]), (&60.into(), &"again.csv".into()));
    assert!(sandbox.text("again.csv").starts_with("id,prediction,probability\n0,"));
}

#[test]
fn a_model_is_found_by_its_directory_its_release_or_its_file() {
    let sandbox = Sandbox::with_model("");
    sandbox.json("release model");
    sandbox.json("release model");
    let copied = sandbox.json("release model --out copy.json");
    assert_eq!((&copied["model"], &copied["certificate"]), (&"copy.json".into(), &"copy.json.certificate.json".into()));
    assert_eq!(sandbox.read("copy.json"), sandbox.read("model/releases/3/model.json"));
    assert_eq!(sandbox.read("copy.json.certificate.json"), sandbox.read("model/releases/3/certificate.json"));

    let predict = |model: &str| sandbox.run(&format!("predict {model} two.csv")).stdout;
    let latest = predict("model");
    assert_eq!(latest, predict("model/releases/3"));
    assert_eq!(latest, predict("model/releases/3/model.json"));
    assert_eq!(latest, predict("copy.json"));
    assert_ne!(latest, predict("model/releases/2"));
}

#[test]
fn regression_is_evaluated_by_its_error() {
    let sandbox = Sandbox::new();
    sandbox.write("numbers.csv", table(0..60, target));
    sandbox.json(&format!("train numbers.csv {COLUMNS} --loss squared --out model"));
    sandbox.json("release model");
    let evaluated = sandbox.json("evaluate model numbers.csv --label y");
    has_keys(&evaluated, &[("rmse", Number), ("n_rows", Count)]);
    assert!(evaluated.get("accuracy").is_none());
    let status = sandbox.json("status model");
    has_keys(&status, &STATUS);
    assert_eq!((&status["classes"], &status["epsilon"], &status["noise_std"]), (&0.into(), &0.0.into(), &0.0.into()));
    assert!(sandbox.run("predict model numbers.csv").stdout.starts_with("id,prediction\n0,"));
}

#[test]
fn a_plan_answers_from_sizes_and_from_rows() {
    let (json, text) = (Sandbox::with_table(), Sandbox::with_table());
    let keys = [("n_rows", Count), ("dim", Count), ("l2", Number), ("epsilon", Number), ("delta", Number)];
    let row_keys = [("noise_std", Number), ("guaranteed_removals", Count), ("expected_removals", Count)];
    for (arguments, n_levels) in [
        ("plan --rows 100000 --dim 20 --l2 1e-3 --epsilon 1 --delta 1e-5", 7),
        ("plan --rows 100000 --dim 20 --l2 1e-3 --epsilon 1 --delta 1e-5 --noise-std 0.01", 1),
        ("plan two.csv --label y --features a,b,c --l2 1e-2 --epsilon 1 --delta 1e-5", 7),
    ] {
        let plan = both_ways(&json, &text, arguments);
        has_keys(&plan, &keys);
        has_keys(&plan, &[("mu_limit", Number), ("basis", Text)]);
        let rows = plan["rows"].as_array().expect("a list");
        assert_eq!(rows.len(), n_levels, "{plan}");
        for row in rows {
            has_keys(row, &row_keys);
        }
    }
}

#[test]
fn the_demo_needs_nothing_and_writes_one_report() {
    let sandbox = Sandbox::new();
    let demo = sandbox.json("demo --out report.html");
    has_keys(&demo, &[("n_rows", Count), ("n_removed", Count), ("report", Text)]);
    has_keys(&demo, &[("distance_promised", Number), ("distance_measured", Number)]);
    assert!(demo["distance_measured"].as_f64() <= demo["distance_promised"].as_f64(), "{demo}");
    assert_eq!(sandbox.names("."), ["report.html"]);
    let report = sandbox.text("report.html");
    assert!(report.contains("</html>") && report.contains("<svg"));
    assert!(report.contains("Every promise was kept"), "the report's own checks fail");
    for outside in ["src=\"http", "href=\"http", "@import", "<link"] {
        assert!(!report.contains(outside), "{outside}");
    }
}

#[test]
fn the_demo_is_told_to_people_on_stderr() {
    let sandbox = Sandbox::new();
    let demo = sandbox.run("demo");
    demo.ends_with(0);
    assert_eq!(demo.stdout, "");
    assert!(demo.stderr.contains("efface-demo.html"), "{demo:?}");
    assert_eq!(sandbox.names("."), ["efface-demo.html"]);
}

#[test]
fn json_may_be_asked_for_before_the_command() {
    let sandbox = Sandbox::with_model("");
    let answer = sandbox.run("--json status model");
    answer.ends_with(0);
    has_keys(&answer.json(), &STATUS);
}

#[test]
fn an_error_is_one_json_object_with_a_code_for_machines() {
    let sandbox = Sandbox::with_model("");
    sandbox.refuses("remove model --id nobody --json", &["unknown row id `nobody`"]);
    let told: serde_json::Value = serde_json::from_str(&sandbox.run("status nowhere --json").stdout).expect("JSON");
    assert_eq!(told["error"]["code"], "not-a-model");
    assert_eq!(told["error"]["hint"], "`efface train DATA --label NAME --out DIR` makes one");
}

#[test]
fn a_stderr_that_takes_nothing_does_not_stop_the_work() {
    if !std::path::Path::new("/dev/full").exists() {
        return;
    }
    let sandbox = Sandbox::with_model("");
    for line in
        ["\"$0\" remove model --id u1 2>/dev/full", "\"$0\" status model 2>/dev/full", "\"$0\" status model 2>&-"]
    {
        sandbox.shell(line).ends_with(0);
    }
    sandbox.shell("\"$0\" status nowhere 2>/dev/full").ends_with(2);
    assert_eq!(sandbox.json("status model")["n_removed"], 1);
}

/// What is served must not quietly know more than the model does.
#[test]
fn a_release_that_still_knows_removed_rows_is_told() {
    let sandbox = Sandbox::with_model("");
    sandbox.json("release model");
    assert_eq!(sandbox.json("status model")["n_removed_since_release"], 0);
    assert_eq!(sandbox.run("predict model two.csv").stderr, "");
    let removed = sandbox.run("remove model --id u1 u2");
    assert!(removed.stderr.contains("next: efface release model"), "{removed:?}");
    assert_eq!(sandbox.json("status model")["n_removed_since_release"], 2);
    for arguments in ["predict model two.csv", "evaluate model two.csv --label y"] {
        let answer = sandbox.run(arguments);
        answer.ends_with(0);
        assert!(answer.stderr.contains("warning: release 1 still knows rows"), "{answer:?}");
    }
    sandbox.json("release model");
    assert_eq!(sandbox.json("status model")["n_removed_since_release"], 0);
    assert_eq!(sandbox.run("predict model two.csv").stderr, "");
}

#[test]
fn a_reader_that_has_had_enough_is_no_error() {
    let sandbox = Sandbox::with_model("");
    sandbox.write("many.csv", two_classes(20_000));
    sandbox.json("release model");
    let answer = sandbox.shell("\"$0\" predict model many.csv | head -1");
    answer.ends_with(0);
    assert_eq!((answer.stdout.trim(), answer.stderr.as_str()), ("id,prediction,probability", ""));
}

#[test]
fn columns_that_look_like_a_mistake_are_told_before_training() {
    let sandbox = Sandbox::new();
    let row = |i: i32| format!("{},{},{},{}", 7 * i, 1e6 + f64::from(i), i % 3, i % 2);
    let rows: Vec<String> = (0..40).map(row).collect();
    sandbox.write("rows.csv", format!("customer,weight,calls,y\n{}\n", rows.join("\n")));
    let warned = sandbox.run("train rows.csv --label y --out one");
    warned.ends_with(0);
    let told =
        "warning: column `customer` has a different integer in every row but is used as a feature; if it is an id";
    assert!(warned.stderr.contains(told), "{warned:?}");
    assert!(warned.stderr.contains("warning: column `weight` accounts for 100.0 % of the squared"), "{warned:?}");
    let calm = sandbox.run("train rows.csv --label y --ignore customer,weight --out two");
    assert!(!calm.stderr.contains("warning"), "{calm:?}");
}
