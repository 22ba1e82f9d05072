//! The crate as others use it: from files to rows to sums and back.

mod chunks;
mod conformance;
mod csv;
mod idx;
mod libsvm;
mod npy;
mod npz;
mod parquet;
mod rows_file;
mod samples;
mod schema;
mod store;
mod stored;
mod stored_model;
