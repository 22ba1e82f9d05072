//! Running a request in a process of its own with the recorder below it, and reading its log.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use efface_crash::request::Job;

use super::disk::{ContentChange, Disk, Operation};
use super::names::{Entry, FileNumber, NameChange, moved};

/// The recorder, compiled.
pub(crate) struct Recorder {
    library: PathBuf,
}

impl Recorder {
    /// Compiles it into a folder, with the C compiler that building needs anyway.
    pub(crate) fn compile(folder: &Path) -> Self {
        let (source, library) = (folder.join("recorder.c"), folder.join("recorder.so"));
        fs::write(&source, include_str!("recorder.c")).expect("writable");
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
        let options = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o"];
        let libraries = ["-ldl", "-lpthread"];
        let output = Command::new(compiler).args(options).arg(&library).arg(&source).args(libraries).output();
        let output = output.expect("a C compiler");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Self { library }
    }

    /// Does a job inside `root`, and returns what that did there to `disk`, which holds what `root` holds.
    pub(crate) fn run(&self, root: &Path, disk: &Disk, job: &Job) -> Vec<Operation> {
        let log = self.library.with_extension("log");
        let mut command = process(root, job);
        command.env("LD_PRELOAD", &self.library).env("EFFACE_RECORD_ROOT", root).env("EFFACE_RECORD_LOG", &log);
        let output = command.output().expect("runs");
        assert!(output.status.success(), "{job:?}: {}", String::from_utf8_lossy(&output.stderr));
        let records = fs::read(&log).expect("a log");
        operations(&records, disk)
    }
}

fn process(root: &Path, job: &Job) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_efface-crash"));
    command.arg(serde_json::to_string(job).expect("plain structures")).current_dir(root);
    command
}

/// Does a job without the recorder.
pub(crate) fn run_plainly(root: &Path, job: &Job) -> Result<(), String> {
    let output = process(root, job).output().map_err(|error| error.to_string())?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

/// An open file of the recorded process.
enum Open {
    File(FileNumber),
    Folder(String),
}

const CREATES: u64 = 1;
const CUTS: u64 = 2;
const FOLDER: u64 = 4;

/// The operations of a log, on the files of a disk.
fn operations(mut records: &[u8], disk: &Disk) -> Vec<Operation> {
    let mut names = disk.names().clone();
    let mut next_file = disk.next_file();
    let mut open: HashMap<u32, Open> = HashMap::new();
    let mut operations = Vec::new();
    while !records.is_empty() {
        let record = Record::take(&mut records);
        let path = || String::from_utf8(record.first.to_vec()).expect("names are text");
        let file = || match &open[&record.handle] {
            Open::File(file) => *file,
            Open::Folder(path) => panic!("`{path}` is a folder"),
        };
        let length = record.n as usize;
        let operation = match record.tag {
            b'o' if record.at & FOLDER != 0 => {
                open.insert(record.handle, Open::Folder(path()));
                continue;
            }
            b'o' => {
                let found = names.find(&path());
                let file = match found {
                    Some(Entry::File(file)) => file,
                    Some(Entry::Folder) => panic!("`{}` is a folder", path()),
                    None => next_file,
                };
                open.insert(record.handle, Open::File(file));
                if found.is_none() {
                    assert!(record.at & CREATES != 0, "`{}` is opened and is not there", path());
                    next_file += 1;
                    Operation::Name(NameChange::Create { path: path(), file })
                } else if record.at & CUTS != 0 {
                    Operation::Content(file, ContentChange::SetLength(0))
                } else {
                    continue;
                }
            }
            b'w' => {
                Operation::Content(file(), ContentChange::Write { at: record.at as usize, bytes: record.first.into() })
            }
            b't' => Operation::Content(file(), ContentChange::SetLength(length)),
            b'g' => Operation::Content(file(), ContentChange::GrowTo(length)),
            b'z' => Operation::Content(file(), ContentChange::Zero { at: record.at as usize, n: length }),
            b's' => match &open[&record.handle] {
                Open::File(file) => Operation::SyncFile(*file),
                Open::Folder(path) => Operation::SyncFolder(path.clone()),
            },
            b'r' => Operation::Name(NameChange::Rename { from: path(), to: record.second() }),
            b'l' => match names.find(&path()) {
                Some(Entry::File(file)) => Operation::Name(NameChange::Link { path: record.second(), file }),
                found => panic!("`{}` is linked and is {found:?}", path()),
            },
            b'u' => Operation::Name(NameChange::Unlink { path: path() }),
            b'm' => Operation::Name(NameChange::MakeFolder { path: path() }),
            b'a' if record.first.ends_with(b"\n") => Operation::Acknowledge,
            b'a' => continue,
            tag => panic!("unknown tag {tag}"),
        };
        if let Operation::Name(change) = &operation {
            names.apply(change);
            if let NameChange::Rename { from, to } = change {
                follow(&mut open, from, to);
            }
        }
        operations.push(operation);
    }
    operations
}

/// Open folders go by their names: they follow a rename.
fn follow(open: &mut HashMap<u32, Open>, from: &str, to: &str) {
    for entry in open.values_mut() {
        if let Open::Folder(path) = entry
            && let Some(new) = moved(path, from, to)
        {
            *path = new;
        }
    }
}

/// One record, as `recorder.c` describes it.
struct Record<'a> {
    tag: u8,
    handle: u32,
    at: u64,
    n: u64,
    first: &'a [u8],
    second: &'a [u8],
}

impl<'a> Record<'a> {
    fn take(records: &mut &'a [u8]) -> Self {
        let tag = take(records, 1)[0];
        let handle = u32_of(records);
        let at = u64_of(records);
        let n = u64_of(records);
        let length = u32_of(records) as usize;
        let first = take(records, length);
        let length = u32_of(records) as usize;
        let second = take(records, length);
        Self { tag, handle, at, n, first, second }
    }

    fn second(&self) -> String {
        String::from_utf8(self.second.to_vec()).expect("names are text")
    }
}

fn take<'a>(records: &mut &'a [u8], n: usize) -> &'a [u8] {
    records.split_off(..n).expect("a whole record")
}

fn u32_of(records: &mut &[u8]) -> u32 {
    u32::from_ne_bytes(take(records, 4).try_into().expect("four bytes"))
}

fn u64_of(records: &mut &[u8]) -> u64 {
    u64::from_ne_bytes(take(records, 8).try_into().expect("eight bytes"))
}
