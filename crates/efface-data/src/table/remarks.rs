//! What looks like a mistake in a table, though it is not an error: told to people before they train on it.

use std::collections::{HashMap, HashSet};
use std::fmt;

use efface_core::rows::{Features, RowValue};

use super::{Table, shortened};
use crate::derived::{CellCounts, ColumnTag};
use crate::rows::each;
use crate::scale::Scale;

/// Something about a table that deserves a second look.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the fields are named in the messages")]
pub enum Remark {
    /// One column is so large that after row scaling the others barely matter.
    OneColumnRules { column: String, share: f64 },
    /// A feature that is a different integer in every row, in order or not.
    LooksLikeAnId { column: String },
    /// A column of numbers in which some cells are texts, which count as missing. `first`: where the first of them stands, if that is known.
    TextsAmongNumbers { column: String, share: f64, first: Option<String> },
    /// A column of categories in which some cells are numbers, which are one category.
    NumbersAmongTexts { column: String, share: f64 },
    /// A class of a single row: removing that row removes the class.
    LonelyClass { class: String },
    /// Two classes that differ in capital letters only.
    AlikeClasses { classes: [String; 2] },
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
            Self::TextsAmongNumbers { column, share, first } => {
                let share = 100.0 * share;
                write!(f, "column `{column}` holds numbers; {share:.1} % of its cells are texts and count as missing")?;
                first.as_ref().map_or(Ok(()), |first| write!(f, ", the first in {first}"))
            }
            Self::NumbersAmongTexts { column, share } => write!(
                f,
                "column `{column}` holds texts; {:.1} % of its cells are numbers, which are one category together",
                100.0 * share
            ),
            Self::LonelyClass { class } => write!(f, "class `{class}` has a single row", class = shortened(class)),
            Self::AlikeClasses { classes: [a, b] } => {
                write!(f, "classes `{}` and `{}` differ in capital letters only", shortened(a), shortened(b))
            }
        }
    }
}

/// A column with more than this share of all squares rules the rows.
const RULING_SHARE: f64 = 0.99;

/// With fewer rows than this nothing is unusual; of more than that many, some are looked at.
const FEW_ROWS: usize = 20;
const MANY_ROWS: usize = 4096;

impl Remark {
    /// The column that rules rows of this scale, if one does.
    pub fn ruling_column(features: Features<'_>, names: &[String], scale: Scale) -> Option<Self> {
        let is_scaled_as_a_whole = matches!(scale, Scale::Unit | Scale::Clip { .. });
        let dim = names.len();
        let n_rows = each!(Features, features, values => values.len()) / dim.max(1);
        if !is_scaled_as_a_whole || n_rows < FEW_ROWS || dim < 2 {
            return None;
        }
        let mut squares = vec![0.0; dim];
        let step = n_rows.div_ceil(MANY_ROWS);
        each!(Features, features, values => for row in values.chunks_exact(dim).step_by(step) {
            squares.iter_mut().zip(row).for_each(|(sum, x)| *sum += x.wide() * x.wide());
        });
        let total: f64 = squares.iter().sum();
        let column = (0..dim).find(|j| squares[*j] > RULING_SHARE * total && total.is_finite())?;
        Some(Self::OneColumnRules { column: names[column].clone(), share: squares[column] / total })
    }
}

impl Remark {
    /// What stands in a column that is not of the kind that it became.
    pub fn mixed_column(name: &str, became: ColumnTag, cells: CellCounts) -> Option<Self> {
        let (column, all) = (name.to_owned(), cells.numbers + cells.texts + cells.missing);
        match became {
            ColumnTag::Number | ColumnTag::Gaps if cells.texts > 0.0 => {
                Some(Self::TextsAmongNumbers { column, share: cells.texts / all, first: None })
            }
            ColumnTag::Categories if cells.numbers > 0.0 => {
                Some(Self::NumbersAmongTexts { column, share: cells.numbers / all })
            }
            _ => None,
        }
    }

    /// What is odd about classes and the numbers of their rows: at most one remark of each kind.
    pub fn of_classes<'a>(classes: impl Iterator<Item = (&'a str, usize)> + Clone) -> impl Iterator<Item = Self> {
        let lonely = classes.clone().find(|(_, n_rows)| *n_rows == 1);
        let lonely = lonely.map(|(class, _)| Self::LonelyClass { class: class.to_owned() });
        let mut first_of = HashMap::new();
        let mut classes = classes.map(|(class, _)| class);
        let alike = classes.find_map(|class| Some([first_of.insert(class.to_lowercase(), class)?, class]));
        let alike = alike.map(|classes| Self::AlikeClasses { classes: classes.map(str::to_owned) });
        lonely.into_iter().chain(alike)
    }
}

impl Table {
    /// What looks like a mistake where rows are scaled like this: at most one remark of each kind.
    pub fn remarks(&self, scale: Scale) -> Vec<Remark> {
        let names = self.feature_names();
        let is_usual = self.n_rows() < FEW_ROWS || names.len() < 2;
        let id = (0..names.len()).find(|j| !is_usual && is_like_an_id(self, *j));
        let looks = id.map(|j| Remark::LooksLikeAnId { column: names[j].clone() });
        let features = self.features();
        looks.into_iter().chain(Remark::ruling_column(features.slice(0..features.len()), names, scale)).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_classes_are_told() {
        let of = |classes: &[(&str, usize)]| {
            Remark::of_classes(classes.iter().copied()).map(|remark| remark.to_string()).collect::<Vec<_>>()
        };
        assert!(of(&[("no", 20), ("yes", 30)]).is_empty());
        let told = of(&[("No", 20), ("maybe", 1), ("no", 30), ("yes", 1)]);
        assert_eq!(told, ["class `maybe` has a single row", "classes `No` and `no` differ in capital letters only"]);
    }

    fn ruling(features: Features<'_>, scale: &str) -> Option<Remark> {
        Remark::ruling_column(features, &["a", "b"].map(String::from), scale.parse().expect("a scale"))
    }

    #[test]
    fn a_column_rules_only_rows_that_are_scaled_as_a_whole() {
        let values: Vec<f64> = (0..2 * 10_000).map(|i| if i % 2 == 1 { 1000.0 } else { 1.0 }).collect();
        let narrow: Vec<f32> = values.iter().map(|x| *x as f32).collect();
        for scale in ["unit", "clip:2"] {
            for features in [Features::F64(&values), Features::F32(&narrow)] {
                let remark = ruling(features, scale).expect("one rules");
                assert!(matches!(&remark, Remark::OneColumnRules { column, share } if column == "b" && *share > 0.999));
            }
            assert_eq!(ruling(Features::F64(&values[..38]), scale), None, "19 rows");
            assert_eq!(ruling(Features::F64(&[1.0; 60]), scale), None);
            assert_eq!(ruling(Features::F64(&[f64::INFINITY; 60]), scale), None);
        }
        for scale in ["raw", "none", "within:2000"] {
            assert_eq!(ruling(Features::F64(&values), scale), None, "{scale}");
        }
    }
}
