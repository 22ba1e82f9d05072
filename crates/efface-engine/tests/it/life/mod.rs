//! What operations do, promise and spend.

mod accounting;
mod adoption;
mod derived;
mod planning;
mod policy;
mod requests;
mod transactions;
mod worlds;
