//! Requests that cannot be met: rows that are not there, rows that are there already, and models that are none.

use crate::sandbox::{COLUMNS, Sandbox, class, npy, npy_features, table, two_classes};

#[test]
fn rows_that_cannot_be_removed_are_named() {
    let sandbox = Sandbox::with_model("");
    sandbox.json("remove model --id u5");
    sandbox.json("remove model --subject p3");
    sandbox.write("ids.txt", "u1\nnobody\n");
    sandbox.write("empty.txt", "\n \n");
    let cases = [
        (
            "--id nobody",
            &["error: unknown row id `nobody`", "hint: nothing was changed; ids are as in the --id column"][..],
        ),
        ("--id u1 nobody", &["error: unknown row id `nobody`"]),
        ("--id 1", &["error: unknown row id `1`"]),
        ("--id -1", &["error: unknown row id `-1`"]),
        ("--subject nobody", &["error: unknown subject id `nobody`", "hint: ", "--subject"]),
        ("--subject u1", &["error: unknown subject id `u1`"]),
        ("--id u5", &["error: row id `u5` has already been removed"]),
        ("--id u1 u5", &["error: row id `u5` has already been removed"]),
        ("--subject p3", &["error: subject id `p3` has already been removed"]),
        ("--id u12", &["error: row id `u12` has already been removed"]),
        ("--ids ids.txt", &["error: unknown row id `nobody`"]),
        ("--ids empty.txt", &["error: empty.txt: no row ids"]),
        ("--ids nothing.txt", &["error: nothing.txt: No such file"]),
    ];
    for (arguments, parts) in cases {
        sandbox.refuses(&format!("remove model {arguments}"), parts);
    }
    assert_eq!(sandbox.json("status model")["n_removed"], 5);
}

/// The last person of a class could not leave: a lawful request that nobody could carry out.
#[test]
fn a_class_goes_with_its_last_row() {
    let sandbox = Sandbox::new();
    let rows = ["1,0.5,0.1,no", "2,0.6,0.2,no", "3,0.7,0.9,yes", "4,0.1,0.8,yes", "5,0.4,0.4,maybe"];
    let write = |name: &str, rows: &[&str]| sandbox.write(name, format!("id,a,b,y\n{}\n", rows.join("\n")));
    write("rows.csv", &rows);
    let train = "--id id --label y";
    sandbox.json(&format!("train rows.csv {train} --out model"));
    let removed = sandbox.json("remove model --id 5");
    assert_eq!(removed["classes_gone"], serde_json::json!(["maybe"]));
    sandbox.json("release model");
    // As if the class had never been there.
    write("without.csv", &rows[..4]);
    sandbox.json(&format!("train without.csv {train} --out other"));
    sandbox.json("release other");
    let file = |model: &str| {
        let mut file = sandbox.json_file(&format!("{model}/releases/1/model.json"));
        let weights = file["weights"].take();
        (file, weights.as_array().expect("one problem").len())
    };
    assert_eq!(file("model"), file("other"));
    assert_eq!(file("model").0["classes"], serde_json::json!(["no", "yes"]));
    write("back.csv", &["6,0.4,0.4,maybe"]);
    let gone = ["error: class `maybe` left this model with its last row", "hint: train a new model"];
    sandbox.refuses("add model back.csv", &gone);

    // Of two classes one is left: the rows leave, and nothing can be released.
    let told = sandbox.run("remove model --id 3 4");
    told.ends_with(0);
    assert!(told.stderr.contains("classes that left with their last row") && told.stderr.contains("yes"), "{told:?}");
    let refused = sandbox.run("release model --json");
    refused.ends_with(1);
    // No limit is exceeded, so no numbers are given.
    assert_eq!(refused.json(), serde_json::json!({ "outcome": "one-class" }));
    let last = ["error: removing 2 rows would leave none: the model has 2", "hint: delete the whole model directory"];
    sandbox.refuses("remove model --id 1 2", &last);
}

#[test]
fn the_last_row_of_a_regression_stays() {
    let sandbox = Sandbox::new();
    sandbox.write("rows.csv", "id,a,y\n1,0.5,3\n2,0.6,3\n");
    sandbox.json("train rows.csv --id id --label y --loss squared --out model");
    sandbox.json("remove model --id 1");
    sandbox.refuses("remove model --id 2", &["error: removing 1 row would leave none: the model has 1"]);
}

#[test]
fn rows_that_cannot_be_added_are_named() {
    let sandbox = Sandbox::with_model("");
    sandbox.json("remove model --id u5");
    let cases = [
        (table([3], class), "row id `u3` is already present"),
        (table([100, 3], class), "row id `u3` is already present"),
        (table([100, 100], class), "rows.csv, line 3: row id `u100` is already that of line 2"),
        (table([100], |_, _| "perhaps".into()), "rows.csv, line 2, column `y`: label `perhaps` is not one of"),
        (table([100], class).replace(",c,", ",d,"), "rows.csv: no column `c`; there are"),
        (table([100], class).replace("who,", "whose,"), "rows.csv: no column `who`; there are"),
        (table([100], class).replace("id,", "key,"), "rows.csv: no column `id`; there are"),
        (table([100], class).replace(",y\n", ",z\n"), "rows.csv: no column `y`; there are"),
        ("id,who,a,b,c,y\nu100,p1,nan,1,1,no\n".into(), "rows.csv, line 2, column `a`: features must be finite"),
        ("id,who,a,b,c,y\n".into(), "rows.csv: no rows"),
    ];
    for (rows, message) in cases {
        sandbox.write("rows.csv", rows);
        sandbox.refuses("add model rows.csv", &["error: ", message]);
    }
    sandbox.write("rows.csv", table([100], |_, _| "perhaps".into()));
    sandbox.refuses("add model rows.csv", &["hint: mend the label; a model learns no new classes"]);
    sandbox.refuses("add model nothing.csv", &["error: nothing.csv: No such file"]);
}

#[test]
fn rows_that_cannot_be_corrected_are_named() {
    let sandbox = Sandbox::with_model("");
    sandbox.json("remove model --id u5");
    for (rows, message) in [
        (table([100], class), "unknown row id `u100`"),
        (table([3, 100], class), "unknown row id `u100`"),
        (table([5], class), "row id `u5` has already been removed"),
        (table([3, 3], class), "rows.csv, line 3: row id `u3` is already that of line 2"),
        (table([3], |_, _| "perhaps".into()), "label `perhaps` is not one of `no`, `yes`"),
        (table([3], class).replace(",b,", ",q,"), "rows.csv: no column `b`"),
    ] {
        sandbox.write("rows.csv", rows);
        sandbox.refuses("correct model rows.csv", &["error: ", message]);
    }
}

#[test]
fn a_row_beyond_the_norm_is_not_added() {
    let sandbox = Sandbox::new();
    sandbox.write("rows.csv", "id,a,y\n1,0.5,no\n2,0.6,no\n3,0.7,yes\n");
    sandbox.json("train rows.csv --id id --label y --scale none --out model");
    sandbox.write("long.csv", "id,a,y\n4,1.5,no\n");
    let parts = ["error: long.csv, line 2: row norm is 1.5", "the limit is 1.000001", "hint: train with --scale unit"];
    sandbox.refuses("add model long.csv", &parts);
    sandbox.write("long.csv", "id,a,y\n3,1.5,no\n");
    sandbox.refuses("correct model long.csv", &parts);
}

#[test]
fn a_model_without_ids_numbers_its_rows_and_numbers_on_when_rows_are_added() {
    let sandbox = Sandbox::new();
    sandbox.write("rows.csv", "a,y\n0.5,no\n0.6,no\n0.7,yes\n0.8,yes\n");
    sandbox.json("train rows.csv --label y --out model");
    sandbox.write("more.csv", "a,y\n0.1,no\n0.9,yes\n");
    assert_eq!(sandbox.json("add model more.csv")["n_rows"], 6);
    sandbox.refuses("correct model more.csv", &["error: more.csv: no id column given", "hint: --id"]);
    sandbox.write("right.csv", "number,a,y\n5,0.2,no\n");
    assert_eq!(sandbox.json("correct model right.csv --id number")["n_changed"], 1);
    sandbox.json("remove model --id 0 4");
    // The corrected row took position 6; the next new one is number 7.
    sandbox.json("add model more.csv");
    sandbox.refuses("remove model --id 6", &["unknown row id `6`", "row numbers from 0"]);
    sandbox.json("remove model --id 7 8");
}

#[test]
fn labels_of_an_array_are_named_for_every_array() {
    let sandbox = Sandbox::new();
    let labels =
        |n: i64| npy("<i8", &format!("({n},)"), &(0..n).flat_map(|i| (i % 2).to_le_bytes()).collect::<Vec<u8>>());
    sandbox.write("x.npy", npy_features(20));
    sandbox.write("y.npy", labels(20));
    sandbox.json("train x.npy --label y.npy --out model");
    sandbox.refuses("add model x.npy", &["error: x.npy: no labels given", "hint: --label NAME|FILE"]);
    assert_eq!(sandbox.json("add model x.npy --label y.npy")["n_rows"], 40);
}

#[test]
fn a_directory_that_is_no_model_is_refused_by_every_command() {
    let sandbox = Sandbox::with_table();
    std::fs::create_dir(sandbox.path("folder")).expect("writable");
    sandbox.write("ids.txt", "u1\n");
    for model in ["folder", "nowhere", "two.csv"] {
        for arguments in [
            "remove MODEL --id u1",
            "add MODEL two.csv",
            "correct MODEL two.csv",
            "settle MODEL",
            "retrain MODEL",
            "release MODEL",
            "status MODEL",
        ] {
            let problem = if model == "nowhere" { "does not exist" } else { "is not a model directory" };
            let message = format!("error: {model} {problem}");
            let parts = [message.as_str(), "hint: `efface train"];
            sandbox.refuses(&arguments.replace("MODEL", model), &parts);
        }
    }
    assert!(sandbox.names("folder").is_empty(), "not even a lock is left behind");
    sandbox.refuses("predict folder two.csv", &["error: folder is not a model directory"]);
    sandbox.refuses("predict nowhere two.csv", &["error: nowhere: No such file"]);
    sandbox.refuses("evaluate two.csv two.csv --label y", &["error: two.csv: not a published model"]);
}

#[test]
fn a_model_without_a_release_cannot_predict() {
    let sandbox = Sandbox::with_model("");
    let parts = ["error: model has no release yet", "hint: publish one with `efface release"];
    sandbox.refuses("predict model two.csv", &parts);
    sandbox.refuses("evaluate model two.csv --label y", &parts);
}

#[test]
fn a_second_writer_is_turned_away_and_readers_are_not() {
    let sandbox = Sandbox::with_model("");
    sandbox.json("release model");
    sandbox.write("more.csv", table([100], class));
    sandbox.write("other.csv", two_classes(10));
    let lock = std::fs::File::open(sandbox.path("model/lock")).expect("there is a lock");
    lock.lock().expect("nobody holds it");
    for arguments in [
        "remove model --id u1",
        "add model more.csv",
        "correct model other.csv",
        "settle model",
        "retrain model",
        "release model",
    ] {
        let parts = ["error: model is being changed by another process", "hint: wait"];
        sandbox.refuses(arguments, &parts);
    }
    assert_eq!(sandbox.json("status model")["n_rows"], 60);
    sandbox.run("predict model two.csv").ends_with(0);
    lock.unlock().expect("held");
    assert_eq!(sandbox.json("remove model --id u1")["n_rows"], 59);
}

#[test]
fn a_refused_removal_leaves_a_model_that_still_works() {
    let sandbox = Sandbox::with_table();
    sandbox.json(&format!("train two.csv {COLUMNS} --out model"));
    sandbox.refuses("remove model --id u1 nobody", &["unknown row id"]);
    assert_eq!(sandbox.json("remove model --id u1")["n_rows"], 59);
    sandbox.json("release model");
}

/// Rows without a subject would be missed when the subject asks to be forgotten.
#[test]
fn rows_of_a_model_with_subjects_stay_somebodys() {
    let sandbox = Sandbox::new();
    let column = |values: &[i64]| {
        npy("<i8", &format!("({},)", values.len()), &values.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>())
    };
    let numbers: Vec<i64> = (0..20).collect();
    sandbox.write("x.npy", npy_features(20));
    sandbox.write("y.npy", column(&numbers.iter().map(|i| i % 2).collect::<Vec<_>>()));
    sandbox.write("ids.npy", column(&numbers));
    sandbox.write("later.npy", column(&numbers.iter().map(|i| i + 100).collect::<Vec<_>>()));
    sandbox.write("who.npy", column(&numbers.iter().map(|i| i / 5).collect::<Vec<_>>()));
    sandbox.json("train x.npy --label y.npy --id ids.npy --subject who.npy --out model");
    let refused = "add model x.npy --label y.npy";
    sandbox.refuses(refused, &["error: x.npy: no id column given", "hint: --id"]);
    let refused = format!("{refused} --id later.npy");
    sandbox.refuses(&refused, &["error: x.npy: no subject column given", "hint: --subject"]);
    sandbox.json(&format!("{refused} --subject who.npy"));
    // A corrected row stays with its subject.
    sandbox.json("correct model x.npy --label y.npy --id ids.npy");
    assert_eq!(sandbox.json("remove model --subject 2")["n_changed"], 10);
}
