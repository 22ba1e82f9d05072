//! A file that is run as it is: an exported model, whatever it takes and gives.

use ort::session::{Session, SessionInputValue};
use ort::value::{DynValue, Tensor, TensorElementType};

use crate::error::OpenError;
use crate::library;
use crate::session::plain;

/// An exported model, opened to be run.
pub struct WholeModel(Session);

/// What goes in or comes out.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the types say it")]
pub enum Cells {
    Floats(Vec<f32>),
    Ints(Vec<i64>),
    Texts(Vec<String>),
}

impl WholeModel {
    /// Opens a file.
    pub fn open(file: &[u8]) -> Result<Self, OpenError> {
        let environment = library::environment()?;
        let open = || Session::builder(&environment)?.commit_from_memory(file);
        open().map(Self).map_err(|error: ort::Error| OpenError::Refused { reason: plain(&error) })
    }

    /// Answers inputs by name, each with its sides, by all outputs in their order. What fails is said by the library.
    pub fn run(&mut self, inputs: Vec<(&str, Vec<usize>, Cells)>) -> Result<Vec<Cells>, String> {
        let given = |(name, sides, cells): (&str, Vec<usize>, Cells)| -> ort::Result<_> {
            let value: DynValue = match cells {
                Cells::Floats(values) => Tensor::from_array((sides, values))?.into_dyn(),
                Cells::Ints(values) => Tensor::from_array((sides, values))?.into_dyn(),
                Cells::Texts(values) => Tensor::from_string_array((sides, &values[..]))?.into_dyn(),
            };
            Ok((name.to_owned(), SessionInputValue::from(value)))
        };
        let said = |error: ort::Error| plain(&error);
        let inputs = inputs.into_iter().map(given).collect::<ort::Result<Vec<_>>>().map_err(said)?;
        let outputs = self.0.run(inputs).map_err(said)?;
        let answers = outputs.values().map(|value| match value.dtype().tensor_type() {
            Some(TensorElementType::String) => Ok(Cells::Texts(value.try_extract_strings()?.1)),
            Some(TensorElementType::Int64) => Ok(Cells::Ints(value.try_extract_tensor::<i64>()?.1.to_vec())),
            _ => Ok(Cells::Floats(value.try_extract_tensor::<f32>()?.1.to_vec())),
        });
        answers.collect::<ort::Result<_>>().map_err(said)
    }
}
