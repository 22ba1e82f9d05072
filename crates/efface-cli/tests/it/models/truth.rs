//! What is published after a change, against a model trained from scratch on the rows that are left.

use efface_engine::ModelDirectory;

use crate::sandbox::{COLUMNS, Sandbox, class, number, numbers, table, target};

/// Trains on `rows`, lets `change` happen, releases, and returns the published weights.
fn published(rows: &str, train: &str, changes: &[&str], files: &[(&str, String)]) -> (Vec<f64>, f64) {
    let sandbox = Sandbox::new();
    sandbox.write("rows.csv", rows);
    for (name, text) in files {
        sandbox.write(name, text);
    }
    sandbox.json(&format!("train rows.csv {COLUMNS} --out model {train}"));
    for change in changes {
        sandbox.json(change);
    }
    let released = sandbox.json("release model");
    let model = sandbox.json_file("model/releases/1/model.json");
    let mut weights = numbers(&model, "weights");
    weights.push(number(&model, "intercept"));
    (weights, number(&released, "distance_bound"))
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

const GONE: [usize; 6] = [3, 8, 9, 10, 11, 50];

fn remaining() -> impl Iterator<Item = usize> {
    (0..60).filter(|i| !GONE.contains(i))
}

#[test]
fn removal_under_the_squared_loss_is_exact() {
    let train = "--loss squared --l2 1e-2 --intercept";
    let (from_scratch, _) = published(&table(remaining(), target), train, &[], &[]);
    for changes in [
        &["remove model --id u3 u50", "remove model --subject p2", "settle model"][..],
        &["remove model --id u3 u50", "remove model --subject p2"],
        &["remove model --id u3 u8 u9 u10 u11 u50"],
    ] {
        let (removed, _) = published(&table(0..60, target), train, changes, &[]);
        assert_eq!(removed, from_scratch, "{changes:?}");
    }
}

#[test]
fn adding_and_correcting_under_the_squared_loss_are_exact() {
    let train = "--loss squared --l2 1e-2 --intercept";
    let (from_scratch, _) = published(&table(0..60, target), train, &[], &[]);
    let wrong = |i: usize, x: [f64; 3]| if i.is_multiple_of(7) { "1.5".into() } else { target(i, x) };
    let files = [("more.csv", table(50..60, target)), ("right.csv", table((0..50).step_by(7), target))];
    let changes = ["correct model right.csv", "add model more.csv"];
    let (changed, _) = published(&table(0..50, wrong), train, &changes, &files);
    assert_eq!(changed, from_scratch);
}

#[test]
fn removal_under_the_logistic_loss_is_within_the_noise() {
    let noise_std = 1e-6;
    let train = format!("--l2 1e-2 --intercept --noise-std {noise_std}");
    let (from_scratch, _) = published(&table(remaining(), class), &train, &[], &[]);
    let (before, _) = published(&table(0..60, class), &train, &[], &[]);
    let within = 10.0 * noise_std * 2.0;
    assert!(distance(&before, &from_scratch) > 100.0 * within, "the rows must matter for the test to say anything");
    for changes in [
        &["remove model --id u3 u50", "remove model --subject p2", "settle model"][..],
        &["remove model --id u3 u50", "remove model --subject p2"],
        &["remove model --id u3 u50 --settle", "remove model --id u8 u9 u10 u11", "retrain model"],
    ] {
        let (removed, distance_bound) = published(&table(0..60, class), &train, changes, &[]);
        let measured = distance(&removed, &from_scratch);
        assert!(measured <= distance_bound + within, "{measured}");
    }
}

/// Seen from inside: a release would settle the weights first.
#[test]
fn an_instant_removal_claims_no_less_than_the_true_distance() {
    let weights = |rows: String, removal: Option<&str>| {
        let sandbox = Sandbox::new();
        sandbox.write("rows.csv", rows);
        sandbox.json(&format!("train rows.csv {COLUMNS} --out model --l2 1e-2"));
        if let Some(removal) = removal {
            sandbox.json(removal);
        }
        let claimed = number(&sandbox.json("status model"), "distance_bound");
        let model = ModelDirectory::open(sandbox.path("model")).expect("a model");
        (model.audit_material().model.state().fits[0].weights.to_vec(), claimed)
    };
    let (from_scratch, _) = weights(table(remaining(), class), None);
    let (removed, claimed) = weights(table(0..60, class), Some("remove model --id u3 u50 u8 u9 u10 u11"));
    let measured = distance(&removed, &from_scratch);
    assert!(measured > 1e-6, "the step must leave something for the test to say anything: {measured}");
    assert!(measured <= claimed, "{measured} {claimed}");
}
