//! Real tables from raw CSV: trained through a schema, as accurate as scikit-learn's LogisticRegression on the same
//! encoding. `real/reference.py` made the figures and says what is compared; it names the schemas.

use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use efface_data::{Columns, FeatureValues, Schema, read_table};
use efface_testkit::real_data;
use flate2::read::MultiGzDecoder;
use serde_json::Value;

use crate::sandbox::{Sandbox, number, numbers};

fn beside(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real").join(name)
}

/// The figures of scikit-learn for one data set, and the tolerance.
fn reference(name: &str) -> (Value, f64) {
    let text = std::fs::read_to_string(beside("reference.json")).expect("committed");
    let all: Value = serde_json::from_str(&text).expect("JSON");
    (all[name].clone(), number(&all, "accuracy_tolerance"))
}

/// The features that the program makes are those that the script makes: the same names, and the same sums.
fn check_encoding(reference: &Value, train: &Path) {
    let schema = Schema::load(beside(reference["schema"].as_str().expect("a file"))).expect("valid");
    let table = read_table(train, &Columns::default(), Some(&schema)).expect("readable");
    assert_eq!(serde_json::json!(table.feature_names()), reference["features"]);
    assert_eq!(table.n_rows() as f64, number(reference, "n_train"));
    let FeatureValues::F64(values) = table.features() else { panic!("doubles are expected") };
    let mut sums = vec![0.0; table.feature_names().len()];
    for row in values.chunks_exact(sums.len()) {
        sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
    }
    for ((name, sum), expected) in table.feature_names().iter().zip(sums).zip(numbers(reference, "train_column_sums")) {
        assert!((sum - expected).abs() <= 1e-9 * expected.abs().max(1.0), "{name}: {sum}, expected {expected}");
    }
}

/// Trains on a raw file, releases, and compares the accuracy of the release with each of scikit-learn's models.
fn check_accuracy(name: &str, train: &Path, test: &Path) {
    let (reference, tolerance) = reference(name);
    check_encoding(&reference, train);
    let sandbox = Sandbox::new();
    let schema = beside(reference["schema"].as_str().expect("a file"));
    let (scale, l2) = (reference["scale"].as_str().expect("a scale"), number(&reference, "l2"));
    let (train, schema) = (train.display(), schema.display());
    let trained =
        sandbox.json(&format!("train {train} --schema {schema} --scale {scale} --l2 {l2} --intercept --out model"));
    assert_eq!(number(&trained, "n_rows"), number(&reference, "n_train"));
    sandbox.json("release model --out released.json");
    let evaluated = sandbox.json(&format!("evaluate released.json {}", test.display()));
    assert_eq!(number(&evaluated, "n_rows"), number(&reference, "n_test"));
    let accuracy = number(&evaluated, "accuracy");
    for model in ["same_objective", "free_intercept", "default"] {
        let theirs = number(&reference, model);
        eprintln!("{name}: {accuracy:.4}, scikit-learn ({model}) {theirs:.4}");
        assert!(accuracy >= theirs - tolerance, "{name}: {accuracy}, scikit-learn ({model}) {theirs}");
    }
    assert!(accuracy > number(&reference, "majority") + 0.02);

    let status = sandbox.json("status model");
    assert_eq!(status["not_public"], serde_json::json!([]));
}

#[test]
fn adult_is_trained_from_raw_csv() {
    let Some(data) = real_data() else { return };
    check_accuracy("adult", &data.join("adult/train.csv.gz"), &data.join("adult/test.csv.gz"));
}

#[test]
fn credit_default_is_trained_from_raw_csv() {
    let Some(data) = real_data() else { return };
    let file = std::fs::File::open(data.join("credit-default/credit.csv.gz")).expect("there");
    let mut text = String::new();
    MultiGzDecoder::new(file).read_to_string(&mut text).expect("text");
    let mut lines = text.lines();
    let header = lines.next().expect("a header");
    let [mut train, mut test] = [0, 1].map(|_| format!("{header}\n"));
    for line in lines {
        let id: u64 = line.split(',').next().expect("an id").parse().expect("a number");
        let part = if id.is_multiple_of(5) { &mut test } else { &mut train };
        writeln!(part, "{line}").expect("text");
    }
    let sandbox = Sandbox::new();
    sandbox.write("train.csv", train);
    sandbox.write("test.csv", test);
    check_accuracy("credit", &sandbox.path("train.csv"), &sandbox.path("test.csv"));
}
