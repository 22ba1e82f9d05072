//! Statements as specified by in-toto, version 1: what is claimed (the predicate) about which files (the subjects).

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::canonical::{self, CanonicalError};
use crate::merkle::Hash;

/// The tag of statements of version 1.
pub const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";

/// A claim about some files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Statement<P> {
    #[serde(rename = "_type")]
    version: String,
    /// The files, by their hashes.
    pub subject: Vec<Subject>,
    /// The tag that says how the predicate is to be read.
    #[serde(rename = "predicateType")]
    pub predicate_type: String,
    /// What is claimed.
    pub predicate: P,
}

/// A file that a statement is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// What it is called. The hash decides.
    pub name: String,
    /// What is in it.
    pub digest: SubjectDigest,
}

/// The hash of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubjectDigest {
    /// SHA-256, in lower-case hexadecimal digits.
    #[serde(with = "hex::serde")]
    pub sha256: Hash,
}

impl Subject {
    /// The subject of this name and SHA-256 hash.
    pub fn new(name: &str, sha256: Hash) -> Self {
        Self { name: name.to_owned(), digest: SubjectDigest { sha256 } }
    }
}

impl<P> Statement<P> {
    /// The statement of a predicate about some files.
    pub fn new(subject: Vec<Subject>, predicate_type: &str, predicate: P) -> Self {
        let (version, predicate_type) = (STATEMENT_TYPE.to_owned(), predicate_type.to_owned());
        Self { version, subject, predicate_type, predicate }
    }
}

impl<P: Serialize + DeserializeOwned> Statement<P> {
    /// The payload of an envelope. Read back before it is handed out, so that nothing is signed that nobody can read:
    /// JSON has no infinities, for one.
    pub fn to_payload(&self) -> Result<Vec<u8>, StatementError> {
        let payload = serde_json::to_vec(self).map_err(CanonicalError::from)?;
        Self::from_payload(&payload)?;
        Ok(payload)
    }

    /// Reads what [`Statement::to_payload`] wrote, and nothing else. The predicate's type is the caller's to check.
    pub fn from_payload(payload: &[u8]) -> Result<Self, StatementError> {
        let statement: Self = canonical::from_compact(payload)?;
        if statement.version != STATEMENT_TYPE {
            return Err(StatementError::Type { found: statement.version });
        }
        Ok(statement)
    }
}

/// Why a statement was not written or not read.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the fields are named in the messages")]
#[non_exhaustive]
pub enum StatementError {
    /// The text is not such a statement in its one accepted spelling, or has something in it that is not known.
    #[error(transparent)]
    Text(#[from] CanonicalError),
    /// The statement is of a version that is not known.
    #[error("unsupported: statement type is `{found}`, expected `{STATEMENT_TYPE}`")]
    Type { found: String },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    struct Predicate {
        epsilon: f64,
    }

    const PREDICATE_TYPE: &str = "https://example.org/removal/v1";

    fn statement(epsilon: f64) -> Statement<Predicate> {
        Statement::new(vec![Subject::new("model", [0xab; 32])], PREDICATE_TYPE, Predicate { epsilon })
    }

    fn refusal(text: &str) -> String {
        Statement::<Predicate>::from_payload(text.as_bytes()).expect_err("refused").to_string()
    }

    #[test]
    fn the_payload_is_that_of_in_toto() {
        let payload = statement(1.0).to_payload().unwrap();
        let expected = format!(
            r#"{{"_type":"https://in-toto.io/Statement/v1","subject":[{{"name":"model","digest":{{"sha256":"{}"}}}}],"predicateType":"{PREDICATE_TYPE}","predicate":{{"epsilon":1.0}}}}"#,
            "ab".repeat(32)
        );
        assert_eq!(String::from_utf8(payload).unwrap(), expected);
    }

    #[test]
    fn numbers_come_back_as_they_were() {
        for epsilon in [0.1, 1.0, 1e-300, f64::MIN_POSITIVE, f64::MAX, 5e-324, 1.0 / 3.0, -0.0] {
            let payload = statement(epsilon).to_payload().unwrap();
            assert_eq!(Statement::from_payload(&payload).unwrap(), statement(epsilon));
        }
    }

    #[test]
    fn what_json_cannot_say_is_not_signed() {
        assert!(matches!(statement(f64::INFINITY).to_payload(), Err(StatementError::Text(CanonicalError::Json(_)))));
        assert!(matches!(statement(f64::NAN).to_payload(), Err(StatementError::Text(CanonicalError::Json(_)))));
    }

    #[test]
    fn what_is_not_known_is_unsupported() {
        let text = String::from_utf8(statement(1.0).to_payload().unwrap()).unwrap();
        let other = text.replace("Statement/v1", "Statement/v2");
        assert!(refusal(&other).starts_with("unsupported: statement type is `https://in-toto.io/Statement/v2`"));
        let deeper = text.replace(r#""epsilon":1.0"#, r#""epsilon":1.0,"delta":0.1"#);
        assert_eq!(refusal(&deeper), "unsupported: field `predicate.delta` is not known to this version");
        let digest = text.replace(r#""digest":{"#, r#""digest":{"md5":"","#);
        assert_eq!(refusal(&digest), "unsupported: field `subject[0].digest.md5` is not known to this version");
    }

    #[test]
    fn other_spellings_are_refused() {
        let text = String::from_utf8(statement(1.0).to_payload().unwrap()).unwrap();
        for other in [text.replace("abab", "ABAB"), text.replace("1.0", "1.00"), format!("{text}\n")] {
            assert!(refusal(&other).starts_with("not in canonical form"), "{other}");
        }
        assert!(refusal(&text.replace("abab", "ab")).starts_with("not a valid file: "));
    }
}
