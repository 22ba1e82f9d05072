//! The written form of a schema, in TOML files and in the JSON of published models, and the checks of its entries.

mod network;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use efface_features::{FourierLayer, Grams, ImageShape, NetworkInput, NgramSpec, TransformerSpec};
use serde::Deserialize;

use self::network::StatementEntry;
use super::cell::canonical;
use super::column::{ColumnKind, ColumnSchema, EntryOrigin, Missing, Scalar, Unknown, ValueRange};
use super::{DateOrder, DecimalMark, FORMAT, MAX_FEATURES, Notation, Schema, fitted};
use crate::error::{InvalidSchema, SchemaError};
use crate::networks::NetworkPlaces;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SchemaFile {
    format: String,
    label: Option<String>,
    id: Option<String>,
    subject: Option<String>,
    #[serde(default)]
    missing_markers: Vec<String>,
    decimal: Option<DecimalMark>,
    dates: Option<DateOrder>,
    #[serde(default)]
    column: Vec<ColumnEntry>,
    fourier: Option<FourierLayer>,
}

/// An entry as it is written: which keys it may have depends on its kind.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ColumnEntry {
    name: String,
    kind: String,
    range: Option<Vec<f64>>,
    values: Option<Vec<Scalar>>,
    unknown: Option<String>,
    buckets: Option<u64>,
    #[serde(rename = "true")]
    true_values: Option<Vec<Scalar>>,
    #[serde(rename = "false")]
    false_values: Option<Vec<Scalar>>,
    dim: Option<u64>,
    words: Option<Grams>,
    characters: Option<Grams>,
    binary: Option<bool>,
    seed: Option<u64>,
    height: Option<u64>,
    width: Option<u64>,
    channels: Option<u64>,
    resize: Option<bool>,
    file: Option<PathBuf>,
    tokenizer: Option<PathBuf>,
    max_tokens: Option<u64>,
    mean: Option<Vec<f32>>,
    deviation: Option<Vec<f32>>,
    onnx: Option<String>,
    features: Option<u64>,
    input: Option<NetworkInput>,
    statement: Option<StatementEntry>,
    transformer: Option<String>,
    sha256: Option<String>,
    missing: Option<MissingEntry>,
    origin: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged, deny_unknown_fields, expecting = "missing must be \"error\", \"zero\", \"slot\" or { value = … }")]
enum MissingEntry {
    Choice(String),
    Value { value: Scalar },
}

/// Reads the text of a schema; `path` is for messages.
pub(super) fn parse(text: &str, path: &Path) -> Result<Schema, SchemaError> {
    let invalid = |source| SchemaError::Invalid { file: path.into(), source: Box::new(source) };
    let syntax = |error: &toml::de::Error| {
        let line = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        SchemaError::Syntax { file: path.into(), line, reason: error.message().replace('\n', "; ") }
    };
    let text = text.trim_start_matches('\u{feff}');
    let plain: toml::Table = text.parse().map_err(|error| syntax(&error))?;
    fitted::refuse_fitted(&plain).map_err(invalid)?;
    let file: SchemaFile = toml::from_str(text).map_err(|error| syntax(&error))?;
    resolve(file, path)
}

/// Reads a schema that a program has put together; `path` is for messages, and its folder that of files that are named.
pub(super) fn of_json(text: &str, path: &Path) -> Result<Schema, SchemaError> {
    let syntax = |reason: String| SchemaError::Syntax { file: path.into(), line: None, reason };
    let plain: toml::Table = serde_json::from_str(text).map_err(|error| syntax(error.to_string()))?;
    let invalid = |source| SchemaError::Invalid { file: path.into(), source: Box::new(source) };
    fitted::refuse_fitted(&plain).map_err(invalid)?;
    resolve(serde_json::from_str(text).map_err(|error| syntax(error.to_string()))?, path)
}

/// Puts what files hold in the place of their names, and checks all entries.
fn resolve(mut file: SchemaFile, path: &Path) -> Result<Schema, SchemaError> {
    let invalid = |source| SchemaError::Invalid { file: path.into(), source: Box::new(source) };
    let folder = path.parent().unwrap_or(Path::new(""));
    let has_networks = file.column.iter().any(|entry| entry.kind == "network");
    let mut places: Vec<_> = has_networks.then(|| folder.to_owned()).into_iter().collect();
    for entry in &mut file.column {
        places.extend(entry.read_files(folder, path)?);
    }
    Ok(Schema::try_from(file).map_err(invalid)?.with_networks(NetworkPlaces::new(places)))
}

impl TryFrom<SchemaFile> for Schema {
    type Error = InvalidSchema;

    fn try_from(file: SchemaFile) -> Result<Self, InvalidSchema> {
        if file.format != FORMAT {
            return Err(InvalidSchema::UnknownFormat { found: file.format });
        }
        let missing_markers: Vec<String> =
            file.missing_markers.iter().map(|marker| canonical(marker).to_owned()).collect();
        let columns = file.column.into_iter().map(|entry| entry.check(&missing_markers)).collect::<Result<_, _>>()?;
        let notation = Notation { decimal: file.decimal, dates: file.dates };
        Ok(Self::new((file.label, file.id, file.subject), missing_markers, columns, file.fourier)?.written_as(notation))
    }
}

impl ColumnEntry {
    fn check(self, markers: &[String]) -> Result<ColumnSchema, InvalidSchema> {
        let is_unbounded = matches!(self.kind.as_str(), "numeric" | "vector") && self.range.is_none();
        let is_fixed = is_unbounded || matches!(self.kind.as_str(), "text" | "image");
        let origin = match self.origin.as_deref() {
            // How it was trained on the rows is stated: nobody's word makes that public.
            None | Some("private") if self.statement.is_some() => EntryOrigin::Private,
            Some(origin) if self.statement.is_some() => {
                return Err(InvalidSchema::StatedOrigin { column: self.name, origin: origin.to_owned() });
            }
            Some("public") => EntryOrigin::Public,
            // Nothing of a fixed map is read off rows, nor of numbers as they are.
            None if is_fixed => EntryOrigin::Public,
            // What nobody has called public is not.
            None | Some("inferred") => EntryOrigin::Inferred,
            Some("derived") if self.kind == "derived" => EntryOrigin::Derived,
            Some(other) => return Err(self.unknown_choice("origin", "\"public\" or \"inferred\"", other)),
        };
        let origin = if self.kind == "derived" { EntryOrigin::Derived } else { origin };
        let kind = match self.kind.as_str() {
            "numeric" => ColumnKind::Numeric { range: self.range()? },
            "categorical" => self.categorical(markers)?,
            "hashed" => {
                let needed = "buckets, such as buckets = 256";
                ColumnKind::Hashed { buckets: self.size("hashed", "buckets", self.buckets, needed)? }
            }
            "boolean" => self.boolean(markers)?,
            "derived" => ColumnKind::Derived,
            "vector" => {
                let dim = self.size("vector", "dim", self.dim, "dim, the length of its lists")?;
                ColumnKind::Vector { dim, range: self.range()? }
            }
            "text" => ColumnKind::Text(self.ngrams()?),
            "image" => ColumnKind::Image(self.image("image")?),
            "network" => self.network()?,
            "transformer" => self.transformer()?,
            other => return Err(self.unknown_choice("kind", KINDS, other)),
        };
        self.refuse_foreign(&kind)?;
        if let Some(map) = kind.map() {
            map.check().map_err(|source| InvalidSchema::Map { column: self.name.clone(), source })?;
        }
        let missing = self.missing(&kind)?;
        Ok(ColumnSchema { name: self.name, kind, missing, origin })
    }

    fn range(&self) -> Result<Option<ValueRange>, InvalidSchema> {
        let column = self.name.clone();
        // Not an array of two: the TOML reader would drop a third number without a word.
        match self.range.as_deref() {
            None => Ok(None),
            Some(&[low, high]) => {
                ValueRange::new(low, high).map(Some).ok_or(InvalidSchema::Range { column, low, high })
            }
            Some(_) => Err(InvalidSchema::Needs { column, kind: self.numbers(), needed: RANGE }),
        }
    }

    fn numbers(&self) -> &'static str {
        if self.kind == "vector" { "vector" } else { "numeric" }
    }

    fn size(
        &self,
        kind: &'static str,
        key: &'static str,
        size: Option<u64>,
        needed: &'static str,
    ) -> Result<usize, InvalidSchema> {
        let found = size.ok_or_else(|| self.needs(kind, needed))?;
        match usize::try_from(found) {
            Ok(size) if (1..=MAX_FEATURES).contains(&size) => Ok(size),
            _ => Err(InvalidSchema::Size { column: self.name.clone(), key, found }),
        }
    }

    /// Words and pairs of words, unless something else is said.
    fn ngrams(&self) -> Result<NgramSpec, InvalidSchema> {
        let buckets = self.size("text", "buckets", self.buckets, "buckets, a power of two such as buckets = 4096")?;
        let mut spec = NgramSpec::usual(buckets);
        if self.words.is_some() || self.characters.is_some() {
            (spec.words, spec.characters) = (self.words, self.characters);
        }
        let (binary, seed) = (self.binary.unwrap_or(false), self.seed.unwrap_or(0));
        Ok(NgramSpec { binary, seed, ..spec })
    }

    fn image(&self, kind: &'static str) -> Result<ImageShape, InvalidSchema> {
        let needed = "height and width of its images, such as height = 32";
        let height = self.size(kind, "height", self.height, needed)?;
        let width = self.size(kind, "width", self.width, needed)?;
        let channels = self.size(kind, "channels", self.channels.or(Some(3)), needed)?;
        Ok(ImageShape { height, width, channels, resize: self.resize.unwrap_or(false) })
    }

    fn transformer(&self) -> Result<ColumnKind, InvalidSchema> {
        let needed = "transformer, its name, sha256, its digest, and features, their number";
        let features = self.size("transformer", "features", self.features, needed)?;
        let (Some(transformer), Some(sha256)) = (self.transformer.clone(), self.sha256.clone()) else {
            return Err(self.needs("transformer", needed));
        };
        Ok(ColumnKind::Transformer(TransformerSpec { transformer, sha256, features }))
    }

    fn categorical(&self, markers: &[String]) -> Result<ColumnKind, InvalidSchema> {
        let needed = "values, such as values = [\"red\", \"green\"]";
        let values = self.values.as_deref().ok_or_else(|| self.needs("categorical", needed))?;
        let unknown = match self.unknown.as_deref() {
            None | Some("slot") => Unknown::Slot,
            Some("error") => Unknown::Error,
            Some(other) => return Err(self.unknown_choice("unknown", "\"slot\" or \"error\"", other)),
        };
        let values = self.spellings("values", values, markers, &[])?;
        Ok(ColumnKind::Categorical { values, unknown })
    }

    fn boolean(&self, markers: &[String]) -> Result<ColumnKind, InvalidSchema> {
        let usual = |spellings: [&str; 3]| spellings.map(|text| Scalar::Text(text.into())).to_vec();
        let (yes, no) = match (&self.true_values, &self.false_values) {
            (None, None) => (usual(["true", "True", "TRUE"]), usual(["false", "False", "FALSE"])),
            (Some(yes), Some(no)) => (yes.clone(), no.clone()),
            _ => return Err(self.needs("boolean", "both true = […] and false = […], or neither")),
        };
        let true_values = self.spellings("true", &yes, markers, &[])?;
        let false_values = self.spellings("false", &no, markers, &true_values)?;
        Ok(ColumnKind::Boolean { true_values, false_values })
    }

    /// Declared values in their canonical spelling: none empty, none twice or among the `others`, none a marker of missing
    /// values.
    fn spellings(
        &self,
        key: &'static str,
        values: &[Scalar],
        markers: &[String],
        others: &[String],
    ) -> Result<Vec<String>, InvalidSchema> {
        let column = self.name.clone();
        if values.is_empty() {
            return Err(InvalidSchema::NoValues { column, key });
        }
        let n_values = others.len() + values.len();
        if n_values > MAX_FEATURES {
            return Err(InvalidSchema::Size { column, key, found: n_values as u64 });
        }
        let mut seen: HashSet<String> = others.iter().cloned().collect();
        let mut spelt = Vec::with_capacity(values.len());
        for value in values.iter().map(Scalar::spelling) {
            if value.is_empty() || markers.contains(&value) {
                return Err(InvalidSchema::ValueIsMissing { column, value });
            }
            if !seen.insert(value.clone()) {
                return Err(InvalidSchema::DuplicateValue { column, value });
            }
            spelt.push(value);
        }
        Ok(spelt)
    }

    fn missing(&self, kind: &ColumnKind) -> Result<Missing, InvalidSchema> {
        let value = match &self.missing {
            // Whether anything is missing is counted.
            None if *kind == ColumnKind::Derived => return Ok(Missing::Zero),
            None => return Ok(Missing::Error),
            Some(MissingEntry::Choice(choice)) => {
                return match choice.as_str() {
                    "error" => Ok(Missing::Error),
                    "zero" => Ok(Missing::Zero),
                    "slot" => Ok(Missing::Slot),
                    other => Err(self.unknown_choice("missing", MISSING_CHOICES, other)),
                };
            }
            Some(MissingEntry::Value { value }) => value,
        };
        let (fits, reason) = match (kind, value) {
            (ColumnKind::Numeric { range: None }, Scalar::Number(x)) => (x.is_finite(), "it is not finite"),
            (ColumnKind::Numeric { range: Some(range) }, Scalar::Number(x)) => {
                ((range.low()..=range.high()).contains(x), "it is outside the range")
            }
            (ColumnKind::Numeric { .. }, _) => (false, "it is not a number"),
            (ColumnKind::Categorical { values, .. }, value) => {
                (values.contains(&value.spelling()), "it is not among the declared values")
            }
            (ColumnKind::Boolean { .. }, Scalar::Boolean(_)) => (true, ""),
            (ColumnKind::Boolean { true_values, false_values }, value) => {
                let spelling = value.spelling();
                let known = true_values.contains(&spelling) || false_values.contains(&spelling);
                (known, "it is no spelling of true or false")
            }
            (ColumnKind::Hashed { .. }, value) => (!value.spelling().is_empty(), "it is empty"),
            (ColumnKind::Derived, _) => (false, "what a missing value of a derived column becomes is derived, too"),
            (
                ColumnKind::Vector { .. }
                | ColumnKind::Text(_)
                | ColumnKind::Image(_)
                | ColumnKind::Pixels(_)
                | ColumnKind::Network { .. }
                | ColumnKind::Transformer(_),
                _,
            ) => (false, "vectors, texts and images can be missing as \"error\", \"zero\" or \"slot\""),
        };
        if fits {
            return Ok(Missing::Value(value.clone()));
        }
        let value = match value {
            Scalar::Text(text) => format!("{text:?}"),
            other => other.spelling(),
        };
        Err(InvalidSchema::MissingValue { column: self.name.clone(), value, reason })
    }

    fn refuse_foreign(&self, kind: &ColumnKind) -> Result<(), InvalidSchema> {
        let given: [(&str, bool, &[&str]); 26] = [
            ("range", self.range.is_some(), &["numeric", "vector"]),
            ("values", self.values.is_some(), &["categorical"]),
            ("unknown", self.unknown.is_some(), &["categorical"]),
            ("buckets", self.buckets.is_some(), &["hashed", "text"]),
            ("true", self.true_values.is_some(), &["boolean"]),
            ("false", self.false_values.is_some(), &["boolean"]),
            ("dim", self.dim.is_some(), &["vector"]),
            ("words", self.words.is_some(), &["text"]),
            ("characters", self.characters.is_some(), &["text"]),
            ("binary", self.binary.is_some(), &["text"]),
            ("seed", self.seed.is_some(), &["text"]),
            ("height", self.height.is_some(), &["image"]),
            ("width", self.width.is_some(), &["image"]),
            ("channels", self.channels.is_some(), &["image"]),
            ("resize", self.resize.is_some(), &["image"]),
            ("file", self.file.is_some(), &[]),
            ("tokenizer", self.tokenizer.is_some(), &[]),
            ("max_tokens", self.max_tokens.is_some(), &[]),
            ("mean", self.mean.is_some(), &[]),
            ("deviation", self.deviation.is_some(), &[]),
            ("onnx", self.onnx.is_some(), &["network"]),
            ("features", self.features.is_some(), &["network", "transformer"]),
            ("input", self.input.is_some(), &["network"]),
            ("statement", self.statement.is_some(), &["network"]),
            ("transformer", self.transformer.is_some(), &["transformer"]),
            ("sha256", self.sha256.is_some(), &["transformer"]),
        ];
        let kind = kind.tag();
        match given.into_iter().find(|(_, given, kinds)| *given && !kinds.contains(&kind)) {
            Some((key, ..)) => Err(InvalidSchema::Foreign { column: self.name.clone(), kind, key }),
            None => Ok(()),
        }
    }

    fn needs(&self, kind: &'static str, needed: &'static str) -> InvalidSchema {
        InvalidSchema::Needs { column: self.name.clone(), kind, needed }
    }

    fn unknown_choice(&self, key: &'static str, allowed: &'static str, found: &str) -> InvalidSchema {
        InvalidSchema::UnknownChoice { column: self.name.clone(), key, allowed, found: found.to_owned() }
    }
}

const KINDS: &str = "\"derived\", \"numeric\", \"categorical\", \"hashed\", \"boolean\", \"vector\", \"text\", \"image\", \"network\" or \
                     \"transformer\"";

/// What numbers need that stand by themselves.
pub(super) const RANGE: &str = "range = [low, high], two public numbers";

const MISSING_CHOICES: &str = "\"error\", \"zero\", \"slot\" or { value = … }";
