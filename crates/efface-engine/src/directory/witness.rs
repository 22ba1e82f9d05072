//! A small file kept away from the model directory: which removals and releases there have been. A whole directory that
//! is restored from a backup knows less than its witness, and is noticed.
//!
//! ```text
//! efface-witness 1 <model> <key> <checksum>
//! {"n_changes":7,"chain":"…","account":{…},"n_left":{"":3,"<SHA-256>":2},"ledger":["<log>",9],"n_removed":3,"removed":["<digest>",…]} <checksum>
//! ```
//!
//! A line per commit that changes what it knows: the latest change of the rows, what releases have spent, how many rows have
//! left since a model was first behind each private network (and in all), how far the log goes, how many ids and subjects
//! were removed in all, and the keyed hashes of those removed since the line before; each ended by its CRC-32. Lines are
//! appended and synced; half a line at the end is the trace of a crash and does not count. The file holds the key of the
//! hashes: it is a secret as the directory is one.
//!
//! The first line and the last one tell whether the directory is up to date, however long the past. Only where it is not
//! are all of them [read](removed_in).
//!
//! Whoever uses a witness holds its lock (`<witness>.lock`) from before it is read until all is told. So two copies of a
//! directory that share it take turns, and the second one finds out what the first one did.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use efface_core::model::ReleaseAccount;
use efface_data::{IdDigest, IdKey};
use serde::{Deserialize, Serialize};

use crate::directory::database::{Chain, Head, LedgerHead};
use crate::directory::files;
use crate::directory::lock::WriterLock;
use crate::error::{EngineError, OpenError};
use crate::settings::{ELSEWHERE, Settings};

/// Where a witness is to be, as an absolute path: in a folder that exists, and not inside the model directory, with which
/// it would be restored.
pub(crate) fn place(path: &Path, directory: &Path) -> Result<PathBuf, EngineError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = fs::canonicalize(folder).map_err(EngineError::io(folder))?;
    // Where a link leads: one witness has one lock, whatever it is called.
    let place = folder.join(path.file_name().unwrap_or_default());
    let place = fs::canonicalize(&place).unwrap_or(place);
    if fs::canonicalize(directory).is_ok_and(|directory| place.starts_with(directory)) {
        return Err(OpenError::WitnessInside { path: path.into() }.into());
    }
    files::check_is_unicode(&place, "witness")?;
    Ok(place)
}

pub(crate) struct Witness {
    file: File,
    pub(crate) path: PathBuf,
    pub(crate) memory: Memory,
    _lock: WriterLock,
}

/// What the first and the last line of a witness say.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    pub(crate) path: PathBuf,
    pub(crate) model: String,
    pub(crate) key: IdKey,
    /// The latest line; `None`: nothing was told yet.
    pub(crate) latest: Option<Told>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Told {
    pub(crate) n_changes: u64,
    pub(crate) chain: Chain,
    pub(crate) account: ReleaseAccount,
    /// Rows that have left since a model was first behind each private extractor, those that left another model meanwhile
    /// included: the extractor may have seen them.
    #[serde(default)]
    n_left: BTreeMap<String, usize>,
    /// The log and the number of its entries.
    ledger: (String, u64),
    /// Ids and subjects removed so far.
    n_removed: usize,
    /// Those of them that were removed since the line before.
    removed: Vec<IdDigest>,
}

const MAGIC: &str = "efface-witness";
const VERSION: &str = "1";

impl Witness {
    /// Opens a witness that exists and whose lock is held.
    pub(crate) fn open(path: &Path, lock: WriterLock) -> Result<Self, EngineError> {
        let missing = || EngineError::Open(OpenError::NoWitness { path: path.into() });
        let (memory, whole) = Memory::read(path)?.ok_or_else(missing)?;
        let mut file = files::private_options().open(path).map_err(EngineError::io(path))?;
        files::make_private(&file, path)?;
        file.set_len(whole).map_err(EngineError::io(path))?;
        file.seek(SeekFrom::End(0)).map_err(EngineError::io(path))?;
        Ok(Self { file, path: path.into(), memory, _lock: lock })
    }

    /// Makes a witness of a model as it is now, in the place of one that may be there. Its lock is held.
    pub(crate) fn create(
        path: &Path,
        lock: WriterLock,
        settings: &Settings,
        head: &Head,
        removed: &[IdDigest],
    ) -> Result<Self, EngineError> {
        let key = String::from(settings.id_key.clone());
        let first = line(&format!("{MAGIC} {VERSION} {} {key}", head.history.model));
        let before = Memory::recall(path)?.and_then(|memory| memory.latest);
        let mut n_left = before.map_or_else(BTreeMap::new, |told| told.n_left);
        for extractor in [ELSEWHERE].into_iter().chain(settings.private_extractor()) {
            let counted = n_left.entry(extractor.to_owned()).or_default();
            *counted = head.account.n_left.max(*counted);
        }
        let told = Told { n_left, ..Told::of(head, head.account, 0, removed) }.line();
        files::replace(path, format!("{first}{told}").as_bytes())?;
        Self::open(path, lock)
    }

    /// Nothing can be told any more.
    #[cfg(test)]
    pub(crate) fn close_to_writing(&mut self) {
        self.file = File::open(&self.path).expect("there");
    }

    /// Tells how a directory stands, and who was removed that it does not know yet.
    pub(crate) fn follow(&mut self, head: &Head, removed: &[IdDigest]) -> Result<(), EngineError> {
        // What was spent stays spent, whatever an old head says.
        let latest = self.memory.latest.as_ref();
        let account = latest.map_or(head.account, |latest| latest.account.most(head.account));
        let mut n_left = latest.map_or_else(BTreeMap::new, |latest| latest.n_left.clone());
        let before = latest.map_or(0, |latest| latest.account.n_left);
        for counted in n_left.values_mut() {
            *counted = counted.saturating_add(account.n_left - before);
        }
        let told = Told { n_left, ..Told::of(head, account, self.memory.n_removed(), removed) };
        if removed.is_empty() && latest.is_some_and(|latest| told == Told { removed: Vec::new(), ..latest.clone() }) {
            return Ok(());
        }
        let written = self.file.write_all(told.line().as_bytes()).and_then(|()| self.file.sync_all());
        written.map_err(EngineError::io(&self.path))?;
        self.memory.latest = Some(told);
        Ok(())
    }
}

impl Memory {
    /// What a witness knows but for who was removed, without changing it; `None` when there is no such file.
    pub(crate) fn recall(path: &Path) -> Result<Option<Self>, EngineError> {
        Ok(Self::read(path)?.map(|(memory, _)| memory))
    }

    /// The same, and the length of its whole lines: what a crash left of the last one does not count.
    fn read(path: &Path) -> Result<Option<(Self, u64)>, EngineError> {
        let Some(mut file) = open_file(path)? else { return Ok(None) };
        let mut first = Vec::new();
        let failed = EngineError::io(path);
        let (last, whole) = file
            .by_ref()
            .take(MOST_FIRST_BYTES)
            .read_until(b'\n', &mut first)
            .and_then(|start| last_line(&mut file, start as u64))
            .map_err(failed)?;
        let (model, key) = parse_first(&first).map_err(|reason| bad(path, Line::First, reason))?;
        let mut memory = Self { path: path.into(), model, key, latest: None };
        if !last.is_empty() {
            memory.latest = Some(Told::parse(&last).map_err(|reason| bad(path, Line::Last, reason))?);
        }
        Ok(Some((memory, whole)))
    }

    /// How many rows it knows to have left a private extractor.
    pub(crate) fn n_left(&self, extractor: &str) -> usize {
        self.latest.as_ref().and_then(|told| told.n_left.get(extractor)).copied().unwrap_or_default()
    }

    /// How many ids and subjects it knows to have been removed.
    pub(crate) fn n_removed(&self) -> usize {
        self.latest.as_ref().map_or(0, |told| told.n_removed)
    }

    /// Whether it knows of entries of the log that a directory does not have.
    pub(crate) fn knows_more_of(&self, ledger: &LedgerHead) -> bool {
        self.latest.as_ref().is_some_and(|Told { ledger: (log, size), .. }| *log != ledger.log || *size > ledger.size)
    }
}

/// All ids and subjects that a witness knows to have been removed. Every line is read and checked.
pub(crate) fn removed_in(path: &Path) -> Result<BTreeSet<IdDigest>, EngineError> {
    let mut removed = BTreeSet::new();
    let Some(mut file) = open_file(path)? else { return Ok(removed) };
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        file.read_until(b'\n', &mut line).map_err(EngineError::io(path))?;
        if line.last() != Some(&b'\n') {
            break;
        }
        if number == 1 {
            parse_first(&line).map_err(|reason| bad(path, Line::First, reason))?;
            continue;
        }
        let told = Told::parse(&line).map_err(|reason| bad(path, Line::Number(number), reason))?;
        removed.extend(told.removed);
        if removed.len() != told.n_removed {
            let reason = format!("{} ids were removed by then, and {} are listed", told.n_removed, removed.len());
            return Err(bad(path, Line::Number(number), reason));
        }
    }
    Ok(removed)
}

impl Told {
    fn parse(line: &[u8]) -> Result<Self, String> {
        let told = checked(line).ok_or("the checksum does not match")?;
        serde_json::from_str(told).map_err(|error| error.to_string())
    }

    /// Whether the directory has gone on since: it was not told.
    pub(crate) fn is_before(&self, head: &Head) -> bool {
        self.n_changes < head.history.n_changes || self.account.n_releases < head.account.n_releases
    }

    fn of(head: &Head, account: ReleaseAccount, n_known: usize, removed: &[IdDigest]) -> Self {
        let ledger = (head.ledger.log.clone(), head.ledger.size);
        let (n_changes, chain) = (head.history.n_changes, head.chain.clone());
        let (n_removed, removed) = (n_known + removed.len(), removed.to_vec());
        Self { n_changes, chain, account, n_left: BTreeMap::new(), ledger, n_removed, removed }
    }

    fn line(&self) -> String {
        line(&serde_json::to_string(self).expect("numbers are finite or null"))
    }
}

fn line(content: &str) -> String {
    format!("{content} {:08x}\n", crc32fast::hash(content.as_bytes()))
}

/// What a line says, if its checksum is right.
fn checked(line: &[u8]) -> Option<&str> {
    let (content, checksum) = std::str::from_utf8(line).ok()?.trim_end_matches('\n').rsplit_once(' ')?;
    (u32::from_str_radix(checksum, 16).ok()? == crc32fast::hash(content.as_bytes())).then_some(content)
}

/// The model, and the key of its hashes.
fn parse_first(line: &[u8]) -> Result<(String, IdKey), String> {
    let fields = checked(line).ok_or("it is not a witness, or damaged")?;
    match *fields.split(' ').collect::<Vec<_>>() {
        [MAGIC, VERSION, model, key] => Ok((model.into(), IdKey::try_from(key.to_owned())?)),
        [MAGIC, version, ..] => Err(format!("version `{version}` is unknown; this program reads version {VERSION}")),
        _ => Err("it is not a witness".into()),
    }
}

/// The last whole line from `start` on, and where it ends; empty where there is none.
fn last_line(file: &mut (impl Read + Seek), start: u64) -> io::Result<(Vec<u8>, u64)> {
    let len = file.seek(SeekFrom::End(0))?;
    let (mut from, mut tail) = (len, Vec::new());
    loop {
        let step = (from - start.min(from)).min(TAIL_BYTES.max(tail.len() as u64));
        from -= step;
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        file.take(step).read_to_end(&mut bytes)?;
        bytes.append(&mut tail);
        tail = bytes;
        let end = tail.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let begin = tail[..end.saturating_sub(1)].iter().rposition(|byte| *byte == b'\n').map(|begin| begin + 1);
        match begin {
            Some(begin) => return Ok((tail[begin..end].to_vec(), from + end as u64)),
            // All of it is one line, half a line, or nothing.
            None if from <= start => return Ok((tail[..end].to_vec(), from + end as u64)),
            None => {}
        }
    }
}

/// Not a device that never ends. `None`: there is no such file.
fn open_file(path: &Path) -> Result<Option<BufReader<File>>, EngineError> {
    if fs::metadata(path).is_ok_and(|file| !file.is_file()) {
        return Err(bad(path, Line::First, "it is not a file".into()));
    }
    Ok(files::if_there(File::open(path), path)?.map(BufReader::new))
}

/// A first line is far shorter.
const MOST_FIRST_BYTES: u64 = 4096;

/// Read from the end at first; most lines are shorter.
const TAIL_BYTES: u64 = 4096;

#[derive(Clone, Copy)]
enum Line {
    First,
    Last,
    Number(usize),
}

fn bad(path: &Path, line: Line, reason: String) -> EngineError {
    let line = match line {
        Line::First => "line 1".into(),
        Line::Last => "last line".into(),
        Line::Number(number) => format!("line {number}"),
    };
    EngineError::Open(OpenError::BadWitness { path: path.into(), line, reason })
}
