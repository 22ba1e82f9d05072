//! Models from their rows to what is published of them.

mod backups;
mod choices;
mod evaluation;
mod export;
pub(crate) mod extractor;
mod inputs;
mod maps;
mod published;
mod raw_tables;
mod real_tables;
mod requests;
mod schema;
mod truth;
