//! The engine as a library: each operation a transaction on a model directory.

mod certify;
mod durable;
mod life;
mod models;
mod predictions;
