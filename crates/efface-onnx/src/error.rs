//! What can be wrong with a graph, a file, a network and its rows.

use std::path::{Path, PathBuf};

use ort::LoadDynamicError;

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
    /// Tokens could not be told from padding.
    #[error("the network has no input `attention_mask`, so a mean over tokens cannot leave out padding")]
    NoMask,
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

/// ONNX Runtime cannot be had.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are named in the messages")]
#[non_exhaustive]
pub enum LibraryError {
    /// It is in none of the usual places.
    #[error(
        "ONNX Runtime was not found; install it with `pip install onnxruntime`, or set ORT_DYLIB_PATH to its shared \
         library"
    )]
    NotFound,
    /// The file cannot be loaded: it is not there, or no library for this machine.
    #[error("`{path}` cannot be loaded as ONNX Runtime: {reason}", path = path.display())]
    Unusable { path: PathBuf, reason: String },
    /// It is some other library.
    #[error("`{path}` is not ONNX Runtime", path = path.display())]
    OtherLibrary { path: PathBuf },
    /// It lacks what came later.
    #[error("`{path}` is ONNX Runtime {version}; at least 1.{least} is needed", path = path.display())]
    TooOld { path: PathBuf, version: String, least: u32 },
}

impl LibraryError {
    pub(crate) fn of(path: &Path, error: LoadDynamicError) -> Self {
        let path = path.to_owned();
        match error {
            LoadDynamicError::MissingApi { .. } => Self::OtherLibrary { path },
            LoadDynamicError::BadVersion { version_str: version, .. } => {
                Self::TooOld { path, version, least: ort::MINOR_VERSION }
            }
            LoadDynamicError::Dlopen { error, .. } => Self::Unusable { path, reason: error.to_string() },
            other @ LoadDynamicError::InvalidVersionString => Self::Unusable { path, reason: other.to_string() },
        }
    }

    /// Whether there is a file under this name.
    pub(crate) fn is_of_a_library(&self) -> bool {
        matches!(self, Self::OtherLibrary { .. } | Self::TooOld { .. })
    }
}

/// A network that cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are named in the messages")]
#[non_exhaustive]
pub enum OpenError {
    /// What runs it is missing.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// Not a protobuf message, or not a model.
    #[error("not an ONNX model: {reason}")]
    Malformed { reason: String },
    /// Only one file is digested, stored and sent along.
    #[error("`{name}` of the network is in another file; save the network as one file")]
    OtherFile { name: String },
    /// Unknown operators, contradictory shapes, versions of the future.
    #[error("ONNX Runtime refuses the network: {reason}")]
    Refused { reason: String },
    /// Nothing comes out.
    #[error("the network has no output")]
    NoOutput,
    /// The same row would have other features the next time.
    #[error("the network draws random numbers ({operator}), so a row would not have the same features twice")]
    Random { operator: String },
    /// Features are numbers of single precision.
    #[error("the network's first output `{name}` is not of 32-bit floats")]
    OutputType { name: String },
    /// An input has other numbers.
    #[error("the network's input `{name}` is of type {got}, expected {expected}")]
    InputType { name: String, got: String, expected: &'static str },
    /// The first row through it failed.
    #[error("the network fails on a first row: {reason}")]
    Probe { reason: String },
    /// The network takes rows in groups of a size out of range.
    #[error("the network takes batches of {got}; it must take at least 1 and at most {most}")]
    Batch { got: usize, most: usize },
    /// An image has at least one pixel and not too many.
    #[error("{name} must be at least 1 and at most {most}, got `{value}`")]
    Size { name: &'static str, value: usize, most: usize },
    /// An image is grey (1) or red, green and blue (3).
    #[error("channels must be 1 or 3, got `{value}`")]
    Channels { value: usize },
    /// Means and deviations are per channel.
    #[error("{name} must have {channels} numbers, one per channel, got {got}")]
    PerChannel { name: &'static str, channels: usize, got: usize },
    /// Subtracted from pixels.
    #[error("mean must be finite, got `{value}`")]
    Mean { value: f32 },
    /// Pixels are divided by it.
    #[error("deviation must be positive and finite, got `{value}`")]
    Deviation { value: f32 },
    /// The images are its only input.
    #[error("a network of images must have one input, got {names}")]
    ImageInputs { names: String },
    /// The declared size is not the network's.
    #[error(
        "the network takes {got}, not images of height {height}, width {width} and {channels} channels (as batch, \
         channels, height, width or batch, height, width, channels)"
    )]
    ImageShape { height: usize, width: usize, channels: usize, got: String },
    /// Features are a list of numbers.
    #[error(
        "the network's first output is {got}, expected batch and features; end the network with GlobalAveragePool and \
         Flatten"
    )]
    ImageFeatures { got: String },
    /// The file of the tokenizer is broken, or asks for what we have not.
    #[error("the tokenizer cannot be read: {reason}")]
    Tokenizer { reason: String },
    /// Special tokens leave no room, or there is too much of it.
    #[error("max tokens must be at least {least} and at most {most}, got `{max_tokens}`")]
    MaxTokens { max_tokens: usize, least: usize, most: usize },
    /// It needs what we cannot give.
    #[error(
        "the network has an input `{name}`; a network of texts has `input_ids`, and perhaps `attention_mask` and \
         `token_type_ids`"
    )]
    TextInput { name: String },
    /// There is nowhere for a text to go.
    #[error("the network has no input `input_ids`")]
    NoTokens,
    /// Tokens come by text.
    #[error("the network's input `{name}` is {got}, expected batch and tokens")]
    TextShape { name: String, got: String },
    /// The number of tokens is fixed and less than asked for.
    #[error("the network takes {tokens} tokens, fewer than max tokens `{max_tokens}`")]
    FewerTokens { tokens: usize, max_tokens: usize },
    /// All texts would be padded, and the padding taken for text.
    #[error("the network takes {tokens} tokens and no `attention_mask`, so padding would be read as text")]
    NoMask { tokens: usize },
    /// The vocabulary is larger than the network's.
    #[error("the tokenizer has tokens up to number {largest}, which the network does not take: {reason}")]
    OtherTokenizer { largest: u32, reason: String },
    /// The network knows fewer positions.
    #[error("the network does not take texts of {max_tokens} tokens: {reason}")]
    TooManyTokens { max_tokens: usize, reason: String },
    /// Features are a list of numbers, or one per token.
    #[error("the network's first output is {got}, expected batch and features, or batch, tokens and features")]
    TextFeatures { got: String },
}

/// Rows that a network cannot work with. What was written to the output until then is of no use.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are named in the messages")]
#[non_exhaustive]
pub enum RunError {
    /// The numbers do not make whole images.
    #[error("images must have {expected} numbers each, got {got} numbers in all")]
    RowLength { got: usize, expected: usize },
    /// The output is of another size.
    #[error("the output of {n_rows} rows must have {expected} numbers, got {got}")]
    OutputLength { n_rows: usize, got: usize, expected: usize },
    /// A pixel is infinite or not a number.
    #[error("value {at} must be finite, got `{value}`")]
    Pixel { row: usize, at: usize, value: f32 },
    /// The tokenizer gave up on one of the texts from this row on.
    #[error("the tokenizer fails on this text or one of the next: {reason}")]
    Tokens { row: usize, reason: String },
    /// The network gave up.
    #[error("the network fails on this row: {reason}")]
    Refused { row: usize, reason: String },
    /// What comes out is no number.
    #[error("the network's feature {feature} is `{value}`")]
    NotFinite { row: usize, feature: usize, value: f32 },
}

impl RunError {
    /// The row that cannot be worked with; the first, where it is one of several.
    pub fn row(&self) -> usize {
        match self {
            Self::Pixel { row, .. }
            | Self::Tokens { row, .. }
            | Self::Refused { row, .. }
            | Self::NotFinite { row, .. } => *row,
            Self::RowLength { .. } | Self::OutputLength { .. } => 0,
        }
    }

    pub(crate) fn check_output(n_rows: usize, got: usize, n_features: usize) -> Result<(), Self> {
        let expected = n_rows * n_features;
        if got == expected { Ok(()) } else { Err(Self::OutputLength { n_rows, got, expected }) }
    }
}

/// A head, or what is below it, that cannot be written as operators.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are named in the messages")]
#[non_exhaustive]
pub enum HeadError {
    /// Weights are one per score and feature.
    #[error("{got} weights are not a whole number of features for each of {n_scores} scores")]
    Weights { got: usize, n_scores: usize },
    /// A weight or intercept is infinite or not a number.
    #[error("weights must be finite, got `{value}`")]
    NotFinite { value: f32 },
    /// A number is predicted by one score.
    #[error("a prediction needs one score, got {n_scores}")]
    Numbers { n_scores: usize },
    /// Two labels have one score, or two with softmax; more labels have one each.
    #[error("{n_scores} scores do not tell {n_labels} labels apart")]
    Labels { n_scores: usize, n_labels: usize },
}
