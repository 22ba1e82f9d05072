//! What is certified, logged, audited and verified.

mod audit;
mod certificate_page;
mod certificates;
mod keys;
mod ledger;
mod verify;
