//! The program as a user runs it: arguments in, streams, files and exit codes out.

mod audit;
mod backups;
mod bad_parameters;
mod bad_requests;
mod bad_rows;
mod budget;
mod certificate_page;
mod certificates;
mod choices;
mod contract;
mod full_disk;
mod keys;
mod ledger;
mod published;
mod real_tables;
mod reproduce;
mod requests;
mod sandbox;
mod schema;
mod truth;
mod verify;
