//! Certificates: what they say, and nothing about how they are checked.
//!
//! Each is the predicate of an in-toto statement. `docs/design/certificate.md` describes every field; the names are the
//! vocabulary of the command line and the Python package.

mod feature_map;
mod fitted_beside;
mod issued;
mod release;
mod request;
mod revocation;
pub mod tags;

pub use feature_map::{FeatureMap, MapOrigin};
pub use fitted_beside::{FittedBeside, FittedBesideError, FittedKind};
pub use issued::{Issued, LogPosition, Predicate, Signed, Unsigned};
pub use release::{
    Adversary, Arithmetic, CoveredRequest, CurvePoint, Decided, ReleaseClaims, SincePrevious, SpentBefore, Undecided,
    UnloggedRequest,
};
pub use request::{RequestAnswer, RequestState};
pub use revocation::Withdrawal;

pub use crate::entry::ReleasePolicy;

/// The certificate of a release.
pub type ReleaseCertificate = Issued<ReleaseClaims>;
/// The certificate of a request: what became of it.
pub type RequestCertificate = Issued<RequestAnswer>;
/// The withdrawal of a release.
pub type RevocationCertificate = Issued<Withdrawal>;
