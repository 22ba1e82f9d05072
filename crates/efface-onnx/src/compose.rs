//! Joining a network with a graph of our own: a head behind it, or what prepares its input before it.
//!
//! The network is somebody else's file. Its bytes are kept, fields that we know nothing of included; only its list of
//! inputs or outputs changes. The graph of our own is renamed, so that no two values share a name.

use std::collections::{HashMap, HashSet};

use prost::Message;

use crate::error::ComposeError;
use crate::graph::{Attribute, Dim, Element, GraphBuilder, LARGEST_FILE};
use crate::proto::{GraphProto, ModelProto, NodeProto, ValueInfoProto, data_type};
use crate::wire;

/// Puts a head behind a network: its first output becomes the head's first input, and the head's outputs the file's. What
/// else the head takes, the file takes beside what the network does.
///
/// Inputs and outputs of the head keep their names unless the network uses them. The network's version of the operators
/// stays: an operator of the head that may mean something else there is refused.
pub fn compose(extractor: &[u8], head: GraphBuilder) -> Result<Vec<u8>, ComposeError> {
    let file = File::read(extractor)?;
    let features = file.graph().output.first().ok_or(ComposeError::NoOutput)?;
    let head = head.into_model()?;
    let taken = head.graph().input.first().ok_or(ComposeError::Inputs { which: "head", got: 0 })?;
    fits(features, taken)?;
    let bound = HashMap::from([(taken.name.clone(), features.name.clone())]);
    file.with(&head, &bound, Place::Behind)
}

/// Puts a graph before a network: its only output becomes the network's only input.
pub fn prepend(front: GraphBuilder, extractor: &[u8]) -> Result<Vec<u8>, ComposeError> {
    let file = File::read(extractor)?;
    let front = front.into_model()?;
    let taken = match file.graph().inputs()[..] {
        [taken] => taken,
        ref inputs => return Err(ComposeError::Inputs { which: "network", got: inputs.len() }),
    };
    let [given] = &front.graph().output[..] else {
        return Err(ComposeError::Outputs { got: front.graph().output.len() });
    };
    fits(given, taken)?;
    let bound = HashMap::from([(given.name.clone(), taken.name.clone())]);
    file.with(&front, &bound, Place::Before)
}

/// Puts the mean over tokens behind a network of texts that gives one list of features per token: what
/// [`crate::TextNetwork`] does with it. Tokens are told from padding by the network's `attention_mask`.
pub fn pooled(extractor: &[u8]) -> Result<Vec<u8>, ComposeError> {
    let file = File::read(extractor)?;
    let per_token = file.graph().output.first().ok_or(ComposeError::NoOutput)?;
    if !file.graph().inputs().iter().any(|input| input.name == MASK) {
        return Err(ComposeError::NoMask);
    }
    let n_features = Shape::of(per_token).sides.and_then(|sides| *sides.last()?).and_then(|n| usize::try_from(n).ok());
    let n_features = n_features.map_or(Dim::Free("features"), Dim::Fixed);
    let (batch, tokens) = (Dim::Free("batch"), Dim::Free("tokens"));
    let mut graph = GraphBuilder::new("mean over tokens");
    let values = graph.input("values", Element::Float, &[batch, tokens, n_features]);
    let mask = graph.input("mask", Element::Int, &[batch, tokens]);
    fits(per_token, &graph.described_inputs()[0])?;

    // Sums by products: the operators for sums changed their form over time. A side of 0 stays what it is. A text without
    // tokens has features of zero.
    let mask = graph.node("Cast", &[&mask], &[("to", Attribute::Int(data_type::FLOAT.into()))]);
    let shapes = [("row", &[0, 1, -1][..]), ("column", &[0, -1, 1]), ("flat", &[0, -1])];
    let [row, column, flat] = shapes.map(|(name, shape)| graph.constant_ints(name, &[shape.len()], shape));
    let row = graph.node("Reshape", &[&mask, &row], &[]);
    let column = graph.node("Reshape", &[&mask, &column], &[]);
    let sum = graph.node("MatMul", &[&row, &values], &[]);
    let n_tokens = graph.node("MatMul", &[&row, &column], &[]);
    let one = graph.constant("one", &[1], &[1.0]);
    let n_tokens = graph.node("Max", &[&n_tokens, &one], &[]);
    let mean = graph.node("Div", &[&sum, &n_tokens], &[]);
    let features = graph.node("Reshape", &[&mean, &flat], &[]);
    graph.output("features", &features, Element::Float, &[batch, n_features]);
    let bound = [("values", per_token.name.as_str()), ("mask", MASK)];
    let bound = bound.map(|(own, name)| (own.to_owned(), name.to_owned()));
    file.with(&graph.into_model()?, &HashMap::from(bound), Place::Behind)
}

/// A network, as bytes and as what we know of it.
struct File<'a> {
    bytes: &'a [u8],
    model: ModelProto,
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    Before,
    Behind,
}

impl<'a> File<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self, ComposeError> {
        let model = ModelProto::decode(bytes).map_err(|error| ComposeError::Malformed { reason: error.to_string() })?;
        if model.graph.is_none() {
            return Err(ComposeError::Malformed { reason: "it has no graph".to_owned() });
        }
        Ok(Self { bytes, model })
    }

    fn graph(&self) -> &GraphProto {
        self.model.graph()
    }

    /// The file with a graph of our own at its place. `bound` are names of that graph that stand for names of this file.
    fn with(&self, own: &ModelProto, bound: &HashMap<String, String>, place: Place) -> Result<Vec<u8>, ComposeError> {
        self.check_operators(own)?;
        let own_graph = self.renamed(own.graph(), bound);

        let mut graph = Vec::new();
        let put_nodes = |graph: &mut Vec<u8>| {
            own_graph.node.iter().for_each(|node| wire::put(1, &node.encode_to_vec(), graph));
        };
        // A node comes after those that it needs.
        if place == Place::Before {
            put_nodes(&mut graph);
        }
        let dropped = match place {
            Place::Before => INPUTS,
            Place::Behind => OUTPUTS,
        };
        // Inputs that a file of old gives to its constants are constants.
        for field in fields(self.bytes)?.iter().filter(|field| field.number == GRAPH) {
            fields(field.payload)?
                .iter()
                .filter(|f| f.number != dropped)
                .for_each(|f| graph.extend_from_slice(f.whole));
        }
        own_graph.initializer.iter().for_each(|tensor| wire::put(INITIALIZERS, &tensor.encode_to_vec(), &mut graph));
        let inputs = own.graph().input.iter().zip(&own_graph.input).filter(|(was, _)| !bound.contains_key(&was.name));
        inputs.for_each(|(_, input)| wire::put(INPUTS, &input.encode_to_vec(), &mut graph));
        if place == Place::Behind {
            put_nodes(&mut graph);
            own_graph.output.iter().for_each(|v| wire::put(OUTPUTS, &v.encode_to_vec(), &mut graph));
        }

        let mut file = Vec::with_capacity(graph.len() + 1024);
        wire::put_number(IR_VERSION, self.model.ir_version.max(own.ir_version).cast_unsigned(), &mut file);
        let kept = fields(self.bytes)?.into_iter().filter(|field| ![IR_VERSION, GRAPH].contains(&field.number));
        kept.for_each(|field| file.extend_from_slice(field.whole));
        let missing = own.opset_import.iter().filter(|set| self.model.version(&set.domain).is_none());
        missing.for_each(|set| wire::put(OPERATOR_SETS, &set.encode_to_vec(), &mut file));
        own.metadata_props.iter().for_each(|entry| wire::put(METADATA, &entry.encode_to_vec(), &mut file));
        wire::put(GRAPH, &graph, &mut file);
        if file.len() > LARGEST_FILE {
            return Err(ComposeError::TooLarge { bytes: file.len(), most: LARGEST_FILE });
        }
        Ok(file)
    }

    /// The graph under names that this file has not: the names it is known by outside stay if they can.
    fn renamed(&self, own: &GraphProto, bound: &HashMap<String, String>) -> GraphProto {
        let mut taken = HashSet::new();
        collect_names(self.graph(), &mut taken);
        let prefix = (0..=taken.len())
            .map(|n| if n == 0 { "efface/".to_owned() } else { format!("efface{n}/") })
            .find(|prefix| !taken.iter().any(|name| name.starts_with(prefix.as_str())))
            .expect("a name begins with one of them at most");
        let outside: HashSet<&str> = own.input.iter().chain(&own.output).map(|v| v.name.as_str()).collect();
        let new_name = |name: &mut String| {
            *name = match bound.get(name.as_str()) {
                Some(other) => other.clone(),
                // An input that is left out.
                None if name.is_empty() => return,
                None if outside.contains(name.as_str()) && !taken.contains(name.as_str()) => return,
                None => format!("{prefix}{name}"),
            }
        };
        let mut own = own.clone();
        for node in &mut own.node {
            node.name = format!("{prefix}{}", node.name);
            node.input.iter_mut().chain(&mut node.output).for_each(new_name);
        }
        own.initializer.iter_mut().for_each(|tensor| new_name(&mut tensor.name));
        own.input.iter_mut().chain(&mut own.output).for_each(|value| new_name(&mut value.name));
        own
    }

    /// Whether our operators mean the same under this file's versions of them.
    fn check_operators(&self, own: &ModelProto) -> Result<(), ComposeError> {
        for NodeProto { op_type, domain, .. } in &own.graph().node {
            let (got, own) = (self.model.version(domain), own.version(domain).unwrap_or_default());
            let Some(got) = got.filter(|got| *got != own) else { continue };
            let operator = op_type.clone();
            match SAME_SINCE.iter().find(|(name, _)| name == op_type) {
                Some((_, least)) if got >= *least => (),
                Some((_, least)) => return Err(ComposeError::OperatorsTooOld { operator, got, least: *least }),
                None => return Err(ComposeError::OperatorsDiffer { operator, got, own }),
            }
        }
        Ok(())
    }
}

impl ModelProto {
    /// The graph of a model that has one.
    fn graph(&self) -> &GraphProto {
        self.graph.as_ref().expect("a model without a graph is refused when it is read")
    }

    /// Which version of a domain's operators it uses.
    fn version(&self, domain: &str) -> Option<i64> {
        let plain = |domain: &str| if domain == "ai.onnx" { String::new() } else { domain.to_owned() };
        self.opset_import.iter().find(|set| plain(&set.domain) == domain).map(|set| set.version)
    }
}

impl GraphProto {
    /// What has to be given: files before version 4 of the format list their constants among the inputs.
    pub(crate) fn inputs(&self) -> Vec<&ValueInfoProto> {
        let is_constant = |value: &&ValueInfoProto| self.initializer.iter().any(|tensor| tensor.name == value.name);
        self.input.iter().filter(|value| !is_constant(value)).collect()
    }
}

fn fields(message: &[u8]) -> Result<Vec<wire::Field<'_>>, ComposeError> {
    let reason = || ComposeError::Malformed { reason: "it has fields of an unknown kind".to_owned() };
    wire::fields(message).ok_or_else(reason)
}

/// All names of values, those of graphs inside nodes included.
fn collect_names<'a>(graph: &'a GraphProto, names: &mut HashSet<&'a str>) {
    names.extend(graph.input.iter().map(|v| v.name.as_str()));
    names.extend(graph.initializer.iter().map(|t| t.name.as_str()));
    for node in &graph.node {
        names.extend(node.output.iter().map(String::as_str));
        node.attribute.iter().flat_map(|a| a.g.iter().chain(&a.graphs)).for_each(|inner| collect_names(inner, names));
    }
}

/// Whether a value can be taken for another: same kind of numbers, same number of sides, same length where both say one.
fn fits(given: &ValueInfoProto, taken: &ValueInfoProto) -> Result<(), ComposeError> {
    let (from, to) = (Shape::of(given), Shape::of(taken));
    let same_sides = match (&from.sides, &to.sides) {
        (Some(from), Some(to)) => {
            from.len() == to.len() && from.iter().zip(to).all(|(a, b)| a.is_none() || b.is_none() || a == b)
        }
        _ => true,
    };
    if from.element == to.element && same_sides {
        return Ok(());
    }
    Err(ComposeError::Misfit { name: given.name.clone(), given: from.to_string(), taken: to.to_string() })
}

/// What a file says of a value.
struct Shape {
    element: i32,
    /// None where nothing is said; a side of none is free.
    sides: Option<Vec<Option<i64>>>,
}

impl Shape {
    fn of(value: &ValueInfoProto) -> Self {
        let tensor = value.r#type.as_ref().and_then(|t| t.tensor_type.as_ref());
        let shape = tensor.and_then(|t| t.shape.as_ref());
        let sides = shape.map(|shape| shape.dim.iter().map(|dim| dim.dim_value).collect());
        Self { element: tensor.map_or(0, |t| t.elem_type), sides }
    }
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let element = match self.element {
            data_type::FLOAT => "float",
            data_type::INT64 => "int64",
            data_type::STRING => "string",
            _ => "of another type",
        };
        let Some(sides) = &self.sides else { return f.write_str(element) };
        let sides: Vec<String> = sides.iter().map(|s| s.map_or("?".to_owned(), |s| s.to_string())).collect();
        write!(f, "{element} [{}]", sides.join(", "))
    }
}

/// Operators, and the version since which they have meant what they mean to us. Later ones only took more types.
const SAME_SINCE: [(&str, i64); 23] = [
    ("Add", 7),
    ("Cast", 9),
    ("Concat", 4),
    ("Cos", 7),
    ("Div", 7),
    ("Gather", 1),
    ("Gemm", 7),
    ("Identity", 1),
    ("IsNaN", 9),
    ("LinearClassifier", 1),
    ("LinearRegressor", 1),
    ("MatMul", 1),
    ("Max", 8),
    ("Min", 8),
    ("Mul", 7),
    ("Normalizer", 1),
    ("OneHot", 11),
    ("OneHotEncoder", 1),
    ("Reshape", 5),
    ("Sqrt", 6),
    ("Sub", 7),
    ("Transpose", 1),
    ("Where", 9),
];

/// The input that tells tokens from padding.
const MASK: &str = "attention_mask";

// Fields of the model.
const IR_VERSION: u64 = 1;
const GRAPH: u64 = 7;
const OPERATOR_SETS: u64 = 8;
const METADATA: u64 = 14;

// Fields of the graph.
const INITIALIZERS: u64 = 5;
const INPUTS: u64 = 11;
const OUTPUTS: u64 = 12;

#[cfg(test)]
mod tests;
