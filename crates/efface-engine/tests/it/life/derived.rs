//! Derived constants in both worlds: location, scale and categories after a removal are those of a training without the
//! rows, bit for bit, and so is what is published of them.

use std::fmt::Write;

use efface_core::loss::{Logistic, Loss, Squared};
use efface_core::model::TrainingConfig;
use efface_core::ridge::Ridge;
use efface_data::{ClassWeights, Columns, RowId, RowTransform, Scale, open_rows, read_all};
use efface_engine::{ModelDirectory, OpenOptions, Place, RowSource, Selection, TrainRequest};
use efface_ledger::verify::{CheckOutcome, Verdict};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

use crate::models::{Folder, files, json, published, randomness};

/// Rows of a table that nobody prepared: numbers of all sizes with outliers, years, texts, gaps.
fn raw_rows(dice: &mut ChaCha8Rng, n_rows: usize) -> Vec<String> {
    let colours = ["red", "blue", "green", "mauve", "ochre", "teal"];
    let row = |i: usize| {
        let x: f64 = dice.random_range(-1.0..1.0);
        let salary = 30_000.0 * (1.5 * dice.random_range(-1.0..1.0_f64)).exp();
        let salary = if dice.random_bool(0.02) { 1e12 } else { salary };
        let year = 2000 + dice.random_range(0..25);
        // The last ones are rare: they come and go as categories.
        let colour = colours[(6.0 * dice.random_range(0.0..1.0_f64).powi(3)) as usize];
        let gap = if dice.random_bool(0.02) { String::new() } else { format!("{}", dice.random_range(0..4)) };
        let flag = u8::from(dice.random_bool(0.03));
        let number = 1e6 + 40.0 * x + f64::from(year) + dice.random_range(-1.0..1.0);
        let score = x + dice.random_range(-0.5..0.5);
        let class = if score > 0.0 { "yes" } else { "no" };
        let third = ["low", "middle", "high"][usize::from(score > -0.4) + usize::from(score > 0.4)];
        let weight = [0.5, 1.0, 2.0, 3.25][i % 4];
        format!("row-{i},{x:.4},{salary:.2},{year},{colour},{gap},{flag},{number:.3},{class},{third},{weight}")
    };
    (0..n_rows).map(row).collect()
}

fn write<'a>(folder: &Folder, name: &str, rows: impl IntoIterator<Item = &'a String>) {
    let mut text = String::from("id,x,salary,year,colour,gap,flag,number,class,third,weight\n");
    rows.into_iter().for_each(|row| writeln!(text, "{row}").expect("text"));
    folder.write(name, text);
}

fn train(folder: &Folder, data: &str, out: &str, loss: &'static dyn Loss) {
    train_on(folder, data, out, loss, columns(if loss.is_classification() { "class" } else { "number" }, false));
}

/// The columns of a table with this label, weighted or not.
fn columns(label: &str, is_weighted: bool) -> Columns {
    let others = ["number", "class", "third", "weight"].into_iter();
    let ignore =
        others.filter(|name| *name != label && !(is_weighted && *name == "weight")).map(String::from).collect();
    let weight = is_weighted.then(|| "weight".into());
    Columns { label: Some(label.into()), id: Some("id".into()), weight, ignore, ..Columns::default() }
}

fn train_on(folder: &Folder, data: &str, out: &str, loss: &'static dyn Loss, columns: Columns) {
    let (rows, schema) = open_rows(folder.path(data), &columns, None, Scale::Auto).expect("readable");
    let request = TrainRequest {
        rows,
        columns,
        schema,
        transform: RowTransform { scale: Scale::Auto, intercept: true },
        config: TrainingConfig { ridge: Ridge::Total(1.0), ..TrainingConfig::new(loss, 1.0, None) },
        class_weights: ClassWeights::default(),
        memory_bytes: None,
        place: Place { out: folder.path(out), ..Place::default() },
    };
    ModelDirectory::train(request, &mut randomness(), &mut |_| {}).expect("trainable");
}

fn open(folder: &Folder, name: &str) -> ModelDirectory {
    ModelDirectory::open(folder.path(name)).expect("a model")
}

fn release(model: &mut ModelDirectory) -> (Value, bool) {
    let report = published(model.release(&mut randomness(), None).expect("writable"));
    (json(&report.model), report.constants_changed)
}

/// Ids of rows to remove: some of them, or all that have something in common.
fn leaving(dice: &mut ChaCha8Rng, rows: &[String]) -> Vec<usize> {
    let matching = |part: &str| (0..rows.len()).filter(|i| rows[*i].contains(part)).collect();
    match dice.random_range(0..6) {
        0 => (0..dice.random_range(1..4)).map(|_| dice.random_range(0..rows.len())).collect(),
        1 => (0..rows.len() / 3).collect(),
        2 => matching(",teal,"),
        5 => matching(",ochre,"),
        3 => matching(",1000000000000.00,"),
        _ => matching(",,"),
    }
}

fn ids(rows: &[usize]) -> Selection {
    Selection::Ids(rows.iter().map(|row| RowId::parse(&format!("row-{row}"))).collect())
}

/// What removals changed: location or scale of a number, and a category that went with its rows.
#[derive(Default)]
struct Changed {
    scales: usize,
    categories: usize,
}

impl Changed {
    /// Compares the constants of a table with those that were published later.
    fn count(&mut self, folder: &Folder, data: &str, columns: &Columns, published: &Value) {
        let (mut rows, schema) = open_rows(folder.path(data), columns, None, Scale::Auto).expect("readable");
        let table = read_all(&mut *rows).expect("readable").expect("rows");
        let before = serde_json::to_value(table.derived_counts(schema.as_ref(), false).constants()).expect("JSON");
        for (name, after) in published["columns"].as_array().into_iter().flatten().zip(columns_of(published)) {
            let at = table.feature_names().iter().position(|known| name == known).expect("known");
            let before = &columns_of(&serde_json::json!({"constants": before}))[at];
            if (&before["kind"], &after["kind"]) == (&"number".into(), &"number".into()) {
                let differs = |key: &str| before[key] != after[key];
                self.scales += usize::from(differs("location") || differs("scale"));
            }
            let names = |column: &Value| column["categories"].as_array().map_or(0, Vec::len);
            self.categories += usize::from(names(&after) < names(before));
        }
    }
}

fn columns_of(model: &Value) -> Vec<Value> {
    model["constants"]["columns"].as_array().expect("constants").clone()
}

#[test]
fn constants_after_a_removal_are_those_of_training_without_the_rows() {
    let (mut n_changed, mut changed) = (0, Changed::default());
    for seed in 0..48 {
        let mut dice = ChaCha8Rng::seed_from_u64(seed);
        let loss: &'static dyn Loss = if seed % 2 == 0 { &Squared } else { &Logistic };
        let mut rows = raw_rows(&mut dice, 60 + 40 * (seed as usize % 4));
        let mut gone = leaving(&mut dice, &rows);
        gone.sort_unstable();
        gone.dedup();
        // Some rows come later, and some are corrected.
        let is_mixed = seed % 3 == 1;
        let late = rows.len() - if is_mixed { 7 } else { 0 };
        gone.retain(|i| *i < late);
        if gone.is_empty() {
            continue;
        }
        let label = if seed % 2 == 0 { "number" } else { ["class", "third"][(seed as usize / 2) % 2] };
        let columns = columns(label, seed % 5 < 2);
        let folder = Folder::new();
        let wrong: Vec<usize> = (0..late).filter(|i| is_mixed && i % 11 == 3 && !gone.contains(i)).collect();
        write(&folder, "all.csv", &rows[..late]);
        train_on(&folder, "all.csv", "all", loss, columns.clone());
        let mut model = open(&folder, "all");
        model.remove(&ids(&gone), None).expect("present");
        // Cut short, the removal is taken again from what is on the disk.
        if seed % 3 == 0 {
            drop(model);
            model = open(&folder, "all");
        }
        if is_mixed {
            write(&folder, "late.csv", &rows[late..]);
            model.add(&RowSource::of(folder.path("late.csv"))).expect("addable");
            let right = raw_rows(&mut dice, late);
            for i in &wrong {
                rows[*i].clone_from(&right[*i]);
            }
            write(&folder, "right.csv", wrong.iter().map(|i| &rows[*i]));
            model.correct(&RowSource::of(folder.path("right.csv"))).expect("correctable");
        }
        let (mut removed, is_changed) = release(&mut model);
        n_changed += usize::from(is_changed);
        if !is_mixed {
            changed.count(&folder, "all.csv", &columns, &removed);
        }
        let report = model.verify(true).expect("readable");
        assert!(report.checks.iter().all(|check| check.outcome != CheckOutcome::Failed), "seed {seed}: {report:?}");

        write(&folder, "rest.csv", rows.iter().enumerate().filter(|(i, _)| !gone.contains(i)).map(|(_, row)| row));
        train_on(&folder, "rest.csv", "rest", loss, columns);
        let (mut never, _) = release(&mut open(&folder, "rest"));
        if loss.is_classification() {
            let weights = |model: &mut Value| {
                let parts = [model["weights"].take(), model["intercept"].take()];
                parts.iter().flat_map(numbers).collect::<Vec<f64>>()
            };
            let (found, expected) = (weights(&mut removed), weights(&mut never));
            assert_eq!(found.len(), expected.len(), "seed {seed}");
            // The noise of the two releases; that of an intercept is eight times as large.
            let differ = |(a, b): (&f64, &f64)| (a - b).abs() > 0.1;
            assert!(!found.iter().zip(&expected).any(differ), "seed {seed}: {found:?} {expected:?}");
        }
        assert_eq!(removed, never, "seed {seed}");
    }
    assert!(n_changed >= 10, "{n_changed} changes of the rows changed a constant");
    assert!(changed.scales >= 5, "removals changed {} scales", changed.scales);
    assert!(changed.categories >= 3, "removals emptied {} categories", changed.categories);
}

/// Numbers of single precision have constants of their own, which follow them exactly as well.
#[test]
fn constants_of_single_precision_are_the_same_in_both_worlds() {
    let mut dice = ChaCha8Rng::seed_from_u64(23);
    let n = 120;
    // The first rows are far from the others.
    let values: Vec<f32> = (0..3 * n).map(|i| dice.random_range(0.0..1.0) * if i < 60 { 900.0 } else { 1.0 }).collect();
    let numbers: Vec<i64> = (0..).take(n).collect();
    let folder = Folder::new();
    for (name, first) in [("all", 0), ("rest", 20)] {
        let bytes: Vec<u8> = values[3 * first..].iter().flat_map(|x| x.to_le_bytes()).collect();
        folder.write(&format!("{name}.npy"), npy("<f4", &format!("({}, 3)", n - first), &bytes));
        let integers = |of: fn(&i64) -> i64| {
            let bytes: Vec<u8> = numbers[first..].iter().flat_map(|i| of(i).to_le_bytes()).collect();
            npy("<i8", &format!("({},)", n - first), &bytes)
        };
        folder.write(&format!("{name}-y.npy"), integers(|i| i % 2));
        folder.write(&format!("{name}-id.npy"), integers(|i| *i));
        let path = |what: &str| Some(folder.path(&format!("{name}-{what}.npy")).display().to_string());
        let columns = Columns { label: path("y"), id: path("id"), ..Columns::default() };
        train_on(&folder, &format!("{name}.npy"), name, &Squared, columns);
    }
    let mut model = open(&folder, "all");
    model.remove(&Selection::Ids((0..20).map(RowId::Integer).collect()), None).expect("present");
    let (removed, changed) = release(&mut model);
    assert!(changed, "{removed}");
    assert_eq!(removed, release(&mut open(&folder, "rest")).0);
}

/// An array in NumPy's format.
fn npy(kind: &str, shape: &str, values: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}");
    let header = format!("{header:<117}\n");
    [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), values].concat()
}

fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(values) => values.iter().flat_map(numbers).collect(),
        number => vec![number.as_f64().expect("a number")],
    }
}

/// The names of fields, and their order, came from the rows that had them first.
#[test]
fn fields_that_only_removed_rows_had_are_published_nowhere() {
    let mut dice = ChaCha8Rng::seed_from_u64(11);
    let line = |i: usize| {
        let x: f64 = dice.random_range(-1.0..1.0);
        let class = if x > 0.0 { "yes" } else { "no" };
        match i {
            0 => format!(r#"{{"secret": "diagnosis", "id": "row-0", "x": {x}, "class": "{class}", "a": 3}}"#),
            1 => format!(r#"{{"id": "row-1", "x": {x}, "class": "{class}", "another": 7}}"#),
            _ => format!(
                r#"{{"class": "{class}", "id": "row-{i}", "a": {}, "x": {x}, "number": 1, "third": 1, "weight": 1}}"#,
                i % 7
            ),
        }
    };
    let lines: Vec<String> = (0..80).map(line).collect();
    let folder = Folder::new();
    folder.write("all.jsonl", lines.join("\n"));
    folder.write("rest.jsonl", lines[2..].join("\n"));
    for name in ["all", "rest"] {
        train(&folder, &format!("{name}.jsonl"), name, &Logistic);
    }
    let mut model = open(&folder, "all");
    model.remove(&ids(&[0, 1]), None).expect("present");
    let (mut removed, _) = release(&mut model);
    let (mut never, _) = release(&mut open(&folder, "rest"));
    assert_eq!(removed["columns"], serde_json::json!(["a", "x"]));
    for model in [&mut removed, &mut never] {
        model["weights"].take();
        model["intercept"].take();
    }
    assert_eq!(removed, never);
}

/// What a column becomes follows rows that come, too, and their texts are known after a crash and without the state.
#[test]
fn new_rows_bring_new_categories() {
    let mut dice = ChaCha8Rng::seed_from_u64(7);
    let rows: Vec<String> = raw_rows(&mut dice, 90).into_iter().map(|row| row.replace("teal", "red")).collect();
    let more: Vec<String> = raw_rows(&mut dice, 100)[90..].iter().map(|row| recoloured(row, "violet")).collect();
    let folder = Folder::new();
    write(&folder, "all.csv", rows.iter().chain(&more));
    write(&folder, "some.csv", &rows);
    write(&folder, "more.csv", &more);
    train(&folder, "some.csv", "some", &Squared);
    let mut model = open(&folder, "some");
    model.add(&RowSource::of(folder.path("more.csv"))).expect("addable");
    drop(model);
    let mut model = open(&folder, "some");
    let (added, changed) = release(&mut model);
    model.close().expect("writable");
    train(&folder, "all.csv", "all", &Squared);
    let (all, _) = release(&mut open(&folder, "all"));
    assert!(changed && added["features"].to_string().contains("colour=violet"), "{added}");
    assert_eq!(added, all);

    // A state that is lost is trained again, with the categories that there were.
    let states = std::fs::read_dir(folder.path("some/state")).expect("a folder").flatten().map(|entry| entry.path());
    states.filter(|path| !path.ends_with("removed")).for_each(|path| std::fs::remove_file(path).expect("there"));
    let mut model = ModelDirectory::open_with(folder.path("some"), &OpenOptions::default()).expect("repaired");
    let (again, _) = release(&mut model);
    assert_eq!((&again["features"], &again["constants"]), (&added["features"], &added["constants"]));
    assert_eq!(again["weights"], added["weights"]);
}

fn recoloured(row: &str, colour: &str) -> String {
    let mut cells: Vec<&str> = row.split(',').collect();
    cells[4] = colour;
    cells.join(",")
}

/// The name of a category stood in the database and the state until the next release, after all rows that had it were gone.
#[test]
fn a_category_leaves_its_name_nowhere() {
    let mut dice = ChaCha8Rng::seed_from_u64(3);
    let mut rows: Vec<String> = raw_rows(&mut dice, 80);
    rows[..9].iter_mut().for_each(|row| *row = recoloured(row, "chartreuse"));
    rows[9] = recoloured(&rows[9], "heliotrope");
    let folder = Folder::new();
    write(&folder, "all.csv", &rows);
    train(&folder, "all.csv", "model", &Logistic);
    let stands = |text: &str| {
        let found = files(&folder.path("model")).into_iter().filter(|(name, _)| !name.starts_with("releases"));
        let has = |bytes: &[u8]| bytes.windows(text.len()).any(|window| window == text.as_bytes());
        found.filter(|(_, bytes)| has(bytes)).map(|(name, _)| name.display().to_string()).collect::<Vec<_>>()
    };
    assert_eq!((stands("chartreuse"), stands("heliotrope")), (vec!["efface.db".into()], Vec::<String>::new()));
    let mut model = open(&folder, "model");
    model.remove(&ids(&[0, 1, 2, 3]), None).expect("present");
    model.close().expect("writable");
    assert_eq!(stands("chartreuse"), ["efface.db"], "five rows have it");
    let mut model = open(&folder, "model");
    model.remove(&ids(&[4, 5, 6, 7, 8]), None).expect("present");
    model.close().expect("writable");
    assert_eq!(stands("chartreuse"), Vec::<String>::new());
    // The weights know rows that were encoded with it, and the next release follows.
    let mut model = open(&folder, "model");
    model.remove(&ids(&[20]), None).expect("present");
    assert!(release(&mut model).1);
}

/// A column of one number with a gap had a scale that no file holds, and the sign of a location of zero told of rows that had left.
#[test]
fn constants_of_plain_columns_are_the_same_in_both_worlds() {
    let folder = Folder::new();
    let row = |i: usize, gap: &str, x: f64| format!("row-{i},{x},7,{gap},plain,{gap},0,{},yes,low,1", i % 5);
    let gap = |i: usize| if i == 3 || i == 20 { "" } else { "7" };
    let rows: Vec<String> = (0..21).map(|i| row(i, gap(i), if i == 20 { -0.5 } else { [-1.0, 1.0][i % 2] })).collect();
    write(&folder, "all.csv", &rows);
    write(&folder, "rest.csv", &rows[..20]);
    train(&folder, "all.csv", "all", &Squared);
    train(&folder, "rest.csv", "rest", &Squared);
    let mut model = open(&folder, "all");
    model.remove(&ids(&[20]), None).expect("present");
    let removed = published(model.release(&mut randomness(), None).expect("writable")).model;
    let never = published(open(&folder, "rest").release(&mut randomness(), None).expect("writable")).model;
    let text = std::fs::read_to_string(&removed).expect("readable");
    assert_eq!(text, std::fs::read_to_string(never).expect("readable"));
    assert!(text.contains("year=?missing") && !text.contains(": null"), "{text}");
}

/// A training under new constants that failed left the rows encoded by them, and the model as it was under the old ones; and a
/// damaged row that could not leave was counted twice when it came back.
#[test]
fn a_training_under_new_constants_that_fails_changes_nothing() {
    for loss in [&Squared as &'static dyn Loss, &Logistic] {
        let mut dice = ChaCha8Rng::seed_from_u64(11);
        let mut rows = raw_rows(&mut dice, 100);
        rows[..6].iter_mut().for_each(|row| *row = recoloured(row, "violet"));
        let folder = Folder::new();
        write(&folder, "all.csv", &rows);
        train(&folder, "all.csv", "all", loss);
        let path = folder.path("all/rows/000000.rows");
        let mut bytes = std::fs::read(&path).expect("there");
        // The first cell of rows 50 and 60: behind the header and 256 labels, selectors and checksums.
        let cells = bytes[4096 + 256 * 20..].len() / 100;
        for row in [50, 60] {
            bytes[4096 + 256 * 20 + row * cells] ^= 4;
        }
        std::fs::write(&path, bytes).expect("writable");
        let mut model = open(&folder, "all");
        model.remove(&ids(&[0, 1, 2]), None).expect("present");
        let error = model.release(&mut randomness(), None).expect_err("two rows are damaged");
        assert!(error.damaged_row().is_some(), "{error}");
        // One of them cannot leave without the other.
        assert!(model.remove(&ids(&[50, 10]), None).is_err());
        model.remove(&ids(&[20]), None).expect("present");
        assert_eq!(model.remove(&Selection::Damaged, None).expect("removable").n_changed, 2);
        let (removed, _) = release(&mut model);
        assert_eq!(model.verify(true).expect("readable").verdict, Verdict::Valid);
        let left = |i: &usize| ![0, 1, 2, 20, 50, 60].contains(i);
        write(&folder, "rest.csv", (0..100).filter(left).map(|i| &rows[i]));
        train(&folder, "rest.csv", "rest", loss);
        let (never, _) = release(&mut open(&folder, "rest"));
        assert_eq!((&removed["features"], &removed["constants"]), (&never["features"], &never["constants"]));
        if !loss.is_classification() {
            assert_eq!(removed["weights"], never["weights"]);
        }
    }
}
