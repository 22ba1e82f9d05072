//! What else was fitted or chosen on the rows of a model, by name: `fitted-preprocessing:StandardScaler`.
//!
//! What comes before a model and rests on somebody's word stands beside it: `declared-public:HashingVectorizer`.
//!
//! Nothing in a model tells of it, so whoever trains declares it, and every certificate of the model lists it as outside
//! the claim. It names software, never rows: a certificate must read the same in both worlds.

use std::fmt;
use std::str::FromStr;

use efface_core::tagged;
use serde::{Deserialize, Serialize};

tagged! {
    /// In what way something was fitted or chosen on the rows.
    pub enum FittedKind {
        Preprocessing = "fitted-preprocessing" => "preprocessing that was fitted on the rows",
        HyperParameters = "hyper-parameters" => "hyper-parameters that were chosen on the rows",
        Calibration = "calibration" => "a calibration of the model that was fitted on the rows",
        Threshold = "threshold" => "a decision threshold that was chosen on the rows",
        FeatureSelection = "feature-selection" => "features that were selected on the rows",
        DeclaredPublic = "declared-public" => "preprocessing that was made without these rows, as whoever trained says",
        Stacking = "stacking" => "other models, stacked with this one, that were fitted on the rows",
    }
}

/// Something that was fitted or chosen on the rows of a model, besides the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FittedBeside {
    kind: FittedKind,
    name: String,
}

impl FittedBeside {
    /// In plain words.
    pub fn in_words(&self) -> String {
        format!("{}: {}", self.kind.in_words(), self.name)
    }
}

impl fmt::Display for FittedBeside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind, self.name)
    }
}

impl FromStr for FittedBeside {
    type Err = FittedBesideError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || FittedBesideError { text: text.into() };
        let (tag, name) = text.split_once(':').ok_or_else(unknown)?;
        let kind = FittedKind::by_tag(tag).ok_or_else(unknown)?;
        if name.is_empty() || name.chars().any(char::is_control) {
            return Err(unknown());
        }
        Ok(Self { kind, name: name.into() })
    }
}

impl TryFrom<String> for FittedBeside {
    type Error = FittedBesideError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<FittedBeside> for String {
    fn from(fitted: FittedBeside) -> Self {
        fitted.to_string()
    }
}

/// A text that declares nothing that this version knows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "outside_scope must be a tag and a name such as `fitted-preprocessing:StandardScaler`, the tag one of `{}`, got {text:?}",
    FittedKind::ALL.map(FittedKind::tag).join("`, `")
)]
pub struct FittedBesideError {
    text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_and_a_name_are_read_as_they_are_written() {
        for kind in FittedKind::ALL {
            let text = format!("{kind}:Ünusual[n=3]: name");
            let fitted: FittedBeside = text.parse().expect("known");
            assert_eq!(fitted.to_string(), text);
            assert_eq!(fitted.in_words(), format!("{}: Ünusual[n=3]: name", kind.in_words()));
            let json = serde_json::to_string(&fitted).expect("a string");
            assert_eq!(serde_json::from_str::<FittedBeside>(&json).expect("the same"), fitted);
        }
    }

    #[test]
    fn without_a_known_tag_and_a_name_nothing_is_declared() {
        for text in ["", "stacking", "stacking:", "moonlight:RFE", "row-count:7", "stacking:a\nb"] {
            let error = text.parse::<FittedBeside>().expect_err(text);
            assert!(error.to_string().ends_with(&format!("got {text:?}")), "{error}");
            assert!(serde_json::from_value::<FittedBeside>(text.into()).is_err());
        }
    }
}
