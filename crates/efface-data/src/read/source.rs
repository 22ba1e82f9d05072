//! The files of one table: one, several, a pattern of names, a folder, or what comes in through a pipe.

use std::path::{Path, PathBuf};

use encoding_rs::Encoding;

use super::binary::unknown_kind;
use super::kind::Kind;
use crate::error::ReadError;

/// The files that make a table, in this order, and how their texts are encoded.
///
/// ```
/// use efface_data::Source;
///
/// assert_eq!(Source::from("people.csv").files().len(), 1);
/// assert!(Source::named(["no-such-folder/*.parquet"]).is_err());
/// ```
#[derive(Clone, Debug)]
pub struct Source {
    files: Vec<PathBuf>,
    encoding: Option<&'static Encoding>,
}

/// One of them.
#[derive(Clone, Copy)]
pub(super) struct SourceFile<'a> {
    pub(super) path: &'a Path,
    pub(super) encoding: Option<&'static Encoding>,
}

impl Source {
    /// The files that go by these names. `-` is what comes in through standard input. A folder stands for the files in it, and a
    /// name that is no file's may be a pattern (`*`, `?`, `[…]`): both in the order of their names.
    pub fn named<P: AsRef<Path>>(names: impl IntoIterator<Item = P>) -> Result<Self, ReadError> {
        let mut files = Vec::new();
        for name in names {
            let name = name.as_ref();
            if name.is_dir() {
                files.extend(files_in(name)?);
            } else if is_pattern(name) {
                files.extend(matching(name)?);
            } else {
                files.push(name.to_path_buf());
            }
        }
        if let Some(twice) = files.iter().enumerate().find(|(i, file)| files[..*i].contains(file)).map(|(_, file)| file)
        {
            return Err(ReadError::FileTwice { file: twice.clone() });
        }
        if files.is_empty() {
            return Err(ReadError::NoFiles { name: PathBuf::new() });
        }
        Ok(Self { files, encoding: None })
    }

    /// The same, of texts in an encoding by its usual name (`latin1`, `utf-16le`, `windows-1250`, `shift_jis`, …).
    pub fn encoded(self, name: &str) -> Result<Self, ReadError> {
        let unknown = || ReadError::UnknownEncoding { name: name.to_owned() };
        Ok(Self { encoding: Some(Encoding::for_label(name.as_bytes()).ok_or_else(unknown)?), ..self })
    }

    /// The files, at least one.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// The first file, by which the kind of the table is told.
    pub fn first(&self) -> &Path {
        &self.files[0]
    }

    pub(super) fn file(&self, index: usize) -> SourceFile<'_> {
        SourceFile { path: &self.files[index], encoding: self.encoding }
    }
}

impl<P: AsRef<Path>> From<P> for Source {
    /// One file, whatever its name looks like.
    fn from(file: P) -> Self {
        Self { files: vec![file.as_ref().to_path_buf()], encoding: None }
    }
}

fn is_pattern(name: &Path) -> bool {
    !name.exists() && name.to_str().is_some_and(|name| name.contains(['*', '?', '[']))
}

fn matching(pattern: &Path) -> Result<Vec<PathBuf>, ReadError> {
    let none = || ReadError::NoFiles { name: pattern.into() };
    let found = glob::glob(&pattern.to_string_lossy()).map_err(|_| none())?;
    let files = found.collect::<Result<Vec<PathBuf>, _>>().map_err(|error| {
        let file = error.path().to_path_buf();
        ReadError::Io { file, source: error.into() }
    })?;
    if files.is_empty() { Err(none()) } else { Ok(files) }
}

/// The files of a folder that tables are written into, file after file. Names that begin with a dot or an underscore are no
/// rows (`_SUCCESS`, `.part-0.crc`).
fn files_in(folder: &Path) -> Result<Vec<PathBuf>, ReadError> {
    let failed = |source| ReadError::Io { file: folder.into(), source };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let is_hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(['.', '_']));
        if is_hidden {
            continue;
        }
        if path.is_dir() {
            return Err(ReadError::FolderInFolder { file: folder.into(), folder: path });
        }
        if Kind::of(&path).is_none() {
            return Err(unknown_kind(&path));
        }
        files.push(path);
    }
    files.sort();
    if files.is_empty() { Err(ReadError::NoFiles { name: folder.into() }) } else { Ok(files) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_and_patterns_are_files_in_the_order_of_their_names() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        for name in ["b.csv", "a.csv", "c[1].csv", "_SUCCESS", ".a.csv.crc"] {
            std::fs::write(path(name), "x\n1\n").expect("writable");
        }
        let named = |name: &str| Source::named([path(name)]).map(|source| source.files().to_vec());
        assert_eq!(named("").expect("files"), ["a.csv", "b.csv", "c[1].csv"].map(path));
        assert_eq!(named("?.csv").expect("files"), ["a.csv", "b.csv"].map(path));
        assert_eq!(named("c[1].csv").expect("a file"), [path("c[1].csv")], "a file is no pattern");
        assert!(matches!(named("z*.csv"), Err(ReadError::NoFiles { .. })));
        let twice = Source::named([path("a.csv"), path("?.csv")]);
        assert!(matches!(twice, Err(ReadError::FileTwice { file }) if file == path("a.csv")));
        std::fs::create_dir(path("year=2020")).expect("a folder");
        assert!(matches!(named(""), Err(ReadError::FolderInFolder { .. })));
    }

    #[test]
    fn encodings_go_by_their_usual_names() {
        for name in ["latin1", "ISO-8859-1", "utf-16le", "windows-1250", "UTF8"] {
            assert!(Source::from("a.csv").encoded(name).is_ok(), "{name}");
        }
        let unknown = Source::from("a.csv").encoded("klingon").expect_err("unknown").to_string();
        assert_eq!(
            unknown,
            "encoding `klingon` is unknown; known are utf-8, latin1, windows-1252, utf-16le and many more"
        );
    }
}
