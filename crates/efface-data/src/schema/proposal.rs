//! A proposed schema: the entries, what was seen of each column, and the file that a person reviews.

use std::fmt::Write as _;
use std::path::Path;

use efface_features::ImageShape;
use serde::Serialize;

use super::column::{ColumnKind, ColumnSchema, EntryOrigin, Missing, Unknown, ValueRange};
use super::{ALL_COLUMNS, FORMAT, Schema};
use crate::table::listed;

/// A schema proposed from rows.
#[derive(Clone, Debug, Serialize)]
pub struct SchemaProposal {
    /// The schema; every entry is `derived` or marked `inferred`.
    pub schema: Schema,
    /// Rows that were looked at.
    pub n_rows: u64,
    /// What was seen of each column that has an entry.
    pub columns: Vec<ProposedColumn>,
    /// Columns without an entry.
    pub left_out: Vec<LeftOut>,
}

/// What was seen of a column.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProposedColumn {
    /// The column.
    pub name: String,
    /// Cells in which something stands.
    pub n_values: u64,
    /// Cells in which nothing stands.
    pub n_missing: u64,
    /// Least and largest number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<(f64, f64)>,
    /// Number of different values, unless there are too many to count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub n_distinct: Option<usize>,
    /// Categories of so few rows that naming them in public deserves a second look.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rare: Vec<String>,
    /// The values of a column of whole numbers that has so few that they may be codes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub codes: Vec<String>,
    /// Some texts of a column that is otherwise numbers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub texts_among_numbers: Vec<String>,
}

/// A column without an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// The column.
    pub name: String,
    /// Why.
    pub reason: String,
    /// What could be done about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
}

impl LeftOut {
    /// A column that cannot be a feature.
    pub(super) fn unreadable(name: &str, what: &str) -> Self {
        Self { name: name.to_owned(), reason: format!("it cannot be read ({what})"), suggestion: None }
    }
}

impl SchemaProposal {
    /// The same where the constants of all columns but vectors and sentences are derived from the rows present, inside the guarantee.
    #[must_use]
    pub fn derived(mut self) -> Self {
        for (column, seen) in self.schema.columns.iter_mut().zip(&mut self.columns) {
            if !matches!(column.kind, ColumnKind::Vector { .. } | ColumnKind::Text(_)) {
                (column.kind, column.missing, column.origin) =
                    (ColumnKind::Derived, Missing::Zero, EntryOrigin::Derived);
                // A text of so few rows is no category, and is not published.
                seen.rare.clear();
            }
        }
        self
    }

    /// The text of a schema file, with comments that help to review it.
    pub fn to_toml(&self) -> String {
        let schema = &self.schema;
        let mut text = String::from(HEADER);
        let is_derived = |column: &ColumnSchema| column.kind == ColumnKind::Derived;
        if schema.columns.iter().any(is_derived) {
            text.push_str(DERIVED);
        }
        if !schema.not_public().is_empty() {
            text.push_str(INFERRED);
        }
        text.push_str(LAST);
        let _ = writeln!(text, "format = {}", quoted(FORMAT));
        for (role, name) in [("label", &schema.label), ("id", &schema.id), ("subject", &schema.subject)] {
            if let Some(name) = name {
                let _ = writeln!(text, "{role} = {}", quoted(name));
            }
        }
        let _ = writeln!(text, "\n# An empty cell or a null is always missing; these texts are, too.");
        let _ = writeln!(text, "missing_markers = {}", list(&schema.missing_markers));
        text.push_str(&toml::to_string(&schema.notation).unwrap_or_default());
        for left_out in &self.left_out {
            let suggestion = left_out.suggestion.as_ref().map_or(String::new(), |text| format!("; {text}"));
            let LeftOut { name, reason, .. } = left_out;
            let _ = write!(text, "\n{}", comment(&format!("Left out: column `{name}`: {reason}{suggestion}.")));
        }
        for (column, seen) in schema.columns.iter().zip(&self.columns) {
            let _ = writeln!(text, "\n[[column]]");
            write_entry(&mut text, column, seen);
        }
        text
    }
}

/// The text of a schema file that maps a column of images by a network: the names of image and label columns, the network's file
/// and its statement.
pub fn network_schema(
    (image, label): (&str, Option<&str>),
    (network, statement): (&Path, Option<&Path>),
    shape: ImageShape,
) -> String {
    let ImageShape { height, width, channels, resize } = shape;
    let path = |path: &Path| quoted(&path.display().to_string());
    let mut text = format!("format = {}\n", quoted(FORMAT));
    if let Some(label) = label.filter(|_| image != ALL_COLUMNS) {
        let _ = writeln!(text, "label = {}", quoted(label));
    }
    let _ = write!(text, "\n[[column]]\nname = {}\nkind = \"network\"\nfile = {}\n", quoted(image), path(network));
    if let Some(statement) = statement {
        let _ = writeln!(text, "statement = {}", path(statement));
    }
    let _ = write!(text, "height = {height}\nwidth = {width}\nchannels = {channels}\n");
    text + if resize { "resize = true\n" } else { "" }
}

const HEADER: &str = "\
# What each column becomes. Proposed from the rows, for you to review.
";

const DERIVED: &str = "\
#
# kind = \"derived\": numbers are centred and scaled, texts become categories, and what is missing is noticed. The
# constants are always those of the rows that are left, as if no other had ever been there: nothing has to be declared,
# and certificates cover all of it.
";

const INFERRED: &str = "\
#
# Entries marked origin = \"inferred\": their range or values were read off the rows, so they may still tell
# something about a row after that row has been removed. Models trained with such an entry say so in their status and
# in every certificate. For each of them:
#   1. replace what was seen by what is publicly known: the range a value can have, the values a form offers;
#   2. delete values that point at single people: they are published with the model;
#   3. then write origin = \"public\".
";

const LAST: &str = "\
#
# Delete the entry of a column that is not to be used. docs/schema.md explains every key.

";

fn write_entry(text: &mut String, column: &ColumnSchema, seen: &ProposedColumn) {
    let _ = writeln!(text, "name = {}", quoted(&column.name));
    text.push_str(&comment(&seen.sentence()));
    let _ = writeln!(text, "kind = {}", quoted(column.kind.tag()));
    let range_of = |range: &Option<ValueRange>| {
        let of = |range: ValueRange| format!("range = [{}, {}]", number(range.low()), number(range.high()));
        range.map_or_else(String::new, of)
    };
    let keys = match &column.kind {
        ColumnKind::Numeric { range } => range_of(range),
        ColumnKind::Categorical { values, unknown } => {
            let unknown = if *unknown == Unknown::Slot { "slot" } else { "error" };
            format!("values = {}\nunknown = {}", list(values), quoted(unknown))
        }
        ColumnKind::Hashed { buckets } => format!("buckets = {buckets}"),
        ColumnKind::Boolean { true_values, false_values } => {
            format!("true = {}\nfalse = {}", list(true_values), list(false_values))
        }
        ColumnKind::Vector { dim, range } => format!("dim = {dim}\n{}", range_of(range)),
        // In its usual form.
        ColumnKind::Text(spec) => format!("buckets = {}", spec.buckets),
        // What it becomes, and what a missing value does, is derived. Other maps are proposed by nobody.
        ColumnKind::Derived
        | ColumnKind::Image(_)
        | ColumnKind::Pixels(_)
        | ColumnKind::Network { .. }
        | ColumnKind::Transformer(_) => return,
    };
    let missing = if column.missing == Missing::Slot { "slot" } else { "error" };
    let _ = writeln!(text, "{keys}\nmissing = {}", quoted(missing));
    if column.origin == EntryOrigin::Inferred {
        text.push_str("origin = \"inferred\"\n");
    }
}

impl ProposedColumn {
    fn sentence(&self) -> String {
        let mut text = match (self.range, self.n_distinct) {
            (Some((min, max)), _) => format!("Seen: {} to {}", number(min), number(max)),
            (None, Some(n)) => format!("Seen: {n} different values"),
            (None, None) => "Seen: too many different values to count".to_owned(),
        };
        match self.n_missing {
            0 => text.push_str(", none missing."),
            n => {
                let share = 100.0 * n as f64 / (n + self.n_values) as f64;
                let _ = write!(text, ", {n} missing ({share:.1} %).");
            }
        }
        if !self.codes.is_empty() {
            let codes = self.codes.join(", ");
            let _ = write!(text, "\nIf these are codes and not amounts: kind = \"categorical\", values = [{codes}].");
        }
        if !self.rare.is_empty() {
            let _ = write!(text, "\nIn fewer than five rows, look twice: {}.", listed(&self.rare));
        }
        if !self.texts_among_numbers.is_empty() {
            let texts = listed(&self.texts_among_numbers);
            let _ = write!(text, "\nMostly numbers, but also {texts}: should these be missing_markers?");
        }
        text
    }
}

/// Lines of a comment, with nothing in them that could end it.
fn comment(text: &str) -> String {
    let plain = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    text.lines().flat_map(|line| "# ".chars().chain(line.chars().map(plain)).chain(['\n'])).collect()
}

/// A number as TOML reads it: whole numbers beyond its integers get an exponent.
fn number(x: f64) -> String {
    if x.abs() < 1e15 { x.to_string() } else { format!("{x:e}") }
}

fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

/// A list of texts, on several lines when it is long.
fn list(values: &[String]) -> String {
    const WIDTH: usize = 100;
    let quoted: Vec<String> = values.iter().map(|value| quoted(value)).collect();
    let line = quoted.join(", ");
    if line.len() <= WIDTH {
        return format!("[{line}]");
    }
    let mut text = String::from("[");
    let mut length = WIDTH;
    for value in quoted {
        if length + value.len() + 2 > WIDTH {
            text.push_str("\n    ");
            length = 0;
        } else {
            text.push(' ');
        }
        length += value.len() + 2;
        let _ = write!(text, "{value},");
    }
    text + "\n]"
}
