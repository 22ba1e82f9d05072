//! Errors of reading a table.

use std::fmt;
use std::io;
use std::path::PathBuf;

use efface_core::rows::MOST_ROW_WEIGHT;

use super::network::NetworkError;
use super::schema::CellError;
use crate::id::RowId;
use crate::read::{Binary, FirstLine};
use crate::scale::Scale;
use crate::table::{Place, listed, shortened};

/// A table could not be read, or is not fit to be one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file's name ends in nothing that can be read.
    #[error("{}: unknown kind of file{}; supported are {SUPPORTED}", file.display(), seemingly(*looks_like))]
    UnknownExtension { file: PathBuf, looks_like: Option<Binary> },
    /// The file's name says that it is a text, and its first bytes say what else it is.
    #[error("{}: not a text; it looks like {looks_like}", file.display())]
    NotText { file: PathBuf, looks_like: Binary },
    /// A pattern or a folder stands for no file.
    #[error("{}: no files", name.display())]
    NoFiles { name: PathBuf },
    /// A folder has folders in it, whose names would be columns that are in no file.
    #[error(
        "{}: has the folder `{}` in it; partitions are not read, name the files instead",
        file.display(),
        folder.file_name().unwrap_or_default().display()
    )]
    FolderInFolder { file: PathBuf, folder: PathBuf },
    /// A file is named twice.
    #[error("{}: named twice; its rows would count twice", file.display())]
    FileTwice { file: PathBuf },
    /// No encoding goes by this name.
    #[error("encoding `{name}` is unknown; known are utf-8, latin1, windows-1252, utf-16le and many more")]
    UnknownEncoding { name: String },
    /// The operating system refused, or a compressed file is damaged.
    #[error("{}: {source}", file.display())]
    Io { file: PathBuf, source: io::Error },
    /// A column that was asked for is not there.
    #[error("{}: no column `{column}`; there are {known}", file.display())]
    MissingColumn { file: PathBuf, column: String, known: String, first_line: FirstLine },
    /// A column that a schema, a model or the first of several files has is not there.
    #[error("{}: {expected_by} column `{column}`, not found; columns are {known}", file.display())]
    SchemaColumn { file: PathBuf, column: String, known: String, expected_by: ExpectedBy },
    /// A cell is not what the schema declares.
    #[error("{place}: {source}")]
    Cell { place: Place, source: Box<CellError> },
    /// A cell of a column is not what can be made of it.
    #[error("{}, column `{column}`: {source}", file.display())]
    CellOf { file: PathBuf, column: String, source: Box<CellError> },
    /// The network that makes features of a column cannot be used.
    #[error("column `{}`: {source}", shortened(column))]
    Network { column: String, source: Box<NetworkError> },
    /// A notation was declared where numbers are read as they are.
    #[error("scale `{scale}` takes plain numbers: no decimal mark and no order of dates can be declared")]
    PlainNumbers { scale: Scale },
    /// A schema leaves a column to constants that are derived, and another scale takes rows as they are.
    #[error("column `{shown}` is `derived` in the schema, which takes scale `auto`, got `{scale}`", shown = shortened(column))]
    DerivedBesideScale { column: String, scale: Scale },
    /// The features that were asked for are not those of the schema.
    #[error("{}: the features are those of the schema and cannot be chosen apart from it", file.display())]
    FeaturesBesideSchema { file: PathBuf },
    /// What was seen does not make a schema.
    #[error("{}: no schema can be proposed: {reason}", file.display())]
    NoProposal { file: PathBuf, reason: String },
    /// The format has no use for a schema.
    #[error(
        "{}: a schema serves CSV, JSON lines, Parquet, NPY, NPZ and IDX files; the features of libsvm files are numbers already",
        file.display()
    )]
    NoSchema { file: PathBuf },
    /// Two columns have the same name.
    #[error("{}: two columns are called `{column}`", file.display())]
    DuplicateColumn { file: PathBuf, column: String },
    /// A column was asked for in two roles, or twice in one.
    #[error("{}: column `{column}` {}", file.display(), two_roles(first, second))]
    ColumnUsedTwice { file: PathBuf, column: String, first: &'static str, second: &'static str },
    /// A column without a name would have become a feature.
    #[error("{}: column {number} has no name in the header line", file.display())]
    UnnamedColumn { file: PathBuf, number: usize },
    /// No column is left to be a feature.
    #[error("{}: no feature columns", file.display())]
    NoFeatures { file: PathBuf },
    /// There is not a single row.
    #[error("{}: no rows", file.display())]
    Empty { file: PathBuf },
    /// A line has more or fewer cells than the header.
    #[error("{place}: {found} cells, the header has {expected}{}", spanning(*n_lines))]
    LineLength { place: Place, found: usize, expected: usize, n_lines: u64 },
    /// A cell that must hold something is empty.
    #[error("{place}: empty cell")]
    EmptyCell { place: Place },
    /// A feature is not a number.
    #[error("{place}: features must be numbers, got `{shown}`{}", also(others), shown = shortened(value))]
    NotANumber { place: Place, value: String, others: Vec<String> },
    /// A feature is NaN or infinite.
    #[error("{place}: features must be finite, got `{shown}`", shown = shortened(value))]
    NotFinite { place: Place, value: String },
    /// A weight is no number of rows.
    #[error("{place}: a row counts as 0 to {MOST_ROW_WEIGHT} rows, got `{shown}`", shown = shortened(value))]
    BadWeight { place: Place, value: String },
    /// A text is not valid UTF-8 or Unicode.
    #[error("{}: {what} is not valid Unicode", file.display())]
    NotUnicode { file: PathBuf, what: String },
    /// Two rows have the same id; `None`: it is not known any more.
    #[error("{place}: row id{} is already that of {}", quoted(id.as_ref()), seen_from(first, place))]
    DuplicateId { place: Place, id: Option<RowId>, first: Place },
    /// Labels, ids or subjects are not one per row.
    #[error("{}: {found} {what}, but there are {expected} rows", file.display())]
    LengthMismatch { file: PathBuf, what: &'static str, found: u64, expected: u64 },
    /// The file is not of the kind that its name says, or it is damaged.
    #[error("{}: not a readable {format} file: {reason}", file.display())]
    NotReadable { file: PathBuf, format: &'static str, reason: String },
    /// A cell is longer than any that means something.
    #[error("{place}: a cell of {found} bytes, at most {limit} can be read")]
    LongCell { place: Place, found: usize, limit: usize },
    /// A line is not of the form that its format asks for.
    #[error("{place}: {reason}")]
    BadLine { place: Place, reason: String },
    /// A format that brings its own labels, and has neither ids nor subjects, was asked for a column of them.
    #[error(
        "{}: no column can be the {role}, got `{column}`; the file's own labels are used and its rows are numbered",
        file.display()
    )]
    NoSuchRole { file: PathBuf, role: &'static str, column: String },
    /// The rows do not fit in memory at once.
    #[error("{}: {n_rows} rows of {dim} features do not fit in memory", file.display())]
    TooLarge { file: PathBuf, n_rows: u64, dim: usize },
    /// Rows of a few values each would become a table many times larger than the file.
    #[error(
        "{}: {n_rows} rows of {dim} features take {found} bytes as a dense table; for a file of this size the limit is {limit}",
        file.display()
    )]
    TooSparse { file: PathBuf, n_rows: u64, dim: usize, found: u64, limit: u64 },
    /// Rows have more features, or lines more cells, than any table that could be learned from.
    #[error("{}: {found} columns, at most {limit} can be read", file.display())]
    TooWide { file: PathBuf, found: u64, limit: usize },
    /// A cell that must hold something is null.
    #[error("{place}: missing value (null)")]
    Null { place: Place },
    /// A list of features is longer or shorter than that of the first row.
    #[error("{place}: {found} values in the list, the first row has {expected}")]
    ListLength { place: Place, found: usize, expected: usize },
    /// A column's type cannot be read in this role.
    #[error("{}: column `{column}` of type {found} cannot be read as {role}; supported are {supported}", file.display())]
    ColumnType { file: PathBuf, column: String, found: String, role: &'static str, supported: &'static str },
    /// The array's element type cannot be read in this role.
    #[error("{}: element type `{found}` cannot be read as {role}; supported are {supported}", file.display())]
    UnsupportedType { file: PathBuf, found: String, role: &'static str, supported: &'static str },
    /// The array has the wrong number of axes or columns.
    #[error("{}: shape is {found}, expected {expected}", file.display())]
    Shape { file: PathBuf, found: String, expected: String },
    /// The header announces more data than the file holds.
    #[error("{}: truncated: {found} bytes of data, the header announces {expected}", file.display())]
    Truncated { file: PathBuf, expected: u128, found: u64 },
    /// The file goes on after the data that its header announces.
    #[error("{}: data goes on after the {expected} bytes that the header announces", file.display())]
    TrailingData { file: PathBuf, expected: u64 },
}

impl ReadError {
    /// The same error, of a weight that stands in this column.
    pub(crate) fn of_weight(mut self, column: Option<&str>) -> Self {
        if let Self::BadWeight { place, .. } = &mut self {
            place.column = place.column.take().or(column.map(str::to_owned));
        }
        self
    }

    /// The same error, of a column that is expected `by` others than a model.
    pub(crate) fn expected_by(mut self, by: Option<ExpectedBy>) -> Self {
        if let (Self::SchemaColumn { expected_by, .. }, Some(by)) = (&mut self, by) {
            *expected_by = by;
        }
        self
    }
}

/// Who expects a column in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpectedBy {
    /// A schema of the user's has an entry for it.
    Schema,
    /// It was there when the model was trained.
    Model,
    /// It is in the first of several files.
    FirstFile,
}

impl fmt::Display for ExpectedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Schema => "the schema names",
            Self::Model => "the model was trained with",
            Self::FirstFile => "the first file has",
        })
    }
}

const SUPPORTED: &str = ".csv, .tsv, .txt, .jsonl, .ndjson, .npy, .npz, .parquet, .svm, .libsvm and .idx, \
    and all but .npz and .parquet gzipped (.gz)";

fn also(others: &[String]) -> String {
    if others.is_empty() { String::new() } else { format!("; no numbers either: {}", listed(others)) }
}

fn two_roles(first: &str, second: &str) -> String {
    if first == second { format!("is named twice as {first}") } else { format!("cannot be both {first} and {second}") }
}

fn seemingly(looks_like: Option<Binary>) -> String {
    looks_like.map_or_else(String::new, |binary| format!(" (it looks like {binary})"))
}

fn spanning(n_lines: u64) -> String {
    if n_lines > 1 { format!("; the row spans {n_lines} lines: is a quote not closed?") } else { String::new() }
}

fn quoted(id: Option<&RowId>) -> String {
    id.map_or_else(String::new, |id| format!(" `{}`", shortened(&id.to_string())))
}

/// A row, without the name of its file for whoever is in that file.
fn seen_from(row: &Place, place: &Place) -> String {
    if row.file == place.file { row.row.to_string() } else { row.to_string() }
}
