//! Why a model cannot be written as a file for other programs.

use efface_onnx::{ComposeError, GraphError, HeadError};

use super::network::NetworkError;

/// A model that does not fit into one ONNX file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// Each brings its own version of the operators.
    #[error("columns `{first}` and `{second}` both come from networks; one ONNX file has room for one network")]
    TwoNetworks { first: String, second: String },
    /// All that is left is a constant.
    #[error("the model has no features: it answers the same for every row")]
    NoFeatures,
    /// A location or a scale is infinite or zero as a number of single precision.
    #[error("column `{column}`: its numbers are outside single precision, in which ONNX files compute")]
    BeyondSingle { column: String },
    /// The network of a column is not there, or cannot be joined with what stands before and behind it.
    #[error("column `{column}`: {source}")]
    Network { column: String, source: Box<NetworkError> },
    /// The network and the model behind it cannot be joined.
    #[error(transparent)]
    Compose(#[from] ComposeError),
    /// The operators cannot be written.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// The weights cannot be written.
    #[error(transparent)]
    Head(#[from] HeadError),
}
