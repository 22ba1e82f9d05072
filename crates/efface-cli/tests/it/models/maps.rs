//! Texts and images in, a removable model out: maps that are fixed, and networks, from training to prediction.

use std::fmt::Write as _;

use efface_onnx::{Attribute, Dim, Element, GraphBuilder};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::sandbox::{Sandbox, noise, number};

pub(super) const REVIEWS: &str = r#"
format = "efface-schema-1"
label = "liked"
id = "id"

[[column]]
name = "review"
kind = "text"
buckets = 512

[fourier]
width = 128
length_scale = 1.0
"#;

/// Sentences in which a few words tell whether the film was liked.
pub(super) fn reviews(ids: impl Iterator<Item = usize>) -> String {
    let (good, bad) = (["fine", "moving", "clever"], ["dull", "endless", "flat"]);
    let mut text = String::from("id,review,liked\n");
    for i in ids {
        let (is_good, n) = (i % 2 == 0, i / 2);
        let word = if is_good { good } else { bad }[n % 3];
        let (film, ending) = (["film", "story", "cast"][n % 5 % 3], ["last", "first", "only"][n % 7 % 3]);
        writeln!(text, "r{i},\"A {word} {film}, to the {ending} minute\",{}", if is_good { "yes" } else { "no" })
            .expect("text");
    }
    text
}

#[test]
fn sentences_are_learnt_from_and_removed() {
    let sandbox = Sandbox::new();
    sandbox.write("reviews.csv", reviews(0..200));
    sandbox.write("new.csv", reviews(200..300));
    sandbox.write("schema.toml", REVIEWS);
    let trained =
        sandbox.run_all(&["train", "reviews.csv", "--schema", "schema.toml", "--C", "100", "--out", "model", "--json"]);
    trained.ends_with(0);
    assert_eq!(number(&trained.json(), "dim"), 129.0);
    sandbox.json("remove model --id r0 r1");
    sandbox.json("add model new.csv");
    let released = sandbox.json("release model --out model.json");
    let evaluated = sandbox.json("evaluate model.json new.csv");
    assert!(number(&evaluated, "accuracy") > 0.98, "{evaluated}");

    let certificate = sandbox.certificate(released["certificate"].as_str().expect("a path"));
    let maps = certificate["feature_maps"].as_array().expect("two maps");
    let told: Vec<[&Value; 3]> =
        maps.iter().map(|map| [&map["column"], &map["origin"], &map["parameters"]["kind"]]).collect();
    assert_eq!(
        told,
        [[&"review".into(), &"fixed".into(), &"ngrams".into()], [&Value::Null, &"fixed".into(), &"fourier".into()]]
    );
    assert_eq!((&certificate["scale"], certificate.get("extractor")), (&"none".into(), None));
    assert_eq!(sandbox.json("status model")["feature_maps"], certificate["feature_maps"]);
    sandbox.json("verify model.json.certificate.json --key model/signing.key.pub --model model.json");
    let shown = sandbox.run("certificate show model.json.certificate.json");
    let told = format!("{}{}", shown.stdout, shown.stderr);
    assert!(told.contains("of column `review`: ngrams, fixed before any row was seen"), "{told}");
}

/// Pixels of a grey picture of 8 × 8: stripes across or down, with noise.
pub(super) fn stripes(i: usize) -> Vec<u8> {
    let noise = noise(i as u64, 64);
    let bright = |at: usize| if i.is_multiple_of(2) { at / 8 } else { at % 8 } % 4 < 2;
    (0..64).map(|at| (if bright(at) { 170.0 } else { 80.0 } + 60.0 * noise[at]) as u8).collect()
}

/// A folder with pictures and a table of their names.
pub(super) fn with_pictures() -> Sandbox {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("pictures")).expect("writable");
    let mut table = String::from("id,photo,lies\n");
    for i in 0..120 {
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, 8, 8);
        encoder.set_color(png::ColorType::Grayscale);
        encoder.write_header().and_then(|mut writer| writer.write_image_data(&stripes(i))).expect("in memory");
        sandbox.write(&format!("pictures/{i}.png"), file);
        writeln!(table, "p{i},pictures/{i}.png,{}", if i % 2 == 0 { "across" } else { "down" }).expect("text");
    }
    sandbox.write("photos.csv", table);
    sandbox
}

pub(super) const PHOTOS: &str = r#"
format = "efface-schema-1"
label = "lies"
id = "id"

[[column]]
name = "photo"
height = 8
width = 8
channels = 1
"#;

#[test]
fn pictures_are_learnt_from_by_their_names() {
    let sandbox = with_pictures();
    sandbox.write("schema.toml", format!("{PHOTOS}kind = \"image\"\n"));
    sandbox.run_all(&["train", "photos.csv", "--schema", "schema.toml", "--C", "100", "--out", "model"]).ends_with(0);
    sandbox.json("remove model --id p3 p4");
    sandbox.json("release model --out model.json");
    let evaluated = sandbox.json("evaluate model.json photos.csv");
    assert!(number(&evaluated, "accuracy") > 0.98, "{evaluated}");

    std::fs::remove_file(sandbox.path("pictures/7.png")).expect("there");
    let refused = sandbox.run_all(&["train", "photos.csv", "--schema", "schema.toml", "--out", "other"]);
    refused.ends_with(2);
    assert!(
        refused.stderr.contains("photos.csv, line 9, column `photo`: `pictures/7.png`: No such file"),
        "{refused:?}"
    );
    assert!(!sandbox.exists("other"));
}

/// A network of 16 features: what eight filters find in each of two halves of a picture.
pub(super) fn network(seed: u64) -> Vec<u8> {
    let weights: Vec<f32> = noise(seed, 8 * 9).into_iter().map(|x| x as f32).collect();
    let (batch, one) = (Dim::Free("batch"), Dim::Fixed(1));
    let mut graph = GraphBuilder::new("stripes");
    let pixels = graph.input("pixels", Element::Float, &[batch, one, Dim::Fixed(8), Dim::Fixed(8)]);
    let filters = graph.constant("filters", &[8, 1, 3, 3], &weights);
    let found = graph.node("Conv", &[&pixels, &filters], &[]);
    let found = graph.node("Relu", &[&found], &[]);
    let pool = [("kernel_shape", Attribute::Ints(vec![3, 6])), ("strides", Attribute::Ints(vec![3, 6]))];
    let pooled = graph.node("AveragePool", &[&found], &pool);
    let features = graph.node("Flatten", &[&pooled], &[]);
    graph.output("features", &features, Element::Float, &[batch, Dim::Fixed(16)]);
    graph.finish().expect("a graph")
}

#[test]
fn a_network_is_part_of_the_model_by_its_digest() {
    let sandbox = with_pictures();
    sandbox.write("stripes.onnx", network(3));
    let schema = format!("{PHOTOS}kind = \"network\"\nfile = \"stripes.onnx\"\nmean = [0.5]\ndeviation = [0.25]\n");
    sandbox.write("schema.toml", format!("{schema}origin = \"public\"\n"));
    let train =
        |out: &str| sandbox.run_all(&["train", "photos.csv", "--schema", "schema.toml", "--out", out, "--json"]);
    let refused = sandbox.run("train photos.csv --schema schema.toml --extractor-group 3 --out model");
    refused.ends_with(2);
    assert!(refused.stderr.contains("--extractor-group is for a column of kind `network`"), "{refused:?}");
    train("model").ends_with(0);
    let copy = format!("model/networks/{}", sandbox.names("model/networks")[0]);
    sandbox.run("verify model").ends_with(0);
    sandbox.write(&copy, network(4));
    let swapped = sandbox.run("verify model");
    swapped.ends_with(1);
    assert!(format!("{}{}", swapped.stdout, swapped.stderr).contains("no file with SHA-256"), "{swapped:?}");
    sandbox.write(&copy, network(3));
    // The directory has a copy; what lies where the file was makes no difference any more.
    sandbox.write("stripes.onnx", network(4));
    sandbox.write("more.csv", "id,photo,lies\nq1,pictures/1.png,down\n");
    sandbox.json("add model more.csv");
    let released = sandbox.json("release model --out model.json");
    let certificate = sandbox.certificate(released["certificate"].as_str().expect("a path"));
    let map = &certificate["feature_maps"][0];
    assert_eq!((&map["origin"], &map["parameters"]["kind"]), (&"public".into(), &"network".into()));
    let digest = map["parameters"]["onnx"].as_str().expect("a digest");
    assert_eq!(sandbox.names("model/networks"), [format!("{digest}.onnx")]);
    assert!(number(&sandbox.json("evaluate model photos.csv"), "accuracy") > 0.95);

    // Beside the file the network that took its place is found, and is not the one.
    let refused = sandbox.run("evaluate model.json photos.csv");
    refused.ends_with(2);
    assert!(refused.stderr.contains(&format!("column `photo`: no file with SHA-256 {digest} in ")), "{refused:?}");
    assert!(refused.stderr.contains("--networks"), "{refused:?}");
    let evaluated = sandbox.json("evaluate model.json photos.csv --networks model/networks");
    assert!(number(&evaluated, "accuracy") > 0.95, "{evaluated}");

    // A file of that name in the directory is used for what it is.
    sandbox.write(&format!("model/networks/{digest}.onnx"), network(4));
    sandbox.run("add model more.csv").ends_with(2);

    // Of unknown origin: outside the guarantee, and said so.
    sandbox.write("schema.toml", &schema);
    let trained = train("unknown");
    trained.ends_with(0);
    assert!(trained.stderr.contains("nobody has marked public"), "{trained:?}");
    let released = sandbox.json("release unknown");
    let certificate = sandbox.certificate(released["certificate"].as_str().expect("a path"));
    assert_eq!(
        (&certificate["feature_maps"][0]["origin"], &certificate["not_public"][0]),
        (&"unknown".into(), &"photo".into())
    );
}

/// What the maker of a network states of its training.
fn statement(network: &[u8], noise: f64) -> String {
    let digest = hex::encode(Sha256::digest(network));
    format!(
        r#"{{"format":"efface-extractor-statement-1","mechanism":"dp-sgd-poisson","sampling_rate":0.02,"noise_multiplier":{noise},
            "steps":500,"clip":1.0,"unit":"row","delta":1e-6,"digest":"{digest}"}}"#
    )
}

#[test]
fn a_private_network_covers_a_group_of_rows_and_no_more() {
    let sandbox = with_pictures();
    sandbox.write("stripes.onnx", network(3));
    sandbox.write("stripes.json", statement(&network(3), 8.0));
    let schema = format!("{PHOTOS}kind = \"network\"\nfile = \"stripes.onnx\"\nstatement = \"stripes.json\"\n");
    sandbox.write("schema.toml", &schema);
    let train = "train photos.csv --schema schema.toml --extractor-group 3 --out model";
    sandbox.run_all(&train.split(' ').collect::<Vec<_>>()).ends_with(0);
    sandbox.json("remove model --id p1 p2 p3");
    let released = sandbox.json("release model");
    let certificate = sandbox.certificate(released["certificate"].as_str().expect("a path"));
    let (extractor, map) = (&certificate["extractor"], &certificate["feature_maps"][0]);
    assert_eq!((&extractor["group"], &map["origin"]), (&3.into(), &"private".into()));
    assert_eq!(map["statement"]["noise_multiplier"], 8.0);
    let (share, promised) = (number(extractor, "epsilon"), number(&certificate["promise"], "epsilon"));
    assert!(share > 0.1 && (number(&certificate, "epsilon") - promised - 3.0 * share).abs() < 1e-12, "{certificate}");
    sandbox.json(
        "verify model/releases/1/certificate.json --key model/signing.key.pub --model model/releases/1/model.json",
    );

    let beyond = sandbox.run("remove model --id p4");
    beyond.ends_with(1);
    let told = format!("{}{}", beyond.stdout, beyond.stderr);
    assert!(
        told.contains("retraining required: more rows have left than the private feature extractor's promise covers"),
        "{told}"
    );
    sandbox.run("release model").ends_with(1);
    let retrained = sandbox.run("retrain model");
    retrained.ends_with(1);
    assert!(format!("{}{}", retrained.stdout, retrained.stderr).contains("train a new extractor"), "{retrained:?}");

    // Less than the statement proves, another network's statement, and one that claims too much.
    let refused = |told: &str, more: &str| {
        let train = format!("train photos.csv --schema schema.toml --out other {more}");
        let refused = sandbox.run_all(&train.split_whitespace().collect::<Vec<_>>());
        refused.ends_with(2);
        assert!(refused.stderr.contains(told), "{told}: {refused:?}");
        assert!(!sandbox.exists("other"));
    };
    refused("whose statement proves epsilon", "--extractor-epsilon 0.01 --extractor-delta 1e-7");
    // It cannot be called public, which would leave it out of the promise.
    sandbox.write("schema.toml", format!("{schema}origin = \"public\"\n"));
    refused("was trained on the rows, and its origin is not `public`", "");
    sandbox.write("schema.toml", &schema);
    sandbox.write("stripes.json", statement(&network(4), 8.0));
    refused("its statement is about the network with SHA-256", "");
    sandbox.write("stripes.json", statement(&network(3), 8.0).replace("\"digest\"", "\"epsilon\":0.01,\"digest\""));
    refused("it states epsilon 0.01", "");
}

/// A network does not forget whom it saw when the model behind it is trained again.
#[test]
fn rows_that_left_a_private_network_count_for_the_next_model_of_it() {
    let sandbox = with_pictures();
    sandbox.write("stripes.onnx", network(3));
    sandbox.write("stripes.json", statement(&network(3), 8.0));
    let schema = format!("{PHOTOS}kind = \"network\"\nfile = \"stripes.onnx\"\nstatement = \"stripes.json\"\n");
    sandbox.write("schema.toml", schema);
    let train = |rows: &str, group: usize, out: &str| {
        let train = format!("train {rows} --schema schema.toml --extractor-group {group} --witness seen --out {out}");
        sandbox.run_all(&train.split(' ').collect::<Vec<_>>())
    };
    train("photos.csv", 3, "first").ends_with(0);
    sandbox.json("remove first --id p1 p2");
    // Whether their rows are offered again or not.
    let rest = std::fs::read_to_string(sandbox.path("photos.csv")).expect("a table");
    let rest: Vec<&str> = rest.lines().filter(|row| !row.starts_with("p1,") && !row.starts_with("p2,")).collect();
    sandbox.write("rest.csv", rest.join("\n"));
    for (rows, out) in [("photos.csv", "again"), ("rest.csv", "once-more")] {
        train(rows, 3, out).ends_with(0);
        assert_eq!(sandbox.json(&format!("status {out}"))["n_left"], 2, "{rows}");
    }
    let refused = train("rest.csv", 1, "small");
    refused.ends_with(2);
    assert!(refused.stderr.contains("2 rows that the private network was trained on have been removed"), "{refused:?}");
    assert!(!sandbox.exists("small"));
    sandbox.json("remove once-more --id p3");
    sandbox.run("remove once-more --id p4").ends_with(1);

    // One that did not see them does not count them.
    sandbox.write("stripes.onnx", network(4));
    sandbox.write("stripes.json", statement(&network(4), 8.0));
    train("rest.csv", 3, "anew").ends_with(0);
    assert_eq!(sandbox.json("status anew")["n_left"], 2, "p3 and p4 were offered, and left out");
}

#[test]
fn a_network_that_cannot_be_used_is_refused_before_a_row_is_read() {
    let sandbox = with_pictures();
    sandbox.write("stripes.onnx", network(3));
    let schema = format!("{PHOTOS}kind = \"network\"\nfile = \"stripes.onnx\"\n");
    let bytes = network(3);
    for (from, to, file, told) in [
        ("", "", &bytes[..bytes.len() / 2], "not an ONNX model"),
        ("height = 8", "height = 9", &bytes[..], "not images of height 9, width 8 and 1 channels"),
        ("stripes.onnx", "none.onnx", &bytes[..], "none.onnx: No such file"),
        ("file = \"stripes.onnx\"\n", "", &bytes[..], "needs file, the name of an ONNX file"),
        ("width = 8", "tokenizer = \"stripes.onnx\"\nmax_tokens = 8", &bytes[..], "the tokenizer cannot be read"),
    ] {
        sandbox.write("stripes.onnx", file);
        sandbox.write("schema.toml", schema.replacen(from, to, 1));
        let refused = sandbox.run_all(&["train", "photos.csv", "--schema", "schema.toml", "--out", "model"]);
        refused.ends_with(2);
        assert!(refused.stderr.contains("column `photo`") && refused.stderr.contains(told), "{told}: {refused:?}");
        assert!(!sandbox.exists("model"));
    }
}
