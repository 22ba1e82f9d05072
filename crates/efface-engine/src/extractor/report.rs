//! What was trained, and what is to be done with it.

use std::path::PathBuf;

use efface_core::accounting::statement::Statement;
use efface_data::{LabelledImages, network_schema};
use efface_extractor::TrainingPlan;
use serde::Serialize;

use super::ExtractorRequest;
use super::statement::GroupPromise;

/// An extractor that was trained and written.
#[derive(Clone, Debug, Serialize)]
pub struct ExtractorReport {
    /// Images that were read.
    pub n_images: usize,
    /// Rows that were planned for: public.
    pub n_rows: usize,
    /// The classes: public.
    pub classes: Vec<String>,
    /// Features per image.
    pub n_features: usize,
    /// Weights of the network.
    pub n_weights: usize,
    /// Steps in all.
    pub steps: u64,
    /// Those of them that a checkpoint had.
    pub steps_resumed: u64,
    /// Rows that a step takes on average.
    pub expected_batch: usize,
    /// Step size.
    pub learning_rate: f64,
    /// The norm that a row's gradient was clipped to, and σ in its units; none without privacy.
    pub clip: Option<f64>,
    /// σ.
    pub noise_multiplier: Option<f64>,
    /// What is promised to the group that was asked for; none without privacy.
    pub promise: Option<GroupPromise>,
    /// Time of the whole call.
    pub seconds: f64,
    /// The ONNX file.
    pub network: PathBuf,
    /// Its statement; none without privacy.
    pub statement: Option<PathBuf>,
    /// A schema that maps the images by this network, for a file in the folder at hand.
    pub schema: String,
}

impl ExtractorReport {
    pub(super) fn new(
        request: &ExtractorRequest,
        plan: &TrainingPlan,
        data: &LabelledImages,
        statement: Option<&Statement>,
        (steps_resumed, seconds): (u64, f64),
    ) -> Self {
        let (config, place) = (plan.config(), &request.place);
        let statement_file = statement.map(|_| place.statement());
        let image = request.image_column().unwrap_or_default();
        let label = request.label.as_deref();
        let schema = network_schema((&image, label), (&place.network, statement_file.as_deref()), request.shape);
        Self {
            n_images: data.labels.len(),
            n_rows: config.n_rows,
            classes: data.classes.clone(),
            n_features: config.architecture.n_features,
            n_weights: plan.n_weights(),
            steps: plan.steps(),
            steps_resumed,
            expected_batch: config.expected_batch,
            learning_rate: config.learning_rate,
            clip: statement.map(|statement| statement.fields().clip),
            noise_multiplier: statement.map(|statement| statement.fields().noise_multiplier),
            promise: statement.map(|statement| GroupPromise::of(statement, request.training.group)),
            seconds,
            network: place.network.clone(),
            statement: statement_file,
            schema,
        }
    }
}
