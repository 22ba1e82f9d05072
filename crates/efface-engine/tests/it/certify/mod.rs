//! What is signed and logged, and that strangers can check it.

mod certificates;
mod keys;
mod ledger;
mod revocation;
mod verification;
