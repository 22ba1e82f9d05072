//! Columns of tables as operators, beside what they stand for; and files that are run as they are.

use efface_onnx::{
    Cells, Dim, Element, GraphBuilder, NumberColumn, Side, Signature, WholeModel, compose, numbers, one_hot, one_of,
    pooled, product, row_sums,
};

use crate::assert_close;

const BATCH: Dim = Dim::Free("batch");

fn run(graph: GraphBuilder, inputs: Vec<(&str, Vec<usize>, Cells)>) -> Vec<Cells> {
    WholeModel::open(&graph.finish().unwrap()).unwrap().run(inputs).unwrap()
}

fn floats(cells: &Cells) -> &[f32] {
    let Cells::Floats(values) = cells else { panic!("{cells:?} are no floats") };
    values
}

fn texts(texts: &[&str]) -> Cells {
    Cells::Texts(texts.iter().map(|text| (*text).to_owned()).collect())
}

#[test]
fn numbers_are_centred_scaled_and_cut_and_gaps_have_slots() {
    let year = NumberColumn { location: 2020.0, scale: 4.0, most: 8.0, gap: 0.0, ..NumberColumn::PLAIN };
    let columns = [
        NumberColumn { has_slot: true, ..year },
        NumberColumn::PLAIN,
        NumberColumn { has_value: false, ..year },
        NumberColumn { has_value: false, has_slot: true, ..year },
        NumberColumn { gap: 0.25, ..year },
    ];
    let mut graph = GraphBuilder::new("numbers");
    let rows = graph.input("location", Element::Float, &[BATCH, Dim::Fixed(5)]);
    graph.scope("columns");
    let features = numbers(&mut graph, &rows, &columns);
    graph.output("out", &features, Element::Float, &[BATCH, Dim::Fixed(5)]);
    let nan = f32::NAN;
    let rows = vec![2018.0, -3.0, 9.0, nan, nan, nan, 7.5, nan, 1.0, 1e30];
    let out = run(graph, vec![("location", vec![2, 5], Cells::Floats(rows))]);
    assert_close(floats(&out[0]), &[-0.5, 0.0, -3.0, 1.0, 0.25, 0.0, 1.0, 7.5, 0.0, 8.0], 0.0);
}

#[test]
fn numbers_that_are_features_as_they_are_stay_so() {
    let mut graph = GraphBuilder::new("numbers");
    let rows = graph.input("X", Element::Float, &[BATCH, Dim::Fixed(2)]);
    assert_eq!(numbers(&mut graph, &rows, &[NumberColumn::PLAIN; 2]), rows);
}

#[test]
fn texts_are_told_apart() {
    let mut graph = GraphBuilder::new("texts");
    let cell = graph.input("plan", Element::Text, &[BATCH, Dim::Fixed(1)]);
    graph.scope("plan");
    let found = one_of(&mut graph, &cell, &["basic".into(), String::new(), "Größe".into()]);
    let any = row_sums(&mut graph, &found, 3);
    let twice = product(&mut graph, &any, &[2.0, -1.0], 2);
    graph.output("found", &found, Element::Float, &[BATCH, Dim::Fixed(3)]);
    graph.output("twice", &twice, Element::Float, &[BATCH, Dim::Fixed(2)]);
    let out = run(graph, vec![("plan", vec![4, 1], texts(&["Größe", "", "plus", "basic"]))]);
    assert_close(floats(&out[0]), &[0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0], 0.0);
    assert_close(floats(&out[1]), &[2.0, -1.0, 2.0, -1.0, 0.0, 0.0, 2.0, -1.0], 0.0);
}

#[test]
fn a_bucket_beyond_the_last_is_none() {
    let mut graph = GraphBuilder::new("buckets");
    let cell = graph.input("postcode", Element::Int, &[BATCH, Dim::Fixed(1)]);
    let found = one_hot(&mut graph, &cell, 3);
    graph.output("found", &found, Element::Float, &[BATCH, Dim::Fixed(3)]);
    let out = run(graph, vec![("postcode", vec![3, 1], Cells::Ints(vec![2, 0, 3]))]);
    assert_close(floats(&out[0]), &[0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0], 0.0);
}

/// A network of texts with one feature per token, which is the token's number.
fn tokens() -> Vec<u8> {
    let sides = [BATCH, Dim::Free("tokens")];
    let mut graph = GraphBuilder::new("network");
    let [ids, _] = ["input_ids", "attention_mask"].map(|name| graph.input(name, Element::Int, &sides));
    let shape = graph.constant_ints("shape", &[3], &[0, 0, 1]);
    let values = graph.node("Cast", &[&ids], &[("to", efface_onnx::Attribute::Int(1))]);
    let values = graph.node("Reshape", &[&values, &shape], &[]);
    graph.output("last", &values, Element::Float, &[sides[0], sides[1], Dim::Fixed(1)]);
    graph.finish().unwrap()
}

/// A network of one column, and another column beside it: one file that takes both, and says so.
#[test]
fn what_else_a_head_takes_the_file_takes_too() {
    let mut head = GraphBuilder::new("head");
    let from_network = head.input_of_any_shape("features", Element::Float);
    let age = head.input("age", Element::Float, &[BATCH, Dim::Fixed(1)]);
    let product = head.node("Mul", &[&from_network, &age], &[]);
    head.output("out", &product, Element::Float, &[BATCH, Dim::Fixed(1)]);
    let file = compose(&pooled(&tokens()).unwrap(), head).unwrap();

    let Signature { inputs, outputs } = Signature::of(&file).unwrap();
    let told: Vec<String> = inputs.iter().map(|input| format!("{} {input}", input.name)).collect();
    let expected =
        ["input_ids int64 [batch, tokens]", "attention_mask int64 [batch, tokens]", "age float32 [batch, 1]"];
    assert_eq!(told, expected);
    assert_eq!((outputs[0].name.as_str(), &outputs[0].shape[1]), ("out", &Side::Fixed(1)));

    let mut model = WholeModel::open(&file).unwrap();
    // Padding does not count, and a text without tokens has features of zero.
    let ids = vec![2, 4, 9, 9, 9, 9];
    let given = vec![
        ("input_ids", vec![2, 3], Cells::Ints(ids)),
        ("attention_mask", vec![2, 3], Cells::Ints(vec![1, 1, 0, 0, 0, 0])),
        ("age", vec![2, 1], Cells::Floats(vec![10.0, 10.0])),
    ];
    let out = model.run(given).unwrap();
    assert_close(floats(&out[0]), &[30.0, 0.0], 1e-6);
    let refused = model.run(vec![("age", vec![1, 1], Cells::Floats(vec![1.0]))]).unwrap_err();
    assert!(refused.contains("input_ids") || refused.contains("Missing"), "{refused}");
}
