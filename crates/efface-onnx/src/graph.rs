//! Writing an ONNX file: values are named by the nodes that make them, and the file is checked when it is finished.

use std::collections::HashSet;

use prost::Message;

use crate::error::GraphError;
use crate::proto::{
    AttributeProto, DimensionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, StringStringEntryProto,
    TensorProto, TensorShapeProto, TensorTypeProto, TypeProto, ValueInfoProto, attribute_type, data_type,
};

/// A graph of operators that grows node by node, in the order of the computation.
///
/// ```
/// use efface_onnx::{Dim, Element, GraphBuilder};
///
/// let mut graph = GraphBuilder::new("double");
/// let rows = graph.input("X", Element::Float, &[Dim::Free("batch"), Dim::Fixed(3)]);
/// let two = graph.constant("two", &[], &[2.0]);
/// let doubled = graph.node("Mul", &[&rows, &two], &[]);
/// graph.output("doubled", &doubled, Element::Float, &[Dim::Free("batch"), Dim::Fixed(3)]);
/// let file: Vec<u8> = graph.finish()?;
/// # Ok::<(), efface_onnx::GraphError>(())
/// ```
#[derive(Clone, Debug)]
pub struct GraphBuilder {
    graph: GraphProto,
    metadata: Vec<StringStringEntryProto>,
    scope: String,
    n_made: usize,
    /// The first thing that went wrong: said when the graph is finished.
    failed: Option<GraphError>,
}

/// An input, a constant or what a node computes. Belongs to the graph that it was made by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value(String);

/// What a tensor holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// Single precision.
    Float,
    /// Signed integers of 64 bits.
    Int,
    /// Texts.
    Text,
}

/// One side of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dim {
    /// Any size; sides of the same name have the same one.
    Free(&'static str),
    /// This size.
    Fixed(usize),
}

/// What a node is told besides its inputs.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the types say it")]
pub enum Attribute {
    Float(f32),
    Int(i64),
    Text(String),
    Floats(Vec<f32>),
    Ints(Vec<i64>),
    Texts(Vec<String>),
}

impl GraphBuilder {
    /// An empty graph.
    pub fn new(name: &str) -> Self {
        let graph = GraphProto { name: name.to_owned(), ..GraphProto::default() };
        Self { graph, metadata: Vec::new(), scope: String::new(), n_made: 0, failed: None }
    }

    /// Names of what is made from here on begin with `name/`, so that they are not those of inputs. Constants of one name
    /// are told apart by numbers.
    pub fn scope(&mut self, name: &str) {
        self.scope = format!("{name}/");
    }

    /// What whoever runs the file has to give.
    pub fn input(&mut self, name: &str, element: Element, dims: &[Dim]) -> Value {
        self.graph.input.push(described(name, element, Some(dims)));
        Value(name.to_owned())
    }

    /// The same of any shape: what a network gives, whose file may not say.
    pub fn input_of_any_shape(&mut self, name: &str, element: Element) -> Value {
        self.graph.input.push(described(name, element, None));
        Value(name.to_owned())
    }

    /// Numbers that are part of the file, row by row.
    pub fn constant(&mut self, name: &str, dims: &[usize], values: &[f32]) -> Value {
        let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.tensor(name, dims, values.len(), data_type::FLOAT, bytes)
    }

    /// The same for integers: shapes, axes, indices.
    pub fn constant_ints(&mut self, name: &str, dims: &[usize], values: &[i64]) -> Value {
        let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.tensor(name, dims, values.len(), data_type::INT64, bytes)
    }

    /// Applies an operator that has one output. Operators of [`ML`] are named with it: `ai.onnx.ml.LinearClassifier`.
    pub fn node(&mut self, operator: &str, inputs: &[&Value], attributes: &[(&str, Attribute)]) -> Value {
        let [output] = self.node_of(operator, inputs, attributes);
        output
    }

    /// The same for N outputs.
    pub fn node_of<const N: usize>(
        &mut self,
        operator: &str,
        inputs: &[&Value],
        attributes: &[(&str, Attribute)],
    ) -> [Value; N] {
        self.n_made += 1;
        let (domain, op_type) = operator.rsplit_once('.').unwrap_or(("", operator));
        let name = format!("{}{}_{}", self.scope, op_type.to_lowercase(), self.n_made);
        let outputs: [Value; N] =
            std::array::from_fn(|i| Value(if i == 0 { name.clone() } else { format!("{name}_{i}") }));
        self.graph.node.push(NodeProto {
            input: inputs.iter().map(|v| v.0.clone()).collect(),
            output: outputs.iter().map(|v| v.0.clone()).collect(),
            name,
            op_type: op_type.to_owned(),
            attribute: attributes.iter().map(|(name, value)| value.named(name)).collect(),
            domain: domain.to_owned(),
        });
        outputs
    }

    /// The same numbers with other sides behind the first, which takes what is left.
    pub fn reshape(&mut self, value: &Value, sides: &[usize]) -> Value {
        let sides: Vec<i64> = std::iter::once(-1).chain(sides.iter().map(|side| side.cast_signed() as i64)).collect();
        let shape = self.constant_ints(&format!("shape_{}", self.n_made), &[sides.len()], &sides);
        self.node("Reshape", &[value, &shape], &[])
    }

    /// Gives a value to whoever runs the file, under this name.
    pub fn output(&mut self, name: &str, value: &Value, element: Element, dims: &[Dim]) {
        self.graph.node.push(NodeProto {
            input: vec![value.0.clone()],
            output: vec![name.to_owned()],
            name: format!("{}to_{name}", self.scope),
            op_type: "Identity".to_owned(),
            ..NodeProto::default()
        });
        self.graph.output.push(described(name, element, Some(dims)));
    }

    /// A text beside the graph.
    pub fn metadata(&mut self, key: &str, value: &str) {
        self.metadata.push(StringStringEntryProto { key: key.to_owned(), value: value.to_owned() });
    }

    /// The file. Fails where a name was given twice, a constant is not as large as its shape, or the whole is larger than
    /// a file of this format can be.
    pub fn finish(self) -> Result<Vec<u8>, GraphError> {
        Ok(self.into_model()?.encode_to_vec())
    }

    /// The file before it is bytes.
    pub(crate) fn into_model(self) -> Result<ModelProto, GraphError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let GraphProto { node, initializer, input, output, .. } = &self.graph;
        if output.is_empty() {
            return Err(GraphError::NoOutput);
        }
        let made = input.iter().map(|v| &v.name).chain(initializer.iter().map(|t| &t.name));
        let mut names = HashSet::new();
        if let Some(name) = made.chain(node.iter().flat_map(|n| &n.output)).find(|name| !names.insert(*name)) {
            return Err(GraphError::NameTwice { name: name.clone() });
        }
        let has_ml = node.iter().any(|n| n.domain == ML);
        let model = ModelProto {
            ir_version: IR_VERSION,
            producer_name: "efface".to_owned(),
            graph: Some(self.graph),
            opset_import: operator_sets(has_ml),
            metadata_props: self.metadata,
            functions: Vec::new(),
        };
        let size = model.encoded_len();
        if size > LARGEST_FILE {
            return Err(GraphError::TooLarge { bytes: size, most: LARGEST_FILE });
        }
        Ok(model)
    }

    /// The inputs as the file describes them.
    pub(crate) fn described_inputs(&self) -> &[ValueInfoProto] {
        &self.graph.input
    }

    fn tensor(&mut self, name: &str, dims: &[usize], n_values: usize, data_type: i32, raw_data: Vec<u8>) -> Value {
        if dims.iter().product::<usize>() != n_values {
            let error = GraphError::ConstantSize { name: name.to_owned(), dims: dims.to_vec(), got: n_values };
            self.failed.get_or_insert(error);
        }
        let dims = dims.iter().map(|side| side.cast_signed() as i64).collect();
        let scoped = format!("{}{name}", self.scope);
        let is_taken = |name: &str| self.graph.initializer.iter().any(|tensor| tensor.name == name);
        let numbered = (2..).map(|n| format!("{scoped}_{n}"));
        let name =
            std::iter::once(scoped.clone()).chain(numbered).find(|name| !is_taken(name)).unwrap_or(scoped.clone());
        let tensor = TensorProto { dims, data_type, name: name.clone(), raw_data, ..TensorProto::default() };
        self.graph.initializer.push(tensor);
        Value(name)
    }
}

impl Attribute {
    fn named(&self, name: &str) -> AttributeProto {
        let mut proto = AttributeProto { name: name.to_owned(), ..AttributeProto::default() };
        proto.r#type = match self {
            Self::Float(value) => {
                proto.f = *value;
                attribute_type::FLOAT
            }
            Self::Int(value) => {
                proto.i = *value;
                attribute_type::INT
            }
            Self::Text(value) => {
                proto.s = value.clone().into_bytes();
                attribute_type::STRING
            }
            Self::Floats(values) => {
                proto.floats.clone_from(values);
                attribute_type::FLOATS
            }
            Self::Ints(values) => {
                proto.ints.clone_from(values);
                attribute_type::INTS
            }
            Self::Texts(values) => {
                proto.strings = values.iter().map(|v| v.clone().into_bytes()).collect();
                attribute_type::STRINGS
            }
        };
        proto
    }
}

fn described(name: &str, element: Element, dims: Option<&[Dim]>) -> ValueInfoProto {
    let elem_type = match element {
        Element::Float => data_type::FLOAT,
        Element::Int => data_type::INT64,
        Element::Text => data_type::STRING,
    };
    let side = |dim: &Dim| match dim {
        Dim::Free(name) => DimensionProto { dim_value: None, dim_param: Some((*name).to_owned()) },
        Dim::Fixed(side) => DimensionProto { dim_value: Some(side.cast_signed() as i64), dim_param: None },
    };
    let shape = dims.map(|dims| TensorShapeProto { dim: dims.iter().map(side).collect() });
    let r#type = Some(TypeProto { tensor_type: Some(TensorTypeProto { elem_type, shape }) });
    ValueInfoProto { name: name.to_owned(), r#type }
}

fn operator_sets(has_ml: bool) -> Vec<OperatorSetIdProto> {
    let own = OperatorSetIdProto { domain: String::new(), version: OPSET };
    let ml = has_ml.then(|| OperatorSetIdProto { domain: ML.to_owned(), version: ML_OPSET });
    std::iter::once(own).chain(ml).collect()
}

/// The operators for models that are not networks: linear classifiers, scalers.
pub const ML: &str = "ai.onnx.ml";

/// Version of the general operators.
pub const OPSET: i64 = 17;

/// Version of the operators of [`ML`].
pub const ML_OPSET: i64 = 3;

/// Version of the format.
pub(crate) const IR_VERSION: i64 = 8;

/// What readers of this format take, for lengths are signed numbers of 32 bits to them.
pub(crate) const LARGEST_FILE: usize = (1 << 31) - 1;

#[cfg(test)]
mod tests {
    use super::*;

    fn finished(build: impl FnOnce(&mut GraphBuilder)) -> Result<Vec<u8>, GraphError> {
        let mut graph = GraphBuilder::new("test");
        build(&mut graph);
        graph.finish()
    }

    #[test]
    fn what_is_not_a_graph_is_refused() {
        let side = [Dim::Fixed(2)];
        let error = finished(|_| ()).unwrap_err();
        assert_eq!(error.to_string(), "the graph has no output");

        let error = finished(|graph| {
            let rows = graph.input("X", Element::Float, &side);
            graph.constant("X", &[2], &[0.0; 2]);
            graph.output("Y", &rows, Element::Float, &side);
        });
        assert_eq!(error.unwrap_err().to_string(), "the graph has more than one value `X`");

        let error = finished(|graph| {
            let weights = graph.constant("weights", &[2, 3], &[0.0; 5]);
            graph.output("Y", &weights, Element::Float, &side);
        });
        assert_eq!(error.unwrap_err().to_string(), "constant `weights` of shape [2, 3] was given 5 numbers");
    }

    #[test]
    fn files_are_read_as_they_were_written() {
        let file = finished(|graph| {
            let rows = graph.input("X", Element::Float, &[Dim::Free("batch"), Dim::Fixed(1)]);
            let attributes = [("alpha", Attribute::Float(0.5)), ("pads", Attribute::Ints(vec![1, -2]))];
            let value = graph.node("ai.onnx.ml.Any", &[&rows], &attributes);
            graph.output("Y", &value, Element::Int, &[Dim::Free("batch")]);
            graph.metadata("key", "text");
        });
        let model = ModelProto::decode(file.unwrap().as_slice()).unwrap();
        let sets: Vec<_> = model.opset_import.iter().map(|set| (set.domain.as_str(), set.version)).collect();
        assert_eq!((model.ir_version, sets), (8, vec![("", 17), ("ai.onnx.ml", 3)]));
        let graph = model.graph.unwrap();
        let node = &graph.node[0];
        assert_eq!((node.domain.as_str(), node.op_type.as_str()), ("ai.onnx.ml", "Any"));
        assert_eq!((node.attribute[0].f, &node.attribute[1].ints[..]), (0.5, &[1, -2][..]));
        assert_eq!((&graph.node[1].input, &graph.node[1].output[..]), (&node.output, &["Y".to_owned()][..]));
        assert_eq!(model.metadata_props[0].value, "text");
    }
}
