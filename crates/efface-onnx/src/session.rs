//! A network that is opened: what goes in, what comes out, and what of a batch could not be worked with.

use std::sync::{Mutex, PoisonError};

use ort::session::Session;
use ort::session::SessionInputValue;
use ort::value::{TensorElementType, ValueType};

use crate::check::check;
use crate::error::{OpenError, RunError};
use crate::library;

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
            let builder = builder.with_intra_op_spinning(false)?;
            // What was checked is what is opened: not another format in the same bytes.
            builder.with_config_entry("session.load_model_format", "ONNX")?.commit_from_memory(file)
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

/// The library's message on one line, without the place in its source.
pub(crate) fn plain(error: &dyn std::fmt::Display) -> String {
    let text = error.to_string();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    text.strip_suffix('.').map_or(text.clone(), str::to_owned)
}
