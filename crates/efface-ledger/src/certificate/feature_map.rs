//! The maps that made features of raw cells, as certificates name them.

use efface_core::accounting::statement::Statement;
use efface_core::tagged;
use efface_features::FeatureSpec;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A map, and what made it. The parameters are those of a [`FeatureSpec`]; a kind that this version does not know can be
/// read, and is called unsupported.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FeatureMap {
    /// The column whose cells it takes; none for a layer that takes the features of all columns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// Tag of a [`MapOrigin`].
    pub origin: String,
    /// Kind and parameters.
    pub parameters: Value,
    /// SHA-256 of the parameters, as [`FeatureSpec::digest`] says.
    pub sha256: String,
    /// How it was trained, where it is private: a [`Statement`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statement: Option<Value>,
}

tagged! {
    /// What a map was made from, which decides what it adds to a claim.
    pub enum MapOrigin {
        Fixed = "fixed" => "fixed before any row was seen: nothing is added to ε",
        Public = "public" => "made without these rows, as whoever trained says: nothing is added to ε",
        Private = "private" => "trained on the rows with differential privacy, as its statement says: its share is in ε and δ",
        Unknown = "unknown" => "of unknown origin: outside the claim",
    }
}

impl FeatureMap {
    /// Whether what it was trained on is somebody's word.
    pub fn is_declared(&self) -> bool {
        matches!(MapOrigin::by_tag(&self.origin), Some(MapOrigin::Public | MapOrigin::Private))
    }

    /// A map as it is certified.
    #[expect(clippy::missing_panics_doc, reason = "it cannot")]
    pub fn new(column: Option<&str>, origin: MapOrigin, spec: &FeatureSpec) -> Self {
        let parameters = serde_json::to_value(spec).expect("numbers under names can be written as JSON");
        let (origin, sha256) = (origin.tag().into(), hex::encode(spec.digest()));
        Self { column: column.map(str::to_owned), origin, parameters, sha256, statement: None }
    }

    /// A network that was trained on the rows, privately.
    #[expect(clippy::missing_panics_doc, reason = "it cannot")]
    pub fn private(column: &str, spec: &FeatureSpec, statement: &Statement) -> Self {
        let statement = serde_json::to_value(statement).expect("numbers under names can be written as JSON");
        Self { statement: Some(statement), ..Self::new(Some(column), MapOrigin::Private, spec) }
    }

    /// How it was trained; `None`: it is not stated, or this version cannot read it.
    pub fn training(&self) -> Option<Statement> {
        serde_json::from_value(self.statement.clone()?).ok()
    }

    /// Tag of the kind.
    pub fn kind(&self) -> &str {
        self.parameters.get("kind").and_then(Value::as_str).unwrap_or_default()
    }

    /// The parameters; `None`: this version does not know them.
    pub fn spec(&self) -> Option<FeatureSpec> {
        serde_json::from_value(self.parameters.clone()).ok()
    }

    /// What it takes, in words.
    pub fn of(&self) -> String {
        self.column.as_ref().map_or_else(|| "all columns".into(), |column| format!("column `{column}`"))
    }
}
