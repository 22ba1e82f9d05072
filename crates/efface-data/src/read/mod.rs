//! Readers: from a file to a [`Table`], whole or in chunks, chosen by the file's name.
//!
//! A reader trusts nothing in the file: sizes are checked against what the file can hold before memory is taken, and
//! whatever is wrong is named with file, row, column and value.

mod array;
mod binary;
mod cells;
mod chain;
mod input;
mod kind;
mod libsvm;
mod parquet;
mod source;
mod text;

use std::collections::HashSet;
use std::fmt;
use std::path::Path;

use self::array::ArrayReader;
pub use self::binary::Binary;
use self::binary::unknown_kind;
use self::cells::EncodedReader;
pub(crate) use self::cells::open_cells;
use self::chain::Chain;
use self::kind::Kind;
use self::libsvm::LibsvmReader;
use self::parquet::ParquetReader;
pub use self::source::Source;
use self::source::SourceFile;
pub use self::text::FirstLine;
use self::text::{TextReader, Wanted, no_schema};
use crate::error::{ExpectedBy, ReadError};
use crate::scale::Scale;
use crate::schema::{ColumnKind, Notation, Schema};
use crate::table::{Columns, Table, listed, shortened};

/// A file that is read as a stream of tables.
///
/// After an error a reader must not be asked for more.
pub trait TableReader: Send {
    /// One name per feature.
    fn feature_names(&self) -> &[String];

    /// The next `max_rows` rows (at least one is read), fewer only at the end of the file; `None` when all rows have
    /// been read. A file without a single row is an error.
    ///
    /// Rows without an id are numbered on from chunk to chunk. That ids are unique is checked within a chunk only.
    fn next_chunk(&mut self, max_rows: usize) -> Result<Option<Table>, ReadError>;

    /// Columns that would be features, but are of a type that cannot be read, or have no name.
    fn left_out(&self) -> &[UnreadableColumn] {
        &[]
    }

    /// How far the file has been read.
    fn progress(&self) -> ReadProgress;
}

/// A column that cannot be a feature. Displays as `` `tags` (a list of texts) ``.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableColumn {
    /// The column.
    pub name: String,
    /// What it is instead of a column of numbers or texts.
    pub what: String,
}

impl fmt::Display for UnreadableColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` ({})", shortened(&self.name), self.what)
    }
}

/// How far a file has been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadProgress {
    /// Rows delivered so far.
    pub rows: u64,
    /// Bytes of the file read so far; of a compressed file, compressed bytes.
    pub bytes_read: u64,
    /// Bytes of the file that are going to be read; 0 where nobody knows.
    pub bytes_total: u64,
    /// What a text is read as that is not in Unicode, and does not say in what it is.
    pub guessed_encoding: Option<&'static str>,
}

/// Opens a table to be read in chunks: `.csv` (`.tsv`, `.txt`), `.jsonl` or `.ndjson`, `.npy`, `.npz`, `.parquet`, `.svm` or
/// `.libsvm`, and `.idx` or `…-idx3-ubyte`; all but `.npz` and `.parquet` also gzipped (`.gz`). Several files are one table; the
/// first says which columns it has.
///
/// With a schema, features are what it makes of the columns, and [`Columns::features`] must be `None` or all of them.
/// Without one, columns are features as they are.
///
/// ```no_run
/// use efface_data::{Columns, open_table};
///
/// let mut reader = open_table("a9a.svm.gz", &Columns::default(), None)?;
/// while let Some(chunk) = reader.next_chunk(10_000)? {
///     println!("{} rows from row {}", chunk.n_rows(), chunk.origin().first_row());
/// }
/// # Ok::<(), efface_data::ReadError>(())
/// ```
pub fn open_table(
    source: impl Into<Source>,
    columns: &Columns,
    schema: Option<&Schema>,
) -> Result<Box<dyn TableReader>, ReadError> {
    let source = source.into();
    let first = open_one(source.file(0), columns, schema)?;
    Ok(with_the_others(first, &source, columns, schema, None))
}

/// Opens a table whose rows are scaled like this. Where constants are derived from the rows and no schema says what columns
/// become, all of them are derived: then the schema that says so comes along, unless all columns are numbers without gaps.
pub fn open_rows(
    source: impl Into<Source>,
    columns: &Columns,
    schema: Option<Schema>,
    scale: Scale,
) -> Result<(Box<dyn TableReader>, Option<Schema>), ReadError> {
    let source = source.into();
    let schema = schema.map(|schema| schema.written_as(columns.notation));
    if schema.is_none() && scale != Scale::Auto && columns.notation != Notation::default() {
        return Err(ReadError::PlainNumbers { scale });
    }
    let mut entries = schema.iter().filter(|_| scale != Scale::Auto).flat_map(Schema::columns);
    if let Some(entry) = entries.find(|entry| entry.kind == ColumnKind::Derived) {
        return Err(ReadError::DerivedBesideScale { column: entry.name.clone(), scale });
    }
    let file = source.file(0);
    if schema.is_some() || scale != Scale::Auto {
        let by = Some(ExpectedBy::Schema);
        let first = open_one(file, columns, schema.as_ref()).map_err(|error| error.expected_by(by))?;
        return Ok((with_the_others(first, &source, columns, schema.as_ref(), by), schema));
    }
    let (first, schema): (Box<dyn TableReader>, _) = match Kind::of(file.path) {
        Some(Kind::Csv | Kind::JsonLines | Kind::Stream) => {
            let (reader, schema) = TextReader::open(file, columns, Wanted::Derived)?;
            (Box::new(reader), schema)
        }
        Some(Kind::Parquet) if !all_plain(&source, columns) => {
            let cells = open_cells(&source, columns)?;
            let derived = Schema::of_derived(cells.feature_names(), columns);
            let schema = derived.map_err(|error| no_schema(file.path, &error))?;
            let mut reader = ParquetReader::open(file.path, columns, Some(&schema))?;
            reader.left_out = cells.left_out().to_vec();
            (Box::new(reader), Some(schema))
        }
        _ => (open_one(file, columns, None)?, None),
    };
    Ok((with_the_others(first, &source, columns, schema.as_ref(), Some(ExpectedBy::FirstFile)), schema))
}

/// Whether no feature is a text or may be missing in any of these Parquet files.
fn all_plain(source: &Source, columns: &Columns) -> bool {
    let is_plain = |path| ParquetReader::open(path, columns, None).is_ok_and(|reader| !reader.may_have_gaps());
    source.files().iter().all(|path| is_plain(path))
}

fn open_one(
    file: SourceFile<'_>,
    columns: &Columns,
    schema: Option<&Schema>,
) -> Result<Box<dyn TableReader>, ReadError> {
    let path = file.path;
    Ok(match (Kind::of(path), schema) {
        (Some(Kind::Csv | Kind::JsonLines | Kind::Stream), schema) => {
            let wanted = schema.map_or(Wanted::Numbers, Wanted::Schema);
            Box::new(TextReader::open(file, columns, wanted)?.0)
        }
        (Some(Kind::Parquet), _) => Box::new(ParquetReader::open(path, columns, schema)?),
        (Some(Kind::Npy | Kind::Idx | Kind::Npz), Some(schema)) => {
            Box::new(EncodedReader::open(path, columns, schema)?)
        }
        (Some(Kind::Npy | Kind::Idx | Kind::Npz), None) => Box::new(ArrayReader::open(path, columns)?),
        (Some(Kind::Libsvm), None) => Box::new(LibsvmReader::open(path, columns)?),
        (Some(Kind::Libsvm), Some(_)) => return Err(ReadError::NoSchema { file: path.into() }),
        (None, _) => return Err(unknown_kind(path)),
    })
}

/// The first file, and then the others with its columns, which are expected `by` others than a model where that is said.
fn with_the_others(
    first: Box<dyn TableReader>,
    source: &Source,
    columns: &Columns,
    schema: Option<&Schema>,
    by: Option<ExpectedBy>,
) -> Box<dyn TableReader> {
    if source.files().len() == 1 {
        return first;
    }
    let (others, schema, is_numbered) = (source.clone(), schema.cloned(), columns.id.is_none());
    let columns = Columns { features: Some(first.feature_names().to_vec()), ..columns.clone() };
    let open =
        move |index| open_one(others.file(index), &columns, schema.as_ref()).map_err(|error| error.expected_by(by));
    Box::new(Chain::new(first, source.files(), is_numbered, Box::new(open)))
}

/// Reads a whole table of any kind that [`open_table`] opens, and refuses ids that are there twice.
///
/// ```no_run
/// use efface_data::{Columns, read_table};
///
/// let columns = Columns { label: Some("churned".into()), id: Some("customer".into()), ..Columns::default() };
/// let table = read_table("churn.csv", &columns, None)?;
/// println!("{} rows", table.n_rows());
/// # Ok::<(), efface_data::ReadError>(())
/// ```
pub fn read_table(path: impl AsRef<Path>, columns: &Columns, schema: Option<&Schema>) -> Result<Table, ReadError> {
    let path = path.as_ref();
    // One chunk of all rows: nothing is copied, and duplicates are found wherever they are.
    let chunk = open_table(path, columns, schema)?.next_chunk(usize::MAX)?;
    chunk.ok_or_else(|| ReadError::Empty { file: path.into() })
}

/// All rows of a reader as one table. Of several files, they are called by their numbers.
pub fn read_all(reader: &mut dyn TableReader) -> Result<Option<Table>, ReadError> {
    let Some(mut table) = reader.next_chunk(usize::MAX)? else { return Ok(None) };
    while let Some(chunk) = reader.next_chunk(usize::MAX)? {
        table = table.followed_by(chunk)?;
    }
    Ok(Some(table))
}

/// Features without names of their own can be named but not chosen: others than all of them are an error, not a
/// selection. `units` are what is counted and what cannot be left out.
fn refuse_selection(path: &Path, columns: &Columns, names: &[String], units: [&str; 2]) -> Result<(), ReadError> {
    let asked = columns.features.as_deref().unwrap_or(names);
    let known: HashSet<&String> = names.iter().collect();
    if let Some(missing) = asked.iter().chain(&columns.ignore).find(|name| !known.contains(name)) {
        let (column, known) = (missing.clone(), listed(names));
        return Err(ReadError::MissingColumn { file: path.into(), column, known, first_line: FirstLine::Names });
    }
    if asked.len() == names.len() && columns.ignore.is_empty() {
        return Ok(());
    }
    let [counted, whole] = units;
    let expected = format!("{} {counted}; {whole} cannot be left out", asked.len());
    Err(ReadError::Shape { file: path.into(), found: format!("{} {counted}", names.len()), expected })
}

/// Refuses a table that is too wide, before its columns get their names: a few bytes, compressed, can stand for any
/// number of columns.
fn refuse_wide(file: &Path, n_columns: u64) -> Result<(), ReadError> {
    if n_columns <= MAX_COLUMNS as u64 {
        return Ok(());
    }
    Err(ReadError::TooWide { file: file.into(), found: n_columns, limit: MAX_COLUMNS })
}

/// Rows are dense and learning is quadratic in their width, so wider ones are taken for a mistake.
const MAX_COLUMNS: usize = 1 << 20;

/// Whether a file is an array by its name: its columns have no names, and labels and ids are in files of their own (or,
/// of an archive, members of their own).
pub fn is_array(path: impl AsRef<Path>) -> bool {
    Kind::of(path.as_ref()).is_some_and(Kind::is_array)
}

/// Whether a file brings its labels along, so that no column is named for them: libsvm. Its rows have no ids and no
/// subjects.
pub fn carries_labels(path: impl AsRef<Path>) -> bool {
    Kind::of(path.as_ref()) == Some(Kind::Libsvm)
}
