//! Which columns of a Parquet file are read, as what, and where their values go in a row.

use std::collections::HashSet;
use std::path::Path;

use arrow_schema::{DataType, Fields};

use super::super::array::Role;
use super::super::{UnreadableColumn, refuse_selection, refuse_wide};
use super::cells::{feature_precision, is_id, is_label};
use super::plain::{in_words, is_converted, is_date_or_time, is_decimal};
use crate::error::ReadError;
use crate::rows::Precision;
use crate::schema::Schema;
use crate::table::{Columns, Roles};

/// The columns to read. Batches hold these columns only, in the order of the file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ColumnPlan {
    /// Their indices in the file, ascending.
    pub(super) roots: Vec<usize>,
    /// Columns of features in the order of the model, as indices into a batch.
    pub(super) features: Vec<BatchColumn>,
    pub(super) label: Option<BatchColumn>,
    pub(super) id: Option<BatchColumn>,
    pub(super) subject: Option<BatchColumn>,
    pub(super) weight: Option<BatchColumn>,
    pub(super) precision: Precision,
    /// Columns of a batch that are read as numbers or texts, which they are not.
    pub(super) conversions: Vec<Conversion>,
    /// Whether single elements of lists were asked for.
    names_elements: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BatchColumn {
    pub(super) index: usize,
    pub(super) name: String,
    /// Whether its cells are lists of numbers.
    pub(super) is_list: bool,
}

/// A column of dates, times or decimals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Conversion {
    pub(super) index: usize,
    pub(super) declared: DataType,
    /// Whether it names rows or people.
    pub(super) is_id: bool,
}

impl ColumnPlan {
    /// Finds the roles among the columns of the file and checks that each has a type that can be read. The columns of a
    /// schema, one per entry, may hold texts, too.
    pub(super) fn new(
        path: &Path,
        fields: &Fields,
        columns: &Columns,
        schema: Option<&Schema>,
    ) -> Result<Self, ReadError> {
        let header = header(fields);
        if let Some(schema) = schema {
            return Self::of_roles(path, fields, &columns.resolve_schema(schema, &header, path)?, Wanted::Declared);
        }
        let (asked, names_elements) = without_elements(columns, &header);
        let plan = Self::of_roles(path, fields, &asked.resolve(&header, path)?, Wanted::Numbers)?;
        Ok(Self { names_elements, ..plan })
    }

    /// All columns that have no other role and can be read, and those that cannot, with their types.
    pub(super) fn of_cells(
        path: &Path,
        fields: &Fields,
        columns: &Columns,
    ) -> Result<(Self, Vec<UnreadableColumn>), ReadError> {
        let header = header(fields);
        let roles = [&columns.label, &columns.id, &columns.subject, &columns.weight];
        let is_unreadable = |name: &String, data_type: &DataType| {
            columns.features.is_none()
                && !roles.contains(&&Some(name.clone()))
                && !columns.ignore.contains(name)
                && precision_of(data_type, Wanted::Cells).is_none()
        };
        let what = |data_type: &DataType| match in_words(data_type) {
            words if words == "binary" => words,
            words => format!("a {words}"),
        };
        let unreadable: Vec<UnreadableColumn> = fields
            .iter()
            .filter(|field| is_unreadable(field.name(), field.data_type()))
            .map(|field| UnreadableColumn { name: field.name().clone(), what: what(field.data_type()) })
            .collect();
        let ignore = columns.ignore.iter().chain(unreadable.iter().map(|column| &column.name)).cloned().collect();
        let (asked, _) = without_elements(&Columns { ignore, ..columns.clone() }, &header);
        let plan = Self::of_roles(path, fields, &asked.resolve(&header, path)?, Wanted::Cells)?;
        Ok((plan, unreadable))
    }

    fn of_roles(path: &Path, fields: &Fields, roles: &Roles, wanted: Wanted) -> Result<Self, ReadError> {
        let header = header(fields);
        let others = [roles.label, roles.id, roles.subject, roles.weight];
        let mut roots: Vec<usize> = roles.features.iter().copied().chain(others.into_iter().flatten()).collect();
        roots.sort_unstable();
        let column = |root: usize| BatchColumn {
            // The root is one of `roots`, by construction.
            index: roots.partition_point(|other| *other < root),
            name: header[root].clone(),
            is_list: matches!(fields[root].data_type(), DataType::List(_)),
        };
        let refused = |root: usize, role: Role| ReadError::ColumnType {
            file: path.into(),
            column: header[root].clone(),
            found: in_words(fields[root].data_type()),
            role: role.name(),
            supported: match role {
                Role::Features if wanted != Wanted::Numbers => {
                    "texts, booleans, numbers, dates, times and lists of numbers"
                }
                Role::Features => "booleans, integers, floats, decimals and lists of numbers",
                Role::Labels => "booleans, integers, floats, decimals and texts",
                Role::RowIds | Role::Subjects => "integers and texts",
                Role::RowWeights => "integers, floats and decimals",
            },
        };
        let mut precision = Precision::F32;
        let mut features = Vec::with_capacity(roles.features.len());
        for &root in &roles.features {
            let needed = precision_of(fields[root].data_type(), wanted);
            if needed.ok_or_else(|| refused(root, Role::Features))? == Precision::F64 {
                precision = Precision::F64;
            }
            features.push(column(root));
        }
        let checked = |root: Option<usize>, role: Role, fits: fn(&DataType) -> bool| match root {
            Some(root) if !fits(fields[root].data_type()) => Err(refused(root, role)),
            other => Ok(other.map(column)),
        };
        let label = checked(roles.label, Role::Labels, is_label)?;
        let id = checked(roles.id, Role::RowIds, is_id)?;
        let subject = checked(roles.subject, Role::Subjects, is_id)?;
        let weight = checked(roles.weight, Role::RowWeights, |data_type| feature_precision(data_type).is_some())?;
        let is_id = |root: usize| [roles.id, roles.subject].contains(&Some(root));
        let converted = roots.iter().enumerate().filter(|(_, root)| is_converted(fields[**root].data_type()));
        let conversions = converted
            .map(|(index, &root)| Conversion { index, declared: fields[root].data_type().clone(), is_id: is_id(root) })
            .collect();
        Ok(Self { roots, features, label, id, subject, weight, precision, conversions, names_elements: false })
    }

    /// The names of all features, once it is known how long lists are; `widths` has one entry per column of features.
    pub(super) fn feature_names(
        &self,
        path: &Path,
        widths: &[usize],
        columns: &Columns,
    ) -> Result<Vec<String>, ReadError> {
        let dim = widths.iter().sum();
        refuse_wide(path, dim as u64)?;
        let mut names = Vec::with_capacity(dim);
        for (column, width) in self.features.iter().zip(widths) {
            if column.is_list {
                names.extend((0..*width).map(|element| format!("{}[{element}]", column.name)));
            } else {
                names.push(column.name.clone());
            }
        }
        if names.is_empty() {
            return Err(ReadError::NoFeatures { file: path.into() });
        }
        if self.names_elements {
            let asked = Columns { features: columns.features.clone(), ..Columns::default() };
            refuse_selection(path, &asked, &names, ["features", "elements of a list"])?;
        }
        Ok(names)
    }
}

/// What columns of features may hold.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// Numbers and lists of them.
    Numbers,
    /// Texts, too, and what would be one in a CSV: dates and times.
    Cells,
    /// What a schema declares: bytes, too, from which it may make pictures.
    Declared,
}

/// The precision that features of a type need. `None`: they cannot be read.
fn precision_of(data_type: &DataType, wanted: Wanted) -> Option<Precision> {
    match data_type {
        DataType::List(inner) if is_decimal(inner.data_type()) => None,
        DataType::List(inner) => feature_precision(inner.data_type()),
        DataType::Binary if wanted == Wanted::Declared => Some(Precision::F64),
        DataType::Utf8 if wanted != Wanted::Numbers => Some(Precision::F64),
        when if wanted != Wanted::Numbers && is_date_or_time(when) => Some(Precision::F64),
        plain => feature_precision(plain),
    }
}

fn header(fields: &Fields) -> Vec<String> {
    fields.iter().map(|field| field.name().clone()).collect()
}

/// Replaces elements of lists (`name[3]`) among the features by their columns, and tells whether there were any.
///
/// Where no features are named, the index that pandas saves beside its columns is none.
fn without_elements(columns: &Columns, header: &[String]) -> (Columns, bool) {
    let Some(asked) = &columns.features else {
        let is_index = |name: &&String| name.starts_with("__index_level_") && name.ends_with("__");
        let ignore = columns.ignore.iter().chain(header.iter().filter(is_index)).cloned().collect();
        return (Columns { ignore, ..columns.clone() }, false);
    };
    let header: HashSet<&str> = header.iter().map(String::as_str).collect();
    let mut lists = HashSet::new();
    let mut roots = Vec::new();
    for name in asked {
        match list_of(name).filter(|list| !header.contains(name.as_str()) && header.contains(list)) {
            Some(list) if lists.insert(list) => roots.push(list.to_owned()),
            Some(_) => {}
            None => roots.push(name.clone()),
        }
    }
    (Columns { features: Some(roots), ..columns.clone() }, !lists.is_empty())
}

/// The `name` of `name[3]`.
fn list_of(feature: &str) -> Option<&str> {
    let (list, element) = feature.strip_suffix(']')?.rsplit_once('[')?;
    (!element.is_empty() && element.bytes().all(|byte| byte.is_ascii_digit())).then_some(list)
}
