//! The certificate of a request: what became of it.

use efface_core::tagged;
use serde::{Deserialize, Serialize};

use super::{CoveredRequest, Predicate};
use crate::entry::Event;

/// What became of one removal request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestAnswer {
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

tagged! {
    /// What became of a request.
    pub enum RequestState {
        Applied = "applied" =>
            "the rows have left the model's secret state and its copy of the rows; no release that is in use knows \
             them",
        Covered = "covered" =>
            "a release that does not know the rows has been published and certified",
        Pending = "pending" =>
            "the rows have left the model's secret state and its copy of the rows; the release that is in use is \
             from before that, and the next one will cover the request",
        NothingFound = "nothing-found" =>
            "no row was found by what the request named, and nothing was removed",
    }
}

impl Predicate for RequestAnswer {
    const SCHEMA: &str = "efface-request-certificate-1";
    const TYPE: &str = "urn:efface:certificate:request:1";

    fn event(&self, certificate: String) -> Event {
        Event::Request { certificate }
    }
}
