//! efface-cli
fn main() {}
