//! What a file takes and gives, as it says itself.

use prost::Message;
use serde::Serialize;

use crate::error::ComposeError;
use crate::proto::{ModelProto, ValueInfoProto, data_type};

/// The inputs and outputs of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// What whoever runs the file has to give.
    pub inputs: Vec<Tensor>,
    /// What the file answers.
    pub outputs: Vec<Tensor>,
}

/// An input or output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tensor {
    /// Its name.
    pub name: String,
    /// The type of its numbers as NumPy calls it, or `string`.
    pub r#type: &'static str,
    /// Its sides.
    pub shape: Vec<Side>,
}

/// One side of a tensor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Side {
    /// This size.
    Fixed(i64),
    /// Any size, under a name; a side without one is `?`.
    Free(String),
}

impl Signature {
    /// Reads it off a file.
    pub fn of(file: &[u8]) -> Result<Self, ComposeError> {
        let malformed = |reason: String| ComposeError::Malformed { reason };
        let model = ModelProto::decode(file).map_err(|error| malformed(error.to_string()))?;
        let graph = model.graph.as_ref().ok_or_else(|| malformed("it has no graph".to_owned()))?;
        Ok(Self {
            inputs: graph.inputs().into_iter().map(Tensor::of).collect(),
            outputs: graph.output.iter().map(Tensor::of).collect(),
        })
    }
}

impl Tensor {
    fn of(value: &ValueInfoProto) -> Self {
        let tensor = value.r#type.as_ref().and_then(|t| t.tensor_type.as_ref());
        let sides = tensor.and_then(|t| t.shape.as_ref()).map(|shape| &shape.dim[..]).unwrap_or_default();
        let side = |dim: &crate::proto::DimensionProto| match (dim.dim_value, &dim.dim_param) {
            (Some(side), _) => Side::Fixed(side),
            (None, Some(name)) => Side::Free(name.clone()),
            (None, None) => Side::Free("?".to_owned()),
        };
        let r#type = match tensor.map_or(0, |t| t.elem_type) {
            data_type::FLOAT => "float32",
            data_type::DOUBLE => "float64",
            data_type::INT64 => "int64",
            data_type::STRING => "string",
            _ => "other",
        };
        Self { name: value.name.clone(), r#type, shape: sides.iter().map(side).collect() }
    }
}

impl std::fmt::Display for Tensor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sides: Vec<String> = self.shape.iter().map(ToString::to_string).collect();
        write!(f, "{} [{}]", self.r#type, sides.join(", "))
    }
}

impl std::fmt::Display for Side {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Fixed(side) => side.fmt(f),
            Self::Free(name) => f.write_str(name),
        }
    }
}
