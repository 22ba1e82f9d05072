//! A released model is plain JSON: whoever can read it predicts the same as `efface predict`.

use serde_json::Value;

use crate::sandbox::{COLUMNS, Sandbox, features, number, numbers, table, target, three_classes, two_classes};

/// Predicts with nothing but the JSON file, as its documentation says.
fn by_hand(model: &Value, row: [f64; 3]) -> (String, Option<f64>) {
    let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt();
    let divisor = match model["scale"].as_str().expect("text") {
        "unit" => norm,
        scale => match scale.strip_prefix("clip:") {
            Some(radius) => radius.parse::<f64>().expect("a number").max(norm),
            None => 1.0,
        },
    };
    let score = |weights: &Value, intercept: &Value| {
        let weights = weights.as_array().expect("a list").iter().map(|w| w.as_f64().expect("a number"));
        weights.zip(row).map(|(w, x)| w * (x / divisor)).sum::<f64>() + intercept.as_f64().expect("a number")
    };
    let sigmoid = |score: f64| 1.0 / (1.0 + (-score).exp());
    let classes: Vec<&str> = model["classes"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    match classes.len() {
        0 => (score(&model["weights"], &model["intercept"]).to_string(), None),
        2 => {
            let score = score(&model["weights"], &model["intercept"]);
            let class = usize::from(score > 0.0);
            (classes[class].into(), Some(sigmoid(score.abs())))
        }
        n => {
            let scores: Vec<f64> = (0..n).map(|k| score(&model["weights"][k], &model["intercept"][k])).collect();
            let best = (0..n).max_by(|i, j| scores[*i].total_cmp(&scores[*j])).expect("classes");
            let part = |score: f64| if model["loss"] == "softmax" { score.exp() } else { sigmoid(score) };
            let total: f64 = scores.iter().map(|score| part(*score)).sum();
            (classes[best].into(), Some(part(scores[best]) / total))
        }
    }
}

fn check(rows: &str, train: &str) {
    let sandbox = Sandbox::new();
    sandbox.write("rows.csv", rows);
    sandbox.json(&format!("train rows.csv {COLUMNS} --out model {train}"));
    sandbox.json("release model");
    let model = sandbox.json_file("model/releases/1/model.json");
    assert_eq!(model["features"], serde_json::json!(["a", "b", "c"]));
    if !train.contains("--intercept") {
        let none = model["intercept"] == 0.0 || numbers(&model, "intercept") == [0.0; 3];
        assert!(none, "{model}");
    }
    let predictions = sandbox.json("predict model rows.csv");
    for (i, prediction) in predictions["predictions"].as_array().expect("a list").iter().enumerate() {
        let (expected, probability) = by_hand(&model, features(i));
        if let Some(probability) = probability {
            assert_eq!(prediction["prediction"], *expected, "{train}, row {i}");
            assert!((number(prediction, "probability") - probability).abs() < 1e-12, "{train}, row {i}");
        } else {
            let predicted: f64 = prediction["prediction"].as_str().expect("text").parse().expect("a number");
            let expected: f64 = expected.parse().expect("a number");
            assert!((predicted - expected).abs() < 1e-12, "{train}, row {i}: {predicted} {expected}");
            assert!(prediction.get("probability").is_none());
        }
    }
}

#[test]
fn two_classes_are_predicted_by_hand() {
    for train in ["", "--intercept", "--scale clip:0.8 --intercept", "--scale clip:100", "--mechanism objective"] {
        check(&two_classes(40), train);
    }
}

#[test]
fn three_classes_are_predicted_by_hand() {
    for train in ["", "--intercept", "--negatives 0.7 --scale clip:2", "--classes one-vs-rest", "--mechanism objective"]
    {
        check(&three_classes(60), train);
    }
}

#[test]
fn numbers_are_predicted_by_hand() {
    for train in ["--loss squared", "--loss squared --intercept --scale clip:1.5", "--loss squared --scale within:4"] {
        check(&table(0..40, target), train);
    }
}

#[test]
fn a_published_model_that_was_edited_to_nonsense_is_refused() {
    let sandbox = Sandbox::with_model("");
    sandbox.json("release model");
    let good = sandbox.text("model/releases/1/model.json");
    let weights = sandbox.json_file("model/releases/1/model.json")["weights"][0].to_string();
    let edits: [(&str, &str, &str); 14] = [
        ("\"no\",", "", "do not fit"),
        ("\"no\"", "\"yes\"", "do not fit"),
        ("\"no\",", "\"no\", \"perhaps\",", "do not fit"),
        (&weights, "\"much\"", "weights and intercept must be numbers"),
        (&weights, "null", "weights and intercept must be numbers"),
        (&weights, "1e999", "number out of range"),
        (&format!("{weights},"), "", "do not fit"),
        ("\"a\",", "", "do not fit"),
        ("logistic", "hinge", "do not fit"),
        ("\"unit\"", "\"metric\"", "scale must be `auto`, `unit`, `clip:R`, `within:R`, `none` or `raw`"),
        ("\"unit\"", "\"clip:-1\"", "scale must be"),
        ("efface-model-1", "efface-model-9", "format `efface-model-9` is unknown"),
        ("\"intercept\": 0.0", "\"intercept\": 5.0", "do not fit"),
        ("\"has_intercept\": false", "\"has_intercept\": 3", "not a published model"),
    ];
    for (from, to, message) in edits {
        assert!(good.contains(from), "{from} in {good}");
        sandbox.write("edited.json", good.replacen(from, to, 1));
        sandbox.refuses("predict edited.json two.csv", &["edited.json", message]);
        sandbox.refuses("evaluate edited.json two.csv --label y", &["edited.json", message]);
    }
    for (text, message) in [("", "not a published model"), ("{}", "missing field"), (&good[..90], "not a published")] {
        sandbox.write("edited.json", text);
        sandbox.refuses("predict edited.json two.csv", &["edited.json", message]);
    }
}
