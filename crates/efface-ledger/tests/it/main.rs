//! The crate as a verifier uses it.

mod compat;
