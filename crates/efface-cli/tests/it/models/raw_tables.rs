//! Tables that nobody prepared, with defaults only: texts, gaps, outliers, columns of any size.

use std::fmt::Write;

use crate::sandbox::{Sandbox, number, numbers};

/// Customers: whether they leave depends on their usage and their plan.
fn customers(rows: impl IntoIterator<Item = usize>) -> String {
    let mut text = String::from("customer,usage,year,plan,calls,leaves\n");
    for i in rows {
        let part = |k: usize| ((i * k) % 997) as f64 / 997.0;
        let usage = if i % 97 == 5 { 1e15 } else { 1e4 * part(113) };
        let plan = ["basic", "plus", "family"][(i * 7) % 3];
        let calls = if i % 31 == 0 { String::new() } else { format!("{}", (i * 13) % 9) };
        let leaves = part(113) + if plan == "plus" { 0.4 } else { 0.0 } + 0.3 * part(211) > 0.75;
        let leaves = if leaves { "yes" } else { "no" };
        writeln!(text, "{i},{usage:.2},{},{plan},{calls},{leaves}", 2000 + i % 25).expect("text");
    }
    text
}

#[test]
fn a_raw_table_is_learnt_released_and_forgotten_with_defaults_only() {
    let sandbox = Sandbox::new();
    sandbox.write("people.csv", customers(0..1200));
    sandbox.write("new.csv", customers(1200..1600));
    sandbox
        .run_all(&"train people.csv --label leaves --id customer --out model".split(' ').collect::<Vec<_>>())
        .ends_with(0);
    sandbox.json("release model --out model.json");
    assert!(number(&sandbox.json("evaluate model.json new.csv --label leaves"), "accuracy") > 0.85);
    let certificate = sandbox.json("certificate show model.json.certificate.json");
    assert_eq!(certificate["predicate"]["not_public"], serde_json::json!([]), "{certificate}");
    let status = sandbox.json("status model");
    assert_eq!((&status["scale"], number(&status, "alpha")), (&"auto".into(), 1.0));
    assert!(status.get("l2").is_none(), "{status}");

    // All that have one plan leave: nothing of it is left in what is published.
    let family: Vec<String> = (0..1200).filter(|i| (i * 7) % 3 == 2).map(|i| i.to_string()).collect();
    sandbox.write("family.txt", family.join("\n"));
    sandbox.json("remove model --ids family.txt");
    let report = sandbox.json("release model --out later.json");
    assert_eq!(report["constants_changed"], true);
    assert!(sandbox.text("model.json").contains("plan=family"));
    assert!(!sandbox.text("later.json").contains("family"));
    sandbox.json("verify later.json.certificate.json --model later.json --key model/signing.key.pub");
}

/// The rows that weights take, times the weights, are the scores.
#[test]
fn rows_are_shown_as_the_weights_take_them() {
    let sandbox = Sandbox::new();
    sandbox.write("people.csv", customers(0..300));
    let train = "train people.csv --label leaves --id customer --out model";
    sandbox.run_all(&train.split(' ').collect::<Vec<_>>()).ends_with(0);
    sandbox.json("release model --out model.json");
    let model = sandbox.json_file("model.json");
    let shown = sandbox.json("transform model.json people.csv --id customer");
    assert_eq!((&shown["n_rows"], &shown["features"]), (&300.into(), &model["features"]));
    let rows = shown["rows"].as_array().expect("rows");
    assert_eq!(rows[7]["id"], 7);
    let weights = numbers(&model, "weights");
    let predicted = sandbox.json("predict model.json people.csv --id customer");
    for (row, prediction) in rows.iter().zip(predicted["predictions"].as_array().expect("predictions")) {
        let values = numbers(row, "values");
        assert!(values.iter().all(|x| x.abs() <= 8.0), "{row}");
        let score: f64 = values.iter().zip(&weights).map(|(x, w)| x * w).sum();
        let is_second = score + number(&model, "intercept") > 0.0;
        assert_eq!(prediction["prediction"], model["classes"][usize::from(is_second)]);
    }
    sandbox.json("transform model people.csv --id customer --out scaled.csv");
    assert_eq!(sandbox.text("scaled.csv").lines().count(), 301);
    sandbox.refuses("transform model people.csv --out people.csv", &["people.csv: these are the rows"]);
}

/// The reference script has nothing but the file and what docs/schema.md says.
#[test]
fn a_model_can_be_used_with_nothing_but_its_json() {
    let sandbox = Sandbox::new();
    sandbox.write("people.csv", customers(0..300));
    // Later rows have texts, gaps and numbers where there were none.
    let mut new = customers(300..400);
    new.push_str("1000,abc,2010,gold,,no\n1001,,1e9,,many,yes\n1002,5e99,-1e9,7,3,no\n");
    sandbox.write("new.csv", new);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/real/score.py");
    for (name, train) in [
        ("classes", "--label leaves --id customer"),
        ("three", "--label plan --id customer"),
        ("numbers", "--label year --id customer --loss squared"),
    ] {
        sandbox.shell(&format!("\"$0\" train people.csv {train} --out {name}")).ends_with(0);
        sandbox.json(&format!("release {name} --out {name}.json"));
        if name == "three" {
            sandbox.shell("sed 's/gold/plus/; s/,many/,2/' new.csv > rows.csv").ends_with(0);
        } else {
            sandbox.shell("cp new.csv rows.csv").ends_with(0);
        }
        let answer = sandbox.shell(&format!("python3 {script} {name}.json rows.csv"));
        answer.ends_with(0);
        let scores: Vec<Vec<f64>> = serde_json::from_str(&answer.stdout).expect("scores");
        let predicted = sandbox.json(&format!("predict {name}.json rows.csv"));
        let model = sandbox.json_file(&format!("{name}.json"));
        let predictions = predicted["predictions"].as_array().expect("predictions");
        assert_eq!(predictions.len(), scores.len());
        for (scores, prediction) in scores.iter().zip(predictions) {
            let best = (0..scores.len()).max_by(|a, b| scores[*a].total_cmp(&scores[*b])).expect("a score");
            match name {
                "classes" => {
                    assert_eq!(prediction["prediction"], model["classes"][usize::from(scores[0] > 0.0)]);
                    let probability = 1.0 / (1.0 + (-scores[0].abs()).exp());
                    assert!((number(prediction, "probability") - probability).abs() < 1e-9, "{scores:?}, {prediction}");
                }
                "three" => assert_eq!(prediction["prediction"], model["classes"][best]),
                _ => {
                    let found: f64 = prediction["prediction"].as_str().expect("text").parse().expect("a number");
                    assert!((found - scores[0]).abs() < 1e-6, "{scores:?}, {prediction}");
                }
            }
        }
    }
}

/// Noise and rows of any size: what was refused, or was worse than the mean.
#[test]
fn numbers_far_from_zero_are_predicted() {
    let sandbox = Sandbox::new();
    let mut text = String::from("age,salary,flag,price\n");
    for i in 0..400_usize {
        let (age, salary, flag) = (20 + i % 50, 20_000 + 137 * ((i * 31) % 400), i % 2);
        let price = 1e6 + 90.0 * age as f64 + 0.01 * salary as f64 + 200.0 * flag as f64;
        writeln!(text, "{age},{salary},{flag},{price}").expect("text");
    }
    sandbox.write("prices.csv", text);
    // The prices have a deviation of some 1,300. Noise of 0.001 is about 10 of them in the constant
    // alone (a standard deviation of 1,300 · 8 · 0.001): the limit is ten times as far away.
    for (noise, limit) in [(&[][..], 5.0), (&["--noise-std", "0.001"], 130.0)] {
        let out = format!("model-{}", noise.len());
        let train = ["train", "prices.csv", "--label", "price", "--loss", "squared", "--out", &out];
        sandbox.run_all(&[&train[..], noise].concat()).ends_with(0);
        sandbox.json(&format!("release {out} --out {out}.json"));
        let evaluation = sandbox.json(&format!("evaluate {out}.json prices.csv --label price"));
        assert!(number(&evaluation, "rmse") < limit, "{evaluation}");
    }
}
