//! What is claimed of models and releases, and what must never leave.

mod accounting;
mod bounds;
mod claim;
mod extractor;
mod ladder;
mod release;
mod secrecy;
mod softmax;
mod statement;
mod subsampled;
