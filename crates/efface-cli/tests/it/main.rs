//! The program as a user runs it: arguments in, streams, files and exit codes out.

mod certify;
mod contract;
mod models;
mod refusals;
mod reproduce;
mod sandbox;
