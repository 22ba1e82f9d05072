//! Which files are run: those that hold all that they compute, and compute the same every time.
//!
//! The digest of a file stands for its features. So nothing may lie in another file, which would be looked for wherever
//! this program runs, and nothing may be drawn at random; neither in the graph nor in the graphs and functions within.

use prost::Message;

use crate::error::OpenError;
use crate::proto::{AttributeProto, GraphProto, ModelProto, NodeProto, SparseTensorProto, TensorProto};

/// Refuses a file whose features its digest does not settle.
pub(crate) fn check(file: &[u8]) -> Result<(), OpenError> {
    let malformed = |reason: String| OpenError::Malformed { reason };
    let model = ModelProto::decode(file).map_err(|error| malformed(error.to_string()))?;
    let graph = model.graph.as_ref().ok_or_else(|| malformed("it has no graph".to_owned()))?;
    check_graph(graph)?;
    for function in &model.functions {
        function.attribute.iter().try_for_each(|attribute| check_attribute(attribute, "of a function"))?;
        check_nodes(&function.node, &[])?;
    }
    Ok(())
}

fn check_graph(graph: &GraphProto) -> Result<(), OpenError> {
    graph.initializer.iter().try_for_each(|tensor| check_tensor(tensor, &tensor.name))?;
    graph.sparse_initializer.iter().try_for_each(|tensor| check_sparse(tensor, "a sparse constant"))?;
    check_nodes(&graph.node, &graph.initializer)
}

fn check_nodes(nodes: &[NodeProto], constants: &[TensorProto]) -> Result<(), OpenError> {
    for node in nodes {
        let drops = node.op_type == "Dropout" && !is_idle(node, nodes, constants);
        if drops || RANDOM.contains(&&*node.op_type) {
            return Err(OpenError::Random { operator: node.op_type.clone() });
        }
        node.attribute.iter().try_for_each(|attribute| check_attribute(attribute, &node.name))?;
    }
    Ok(())
}

fn check_attribute(attribute: &AttributeProto, of: &str) -> Result<(), OpenError> {
    attribute.t.iter().chain(&attribute.tensors).try_for_each(|tensor| check_tensor(tensor, of))?;
    let sparse = attribute.sparse_tensor.iter().chain(&attribute.sparse_tensors);
    sparse.into_iter().try_for_each(|tensor| check_sparse(tensor, of))?;
    attribute.g.iter().chain(&attribute.graphs).try_for_each(check_graph)
}

fn check_sparse(tensor: &SparseTensorProto, name: &str) -> Result<(), OpenError> {
    tensor.values.iter().chain(&tensor.indices).try_for_each(|tensor| check_tensor(tensor, name))
}

fn check_tensor(tensor: &TensorProto, name: &str) -> Result<(), OpenError> {
    if tensor.data_location == IN_THE_FILE && tensor.external_data.is_empty() {
        Ok(())
    } else {
        Err(OpenError::OtherFile { name: name.to_owned() })
    }
}

/// Whether a `Dropout` drops nothing: its third input, whether it is in training, is not there or a constant `false`.
fn is_idle(dropout: &NodeProto, nodes: &[NodeProto], constants: &[TensorProto]) -> bool {
    let Some(training) = dropout.input.get(2).filter(|name| !name.is_empty()) else { return true };
    let by_nodes = nodes.iter().filter(|node| node.op_type == "Constant" && node.output.contains(training));
    let by_nodes = by_nodes.flat_map(|node| node.attribute.iter().filter_map(|attribute| attribute.t.as_ref()));
    let mut values = constants.iter().filter(|tensor| tensor.name == *training).chain(by_nodes).peekable();
    let is_false = |t: &TensorProto| t.raw_data.iter().all(|b| *b == 0) && t.int32_data.iter().all(|b| *b == 0);
    values.peek().is_some() && values.all(is_false)
}

/// What draws random numbers whatever its inputs are.
const RANDOM: [&str; 10] = [
    "Bernoulli",
    "BiasDropout",
    "BitmaskBiasDropout",
    "BitmaskDropout",
    "Multinomial",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
    "Sampling",
];

/// `data_location` of a tensor that is where it stands.
const IN_THE_FILE: i32 = 0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::{FunctionProto, StringStringEntryProto};

    fn node(op_type: &str, attribute: Vec<AttributeProto>) -> NodeProto {
        NodeProto { op_type: op_type.to_owned(), name: "node".to_owned(), attribute, ..NodeProto::default() }
    }

    /// A graph of these nodes, wherever nodes can stand: as the file's, in a branch, in a function, in a branch of one.
    fn everywhere(node: Vec<NodeProto>) -> [ModelProto; 4] {
        let of = |node| GraphProto { node, ..GraphProto::default() };
        let branch = AttributeProto { g: Some(of(node.clone())), ..AttributeProto::default() };
        let branch = vec![self::node("If", vec![branch])];
        let file = |graph, node| {
            let functions = vec![FunctionProto { node, ..FunctionProto::default() }];
            ModelProto { graph: Some(graph), functions, ..ModelProto::default() }
        };
        let nothing = || of(Vec::new());
        [
            file(of(node.clone()), Vec::new()),
            file(of(branch.clone()), Vec::new()),
            file(nothing(), node),
            file(nothing(), branch),
        ]
    }

    fn message(model: &ModelProto) -> String {
        check(&model.encode_to_vec()).unwrap_err().to_string()
    }

    #[test]
    fn random_numbers_are_refused_wherever_they_are_drawn() {
        let says = |name| {
            format!("the network draws random numbers ({name}), so a row would not have the same features twice")
        };
        for name in RANDOM {
            for model in everywhere(vec![node("Relu", Vec::new()), node(name, Vec::new())]) {
                assert_eq!(message(&model), says(name));
            }
        }
        let dropout = |training: &str| {
            let input = ["x", "ratio", training].map(str::to_owned).to_vec();
            NodeProto { input, ..node("Dropout", Vec::new()) }
        };
        let constant = |raw_data: &[u8]| {
            let t = TensorProto { raw_data: raw_data.to_vec(), ..TensorProto::default() };
            let attribute = vec![AttributeProto { t: Some(t), ..AttributeProto::default() }];
            NodeProto { output: vec!["training".to_owned()], ..node("Constant", attribute) }
        };
        for (nodes, is_fine) in [
            (vec![dropout("")], true),
            (vec![dropout("training"), constant(&[0])], true),
            (vec![dropout("training"), constant(&[1])], false),
            (vec![dropout("training")], false),
        ] {
            for model in everywhere(nodes.clone()) {
                assert_eq!(check(&model.encode_to_vec()).is_ok(), is_fine, "{nodes:?}");
            }
        }
    }

    #[test]
    fn constants_in_other_files_are_refused_wherever_they_stand() {
        let says = |name| format!("`{name}` of the network is in another file; save the network as one file");
        let place = StringStringEntryProto { key: "location".to_owned(), value: "weights.bin".to_owned() };
        let named = |t: TensorProto| TensorProto { name: "weights".to_owned(), ..t };
        for t in [
            named(TensorProto { data_location: 1, ..TensorProto::default() }),
            named(TensorProto { external_data: vec![place], ..TensorProto::default() }),
        ] {
            let sparse =
                |t: &TensorProto| SparseTensorProto { values: Some(t.clone()), ..SparseTensorProto::default() };
            let indices = SparseTensorProto { indices: Some(t.clone()), ..SparseTensorProto::default() };
            let attributes = [
                AttributeProto { t: Some(t.clone()), ..AttributeProto::default() },
                AttributeProto { tensors: vec![t.clone()], ..AttributeProto::default() },
                AttributeProto { sparse_tensor: Some(sparse(&t)), ..AttributeProto::default() },
                AttributeProto { sparse_tensors: vec![indices], ..AttributeProto::default() },
            ];
            for attribute in attributes {
                for model in everywhere(vec![node("Constant", vec![attribute.clone()])]) {
                    assert_eq!(message(&model), says("node"));
                }
                let function = FunctionProto { attribute: vec![attribute], ..FunctionProto::default() };
                let graph = Some(GraphProto::default());
                let model = ModelProto { graph, functions: vec![function], ..ModelProto::default() };
                assert_eq!(message(&model), says("of a function"));
            }
            let graph = GraphProto { initializer: vec![t.clone()], ..GraphProto::default() };
            assert_eq!(message(&ModelProto { graph: Some(graph), ..ModelProto::default() }), says("weights"));
            let graph = GraphProto { sparse_initializer: vec![sparse(&t)], ..GraphProto::default() };
            assert_eq!(message(&ModelProto { graph: Some(graph), ..ModelProto::default() }), says("a sparse constant"));
        }
    }
}
