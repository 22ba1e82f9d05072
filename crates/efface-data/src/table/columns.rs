//! Which column of a table is what: label, row id, subject, feature, or none of these.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::ReadError;
use crate::read::FirstLine;
use crate::schema::{Notation, Schema};
use crate::table::listed;

/// The roles of columns, as the user names them.
///
/// In a file without named columns (`.npy`, `.idx`) `label`, `id` and `subject` are paths of one-dimensional `.npy` or
/// `.idx` files; in an archive (`.npz`) they are names of members, or such paths. A libsvm file brings its labels along:
/// there `label` must be `None`, which stands for the file's own label, and rows have neither ids nor subjects.
///
/// A list of a Parquet file is one column here, and its elements are features `name[0]`, `name[1]`, …; an index
/// that pandas has saved (`__index_level_0__`) is a feature only when it is named.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Columns {
    /// The features, in this order, each once; without, all columns that have no other role.
    pub features: Option<Vec<String>>,
    /// The label.
    pub label: Option<String>,
    /// The row's id; without, rows are numbered from 0.
    pub id: Option<String>,
    /// The person the row belongs to.
    pub subject: Option<String>,
    /// As how many rows a row counts; without, every row counts once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<String>,
    /// Columns that are not features; those that the table does not have are no error.
    pub ignore: Vec<String>,
    /// How numbers and dates are written; a schema says the same, and keeps it.
    #[serde(skip)]
    pub notation: Notation,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Roles {
    pub(crate) features: Vec<usize>,
    pub(crate) label: Option<usize>,
    pub(crate) id: Option<usize>,
    pub(crate) subject: Option<usize>,
    pub(crate) weight: Option<usize>,
}

impl Columns {
    /// Finds each role among the names of a header line.
    pub(crate) fn resolve(&self, header: &[String], file: &Path) -> Result<Roles, ReadError> {
        let mut index_of: HashMap<&str, usize> = HashMap::with_capacity(header.len());
        for (index, name) in header.iter().enumerate() {
            if !name.is_empty() && index_of.insert(name, index).is_some() {
                return Err(ReadError::DuplicateColumn { file: file.into(), column: name.clone() });
            }
        }
        let mut role_of: Vec<Option<&'static str>> = vec![None; header.len()];
        let missing = |column: &str| {
            let (column, known) = (column.to_owned(), listed(header));
            ReadError::MissingColumn { file: file.into(), column, known, first_line: FirstLine::Names }
        };
        let mut take = |column: &str, role: &'static str| {
            let index = *index_of.get(column).ok_or_else(|| missing(column))?;
            match role_of[index].replace(role) {
                None => Ok(index),
                Some(first) => {
                    let column = column.to_owned();
                    Err(ReadError::ColumnUsedTwice { file: file.into(), column, first, second: role })
                }
            }
        };
        let label = self.label.as_deref().map(|name| take(name, "label")).transpose()?;
        let id = self.id.as_deref().map(|name| take(name, "row id")).transpose()?;
        let subject = self.subject.as_deref().map(|name| take(name, "subject")).transpose()?;
        let weight = self.weight.as_deref().map(|name| take(name, "weight")).transpose()?;
        let features = if let Some(names) = &self.features {
            let mut seen = HashSet::with_capacity(names.len());
            let distinct = names.iter().filter(|name| seen.insert(*name));
            distinct.map(|name| take(name, "feature")).collect::<Result<Vec<_>, _>>()?
        } else {
            if let Some(absent) = self.ignore.iter().find(|name| !header.contains(name)) {
                return Err(missing(absent));
            }
            (0..header.len()).filter(|i| role_of[*i].is_none() && !self.ignore.contains(&header[*i])).collect()
        };
        if let Some(index) = features.iter().find(|i| header[**i].is_empty()) {
            return Err(ReadError::UnnamedColumn { file: file.into(), number: index + 1 });
        }
        if features.is_empty() {
            return Err(ReadError::NoFeatures { file: file.into() });
        }
        Ok(Roles { features, label, id, subject, weight })
    }

    /// The same where the features are the columns of a schema: those in the table, one per entry.
    pub(crate) fn resolve_schema(&self, schema: &Schema, header: &[String], file: &Path) -> Result<Roles, ReadError> {
        self.check_are_of(schema, file)?;
        let names: Vec<String> = schema.columns().iter().map(|column| column.name.clone()).collect();
        if let Some(column) = schema.columns().iter().find(|column| !header.contains(&column.name)) {
            return Err(column.absent(file, header));
        }
        Self { features: Some(names), ignore: Vec::new(), ..self.clone() }.resolve(header, file)
    }

    /// Refuses features other than all those that the schema makes.
    pub(crate) fn check_are_of(&self, schema: &Schema, file: &Path) -> Result<(), ReadError> {
        match &self.features {
            Some(features) if *features != schema.feature_names() => {
                Err(ReadError::FeaturesBesideSchema { file: file.into() })
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Vec<String> {
        ["id", "who", "a", "b", "c", "y"].map(String::from).to_vec()
    }

    fn columns() -> Columns {
        Columns { label: Some("y".into()), id: Some("id".into()), subject: Some("who".into()), ..Columns::default() }
    }

    fn message(columns: &Columns, header: &[String]) -> String {
        columns.resolve(header, Path::new("t.csv")).expect_err("must be refused").to_string()
    }

    #[test]
    fn columns_without_a_role_are_features() {
        let ignoring = Columns { ignore: vec!["b".into()], ..columns() };
        let roles = ignoring.resolve(&header(), Path::new("t.csv")).expect("valid");
        assert_eq!(roles, Roles { features: vec![2, 4], label: Some(5), id: Some(0), subject: Some(1), weight: None });
    }

    #[test]
    fn named_features_keep_the_order_in_which_they_are_named() {
        let named = Columns { features: Some(vec!["c".into(), "a".into()]), ..columns() };
        assert_eq!(named.resolve(&header(), Path::new("t.csv")).expect("valid").features, [4, 2]);
    }

    #[test]
    fn a_column_has_one_role() {
        let twice = Columns { features: Some(vec!["a".into(), "y".into()]), ..columns() };
        assert_eq!(message(&twice, &header()), "t.csv: column `y` cannot be both label and feature");
    }

    #[test]
    fn a_column_to_be_ignored_is_there_unless_features_are_named() {
        let typo = Columns { ignore: vec!["bb".into()], ..columns() };
        assert!(message(&typo, &header()).starts_with("t.csv: no column `bb`"));
        let named = Columns { features: Some(vec!["a".into()]), ..typo };
        assert!(named.resolve(&header(), Path::new("t.csv")).is_ok());
    }

    #[test]
    fn missing_doubled_and_unnamed_columns_are_named() {
        let missing = Columns { label: Some("target".into()), ..Columns::default() };
        assert_eq!(message(&missing, &["a".into(), "b".into()]), "t.csv: no column `target`; there are `a`, `b`");
        let doubled = ["a".into(), "b".into(), "a".into()];
        assert_eq!(message(&Columns::default(), &doubled), "t.csv: two columns are called `a`");
        let unnamed = [String::new(), "a".into()];
        assert_eq!(message(&Columns::default(), &unnamed), "t.csv: column 1 has no name in the header line");
    }

    #[test]
    fn something_must_be_left_to_be_a_feature() {
        let only_label = Columns { label: Some("y".into()), ..Columns::default() };
        assert_eq!(message(&only_label, &["y".into()]), "t.csv: no feature columns");
    }
}
