//! Replays the corpus of every target, and a few thousand alterations of it, on a stable toolchain.
//!
//! The alterations are the same in every run. The input under way is in a file whose name the failure tells; if the
//! process itself ends, as it does when an allocation is refused, it is the newest `replay-*` of `target/tmp`.

mod alteration;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Once;

use efface_fuzz::{TARGETS, target};

use crate::alteration::Alteration;

/// A test per target: its name, and how many alterations take about a second.
macro_rules! replay {
    ($($name:ident: $n_alterations:expr,)*) => {
        $(#[test]
        fn $name() {
            replay(stringify!($name), $n_alterations);
        })*

        #[test]
        fn every_target_is_replayed() {
            let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
            assert_eq!(names, [$(stringify!($name)),*]);
        }
    };
}

replay! {
    csv: 2000,
    npy: 2000,
    npz: 2000,
    idx: 2000,
    libsvm: 600,
    gz: 600,
    parquet: 2000,
    schema: 2000,
    raw_csv: 1000,
    row_segment: 2000,
    state_file: 2000,
    witness: 2000,
    published_model: 2000,
    database: 300,
    certificate: 1000,
    checkpoint: 2000,
    consistency: 2000,
    key: 60,
    network: 8000,
    statement: 4000,
    picture: 4000,
}

fn replay(name: &str, n_alterations: u64) {
    prepare();
    let run = target(name).run;
    let corpus = read_corpus(name);
    for (file, bytes) in &corpus {
        run_kept(name, bytes, run, &format!("{}", file.display()));
    }
    let seeds: Vec<&[u8]> = corpus.iter().map(|(_, bytes)| bytes.as_slice()).collect();
    let mut alteration = Alteration::new(&seeds);
    for number in 0..n_alterations {
        run_kept(name, &alteration.next(), run, &format!("alteration {number}"));
    }
}

/// Runs a target on an input that can be found if it fails.
fn run_kept(name: &str, bytes: &[u8], run: fn(&[u8]), what: &str) {
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("replay-{name}"));
    fs::write(&kept, bytes).expect("writable");
    let outcome = catch_unwind(AssertUnwindSafe(|| run(bytes)));
    assert!(outcome.is_ok(), "{name}: {what} fails; its {} bytes are in {}", bytes.len(), kept.display());
}

/// The files of a target's corpus, by name.
fn read_corpus(name: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name);
    let mut files: Vec<PathBuf> =
        fs::read_dir(&folder).expect("a corpus").map(|entry| entry.expect("readable").path()).collect();
    files.sort();
    assert!(files.len() > 2, "{} has hardly any files", folder.display());
    files.into_iter().map(|file| (file.clone(), fs::read(file).expect("readable"))).collect()
}

fn prepare() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // The Parquet decoder panics on many damaged files, and its reader catches that: a line each is enough.
        std::panic::set_hook(Box::new(|panic| eprintln!("{panic}")));
        limit_memory();
    });
}

/// From here on the process gets half a gigabyte more memory, for all targets together, and the stacks of its threads.
#[cfg(target_os = "linux")]
fn limit_memory() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let status = fs::read_to_string("/proc/self/status").expect("readable");
    let held = status.lines().find_map(|line| line.strip_prefix("VmData:")?.trim().strip_suffix(" kB")?.parse().ok());
    let held: u64 = held.expect("the kernel's count");
    let n_threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    let limit = (held << 10) + (512 << 20) + n_threads * (4 << 20);
    let Rlimit { maximum, .. } = getrlimit(Resource::Data);
    let current = Some(maximum.map_or(limit, |maximum| limit.min(maximum)));
    setrlimit(Resource::Data, Rlimit { current, maximum }).expect("a lower limit is always allowed");
}

/// Elsewhere a limit is not set: the same code is tested under one on Linux.
#[cfg(not(target_os = "linux"))]
fn limit_memory() {}
