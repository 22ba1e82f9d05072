//! Errors of schemas: the file, its entries, and cells that are not what an entry declares.

use std::io;
use std::path::PathBuf;

use crate::schema::{FORMAT, MAX_FEATURES};

/// A schema file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// The operating system refused.
    #[error("{}: {source}", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// The file is larger than any schema.
    #[error("{}: larger than the {limit} bytes that a schema may have", file.display())]
    TooLarge {
        /// The file.
        file: PathBuf,
        /// The limit.
        limit: u64,
    },
    /// The file is not text.
    #[error("{}: a schema is a text in UTF-8, and this is not", file.display())]
    NotUnicode {
        /// The file.
        file: PathBuf,
    },
    /// The text is not TOML, or a key is unknown or of the wrong type.
    #[error("{}{}: {reason}", file.display(), at_line(*line))]
    Syntax {
        /// The file.
        file: PathBuf,
        /// The line, from 1, where it is known.
        line: Option<usize>,
        /// What is wrong there.
        reason: String,
    },
    /// The entries contradict themselves or each other.
    #[error("{}: {source}", file.display())]
    Invalid {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        source: Box<InvalidSchema>,
    },
    /// The place where a schema is to be written is taken.
    #[error("{} exists already", file.display())]
    Exists {
        /// The file.
        file: PathBuf,
    },
}

/// What is wrong with a schema, wherever it comes from.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidSchema {
    /// The form is of another version.
    #[error("schema format `{found}` is unknown; this program reads `{FORMAT}`")]
    UnknownFormat {
        /// The tag that was found.
        found: String,
    },
    /// There is no entry.
    #[error("a schema needs at least one [[column]]")]
    NoColumns,
    /// An entry is for no column.
    #[error("[[column]] number {number} has an empty name")]
    Unnamed {
        /// Which entry, from 1.
        number: usize,
    },
    /// Two entries are for one column.
    #[error("column `{column}` has two entries")]
    DuplicateColumn {
        /// The column.
        column: String,
    },
    /// A column is a feature and has another role.
    #[error("column `{column}` has an entry and is the {role}; delete one of the two")]
    HasRole {
        /// The column.
        column: String,
        /// The other role.
        role: &'static str,
    },
    /// A kind, or what to do with a value, is unknown.
    #[error("column `{column}`: {key} must be {allowed}, got `{found}`")]
    UnknownChoice {
        /// The column.
        column: String,
        /// The key.
        key: &'static str,
        /// What it can be.
        allowed: &'static str,
        /// What it is.
        found: String,
    },
    /// Something would be computed from the rows.
    #[error(
        "{place}`{what}` is fitted on the rows: a mean, deviation, quantile or extreme computed from them still depends \
         on those removed later, which no certificate could cover; declare a public constant instead, such as \
         kind = \"numeric\" with range = [low, high]"
    )]
    Fitted {
        /// The column, as the beginning of the message, or nothing.
        place: String,
        /// What was asked for.
        what: String,
    },
    /// An entry lacks what its kind needs.
    #[error("column `{column}`: kind `{kind}` needs {needed}")]
    Needs {
        /// The column.
        column: String,
        /// Its kind.
        kind: &'static str,
        /// The key, with an example.
        needed: &'static str,
    },
    /// An entry has what its kind has no use for.
    #[error("column `{column}`: `{key}` does not belong to kind `{kind}`")]
    Foreign {
        /// The column.
        column: String,
        /// Its kind.
        kind: &'static str,
        /// The key.
        key: &'static str,
    },
    /// A range is empty, reversed or not finite.
    #[error("column `{column}`: range must be two finite numbers, the lower one first, got `[{low}, {high}]`")]
    Range {
        /// The column.
        column: String,
        /// Lower end.
        low: f64,
        /// Upper end.
        high: f64,
    },
    /// No values, or no spellings.
    #[error("column `{column}`: `{key}` must name at least one value")]
    NoValues {
        /// The column.
        column: String,
        /// The key.
        key: &'static str,
    },
    /// A value is declared twice.
    #[error("column `{column}`: value `{value}` is declared twice")]
    DuplicateValue {
        /// The column.
        column: String,
        /// The value.
        value: String,
    },
    /// A declared value counts as missing.
    #[error("column `{column}`: value `{value}` is declared, but it counts as missing")]
    ValueIsMissing {
        /// The column.
        column: String,
        /// The value.
        value: String,
    },
    /// A number of features is zero or too large.
    #[error("column `{column}`: `{key}` must be between 1 and {MAX_FEATURES}, got `{found}`")]
    Size {
        /// The column.
        column: String,
        /// The key.
        key: &'static str,
        /// The number.
        found: u64,
    },
    /// All entries together make too many features.
    #[error("the columns make {found} features, at most {MAX_FEATURES} are allowed")]
    TooManyFeatures {
        /// How many there would be.
        found: u64,
    },
    /// Two features would have one name.
    #[error("two features would be called `{feature}`")]
    DuplicateFeature {
        /// Their name.
        feature: String,
    },
    /// What takes the place of a missing value is no value of the column.
    #[error("column `{column}`: missing = {{ value = {value} }} is no value of this column; {reason}")]
    MissingValue {
        /// The column.
        column: String,
        /// The value.
        value: String,
        /// Why not.
        reason: &'static str,
    },
}

/// A cell is not what its column's entry declares.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CellError {
    /// Nothing stands there, and nothing is declared for that case.
    #[error("missing value, which the schema does not allow here")]
    Missing,
    /// Not a number.
    #[error("the schema declares numbers, got `{value}`")]
    NotANumber {
        /// What stands there.
        value: String,
    },
    /// NaN or infinite.
    #[error("numbers must be finite, got `{value}`")]
    NotFinite {
        /// What stands there.
        value: String,
    },
    /// Not among the declared values.
    #[error("`{value}` is not among the values that the schema declares: {known}")]
    Undeclared {
        /// What stands there.
        value: String,
        /// The declared ones.
        known: String,
    },
    /// Neither true nor false.
    #[error("`{value}` is none of the spellings of true and false that the schema declares: {known}")]
    NotABoolean {
        /// What stands there.
        value: String,
        /// The declared ones.
        known: String,
    },
    /// Not a list.
    #[error("the schema declares a vector, got `{value}`; vectors are lists of numbers in a Parquet column")]
    NotAList {
        /// What stands there.
        value: String,
    },
    /// A list where none is declared.
    #[error("a list of {found} values, which only kind `vector` can read")]
    List {
        /// Its length.
        found: usize,
    },
    /// A list of another length.
    #[error("{found} values in the list, the schema declares {expected}")]
    ListLength {
        /// Values of this row.
        found: usize,
        /// `dim` of the entry.
        expected: usize,
    },
}

fn at_line(line: Option<usize>) -> String {
    line.map_or(String::new(), |line| format!(", line {line}"))
}
