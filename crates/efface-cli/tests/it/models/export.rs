//! `efface export`: a file that ONNX Runtime runs from the raw cells says what `efface predict` says.

use std::fmt::Write as _;

use efface_features::{NgramMap, NgramSpec};
use efface_onnx::{Cells, Dim, Element, GraphBuilder, WholeModel};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::maps::{PHOTOS, REVIEWS, network, reviews, stripes, with_pictures};
use crate::contract::both_ways;
use crate::sandbox::{COLUMNS, Sandbox, features, npy_features, number, table, target, three_classes};

/// An input: its name, the sides of one row, and the cells of all rows.
type Given<'a> = (&'a str, Vec<usize>, Cells);

fn floats(name: &str, values: impl IntoIterator<Item = f64>) -> Given<'_> {
    (name, vec![1], Cells::Floats(values.into_iter().map(|x| x as f32).collect()))
}

fn texts<T: ToString>(name: &str, values: impl IntoIterator<Item = T>) -> Given<'_> {
    (name, vec![1], Cells::Texts(values.into_iter().map(|text| text.to_string()).collect()))
}

/// Exports `model` and compares what the file says of rows with what `efface predict` says of those in `data`. Answers what
/// the command told.
#[track_caller]
fn check(sandbox: &Sandbox, data: &str, given: Vec<Given<'_>>) -> Value {
    let told = sandbox.json("export model --onnx model.onnx");
    let has_classes = told["outputs"].as_array().expect("a list").len() == 2;
    let more = if has_classes { "--probabilities" } else { "" };
    let predicted = sandbox.json(&format!("predict model {data} {more}"));
    let predicted = predicted["predictions"].as_array().expect("a list").clone();
    let named: Vec<&str> =
        told["inputs"].as_array().expect("a list").iter().filter_map(|i| i["name"].as_str()).collect();
    assert_eq!(named, given.iter().map(|(name, ..)| *name).collect::<Vec<_>>());

    let n_rows = predicted.len();
    let rows = |sides: Vec<usize>| std::iter::once(n_rows).chain(sides).collect();
    let given = given.into_iter().map(|(name, sides, cells)| (name, rows(sides), cells)).collect();
    let mut file = WholeModel::open(&sandbox.read("model.onnx")).expect("a file");
    let answers = file.run(given).expect("rows");
    if !has_classes {
        let Cells::Floats(numbers) = &answers[0] else { panic!("{answers:?}") };
        for (found, row) in numbers.iter().zip(&predicted) {
            let expected: f64 = row["prediction"].as_str().and_then(|text| text.parse().ok()).expect("a number");
            assert!((f64::from(*found) - expected).abs() < 1e-4, "{found}, {expected}");
        }
        assert_eq!(numbers.len(), n_rows);
        return told;
    }
    let model = sandbox.json_file("model/releases/1/model.json");
    let classes: Vec<&str> = model["classes"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    let labels: Vec<String> = match &answers[0] {
        Cells::Texts(labels) => labels.clone(),
        Cells::Ints(labels) => labels.iter().map(ToString::to_string).collect(),
        Cells::Floats(_) => panic!("{answers:?}"),
    };
    let Cells::Floats(found) = &answers[1] else { panic!("{answers:?}") };
    assert_eq!((labels.len(), found.len()), (n_rows, n_rows * classes.len()));
    for ((row, label), found) in predicted.iter().zip(labels).zip(found.chunks(classes.len())) {
        let expected: Vec<f64> = classes.iter().map(|class| number(&row["probabilities"], class)).collect();
        let far = expected.iter().zip(found).map(|(a, b)| (a - f64::from(*b)).abs()).fold(0.0, f64::max);
        assert!(far < 1e-4, "{expected:?}, {found:?}");
        let mut sorted = expected.clone();
        sorted.sort_by(f64::total_cmp);
        if sorted[classes.len() - 1] - sorted[classes.len() - 2] > 1e-4 {
            assert_eq!(row["prediction"], label.as_str());
        }
    }
    told
}

/// Trains and releases a model.
fn with_release(sandbox: &Sandbox, train: &[&str]) {
    let train: Vec<&str> = [&["train"], train, &["--out", "model"]].concat();
    sandbox.run_all(&train).ends_with(0);
    sandbox.json("release model");
}

#[test]
fn tables_of_numbers_are_one_input() {
    let rows = || (0..60).map(features);
    for (data, arguments) in [
        (table(0..60, |i, _| ["no", "yes"][i % 3 % 2].into()), "--scale auto"),
        (table(0..60, |i, _| (i % 3).to_string()), "--scale unit"),
        (three_classes(60), "--scale clip:0.5 --classes one-vs-rest"),
        (table(0..60, |i, [a, ..]| u8::from(a + 0.1 * (i % 7) as f64 > 0.3).to_string()), "--scale within:4"),
        (table(0..60, target), "--scale auto --loss squared"),
        (table(0..60, target), "--scale unit --loss squared --no-intercept"),
    ] {
        let sandbox = Sandbox::new();
        sandbox.write("rows.csv", data);
        let train = format!("rows.csv {COLUMNS} {arguments}");
        with_release(&sandbox, &train.split(' ').collect::<Vec<_>>());
        let all = Cells::Floats(rows().flatten().map(|x| x as f32).collect());
        let told = check(&sandbox, "rows.csv", vec![("X", vec![3], all)]);
        let input = &told["inputs"][0];
        assert_eq!((&input["columns"], &input["shape"]), (&json!(["a", "b", "c"]), &json!(["batch", 3])));
        assert_eq!((&input["holds"], &input["type"]), (&"numbers".into(), &"float32".into()));
    }
}

/// Cells of row `i`, some of them missing; a text means nothing to a model that has another marker.
fn person(i: usize) -> (f64, &'static str, &'static str, bool, bool) {
    let age = if i % 11 == 3 { f64::NAN } else { 20.0 + (i * 7 % 50) as f64 };
    let plan = ["basic", "plus", "Größe", "", "plus", "?", "basic"][i % 7];
    let city = if i % 40 == 9 { "Rome" } else { ["Oslo", "Bern", "Kyiv"][i % 3] };
    (age, plan, city, i.is_multiple_of(4), (i * 7 % 50) > 20 + i % 5)
}

fn people(n: usize) -> String {
    let mut text = String::from("age,label,city,active,same,y\n");
    for i in 0..n {
        let (age, plan, city, active, y) = person(i);
        let age = if age.is_nan() { String::new() } else { age.to_string() };
        writeln!(text, "{age},{plan},{city},{active},7,{}", if y { "old" } else { "young" }).expect("text");
    }
    text
}

/// What stands in `people.csv`, as the file takes it. `label` is what answers are called.
fn cells(n: usize, with_active: Given<'static>) -> Vec<Given<'static>> {
    let all = || (0..n).map(person);
    vec![
        floats("age", all().map(|(age, ..)| age)),
        texts("label_", all().map(|(_, plan, ..)| plan)),
        texts("city", all().map(|(_, _, city, ..)| city)),
        with_active,
    ]
}

#[test]
fn texts_and_gaps_are_an_input_per_column() {
    let sandbox = Sandbox::new();
    sandbox.write("people.csv", people(120));
    with_release(&sandbox, &["people.csv", "--label", "y"]);
    // Nothing is made of a column in which all rows are equal, and so it is no input.
    let active = floats("active", (0..120).map(|i| f64::from(u8::from(person(i).3))));
    let told = check(&sandbox, "people.csv", cells(120, active));
    assert_eq!((&told["inputs"][1]["holds"], &told["inputs"][1]["columns"]), (&"texts".into(), &json!(["label"])));
}

const DECLARED: &str = r#"
format = "efface-schema-1"
label = "y"
missing_markers = ["?"]

[[column]]
name = "age"
kind = "numeric"
range = [10, 60]
missing = AGE
origin = "public"

[[column]]
name = "label"
kind = "categorical"
values = ["plus", "basic"]
unknown = "slot"
missing = PLAN
origin = "public"

[[column]]
name = "city"
kind = "hashed"
buckets = 16
missing = "slot"
origin = "public"

[[column]]
name = "active"
kind = "boolean"
missing = ACTIVE
origin = "public"
"#;

/// The bucket of a value, as docs/schema.md says.
fn bucket(column: &str, value: &str, buckets: u64) -> i64 {
    let digest = Sha256::new().chain_update(column).chain_update([0]).chain_update(value).finalize();
    (u64::from_le_bytes(digest[..8].try_into().expect("eight bytes")) % buckets).cast_signed()
}

#[test]
fn declared_columns_are_an_input_each() {
    for (age, plan, active, more) in [
        ("\"slot\"", "\"zero\"", "\"slot\"", "--scale within:3"),
        ("{ value = 40 }", "{ value = \"plus\" }", "{ value = true }", "--scale unit"),
        ("\"zero\"", "\"slot\"", "\"zero\"", "--scale clip:2"),
    ] {
        let sandbox = Sandbox::new();
        let schema = DECLARED.replace("AGE", age).replace("PLAN", plan).replace("ACTIVE", active);
        sandbox.write("schema.toml", schema);
        sandbox.write("people.csv", people(120).replace(",true,7", ",,7"));
        let train = format!("people.csv --schema schema.toml {more}");
        with_release(&sandbox, &train.split(' ').collect::<Vec<_>>());
        let active = texts("active", (0..120).map(|i| if person(i).3 { "" } else { "false" }));
        let mut cells = cells(120, active);
        let buckets = (0..120).map(|i| bucket("city", person(i).2, 16)).collect();
        cells[2] = ("city", vec![1], Cells::Ints(buckets));
        let told = check(&sandbox, "people.csv", cells);
        let city = &told["inputs"][2];
        assert_eq!((&city["holds"], &city["buckets"], &city["gap"]), (&"bucket".into(), &16.into(), &16.into()));
    }
}

#[test]
fn a_layer_on_numbers_takes_one_input() {
    let sandbox = Sandbox::new();
    let entry = |name| format!("[[column]]\nname = \"{name}\"\nkind = \"numeric\"\nrange = [-1, 1]\n");
    let layer = "[fourier]\nwidth = 40\nlength_scale = 1.0\n";
    let header = "format = \"efface-schema-1\"\nlabel = \"y\"\nid = \"id\"\n";
    sandbox.write("schema.toml", format!("{header}{}{}{layer}", entry("b"), entry("a")));
    sandbox.write("rows.csv", three_classes(60));
    with_release(&sandbox, &["rows.csv", "--schema", "schema.toml"]);
    let all = Cells::Floats((0..60).map(features).flat_map(|[a, b, _]| [b as f32, a as f32]).collect());
    let told = check(&sandbox, "rows.csv", vec![("X", vec![2], all)]);
    assert_eq!(told["inputs"][0]["columns"], json!(["b", "a"]));
}

#[test]
fn the_rows_of_an_array_are_one_input() {
    let sandbox = Sandbox::new();
    let schema =
        "format = \"efface-schema-1\"\n[[column]]\nname = \"*\"\nkind = \"vector\"\ndim = 3\nrange = [-1, 1]\n";
    sandbox.write("schema.toml", schema);
    sandbox.write("x.npy", npy_features(60));
    let labels: Vec<u8> = (0..60_i64).flat_map(|i| (i % 2).to_le_bytes()).collect();
    sandbox.write("y.npy", crate::sandbox::npy("<i8", "(60,)", &labels));
    with_release(&sandbox, &["x.npy", "--label", "y.npy", "--schema", "schema.toml", "--scale", "unit"]);
    let all = Cells::Floats((0..60).flat_map(features).map(|x| x as f32).collect());
    check(&sandbox, "x.npy", vec![("X", vec![3], all)]);
}

/// The pixels of the pictures of [`with_pictures`].
fn pixels(name: &str) -> Given<'_> {
    (name, vec![8, 8, 1], Cells::Floats((0..120).flat_map(stripes).map(f32::from).collect()))
}

#[test]
fn pictures_go_in_as_pixels() {
    let sandbox = with_pictures();
    for more in ["", "[fourier]\nwidth = 256\nlength_scale = 0.5\n"] {
        let _ = std::fs::remove_dir_all(sandbox.path("model"));
        sandbox.write("schema.toml", format!("{PHOTOS}kind = \"image\"\n{more}"));
        with_release(&sandbox, &["photos.csv", "--schema", "schema.toml", "--C", "100"]);
        let told = check(&sandbox, "photos.csv", vec![pixels("photo")]);
        let input = &told["inputs"][0];
        assert_eq!((&input["holds"], &input["shape"]), (&"pixels".into(), &json!(["batch", 8, 8, 1])));
    }
}

#[test]
fn a_network_of_pictures_is_part_of_the_file() {
    let sandbox = with_pictures();
    sandbox.write("stripes.onnx", network(3));
    let entry = "kind = \"network\"\nfile = \"stripes.onnx\"\nmean = [0.5]\ndeviation = [0.25]\norigin = \"public\"\n";
    sandbox.write("schema.toml", format!("{PHOTOS}{entry}"));
    with_release(&sandbox, &["photos.csv", "--schema", "schema.toml", "--C", "100"]);
    check(&sandbox, "photos.csv", vec![pixels("photo")]);

    // Beside a published model that was copied away there is none.
    sandbox.json("release model --out model.json");
    sandbox.write("stripes.onnx", network(4));
    sandbox.refuses("export model.json --onnx other.onnx", &["column `photo`: no file with SHA-256", "--networks"]);
    sandbox.json("export model.json --onnx other.onnx --networks model/networks");

    // Two networks are too many for a file.
    let second = entry.replace("stripes", "other").replace("kind", "height = 8\nwidth = 8\nchannels = 1\nkind");
    sandbox.write("other.onnx", network(4));
    sandbox.write("stripes.onnx", network(3));
    sandbox.write("schema.toml", format!("{PHOTOS}{entry}[[column]]\nname = \"copy\"\n{second}"));
    let photos = sandbox.text("photos.csv");
    let twice: Vec<String> =
        photos.lines().map(|line| format!("{line},{}", line.split(',').nth(1).unwrap_or(""))).collect();
    sandbox.write("twice.csv", twice.join("\n").replacen(",photo", ",copy", 2).replacen(",copy", ",photo", 1));
    std::fs::remove_dir_all(sandbox.path("model")).expect("there");
    with_release(&sandbox, &["twice.csv", "--schema", "schema.toml"]);
    sandbox.refuses("export model --onnx two.onnx", &["columns `photo` and `copy` both come from networks"]);
}

const WORDS: [&str; 6] = ["[PAD]", "[UNK]", "red", "green", "blue", "not"];

/// Words between blanks.
fn tokenizer() -> String {
    let vocab: serde_json::Map<_, _> = WORDS.iter().enumerate().map(|(id, word)| ((*word).into(), json!(id))).collect();
    json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
        "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null, "decoder": null,
        "model": {"type": "WordLevel", "vocab": vocab, "unk_token": "[UNK]"},
    })
    .to_string()
}

/// A network that has three features for every token.
fn encoder() -> Vec<u8> {
    let sides = [Dim::Free("batch"), Dim::Free("tokens")];
    let mut graph = GraphBuilder::new("encoder");
    let [ids, _] = ["input_ids", "attention_mask"].map(|name| graph.input(name, Element::Int, &sides));
    let numbers: Vec<f32> = crate::sandbox::noise(5, WORDS.len() * 3).into_iter().map(|x| x as f32).collect();
    let words = graph.constant("words", &[WORDS.len(), 3], &numbers);
    let values = graph.node("Gather", &[&words, &ids], &[]);
    graph.output("last", &values, Element::Float, &[sides[0], sides[1], Dim::Fixed(3)]);
    graph.finish().expect("a graph")
}

/// The numbers of words of text `i`, none of them padding.
fn sentence(i: usize) -> Vec<usize> {
    (0..=i % 4).map(|k| 2 + (i + k * k) % 4).collect()
}

/// Tokens go in beside a column that the network has nothing to do with.
#[test]
fn a_network_of_texts_takes_tokens() {
    let sandbox = Sandbox::new();
    sandbox.write("encoder.onnx", encoder());
    sandbox.write("tokenizer.json", tokenizer());
    let schema = "format = \"efface-schema-1\"\nlabel = \"y\"\n[[column]]\nname = \"stars\"\nkind = \"derived\"\n\
                  [[column]]\nname = \"review\"\nkind = \"network\"\nfile = \"encoder.onnx\"\n\
                  tokenizer = \"tokenizer.json\"\nmax_tokens = 3\norigin = \"public\"\n";
    sandbox.write("schema.toml", schema);
    let mut rows = String::from("review,stars,y\n");
    for i in 0..90 {
        let words: Vec<&str> = sentence(i).into_iter().map(|id| WORDS[id]).collect();
        writeln!(rows, "{},{},{}", words.join(" "), i % 5, if words.contains(&"not") { "bad" } else { "good" })
            .expect("text");
    }
    sandbox.write("rows.csv", rows);
    with_release(&sandbox, &["rows.csv", "--schema", "schema.toml"]);

    let (mut ids, mut mask) = (Vec::new(), Vec::new());
    for words in (0..90).map(sentence) {
        // Padded to four, and cut off after three.
        ids.extend((0..4).map(|at| words.get(at).filter(|_| at < 3).map_or(0, |id| id.cast_signed() as i64)));
        mask.extend((0..4).map(|at| i64::from(at < words.len().min(3))));
    }
    let given = vec![
        ("input_ids", vec![4], Cells::Ints(ids)),
        ("attention_mask", vec![4], Cells::Ints(mask)),
        floats("stars", (0..90).map(|i| f64::from(i % 5))),
    ];
    let told = check(&sandbox, "rows.csv", given);
    let input = &told["inputs"][0];
    let digest = hex::encode(Sha256::digest(tokenizer()));
    assert_eq!((&input["holds"], &input["max_tokens"]), (&"tokens".into(), &3.into()));
    assert_eq!((&input["tokenizer"], &input["columns"]), (&digest.into(), &json!(["review"])));
}

#[test]
fn hashed_n_grams_go_in_as_numbers() {
    let sandbox = Sandbox::new();
    sandbox.write("schema.toml", REVIEWS);
    sandbox.write("reviews.csv", reviews(0..150));
    with_release(&sandbox, &["reviews.csv", "--schema", "schema.toml", "--C", "100"]);
    let told = sandbox.json("export model --onnx model.onnx");
    let spec: NgramSpec = serde_json::from_value(json!({
        "buckets": told["inputs"][0]["buckets"], "words": told["inputs"][0]["words"],
    }))
    .expect("what the command tells");
    let map = NgramMap::new(spec).expect("a map");
    let texts: Vec<String> =
        reviews(0..150).lines().skip(1).map(|line| line.split('"').nth(1).unwrap_or("").into()).collect();
    let mut hashed = vec![0.0; texts.len() * spec.buckets];
    for (text, row) in texts.iter().zip(hashed.chunks_mut(spec.buckets)) {
        map.apply_dense(text, row).expect("as long");
    }
    check(&sandbox, "reviews.csv", vec![("review", vec![512], Cells::Floats(hashed))]);
}

#[test]
fn exports_are_told_to_people_and_machines() {
    let (json, text) = (Sandbox::with_model("--scale auto"), Sandbox::with_model("--scale auto"));
    for sandbox in [&json, &text] {
        sandbox.refuses("export model --onnx model.onnx", &["no release yet", "efface release"]);
        sandbox.json("release model --out model.json");
        sandbox.write("model.onnx", "what was there");
    }
    let told = both_ways(&json, &text, "export model.json --onnx model.onnx");
    assert_eq!((&told["release"], &told["onnx"]), (&1.into(), &"model.onnx".into()));
    assert_eq!(told["bytes"], json.read("model.onnx").len());
    let shown = text.run("export model.json --onnx model.onnx").stderr;
    assert!(shown.contains("X float32 [batch, 3]: 3 columns: a, b, c; a gap is NaN"), "{shown}");
    assert!(shown.contains("label string [batch]") && shown.contains("probabilities float32 [batch, 2]"), "{shown}");
    // The same model is the same file, and it names the model that its certificate speaks of.
    let file = json.read("model.onnx");
    json.json("export model --onnx again.onnx");
    assert!(file == json.read("again.onnx"));
    let digest = hex::encode(Sha256::digest(json.read("model.json")));
    assert!(file.windows(digest.len()).any(|part| part == digest.as_bytes()));

    json.refuses("export model.json --onnx model.json", &["this is the model"]);
    json.refuses("export model.json --onnx nowhere/model.onnx", &["nowhere/model.onnx"]);
    json.json("revoke model 1 --reason mistake");
    json.refuses("export model --onnx other.onnx", &["release 1 of model is revoked"]);
}
