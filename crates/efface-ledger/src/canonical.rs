//! JSON files with one accepted text per value: what is read is serialized again and compared. So every byte of a file
//! takes part in its meaning, and a field that this version does not know cannot be passed over.
//!
//! Types that are read here must not refuse unknown fields themselves: then the answer is
//! [`CanonicalError::Unsupported`] with the field's name, and not a message of the JSON reader.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use thiserror::Error;

/// Why a text was not read.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the fields are named in the messages")]
#[non_exhaustive]
pub enum CanonicalError {
    /// The text is not JSON, or a field is missing or of another kind.
    #[error("not a valid file: {0}")]
    Json(#[from] serde_json::Error),
    /// The text has a field that this version does not know. A later version may.
    #[error("unsupported: field `{field}` is not known to this version")]
    Unsupported { field: String },
    /// The text says something that can be read, but not in the one accepted spelling.
    #[error("not in canonical form: differs from what would be written at byte {offset}")]
    NotCanonical { offset: usize },
}

/// The text of a file: indented JSON with a newline at its end. Deterministic, because fields keep their order.
pub fn to_text<T: Serialize>(value: &T) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    Ok(text)
}

/// [`to_text`] of a value that is made of strings, numbers and lists of them only, which JSON can always say.
pub(crate) fn plain_to_text<T: Serialize>(value: &T) -> String {
    to_text(value).expect("strings, numbers and lists can be written as JSON")
}

/// Reads what [`to_text`] wrote, and nothing else.
pub fn from_text<T: Serialize + DeserializeOwned>(text: &[u8]) -> Result<T, CanonicalError> {
    let value = serde_json::from_slice(text)?;
    check(text, to_text(&value)?.as_bytes())?;
    Ok(value)
}

/// Reads JSON without blanks, as `serde_json` writes it, and nothing else.
pub fn from_compact<T: Serialize + DeserializeOwned>(text: &[u8]) -> Result<T, CanonicalError> {
    let value = serde_json::from_slice(text)?;
    check(text, &serde_json::to_vec(&value)?)?;
    Ok(value)
}

fn check(found: &[u8], canonical: &[u8]) -> Result<(), CanonicalError> {
    if found == canonical {
        return Ok(());
    }
    if let Some(field) = unknown_field(&serde_json::from_slice(found)?, &serde_json::from_slice(canonical)?) {
        return Err(CanonicalError::Unsupported { field });
    }
    let same = found.iter().zip(canonical).take_while(|(a, b)| a == b).count();
    Err(CanonicalError::NotCanonical { offset: same })
}

/// The path of the first field that was found and would not be written.
fn unknown_field(found: &Value, known: &Value) -> Option<String> {
    match (found, known) {
        (Value::Object(found), Value::Object(known)) => found.iter().find_map(|(name, value)| match known.get(name) {
            // An optional field that says nothing is left out when written.
            None if value.is_null() => None,
            None => Some(name.clone()),
            Some(known) => unknown_field(value, known).map(|inner| join(name, &inner)),
        }),
        (Value::Array(found), Value::Array(known)) => {
            let mut pairs = found.iter().zip(known).enumerate();
            pairs.find_map(|(i, (found, known))| Some(join(&format!("[{i}]"), &unknown_field(found, known)?)))
        }
        _ => None,
    }
}

fn join(outer: &str, inner: &str) -> String {
    if inner.starts_with('[') { format!("{outer}{inner}") } else { format!("{outer}.{inner}") }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Outer {
        inner: Vec<Inner>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Inner {
        n: u64,
    }

    fn refusal(text: &str) -> String {
        from_compact::<Outer>(text.as_bytes()).expect_err("refused").to_string()
    }

    #[test]
    fn what_was_written_is_read() {
        let value = Outer { inner: vec![Inner { n: 1 }, Inner { n: u64::MAX }], note: Some("—".into()) };
        assert_eq!(from_text::<Outer>(to_text(&value).unwrap().as_bytes()).unwrap(), value);
        assert_eq!(from_compact::<Outer>(&serde_json::to_vec(&value).unwrap()).unwrap(), value);
        assert_eq!(
            to_text(&value).unwrap(),
            "{\n  \"inner\": [\n    {\n      \"n\": 1\n    },\n    {\n      \"n\": 18446744073709551615\n    }\n  ],\n  \
             \"note\": \"—\"\n}\n"
        );
    }

    #[test]
    fn unknown_fields_are_named() {
        let expected = "unsupported: field `inner[1].m` is not known to this version";
        assert_eq!(refusal(r#"{"inner":[{"n":1},{"n":2,"m":3}]}"#), expected);
        assert_eq!(refusal(r#"{"inner":[],"x":0}"#), "unsupported: field `x` is not known to this version");
    }

    #[test]
    fn other_spellings_are_refused() {
        let same = [
            r#"{"inner":[{"n": 1}]}"#,
            r#"{"inner":[{"n":1}]} "#,
            r#"{"inner":[{"n":1}],"note":null}"#,
            r#"{"note":"a","inner":[]}"#,
            r#"{"inner":[],"note":"\u0061"}"#,
        ];
        for text in same {
            assert!(refusal(text).starts_with("not in canonical form"), "{text}: {}", refusal(text));
        }
        assert_eq!(refusal(same[0]), "not in canonical form: differs from what would be written at byte 15");
    }

    #[test]
    fn what_is_not_json_is_refused() {
        for text in ["", "{}", r#"{"inner":[{"n":-1}]}"#, r#"{"inner":[],"inner":[]}"#, r#"{"inner":[]}}"#] {
            assert!(refusal(text).starts_with("not a valid file: "), "{text}: {}", refusal(text));
        }
    }
}
