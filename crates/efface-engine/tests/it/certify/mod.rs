//! What is signed and logged, and that strangers can check it.

mod certificates;
mod keys;
mod ledger;
mod renewal;
mod revocation;
mod verification;
