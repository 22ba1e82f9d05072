//! How good a model is, and how sure: `efface evaluate` and `efface predict` with models that are written by hand.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::sandbox::{Sandbox, noise, number};

/// A published model of the columns `x0`, `x1`, …, one per weight of a problem.
fn model(loss: &str, classes: &[&str], problems: &[&[f64]]) -> String {
    let features: Vec<String> = (0..problems[0].len()).map(|i| format!("x{i}")).collect();
    let (weights, intercept) = match problems {
        [one] => (json!(one), json!(0.0)),
        several => (json!(several), json!(vec![0.0; several.len()])),
    };
    let model = json!({
        "format": "efface-model-1", "release": 1, "certified": true, "loss": loss, "classes": classes,
        "features": features, "scale": "none", "has_intercept": false, "intercept": intercept, "weights": weights,
    });
    model.to_string()
}

/// A model whose score is the only column, for rows with these scores and labels.
fn sandbox_of(loss: &str, classes: &[&str], rows: &[(f64, &str)]) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("model.json", model(loss, classes, &[&[1.0]]));
    let mut text = String::from("x0,y\n");
    for (score, label) in rows {
        writeln!(text, "{score},{label}").expect("in memory");
    }
    sandbox.write("rows.csv", text);
    sandbox
}

const EVALUATE: &str = "evaluate model.json rows.csv --label y";
const TWO: [(f64, &str); 6] = [(-2.0, "no"), (-1.0, "no"), (1.0, "no"), (0.5, "yes"), (3.0, "yes"), (-1.0, "yes")];

#[track_caller]
fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-12, "{found} instead of {expected}");
}

#[test]
fn figures_of_two_classes_are_those_counted_by_hand() {
    let sandbox = sandbox_of("logistic", &["no", "yes"], &TWO);
    let found = sandbox.json(EVALUATE);
    assert_eq!((&found["n_rows"], &found["most_frequent_class"]), (&json!(6), &json!("no")));
    close(number(&found, "accuracy"), 4.0 / 6.0);
    close(number(&found, "base_rate"), 0.5);
    // Nine pairs of a `yes` and a `no`: six in order, and one tie.
    close(number(&found, "auc"), 6.5 / 9.0);
    let losses = TWO.map(|(score, label)| (if label == "yes" { -score } else { score }).exp().ln_1p());
    close(number(&found, "log_loss"), losses.iter().sum::<f64>() / 6.0);
    assert_eq!(found["confusion_matrix"], json!([[2, 1], [1, 2]]));
    for (k, class) in ["no", "yes"].into_iter().enumerate() {
        let figures = &found["per_class"][k];
        assert_eq!((&figures["class"], &figures["support"]), (&json!(class), &json!(3)));
        for name in ["precision", "recall", "f1"] {
            close(number(figures, name), 2.0 / 3.0);
        }
        close(number(figures, "auc"), 6.5 / 9.0);
    }
    let calibration = &found["calibration"];
    assert_eq!(calibration["class"], "yes");
    let bins = calibration["bins"].as_array().expect("a list");
    let sizes: Vec<u64> = bins.iter().map(|bin| bin["n_rows"].as_u64().expect("a count")).collect();
    // σ of −2, −1, −1, 0.5, 1 and 3.
    assert_eq!(sizes, [0, 1, 2, 0, 0, 0, 1, 1, 0, 1]);
    assert_eq!((&bins[0]["mean_predicted"], &bins[0]["observed_share"]), (&Value::Null, &Value::Null));
    assert_eq!((number(&bins[2], "from"), number(&bins[2], "to"), number(&bins[2], "observed_share")), (0.2, 0.3, 0.5));
    let sigmoid = |score: f64| 1.0 / (1.0 + (-score).exp());
    close(number(&bins[2], "mean_predicted"), sigmoid(-1.0));
    let gaps = [sigmoid(-2.0), 2.0 * (0.5 - sigmoid(-1.0)), 1.0 - sigmoid(0.5), sigmoid(1.0), 1.0 - sigmoid(3.0)];
    close(number(calibration, "expected_calibration_error"), gaps.iter().sum::<f64>() / 6.0);
    assert!(found.get("rmse").is_none() && found.get("threshold").is_none(), "{found}");

    let text = sandbox.run(EVALUATE);
    text.ends_with(0);
    for part in [
        "evaluated on 6 rows",
        "accuracy           66.67 %",
        "base rate          50.00 % (always `no`)",
        "AUC                0.7222",
        "class  rows  precision  recall      F1     AUC",
        "no        3     0.6667  0.6667  0.6667  0.7222",
        "actual \\ predicted  no  yes",
        "yes                  1    2",
    ] {
        assert!(text.stderr.contains(part), "`{part}` is missing: {text:?}");
    }
    assert!(!text.stderr.contains("warning"), "{text:?}");
}

/// Each class against the rest, by its probability; a class without rows has none.
#[test]
fn figures_of_three_classes_are_means_over_those_that_are_there() {
    let sandbox = Sandbox::new();
    sandbox.write("model.json", model("logistic", &["a", "b", "c"], &[&[1.0, 0.0], &[0.0, 1.0], &[-1.0, -1.0]]));
    let table = |classes: &[&str]| {
        let row = |i: usize| {
            let x = noise(i as u64, 4);
            format!("{:.1},{:.1},{}\n", x[2], x[3], classes[usize::from(x[2] + 0.3 * x[3] > 0.0) * (classes.len() - 1)])
        };
        (0..80).fold(String::from("x0,x1,y\n"), |text, i| text + &row(i))
    };
    for (classes, missing) in [(&["c", "a"][..], Some("b")), (&["b", "a"], Some("c"))] {
        sandbox.write("rows.csv", table(classes));
        let found = sandbox.json(EVALUATE);
        let predictions = sandbox.json("predict model.json rows.csv --probabilities");
        let labels: Vec<String> = sandbox
            .text("rows.csv")
            .lines()
            .skip(1)
            .map(|line| line.rsplit(',').next().expect("a label").into())
            .collect();
        let probability = |row: usize, class: &str| number(&predictions["predictions"][row]["probabilities"], class);
        let mut aucs = Vec::new();
        for figures in found["per_class"].as_array().expect("a list") {
            let class = figures["class"].as_str().expect("text");
            if Some(class) == missing {
                assert_eq!((&figures["recall"], &figures["auc"]), (&Value::Null, &Value::Null), "{figures}");
                continue;
            }
            let (mut won, mut pairs) = (0.0, 0.0);
            for i in (0..80).filter(|i| labels[*i] == class) {
                for j in (0..80).filter(|j| labels[*j] != class) {
                    let (of_i, of_j) = (probability(i, class), probability(j, class));
                    pairs += 1.0;
                    won += if of_i > of_j { 1.0 } else { 0.5 * f64::from(u8::from(of_i == of_j)) };
                }
            }
            close(number(figures, "auc"), won / pairs);
            aucs.push(won / pairs);
        }
        close(number(&found, "auc"), aucs.iter().sum::<f64>() / aucs.len() as f64);
        let loss = (0..80).map(|row| -probability(row, &labels[row]).ln()).sum::<f64>() / 80.0;
        close(number(&found, "log_loss"), loss);
        assert_eq!(found["calibration"]["class"], Value::Null);
    }
}

#[test]
fn extreme_scores_have_a_finite_loss() {
    let rows = [(1000.0, "yes"), (-1000.0, "no"), (-1000.0, "yes"), (1000.0, "yes")];
    let found = sandbox_of("logistic", &["no", "yes"], &rows).json(EVALUATE);
    close(number(&found, "log_loss"), 250.0);
    close(number(&found, "auc"), 2.5 / 3.0);
}

#[test]
fn classes_by_squares_have_no_probabilities() {
    let sandbox = sandbox_of("squared", &["no", "yes"], &TWO);
    let found = sandbox.json(EVALUATE);
    close(number(&found, "auc"), 6.5 / 9.0);
    assert!(found.get("log_loss").is_none() && found.get("calibration").is_none(), "{found}");
    let parts = ["error: this model has no probabilities: its classes were trained with the squared loss", "hint: "];
    for arguments in ["--probabilities", "--threshold 0.5", "--probabilities --json"] {
        sandbox.refuses(&format!("predict model.json rows.csv {arguments}"), &parts);
    }
    sandbox.refuses(&format!("{EVALUATE} --threshold 0.5"), &parts);
    assert!(sandbox.run("predict model.json rows.csv").stdout.starts_with("id,prediction\n0,no\n"));
}

#[test]
fn numbers_are_compared_with_their_mean() {
    let rows = [(1.0, "1.5"), (2.0, "2"), (6.0, "5")];
    let found = sandbox_of("squared", &[], &rows).json(EVALUATE);
    close(number(&found, "rmse"), (1.25_f64 / 3.0).sqrt());
    close(number(&found, "mae"), 0.5);
    let (mean, labels) = (8.5 / 3.0, [1.5, 2.0, 5.0_f64]);
    let spread: f64 = labels.iter().map(|y| (y - mean).powi(2)).sum();
    close(number(&found, "base_rmse"), (spread / 3.0).sqrt());
    close(number(&found, "r2"), 1.0 - 1.25 / spread);
    assert_eq!(found["n_rows"], 3);

    let useless = sandbox_of("squared", &[], &[(5.0, "1"), (1.0, "2"), (0.0, "6")]).run(&format!("{EVALUATE} --json"));
    assert!(number(&useless.json(), "r2") < 0.0);
    let warning = "warning: root mean squared error 4.2";
    assert!(useless.stderr.starts_with(warning) && useless.stderr.contains("mean label (2.16); try"), "{useless:?}");

    let constant = sandbox_of("squared", &[], &[(5.0, "1"), (1.0, "1")]);
    assert_eq!(constant.json(EVALUATE)["r2"], Value::Null);
    assert!(
        constant.run(EVALUATE).stderr.lines().any(|line| line.trim_start().starts_with("R²") && line.ends_with('-'))
    );
}

#[test]
fn a_model_that_is_no_better_than_one_answer_is_told() {
    let told = |rows: &[(f64, &str)]| {
        let answer = sandbox_of("logistic", &["no", "yes"], rows).run(&format!("{EVALUATE} --json"));
        answer.ends_with(0);
        answer.json();
        answer.stderr
    };
    let wrong = told(&[(1.0, "no"), (2.0, "no"), (-1.0, "yes")]);
    let start = "warning: accuracy 0.00 % is no better than always answering `no` (66.67 %); try more rows";
    assert!(wrong.starts_with(start), "{wrong}");
    // Everybody is taken for a `no`, and yet every `yes` comes last.
    let far = told(&[(-3.0, "no"), (-4.0, "no"), (-5.0, "no"), (-1.0, "yes")]);
    assert!(
        far.contains("accuracy 75.00 % is no better") && far.contains("AUC 1.000), so try another --threshold"),
        "{far}"
    );
    let one = told(&[(-3.0, "no"), (-4.0, "no")]);
    assert!(one.starts_with("warning: all rows are of class `no`") && one.lines().count() == 1, "{one}");
    assert_eq!(told(&TWO), "");
}

#[test]
fn a_threshold_decides_between_two_classes() {
    let sandbox = sandbox_of("logistic", &["no", "yes"], &[(0.0, "no"), (-1.0, "yes"), (-3.0, "no")]);
    let predicted = |arguments: &str| -> Vec<String> {
        let stdout = sandbox.run(&format!("predict model.json rows.csv {arguments}")).stdout;
        stdout.lines().skip(1).map(|line| line.split(',').nth(1).expect("a class").to_owned()).collect()
    };
    assert_eq!(predicted(""), ["no", "no", "no"]);
    // From the probability on: σ(0) is one half.
    assert_eq!(predicted("--threshold 0.5"), ["yes", "no", "no"]);
    assert_eq!(predicted("--threshold 0.25"), ["yes", "yes", "no"]);
    let object = sandbox.json("predict model.json rows.csv --threshold 0.25");
    let sigmoid = 1.0 / (1.0 + 1_f64.exp());
    close(number(&object["predictions"][1], "probability"), sigmoid);
    let found = sandbox.json(&format!("{EVALUATE} --threshold 0.25"));
    assert_eq!((number(&found, "threshold"), &found["confusion_matrix"]), (0.25, &json!([[1, 1], [0, 1]])));

    for value in ["0", "1", "1.5", "-0.2", "nan"] {
        let message = "error: threshold must be above 0 and below 1, got `";
        sandbox.refuses(&format!("predict model.json rows.csv --threshold {value}"), &[message]);
        sandbox.refuses(&format!("{EVALUATE} --threshold {value} --json"), &[message]);
    }
    sandbox.write("model.json", model("logistic", &["a", "b", "c"], &[&[1.0], &[2.0], &[3.0]]));
    let message = "error: a threshold decides between two classes, and this model has 3";
    sandbox.refuses("predict model.json rows.csv --threshold 0.5", &[message]);
    sandbox.write("model.json", model("squared", &[], &[&[1.0]]));
    let message = "error: this model predicts numbers: it has no classes, and no probabilities of them";
    sandbox.refuses(
        "predict model.json rows.csv --threshold 0.5",
        &[message, "hint: models trained with --loss logistic"],
    );
    sandbox.refuses("predict model.json rows.csv --probabilities", &[message]);
}

#[test]
fn every_class_gets_a_column_of_probabilities() {
    let sandbox = Sandbox::new();
    sandbox.write("model.json", model("logistic", &["a,b", "b", "probability"], &[&[1.0], &[0.0], &[-400.0]]));
    sandbox.write("rows.csv", "x0\n0.5\n-2\n1\n");
    let printed = sandbox.run("predict model.json rows.csv --probabilities").stdout;
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines[0], "id,prediction,probability,\"probability:a,b\",probability:b,probability:probability");
    let object = sandbox.json("predict model.json rows.csv --probabilities");
    for (row, line) in lines[1..].iter().enumerate() {
        let prediction = &object["predictions"][row];
        let map = prediction["probabilities"].as_object().expect("a map");
        close(map.values().map(|p| p.as_f64().expect("a number")).sum(), 1.0);
        let class = prediction["prediction"].as_str().expect("text");
        assert_eq!(map[class], prediction["probability"]);
        let told: Vec<f64> = line.rsplitn(4, ',').take(3).map(|p| p.parse().expect("a number")).collect();
        let expected = ["probability", "b", "a,b"].map(|class| map[class].as_f64().expect("a number"));
        assert_eq!(told, expected, "{line}");
    }
    // e⁻⁴⁰⁰ with its digits, and without 174 zeros.
    assert!(lines[3].ends_with("e-174") && lines[3].len() < 100, "{}", lines[3]);
    assert!(object["predictions"][0]["probabilities"].is_object());
    assert!(sandbox.json("predict model.json rows.csv")["predictions"][0].get("probabilities").is_none());
}

/// More rows than one chunk has: numbers go on, ids may come again, and what goes wrong at the end leaves no file.
#[test]
fn rows_are_predicted_across_chunks() {
    const N_ROWS: usize = 140_000;
    let sandbox = Sandbox::new();
    sandbox.write("model.json", model("logistic", &["no", "yes"], &[&[1.0]]));
    let score = |i: usize| (i % 1009) as f64 / 504.0 - 1.0;
    let mut text = String::from("key,x0,y\n");
    for i in 0..N_ROWS {
        writeln!(text, "{},{},{}", i % 70_000, score(i), ["no", "yes"][i % 2]).expect("in memory");
    }
    sandbox.write("rows.csv", &text);
    let answer = sandbox.run("predict model.json rows.csv");
    answer.ends_with(0);
    assert_eq!(answer.stdout.lines().count(), 1 + N_ROWS);
    for (i, line) in answer.stdout.lines().skip(1).enumerate() {
        let expected = if score(i) > 0.0 { "yes" } else { "no" };
        assert!(line.starts_with(&format!("{i},{expected},0.")), "row {i}: {line}");
    }
    let known = sandbox.json("predict model.json rows.csv --id key --out predictions.csv");
    assert_eq!(known["n_rows"], N_ROWS);
    assert!(sandbox.text("predictions.csv").lines().nth(70_001).is_some_and(|line| line.starts_with("0,")));
    let found = sandbox.json(EVALUATE);
    assert_eq!((&found["n_rows"], &found["base_rate"]), (&json!(N_ROWS), &json!(0.5)));

    text.push_str("1,x,no\n");
    sandbox.write("rows.csv", &text);
    let parts = ["error: rows.csv, line 140002, column `x0`: features must be numbers, got `x`"];
    sandbox.refuses("predict model.json rows.csv --out predictions.csv", &parts);
    sandbox.refuses("predict model.json rows.csv --out new.csv --json", &parts);
    sandbox.refuses("predict model.json rows.csv --json", &parts);
    sandbox.refuses(EVALUATE, &parts);
    let cut = sandbox.run("predict model.json rows.csv");
    cut.ends_with(2);
    assert!(cut.stderr.contains(parts[0]) && answer.stdout.starts_with(&cut.stdout), "{}", cut.stderr);
}
