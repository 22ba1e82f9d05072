//! Networks as ONNX files: written ([`GraphBuilder`]), joined ([`fn@compose`]), and run by ONNX Runtime.

mod compose;
mod error;
mod graph;
mod images;
mod library;
mod proto;
mod session;
mod texts;
mod wire;

pub use compose::{compose, prepend};
pub use error::{ComposeError, GraphError, LibraryError, OpenError, RunError};
pub use graph::{Attribute, Dim, Element, GraphBuilder, ML, ML_OPSET, OPSET, Value};
pub use images::{ImageInput, ImageNetwork};
pub use texts::TextNetwork;
