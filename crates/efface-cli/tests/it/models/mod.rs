//! Models from their rows to what is published of them.

mod backups;
mod choices;
mod published;
mod real_tables;
mod requests;
mod schema;
mod truth;
