//! Errors of schemas: the file, its entries, and cells that are not what an entry declares.

use std::io;
use std::path::PathBuf;

use super::network::NetworkError;
use crate::schema::{FORMAT, MAX_FEATURES};
use crate::table::shortened;

/// A schema file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// The operating system refused.
    #[error("{}: {source}", file.display())]
    Io { file: PathBuf, source: io::Error },
    /// The file is larger than any schema.
    #[error("{}: larger than the {limit} bytes that a schema may have", file.display())]
    TooLarge { file: PathBuf, limit: u64 },
    /// The file is not text.
    #[error("{}: a schema is a text in UTF-8, and this is not", file.display())]
    NotUnicode { file: PathBuf },
    /// The text is not TOML, or a key is unknown or of the wrong type.
    #[error("{}{}: {reason}", file.display(), at_line(*line))]
    Syntax { file: PathBuf, line: Option<usize>, reason: String },
    /// The entries contradict themselves or each other.
    #[error("{}: {source}", file.display())]
    Invalid { file: PathBuf, source: Box<InvalidSchema> },
    /// A network that an entry names cannot be used.
    #[error("{}: column `{}`: {source}", file.display(), shortened(column))]
    Network { file: PathBuf, column: String, source: Box<NetworkError> },
    /// What stands in the statement of a network is none.
    #[error("{}: column `{}`: {}: not a statement: {reason}", file.display(), shortened(column), statement.display())]
    Statement { file: PathBuf, column: String, statement: PathBuf, reason: String },
    /// The place where a schema is to be written is taken.
    #[error("{} exists already", file.display())]
    Exists { file: PathBuf },
}

/// What is wrong with a schema, wherever it comes from.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidSchema {
    /// The form is of another version.
    #[error("schema format `{found}` is unknown; this program reads `{FORMAT}`")]
    UnknownFormat { found: String },
    /// There is no entry.
    #[error("a schema needs at least one [[column]]")]
    NoColumns,
    /// An entry is for no column.
    #[error("[[column]] number {number} has an empty name")]
    Unnamed { number: usize },
    /// Two entries are for one column.
    #[error("column `{column}` has two entries")]
    DuplicateColumn { column: String },
    /// A column is a feature and has another role.
    #[error("column `{column}` has an entry and is the {role}; delete one of the two")]
    HasRole { column: String, role: &'static str },
    /// A kind, or what to do with a value, is unknown.
    #[error("column `{column}`: {key} must be {allowed}, got `{found}`")]
    UnknownChoice { column: String, key: &'static str, allowed: &'static str, found: String },
    /// Something would be computed from the rows. `place` names the column, or is empty.
    #[error(
        "{place}`{what}` is fitted on the rows: a mean, deviation, quantile or extreme computed from them still depends \
         on those removed later, which no certificate could cover; write kind = \"derived\", whose constants are those of \
         the rows that are left, or declare public ones: kind = \"numeric\" with range = [low, high]"
    )]
    Fitted { place: String, what: String },
    /// An entry lacks what its kind needs.
    #[error("column `{column}`: kind `{kind}` needs {needed}")]
    Needs { column: String, kind: &'static str, needed: &'static str },
    /// An entry has what its kind has no use for.
    #[error("column `{column}`: `{key}` does not belong to kind `{kind}`")]
    Foreign { column: String, kind: &'static str, key: &'static str },
    /// A range is empty, reversed or not finite.
    #[error("column `{column}`: range must be two finite numbers, the lower one first, got `[{low}, {high}]`")]
    Range { column: String, low: f64, high: f64 },
    /// No values, or no spellings.
    #[error("column `{column}`: `{key}` must name at least one value")]
    NoValues { column: String, key: &'static str },
    /// A value is declared twice.
    #[error("column `{column}`: value `{value}` is declared twice")]
    DuplicateValue { column: String, value: String },
    /// A declared value counts as missing.
    #[error("column `{column}`: value `{value}` is declared, but it counts as missing")]
    ValueIsMissing { column: String, value: String },
    /// A number of features is zero or too large.
    #[error("column `{column}`: `{key}` must be between 1 and {MAX_FEATURES}, got `{found}`")]
    Size { column: String, key: &'static str, found: u64 },
    /// There is no such map.
    #[error("column `{column}`: {source}")]
    Map { column: String, source: efface_features::BuildError },
    /// There is no such layer.
    #[error("[fourier]: {source}")]
    Layer { source: efface_features::BuildError },
    /// A layer is fixed when the rows come in, and what is derived is not.
    #[error(
        "[fourier] takes features that are fixed, and column `{column}` is derived from the rows; declare what it becomes, \
         such as kind = \"numeric\" with range = [low, high]"
    )]
    LayerOnDerived { column: String },
    /// A statement is about another network.
    #[error("column `{column}`: its statement is about the network with SHA-256 {stated}, and this one has {found}")]
    OtherNetwork { column: String, stated: String, found: String },
    /// A network was trained on the rows, and is called something else.
    #[error(
        "column `{column}`: a network with a statement was trained on the rows, and its origin is not `{origin}`; leave out one of both"
    )]
    StatedOrigin { column: String, origin: String },
    /// Two networks saw the rows, and one extractor can be in a promise.
    #[error("column `{column}`: a second private network; what one costs can be in a promise, and not what two do")]
    TwoPrivate { column: String },
    /// All entries together make too many features.
    #[error("the columns make {found} features, at most {MAX_FEATURES} are allowed")]
    TooManyFeatures { found: u64 },
    /// Two features would have one name.
    #[error("two features would be called `{feature}`")]
    DuplicateFeature { feature: String },
    /// What takes the place of a missing value is no value of the column.
    #[error("column `{column}`: missing = {{ value = {value} }} is no value of this column; {reason}")]
    MissingValue { column: String, value: String, reason: &'static str },
}

/// A cell is not what its column's entry declares.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CellError {
    /// Nothing stands there, and nothing is declared for that case.
    #[error("missing value, which the schema does not allow here")]
    Missing,
    /// Not a number.
    #[error("the schema declares numbers, got `{shown}`", shown = shortened(value))]
    NotANumber { value: String },
    /// A number that can be read in two ways, in a file that has numbers for both.
    #[error("`{shown}` does not fit the numbers before it: with decimal commas and points in one file, `1.234` can be read in two ways", shown = shortened(value))]
    TwoMarks { value: String },
    /// NaN or infinite.
    #[error("numbers must be finite, got `{shown}`", shown = shortened(value))]
    NotFinite { value: String },
    /// Not among the declared values.
    #[error("`{shown}` is not among the values that the schema declares: {known}", shown = shortened(value))]
    Undeclared { value: String, known: String },
    /// Neither true nor false.
    #[error("`{shown}` is none of the spellings of true and false that the schema declares: {known}", shown = shortened(value))]
    NotABoolean { value: String, known: String },
    /// Not a list.
    #[error("the schema declares a list of numbers, as in a Parquet column, got `{shown}`", shown = shortened(value))]
    NotAList { value: String },
    /// A list where none is declared.
    #[error("a list of {found} values, which only kind `vector` can read")]
    List { found: usize },
    /// A list of another length.
    #[error("{found} values in the list, expected {expected}")]
    ListLength { found: usize, expected: usize },
    /// Bytes where none are declared.
    #[error("bytes, which only images can be read from")]
    Bytes,
    /// No image.
    #[error(
        "not an image: `{shown}`; images are lists of pixels, bytes of PNG or JPEG files in a Parquet column, or names of such \
         files",
        shown = shortened(value)
    )]
    NotAnImage { value: String },
    /// Nothing stands there.
    #[error("no image")]
    NoImage,
    /// A pixel of a list that is no byte.
    #[error("pixels must be whole numbers from 0 to 255, got `{value}`")]
    NotAByte { value: String },
    /// The name of a file that is not beside the table.
    #[error("`{shown}` leads out of the table's folder; pictures are named from there", shown = shortened(value))]
    Elsewhere { value: String },
    /// A picture cannot be read.
    #[error("`{shown}`: {reason}", shown = shortened(value))]
    Picture { value: String, reason: String },
    /// Bytes that are no picture of the declared size.
    #[error(transparent)]
    Image(efface_images::ImageError),
    /// A map cannot take it.
    #[error(transparent)]
    Map(efface_features::ApplyError),
    /// A network cannot take it.
    #[error(transparent)]
    Network(efface_onnx::RunError),
}

fn at_line(line: Option<usize>) -> String {
    line.map_or(String::new(), |line| format!(", line {line}"))
}
