//! Networks as ONNX files: written ([`GraphBuilder`]), joined ([`fn@compose`]), and run by ONNX Runtime.

mod compose;
mod error;
mod graph;
mod proto;
mod wire;

pub use compose::{compose, prepend};
pub use error::{ComposeError, GraphError};
pub use graph::{Attribute, Dim, Element, GraphBuilder, ML, ML_OPSET, OPSET, Value};
