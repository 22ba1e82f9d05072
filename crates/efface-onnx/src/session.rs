//! A network that is opened: what goes in, what comes out, and what of a batch could not be worked with.

use std::sync::{Mutex, PoisonError};

use ort::session::Session;
use ort::session::SessionInputValue;
use ort::value::{TensorElementType, ValueType};
use prost::Message;

use crate::error::{OpenError, RunError};
use crate::library;
use crate::proto::{AttributeProto, GraphProto, ModelProto};

/// An opened file, which works with one row at a time: as many rows side by side as there are sessions.
pub(crate) struct Runner {
    sessions: Vec<Mutex<Session>>,
    inputs: Vec<Side>,
    output: String,
}

/// An input.
pub(crate) struct Side {
    pub(crate) name: String,
    pub(crate) element: String,
    /// None where any size is taken.
    pub(crate) sides: Vec<Option<usize>>,
}

/// What came out of a batch.
pub(crate) struct Output {
    pub(crate) sides: Vec<usize>,
    pub(crate) values: Vec<f32>,
}

impl Runner {
    pub(crate) fn open(file: &[u8]) -> Result<Self, OpenError> {
        check(file)?;
        let environment = library::environment()?;
        let refused = |error: &dyn std::fmt::Display| OpenError::Refused { reason: plain(error) };
        let n_cores = std::thread::available_parallelism().map_or(1, usize::from);
        // A core for each row at hand, or all cores for one row where the network is too large to be there many times.
        let n_sessions = if file.len() <= MOST_COPIED { n_cores } else { 1 };
        let open = || {
            let builder = Session::builder(&environment)?.with_intra_threads(n_cores / n_sessions)?;
            // Threads that wait sleep: the machine has other things to do between rows.
            builder.with_intra_op_spinning(false)?.commit_from_memory(file)
        };
        let sessions = (0..n_sessions).map(|_| open()).collect::<Result<Vec<_>, ort::Error>>();
        let sessions = sessions.map_err(|error| refused(&error))?;
        let session = &sessions[0];

        let inputs = session.inputs().iter().map(|input| Side::of(input.name(), input.dtype())).collect();
        let output = session.outputs().first().ok_or(OpenError::NoOutput)?;
        let is_float = matches!(output.dtype(), ValueType::Tensor { ty: TensorElementType::Float32, .. });
        let output = output.name().to_owned();
        if !is_float {
            return Err(OpenError::OutputType { name: output });
        }
        Ok(Self { sessions: sessions.into_iter().map(Mutex::new).collect(), inputs, output })
    }

    pub(crate) fn inputs(&self) -> &[Side] {
        &self.inputs
    }

    /// Runs a batch. The message is the library's.
    pub(crate) fn run(&self, inputs: Vec<(&str, SessionInputValue<'_>)>) -> Result<Output, String> {
        let session = &self.sessions[rayon::current_thread_index().unwrap_or(0) % self.sessions.len()];
        let mut session = session.lock().unwrap_or_else(PoisonError::into_inner);
        let outputs = session.run(inputs).map_err(|error| plain(&error))?;
        let output = outputs.get(&self.output).expect("is the name of an output");
        let (shape, values) = output.try_extract_tensor::<f32>().map_err(|error| plain(&error))?;
        Ok(Output { sides: shape.iter().map(|side| side.cast_unsigned() as usize).collect(), values: values.to_vec() })
    }
}

impl Side {
    fn of(name: &str, dtype: &ValueType) -> Self {
        let (element, sides) = match dtype {
            ValueType::Tensor { ty, shape, .. } => {
                (ty.to_string(), shape.iter().map(|side| usize::try_from(*side).ok()).collect())
            }
            other => (other.to_string(), Vec::new()),
        };
        Self { name: name.to_owned(), element, sides }
    }
}

/// A network of more bytes is opened once, and not once per core.
const MOST_COPIED: usize = 1 << 28;

/// More are no features for a linear model here.
pub(crate) const MOST_FEATURES: usize = 1 << 20;

/// Sides as people write them: `[?, 3, 32, 32]`.
pub(crate) fn written(sides: &[Option<usize>]) -> String {
    let sides: Vec<String> = sides.iter().map(|side| side.map_or("?".to_owned(), |side| side.to_string())).collect();
    format!("[{}]", sides.join(", "))
}

/// Whether the features of a row are numbers.
pub(crate) fn check_features(row: usize, values: &[f32]) -> Result<(), RunError> {
    match values.iter().position(|v| !v.is_finite()) {
        Some(feature) => Err(RunError::NotFinite { row, feature, value: values[feature] }),
        None => Ok(()),
    }
}

/// Whether it is a model in one file: what lies beside it would be looked for wherever this program runs.
fn check(file: &[u8]) -> Result<(), OpenError> {
    let model = ModelProto::decode(file).map_err(|error| OpenError::Malformed { reason: error.to_string() })?;
    let graph = model.graph.as_ref().ok_or_else(|| OpenError::Malformed { reason: "it has no graph".to_owned() })?;
    if let Some(name) = elsewhere(graph) {
        return Err(OpenError::OtherFile { name: name.to_owned() });
    }
    match random(graph) {
        Some(operator) => Err(OpenError::Random { operator: operator.to_owned() }),
        None => Ok(()),
    }
}

/// An operator that draws random numbers: features would not be a function of the row.
fn random(graph: &GraphProto) -> Option<&str> {
    graph.node.iter().find_map(|node| {
        let inner = || node.attribute.iter().flat_map(|a| a.g.iter().chain(&a.graphs)).find_map(random);
        RANDOM.contains(&&*node.op_type).then_some(node.op_type.as_str()).or_else(inner)
    })
}

/// What draws them. A `Dropout` does in training only, and networks are opened for use.
const RANDOM: [&str; 6] =
    ["Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"];

/// A constant whose numbers are in another file.
fn elsewhere(graph: &GraphProto) -> Option<&str> {
    let of_attribute = |a: &AttributeProto| a.t.as_ref().is_some_and(|t| t.data_location == 1);
    let constant = graph.initializer.iter().find(|t| t.data_location == 1).map(|t| t.name.as_str());
    constant.or_else(|| {
        graph.node.iter().find_map(|node| {
            let inner = || node.attribute.iter().flat_map(|a| a.g.iter().chain(&a.graphs)).find_map(elsewhere);
            node.attribute.iter().any(of_attribute).then_some(node.name.as_str()).or_else(inner)
        })
    })
}

/// The library's message on one line, without the place in its source.
pub(crate) fn plain(error: &dyn std::fmt::Display) -> String {
    let text = error.to_string();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    text.strip_suffix('.').map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::{NodeProto, TensorProto};

    #[test]
    fn networks_that_draw_random_numbers_are_refused() {
        let node =
            |op_type: &str, attribute| NodeProto { op_type: op_type.to_owned(), attribute, ..NodeProto::default() };
        let inner = GraphProto { node: vec![node("RandomNormalLike", Vec::new())], ..GraphProto::default() };
        let branch = AttributeProto { g: Some(inner), ..AttributeProto::default() };
        let graph =
            GraphProto { node: vec![node("Relu", Vec::new()), node("If", vec![branch])], ..GraphProto::default() };
        let model = ModelProto { graph: Some(graph), ..ModelProto::default() };
        assert_eq!(
            check(&model.encode_to_vec()).unwrap_err().to_string(),
            "the network draws random numbers (RandomNormalLike), so a row would not have the same features twice"
        );
    }

    #[test]
    fn constants_in_other_files_are_refused_wherever_they_stand() {
        let outside = TensorProto { name: "weights".to_owned(), data_location: 1, ..TensorProto::default() };
        let refused = |graph: GraphProto| {
            let model = ModelProto { graph: Some(graph), ..ModelProto::default() };
            check(&model.encode_to_vec()).unwrap_err().to_string()
        };
        let expected = |name| format!("`{name}` of the network is in another file; save the network as one file");
        let top = GraphProto { initializer: vec![outside.clone()], ..GraphProto::default() };
        assert_eq!(refused(top.clone()), expected("weights"));
        let within = |attribute| {
            let node = NodeProto { name: "node".to_owned(), attribute: vec![attribute], ..NodeProto::default() };
            GraphProto { node: vec![node], ..GraphProto::default() }
        };
        let constant = within(AttributeProto { t: Some(outside), ..AttributeProto::default() });
        assert_eq!(refused(constant), expected("node"));
        let branch = within(AttributeProto { g: Some(top), ..AttributeProto::default() });
        assert_eq!(refused(branch), expected("weights"));
    }
}
