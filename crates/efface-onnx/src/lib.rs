//! Networks as ONNX files: written ([`GraphBuilder`]), joined ([`fn@compose`]), and run by ONNX Runtime.

mod check;
mod compose;
mod error;
mod fourier;
mod graph;
mod head;
mod images;
mod library;
mod proto;
mod scattering;
mod session;
mod signature;
mod tables;
mod texts;
mod whole;
mod wire;

pub use compose::{compose, pooled, prepend};
pub use error::{ComposeError, GraphError, HeadError, LibraryError, OpenError, RunError};
pub use fourier::fourier;
pub use graph::{Attribute, Dim, Element, GraphBuilder, ML, ML_OPSET, OPSET, Value};
pub use head::{Answer, Answers, BATCH, Labels, LinearHead, Link, TINY, scaled};
pub use images::{ImageInput, ImageNetwork};
pub use library::library_at_hand;
pub use scattering::scattering;
pub use signature::{Side, Signature, Tensor};
pub use tables::{NumberColumn, numbers, one_hot, one_of, product, row_sums};
pub use texts::TextNetwork;
pub use whole::{Cells, WholeModel};
