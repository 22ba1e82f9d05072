//! The withdrawal of a release.

use serde::{Deserialize, Serialize};

use super::Predicate;
use crate::entry::Event;

/// A release must not be used any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Withdrawal {
    /// k.
    pub release: usize,
    /// SHA-256 of the payload of its certificate, where that is known.
    pub release_certificate: Option<String>,
    /// Why, in the operator's words.
    pub reason: Option<String>,
}

impl Predicate for Withdrawal {
    const SCHEMA: &str = "efface-revocation-1";
    const TYPE: &str = "urn:efface:certificate:revocation:1";

    fn event(&self, certificate: String) -> Event {
        Event::Revocation { release: self.release, certificate }
    }
}
