//! A network that is opened: what goes in, what comes out, and what of a batch could not be worked with.

use std::sync::{Mutex, PoisonError};

use ort::session::Session;
use ort::session::SessionInputValue;
use ort::value::{TensorElementType, ValueType};
use prost::Message;

use crate::error::{OpenError, RunError};
use crate::library;
use crate::proto::{AttributeProto, GraphProto, ModelProto};

/// An opened file. One batch at a time is worked with, by all cores.
pub(crate) struct Runner {
    session: Mutex<Session>,
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
        let n_threads = std::thread::available_parallelism().map_or(1, usize::from);
        let builder = Session::builder(&environment).map_err(|error| refused(&error))?;
        let builder = builder.with_intra_threads(n_threads).map_err(|error| refused(&error))?;
        // Threads that wait sleep: the machine has other things to do between batches.
        let mut builder = builder.with_intra_op_spinning(false).map_err(|error| refused(&error))?;
        let session = builder.commit_from_memory(file).map_err(|error| refused(&error))?;

        let inputs = session.inputs().iter().map(|input| Side::of(input.name(), input.dtype())).collect();
        let output = session.outputs().first().ok_or(OpenError::NoOutput)?;
        let is_float = matches!(output.dtype(), ValueType::Tensor { ty: TensorElementType::Float32, .. });
        let output = output.name().to_owned();
        if !is_float {
            return Err(OpenError::OutputType { name: output });
        }
        Ok(Self { session: Mutex::new(session), inputs, output })
    }

    pub(crate) fn inputs(&self) -> &[Side] {
        &self.inputs
    }

    /// Runs a batch. The message is the library's.
    pub(crate) fn run(&self, inputs: Vec<(&str, SessionInputValue<'_>)>) -> Result<Output, String> {
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
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

/// More are no features for a linear model here.
pub(crate) const MOST_FEATURES: usize = 1 << 20;

/// Sides as people write them: `[?, 3, 32, 32]`.
pub(crate) fn written(sides: &[Option<usize>]) -> String {
    let sides: Vec<String> = sides.iter().map(|side| side.map_or("?".to_owned(), |side| side.to_string())).collect();
    format!("[{}]", sides.join(", "))
}

/// Whether the features of row `first` and those after it are numbers.
pub(crate) fn check_features(first: usize, values: &[f32], n_features: usize) -> Result<(), RunError> {
    match values.iter().position(|v| !v.is_finite()) {
        Some(at) => {
            let (row, feature) = (first + at / n_features, at % n_features);
            Err(RunError::NotFinite { row, feature, value: values[at] })
        }
        None => Ok(()),
    }
}

/// Whether it is a model in one file: what lies beside it would be looked for wherever this program runs.
fn check(file: &[u8]) -> Result<(), OpenError> {
    let model = ModelProto::decode(file).map_err(|error| OpenError::Malformed { reason: error.to_string() })?;
    let graph = model.graph.as_ref().ok_or_else(|| OpenError::Malformed { reason: "it has no graph".to_owned() })?;
    match elsewhere(graph) {
        Some(name) => Err(OpenError::OtherFile { name: name.to_owned() }),
        None => Ok(()),
    }
}

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
fn plain(error: &dyn std::fmt::Display) -> String {
    let text = error.to_string();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    text.strip_suffix('.').map_or(text.clone(), str::to_owned)
}
