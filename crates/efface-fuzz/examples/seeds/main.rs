//! Writes the seeds of `fuzz/corpus`: `cargo run -p efface-fuzz --example seeds`, and with `-- models` also those of
//! models, and the models that targets compare with.
//!
//! Valid files of every variant, and some that are cut or altered. Findings, which have names of their own, stay. Models
//! hold random numbers, so that their files are others each time, and findings among databases are then of no model.

mod arrays;
mod extractors;
mod models;
mod parquets;
mod texts;

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::GzEncoder;

fn main() {
    texts::write();
    arrays::write();
    extractors::write();
    parquets::write();
    if std::env::args().any(|argument| argument == "models") {
        models::write();
    }
}

/// Writes a seed of a target.
fn seed(target: &str, name: &str, bytes: impl AsRef<[u8]>) {
    let folder = root().join("fuzz/corpus").join(target);
    fs::create_dir_all(&folder).expect("writable");
    fs::write(folder.join(name), bytes).expect("writable");
}

/// Writes a seed, and copies of it that are cut in the middle and altered in places.
fn seed_with_damage(target: &str, name: &str, bytes: &[u8]) {
    seed(target, name, bytes);
    seed(target, &format!("{name}-cut"), &bytes[..bytes.len() * 2 / 3]);
    let mut altered = bytes.to_vec();
    altered.iter_mut().step_by(61).skip(1).for_each(|byte| *byte ^= 0x15);
    seed(target, &format!("{name}-altered"), altered);
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("in memory");
    encoder.finish().expect("in memory")
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}
