//! A disk in memory: what is on it while the system runs, and what could be found on it after the power went.
//!
//! # The model
//!
//! Names and contents are apart, as inodes are in a file system: a file keeps its content when its name changes.
//!
//! **A killed process** loses nothing that it wrote: the system goes on. It is found between two operations, or with a
//! part of a write done.
//!
//! **A part of a write** ends at any byte where the file grows, and between two sectors where it is overwritten: no disk
//! writes half of a sector, and no kernel gives up a write within a page. The header of a row segment is overwritten in
//! place and relies on that; a model that tears it apart is harsher than any file system.
//!
//! **A power loss** keeps what was synced and takes liberties with the rest, as a journaling file system may:
//!
//! - Changes of *names* (create, rename, link, unlink, make a folder) reach the disk in the order in which they were
//!   made: half of the time all over the file system, as in ext4 or XFS, half of the time within each folder only, as POSIX
//!   promises no more. Syncing a folder makes certain every change of its entries, and where the order is that of the
//!   file system, all changes before them. Of the others, any number of first ones is kept. Syncing a file makes nothing
//!   certain about its name; real file systems promise more.
//! - Changes of a file's *content* (write, cut, grow) since the file was last synced are kept or lost each on its own,
//!   in part too, its size included; a kept write behind a lost one leaves zeros between them. Nothing orders them with
//!   the names, so a renamed file may be found empty. Bytes that no write touched stay as they are.
//!
//! What one command did not sync can be lost during the next one: a disk goes on from command to command.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::Arc;
use std::{fmt, fs, io};

use super::chance::{Dice, Odds};
use super::names::{Entry, FileNumber, NameChange, NameJournal, Names, Order};

/// One thing that a process did to the disk or to the world.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    /// A name has changed.
    Name(NameChange),
    /// A file has changed.
    Content(FileNumber, ContentChange),
    /// The content of a file is on the disk.
    SyncFile(FileNumber),
    /// The names in a folder are on the disk.
    SyncFolder(String),
    /// The answer has been given.
    Acknowledge,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(change) => write!(f, "{change:?}"),
            Self::Content(file, ContentChange::Write { at, bytes }) => {
                write!(f, "Write {{ file: {file}, at: {at}, n: {} }}", bytes.len())
            }
            other => write!(f, "{other:?}"),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) enum ContentChange {
    Write { at: usize, bytes: Arc<[u8]> },
    SetLength(usize),
    GrowTo(usize),
    Zero { at: usize, n: usize },
}

impl ContentChange {
    fn apply(&self, content: &mut Vec<u8>) {
        match self {
            Self::Write { at, bytes } => {
                content.resize(content.len().max(at + bytes.len()), 0);
                content[*at..at + bytes.len()].copy_from_slice(bytes);
            }
            Self::SetLength(n) => content.resize(*n, 0),
            Self::GrowTo(n) => content.resize(content.len().max(*n), 0),
            Self::Zero { at, n } => {
                let end = content.len().min(at + n);
                content[(*at).min(end)..end].fill(0);
            }
        }
    }

    /// The change of a file of `length` bytes as far as its first `n` bytes, where it has bytes. Sectors that the file has
    /// are written as a whole.
    fn cut(&self, n: usize, length: usize) -> Option<Self> {
        let Self::Write { at, bytes } = self else { return None };
        let end = at + n;
        let sector = end - end % SECTOR_BYTES;
        let n = if sector + SECTOR_BYTES <= length { sector.saturating_sub(*at) } else { n };
        (0 < n && n < bytes.len()).then(|| Self::Write { at: *at, bytes: bytes[..n].into() })
    }
}

/// What a disk writes at once.
const SECTOR_BYTES: usize = 512;

/// All that can be found on a disk: folders, and files with their content.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Image(BTreeMap<String, Option<Arc<Vec<u8>>>>);

impl Image {
    /// What is in a folder of the real disk, without the files that are not recorded.
    pub(crate) fn read(folder: &Path) -> io::Result<Self> {
        fn collect(image: &mut Image, folder: &Path, prefix: &str) -> io::Result<()> {
            for entry in fs::read_dir(folder)? {
                let entry = entry?;
                let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
                if entry.file_type()?.is_dir() {
                    image.0.insert(name.clone(), None);
                    collect(image, &entry.path(), &format!("{name}/"))?;
                } else if !name.ends_with("-shm") {
                    image.0.insert(name, Some(Arc::new(fs::read(entry.path())?)));
                }
            }
            Ok(())
        }
        let mut image = Self(BTreeMap::new());
        collect(&mut image, folder, "")?;
        Ok(image)
    }

    /// Puts it into an empty folder of the real disk.
    pub(crate) fn write(&self, folder: &Path) -> io::Result<()> {
        for (path, content) in &self.0 {
            match content {
                None => fs::create_dir_all(folder.join(path))?,
                Some(content) => fs::write(folder.join(path), content.as_slice())?,
            }
        }
        Ok(())
    }

    pub(crate) fn has(&self, path: &str) -> bool {
        self.0.contains_key(path)
    }

    pub(crate) fn content(&self, path: &str) -> Option<&[u8]> {
        Some(self.0.get(path)?.as_ref()?.as_slice())
    }

    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Files with their content.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0.iter().filter_map(|(path, content)| Some((path.as_str(), content.as_ref()?.as_slice())))
    }

    pub(crate) fn hash(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        Hash::hash(self, &mut hasher);
        hasher.finish()
    }
}

/// A disk in use.
pub(crate) struct Disk {
    names: Names,
    contents: Vec<Arc<Vec<u8>>>,
    names_in_order: NameJournal,
    names_by_folder: NameJournal,
    certain_contents: Vec<Arc<Vec<u8>>>,
    later_contents: Vec<Vec<ContentChange>>,
}

impl Disk {
    /// A disk on which all of this is certain.
    pub(crate) fn new(image: &Image) -> Self {
        let mut names = Names::default();
        let mut contents = Vec::new();
        for (path, content) in &image.0 {
            let entry = content.as_ref().map_or(Entry::Folder, |content| {
                contents.push(Arc::clone(content));
                Entry::File(contents.len() - 1)
            });
            names.0.insert(path.clone(), entry);
        }
        Self {
            names_in_order: NameJournal::new(Order::Everywhere, &names),
            names_by_folder: NameJournal::new(Order::WithinFolders, &names),
            names,
            certain_contents: contents.clone(),
            later_contents: vec![Vec::new(); contents.len()],
            contents,
        }
    }

    pub(crate) fn names(&self) -> &Names {
        &self.names
    }

    /// The number that the next new file gets.
    pub(crate) fn next_file(&self) -> FileNumber {
        self.contents.len()
    }

    pub(crate) fn apply(&mut self, operation: &Operation) {
        match operation {
            Operation::Name(change) => {
                if let NameChange::Create { file, .. } = change {
                    assert_eq!(*file, self.contents.len(), "files are numbered in order");
                    self.contents.push(Arc::default());
                    self.certain_contents.push(Arc::default());
                    self.later_contents.push(Vec::new());
                }
                self.names.apply(change);
                self.names_in_order.add(change.clone());
                self.names_by_folder.add(change.clone());
            }
            Operation::Content(file, change) => {
                change.apply(Arc::make_mut(&mut self.contents[*file]));
                self.later_contents[*file].push(change.clone());
            }
            Operation::SyncFile(file) => {
                self.certain_contents[*file] = Arc::clone(&self.contents[*file]);
                self.later_contents[*file].clear();
            }
            Operation::SyncFolder(folder) => {
                self.names_in_order.sync(folder);
                self.names_by_folder.sync(folder);
            }
            Operation::Acknowledge => {}
        }
    }

    /// What is found if the process stops here.
    pub(crate) fn killed(&self) -> Image {
        image(&self.names, |file| Arc::clone(&self.contents[file]))
    }

    /// What is found if the process stops after the first `n` bytes of the next operation, where it is a longer write.
    pub(crate) fn torn(&self, next: &Operation, n: usize) -> Option<Image> {
        let Operation::Content(torn, change) = next else { return None };
        let change = change.cut(n, self.contents[*torn].len())?;
        Some(image(&self.names, |file| {
            let mut content = Arc::clone(&self.contents[file]);
            if file == *torn {
                change.apply(Arc::make_mut(&mut content));
            }
            content
        }))
    }

    /// What may be found if the power goes here. The first few variants are the extremes, the others random.
    pub(crate) fn power_lost(&self, variant: u64, dice: &mut Dice) -> Image {
        let journal = if variant.is_multiple_of(2) { &self.names_in_order } else { &self.names_by_folder };
        let (name_odds, content_odds) = match variant {
            0 | 1 => (Odds::Never, Odds::Never),
            2 => (Odds::Always, Odds::Never),
            3 => (Odds::Never, Odds::Always),
            _ => (Odds::Even, Odds::Even),
        };
        let names = journal.after_power_loss(name_odds, dice);
        image(&names, |file| {
            let mut content = Arc::clone(&self.certain_contents[file]);
            for change in &self.later_contents[file] {
                let kept = match (content_odds, dice.below(4)) {
                    (Odds::Never, _) | (Odds::Even, 0 | 1) => None,
                    (Odds::Always, _) | (Odds::Even, 2) => Some(change.clone()),
                    (Odds::Even, _) => match change {
                        ContentChange::Write { bytes, .. } => change.cut(dice.below(bytes.len()), content.len()),
                        other => Some(other.clone()),
                    },
                };
                if let Some(change) = kept {
                    change.apply(Arc::make_mut(&mut content));
                }
            }
            content
        })
    }
}

fn image(names: &Names, mut content: impl FnMut(FileNumber) -> Arc<Vec<u8>>) -> Image {
    let entry = |(path, entry): (&String, &Entry)| match entry {
        Entry::Folder => (path.clone(), None),
        Entry::File(file) => (path.clone(), Some(content(*file))),
    };
    Image(names.0.iter().map(entry).collect())
}
