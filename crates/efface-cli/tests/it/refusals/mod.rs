//! What is not done: the message says why, and what was there stays.

mod bad_parameters;
mod bad_requests;
mod bad_rows;
mod bombs;
mod budget;
mod full_disk;
mod interrupts;
mod surroundings;
