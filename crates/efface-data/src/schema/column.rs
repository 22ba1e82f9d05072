//! What one column of a table becomes: a kind, what a missing value becomes, and where the entry comes from.

use std::path::Path;

use efface_core::accounting::statement::Statement;
use efface_features::{FeatureSpec, ImageShape, NetworkInput, NetworkSpec, NgramSpec, TransformerSpec};
use serde::{Deserialize, Serialize};

use super::cell::{canonical, spelling_of};
use crate::error::{ExpectedBy, ReadError};
use crate::table::listed;

/// The entry of one column. Only a checked [`Schema`](super::Schema) has them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ColumnSchema {
    /// The column's name in the file.
    pub name: String,
    /// How its values become features.
    #[serde(flatten)]
    pub kind: ColumnKind,
    /// What a missing value becomes.
    pub missing: Missing,
    /// Whether the entry was chosen without a look at the rows.
    pub origin: EntryOrigin,
}

/// How values become features, one row at a time.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum ColumnKind {
    /// A number: its public range becomes [−1, 1].
    ///
    /// ```text
    /// x ↦ (2x − low − high) / (high − low),   x clipped to [low, high] first
    /// ```
    Numeric {
        /// The range; `None`: the number as it is, for a layer that takes any.
        #[serde(skip_serializing_if = "Option::is_none")]
        range: Option<ValueRange>,
    },
    /// One of the declared values: 1 in the feature of that value, 0 in the others.
    Categorical {
        /// The values, in the order of their features.
        values: Vec<String>,
        /// What any other value becomes.
        unknown: Unknown,
    },
    /// Any text: 1 in the bucket that a public hash of column and value picks, 0 in the others.
    Hashed {
        /// Number of buckets.
        buckets: usize,
    },
    /// True becomes 1, false −1.
    Boolean {
        /// Spellings of true.
        #[serde(rename = "true")]
        true_values: Vec<String>,
        /// Spellings of false.
        #[serde(rename = "false")]
        false_values: Vec<String>,
    },
    /// Kept as it is; what it becomes is [derived](crate::derived) from the rows present.
    Derived,
    /// A list of numbers, each as [`Numeric`](Self::Numeric).
    Vector {
        /// Its length.
        dim: usize,
        /// The range of every element; `None`: as of a number.
        #[serde(skip_serializing_if = "Option::is_none")]
        range: Option<ValueRange>,
    },
    /// A text: hashed n-grams of its words and characters.
    Text(NgramSpec),
    /// An image: scattering.
    Image(ImageShape),
    /// An image: its pixels, whole numbers from 0 to 255. No schema file declares it: [`ImageReader`](crate::ImageReader) does.
    Pixels(ImageShape),
    /// A text or an image: what a network makes of it.
    Network {
        /// The network.
        #[serde(flatten)]
        spec: NetworkSpec,
        /// How it was trained, where it was trained privately on the rows.
        #[serde(skip_serializing_if = "Option::is_none")]
        statement: Option<Box<Statement>>,
    },
    /// A list of numbers: what another program makes of a cell, divided by its norm.
    Transformer(TransformerSpec),
}

/// Two finite numbers, the lower one first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ValueRange(f64, f64);

/// What a value becomes that is not among the declared ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Unknown {
    /// 1 in a feature of its own.
    Slot,
    /// An error.
    Error,
}

/// What a missing value becomes.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Missing {
    /// An error.
    Error,
    /// 0 in every feature of the column: the middle of a range, no category.
    Zero,
    /// 1 in a feature of its own, 0 in the others.
    Slot,
    /// This value, a public constant.
    Value(Scalar),
}

/// A value as it is written in a schema.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "a text, a number, true or false")]
pub enum Scalar {
    /// `true` or `false`.
    Boolean(bool),
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
}

/// Where an entry comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EntryOrigin {
    /// A person says that it was chosen without the rows, or that its choice gives nothing about them away.
    Public,
    /// Proposed from the rows, and nobody has looked at it. Outside the guarantee.
    Inferred,
    /// Derived from the rows present, and the same as if no other had ever been there. Inside the guarantee.
    Derived,
    /// Trained on the rows, privately: the statement says how, and what that costs is in the promise.
    Private,
}

impl ColumnSchema {
    /// The error of a file that has other columns. What is derived was declared by nobody: it was there at training.
    pub(crate) fn absent(&self, file: &Path, names: &[String]) -> ReadError {
        let (column, known) = (self.name.clone(), listed(names));
        let is_derived = self.kind == ColumnKind::Derived;
        let expected_by = if is_derived { ExpectedBy::Model } else { ExpectedBy::Schema };
        ReadError::SchemaColumn { file: file.into(), column, known, expected_by }
    }

    /// Number of features.
    pub fn width(&self) -> usize {
        let kind = match &self.kind {
            ColumnKind::Numeric { .. } | ColumnKind::Boolean { .. } | ColumnKind::Derived => 1,
            ColumnKind::Categorical { values, unknown } => values.len() + usize::from(*unknown == Unknown::Slot),
            ColumnKind::Hashed { buckets } => *buckets,
            ColumnKind::Vector { dim, .. } => *dim,
            ColumnKind::Text(spec) => spec.buckets,
            ColumnKind::Image(shape) => shape.n_features(),
            ColumnKind::Pixels(shape) => shape.n_inputs(),
            ColumnKind::Network { spec, .. } => spec.features,
            ColumnKind::Transformer(spec) => spec.features,
        };
        kind + usize::from(self.missing == Missing::Slot)
    }

    /// Names of the features: `age`, `job=clerk`, `job=?unknown`, `zip#17`, `review#17`, `face[3]`, `age=?missing`.
    pub fn feature_names(&self) -> Vec<String> {
        let name = &self.name;
        let mut names = Vec::with_capacity(self.width());
        match &self.kind {
            ColumnKind::Numeric { .. } | ColumnKind::Boolean { .. } | ColumnKind::Derived => names.push(name.clone()),
            ColumnKind::Categorical { values, unknown } => {
                names.extend(values.iter().map(|value| format!("{name}={value}")));
                if *unknown == Unknown::Slot {
                    names.push(format!("{name}=?unknown"));
                }
            }
            ColumnKind::Hashed { buckets } | ColumnKind::Text(NgramSpec { buckets, .. }) => {
                names.extend((0..*buckets).map(|bucket| format!("{name}#{bucket}")));
            }
            ColumnKind::Vector { dim, .. } => names.extend(numbered(name, *dim)),
            ColumnKind::Image(shape) => names.extend(numbered(name, shape.n_features())),
            ColumnKind::Pixels(shape) => names.extend(numbered(name, shape.n_inputs())),
            ColumnKind::Network { spec: NetworkSpec { features, .. }, .. }
            | ColumnKind::Transformer(TransformerSpec { features, .. }) => names.extend(numbered(name, *features)),
        }
        if self.missing == Missing::Slot {
            names.push(format!("{name}=?missing"));
        }
        names
    }

    /// No row has a larger sum of squares in these features: those of a map have norm 1 at most.
    pub(super) fn largest_square(&self) -> f64 {
        match &self.kind {
            ColumnKind::Vector { dim, .. } => *dim as f64,
            _ => 1.0,
        }
    }
}

impl ColumnKind {
    /// The tag in a schema file.
    pub fn tag(&self) -> &'static str {
        match self {
            Self::Numeric { .. } => "numeric",
            Self::Categorical { .. } => "categorical",
            Self::Hashed { .. } => "hashed",
            Self::Boolean { .. } => "boolean",
            Self::Derived => "derived",
            Self::Vector { .. } => "vector",
            Self::Text(_) => "text",
            Self::Image(_) => "image",
            Self::Pixels(_) => "pixels",
            Self::Network { .. } => "network",
            Self::Transformer(_) => "transformer",
        }
    }

    /// The map whose features the cells of the column become.
    pub fn map(&self) -> Option<FeatureSpec> {
        match self {
            Self::Text(spec) => Some(FeatureSpec::Ngrams(*spec)),
            Self::Image(shape) => Some(FeatureSpec::Scattering(*shape)),
            Self::Network { spec, .. } => Some(FeatureSpec::Network(spec.clone())),
            Self::Transformer(spec) => Some(FeatureSpec::Transformer(spec.clone())),
            _ => None,
        }
    }

    /// What its cells are, where they are images.
    pub fn image(&self) -> Option<ImageShape> {
        match self {
            Self::Image(shape)
            | Self::Pixels(shape)
            | Self::Network { spec: NetworkSpec { input: NetworkInput::Image { shape, .. }, .. }, .. } => Some(*shape),
            _ => None,
        }
    }

    /// Whether it takes numbers of any size.
    pub(super) fn is_unbounded(&self) -> bool {
        matches!(self, Self::Numeric { range: None } | Self::Vector { range: None, .. })
    }
}

/// `name[0]`, `name[1]`, …
pub(super) fn numbered(name: &str, n: usize) -> impl Iterator<Item = String> {
    (0..n).map(move |element| format!("{name}[{element}]"))
}

impl ValueRange {
    /// `None` unless both ends and their difference are finite and the lower end is first.
    pub fn new(low: f64, high: f64) -> Option<Self> {
        (low < high && (high - low).is_finite()).then_some(Self(low, high))
    }

    /// Lower end.
    pub fn low(self) -> f64 {
        self.0
    }

    /// Upper end.
    pub fn high(self) -> f64 {
        self.1
    }

    /// The place of a finite number in the range, from −1 to 1; beyond the ends it is clipped.
    ///
    /// ```text
    /// ((x − low) − (high − x)) / (high − low)
    /// ```
    pub(crate) fn scale(self, x: f64) -> f64 {
        // In this order nothing overflows, and the ends become −1 and 1 exactly.
        let Self(low, high) = self;
        let x = x.clamp(low, high);
        ((x - low) - (high - x)) / (high - low)
    }
}

impl Scalar {
    /// The number, if it is one.
    pub(crate) fn number(&self) -> Option<f64> {
        if let Self::Number(x) = self { Some(*x) } else { None }
    }

    pub(crate) fn spelling(&self) -> String {
        match self {
            Self::Boolean(value) => value.to_string(),
            Self::Number(value) => spelling_of(*value),
            Self::Text(text) => canonical(text).to_owned(),
        }
    }
}
