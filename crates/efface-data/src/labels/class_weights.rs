//! Classes that count more or less than others, by numbers that are declared.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use super::{LabelCodec, class_of, encode_named};
use crate::error::LabelError;
use crate::table::Labels;

/// As how many rows each row of a class counts; of classes without an entry, every row counts once.
///
/// The numbers are declared, never taken from the rows: weights by how frequent a class is would remember rows that left.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClassWeights(BTreeMap<String, f64>);

impl ClassWeights {
    /// Weights by the names of classes.
    pub fn new(weights: impl IntoIterator<Item = (String, f64)>) -> Self {
        Self(weights.into_iter().collect())
    }

    /// Whether every row counts once.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As how many rows each row counts: what it weighs by itself, times what its class weighs.
    pub fn weigh(&self, labels: &Labels, row_weights: Option<&[f64]>) -> Result<Vec<f64>, LabelError> {
        let by_name: HashMap<&str, f64> = self.0.iter().map(|(name, weight)| (name.as_str(), *weight)).collect();
        let mut weights = encode_named(&by_name, Some(1.0), labels)?;
        for (weight, own) in weights.iter_mut().zip(row_weights.into_iter().flatten()) {
            *weight *= own;
        }
        Ok(weights)
    }

    /// The same of rows whose labels are the indices of classes.
    pub fn weigh_indices(&self, codec: &LabelCodec, labels: &[f64], row_weights: Option<&[f64]>) -> Vec<f64> {
        let of_class: Vec<f64> = codec.classes().iter().map(|name| self.0.get(name).copied().unwrap_or(1.0)).collect();
        let weight = |label: &f64| class_of(*label).and_then(|class| of_class.get(class)).copied().unwrap_or(1.0);
        match row_weights {
            None => labels.iter().map(weight).collect(),
            Some(own) => labels.iter().zip(own).map(|(label, own)| own * weight(label)).collect(),
        }
    }

    /// The first class with a weight that is none of these.
    pub fn unknown_class(&self, codec: &LabelCodec) -> Option<&str> {
        let by_name = codec.classes();
        self.0.keys().map(String::as_str).find(|name| !by_name.iter().any(|class| class == name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Origin, RawLabels};

    #[test]
    fn a_row_weighs_as_its_class_does_however_that_is_spelt() {
        let labels = |values| Labels::new(values, Origin::new("t.csv"), None);
        let weights = ClassWeights::new([("1".to_owned(), 4.0), ("true".to_owned(), 2.0)]);
        let texts = RawLabels::Text(["1.0", "0", "True", "1"].map(String::from).to_vec());
        assert_eq!(weights.weigh(&labels(texts), None).expect("labels"), [4.0, 1.0, 2.0, 4.0]);
        let numbers = labels(RawLabels::Numbers(vec![1.0, 0.0]));
        assert_eq!(weights.weigh(&numbers, Some(&[0.5, 3.0])).expect("labels"), [2.0, 3.0]);
        let codec = LabelCodec::Classes(vec!["0".into(), "1".into()]);
        assert_eq!(weights.unknown_class(&codec), Some("true"));
        assert_eq!(weights.weigh_indices(&codec, &[0.0, 1.0], None), [1.0, 4.0]);
        assert_eq!(weights.weigh_indices(&codec, &[0.0, 1.0], Some(&[3.0, 0.5])), [3.0, 2.0]);
    }
}
