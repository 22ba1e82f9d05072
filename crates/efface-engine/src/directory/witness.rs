//! A small file kept away from the model directory: which removals and releases there have been. A whole directory that
//! is restored from a backup knows less than its witness, and is noticed.
//!
//! ```text
//! efface-witness 1 <model> <key> <checksum>
//! {"n_changes":7,"chain":"…","account":{…},"ledger":["<log>",9],"removed":["<digest>",…]} <checksum>
//! ```
//!
//! A line per commit that changes what it knows: the latest change of the rows, what releases have spent, how far the log
//! goes, and the keyed hashes of the ids and subjects that were removed since the line before; each ended by its CRC-32.
//! Lines are appended and synced; half a line at the end is the trace of a crash and does not count. The file holds the key
//! of the hashes: it is a secret as the directory is one.
//!
//! Whoever uses a witness holds its lock (`<witness>.lock`) from before it is read until all is told. So two copies of a
//! directory that share it take turns, and the second one finds out what the first one did.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use efface_core::model::ReleaseAccount;
use efface_data::{IdDigest, IdKey};
use serde::{Deserialize, Serialize};

use crate::directory::database::{Chain, Head, LedgerHead};
use crate::directory::files;
use crate::directory::lock::WriterLock;
use crate::error::{EngineError, OpenError};
use crate::settings::Settings;

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
    Ok(place)
}

pub(crate) struct Witness {
    file: File,
    pub(crate) path: PathBuf,
    pub(crate) memory: Memory,
    _lock: WriterLock,
}

#[derive(Clone, Debug)]
pub(crate) struct Memory {
    pub(crate) model: String,
    pub(crate) key: IdKey,
    pub(crate) suppressed: BTreeSet<IdDigest>,
    /// The latest line; `None`: nothing was told yet.
    pub(crate) latest: Option<Told>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Told {
    pub(crate) n_changes: u64,
    pub(crate) chain: Chain,
    pub(crate) account: ReleaseAccount,
    /// The log and the number of its entries.
    ledger: (String, u64),
    /// What was removed since the line before.
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
        removed: Vec<IdDigest>,
    ) -> Result<Self, EngineError> {
        let key = String::from(settings.id_key.clone());
        let first = line(&format!("{MAGIC} {VERSION} {} {key}", head.history.model));
        let told = Told::of(head, head.account, removed).line();
        files::replace(path, format!("{first}{told}").as_bytes())?;
        Self::open(path, lock)
    }

    pub(crate) fn follow(
        &mut self,
        head: &Head,
        suppressed: impl IntoIterator<Item = IdDigest>,
    ) -> Result<(), EngineError> {
        // Once each: a subject comes with every one of its rows.
        let new: BTreeSet<IdDigest> =
            suppressed.into_iter().filter(|digest| !self.memory.suppressed.contains(digest)).collect();
        // What was spent stays spent, whatever an old head says.
        let latest = self.memory.latest.as_ref();
        let account = latest.map_or(head.account, |latest| latest.account.most(head.account));
        let told = Told::of(head, account, new.into_iter().collect());
        if told.removed.is_empty()
            && latest.is_some_and(|latest| told == Told { removed: Vec::new(), ..latest.clone() })
        {
            return Ok(());
        }
        let written = self.file.write_all(told.line().as_bytes()).and_then(|()| self.file.sync_all());
        written.map_err(EngineError::io(&self.path))?;
        self.memory.learn(told);
        Ok(())
    }
}

impl Memory {
    /// What a witness knows, without changing it; `None` when there is no such file.
    pub(crate) fn recall(path: &Path) -> Result<Option<Self>, EngineError> {
        Ok(Self::read(path)?.map(|(memory, _)| memory))
    }

    /// What a witness knows, and the length of its whole lines: what a crash left of the last one does not count.
    fn read(path: &Path) -> Result<Option<(Self, u64)>, EngineError> {
        // Not from a device that never ends.
        if fs::metadata(path).is_ok_and(|file| !file.is_file()) {
            let reason = "it is not a file".into();
            return Err(OpenError::BadWitness { path: path.into(), line: 1, reason }.into());
        }
        let Some(text) = files::if_there(fs::read_to_string(path), path)? else { return Ok(None) };
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let memory = Self::parse(&text[..whole])
            .map_err(|(line, reason)| EngineError::Open(OpenError::BadWitness { path: path.into(), line, reason }))?;
        Ok(Some((memory, whole as u64)))
    }

    fn parse(text: &str) -> Result<Self, (usize, String)> {
        let mut lines = text.lines().zip(1..);
        let (first, _) = lines.next().ok_or_else(|| (1, "it is empty".to_owned()))?;
        let fields = checked(first).ok_or_else(|| (1, "it is not a witness, or damaged".to_owned()))?;
        let mut memory = match *fields.split(' ').collect::<Vec<_>>() {
            [MAGIC, VERSION, model, key] => Self {
                model: model.into(),
                key: IdKey::try_from(key.to_owned()).map_err(|reason| (1, reason.to_owned()))?,
                suppressed: BTreeSet::new(),
                latest: None,
            },
            [MAGIC, version, ..] => {
                return Err((1, format!("version `{version}` is unknown; this program reads version {VERSION}")));
            }
            _ => return Err((1, "it is not a witness".into())),
        };
        for (line, number) in lines {
            let told = checked(line).ok_or_else(|| (number, "the checksum does not match".to_owned()))?;
            memory.learn(serde_json::from_str(told).map_err(|error| (number, error.to_string()))?);
        }
        Ok(memory)
    }

    /// Whether it knows of entries of the log that a directory does not have.
    pub(crate) fn knows_more_of(&self, ledger: &LedgerHead) -> bool {
        self.latest.as_ref().is_some_and(|Told { ledger: (log, size), .. }| *log != ledger.log || *size > ledger.size)
    }

    fn learn(&mut self, told: Told) {
        self.suppressed.extend(&told.removed);
        self.latest = Some(told);
    }
}

impl Told {
    /// Whether the directory has gone on since: it was not told.
    pub(crate) fn is_before(&self, head: &Head) -> bool {
        self.n_changes < head.history.n_changes || self.account.n_releases < head.account.n_releases
    }

    fn of(head: &Head, account: ReleaseAccount, removed: Vec<IdDigest>) -> Self {
        let ledger = (head.ledger.log.clone(), head.ledger.size);
        Self { n_changes: head.history.n_changes, chain: head.chain.clone(), account, ledger, removed }
    }

    fn line(&self) -> String {
        line(&serde_json::to_string(self).expect("numbers are finite or null"))
    }
}

fn line(content: &str) -> String {
    format!("{content} {:08x}\n", crc32fast::hash(content.as_bytes()))
}

fn checked(line: &str) -> Option<&str> {
    let (content, checksum) = line.rsplit_once(' ')?;
    (u32::from_str_radix(checksum, 16).ok()? == crc32fast::hash(content.as_bytes())).then_some(content)
}
