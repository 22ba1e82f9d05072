//! Rows of a text, one after the other, each with a cell per column.

use std::borrow::Cow;

use crate::error::ReadError;
use crate::schema::cell::Cell;
use crate::table::Place;

/// A text that is read record by record.
pub(super) trait Records: Send {
    /// The names of the columns.
    fn header(&self) -> &[String];

    /// Goes to the next record and answers its line; `None` at the end of the text.
    fn next(&mut self) -> Result<Option<u64>, ReadError>;

    /// A cell of the record.
    fn cell(&self, column: usize) -> Result<Cell<'_>, ReadError>;

    /// Where that cell stands.
    fn place(&self, column: usize) -> Place;

    /// The number in a column, which is one of several `columns` of numbers.
    fn number(&self, column: usize, columns: &[usize]) -> Result<f64, ReadError> {
        let cell = self.cell(column)?;
        let place = || self.place(column);
        match cell.number() {
            Some(number) if number.is_finite() => Ok(number),
            Some(_) => Err(ReadError::NotFinite { place: place(), value: cell.spelling().into_owned() }),
            None if is_empty(&cell) => Err(ReadError::EmptyCell { place: place() }),
            None => {
                // The further columns that hold no numbers either, so that they need not be found one by one.
                let is_text = |cell: Cell<'_>| !is_empty(&cell) && cell.number().is_none();
                let is_other = |other: &&usize| **other != column && self.cell(**other).is_ok_and(is_text);
                let others = columns.iter().filter(is_other).map(|other| self.header()[*other].clone()).collect();
                Err(ReadError::NotANumber { place: place(), value: cell.spelling().into_owned(), others })
            }
        }
    }

    /// As how many rows the record counts, by a column.
    fn weight(&self, column: usize) -> Result<f64, ReadError> {
        self.number(column, &[column]).map_err(|error| match error {
            ReadError::NotANumber { place, value, .. } | ReadError::NotFinite { place, value } => {
                ReadError::BadWeight { place, value }
            }
            other => other,
        })
    }

    /// The text in a column, without outer blanks.
    fn text(&self, column: usize) -> Result<Cow<'_, str>, ReadError> {
        let text = match self.cell(column)? {
            Cell::Text(text) => text.trim().into(),
            other => Cow::Owned(other.spelling().into_owned()),
        };
        if text.is_empty() { Err(ReadError::EmptyCell { place: self.place(column) }) } else { Ok(text) }
    }
}

fn is_empty(cell: &Cell<'_>) -> bool {
    match cell {
        Cell::Missing => true,
        Cell::Text(text) => text.trim().is_empty(),
        _ => false,
    }
}
