//! A published model as a file for other programs.

use std::collections::HashMap;

use efface_core::loss::{Logistic, Loss};
use efface_data::ExportError;
use efface_data::derived::{ColumnConstants, Constants};
use efface_data::export::{Exported, Labels, Link, ReleasedModel};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::PublishedModel;

/// What is asked of a file beyond the model itself.
#[derive(Clone, Debug, Default)]
pub struct OnnxOptions {
    /// The columns of its rows, where they are more than the model names: it names none in which no row has anything.
    pub columns: Option<Vec<String>>,
    /// What it answers, one per class; by default integers where all classes are, or else texts.
    pub labels: Option<Labels>,
    /// Texts beside those that every file has.
    pub metadata: Vec<(String, String)>,
}

impl PublishedModel {
    /// The model as one ONNX file: raw cells go in, answers come out, in single precision. Its scores are those of
    /// [predictions](Self::predictor) to about 1e-5, and it holds nothing that is not published.
    ///
    /// Beside the operators it says what it is: loss, scale, classes, names of features, schema, constants, and the SHA-256 of
    /// the published model, by which the certificate knows it.
    pub fn to_onnx(&self, options: &OnnxOptions) -> Result<Exported, ExportError> {
        let columns = options.columns.as_deref().unwrap_or(self.column_names());
        let constants = self.derived.as_ref().map(|derived| {
            let of: HashMap<_, _> = derived.columns.iter().zip(&derived.constants.columns).collect();
            let of = |column: &String| of.get(column).map_or(ColumnConstants::Empty, |constants| (*constants).clone());
            // A schema names the columns that the model does.
            let columns = if self.schema.is_some() { &derived.columns } else { columns };
            Constants { columns: columns.iter().map(of).collect(), target: derived.constants.target }
        });
        let n_features = self.features.len();
        let mut weights = self.problems();
        for weights in &mut weights {
            weights.truncate(n_features);
        }
        let released = ReleasedModel {
            columns,
            schema: self.schema.as_ref(),
            constants: constants.as_ref(),
            scale: self.scale,
            weights,
            intercepts: self.intercepts().to_vec(),
            classes: (!self.classes.is_empty()).then(|| {
                let labels = options.labels.clone().unwrap_or_else(|| self.labels());
                (labels, self.link())
            }),
        };
        released.to_onnx(&[self.described(), options.metadata.clone()].concat())
    }

    /// What is said of every label.
    fn link(&self) -> Link {
        if self.is_joint() {
            Link::Softmax
        } else if self.loss == Logistic.tag() {
            Link::Logistic
        } else {
            Link::Scores
        }
    }

    /// Integers where all classes are integers in their only spelling.
    fn labels(&self) -> Labels {
        let integer = |class: &String| class.parse::<i64>().ok().filter(|label| label.to_string() == *class);
        let integers: Option<Vec<i64>> = self.classes.iter().map(integer).collect();
        integers.map_or_else(|| Labels::Texts(self.classes.clone()), Labels::Ints)
    }

    fn described(&self) -> Vec<(String, String)> {
        let constants = self.derived.as_ref().map(|derived| ("constants", json(&derived.constants)));
        let schema = self.schema.as_ref().map(|schema| ("schema", json(schema)));
        let always = [
            ("format", "efface-weights-1".into()),
            ("loss", self.loss.clone()),
            ("scale", self.scale.to_string()),
            ("classes", json(&self.classes)),
            ("features", json(&self.features)),
            ("release", self.release.to_string()),
            ("certified", self.certified.to_string()),
            ("model_sha256", hex::encode(Sha256::digest(self.to_json()))),
        ];
        let all = always.into_iter().chain(schema).chain(constants);
        all.map(|(key, text): (&str, String)| (key.to_owned(), text)).collect()
    }
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain structures with string keys")
}
