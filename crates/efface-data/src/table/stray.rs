//! Texts where a model takes numbers: they count as gaps, and people are told.

use super::{Origin, Remark};
use crate::derived::{ColumnConstants, Constants, RawCell};
use crate::rows::FeatureValues;

/// Counts texts in columns that became numbers, table by table.
#[derive(Clone, Debug, Default)]
pub struct StrayTexts {
    n_rows: usize,
    columns: Vec<Strays>,
}

#[derive(Clone, Debug)]
struct Strays {
    column: String,
    n_texts: usize,
    /// Where the first one stands.
    first: String,
}

impl StrayTexts {
    /// None seen yet, of a model whose columns are called so.
    pub fn new(columns: &[String], constants: &Constants) -> Self {
        let is_number =
            |became: &ColumnConstants| matches!(became, ColumnConstants::Number { .. } | ColumnConstants::Gaps);
        let numbers = columns.iter().zip(&constants.columns).filter(|(_, became)| is_number(became));
        let strays = |(column, _): (&String, _)| Strays { column: column.clone(), n_texts: 0, first: String::new() };
        Self { n_rows: 0, columns: numbers.map(strays).collect() }
    }

    /// Looks at the features of a table, which are called `names`.
    pub fn look(&mut self, names: &[String], features: &FeatureValues, origin: &Origin) {
        let dim = names.len().max(1);
        self.n_rows += features.len() / dim;
        // Single precision has no room for texts.
        let FeatureValues::F64(values) = features else { return };
        for strays in &mut self.columns {
            let Some(at) = names.iter().position(|name| *name == strays.column) else { continue };
            for (row, value) in values.iter().skip(at).step_by(dim).enumerate().filter(|(_, value)| value.is_nan()) {
                if matches!(RawCell::of(*value), RawCell::Text(_)) {
                    if strays.n_texts == 0 {
                        strays.first = origin.place(row, None).to_string();
                    }
                    strays.n_texts += 1;
                }
            }
        }
    }

    /// One per column that has any.
    pub fn remarks(&self) -> Vec<Remark> {
        let remark = |strays: &Strays| Remark::TextsAmongNumbers {
            column: strays.column.clone(),
            share: strays.n_texts as f64 / self.n_rows as f64,
            first: Some(strays.first.clone()),
        };
        self.columns.iter().filter(|strays| strays.n_texts > 0).map(remark).collect()
    }
}
