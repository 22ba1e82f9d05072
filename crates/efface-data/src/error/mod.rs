//! What can go wrong, one enum per operation. Messages name file, row, column, value and limit.

mod encode;
mod export;
mod images;
mod network;
mod read;
mod schema;
mod store;

pub use encode::{EncodeError, LabelError, ParseScaleError, ScaleError};
pub use export::ExportError;
pub use images::ImagesError;
pub use network::NetworkError;
pub use read::{ExpectedBy, ReadError};
pub use schema::{CellError, InvalidSchema, SchemaError};
pub use store::{AppendError, LookupError, SegmentError, StoredRowsError};
