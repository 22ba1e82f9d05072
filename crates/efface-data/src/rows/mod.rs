//! Rows as a model takes them: their values, how a table becomes them, and rows in memory.

mod encode;
mod memory;
mod values;

pub use encode::{EncodedRows, FeatureOrder, encode_table};
pub use memory::MemoryRows;
pub(crate) use values::extend_zeroizing;
pub use values::{FeatureValues, Precision};
