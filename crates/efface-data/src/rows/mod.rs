//! Rows as a model takes them: their values, how a table becomes them, and rows in memory.

mod annotations;
mod encode;
mod memory;
mod values;

pub(crate) use annotations::{Annotations, check_present};
pub use encode::{EncodedRows, FeatureOrder, encode_table};
pub use memory::MemoryRows;
pub use values::{FeatureValues, Precision};
pub(crate) use values::{debug_shape, each, extend_zeroizing};
