//! A released model as one ONNX file: raw cells go in, answers come out.
//!
//! ```text
//! input per column ──▶ features ─┬─▶ [Fourier layer] ──▶ scaled ──▶ linear model ──▶ label, probabilities
//! the network's own ──▶ network ─┘
//! ```
//!
//! Everything is computed in single precision, so scores are those of [predictions](crate::encode_table) to about 1e-5. A
//! table of nothing but numbers is one input; in any other each column has its own. What has no operators stays outside,
//! and [`Holds`] says what goes in instead: tokens for a text that a network takes, numbers of buckets, hashed n-grams.

mod cells;
mod columns;

use efface_features::FourierMap;
use efface_onnx::{
    Answer, Element, GraphBuilder, LinearHead, Signature, TINY, Tensor, Value, compose, fourier, scaled,
};
pub use efface_onnx::{Labels, Link};
use serde::Serialize;

pub use self::cells::Holds;
use self::columns::{CHECKED, Inputs, features};
use crate::derived::{Constants, Encoder, NumberScale};
use crate::error::ExportError;
use crate::scale::Scale;
use crate::schema::Schema;

/// A linear model as it was released, and what its features are made of.
pub struct ReleasedModel<'a> {
    /// The columns of its rows; a schema has its own.
    pub columns: &'a [String],
    /// What makes features of them.
    pub schema: Option<&'a Schema>,
    /// What derived columns become, one per column.
    pub constants: Option<&'a Constants>,
    /// How rows of features are scaled.
    pub scale: Scale,
    /// One list per score.
    pub weights: Vec<Vec<f64>>,
    /// One per score.
    pub intercepts: Vec<f64>,
    /// What is predicted; `None`: numbers.
    pub classes: Option<(Labels, Link)>,
}

/// A model as a file.
pub struct Exported {
    /// The file.
    pub onnx: Vec<u8>,
    /// What it takes, in its order.
    pub inputs: Vec<ExportedInput>,
    /// What it answers.
    pub outputs: Vec<Tensor>,
}

/// What goes into a file under one name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExportedInput {
    /// Name, type and shape.
    #[serde(flatten)]
    pub tensor: Tensor,
    /// The columns that it stands for, in their order.
    pub columns: Vec<String>,
    /// What is given of them.
    #[serde(flatten)]
    pub holds: Holds,
}

impl ReleasedModel<'_> {
    /// Writes the model, with texts beside it.
    ///
    /// # Panics
    ///
    /// Where constants and schema are not of the same columns.
    pub fn to_onnx(&self, metadata: &[(String, String)]) -> Result<Exported, ExportError> {
        let mut graph = GraphBuilder::new("efface");
        for (key, text) in metadata {
            graph.metadata(key, text);
        }
        let mut inputs = Inputs::default();
        let (rows, width) = features(self, &mut graph, &mut inputs)?;
        graph.scope("model");
        let (rows, width) = match self.schema.and_then(Schema::fourier) {
            None => (rows, width),
            Some(layer) => {
                let map = FourierMap::new(width, layer).expect(CHECKED);
                (fourier(&mut graph, &rows, &map), layer.width)
            }
        };
        let (rows, factor) = self.scaled(&mut graph, &rows, width);
        self.head(factor).finish(&mut graph, &rows)?;

        let Inputs { given, network } = inputs;
        let onnx = match network {
            None => graph.finish()?,
            Some(file) => compose(&file, graph)?,
        };
        let Signature { inputs: tensors, outputs } = Signature::of(&onnx)?;
        let told = tensors.into_iter().zip(given);
        let inputs = told.map(|(tensor, (columns, holds))| ExportedInput { tensor, columns, holds }).collect();
        Ok(Exported { onnx, inputs, outputs })
    }

    /// Rows as they are multiplied, but for a factor that goes into the weights.
    fn scaled(&self, graph: &mut GraphBuilder, rows: &Value, width: usize) -> (Value, f64) {
        let shortened = |graph: &mut GraphBuilder, least: f64| scaled(graph, rows, width, least as f32);
        match (self.scale, self.constants) {
            (Scale::Unit, _) => (scaled(graph, rows, width, TINY), 1.0),
            (Scale::Clip { radius }, _) => (shortened(graph, radius), 1.0),
            (Scale::Auto, Some(constants)) => {
                let limit = Encoder::new(constants.clone(), false).norm_limit();
                (shortened(graph, limit), limit)
            }
            _ => (rows.clone(), 1.0),
        }
    }

    fn head(&self, factor: f64) -> LinearHead {
        let target = self.constants.and_then(|constants| constants.target).filter(|_| self.classes.is_none());
        let NumberScale { location, scale } = target.unwrap_or(NumberScale::UNIT);
        LinearHead {
            weights: self.weights.iter().flatten().map(|weight| (scale * factor * weight) as f32).collect(),
            intercepts: self.intercepts.iter().map(|intercept| (location + scale * intercept) as f32).collect(),
            answer: match &self.classes {
                None => Answer::Number,
                Some((labels, link)) => Answer::Label { labels: labels.clone(), link: *link },
            },
        }
    }
}

/// What answers are called: no input has one of these names.
const OUTPUTS: [&str; 4] = ["label", "prediction", "probabilities", "scores"];

/// The type of numbers.
const FLOAT: Element = Element::Float;
