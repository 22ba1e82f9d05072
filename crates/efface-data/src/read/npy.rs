//! NumPy arrays: rows × features, with labels, ids and subjects in one-dimensional arrays of their own.

use std::collections::HashSet;
use std::io::{ErrorKind, Read};
use std::path::Path;

use super::Input;
use super::npy_elements::{ElementType, Elements};
use super::npy_header::Header;
use crate::columns::Columns;
use crate::error::ReadError;
use crate::id::RowId;
use crate::place::Origin;
use crate::table::{Labels, RawLabels, Table, TableParts, listed};
use crate::values::FeatureValues;

/// Reads a table; features are called `x0`, `x1`, …
pub(super) fn read(path: &Path, columns: &Columns) -> Result<Table, ReadError> {
    let (header, element, mut input) = open(path, "features", NUMBERS)?;
    let &[n_rows, dim] = header.shape.as_slice() else {
        let expected = "two axes (rows, features)".to_owned();
        return Err(ReadError::Shape { file: path.into(), found: header.shape_text(), expected });
    };
    if n_rows == 0 {
        return Err(ReadError::Empty { file: path.into() });
    }
    if dim == 0 {
        return Err(ReadError::NoFeatures { file: path.into() });
    }
    if element.is_text() {
        return Err(unsupported(path, &header, "features", NUMBERS));
    }
    // The data fits in the file, so its size fits in memory's address range.
    let (n_rows, dim) = (n_rows as usize, dim as usize);
    let feature_names: Vec<String> = (0..dim).map(|feature| format!("x{feature}")).collect();
    refuse_selection(path, columns, &feature_names)?;
    let n_bytes = (n_rows * dim * element.n_bytes()) as u64;
    let read = element.read_numbers(&mut input, n_rows * dim);
    let mut features = read.map_err(|error| failed(path, &header, &input, n_bytes, error))?;
    refuse_more(path, &mut input, n_bytes)?;
    if header.fortran_order {
        features = transposed(&features, n_rows, dim);
    }

    let column =
        |file: &Option<String>, what| file.as_ref().map(|file| read_column(Path::new(file), what, n_rows)).transpose();
    let labels = column(&columns.label, "labels")?.map(raw_labels);
    let labels = labels.zip(columns.label.as_ref()).map(|(raw, file)| Labels::new(raw, Origin::new(file), None));
    let ids = column(&columns.id, "row ids")?.map(|ids| row_ids(ids, columns.id.as_deref())).transpose()?;
    let subjects = column(&columns.subject, "subjects")?;
    let subjects = subjects.map(|subjects| row_ids(subjects, columns.subject.as_deref())).transpose()?;
    Table::new(TableParts { feature_names, features, labels, ids, subjects, origin: Origin::new(path) })
}

/// Opens an array and checks that the file can hold what its header announces.
fn open(path: &Path, role: &'static str, supported: &'static str) -> Result<(Header, ElementType, Input), ReadError> {
    let mut input = Input::open(path)?;
    let header = Header::read(path, &mut input)?;
    let element = ElementType::parse(&header.descr).ok_or_else(|| unsupported(path, &header, role, supported))?;
    let expected = header.n_elements().and_then(|n| n.checked_mul(element.n_bytes() as u128)).unwrap_or(u128::MAX);
    let found = input.max_bytes.saturating_sub(header.n_bytes);
    if expected > u128::from(found) {
        return Err(ReadError::Truncated { file: path.into(), expected, found });
    }
    Ok((header, element, input))
}

/// Reads a one-dimensional array with one element per row.
fn read_column(path: &Path, what: &'static str, n_rows: usize) -> Result<Elements, ReadError> {
    let (header, element, mut input) = open(path, what, ANYTHING)?;
    // A column vector, (n, 1), is as good.
    let &([length] | [length, 1]) = header.shape.as_slice() else {
        let expected = format!("one axis ({n_rows},)");
        return Err(ReadError::Shape { file: path.into(), found: header.shape_text(), expected });
    };
    if length != n_rows as u64 {
        return Err(ReadError::LengthMismatch { file: path.into(), what, found: length, expected: n_rows as u64 });
    }
    let n_bytes = (n_rows * element.n_bytes()) as u64;
    let read = element.read_elements(&mut input, n_rows);
    let elements = read.map_err(|error| failed(path, &header, &input, n_bytes, error))?;
    refuse_more(path, &mut input, n_bytes)?;
    Ok(elements)
}

fn raw_labels(elements: Elements) -> RawLabels {
    match elements {
        Elements::Booleans(labels) => RawLabels::Text(labels.iter().map(bool::to_string).collect()),
        Elements::Integers(labels) => RawLabels::Numbers(labels.iter().map(|label| *label as f64).collect()),
        Elements::Numbers(labels) => RawLabels::Numbers(labels),
        Elements::Texts(labels) => RawLabels::Text(labels),
    }
}

fn row_ids(elements: Elements, file: Option<&str>) -> Result<Vec<RowId>, ReadError> {
    match elements {
        Elements::Integers(ids) => Ok(ids.into_iter().map(RowId::Integer).collect()),
        Elements::Texts(ids) => Ok(ids.into_iter().map(RowId::from).collect()),
        Elements::Booleans(_) | Elements::Numbers(_) => Err(ReadError::UnsupportedType {
            file: file.unwrap_or_default().into(),
            found: "bool or float".to_owned(),
            role: "ids",
            supported: "integers and text",
        }),
    }
}

/// The columns of an array have no names of their own, so features can be named but not chosen: an array of another
/// width than the model's is an error, not a selection.
fn refuse_selection(path: &Path, columns: &Columns, feature_names: &[String]) -> Result<(), ReadError> {
    if columns.features.is_none() && columns.ignore.is_empty() {
        return Ok(());
    }
    let asked = columns.features.as_deref().unwrap_or(feature_names);
    let known: HashSet<&String> = feature_names.iter().collect();
    if let Some(missing) = asked.iter().chain(&columns.ignore).find(|name| !known.contains(name)) {
        let (column, known) = (missing.clone(), listed(feature_names));
        return Err(ReadError::MissingColumn { file: path.into(), column, known });
    }
    if asked.len() != feature_names.len() || !columns.ignore.is_empty() {
        let expected = format!("{} columns; the columns of an array cannot be left out", asked.len());
        return Err(ReadError::Shape {
            file: path.into(),
            found: format!("{} columns", feature_names.len()),
            expected,
        });
    }
    Ok(())
}

fn refuse_more(path: &Path, input: &mut Input, expected: u64) -> Result<(), ReadError> {
    // Not `read_exact`: its error at the end would hide that of a compressed file that lacks its checksum.
    match input.take(1).read_to_end(&mut Vec::new()) {
        Ok(0) => Ok(()),
        Ok(_) => Err(ReadError::TrailingData { file: path.into(), expected }),
        Err(source) => Err(ReadError::Io { file: path.into(), source }),
    }
}

fn failed(path: &Path, header: &Header, input: &Input, n_bytes: u64, error: std::io::Error) -> ReadError {
    match error.kind() {
        ErrorKind::UnexpectedEof => {
            let found = input.bytes_read.saturating_sub(header.n_bytes);
            ReadError::Truncated { file: path.into(), expected: u128::from(n_bytes), found }
        }
        ErrorKind::InvalidData if header.descr.contains(['U', 'S']) => {
            ReadError::NotUnicode { file: path.into(), what: "an element".to_owned() }
        }
        _ => ReadError::Io { file: path.into(), source: error },
    }
}

fn unsupported(path: &Path, header: &Header, role: &'static str, supported: &'static str) -> ReadError {
    ReadError::UnsupportedType { file: path.into(), found: header.descr.clone(), role, supported }
}

/// Column-major to row-major.
fn transposed(values: &FeatureValues, n_rows: usize, dim: usize) -> FeatureValues {
    fn transpose<T: Copy + Default>(values: &[T], n_rows: usize, dim: usize) -> Vec<T> {
        // Square tiles, so that both sides stay in cache.
        const TILE: usize = 32;
        let mut out = vec![T::default(); values.len()];
        for first_row in (0..n_rows).step_by(TILE) {
            for first_column in (0..dim).step_by(TILE) {
                for row in first_row..n_rows.min(first_row + TILE) {
                    for column in first_column..dim.min(first_column + TILE) {
                        out[row * dim + column] = values[column * n_rows + row];
                    }
                }
            }
        }
        out
    }
    match values {
        FeatureValues::F32(values) => FeatureValues::F32(transpose(values, n_rows, dim)),
        FeatureValues::F64(values) => FeatureValues::F64(transpose(values, n_rows, dim)),
    }
}

const NUMBERS: &str = "bool, int8 to int64, uint8 to uint64, float16, float32 and float64";
const ANYTHING: &str = "bool, int8 to int64, uint8 to uint64, float16, float32, float64, str and bytes";
