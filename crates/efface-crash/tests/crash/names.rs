//! The names on a disk, and which changes of them survive a power loss; `disk.rs` states the model.

use std::collections::BTreeMap;

use super::chance::{Dice, Odds};

/// A file, by the order of appearance.
pub(crate) type FileNumber = usize;

/// A change of a name. Paths are relative to the top; the top itself is the empty path.
#[derive(Clone, Debug)]
pub(crate) enum NameChange {
    Create { path: String, file: FileNumber },
    MakeFolder { path: String },
    Rename { from: String, to: String },
    Link { path: String, file: FileNumber },
    Unlink { path: String },
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    Folder,
    File(FileNumber),
}

/// The names on a disk.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names(pub(super) BTreeMap<String, Entry>);

impl Names {
    pub(crate) fn find(&self, path: &str) -> Option<Entry> {
        self.0.get(path).copied()
    }

    /// Every file with a name of it.
    pub(crate) fn by_file(&self) -> BTreeMap<FileNumber, String> {
        let file = |(path, entry): (&String, &Entry)| match entry {
            Entry::File(file) => Some((*file, path.clone())),
            Entry::Folder => None,
        };
        self.0.iter().filter_map(file).collect()
    }

    pub(crate) fn apply(&mut self, change: &NameChange) {
        match change {
            NameChange::Create { path, file } | NameChange::Link { path, file } => {
                self.0.insert(path.clone(), Entry::File(*file));
            }
            NameChange::MakeFolder { path } => {
                self.0.insert(path.clone(), Entry::Folder);
            }
            NameChange::Unlink { path } => {
                assert!(self.find(path).is_some(), "`{path}` is unlinked and is not there");
                self.0.retain(|other, _| moved(other, path, "").is_none());
            }
            NameChange::Rename { from, to } => {
                let moving: Vec<String> =
                    self.0.keys().filter(|path| moved(path, from, to).is_some()).cloned().collect();
                assert!(!moving.is_empty(), "`{from}` is renamed and is not there");
                for path in moving {
                    let entry = self.0.remove(&path).expect("just found");
                    self.0.insert(moved(&path, from, to).expect("just found"), entry);
                }
            }
        }
    }
}

/// The new path of `path` after a rename, if it is `from` or inside it.
pub(crate) fn moved(path: &str, from: &str, to: &str) -> Option<String> {
    let rest = path.strip_prefix(from)?;
    (rest.is_empty() || rest.starts_with('/')).then(|| format!("{to}{rest}"))
}

impl NameChange {
    /// The folders whose entries change.
    fn folders(&self) -> Vec<&str> {
        let parent = |path| str::rsplit_once(path, '/').map_or("", |(parent, _)| parent);
        match self {
            Self::Create { path, .. } | Self::MakeFolder { path } | Self::Link { path, .. } | Self::Unlink { path } => {
                vec![parent(path)]
            }
            Self::Rename { from, to } => vec![parent(from), parent(to)],
        }
    }

    /// Whether it can be found at all: what happens in a folder that was lost is lost with it.
    fn is_possible(&self, names: &Names) -> bool {
        let source = match self {
            Self::Rename { from, .. } => Some(from),
            Self::Unlink { path } => Some(path),
            Self::Create { .. } | Self::MakeFolder { .. } | Self::Link { .. } => None,
        };
        source.is_none_or(|path| names.find(path).is_some())
            && self.folders().iter().all(|folder| folder.is_empty() || names.find(folder) == Some(Entry::Folder))
    }
}

/// Changes of names on their way to the disk.
pub(crate) struct NameJournal {
    order: Order,
    certain: Names,
    /// Changes since, and whether each is certain.
    later: Vec<(NameChange, bool)>,
}

/// Which changes of names cannot overtake each other.
#[derive(Clone, Copy)]
pub(crate) enum Order {
    Everywhere,
    WithinFolders,
}

impl NameJournal {
    /// A journal in which these names are certain.
    pub(crate) fn new(order: Order, names: &Names) -> Self {
        Self { order, certain: names.clone(), later: Vec::new() }
    }

    pub(crate) fn add(&mut self, change: NameChange) {
        self.later.push((change, false));
    }

    /// The names in a folder are on the disk.
    pub(crate) fn sync(&mut self, folder: &str) {
        let touches = |change: &NameChange| change.folders().contains(&folder);
        let last = self.later.iter().rposition(|(change, _)| touches(change));
        for (i, (change, certain)) in self.later.iter_mut().enumerate() {
            *certain |= match self.order {
                Order::Everywhere => last.is_some_and(|last| i <= last),
                Order::WithinFolders => touches(change),
            };
        }
        let n_certain = self.later.iter().take_while(|(_, certain)| *certain).count();
        for (change, _) in self.later.drain(..n_certain) {
            self.certain.apply(&change);
        }
    }

    /// What may be found if the power goes.
    pub(crate) fn after_power_loss(&self, odds: Odds, dice: &mut Dice) -> Names {
        let mut names = self.certain.clone();
        let n_first = dice.below(self.later.len() + 1);
        let mut lossy: Vec<&str> = Vec::new();
        for (i, (change, certain)) in self.later.iter().enumerate() {
            let folders = change.folders();
            let unlucky = match (odds, self.order) {
                (Odds::Never, _) => true,
                (Odds::Always, _) => false,
                (Odds::Even, Order::Everywhere) => i >= n_first,
                (Odds::Even, Order::WithinFolders) => {
                    folders.iter().any(|folder| lossy.contains(folder)) || dice.below(3) == 0
                }
            };
            if unlucky && !certain {
                lossy.extend(folders);
            } else if change.is_possible(&names) {
                names.apply(change);
            }
        }
        names
    }
}
