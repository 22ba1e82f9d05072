//! Linear models as operators: the head that goes behind features.
//!
//! Outputs are those of the exporter for Python: `label` and `probabilities`, or `scores` where there are none, or
//! `prediction`.

use crate::error::HeadError;
use crate::graph::{Attribute, Dim, Element, GraphBuilder, Value};

/// A linear model of rows, as it was released.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearHead {
    /// A row per score, a column per feature.
    pub weights: Vec<f32>,
    /// One per score.
    pub intercepts: Vec<f32>,
    /// What scores become.
    pub answer: Answer,
}

/// What scores become.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// One score is the prediction.
    Number,
    /// One score tells the second label from the first; or there is one per label, and the largest wins.
    Label {
        /// What is predicted.
        labels: Labels,
        /// What is said of every label.
        link: Link,
    },
}

/// Names of classes.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the types say it")]
pub enum Labels {
    Ints(Vec<i64>),
    Texts(Vec<String>),
}

/// What is said of every label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// Scores as they are.
    Scores,
    /// `1 / (1 + exp(−score))`; of several labels divided by the sum over all of them.
    Logistic,
    /// `exp(score) / Σ exp(score)`.
    Softmax,
}

/// The values that a head computes.
#[derive(Clone, Debug)]
pub struct Answers {
    /// The label, if there are labels.
    pub label: Option<Value>,
    /// Per label, or the prediction.
    pub numbers: Value,
}

impl LinearHead {
    /// Appends the model to rows of features.
    pub fn append(&self, graph: &mut GraphBuilder, rows: &Value) -> Result<Answers, HeadError> {
        self.check()?;
        let numbers = |name, values: &[f32]| (name, Attribute::Floats(values.to_vec()));
        let Answer::Label { labels, link } = &self.answer else {
            let attributes = [
                numbers("coefficients", &self.weights),
                numbers("intercepts", &self.intercepts),
                ("targets", Attribute::Int(1)),
            ];
            let numbers = graph.node("ai.onnx.ml.LinearRegressor", &[rows], &attributes);
            return Ok(Answers { label: None, numbers });
        };
        // One score stands for two: its own, and the opposite for the first label.
        let is_binary = self.intercepts.len() == 1;
        let doubled = |values: &[f32]| -> Vec<f32> {
            let opposite = values.iter().map(|v| -v).filter(|_| is_binary);
            opposite.chain(values.iter().copied()).collect()
        };
        let transform = match link {
            Link::Scores => "NONE",
            Link::Logistic => "LOGISTIC",
            Link::Softmax => "SOFTMAX",
        };
        let attributes = [
            numbers("coefficients", &doubled(&self.weights)),
            numbers("intercepts", &doubled(&self.intercepts)),
            ("multi_class", Attribute::Int(0)),
            ("post_transform", Attribute::Text(transform.to_owned())),
            match labels {
                Labels::Ints(labels) => ("classlabels_ints", Attribute::Ints(labels.clone())),
                Labels::Texts(labels) => ("classlabels_strings", Attribute::Texts(labels.clone())),
            },
        ];
        let [label, mut numbers] = graph.node_of("ai.onnx.ml.LinearClassifier", &[rows], &attributes);
        if *link == Link::Logistic && !is_binary {
            let norm = ("norm", Attribute::Text("L1".to_owned()));
            numbers = graph.node("ai.onnx.ml.Normalizer", &[&numbers], &[norm]);
        }
        Ok(Answers { label: Some(label), numbers })
    }

    /// Appends the model, and gives what it computes to whoever runs the file.
    pub fn finish(&self, graph: &mut GraphBuilder, rows: &Value) -> Result<(), HeadError> {
        let answers = self.append(graph, rows)?;
        let Answer::Label { labels, link } = &self.answer else {
            graph.output("prediction", &answers.numbers, Element::Float, &[BATCH, Dim::Fixed(1)]);
            return Ok(());
        };
        let element = if matches!(labels, Labels::Ints(_)) { Element::Int } else { Element::Text };
        let name = if *link == Link::Scores { "scores" } else { "probabilities" };
        if let Some(label) = &answers.label {
            graph.output("label", label, element, &[BATCH]);
        }
        graph.output(name, &answers.numbers, Element::Float, &[BATCH, Dim::Fixed(labels.len())]);
        Ok(())
    }

    fn check(&self) -> Result<(), HeadError> {
        let n_scores = self.intercepts.len();
        if n_scores == 0 || self.weights.is_empty() || !self.weights.len().is_multiple_of(n_scores) {
            return Err(HeadError::Weights { got: self.weights.len(), n_scores });
        }
        if let Some(value) = self.weights.iter().chain(&self.intercepts).find(|v| !v.is_finite()) {
            return Err(HeadError::NotFinite { value: *value });
        }
        match &self.answer {
            Answer::Number if n_scores != 1 => Err(HeadError::Numbers { n_scores }),
            Answer::Label { labels, .. } if n_scores.max(2) != labels.len() || n_scores == 2 && !self.is_softmax() => {
                Err(HeadError::Labels { n_scores, n_labels: labels.len() })
            }
            Answer::Label { link: Link::Softmax, .. } if n_scores == 1 => {
                Err(HeadError::Labels { n_scores, n_labels: 2 })
            }
            _ => Ok(()),
        }
    }

    fn is_softmax(&self) -> bool {
        matches!(self.answer, Answer::Label { link: Link::Softmax, .. })
    }
}

impl Labels {
    fn len(&self) -> usize {
        match self {
            Self::Ints(labels) => labels.len(),
            Self::Texts(labels) => labels.len(),
        }
    }
}

/// `x / max(‖x‖, least_norm)` of rows of so many features: rows of norm 1 where `least_norm` is [`TINY`].
pub fn scaled(graph: &mut GraphBuilder, rows: &Value, n_features: usize, least_norm: f32) -> Value {
    let squares = graph.node("Mul", &[rows, rows], &[]);
    // Sums by a product: the operators for sums changed their form over time.
    let ones = graph.constant("ones", &[n_features, 1], &vec![1.0; n_features]);
    let sum = graph.node("MatMul", &[&squares, &ones], &[]);
    let norm = graph.node("Sqrt", &[&sum], &[]);
    let least = graph.constant("least_norm", &[1], &[least_norm]);
    let divisor = graph.node("Max", &[&norm, &least], &[]);
    graph.node("Div", &[rows, &divisor], &[])
}

/// What norms of rows are at least, so that none is divided by zero.
pub const TINY: f32 = f32::MIN_POSITIVE;

/// The free side of rows.
pub const BATCH: Dim = Dim::Free("batch");
