//! Why predictions cannot be had in the form that was asked for.

/// A model has no predictions of the kind that was asked for.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are named in the messages")]
#[non_exhaustive]
pub enum PredictError {
    /// A threshold is no probability between the two classes.
    #[error("threshold must be above 0 and below 1, got `{value}`")]
    ThresholdRange { value: f64 },
    /// A threshold has no meaning among many classes.
    #[error("a threshold decides between two classes, and this model has {n_classes}")]
    ThresholdClasses { n_classes: usize },
    /// Probabilities are asked of a model of numbers.
    #[error("this model predicts numbers: it has no classes, and no probabilities of them")]
    Numbers,
    /// Probabilities are asked of classes that were fitted by squares.
    #[error("this model has no probabilities: its classes were trained with the squared loss")]
    NoProbabilities,
}

impl PredictError {
    /// Stable name.
    pub fn code(&self) -> &'static str {
        match self {
            Self::ThresholdRange { .. } | Self::ThresholdClasses { .. } => "bad-threshold",
            Self::Numbers | Self::NoProbabilities => "no-probabilities",
        }
    }
}
