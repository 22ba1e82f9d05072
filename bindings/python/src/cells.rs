//! Cells of tables that are more than numbers: texts, gaps, dates, and what is refused of them.

use efface_data::derived::{MISSING, TextCells, Texts};
use efface_data::{FeatureValues, Scale};
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyList, PyString};

use crate::errors::named;
use crate::rows::{Held, Matrix};

/// Makes raw cells of the cells of a table.
pub(crate) struct Cells {
    /// Whether there may be texts and gaps.
    is_raw: bool,
    texts: TextCells,
}

impl Cells {
    /// Of rows that are scaled like this.
    pub(crate) fn new(scale: Scale) -> Self {
        Self { is_raw: scale == Scale::Auto, texts: TextCells::default() }
    }

    /// The cell of a text in a column.
    pub(crate) fn text(&mut self, column: &str, text: &str) -> Result<f64, String> {
        let cell = self.texts.cell(text).map_err(|error| format!("column `{column}`: {error}"))?;
        if self.is_raw || !cell.is_nan() {
            return Ok(cell);
        }
        let (short, rest) = text.char_indices().nth(SHOWN).map_or((text, ""), |(end, _)| (&text[..end], "…"));
        Err(format!("column `{column}` holds the text `{short}{rest}`: {REMEDY}"))
    }

    /// A number of a column; a NaN is a gap.
    pub(crate) fn number(&self, column: &str, x: f64) -> Result<f64, String> {
        match x {
            x if x.is_nan() => self.gap(column),
            x if x.is_infinite() => Err(format!("column `{column}` holds `{x}`: numbers must be finite")),
            x => Ok(x),
        }
    }

    /// The cell of a column in which nothing stands.
    pub(crate) fn gap(&self, column: &str) -> Result<f64, String> {
        let refused = || format!("column `{column}` has cells with nothing in them (null or NaN): {REMEDY}");
        if self.is_raw { Ok(MISSING) } else { Err(refused()) }
    }

    pub(crate) fn into_texts(self) -> Texts {
        self.texts.into_texts()
    }
}

/// Characters of a text that an error shows.
const SHOWN: usize = 24;

const REMEDY: &str = "scale=\"auto\" takes texts and gaps, other scales take numbers only";

/// Columns, each a name with a float64 array, or with an integer array of indices into a list of values (−1: a gap).
pub(crate) fn rows(columns: &Bound<'_, PyList>, mut cells: Cells) -> PyResult<Matrix> {
    let (py, n_features) = (columns.py(), columns.len());
    let mut values: Vec<f64> = Vec::new();
    let mut n_rows = 0;
    for (index, column) in columns.iter().enumerate() {
        let (name, codes, uniques): (String, Bound<'_, PyAny>, Option<Vec<Bound<'_, PyAny>>>) = column.extract()?;
        let raised = |message: String| named(py, "RowError", &message);
        let cells: Vec<f64> = match uniques {
            None => {
                let array: PyReadonlyArray1<'_, f64> = codes.cast::<PyArray1<f64>>()?.try_readonly()?;
                let each = array.as_array().iter().map(|x| cells.number(&name, *x)).collect::<Result<_, _>>();
                each.map_err(raised)?
            }
            Some(uniques) => {
                let known =
                    uniques.iter().map(|value| cell(value, &name, &mut cells)).collect::<PyResult<Vec<f64>>>()?;
                let array: PyReadonlyArray1<'_, i64> = codes.cast::<PyArray1<i64>>()?.try_readonly()?;
                let of = |code: &i64| match usize::try_from(*code).ok().and_then(|code| known.get(code)) {
                    Some(cell) => Ok(*cell),
                    None => cells.gap(&name),
                };
                array.as_array().iter().map(of).collect::<Result<_, _>>().map_err(raised)?
            }
        };
        if index == 0 {
            n_rows = cells.len();
            values.resize(n_rows * n_features, MISSING);
        }
        for (row, cell) in values.chunks_exact_mut(n_features).zip(cells) {
            row[index] = cell;
        }
    }
    Ok(Matrix { n_rows, n_features, held: Held::Own(FeatureValues::F64(values).into()), texts: cells.into_texts() })
}

/// The cell of a value of Python: a text, a boolean, a number.
fn cell(value: &Bound<'_, PyAny>, column: &str, cells: &mut Cells) -> PyResult<f64> {
    let cell = if let Ok(text) = value.cast::<PyString>() {
        cells.text(column, &text.to_cow()?)
    } else if let Ok(truth) = value.cast::<PyBool>() {
        Ok(f64::from(u8::from(truth.is_true())))
    } else {
        cells.number(column, value.extract()?)
    };
    cell.map_err(|message| named(value.py(), "RowError", &message))
}
