//! Rows and labels that cannot be used: the message names file, line or row, column, value and limit, and nothing is
//! made or changed.

use crate::sandbox::{COLUMNS, Sandbox, class, doubles, gzipped, npy, npy_features, table, target, two_classes};

/// Training on this file must be refused.
#[track_caller]
fn refuses_to_train(name: &str, bytes: impl AsRef<[u8]>, arguments: &str, parts: &[&str]) {
    let sandbox = Sandbox::new();
    sandbox.write(name, bytes);
    sandbox.refuses(&format!("train {name} {arguments} --out model"), parts);
    assert!(!sandbox.exists("model"));
}

/// The table with the cell of a column in line 7 replaced.
fn with_cell(column: usize, value: &str) -> String {
    let mut lines: Vec<String> = two_classes(20).lines().map(str::to_owned).collect();
    let mut cells: Vec<&str> = lines[6].split(',').collect();
    cells[column] = value;
    lines[6] = cells.join(",");
    lines.join("\n")
}

#[test]
fn a_feature_that_is_no_finite_number_is_named_with_its_cell() {
    for value in ["NaN", "nan", "inf", "-Infinity", "1e999"] {
        let parts = ["error: rows.csv, line 7, column `b`: features must be finite, got `", value];
        refuses_to_train("rows.csv", with_cell(3, value), COLUMNS, &parts);
    }
    for value in ["abc", "1,5", "0x10", "1 000", "١"] {
        let quoted = format!("\"{value}\"");
        let parts = ["error: rows.csv, line 7, column `c`: features must be numbers, got `", value];
        refuses_to_train("rows.csv", with_cell(4, &quoted), COLUMNS, &parts);
    }
    refuses_to_train("rows.csv", with_cell(2, ""), COLUMNS, &["rows.csv, line 7, column `a`: empty cell"]);
    refuses_to_train("rows.csv", with_cell(5, " "), COLUMNS, &["rows.csv, line 7, column `y`: empty cell"]);
    refuses_to_train("rows.csv", with_cell(0, ""), COLUMNS, &["rows.csv, line 7, column `id`: empty cell"]);
}

#[test]
fn a_feature_of_an_array_that_is_not_finite_is_named_with_its_row() {
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let sandbox = Sandbox::new();
        sandbox.write("x.npy", npy("<f8", "(3, 2)", &doubles(&[1.0, 2.0, 3.0, 4.0, 5.0, value])));
        sandbox.write("y.npy", npy("<f8", "(3,)", &doubles(&[0.0, 1.0, 0.0])));
        let message = format!("error: x.npy, row 2, column `x1`: features must be finite, got `{value}`");
        sandbox.refuses("train x.npy --label y.npy --out model", &[&message]);
    }
}

#[test]
fn a_forgotten_id_column_is_hinted_at() {
    let parts = ["rows.csv, line 2, column `id`: features must be numbers, got `u0`", "hint: ", "--id", "--ignore"];
    refuses_to_train("rows.csv", two_classes(20), "--label y", &parts);
}

#[test]
fn labels_must_suit_the_loss() {
    let squared = format!("{COLUMNS} --loss squared");
    let parts = ["rows.csv, line 2, column `y`: labels must be finite numbers, got `", "hint: ", "--loss logistic"];
    refuses_to_train("rows.csv", two_classes(20), &squared, &parts);
    for value in ["nan", "inf"] {
        let rows = table(0..20, |i, x| if i == 5 { value.into() } else { target(i, x) });
        let parts = ["rows.csv, line 7, column `y`: labels must be finite numbers, got `", value];
        refuses_to_train("rows.csv", rows, &squared, &parts);
        let rows = table(0..20, |i, x| if i == 5 { value.into() } else { class(i, x) });
        let parts = ["rows.csv, line 7, column `y`: class labels cannot be NaN or infinite, got `", value];
        refuses_to_train("rows.csv", rows, COLUMNS, &parts);
    }
    let rows = table(0..20, |i, x| if i == 5 { String::new() } else { class(i, x) });
    let parts = ["rows.csv, line 7, column `y`: empty cell", "hint: fill it in, or leave the row out"];
    refuses_to_train("rows.csv", rows, COLUMNS, &parts);
    let rows = table(0..20, |i, _| format!("{},70 €", i % 3)).replace(",70", ".70");
    let parts = ["column `y`: numeric class labels must be integers", "got `0.70 €`", "hint: ", "--loss squared"];
    refuses_to_train("rows.csv", rows, COLUMNS, &parts);
    let rows = table(0..20, |i, _| if i == 5 { "0.5".into() } else { (i % 2).to_string() });
    let parts = ["rows.csv, line 7, column `y`: numeric class labels must be integers", "got `0.5`", "--loss squared"];
    refuses_to_train("rows.csv", rows, COLUMNS, &parts);
}

#[test]
fn more_than_a_thousand_classes_are_taken_for_a_mistake() {
    let rows = table(0..1100, |i, _| i.to_string());
    let parts = ["rows.csv, line 1002, column `y`: label `1000` would be class 1001, at most 1000 are allowed"];
    refuses_to_train("rows.csv", rows, COLUMNS, &parts);
    let rows = table(0..1100, |i, _| format!("name-{i}"));
    refuses_to_train("rows.csv", rows, COLUMNS, &["line 1002", "label `name-1000`", "at most 1000 are allowed"]);
}

#[test]
fn one_class_only_is_refused() {
    let parts = ["error: rows.csv: all 20 labels are `yes`; classification needs two classes or more"];
    refuses_to_train("rows.csv", table(0..20, |_, _| "yes".into()), COLUMNS, &parts);
    refuses_to_train("rows.csv", table(0..1, class), COLUMNS, &["rows.csv: all 1 labels are `"]);
}

#[test]
fn a_row_beyond_the_norm_is_named_with_its_norm_and_the_limit() {
    let parts = ["rows.csv, line 7: row norm is ", ", the limit is 1.000001", "hint: ", "--scale unit"];
    let rows = with_cell(2, "2.5").replace(",0.", ",0.0").replace(",-0.", ",-0.0");
    refuses_to_train("rows.csv", rows, &format!("{COLUMNS} --scale none"), &parts);
}

#[test]
fn data_without_rows_is_refused() {
    refuses_to_train("rows.csv", "", COLUMNS, &["error: rows.csv: no rows"]);
    refuses_to_train("rows.csv", "id,who,a,b,c,y\n", COLUMNS, &["error: rows.csv: no rows"]);
    refuses_to_train("rows.csv", "id,who,a,b,c,y", COLUMNS, &["error: rows.csv: no rows"]);
    refuses_to_train("x.npy", npy("<f8", "(0, 3)", &[]), "--label y.npy", &["error: x.npy: no rows"]);
    refuses_to_train("x.npy", npy("<f8", "(3, 0)", &[]), "--label y.npy", &["error: x.npy: no feature columns"]);
    refuses_to_train("x.npy", "", "--label y.npy", &["x.npy: not a readable .npy file"]);
    refuses_to_train("rows.csv.gz", "", COLUMNS, &["error: rows.csv.gz: "]);
}

#[test]
fn columns_must_be_there_once() {
    let rows = two_classes(20);
    refuses_to_train(
        "rows.csv",
        &rows,
        "--label target",
        &["rows.csv: no column `target`; there are `id`, `who`, `a`"],
    );
    refuses_to_train("rows.csv", &rows, "--label y --id key", &["rows.csv: no column `key`"]);
    refuses_to_train("rows.csv", &rows, "--label y --subject person", &["rows.csv: no column `person`"]);
    refuses_to_train("rows.csv", &rows, "--label y --features a,q", &["rows.csv: no column `q`"]);
    refuses_to_train("rows.csv", &rows, "--label y --features a,y", &["column `y` cannot be both label and feature"]);
    refuses_to_train("rows.csv", &rows, "--label y --id y", &["column `y` cannot be both label and row id"]);
    let doubled = rows.replacen("a,b,c", "a,b,a", 1);
    refuses_to_train("rows.csv", doubled, COLUMNS, &["error: rows.csv: two columns are called `a`"]);
    let ignored = format!("{COLUMNS} --ignore a,b,c");
    refuses_to_train("rows.csv", &rows, &ignored, &["error: rows.csv: no feature columns"]);
    refuses_to_train("rows.csv", rows.replacen("a,b,c", "a,,c", 1), COLUMNS, &["column 4 has no name in the header"]);
}

#[test]
fn a_line_that_is_too_short_or_too_long_is_named() {
    let rows = format!("{}u20,p5,1,2\n", two_classes(20));
    refuses_to_train("rows.csv", rows, COLUMNS, &["error: rows.csv, line 22: 4 cells, the header has 6"]);
    let rows = format!("{}u20,p5,1,2,3,yes,\n", two_classes(20));
    refuses_to_train("rows.csv", rows, COLUMNS, &["error: rows.csv, line 22: 7 cells, the header has 6"]);
}

#[test]
fn an_id_given_to_two_rows_is_refused() {
    let parts = ["error: rows.csv, line 7: row id `u2` is already that of line 4"];
    refuses_to_train("rows.csv", with_cell(0, "u2"), COLUMNS, &parts);
}

#[test]
fn text_that_is_not_unicode_is_refused() {
    let mut rows = two_classes(20).replacen("p0", "é", 1).into_bytes();
    let last = rows.len() - 2;
    rows[last] = 0xff;
    let parts = ["rows.csv: line 21, column `y` is not valid Unicode", "--encoding"];
    refuses_to_train("rows.csv", &rows, COLUMNS, &parts);
}

#[test]
fn lengths_that_do_not_match_are_named() {
    let sandbox = Sandbox::new();
    sandbox.write("x.npy", npy_features(10));
    sandbox.write("y.npy", npy("<f8", "(9,)", &doubles(&[0.0; 9])));
    sandbox.write("square.npy", npy("<f8", "(5, 2)", &doubles(&[0.0; 10])));
    sandbox.refuses("train x.npy --label y.npy --out model", &["error: y.npy: 9 labels, but there are 10 rows"]);
    sandbox
        .refuses("train x.npy --label square.npy --out model", &["error: square.npy: shape is (5, 2), expected one"]);
    sandbox.refuses("train y.npy --label y.npy --out model", &["error: y.npy: shape is (9,), expected two axes"]);
    sandbox.write("y.npy", npy("<f8", "(10,)", &doubles(&[0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0])));
    sandbox.refuses(
        "train x.npy --label y.npy --id square.npy --out model",
        &["error: square.npy: shape is (5, 2), expected one axis (10,)"],
    );
    sandbox.refuses("train x.npy --label y.npy --id y.npy --out model", &["y.npy", "cannot be read as ids"]);
    sandbox.refuses("train x.npy --label nothing.npy --out model", &["error: nothing.npy: "]);
    sandbox.refuses("train x.npy --label y.npy --features x0 --out model", &["error: x.npy: shape is 3 columns"]);
}

#[test]
fn a_truncated_array_is_refused_wherever_it_ends() {
    let sandbox = Sandbox::new();
    let whole = npy_features(10);
    sandbox.write("y.npy", npy("<i8", "(10,)", &(0..10_i64).flat_map(|i| (i % 2).to_le_bytes()).collect::<Vec<u8>>()));
    for length in [1, 7, 9, 40, 60, whole.len() - 100, whole.len() - 1] {
        sandbox.write("x.npy", &whole[..length]);
        sandbox.refuses("train x.npy --label y.npy --out model", &["error: x.npy: "]);
        sandbox.write("x.npy.gz", gzipped(&whole[..length]));
        sandbox.refuses("train x.npy.gz --label y.npy --out model", &["error: x.npy.gz: "]);
        let packed = gzipped(&whole);
        sandbox.write("x.npy.gz", &packed[..packed.len() * length / whole.len()]);
        sandbox.refuses("train x.npy.gz --label y.npy --out model", &["error: x.npy.gz: "]);
    }
    sandbox.write("x.npy", &whole[..whole.len() - 8]);
    let parts = ["error: x.npy: truncated: 232 bytes of data, the header announces 240"];
    sandbox.refuses("train x.npy --label y.npy --out model", &parts);
    sandbox.write("x.npy", [whole.as_slice(), &[0]].concat());
    sandbox.refuses("train x.npy --label y.npy --out model", &["x.npy: data goes on after the 240 bytes"]);
    sandbox.write("x.npy", npy("<f8", "(4611686018427387904, 4)", &[]));
    sandbox.refuses("train x.npy --label y.npy --out model", &["x.npy: truncated: 0 bytes of data"]);
    sandbox.write("x.npy", npy("<c16", "(1, 1)", &[0; 16]));
    sandbox
        .refuses("train x.npy --label y.npy --out model", &["x.npy: element type `<c16` cannot be read as features"]);
}

#[test]
fn a_file_that_is_not_there_or_of_no_known_kind_is_named() {
    let sandbox = Sandbox::new();
    sandbox.refuses("train rows.csv --label y --out model", &["error: rows.csv: No such file"]);
    sandbox.write("rows.xls", two_classes(10));
    sandbox
        .refuses("train rows.xls --label y --out model", &["rows.xls: unknown kind of file; supported are .csv, .tsv"]);
    std::fs::create_dir(sandbox.path("folder.csv")).expect("writable");
    sandbox.refuses("train folder.csv --label y --out model", &["error: folder.csv: "]);
    sandbox.refuses("plan rows.csv --label y", &["error: rows.csv: No such file"]);
}

#[test]
fn labels_so_large_that_nothing_can_be_claimed_are_refused() {
    let rows = table(0..20, |i, _| format!("{i}e300"));
    let arguments = format!("{COLUMNS} --loss squared --noise-std 0.001");
    refuses_to_train("rows.csv", rows, &arguments, &["error: no finite bound can be given: the labels"]);
}

#[test]
fn a_message_is_one_line_whatever_it_quotes() {
    let quoted = "\"1\n\u{1b}[31m2\"";
    let parts = ["rows.csv, line 7, column `c`: features must be numbers, got `1\\n\\u{1b}[31m2`"];
    refuses_to_train("rows.csv", with_cell(4, quoted), COLUMNS, &parts);
    let sandbox = Sandbox::with_model("");
    sandbox.run_all(&["remove", "model", "--id", "u1\nu2"]).is_refusal(&["unknown row id `u1\\nu2`"]);
}

#[test]
fn rows_to_predict_must_be_those_of_the_model() {
    let sandbox = Sandbox::with_model("--scale clip:2");
    sandbox.json("release model");
    sandbox.write("narrow.csv", "a,b,y\n1,2,yes\n");
    sandbox.refuses("predict model narrow.csv", &["error: narrow.csv: no column `c`; there are `a`, `b`, `y`"]);
    sandbox.write("text.csv", "a,b,c,y\n1,2,x,yes\n");
    sandbox.refuses("predict model text.csv", &["text.csv, line 2, column `c`: features must be numbers, got `x`"]);
    sandbox.write("empty.csv", "a,b,c,y\n");
    sandbox.refuses("predict model empty.csv", &["error: empty.csv: no rows"]);
    sandbox.write("x.npy", npy("<f8", "(1, 2)", &doubles(&[1.0, 2.0])));
    sandbox.refuses("predict model x.npy", &["error: x.npy: no column `a`"]);
    sandbox.write("good.csv", "a,b,c,y\n1,2,3,maybe\n");
    let parts = ["good.csv, line 2, column `y`: label `maybe` is not one of `no`, `yes`"];
    sandbox.refuses("evaluate model good.csv --label y", &parts);
    sandbox.refuses("evaluate model good.csv --label z", &["error: good.csv: no column `z`"]);
}

#[test]
fn an_array_of_another_width_cannot_be_predicted() {
    let sandbox = Sandbox::new();
    sandbox.write("x.npy", npy_features(10));
    sandbox.write("y.npy", npy("<i8", "(10,)", &(0..10_i64).flat_map(|i| (i % 2).to_le_bytes()).collect::<Vec<u8>>()));
    sandbox.json("train x.npy --label y.npy --out model");
    sandbox.json("release model");
    for (shape, n) in [("(2, 2)", 4), ("(2, 4)", 8)] {
        sandbox.write("other.npy", npy("<f8", shape, &doubles(&vec![1.0; n])));
        sandbox.refuses("predict model other.npy", &["error: other.npy: "]);
    }
}
