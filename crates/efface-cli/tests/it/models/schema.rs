//! Schemas on the command line: proposing, training, predicting, adding and correcting raw rows, what is not public, and
//! bad schemas.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::sandbox::{Sandbox, noise, number};

/// A raw table: `id,who,age,job,city,member,churned`, with `?` for some missing jobs.
fn people(n: usize) -> String {
    let mut text = String::from("id,who,age,job,city,member,churned\n");
    for i in 0..n {
        let x = noise(i as u64 + 5, 5);
        let (age, city) = ((45.0 + 25.0 * x[3]).round(), (40.0 + 39.0 * x[4]) as i64);
        let job = ["clerk", "nurse", "?", "pilot"][i % 4];
        let member = if x[2] > 0.0 { "yes" } else { "no" };
        let churned = age + if job == "nurse" { 20.0 } else { 0.0 } > 50.0;
        writeln!(text, "u{i},p{},{age},{job},{city:05},{member},{churned}", i / 3).expect("text");
    }
    text
}

const SCHEMA: &str = r#"
format = "efface-schema-1"
label = "churned"
id = "id"
subject = "who"
missing_markers = ["?"]

[[column]]
name = "age"
kind = "numeric"
range = [0, 100]
origin = "public"

[[column]]
name = "job"
kind = "categorical"
values = ["clerk", "nurse"]
missing = "slot"
origin = "inferred"

[[column]]
name = "city"
kind = "hashed"
buckets = 8
origin = "public"

[[column]]
name = "member"
kind = "boolean"
true = ["yes"]
false = ["no"]
origin = "public"
"#;

fn with_table(n: usize) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("people.csv", people(n));
    sandbox.write("schema.toml", SCHEMA);
    sandbox
}

fn with_model() -> Sandbox {
    let sandbox = with_table(80);
    let trained =
        sandbox.json("train people.csv --schema schema.toml --scale clip:2 --intercept --l2 1e-3 --out model");
    assert_eq!((number(&trained, "n_rows"), number(&trained, "dim")), (80.0, 15.0));
    sandbox
}

/// The schema with one part replaced.
fn edited(from: &str, to: &str) -> String {
    assert!(SCHEMA.contains(from), "{from}");
    SCHEMA.replacen(from, to, 1)
}

#[test]
fn a_proposal_is_written_once_and_can_be_trained_with() {
    let sandbox = with_table(200);
    let proposed = sandbox.run("schema people.csv --public --label churned --id id --subject who --out new.toml");
    proposed.ends_with(0);
    for part in ["25.0 %", "age", "numeric", "categorical", "boolean", "efface train people.csv --schema new.toml"] {
        assert!(proposed.stderr.contains(part), "{part}: {proposed:?}");
    }
    let text = sandbox.text("new.toml");
    assert!(text.starts_with('#') && text.contains("origin = \"inferred\"") && text.contains("label = \"churned\""));
    sandbox.refuses("schema people.csv --label churned --out new.toml", &["new.toml exists already", "hint: "]);
    assert_eq!(sandbox.text("new.toml"), text);
    let trained = sandbox.run("train people.csv --schema new.toml --out model");
    trained.ends_with(0);
    assert!(trained.stderr.contains("warning: schema entries that nobody has marked public"), "{trained:?}");
    assert_eq!(sandbox.json("status model")["not_public"], json!(["age", "job", "city", "member"]));
}

#[test]
fn a_proposal_goes_to_stdout_or_is_json() {
    let sandbox = with_table(100);
    let printed = sandbox.run("schema people.csv --public --label churned --id id --subject who");
    printed.ends_with(0);
    sandbox.write("printed.toml", &printed.stdout);
    sandbox.json("train people.csv --schema printed.toml --out model");
    let answer = sandbox.json("schema people.csv --public --label churned --ignore id,who --sample 50");
    assert_eq!((&answer["n_rows"], &answer["schema"]["format"]), (&50.into(), &"efface-schema-1".into()));
    assert_eq!(answer["schema"]["column"][0]["origin"], "inferred");
    assert_eq!(answer["columns"][1]["n_missing"], 12);
    sandbox.refuses("schema people.csv", &["people.csv: no labels given", "hint: --label"]);
    sandbox.refuses("schema people.csv --label nothing", &["no column `nothing`; there are `id`, `who`"]);
    sandbox.refuses("schema absent.csv --label y", &["absent.csv"]);
}

/// What is proposed is what training does without it, and inside the guarantee.
#[test]
fn a_proposal_derives_its_constants() {
    let sandbox = with_table(200);
    let proposed = sandbox.run("schema people.csv --label churned --id id --subject who --out new.toml");
    proposed.ends_with(0);
    assert!(proposed.stderr.contains("next: efface train people.csv --schema new.toml --out MODEL"), "{proposed:?}");
    let text = sandbox.text("new.toml");
    assert!(text.contains("kind = \"derived\"") && !text.contains("inferred"), "{text}");
    let train = |arguments: &str| {
        let name = if arguments.contains("schema") { "schema" } else { "plain" };
        let line = format!("train people.csv {arguments} --danger-fixed-seed 1 --out {name}");
        sandbox.run_all(&line.split(' ').collect::<Vec<_>>()).ends_with(0);
        sandbox.json(&format!("release {name} --danger-fixed-seed 1 --out {name}.json"));
        assert_eq!(sandbox.json(&format!("status {name}"))["not_public"], json!([]));
        let mut model = sandbox.json_file(&format!("{name}.json"));
        model["schema"].take();
        model
    };
    assert_eq!(train("--schema new.toml"), train("--label churned --id id --subject who"));
}

/// Under another scale such columns were trained on as raw numbers, and a gap was called a NaN.
#[test]
fn derived_columns_take_no_other_scale() {
    let sandbox = with_table(200);
    sandbox.run("schema people.csv --label churned --id id --subject who --out new.toml").ends_with(0);
    for scale in ["unit", "clip:2", "within:1000", "none"] {
        let told = format!("column `age` is `derived` in the schema, which takes scale `auto`, got `{scale}`");
        let hint = "hint: leave out --scale, or declare what the column becomes";
        sandbox.refuses(&format!("train people.csv --schema new.toml --scale {scale} --out model"), &[&told, hint]);
    }
}

/// Amounts and dates are numbers, as they are where constants are derived.
#[test]
fn numbers_as_people_write_them_have_a_range() {
    let sandbox = Sandbox::new();
    let rows = (0..40).map(|i| format!("{};{} %;1.{:03},5;{:02}.01.2024;{}\n", i, i % 7, i, 1 + i % 28, i % 2));
    sandbox.write("t.csv", format!("id;share;price;day;y\n{}", rows.collect::<Vec<_>>().concat()));
    let answer = sandbox.json("schema t.csv --public --label y --id id --out t.toml");
    let ranges: Vec<&serde_json::Value> = (0..3).map(|column| &answer["columns"][column]["range"]).collect();
    assert_eq!(ranges, [&json!([0.0, 6.0]), &json!([1000.5, 1039.5]), &json!([19723.0, 19750.0])]);
    sandbox.json("train t.csv --schema t.toml --out model");
}

#[test]
fn an_id_that_is_not_named_is_left_out_of_the_proposal() {
    let sandbox = with_table(100);
    let answer = sandbox.json("schema people.csv --label churned");
    let left_out = answer["left_out"].as_array().expect("a list");
    assert_eq!(left_out[0]["name"], "id");
    assert!(left_out[0]["suggestion"].as_str().expect("text").contains("declare it as `id`"), "{answer}");
}

#[test]
fn raw_rows_are_predicted_evaluated_added_corrected_and_removed() {
    let sandbox = with_model();
    sandbox.json("release model --out released.json");
    let evaluated = sandbox.json("evaluate released.json people.csv");
    assert!(number(&evaluated, "accuracy") > 0.8, "{evaluated}");
    assert_eq!(evaluated, sandbox.json("evaluate released.json people.csv --label churned"));

    // A file without label, ids and the other columns is enough to predict, in any order of columns.
    sandbox.write("new.csv", "member,city,age,job,note\nyes,00007,61,astronaut,hm\nno,99999,250,,\n");
    let predicted = sandbox.json("predict released.json new.csv");
    assert_eq!(number(&predicted, "n_rows"), 2.0);

    sandbox.write("more.csv", "id,who,age,job,city,member,churned\nnew1,p900,33,nurse,12345,no,true\n");
    assert_eq!(number(&sandbox.json("add model more.csv"), "n_rows"), 81.0);
    sandbox.write("better.csv", "id,who,age,job,city,member,churned\nnew1,p900,34,clerk,12345,yes,false\n");
    assert_eq!(number(&sandbox.json("correct model better.csv"), "n_rows"), 81.0);
    assert_eq!(number(&sandbox.json("remove model --subject p900"), "n_rows"), 80.0);
    sandbox.json("plan people.csv --schema schema.toml --l2 1e-3 --epsilon 1 --delta 1e-4 --noise-std 0.01");
}

#[test]
fn what_is_not_public_is_named_until_somebody_marks_it() {
    let sandbox = with_model();
    let released = sandbox.json("release model");
    let certificate = sandbox.certificate(released["certificate"].as_str().expect("a path"));
    assert_eq!(certificate["not_public"], json!(["job"]));
    let scope = certificate["outside_scope"].to_string();
    assert!(scope.contains("columns-not-public"), "{scope}");
    for value in ["clerk", "nurse", "yes"] {
        assert!(!certificate.to_string().contains(value), "{value} in {certificate}");
    }
    assert_eq!(sandbox.json("status model")["not_public"], json!(["job"]));
    let shown = sandbox.run("status model").stderr;
    assert!(shown.contains("outside the guarantee") && shown.contains("not marked public: job"), "{shown}");

    sandbox.write("public.toml", SCHEMA.replace("inferred", "public"));
    let trained = sandbox.run("train people.csv --schema public.toml --out other");
    trained.ends_with(0);
    assert!(!trained.stderr.contains("warning"), "{trained:?}");
    assert_eq!(sandbox.json("status other")["not_public"], json!([]));
    let released = sandbox.json("release other");
    let certificate = sandbox.certificate(released["certificate"].as_str().expect("a path"));
    assert_eq!(certificate["not_public"], json!([]));
    assert!(!certificate["outside_scope"].to_string().contains("columns-not-public"));
    assert_eq!(sandbox.json("status model")["not_public"], json!(["job"]));
}

#[test]
fn a_published_model_can_be_used_with_nothing_but_its_json() {
    let sandbox = with_model();
    sandbox.json("release model --out released.json");
    let model = sandbox.json_file("released.json");
    let features: Vec<&str> = model["features"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    assert_eq!(features[..5], ["age", "job=clerk", "job=nurse", "job=?unknown", "job=?missing"]);
    assert_eq!((features[5], features[13]), ("city#0", "member"));
    assert_eq!(model["schema"]["column"][0]["range"], json!([0.0, 100.0]));

    // city#… is the same for all rows here, so the test need not hash.
    sandbox.write("new.csv", "age,job,city,member\n25,clerk,x,yes\n75,?,x,no\n100,pilot,x,no\n");
    let predictions = sandbox.json("predict released.json new.csv")["predictions"].clone();
    let weights: Vec<f64> = model["weights"].as_array().expect("a list").iter().filter_map(Value::as_f64).collect();
    let rows = [(-0.5, "job=clerk", 1.0), (0.5, "job=?missing", -1.0), (1.0, "job=?unknown", -1.0)];
    let weight = |name: &str| weights[features.iter().position(|feature| *feature == name).expect("a feature")];
    let known = rows.map(|(age, job, member)| {
        (age * weight("age") + weight(job) + member * weight("member")) / 2.0 + number(&model, "intercept")
    });
    // Which bucket `x` falls into follows from the first row; the other two must agree.
    let score = |i: usize| {
        let probability = number(&predictions[i], "probability");
        let sign = if predictions[i]["prediction"] == model["classes"][1] { 1.0 } else { -1.0 };
        sign * (probability / (1.0 - probability)).ln()
    };
    let city = score(0) - known[0];
    assert!((0..8).any(|bucket| (weight(&format!("city#{bucket}")) / 2.0 - city).abs() < 1e-9), "{city}");
    for (i, known) in known.iter().enumerate() {
        assert!((score(i) - known - city).abs() < 1e-9, "row {i}");
    }
    sandbox.write("edited.json", sandbox.text("released.json").replace("\"nurse\"", "\"judge\""));
    sandbox.refuses("predict edited.json new.csv", &["edited.json", "do not fit each other"]);
    sandbox.write("edited.json", sandbox.text("released.json").replace("efface-schema-1", "efface-schema-9"));
    sandbox.refuses("predict edited.json new.csv", &["edited.json", "schema format `efface-schema-9` is unknown"]);
}

#[test]
fn a_schema_that_names_a_missing_column_is_refused() {
    let sandbox = with_table(40);
    sandbox.write("bad.toml", edited("name = \"city\"", "name = \"town\""));
    let parts = ["error: people.csv: the schema names column `town`, not found; columns are `id`, `who`, `age`"];
    sandbox.refuses("train people.csv --schema bad.toml --out model", &parts);
    assert!(!sandbox.exists("model"));
}

#[test]
fn what_is_fitted_on_the_rows_is_refused_with_the_reason() {
    let sandbox = with_table(40);
    for (from, to, what) in [
        ("kind = \"numeric\"\nrange = [0, 100]", "kind = \"standardize\"", "`standardize`"),
        ("kind = \"numeric\"\nrange = [0, 100]", "kind = \"z-score\"", "`z-score`"),
        ("range = [0, 100]", "mean = 38\nstd = 13", "`mean`"),
        ("range = [0, 100]", "range = \"min-max\"", "`min-max`"),
        ("range = [0, 100]", "range = [0, 100]\nfit = true", "`fit`"),
        ("range = [0, 100]", "range = [0, 100]\nmissing = \"median\"", "`median`"),
    ] {
        sandbox.write("bad.toml", edited(from, to));
        let parts = ["bad.toml: column `age`: ", what, "is fitted on the rows", "removed later", "range = [low, high]"];
        sandbox.refuses("train people.csv --schema bad.toml --out model", &parts);
    }
    sandbox.write("bad.toml", format!("scaler = \"standard\"\n{SCHEMA}"));
    sandbox.refuses("train people.csv --schema bad.toml --out model", &["bad.toml: `scaler` is fitted on the rows"]);
    let refused = sandbox.run("train people.csv --schema schema.toml --scale standardize --out model");
    refused.ends_with(2);
    assert!(refused.stderr.contains("`auto` centres and scales columns"), "{refused:?}");
}

#[test]
fn cells_that_the_schema_does_not_allow_are_named_with_their_place() {
    let sandbox = with_table(40);
    let refuses = |schema: &str, line: &str, parts: &[&str]| {
        sandbox.write("schema.toml", schema);
        let mut text = people(40);
        text.push_str(line);
        sandbox.write("rows.csv", text);
        sandbox.refuses("train rows.csv --schema schema.toml --out model", parts);
    };
    let strict = edited("missing = \"slot\"", "missing = \"slot\"\nunknown = \"error\"")
        .replace("[\"clerk\", \"nurse\"]", "[\"clerk\", \"nurse\", \"pilot\"]");
    let parts = ["rows.csv, line 42, column `job`: `judge` is not among the values", "`clerk`, `nurse`", "hint: "];
    refuses(&strict, "z,p,30,judge,1,yes,true\n", &parts);
    let parts = ["rows.csv, line 42, column `age`: missing value", "hint: in the schema"];
    refuses(SCHEMA, "z,p,,clerk,1,yes,true\n", &parts);
    refuses(SCHEMA, "z,p,?,clerk,1,yes,true\n", &parts);
    let parts = ["rows.csv, line 42, column `age`: the schema declares numbers, got `old`", "hint: "];
    refuses(SCHEMA, "z,p,old,clerk,1,yes,true\n", &parts);
    let parts = ["rows.csv, line 42, column `age`: numbers must be finite, got `inf`"];
    refuses(SCHEMA, "z,p,inf,clerk,1,yes,true\n", &parts);
    let parts = ["rows.csv, line 42, column `member`: `perhaps` is none of the spellings", "`yes`, `no`"];
    refuses(SCHEMA, "z,p,30,clerk,1,perhaps,true\n", &parts);
}

#[test]
fn files_that_are_no_schemas_are_refused() {
    let sandbox = with_table(40);
    let refuses = |bytes: &[u8], part: &str| {
        sandbox.write("bad.toml", bytes);
        sandbox.refuses("train people.csv --schema bad.toml --out model", &["error: bad.toml", part]);
    };
    refuses(b"", "missing field `format`");
    refuses(b"\xff\xfe\x00", "a text in UTF-8");
    refuses(b"format = \"efface-schema-1\"\nlabel = ", "bad.toml, line 2: ");
    refuses(
        b"format = \"efface-schema-2\"",
        "format `efface-schema-2` is unknown; this program reads `efface-schema-1`",
    );
    refuses(edited("id = \"id\"", "id = \"id\"\nnumber = 3").as_bytes(), "bad.toml, line 5: unknown field `number`");
    refuses(edited("buckets = 8", "buckets = 99999999999999").as_bytes(), "must be between 1 and 100000");
    sandbox.refuses("train people.csv --schema absent.toml --out model", &["error: absent.toml: No such file"]);
    sandbox.refuses("train people.csv --schema /dev/zero --out model", &["/dev/zero: larger than the 16777216 bytes"]);
    std::fs::create_dir(sandbox.path("folder")).expect("writable");
    sandbox.refuses("train people.csv --schema folder --out model", &["error: folder: "]);
    for other in ["--features age", "--ignore age"] {
        let refused = sandbox.run(&format!("train people.csv --schema schema.toml {other} --out model"));
        refused.ends_with(2);
        assert!(refused.stderr.contains("cannot be used with"), "{refused:?}");
    }
    sandbox.write("rows.svm", "1 1:2\n-1 1:3\n");
    let parts = ["rows.svm: a schema serves CSV, JSON lines, Parquet, NPY, NPZ and IDX files"];
    sandbox.refuses("train rows.svm --schema schema.toml --out model", &parts);
    sandbox.refuses("schema rows.svm", &parts);
    assert!(!sandbox.exists("model"));
}

#[test]
fn text_columns_without_a_schema_hint_at_one() {
    let sandbox = with_table(40);
    let parts = ["column `job`: features must be numbers", "hint: ", "efface schema"];
    sandbox.refuses("train people.csv --label churned --id id --subject who --out model", &parts);
}
