//! The engine as a library: each operation a transaction on a model directory.

mod accounting;
mod adoption;
mod backups;
mod certificates;
mod compat;
mod crash;
mod damage;
mod keys;
mod ledger;
mod models;
mod planning;
mod policy;
mod purge;
mod readers;
mod requests;
mod revocation;
mod round_trip;
mod shared_witness;
mod transactions;
mod verification;
mod worlds;
