//! Why something cannot be certified, published or used.

use std::path::{Path, PathBuf};

use efface_ledger::key::{KeyError, PublicKeyError};

use super::EngineError;

/// A release, a request, a withdrawal or the log cannot be certified, or a release cannot be used.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are named in the messages")]
#[non_exhaustive]
pub enum CertifyError {
    /// A private key cannot be used.
    #[error("{}", of_file(path, &**source))]
    Key { path: PathBuf, source: Box<KeyError> },
    /// A public key cannot be used.
    #[error("{}", of_file(path, &**source))]
    PublicKey { path: PathBuf, source: Box<PublicKeyError> },
    /// A key is not the one that signs for this model.
    #[error("{} is key {found}, but this model is signed by key {expected}", path.display())]
    OtherKey { path: PathBuf, found: String, expected: String },
    /// A key has another name than the one under which others know it.
    #[error("{} is called `{found}`, but this model is signed by `{expected}`", path.display())]
    KeyName { path: PathBuf, found: String, expected: String },
    /// A certificate could not be made, or would be refused by whoever checks it.
    #[error("no certificate can be issued: {reason}")]
    NotSigned { reason: String },
    /// The directory is older than a release, and does not know who was removed before that.
    #[error(
        "{n_removals} removals of {n_rows} rows that an earlier release covers are not known here: the directory is older than the release"
    )]
    Unnamed { n_removals: usize, n_rows: usize },
    /// A release is published, but not where it was asked for too.
    #[error("the release is published in {}, but could not be copied: {source}", folder.display())]
    NotCopied { folder: PathBuf, source: Box<EngineError> },
    /// A further life is asked for, and the present one does not end.
    #[error("releases of this model carry no noise of their own, so any number of them can be made")]
    Endless,
    /// A further life is asked for too early.
    #[error("the promise can be renewed when {limit} or fewer releases are left, and {left} are")]
    NotNearTheEnd { left: u64, limit: u64 },
    /// A policy asks for nothing.
    #[error("a release policy must ask for at least 1 removal or at least 1 second")]
    Policy,
    /// The log does not continue a checkpoint that somebody has.
    #[error("the log does not continue that checkpoint: {reason}")]
    NotConsistent { reason: String },
    /// A text is not a checkpoint of this log under its present key.
    #[error("not a checkpoint of this log under its present key: {reason}")]
    NotACheckpoint { reason: String },
    /// The log has no such entry.
    #[error("the log has {size} entries, so there is none at position {position}")]
    NoSuchEntry { position: u64, size: u64 },
    /// A request is not known.
    #[error("there is no removal request `{request_id}` in the log")]
    NoSuchRequest { request_id: String },
    /// A request is known, and its rows did not leave.
    #[error("request `{request_id}` is {kind}; only removals have a certificate of their own")]
    NotARemoval { request_id: String, kind: &'static str },
    /// A release is not there.
    #[error("there is no release {release}: the model has {n_releases}")]
    NoSuchRelease { release: usize, n_releases: usize },
    /// Nothing has been released yet.
    #[error("{} has no release yet", path.display())]
    NoRelease { path: PathBuf },
    /// A published model cannot be read.
    #[error("{}: {reason}", path.display())]
    BadPublished { path: PathBuf, reason: String },
    /// A release was withdrawn before.
    #[error("release {release} is revoked already")]
    AlreadyRevoked { release: usize },
    /// A release must not be used any more.
    #[error("release {release} of {} is revoked", path.display())]
    Revoked { path: PathBuf, release: usize },
}

impl CertifyError {
    /// Stable name.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Key { .. } => "key",
            Self::PublicKey { .. } => "public-key",
            Self::OtherKey { .. } => "other-key",
            Self::KeyName { .. } => "key-name",
            Self::NotSigned { .. } => "not-signed",
            Self::Unnamed { .. } => "unnamed-removals",
            Self::NotCopied { .. } => "not-copied",
            Self::Endless => "endless",
            Self::NotNearTheEnd { .. } => "not-near-the-end",
            Self::Policy => "policy",
            Self::NotConsistent { .. } => "not-consistent",
            Self::NotACheckpoint { .. } => "not-a-checkpoint",
            Self::NoSuchEntry { .. } => "no-such-entry",
            Self::NoSuchRequest { .. } => "no-such-request",
            Self::NotARemoval { .. } => "not-a-removal",
            Self::NoSuchRelease { .. } => "no-such-release",
            Self::NoRelease { .. } => "no-release",
            Self::BadPublished { .. } => "bad-published",
            Self::AlreadyRevoked { .. } => "already-revoked",
            Self::Revoked { .. } => "revoked",
        }
    }
}

/// What is wrong with a file, which a message may name itself.
fn of_file(path: &Path, error: &dyn std::error::Error) -> String {
    let (path, message) = (path.display().to_string(), error.to_string());
    if message.starts_with(&path) { message } else { format!("{path}: {message}") }
}
