//! Sparse text in the format of libsvm: a label, then `index:value` pairs with indices from 1, increasing.
//!
//! ```text
//! +1 3:0.5 17:1    # a comment
//! ```
//!
//! Rows become dense. How wide they are stands nowhere in the file: without a model that knows, a first pass finds the
//! largest index, and a second one reads the rows.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use super::input::{BUFFER_BYTES, Input, Meter};
use super::{MAX_COLUMNS, ReadProgress, TableReader, refuse_selection};
use crate::error::ReadError;
use crate::rows::FeatureValues;
use crate::table::{Columns, Labels, Origin, Place, RawLabels, RowNumber, Table, TableParts};

/// Reads rows; features are called `x1`, `x2`, … after their indices, and labels come from the file itself.
pub(super) struct LibsvmReader {
    lines: Lines,
    feature_names: Vec<String>,
    /// Rows in the file, where a first pass has counted them.
    n_rows: Option<u64>,
    rows_read: u64,
}

impl LibsvmReader {
    pub(super) fn open(path: &Path, columns: &Columns) -> Result<Self, ReadError> {
        for (option, role) in
            [(&columns.label, "label"), (&columns.id, "id"), (&columns.subject, "subject"), (&columns.weight, "weight")]
        {
            if let Some(column) = option {
                return Err(ReadError::NoSuchRole { file: path.into(), role, column: column.clone() });
            }
        }
        let (dim, n_rows) = match &columns.features {
            Some(names) => (names.len(), None),
            None => widest(path).map(|(dim, n_rows)| (dim, Some(n_rows)))?,
        };
        if dim == 0 {
            return Err(ReadError::NoFeatures { file: path.into() });
        }
        let feature_names: Vec<String> = (1..=dim).map(feature_name).collect();
        refuse_selection(path, columns, &feature_names, ["columns", "the columns of an array"])?;
        Ok(Self { lines: Lines::open(path)?, feature_names, n_rows, rows_read: 0 })
    }
}

impl TableReader for LibsvmReader {
    fn feature_names(&self) -> &[String] {
        &self.feature_names
    }

    fn next_chunk(&mut self, max_rows: usize) -> Result<Option<Table>, ReadError> {
        let (dim, max_rows) = (self.feature_names.len(), max_rows.max(1));
        let (mut features, mut labels, mut line_numbers) = (Vec::new(), Vec::new(), Vec::new());
        let file = self.lines.path.clone();
        let too_large = |n_rows: u64| ReadError::TooLarge { file: file.clone(), n_rows, dim };
        if let Some(n_rows) = self.n_rows {
            let n = (n_rows - self.rows_read.min(n_rows)).min(max_rows as u64);
            let n_values = usize::try_from(n).ok().and_then(|n| n.checked_mul(dim)).ok_or_else(|| too_large(n))?;
            features.try_reserve_exact(n_values).map_err(|_| too_large(n))?;
        }
        while labels.len() < max_rows {
            let Some(row) = self.lines.next_row()? else { break };
            let start = features.len();
            features.try_reserve(dim).map_err(|_| too_large(labels.len() as u64))?;
            features.resize(start + dim, 0.0);
            labels.push(row.read(&mut features[start..])?);
            line_numbers.push(row.line);
        }
        if labels.is_empty() {
            return if self.rows_read == 0 { Err(ReadError::Empty { file }) } else { Ok(None) };
        }
        features.shrink_to_fit();
        let origin = Origin::with_lines(&file, line_numbers).starting_at(self.rows_read);
        self.rows_read += labels.len() as u64;
        Table::new(TableParts {
            feature_names: self.feature_names.clone(),
            features: FeatureValues::F64(features),
            labels: Some(Labels::new(RawLabels::Numbers(labels), origin.clone(), None)),
            ids: None,
            subjects: None,
            row_weights: None,
            origin,
            texts: None,
        })
        .map(Some)
    }

    fn progress(&self) -> ReadProgress {
        self.lines.meter.progress(self.rows_read)
    }
}

/// Largest index and number of rows. Only the last pair of each line is looked at: the pass that reads the rows refuses
/// indices that do not increase.
fn widest(path: &Path) -> Result<(usize, u64), ReadError> {
    let mut lines = Lines::open(path)?;
    let (mut dim, mut n_rows) = (0, 0);
    while let Some(row) = lines.next_row()? {
        n_rows += 1;
        let mut words = row.text.split_ascii_whitespace();
        words.next();
        if let Some(pair) = words.next_back() {
            dim = dim.max(row.pair(pair)?.0);
        }
    }
    if n_rows == 0 {
        return Err(ReadError::Empty { file: path.into() });
    }
    refuse_sparse(path, n_rows, dim, lines.reader.get_ref().bytes_read)?;
    Ok((dim, n_rows))
}

/// Refuses a few bytes that stand for a large table: an index can be as large as it likes.
fn refuse_sparse(file: &Path, n_rows: u64, dim: usize, text_bytes: u64) -> Result<(), ReadError> {
    let found = n_rows.saturating_mul(8 * dim as u64);
    let limit = text_bytes.saturating_mul(DENSE_BYTES_PER_BYTE).max(DENSE_BYTES);
    if found <= limit { Ok(()) } else { Err(ReadError::TooSparse { file: file.into(), n_rows, dim, found, limit }) }
}

struct Lines {
    path: PathBuf,
    reader: BufReader<Input>,
    meter: Meter,
    line: u64,
    bytes: Vec<u8>,
}

impl Lines {
    fn open(path: &Path) -> Result<Self, ReadError> {
        let input = Input::open(path)?;
        let meter = input.meter();
        let reader = BufReader::with_capacity(BUFFER_BYTES, input);
        Ok(Self { path: path.into(), reader, meter, line: 0, bytes: Vec::new() })
    }

    /// The next line that is neither blank nor a comment.
    fn next_row(&mut self) -> Result<Option<Row<'_>>, ReadError> {
        loop {
            self.bytes.clear();
            let mut limited = (&mut self.reader).take(MAX_LINE_BYTES);
            let n_bytes = limited
                .read_until(b'\n', &mut self.bytes)
                .map_err(|source| ReadError::Io { file: self.path.clone(), source })?;
            if n_bytes == 0 {
                return Ok(None);
            }
            self.line += 1;
            if n_bytes as u64 == MAX_LINE_BYTES {
                let reason = format!("longer than {MAX_LINE_BYTES} bytes");
                return Err(bad_line(&self.path, self.line, reason));
            }
            let end = self.bytes.iter().position(|byte| *byte == b'#').unwrap_or(self.bytes.len());
            if !self.bytes[..end].trim_ascii().is_empty() {
                let Ok(text) = std::str::from_utf8(&self.bytes[..end]) else {
                    return Err(ReadError::NotUnicode { file: self.path.clone(), what: format!("line {}", self.line) });
                };
                return Ok(Some(Row { path: &self.path, line: self.line, text }));
            }
        }
    }
}

struct Row<'a> {
    path: &'a Path,
    line: u64,
    text: &'a str,
}

impl Row<'_> {
    /// Writes the values into a row of zeros and returns the label.
    fn read(&self, into: &mut [f64]) -> Result<f64, ReadError> {
        let mut words = self.text.split_ascii_whitespace();
        let label = words.next().unwrap_or_default();
        let label = match label.parse::<f64>() {
            Ok(number) if number.is_finite() => number,
            _ => return Err(self.bad(format!("the label must be a finite number, got `{label}`"))),
        };
        let mut last = 0;
        for pair in words {
            let (index, value) = self.pair(pair)?;
            if index <= last {
                return Err(self.bad(format!("indices must increase, got `{index}` after `{last}`")));
            }
            let dim = into.len();
            let Some(place) = into.get_mut(index - 1) else {
                return Err(self.bad(format!("index `{index}` is beyond the {dim} features of the model")));
            };
            *place = self.value(index, value)?;
            last = index;
        }
        Ok(label)
    }

    /// Index and value of a pair; the value is not yet a number.
    fn pair<'p>(&self, pair: &'p str) -> Result<(usize, &'p str), ReadError> {
        let Some((index, value)) = pair.split_once(':') else {
            return Err(self.bad(format!("expected `index:value`, got `{}`", shortened(pair))));
        };
        if index == "qid" {
            return Err(self.bad("query ids (`qid:`) are not supported".to_owned()));
        }
        match index.parse() {
            Ok(0) => Err(self.bad("indices count from 1, got `0`".to_owned())),
            Ok(index) if index <= MAX_COLUMNS => Ok((index, value)),
            Ok(index) => Err(self.bad(format!("index `{index}` is too large, the limit is {MAX_COLUMNS}"))),
            Err(_) => Err(self.bad(format!("the index must be a whole number, got `{}`", shortened(index)))),
        }
    }

    fn value(&self, index: usize, value: &str) -> Result<f64, ReadError> {
        match value.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(number),
            parsed => {
                let (row, column) = (RowNumber::Line(self.line), Some(feature_name(index)));
                let (place, value) = (Place { file: self.path.into(), row, column }, shortened(value));
                Err(match parsed {
                    Ok(_) => ReadError::NotFinite { place, value },
                    Err(_) => ReadError::NotANumber { place, value, others: Vec::new() },
                })
            }
        }
    }

    fn bad(&self, reason: String) -> ReadError {
        bad_line(self.path, self.line, reason)
    }
}

fn feature_name(index: usize) -> String {
    format!("x{index}")
}

fn bad_line(file: &Path, line: u64, reason: String) -> ReadError {
    ReadError::BadLine { place: Place { file: file.into(), row: RowNumber::Line(line), column: None }, reason }
}

fn shortened(word: &str) -> String {
    const SHOWN: usize = 40;
    if word.chars().count() <= SHOWN { word.to_owned() } else { word.chars().take(SHOWN).chain(['…']).collect() }
}

/// A longer line is taken for a file of another kind.
const MAX_LINE_BYTES: u64 = 1 << 26;

/// A dense table may take so many bytes, or so many for each byte of the file: the sparsest of the well-known sets take a
/// thousand.
const DENSE_BYTES: u64 = 1 << 30;
const DENSE_BYTES_PER_BYTE: u64 = 1 << 14;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_bytes_do_not_stand_for_a_large_table() {
        let refusal =
            |n_rows, dim, bytes| refuse_sparse(Path::new("a.svm"), n_rows, dim, bytes).map_err(|e| e.to_string());
        assert_eq!(refusal(100, 1 << 20, 1200), Ok(()));
        let text = "a.svm: 400 rows of 1048576 features take 3355443200 bytes as a dense table; for a file of this size the \
                    limit is 1073741824";
        assert_eq!(refusal(400, 1 << 20, 4800), Err(text.into()));
        // RCV1: 47,236 features, of which a row has 73.
        assert_eq!(refusal(804_414, 47_236, 1_200_000_000), Ok(()));
    }
}
