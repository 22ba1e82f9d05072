//! What is on disk: it survives crashes, damage and old backups, and forgets what was removed.

mod backups;
mod compat;
mod crash;
mod damage;
mod mixtures;
mod purge;
mod readers;
mod round_trip;
mod shared_witness;
mod witness;
