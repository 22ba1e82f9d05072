//! Who signs for a model, its log, and what becomes of releases and requests.

pub(crate) mod log;
mod policy;
pub(crate) mod publication;
mod renewal;
mod requests;
pub(crate) mod revocation;
pub(crate) mod signing;

pub use renewal::{RenewalReport, near_the_end};
pub use requests::RequestReport;
pub use revocation::RevocationReport;

use efface_ledger::merkle::Hash;
use sha2::{Digest, Sha256};

pub(in crate::directory) fn sha256(bytes: &[u8]) -> Hash {
    Sha256::digest(bytes).into()
}
