//! Raw cells of rows that are in no file: a text that a program holds becomes what the reader of a file makes of it.

use std::collections::HashMap;

use efface_core::rows::Features;
use zeroize::Zeroize;

use super::raw::{NAN, RawCell};
use super::{MAX_TEXTS, Texts};
use crate::error::CellError;
use crate::schema::USUAL_MISSING_MARKERS;
use crate::schema::cell::Cell;
use crate::schema::encode::raw_cell;
use crate::schema::written::Numbers;

/// A cell with nothing in it.
pub const MISSING: f64 = f64::from_bits(NAN);

/// Makes raw cells of texts, and notes which text is behind each hash.
#[derive(Default)]
pub struct TextCells {
    texts: Texts,
    numbers: Numbers,
    /// Cells of texts that were seen: the hash of each is taken once.
    seen: HashMap<String, f64>,
}

impl TextCells {
    /// The cell of a text: the number that it stands for, nothing, or the text itself.
    pub fn cell(&mut self, text: &str) -> Result<f64, CellError> {
        if let Some(cell) = self.seen.get(text) {
            return Ok(*cell);
        }
        let is_marker = |text: &str| USUAL_MISSING_MARKERS.contains(&text);
        let cell = raw_cell(&Cell::Text(text), is_marker, &self.numbers, &mut self.texts)?.packed();
        if self.seen.len() < MAX_TEXTS {
            self.seen.insert(text.to_owned(), cell);
        }
        Ok(cell)
    }

    /// The texts of all cells so far.
    pub fn into_texts(mut self) -> Texts {
        std::mem::take(&mut self.texts)
    }
}

impl Drop for TextCells {
    fn drop(&mut self) {
        self.texts.values_mut().for_each(Zeroize::zeroize);
        self.seen.drain().for_each(|(mut text, _)| text.zeroize());
    }
}

/// Whether a value would be taken for a text: among numbers of somebody else a NaN may have any bits.
pub fn has_text(features: Features<'_>) -> bool {
    let Features::F64(values) = features else { return false };
    let is_text = |x: &f64| matches!(RawCell::of(*x), RawCell::Text(_));
    // Without a branch per value; only a part that has a NaN is searched.
    let has_nan = |part: &[f64]| part.iter().fold(false, |found, x| found | x.is_nan());
    values.chunks(1 << 12).any(|part| has_nan(part) && part.iter().any(is_text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_become_what_files_hold() {
        let mut cells = TextCells::default();
        let mut cell = |text: &str| cells.cell(text).expect("one reading");
        assert_eq!([" 1.0 ", "12.5 %", "2024-05-31"].map(&mut cell), [1.0, 12.5, 19_874.0]);
        assert_eq!(["true", "True", " FALSE", "false"].map(&mut cell), [1.0, 1.0, 0.0, 0.0]);
        for text in ["", "NA", "nan", "?", "inf"] {
            assert_eq!(cell(text).to_bits(), MISSING.to_bits(), "{text}");
        }
        let basic = cell("basic");
        assert_eq!([" basic", "basic"].map(|text| cell(text).to_bits()), [basic.to_bits(); 2]);
        assert!(has_text(Features::F64(&[1.0, basic])) && !has_text(Features::F64(&[1.0, MISSING, -f64::NAN])));
        assert_eq!(cells.into_texts().into_values().collect::<Vec<_>>(), ["basic"]);
        assert_eq!(RawCell::of(MISSING), RawCell::Missing);
    }
}
