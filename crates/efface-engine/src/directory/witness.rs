//! A small file kept away from the model directory: which removals and releases there have been. A whole directory that
//! is restored from a backup knows less than its witness, and is noticed.
//!
//! ```text
//! efface-witness 1 <model> <key> <checksum>
//! change <number> <chain> <digest>… <checksum>
//! release <n_releases> <account> <checksum>
//! ledger <log> <size> <checksum>
//! ```
//!
//! A line per change of the rows (with the keyed hashes of the ids and subjects that it removed), per release (with
//! what all releases have spent) and per growth of the log, each ended by its CRC-32. Lines are appended and synced; half a line at the end is the
//! trace of a crash and does not count. The file holds the key of the hashes: it is a secret as the directory is one.
//!
//! Whoever uses a witness holds its lock (`<witness>.lock`) from before it is read until all is told. So two copies of a
//! directory that share it take turns, and the second one finds out what the first one did.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use efface_core::model::ReleaseAccount;
use efface_data::{IdDigest, IdKey};

use super::recovery::most_spent;
use crate::directory::database::{Chain, Head, LedgerHead};
use crate::directory::files;
use crate::directory::lock::WriterLock;
use crate::error::{EngineError, OpenError, StorageError};
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

/// An open witness, which nobody else has open.
pub(crate) struct Witness {
    file: File,
    path: PathBuf,
    /// What it knows.
    pub(crate) memory: Memory,
    _lock: WriterLock,
}

/// What a witness knows of a model.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    pub(crate) model: String,
    pub(crate) key: IdKey,
    pub(crate) n_changes: u64,
    pub(crate) chain: Chain,
    pub(crate) suppressed: BTreeSet<IdDigest>,
    pub(crate) account: ReleaseAccount,
    /// The log and the number of its entries; `None`: not told yet.
    pub(crate) ledger: Option<(String, u64)>,
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
        suppressed: impl IntoIterator<Item = IdDigest>,
    ) -> Result<Self, EngineError> {
        let memory = Memory {
            model: head.history.model.clone(),
            key: settings.id_key.clone(),
            n_changes: head.history.n_changes,
            chain: head.chain.clone(),
            suppressed: suppressed.into_iter().collect(),
            account: head.account,
            ledger: Some((head.ledger.log.clone(), head.ledger.size)),
        };
        let key = String::from(memory.key.clone());
        let mut text = line(&format!("{MAGIC} {VERSION} {} {key}", memory.model));
        text += &change_line(memory.n_changes, &memory.chain, memory.suppressed.iter());
        text += &release_line(&memory.account);
        text += &ledger_line(&head.ledger);
        files::replace(path, text.as_bytes())?;
        Self::open(path, lock)
    }

    /// Notes what the witness does not know yet.
    pub(crate) fn follow(
        &mut self,
        head: &Head,
        suppressed: impl IntoIterator<Item = IdDigest>,
    ) -> Result<(), EngineError> {
        let mut text = String::new();
        // Once each: a subject comes with every one of its rows.
        let new: BTreeSet<IdDigest> =
            suppressed.into_iter().filter(|digest| !self.memory.suppressed.contains(digest)).collect();
        if !new.is_empty() || self.memory.chain != head.chain {
            text += &change_line(head.history.n_changes, &head.chain, new.iter());
        }
        // What was spent stays spent, whatever an old head says.
        let account = most_spent(self.memory.account, head.account);
        if self.memory.account != account {
            text += &release_line(&account);
        }
        let ledger = Some((head.ledger.log.clone(), head.ledger.size));
        if self.memory.ledger != ledger {
            text += &ledger_line(&head.ledger);
        }
        if text.is_empty() {
            return Ok(());
        }
        let written = self.file.write_all(text.as_bytes()).and_then(|()| self.file.sync_all());
        written.map_err(EngineError::io(&self.path))?;
        self.memory.suppressed.extend(new);
        self.memory.n_changes = head.history.n_changes;
        self.memory.chain = head.chain.clone();
        self.memory.account = account;
        self.memory.ledger = ledger;
        Ok(())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
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
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(StorageError::Io { path: path.into(), source }.into()),
        };
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let memory = Self::parse(&text[..whole])
            .map_err(|(line, reason)| EngineError::Open(OpenError::BadWitness { path: path.into(), line, reason }))?;
        Ok(Some((memory, whole as u64)))
    }

    /// Reads whole lines; an error names the line.
    fn parse(text: &str) -> Result<Self, (usize, String)> {
        let mut lines = text.lines().zip(1..);
        let (first, _) = lines.next().ok_or_else(|| (1, "it is empty".to_owned()))?;
        let fields = checked(first).ok_or_else(|| (1, "it is not a witness, or damaged".to_owned()))?;
        let mut memory = match fields[..] {
            [MAGIC, VERSION, model, key] => Self {
                model: model.into(),
                key: IdKey::try_from(key.to_owned()).map_err(|reason| (1, reason.to_owned()))?,
                n_changes: 0,
                chain: Chain::start(model),
                suppressed: BTreeSet::new(),
                account: ReleaseAccount::default(),
                ledger: None,
            },
            [MAGIC, version, ..] => {
                return Err((1, format!("version `{version}` is unknown; this program reads version {VERSION}")));
            }
            _ => return Err((1, "it is not a witness".into())),
        };
        for (line, number) in lines {
            let fields = checked(line).ok_or_else(|| (number, "the checksum does not match".to_owned()))?;
            memory.learn(&fields).ok_or_else(|| (number, "the line is not understood".to_owned()))?;
        }
        Ok(memory)
    }

    /// Whether it knows of entries of the log that a directory does not have.
    pub(crate) fn knows_more_of(&self, ledger: &LedgerHead) -> bool {
        self.ledger.as_ref().is_some_and(|(log, size)| *log != ledger.log || *size > ledger.size)
    }

    fn learn(&mut self, fields: &[&str]) -> Option<()> {
        match fields {
            ["change", n_changes, chain, digests @ ..] => {
                self.n_changes = n_changes.parse().ok()?;
                self.chain = Chain((*chain).to_owned());
                for digest in digests {
                    self.suppressed.insert(IdDigest::try_from((*digest).to_owned()).ok()?);
                }
            }
            ["release", _, account] => self.account = serde_json::from_str(account).ok()?,
            ["ledger", log, size] => self.ledger = Some(((*log).to_owned(), size.parse().ok()?)),
            _ => return None,
        }
        Some(())
    }
}

fn change_line<'a>(n_changes: u64, chain: &Chain, digests: impl Iterator<Item = &'a IdDigest>) -> String {
    let mut content = format!("change {n_changes} {}", chain.0);
    for digest in digests {
        let _ = write!(content, " {}", String::from(*digest));
    }
    line(&content)
}

fn release_line(account: &ReleaseAccount) -> String {
    let text = serde_json::to_string(account).expect("numbers are finite or null");
    line(&format!("release {} {text}", account.n_releases))
}

fn ledger_line(ledger: &LedgerHead) -> String {
    line(&format!("ledger {} {}", ledger.log, ledger.size))
}

/// A line with its checksum.
fn line(content: &str) -> String {
    format!("{content} {:08x}\n", crc32fast::hash(content.as_bytes()))
}

/// The fields of a line, if its checksum is right.
fn checked(line: &str) -> Option<Vec<&str>> {
    let (content, checksum) = line.rsplit_once(' ')?;
    let matches = u32::from_str_radix(checksum, 16).ok()? == crc32fast::hash(content.as_bytes());
    matches.then(|| content.split(' ').collect())
}
