//! efface-bench
fn main() {}
