//! `efface extractor`: from images to a network with its statement, and to a model behind it.

use crate::sandbox::{Sandbox, number};

/// Trains on the arrays of [`with_images`], with further options.
pub(crate) const TRAIN: &str =
    "extractor train images.idx --label labels.idx --height 16 --width 16 --channels 1 --features 8 --out net.onnx";

/// A folder with 96 images of bars, across or down, and their labels.
pub(crate) fn with_images() -> Sandbox {
    let sandbox = Sandbox::new();
    let array = |sizes: &[u32], values: &mut dyn Iterator<Item = u8>| -> Vec<u8> {
        let head = [0, 0, 8, sizes.len() as u8].into_iter().chain(sizes.iter().flat_map(|size| size.to_be_bytes()));
        head.chain(values).collect()
    };
    let pixel = |image: usize, at: usize| {
        let bar = if image.is_multiple_of(2) { at / 16 } else { at % 16 } / 4 % 2;
        (60.0 + 90.0 * bar as f64 + 50.0 * (((image + 1) * (at + 7)) as f64).sin()) as u8
    };
    let mut pixels = (0..96).flat_map(|image| (0..256).map(move |at| pixel(image, at)));
    sandbox.write("images.idx", array(&[96, 16, 16], &mut pixels));
    sandbox.write("labels.idx", array(&[96], &mut (0..96).map(|image| (image % 2) as u8)));
    sandbox
}

#[test]
fn a_network_comes_with_its_statement_and_the_commands_that_use_it() {
    let sandbox = with_images();
    let train = format!("{TRAIN} --epochs 1 --batch 16 --epsilon 4 --delta 1e-5 --group 2");
    let trained = sandbox.run(&train);
    trained.ends_with(0);
    assert_eq!(sandbox.names("."), ["images.idx", "labels.idx", "net.onnx", "net.statement.json"]);

    let shown = sandbox.json("extractor show net.statement.json --group 2");
    let share = &shown["groups"][0];
    assert!(number(share, "epsilon") <= 4.0 && number(share, "epsilon") > 3.9, "{shown}");
    assert!(number(share, "delta") <= 1e-5, "{shown}");
    // A million rows that leave are promised nothing.
    sandbox.run("extractor show net.statement.json --group 1000000").ends_with(1);

    // What it says comes next is what comes next.
    let said = trained.stderr.split_once("say schema.toml:\n").expect("a schema").1;
    let (schema, then) = said.split_once("then: efface ").expect("a command");
    sandbox.write("schema.toml", schema);
    let then = then.lines().next().expect("a line").replace("MODEL", "model");
    sandbox.run_all(&then.split(' ').collect::<Vec<_>>()).ends_with(0);
    let released = sandbox.json("release model --out model.json");
    let certificate = sandbox.certificate(released["certificate"].as_str().expect("a path"));
    assert_eq!(
        (&certificate["extractor"]["group"], &certificate["feature_maps"][0]["origin"]),
        (&2.into(), &"private".into())
    );
    sandbox.json("verify model.json.certificate.json --key model/signing.key.pub --model model.json");

    // Nothing is replaced, and nothing is half-made.
    sandbox.refuses(&train, &["net.onnx", "exists"]);
    // A run that is killed between the two files leaves the statement, which is about nothing.
    std::fs::remove_file(sandbox.path("net.onnx")).expect("there");
    sandbox.refuses(&train, &["net.statement.json", "killed", "another network", "move it away"]);
}

#[test]
fn what_no_extractor_can_be_is_refused_before_it_is_trained() {
    let sandbox = with_images();
    sandbox.write("one.idx", [&[0, 0, 8, 1, 0, 0, 0, 96][..], &[1; 96]].concat());
    for (options, parts) in [
        ("--epsilon 0", &["epsilon", "0"][..]),
        ("--noise-multiplier 1e-9", &["noise multiplier", "0.000000001"]),
        ("--delta 1", &["delta", "1"]),
        ("--batch 97", &["batch", "96", "97"]),
        ("--classes 0,2", &["1"]),
        ("--statement net.onnx", &["net.onnx", "twice"]),
        ("--statement ./net.onnx", &["net.onnx", "twice"]),
        ("--checkpoint ./net.statement.json", &["net.statement.json", "twice"]),
        ("--out nowhere/net.onnx", &["nowhere"]),
        ("--label one.idx", &["class"]),
    ] {
        let (flag, _) = options.split_once(' ').expect("a flag");
        let without = TRAIN.split(" --").filter(|given| !format!("--{given} ").starts_with(&format!("{flag} ")));
        let command = without.collect::<Vec<_>>().join(" --");
        sandbox.refuses(&format!("{command} {options} {}", if flag == "--out" { "" } else { "--epochs 1" }), parts);
    }
    sandbox.run(&format!("{TRAIN} --group 0")).ends_with(2);
    sandbox.write("no.statement.json", "{}");
    sandbox.refuses("extractor show no.statement.json", &["no.statement.json", "no statement"]);
}
