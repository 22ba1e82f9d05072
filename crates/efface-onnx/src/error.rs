//! What can be wrong with a graph, a file, a network and its rows.

/// A graph that cannot be written.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are named in the messages")]
#[non_exhaustive]
pub enum GraphError {
    /// Whoever runs it would get nothing.
    #[error("the graph has no output")]
    NoOutput,
    /// Two inputs, constants or outputs were given the same name.
    #[error("the graph has more than one value `{name}`")]
    NameTwice { name: String },
    /// A constant has more or fewer numbers than its shape.
    #[error("constant `{name}` of shape {dims:?} was given {got} numbers")]
    ConstantSize { name: String, dims: Vec<usize>, got: usize },
    /// The format has a limit.
    #[error("the model would be a file of {bytes} bytes; ONNX allows {most}")]
    TooLarge { bytes: usize, most: usize },
}

/// A network and a graph that cannot be joined.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are named in the messages")]
#[non_exhaustive]
pub enum ComposeError {
    /// The graph cannot be written.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// Not a protobuf message, or not a model.
    #[error("the network is not an ONNX model: {reason}")]
    Malformed { reason: String },
    /// Nothing comes out of the network.
    #[error("the network has no output")]
    NoOutput,
    /// There is one value to join by.
    #[error("the {which} must have one input, got {got}")]
    Inputs { which: &'static str, got: usize },
    /// There is one value to join by.
    #[error("what goes before a network must have one output, got {got}")]
    Outputs { got: usize },
    /// What one gives is not what the other takes.
    #[error("output `{name}` is {given}, but the input it should become is {taken}")]
    Misfit { name: String, given: String, taken: String },
    /// An operator means something else in the network's version of the operators.
    #[error("the network uses version {got} of the ONNX operators; `{operator}` needs at least {least}")]
    OperatorsTooOld { operator: String, got: i64, least: i64 },
    /// An operator is not known to mean the same in all versions.
    #[error(
        "the network uses version {got} of the ONNX operators, where `{operator}` may not be that of version {own}"
    )]
    OperatorsDiffer { operator: String, got: i64, own: i64 },
    /// The format has a limit.
    #[error("the joined model would be a file of {bytes} bytes; ONNX allows {most}")]
    TooLarge { bytes: usize, most: usize },
}
