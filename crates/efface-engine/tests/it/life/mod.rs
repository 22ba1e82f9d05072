//! What operations do, promise and spend.

mod accounting;
mod adoption;
mod planning;
mod policy;
mod requests;
mod transactions;
mod worlds;
