//! Seeds of networks, statements and pictures.

use efface_onnx::{Attribute, Dim, Element, GraphBuilder};
use png::ColorType;

use super::{root, seed, seed_with_damage};

pub(super) fn write() {
    seed_with_damage("network", "pixels", &of_pixels());
    seed_with_damage("network", "tokens", &of_tokens());
    seed("network", "empty", "");

    seed_with_damage("statement", "whole", STATEMENT.as_bytes());
    seed("statement", "all-rows", STATEMENT.replace("0.02", "1.0").replace("\"n_rows\":1000,", ""));
    seed("statement", "subject", STATEMENT.replace("\"row\"", "\"subject\""));

    for name in ["colours.jpg", "grey.jpg", "progressive.jpg"] {
        let picture = root().join("crates/efface-images/tests/data").join(name);
        seed_with_damage("picture", name, &std::fs::read(picture).expect("readable"));
    }
    for (name, colour, samples) in [("colours.png", ColorType::Rgb, 3), ("grey.png", ColorType::Grayscale, 1)] {
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, 8, 8);
        encoder.set_color(colour);
        let mut writer = encoder.write_header().expect("in memory");
        let pixels: Vec<u8> = (0..64 * samples).map(|i| (7 * i) as u8).collect();
        writer.write_image_data(&pixels).expect("in memory");
        writer.finish().expect("in memory");
        seed_with_damage("picture", name, &file);
    }
}

/// 64 numbers become three.
fn of_pixels() -> Vec<u8> {
    let mut graph = GraphBuilder::new("pixels");
    let pixels = graph.input("pixels", Element::Float, &[Dim::Free("batch"), Dim::Fixed(8), Dim::Fixed(8)]);
    let flat = graph.node("Flatten", &[&pixels], &[("axis", Attribute::Int(1))]);
    let weights = graph.constant("weights", &[64, 3], &(0..192).map(|i| i as f32 / 64.0).collect::<Vec<_>>());
    let features = graph.node("MatMul", &[&flat, &weights], &[]);
    graph.output("features", &features, Element::Float, &[Dim::Free("batch"), Dim::Fixed(3)]);
    graph.finish().expect("small")
}

/// Each token becomes two numbers.
fn of_tokens() -> Vec<u8> {
    let mut graph = GraphBuilder::new("tokens");
    let sides = [Dim::Free("batch"), Dim::Free("tokens")];
    let tokens = graph.input("input_ids", Element::Int, &sides);
    let mask = graph.input("attention_mask", Element::Int, &sides);
    let table = graph.constant("table", &[4, 2], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    let kept = graph.node("Mul", &[&tokens, &mask], &[]);
    let features = graph.node("Gather", &[&table, &kept], &[]);
    graph.output("features", &features, Element::Float, &[sides[0], sides[1], Dim::Fixed(2)]);
    graph.finish().expect("small")
}

const STATEMENT: &str = r#"{"format":"efface-extractor-statement-1","mechanism":"dp-sgd-poisson","sampling_rate":0.02,
"noise_multiplier":8.0,"steps":500,"clip":1.0,"unit":"row","delta":1e-6,"n_rows":1000,"epsilon":2.5,
"digest":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}"#;
