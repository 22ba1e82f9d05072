//! The crate as others use it: from files to rows to sums and back.

mod chunks;
mod conformance;
mod csv;
mod dialects;
mod idx;
mod images;
mod lent;
mod libsvm;
mod maps;
mod memory;
mod npy;
mod npz;
mod parquet;
mod samples;
mod schema;
mod stored;
mod typed;
