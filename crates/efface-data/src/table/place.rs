//! Where a value stands in the input, so that an error can point at it: file, line or row, column.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where a whole table or column of labels comes from. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Origin {
    file: Arc<Path>,
    /// Line of each row; `None` where rows are counted from 0.
    lines: Option<Arc<Vec<u64>>>,
    first_row: u64,
}

impl Origin {
    /// A file whose rows are counted from 0, or any other source under a name the user will recognise.
    pub fn new(file: impl AsRef<Path>) -> Self {
        Self { file: file.as_ref().into(), lines: None, first_row: 0 }
    }

    /// A text file; `lines[i]` is the line, counted from 1, on which row `i` begins.
    pub fn with_lines(file: impl AsRef<Path>, lines: Vec<u64>) -> Self {
        Self { file: file.as_ref().into(), lines: Some(Arc::new(lines)), first_row: 0 }
    }

    /// The same source from row `first_row` on.
    #[must_use]
    pub fn starting_at(self, first_row: u64) -> Self {
        Self { first_row, ..self }
    }

    /// The number, from 0, of the first row in the whole source.
    pub fn first_row(&self) -> u64 {
        self.first_row
    }

    /// The file's path.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Points at row `row`, and at a column if one is given.
    pub fn place(&self, row: usize, column: Option<&str>) -> Place {
        Place { file: self.file.to_path_buf(), row: self.row_number(row), column: column.map(str::to_owned) }
    }

    /// How people would call row `row` of the file.
    pub fn row_number(&self, row: usize) -> RowNumber {
        match self.lines.as_ref().and_then(|lines| lines.get(row)) {
            Some(line) => RowNumber::Line(*line),
            None => RowNumber::Row(self.first_row.saturating_add(row as u64)),
        }
    }
}

/// One cell or row of the input. Displays as ``people.csv, line 3, column `age` ``.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file, as the user named it.
    pub file: PathBuf,
    /// The row.
    pub row: RowNumber,
    /// The column's name, when one column is meant.
    pub column: Option<String>,
}

/// How people count the rows of a kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowNumber {
    /// Line of a text file, from 1.
    Line(u64),
    /// Row of an array, from 0.
    Row(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.file.display(), self.row)?;
        match &self.column {
            Some(column) => write!(f, ", column `{column}`"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for RowNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Row(row) => write!(f, "row {row}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_reads_like_a_sentence() {
        let text = Origin::with_lines("people.csv", vec![2, 5]);
        assert_eq!(text.place(1, Some("age")).to_string(), "people.csv, line 5, column `age`");
        assert_eq!(Origin::new("x.npy").place(4, None).to_string(), "x.npy, row 4");
        assert_eq!(Origin::new("x.npy").starting_at(100).place(4, None).to_string(), "x.npy, row 104");
    }
}
