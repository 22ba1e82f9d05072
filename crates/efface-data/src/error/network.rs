//! Why the network of a schema cannot be used.

use std::io;
use std::path::PathBuf;

/// A network that is not there, or that cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// The operating system refused.
    #[error("{}: {source}", file.display())]
    Io { file: PathBuf, source: io::Error },
    /// No file with this digest is in any place where it might be.
    #[error("no file with SHA-256 {sha256} in {searched}")]
    NotFound { sha256: String, searched: String },
    /// It is no network, or not one of these cells.
    #[error(transparent)]
    Open(#[from] efface_onnx::OpenError),
    /// It cannot be joined with what prepares its cells, or with a mean over tokens.
    #[error(transparent)]
    Compose(#[from] efface_onnx::ComposeError),
    /// It has another number of features than was written down.
    #[error("the network has {found} features, {expected} are stated")]
    Features { found: usize, expected: usize },
}
