//! The engine as a library: each operation a transaction on a model directory.

mod accounting;
mod backups;
mod compat;
mod crash;
mod damage;
mod models;
mod planning;
mod purge;
mod readers;
mod round_trip;
mod transactions;
