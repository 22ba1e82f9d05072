//! What to do about a table that cannot be read.

use std::path::Path;

use efface_data::{Binary, CellError, FirstLine, NetworkError, ReadError};

/// The hint for a network that cannot be used.
pub(super) fn for_network(error: &NetworkError) -> Option<&'static str> {
    matches!(error, NetworkError::NotFound { .. }).then_some(
        "bring the network's file back, or name its folder: --networks FOLDER (it is in DIR/networks of the model directory)",
    )
}

/// The hint for an error of reading a table.
pub(super) fn hint(error: &ReadError) -> Option<&'static str> {
    Some(match error {
        ReadError::UnknownExtension { file, looks_like } => {
            return by_ending(file).or_else(|| looks_like.map(instead_of)).or(Some(NAME_IT));
        }
        ReadError::NotText { looks_like, .. } => instead_of(*looks_like),
        ReadError::MissingColumn { first_line, .. } => match first_line {
            FirstLine::Row => "the first line must name the columns, and this one looks like a row",
            FirstLine::Title => "the first line must name the columns; are there title lines above it?",
            FirstLine::Names => return None,
        },
        ReadError::LineLength { .. } => {
            "look for title lines above the header, a summary line at the end, or a delimiter inside a cell without quotes"
        }
        ReadError::DuplicateId { .. } => UNIQUE_IDS,
        ReadError::EmptyCell { .. } | ReadError::Null { .. } => super::FILL_IN,
        ReadError::LongCell { .. } => {
            "is a quote not closed? A cell this long is no feature: drop the column from the file"
        }
        ReadError::NotUnicode { .. } => "--encoding NAME says what the text is in, as in --encoding latin1",
        ReadError::NotANumber { .. } => {
            "--scale auto takes texts as categories, and so does a schema (`efface schema`); a column that is no \
             feature is named by --id, --subject or --ignore, or left out of --features"
        }
        ReadError::NoProposal { .. } => "leave columns out with --ignore",
        ReadError::PlainNumbers { .. } => "leave out --decimal and --dates, or train with --scale auto",
        ReadError::DerivedBesideScale { .. } => {
            "leave out --scale, or declare what the column becomes (`efface schema --public` proposes ranges and values)"
        }
        ReadError::ColumnType { .. } => "leave it out with --ignore",
        ReadError::Network { source, .. } => return for_network(source),
        ReadError::Cell { source, .. } | ReadError::CellOf { source, .. } => match **source {
            CellError::TwoMarks { .. } => super::WHICH_MARK,
            CellError::Missing => {
                "in the schema, give the column missing = \"slot\", \"zero\" or { value = … }, or leave the row out"
            }
            CellError::Undeclared { .. } => {
                "in the schema, add it to the column's values, or give the column unknown = \"slot\""
            }
            CellError::NotANumber { .. } => {
                "in the schema, a text that means a missing value is one of the missing_markers"
            }
            _ => return None,
        },
        _ => return None,
    })
}

pub(super) const UNIQUE_IDS: &str = "--id must name a column in which every row has its own value";

/// What to do with a file of another kind.
fn instead_of(binary: Binary) -> &'static str {
    match binary {
        Binary::Gzip => "unpack it with `gunzip`, or let its name end in .csv.gz",
        Binary::Zip | Binary::OldWorkbook => SPREADSHEET,
        Binary::Zstd => "unpack it with `zstd -d`",
        Binary::Bzip2 => "unpack it with `bunzip2`",
        Binary::Xz => "unpack it with `unxz`",
        Binary::Pdf => "export the table as CSV",
        Binary::Parquet => "let its name end in .parquet",
        Binary::Npy => "let its name end in .npy",
        _ => NAME_IT,
    }
}

fn by_ending(file: &Path) -> Option<&'static str> {
    let ending = file.extension()?.to_str()?.to_ascii_lowercase();
    Some(match ending.as_str() {
        "xlsx" | "xls" | "xlsm" | "xlsb" | "ods" | "numbers" => SPREADSHEET,
        "json" => "write one object per line, and let the name end in .jsonl",
        "gz" => "the name must also say what is inside, as in people.csv.gz",
        "zip" | "tar" | "tgz" => "unpack it first",
        "feather" | "arrow" | "pkl" | "pickle" | "h5" | "sqlite" | "db" => "export the table as Parquet or CSV",
        _ => return None,
    })
}

const SPREADSHEET: &str = "save the sheet as CSV from the spreadsheet program";
const NAME_IT: &str = "if it is text with a header, let its name end in .csv, or read it from standard input (`-`)";
