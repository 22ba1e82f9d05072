//! Certificates: what they say, and nothing about how they are checked.
//!
//! Each is the predicate of an in-toto statement. `docs/design/certificate.md` describes every field; the names are the
//! vocabulary of the command line and the Python package.

mod release;
mod request;
mod revocation;
pub mod tags;

pub use release::{
    Adversary, Arithmetic, CoveredRequest, CurvePoint, LogPosition, ReleaseCertificate, ReleasePolicy, Signed,
    SincePrevious, SpentBefore, UnloggedRequest, Unsigned,
};
pub use request::{RequestCertificate, RequestState};
pub use revocation::RevocationCertificate;

/// What can be signed: a predicate with its type.
pub trait Predicate: serde::Serialize + serde::de::DeserializeOwned {
    /// Tag in the field `schema`.
    const SCHEMA: &str;
    /// The in-toto predicate type.
    const TYPE: &str;

    /// The tag that this one carries.
    fn schema(&self) -> &str;
    /// The model it speaks of.
    fn model(&self) -> &str;
    /// Who signed.
    fn key_id(&self) -> &str;
    /// Where it stands in the log.
    fn log(&self) -> &LogPosition;
    /// The entry of the log that belongs to it, given the digest of its payload.
    fn entry(&self, certificate: String) -> crate::entry::Entry;
}
