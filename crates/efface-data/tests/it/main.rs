//! The crate as others use it: from files to rows to sums and back.

mod csv;
mod npy;
mod rows_file;
mod samples;
mod store;
