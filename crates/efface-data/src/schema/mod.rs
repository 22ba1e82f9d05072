//! A schema: what each column of a raw table becomes, by public constants and one row at a time.
//!
//! Numbers are brought to [−1, 1] by a declared range, categories to declared slots, texts to hashed buckets. Nothing is
//! fitted on the rows, so removing one row changes no other; a schema that asks for a fitted scaler is refused. What was
//! proposed from the rows ([`propose`]) is marked `inferred` until a person marks it `public`: such entries are outside
//! every guarantee, and status and certificates name their columns. `docs/schema.md` describes the file.

pub(crate) mod cell;
mod column;
pub(crate) mod encode;
mod file;
mod fitted;
mod held;
mod infer;
mod mapping;
mod nice;
mod proposal;
pub(crate) mod written;

use std::collections::HashSet;
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::path::Path;

use efface_core::accounting::statement::Statement;
use efface_features::{FeatureSpec, FourierLayer, NetworkSpec};
use serde::{Deserialize, Serialize};

use self::column::numbered;
pub use self::column::{ColumnKind, ColumnSchema, EntryOrigin, Missing, Scalar, Unknown, ValueRange};
pub(crate) use self::fitted::is_fitted_word;
pub use self::held::{CellEncoder, CellSource, EncodedCells, TakeCell};
pub use self::infer::propose;
pub use self::proposal::{LeftOut, ProposedColumn, SchemaProposal, network_schema};
pub use self::written::{DateOrder, DecimalMark, Notation};
use crate::error::{InvalidSchema, ReadError, SchemaError};
use crate::networks::NetworkPlaces;
use crate::scale::{RowTransform, Scale};
use crate::table::Columns;

/// Tag of the form. Its meaning never changes.
pub(crate) const FORMAT: &str = "efface-schema-1";

/// Rows are dense: more features than this are taken for a mistake.
pub const MAX_FEATURES: usize = 100_000;

/// In place of a column's name, in arrays: all columns that have no other role, as one list.
pub const ALL_COLUMNS: &str = "*";

/// A schema file is written for people; a larger one is something else.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// Texts that usually mean that nothing is there. An empty cell, a null and a typed NaN always do.
pub const USUAL_MISSING_MARKERS: [&str; 20] = [
    "?", "-", "--", ".", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "k.A.", "k. A.", "#N/A", "#NV",
    "#DIV/0!", "#VALUE!", "#WERT!", "#REF!",
];

/// What each column becomes. Built by [`Schema::load`], [`Schema::parse`] or [`propose`], and valid whenever it is there.
///
/// ```
/// use efface_data::Schema;
///
/// let schema = Schema::parse(
///     r#"
///     format = "efface-schema-1"
///     label = "churned"
///     missing_markers = ["?"]
///
///     [[column]]
///     name = "age"
///     kind = "numeric"
///     range = [0, 120]
///     origin = "public"
///
///     [[column]]
///     name = "plan"
///     kind = "categorical"
///     values = ["basic", "plus"]
///     "#,
/// )?;
/// assert_eq!(schema.feature_names(), ["age", "plan=basic", "plan=plus", "plan=?unknown"]);
/// assert_eq!(schema.not_public(), ["plan"]);
/// # Ok::<(), efface_data::SchemaError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "format", rename = "efface-schema-1", try_from = "file::SchemaFile")]
pub struct Schema {
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<String>,
    missing_markers: Vec<String>,
    #[serde(flatten)]
    notation: Notation,
    #[serde(rename = "column")]
    columns: Vec<ColumnSchema>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fourier: Option<FourierLayer>,
    #[serde(skip)]
    networks: NetworkPlaces,
}

impl Schema {
    /// Reads a schema file.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, SchemaError> {
        let path = path.as_ref();
        let mut bytes = Vec::new();
        fs::File::open(path)
            .and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes))
            .map_err(|source| SchemaError::Io { file: path.into(), source })?;
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(SchemaError::TooLarge { file: path.into(), limit: MAX_FILE_BYTES });
        }
        let text = String::from_utf8(bytes).map_err(|_| SchemaError::NotUnicode { file: path.into() })?;
        file::parse(&text, path)
    }

    /// Reads the text of a schema file.
    pub fn parse(text: &str) -> Result<Self, SchemaError> {
        file::parse(text, Path::new("schema"))
    }

    /// Reads a schema that a program has put together, as JSON with the keys of a schema file. Files that it names are looked
    /// for from here.
    pub fn of_json(text: &str) -> Result<Self, SchemaError> {
        file::of_json(text, Path::new("schema"))
    }

    /// Writes a new file; one that is there already is left alone.
    pub fn write_new(path: impl AsRef<Path>, text: &str) -> Result<(), SchemaError> {
        let path = path.as_ref();
        let failed = |source: std::io::Error| match source.kind() {
            ErrorKind::AlreadyExists => SchemaError::Exists { file: path.into() },
            _ => SchemaError::Io { file: path.into(), source },
        };
        let mut file = fs::OpenOptions::new().write(true).create_new(true).open(path).map_err(failed)?;
        file.write_all(text.as_bytes()).map_err(failed)
    }

    /// Roles of columns as the user names them, with those that the schema names where the user is silent.
    #[must_use]
    pub fn fill_in(&self, asked: Columns) -> Columns {
        Columns {
            label: asked.label.or_else(|| self.label.clone()),
            id: asked.id.or_else(|| self.id.clone()),
            subject: asked.subject.or_else(|| self.subject.clone()),
            ..asked
        }
    }

    /// A schema under which all columns of these names are derived.
    pub fn of_derived(names: &[String], columns: &Columns) -> Result<Self, InvalidSchema> {
        let roles = (columns.label.clone(), columns.id.clone(), columns.subject.clone());
        let entry = |name: &String| ColumnSchema {
            name: name.clone(),
            kind: ColumnKind::Derived,
            missing: Missing::Zero,
            origin: EntryOrigin::Derived,
        };
        let schema = Self::new(
            roles,
            USUAL_MISSING_MARKERS.map(String::from).to_vec(),
            names.iter().map(entry).collect(),
            None,
        )?;
        Ok(schema.written_as(columns.notation))
    }

    /// The same of a table whose numbers and dates are written like this.
    #[must_use]
    pub fn written_as(mut self, notation: Notation) -> Self {
        self.notation = notation.or(self.notation);
        self
    }

    /// The same without derived columns other than these.
    #[must_use]
    pub fn with_derived_only_of(&self, names: &[String]) -> Self {
        let mut schema = self.clone();
        schema.columns.retain(|column| column.kind != ColumnKind::Derived || names.contains(&column.name));
        schema
    }

    /// What is declared about the way numbers and dates are written.
    pub fn notation(&self) -> Notation {
        self.notation
    }

    /// One per [feature](Self::feature_names): whether what it becomes is derived from the rows.
    pub fn derived(&self) -> Vec<bool> {
        let of = |column: &ColumnSchema| std::iter::repeat_n(column.kind == ColumnKind::Derived, column.width());
        match self.fourier {
            // A layer is on top of nothing that is derived.
            Some(layer) => vec![false; layer.width],
            None => self.columns.iter().flat_map(of).collect(),
        }
    }

    /// Whether something is derived from the rows.
    pub fn derives(&self) -> bool {
        self.columns.iter().any(|column| column.kind == ColumnKind::Derived)
    }

    /// The layer that takes the features of all columns.
    pub fn fourier(&self) -> Option<FourierLayer> {
        self.fourier
    }

    /// The maps that make features, each with its column; the layer on top is of all of them.
    pub fn maps(&self) -> Vec<(Option<&str>, FeatureSpec)> {
        let of_columns =
            self.columns.iter().filter_map(|column| Some((Some(column.name.as_str()), column.kind.map()?)));
        let on_top = self.fourier.map(|layer| (None, FeatureSpec::fourier(self.n_of_columns(), layer)));
        of_columns.chain(on_top).collect()
    }

    /// The same whose networks are looked for here.
    #[must_use]
    pub fn with_networks(self, networks: NetworkPlaces) -> Self {
        Self { networks, ..self }
    }

    /// Where networks are looked for.
    pub fn network_places(&self) -> &NetworkPlaces {
        &self.networks
    }

    /// Whether a network makes features.
    pub fn has_networks(&self) -> bool {
        self.networks().next().is_some()
    }

    /// How the network was trained that saw the rows, and the column whose cells it takes.
    pub fn private_network(&self) -> Option<(&str, &Statement)> {
        self.columns.iter().find_map(|column| match &column.kind {
            ColumnKind::Network { statement: Some(statement), .. } => Some((column.name.as_str(), &**statement)),
            _ => None,
        })
    }

    /// Writes the files of the networks into a folder, under their digests.
    pub fn copy_networks(&self, folder: &Path) -> Result<(), ReadError> {
        self.networks().try_for_each(|(column, spec)| {
            let failed = |source| ReadError::Network { column: column.into(), source: Box::new(source) };
            self.networks.copy(spec, folder).map_err(failed)
        })
    }

    /// Whether the files of the networks are where they are looked for.
    pub fn check_networks(&self) -> Result<(), ReadError> {
        self.networks().try_for_each(|(column, spec)| {
            let failed = |source| ReadError::Network { column: column.into(), source: Box::new(source) };
            self.networks.check(spec).map_err(failed)
        })
    }

    fn networks(&self) -> impl Iterator<Item = (&str, &NetworkSpec)> {
        self.columns.iter().filter_map(|column| match &column.kind {
            ColumnKind::Network { spec, .. } => Some((column.name.as_str(), spec)),
            _ => None,
        })
    }

    /// Texts that mean that nothing is there.
    pub(crate) fn missing_markers(&self) -> &[String] {
        &self.missing_markers
    }

    /// The label, where the schema names it.
    pub fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }

    /// The entries, in the order of their features.
    pub fn columns(&self) -> &[ColumnSchema] {
        &self.columns
    }

    /// Number of features.
    pub fn dim(&self) -> usize {
        self.fourier.map_or_else(|| self.n_of_columns(), |layer| layer.width)
    }

    /// Features of all columns, before a layer on top.
    fn n_of_columns(&self) -> usize {
        self.columns.iter().map(ColumnSchema::width).sum()
    }

    /// Names of the features, in their order.
    pub fn feature_names(&self) -> Vec<String> {
        match self.fourier {
            Some(layer) => numbered("fourier", layer.width).collect(),
            None => self.columns.iter().flat_map(ColumnSchema::feature_names).collect(),
        }
    }

    /// Columns whose entries are outside the guarantee, because they were proposed from the rows and nobody has marked
    /// them public.
    pub fn not_public(&self) -> Vec<String> {
        let inferred = self.columns.iter().filter(|column| column.origin == EntryOrigin::Inferred);
        inferred.map(|column| column.name.clone()).collect()
    }

    /// No row of this schema has a larger norm before it is scaled.
    pub fn largest_norm(&self) -> f64 {
        let of_columns = self.columns.iter().map(ColumnSchema::largest_square).sum::<f64>().sqrt();
        if self.fourier.is_some() { 1.0 } else { of_columns }
    }

    /// How rows of this schema are scaled where nobody says otherwise: features of maps have their length already, and are
    /// taken as they are unless constants are derived beside them.
    pub fn usual_transform(&self) -> RowTransform {
        let is_mapped = !self.maps().is_empty() && !self.derives();
        let as_they_are = match self.largest_norm() {
            norm if norm <= 1.0 => Scale::None,
            radius => Scale::Within { radius },
        };
        RowTransform { scale: if is_mapped { as_they_are } else { Scale::Auto }, ..RowTransform::USUAL }
    }

    /// A schema of one entry that no file declares.
    pub(crate) fn of(column: ColumnSchema) -> Self {
        Self {
            label: None,
            id: None,
            subject: None,
            missing_markers: Vec::new(),
            notation: Notation::default(),
            columns: vec![column],
            fourier: None,
            networks: NetworkPlaces::default(),
        }
    }

    fn new(
        (label, id, subject): (Option<String>, Option<String>, Option<String>),
        missing_markers: Vec<String>,
        columns: Vec<ColumnSchema>,
        fourier: Option<FourierLayer>,
    ) -> Result<Self, InvalidSchema> {
        if columns.is_empty() {
            return Err(InvalidSchema::NoColumns);
        }
        let mut names = HashSet::new();
        for (index, column) in columns.iter().enumerate() {
            if column.name.is_empty() {
                return Err(InvalidSchema::Unnamed { number: index + 1 });
            }
            if !names.insert(column.name.as_str()) {
                return Err(InvalidSchema::DuplicateColumn { column: column.name.clone() });
            }
        }
        for (role, name) in [("label", &label), ("row id", &id), ("subject", &subject)] {
            if let Some(column) = name.as_ref().filter(|name| names.contains(name.as_str())) {
                return Err(InvalidSchema::HasRole { column: column.clone(), role });
            }
        }
        let is_private = |column: &&ColumnSchema| column.origin == EntryOrigin::Private;
        if let Some(column) = columns.iter().filter(is_private).nth(1) {
            return Err(InvalidSchema::TwoPrivate { column: column.name.clone() });
        }
        let of_columns: u64 = columns.iter().map(|column| column.width() as u64).sum();
        let found = of_columns.max(fourier.map_or(0, |layer| layer.width as u64));
        if found > MAX_FEATURES as u64 {
            return Err(InvalidSchema::TooManyFeatures { found });
        }
        let schema = Self {
            label,
            id,
            subject,
            missing_markers,
            notation: Notation::default(),
            columns,
            fourier,
            networks: NetworkPlaces::default(),
        };
        if let Some(layer) = fourier {
            if let Some(column) = schema.columns.iter().find(|column| column.kind == ColumnKind::Derived) {
                return Err(InvalidSchema::LayerOnDerived { column: column.name.clone() });
            }
            let checked = FeatureSpec::fourier(of_columns as usize, layer).check();
            return checked.map(|()| schema).map_err(|source| InvalidSchema::Layer { source });
        }
        if let Some(ColumnSchema { name, kind, .. }) = schema.columns.iter().find(|column| column.kind.is_unbounded()) {
            return Err(InvalidSchema::Needs { column: name.clone(), kind: kind.tag(), needed: file::RANGE });
        }
        let mut features = HashSet::with_capacity(found as usize);
        match schema.feature_names().into_iter().find(|feature| !features.insert(feature.clone())) {
            Some(feature) => Err(InvalidSchema::DuplicateFeature { feature }),
            None => Ok(schema),
        }
    }
}

#[cfg(test)]
mod tests;
