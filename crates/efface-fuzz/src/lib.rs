//! What must hold for every file that is read, whatever its bytes. Development only.
//!
//! A target takes the bytes of one file, reads them through the public interface, and panics when something is wrong:
//!
//! - a reader panics;
//! - reading succeeds, and what was read is not consistent: another table in chunks than as a whole, values that are not
//!   finite, ids that are there twice, a record whose checksum does not match, a damaged copy that is taken for whole.
//!
//! Memory is bounded from outside: by an allocator that counts in the binaries of `cargo fuzz` (`fuzz/src/lib.rs`), by
//! a limit of the operating system in the plain test (`tests/replay`). Both call the functions of [`TARGETS`], so that
//! what one finds the other replays. `fuzz/corpus` holds a folder of files per target.

mod agreement;
mod alteration;
mod certificates;
mod databases;
mod extractors;
mod published;
mod scratch;
mod segments;
mod states;
mod tables;
mod witnesses;

/// A kind of file, and what must hold for it.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name of the target and of its folder in the corpus.
    pub name: &'static str,
    /// Reads a file of these bytes.
    pub run: fn(&[u8]),
}

/// All targets.
pub const TARGETS: &[Target] = &[
    Target { name: "csv", run: |bytes| tables::read("rows.csv", bytes) },
    Target { name: "npy", run: |bytes| tables::read_array("rows.npy", bytes) },
    Target { name: "npz", run: |bytes| tables::read("rows.npz", bytes) },
    Target { name: "idx", run: |bytes| tables::read_array("rows.idx", bytes) },
    Target { name: "libsvm", run: tables::libsvm },
    Target { name: "gz", run: tables::gz },
    Target { name: "parquet", run: tables::parquet },
    Target { name: "schema", run: tables::schema },
    Target { name: "raw_csv", run: tables::raw_csv },
    Target { name: "row_segment", run: segments::row_segment },
    Target { name: "state_file", run: states::state_file },
    Target { name: "witness", run: witnesses::witness },
    Target { name: "published_model", run: published::published_model },
    Target { name: "database", run: databases::database },
    Target { name: "certificate", run: certificates::certificate },
    Target { name: "checkpoint", run: certificates::checkpoint },
    Target { name: "consistency", run: certificates::consistency },
    Target { name: "key", run: certificates::key },
    Target { name: "network", run: extractors::network },
    Target { name: "statement", run: extractors::statement },
    Target { name: "picture", run: extractors::picture },
];

/// The target of a name.
///
/// # Panics
///
/// When there is none.
pub fn target(name: &str) -> Target {
    *TARGETS.iter().find(|target| target.name == name).expect("a target of that name")
}
