use super::*;
use crate::graph::{Attribute, Dim, Element};
use crate::proto::OperatorSetIdProto;

const ROWS: [Dim; 2] = [Dim::Free("batch"), Dim::Fixed(2)];

/// Multiplies by a constant; inside, its names are those of [`head`].
fn network() -> Vec<u8> {
    let mut graph = GraphBuilder::new("network");
    let rows = graph.input("X", Element::Float, &ROWS);
    let weight = graph.constant("weight", &[], &[2.0]);
    let product = graph.node("Mul", &[&rows, &weight], &[]);
    graph.output("features", &product, Element::Float, &ROWS);
    graph.finish().unwrap()
}

fn head(operator: &str) -> GraphBuilder {
    let mut graph = GraphBuilder::new("head");
    let rows = graph.input("features", Element::Float, &ROWS);
    let weight = graph.constant("weight", &[], &[2.0]);
    let product = graph.node(operator, &[&rows, &weight], &[("name", Attribute::Int(1))]);
    graph.output("X", &product, Element::Float, &ROWS);
    graph.output("Y", &product, Element::Float, &ROWS);
    graph.metadata("digest", "of the network");
    graph
}

/// The network with another version of the operators, and with a field and an attribute that nobody knows.
fn foreign(version: i64) -> Vec<u8> {
    let mut model = ModelProto::decode(network().as_slice()).unwrap();
    model.opset_import = vec![OperatorSetIdProto { domain: "ai.onnx".to_owned(), version }];
    let mut file = model.encode_to_vec();
    wire::put(99, b"of the network", &mut file);
    let mut graph = Vec::new();
    wire::put(98, b"of its graph", &mut graph);
    // Messages that come in parts are merged.
    wire::put(GRAPH, &graph, &mut file);
    file
}

#[test]
fn a_head_takes_the_features_and_no_name_is_there_twice() {
    let joined = compose(&network(), head("Mul")).unwrap();
    let model = ModelProto::decode(joined.as_slice()).unwrap();
    let graph = model.graph();
    let names = |values: &[ValueInfoProto]| values.iter().map(|v| v.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&graph.input), ["X"]);
    // The network has an X already.
    assert_eq!(names(&graph.output), ["efface/X", "Y"]);
    let wires: Vec<_> = graph.node.iter().map(|n| (n.input.join(" "), n.output.join(" "))).collect();
    let wires: Vec<_> = wires.iter().map(|(from, to)| (from.as_str(), to.as_str())).collect();
    let expected = [
        ("X weight", "mul_1"),
        ("mul_1", "features"),
        ("features efface/weight", "efface/mul_1"),
        ("efface/mul_1", "efface/X"),
        ("efface/mul_1", "Y"),
    ];
    assert_eq!(wires, expected);
    assert_eq!(model.metadata_props[0].key, "digest");

    let twice = compose(&joined, {
        let mut graph = GraphBuilder::new("again");
        let rows = graph.input("rows", Element::Float, &ROWS);
        let sum = graph.node("Add", &[&rows, &rows], &[]);
        graph.output("Z", &sum, Element::Float, &ROWS);
        graph
    });
    let model = ModelProto::decode(twice.unwrap().as_slice()).unwrap();
    assert_eq!(model.graph().node[5].output, ["efface1/add_1"]);
}

#[test]
fn a_front_gives_the_input_and_comes_first() {
    let mut front = GraphBuilder::new("front");
    let pixels = front.input("pixels", Element::Float, &ROWS);
    let sum = front.node("Add", &[&pixels, &pixels], &[]);
    front.output("scaled", &sum, Element::Float, &ROWS);
    let model = ModelProto::decode(prepend(front, &network()).unwrap().as_slice()).unwrap();
    let graph = model.graph();
    assert_eq!((graph.input[0].name.as_str(), graph.output[0].name.as_str()), ("pixels", "features"));
    assert_eq!((graph.node[0].input[0].as_str(), graph.node[1].output[0].as_str()), ("pixels", "X"));
}

#[test]
fn what_is_not_known_of_a_network_is_kept() {
    let joined = compose(&foreign(13), head("Mul")).unwrap();
    let fields = wire::fields(&joined).unwrap();
    let payload = |fields: &[wire::Field], number| fields.iter().find(|f| f.number == number).unwrap().payload.to_vec();
    assert_eq!(payload(&fields, 99), b"of the network");
    assert_eq!(payload(&wire::fields(&payload(&fields, GRAPH)).unwrap(), 98), b"of its graph");
    let sets = ModelProto::decode(joined.as_slice()).unwrap().opset_import;
    assert_eq!(sets.iter().map(|s| (s.domain.as_str(), s.version)).collect::<Vec<_>>(), [("ai.onnx", 13)]);
}

#[test]
fn operators_that_meant_something_else_are_refused() {
    let error = |version, operator| compose(&foreign(version), head(operator)).unwrap_err().to_string();
    assert_eq!(error(6, "Mul"), "the network uses version 6 of the ONNX operators; `Mul` needs at least 7");
    assert_eq!(
        error(18, "ReduceL2"),
        "the network uses version 18 of the ONNX operators, where `ReduceL2` may not be that of version 17"
    );
    assert!(compose(&foreign(17), head("ReduceL2")).is_ok());
}

#[test]
fn what_does_not_fit_is_refused() {
    let with_input = |dims: &[Dim], element| {
        let mut graph = GraphBuilder::new("head");
        let rows = graph.input("rows", element, dims);
        graph.output("Y", &rows, element, dims);
        graph
    };
    let error = |dims: &[Dim], element| compose(&network(), with_input(dims, element)).unwrap_err().to_string();
    let expected = |taken| format!("output `features` is float [?, 2], but the input it should become is {taken}");
    assert_eq!(error(&[Dim::Free("n"), Dim::Fixed(3)], Element::Float), expected("float [?, 3]"));
    assert_eq!(error(&[Dim::Free("n")], Element::Float), expected("float [?]"));
    assert_eq!(error(&ROWS, Element::Int), expected("int64 [?, 2]"));

    let cut = &network()[..30];
    assert!(compose(cut, head("Mul")).unwrap_err().to_string().starts_with("the network is not an ONNX model: "));
    assert_eq!(compose(&[], head("Mul")).unwrap_err().to_string(), "the network is not an ONNX model: it has no graph");
}
