//! Every check on its own, every byte of every file, and every number against another way of computing it.

mod arithmetic;
mod basis;
mod bytes;
mod claims;
mod documents;
mod example;
mod features;
mod in_log;
mod previous;
