//! What would be fitted on the rows, by the names that people give it.
//!
//! A mean, a deviation, a quantile or an extreme of the rows is a function of all of them. It stays in the encoding of
//! the other rows when one is removed, and no certificate could cover that. So such a wish is recognised and refused
//! with the reason, instead of as an unknown word.

use toml::{Table, Value};

use crate::error::InvalidSchema;

/// Whether a word names a transform that is fitted on rows.
pub(crate) fn is_fitted_word(word: &str) -> bool {
    let plain: String = word.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    WORDS.split(' ').any(|fitted| fitted == plain)
}

/// Words that mean a fitted transform as a value, and may mean something else as a key.
fn is_fitted_key(key: &str) -> bool {
    is_fitted_word(key) && !["target", "mode", "auto", "standard"].contains(&key)
}

/// Refuses a schema in which something is fitted: as a kind, as a key, or as a value of `range`, `missing` or `fit`.
pub(super) fn refuse_fitted(file: &Table) -> Result<(), InvalidSchema> {
    let refused = |place: String, what: &str| Err(InvalidSchema::Fitted { place, what: what.to_owned() });
    if let Some(key) = file.keys().find(|key| is_fitted_key(key)) {
        return refused(String::new(), key);
    }
    let columns = file.get("column").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_table);
    for column in columns {
        let name = column.get("name").and_then(Value::as_str).unwrap_or("?");
        let place = || format!("column `{name}`: ");
        let asked = column.iter().find_map(|(key, value)| match (key.as_str(), value) {
            ("kind" | "range" | "missing" | "scale" | "transform", Value::String(word)) => {
                is_fitted_word(word).then_some(word.as_str())
            }
            // What a network subtracts is a constant of its own.
            ("mean", Value::Array(_)) if column.get("kind").and_then(Value::as_str) == Some("network") => None,
            // `fit = false` asks for nothing that is not so already.
            (_, Value::Boolean(false)) => None,
            (key, _) => is_fitted_key(key).then_some(key),
        });
        if let Some(what) = asked {
            return refused(place(), what);
        }
    }
    Ok(())
}

/// Without hyphens and in lower case.
const WORDS: &str = "\
    standard standardize standardise standardized standardised standardscaler zscore zscores zscaler scaler \
    scaling minmax minmaxscaler minmaxfitted maxabs robust robustscaler normalize normalise normalizer quantile \
    quantiles percentile percentiles whiten whitening pca fit fitted auto mean means average std stddev variance \
    median mode mostfrequent target targetencoding targetencoder";
