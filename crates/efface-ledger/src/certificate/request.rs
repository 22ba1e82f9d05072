//! The certificate of a request: what became of it.

use serde::{Deserialize, Serialize};

use super::{CoveredRequest, LogPosition, Predicate};
use crate::entry::{Entry, Event};

/// What became of one removal request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestCertificate {
    /// Tag of this form. Its meaning never changes.
    pub schema: String,
    /// Program and version that wrote it.
    pub software: String,
    /// A random name that tells this model from others.
    pub model: String,
    /// When, in UTC (RFC 3339).
    pub issued: String,
    /// SHA-256 of the public key that signs.
    pub key_id: String,
    /// Where it stands in the log.
    pub log: LogPosition,
    /// The request.
    pub request: CoveredRequest,
    /// The log that has the request's own entry: this one, or an earlier one of which entries were lost.
    pub request_origin: String,
    /// What became of it: a tag of [`RequestState`].
    pub state: String,
    /// The release that covers it first.
    pub release: Option<usize>,
    /// SHA-256 of the payload of that release's certificate.
    pub release_certificate: Option<String>,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RequestState {
    /// The rows have left the engine's secret state and its copy of the rows, and no release that is in use knows them.
    Applied,
    /// A release without them has been published and certified.
    Covered,
    /// The rows have left the engine, and a release from before that is still in use.
    Pending,
}

impl RequestState {
    /// The state of this tag; `None` for one that this version does not know.
    pub fn by_tag(tag: &str) -> Option<Self> {
        [Self::Applied, Self::Covered, Self::Pending].into_iter().find(|state| state.tag() == tag)
    }

    /// Stable name.
    pub fn tag(self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::Covered => "covered",
            Self::Pending => "pending",
        }
    }

    /// In plain words.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Applied => {
                "the rows have left the model's secret state and its copy of the rows; no release that is in use knows them"
            }
            Self::Covered => "a release that does not know the rows has been published and certified",
            Self::Pending => {
                "the rows have left the model's secret state and its copy of the rows; the release that is in use is from \
                 before that, and the next one will cover the request"
            }
        }
    }
}

impl Predicate for RequestCertificate {
    const SCHEMA: &str = "efface-request-certificate-1";
    const TYPE: &str = "urn:efface:certificate:request:1";

    fn schema(&self) -> &str {
        &self.schema
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn key_id(&self) -> &str {
        &self.key_id
    }

    fn log(&self) -> &LogPosition {
        &self.log
    }

    fn entry(&self, certificate: String) -> Entry {
        Entry::new(&self.issued, Event::Request { certificate })
    }
}
