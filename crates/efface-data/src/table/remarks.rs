//! What looks like a mistake in a table, though it is not an error: told to people before they train on it.

use std::collections::HashSet;
use std::fmt;

use super::Table;

/// Something about a table that deserves a second look.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the fields are named in the messages")]
pub enum Remark {
    /// One column is so large that after row scaling the others barely matter.
    OneColumnRules { column: String, share: f64 },
    /// A feature that is a different integer in every row, in order or not.
    LooksLikeAnId { column: String },
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OneColumnRules { column, share } => write!(
                f,
                "column `{column}` accounts for {:.1} % of the squared row norm, so after row scaling the other columns \
                 barely matter",
                100.0 * share
            ),
            Self::LooksLikeAnId { column } => {
                write!(f, "column `{column}` has a different integer in every row but is used as a feature")
            }
        }
    }
}

/// A column with more than this share of all squares rules the rows.
const RULING_SHARE: f64 = 0.99;

/// With fewer rows than this nothing is unusual.
const FEW_ROWS: usize = 20;

impl Table {
    /// What looks like a mistake, though it is not an error: at most one remark of each kind.
    pub fn remarks(&self) -> Vec<Remark> {
        let names = self.feature_names();
        let (n_rows, dim) = (self.n_rows(), names.len());
        if n_rows < FEW_ROWS || dim < 2 {
            return Vec::new();
        }
        let mut squares = vec![0.0; dim];
        let mut row = vec![0.0; dim];
        for i in 0..n_rows {
            self.features().read(i * dim, &mut row);
            squares.iter_mut().zip(&row).for_each(|(sum, x)| *sum += x * x);
        }
        let total: f64 = squares.iter().sum();
        let ruling = (0..dim).find(|j| squares[*j] > RULING_SHARE * total && total.is_finite());
        let rules = ruling.map(|j| Remark::OneColumnRules { column: names[j].clone(), share: squares[j] / total });
        let id = (0..dim).find(|j| is_like_an_id(self, *j));
        let looks = id.map(|j| Remark::LooksLikeAnId { column: names[j].clone() });
        looks.into_iter().chain(rules).collect()
    }
}

fn is_like_an_id(table: &Table, column: usize) -> bool {
    let dim = table.feature_names().len();
    let mut seen = HashSet::with_capacity(table.n_rows());
    let mut value = [0.0];
    (0..table.n_rows()).all(|i| {
        table.features().read(i * dim + column, &mut value);
        value[0].fract() == 0.0 && seen.insert(value[0].to_bits())
    })
}
