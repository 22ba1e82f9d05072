//! Training: rows are read once, in a stream, into the segments of a new directory, and the model is trained from there.

use std::time::Instant;

use efface_core::model::{ReleaseAccount, TrainingConfig, TrainingPlan};
use efface_core::noise::NoiseSource;
use efface_core::rows::{MOST_ROW_WEIGHT, RowStore};
use efface_data::{ClassWeights, Columns, RowTransform, Schema, TableReader};

use super::import::{Import, Imported, RowWeights};
use super::report::{TrainReport, class_rows, remarks, trained_columns};
use super::{NewDirectory, Place, TrainProgress};
use crate::directory::ModelDirectory;
use crate::directory::witness::Memory;
use crate::error::{EngineError, OpenError};
use crate::history::History;
use crate::life::{Past, check_is_bounded};
use crate::settings::{RowNames, Settings, check_extractor};

/// Rows that a private network may have seen and that left an earlier model.
fn n_left_before(settings: &Settings, n_suppressed: usize, known: Option<&Memory>) -> Result<usize, OpenError> {
    let (Some(extractor), Some(name)) = (settings.config.extractor, settings.private_extractor()) else { return Ok(0) };
    let n_left = n_suppressed.max(known.map_or(0, |known| known.n_left(name)));
    if extractor.covers(n_left) {
        Ok(n_left)
    } else {
        Err(OpenError::ExtractorExhausted { n_left, group: extractor.group })
    }
}

/// What to train, on what.
pub struct TrainRequest {
    /// The rows, with labels.
    pub rows: Box<dyn TableReader>,
    /// How the columns are read.
    pub columns: Columns,
    /// The schema they are read through, if any.
    pub schema: Option<Schema>,
    /// How rows are scaled.
    pub transform: RowTransform,
    /// As how many rows a row of each class counts, where that differs.
    pub class_weights: ClassWeights,
    /// What to train and promise. `n_classes` is filled in from the labels.
    pub config: TrainingConfig,
    /// Rows are held in memory up to so many bytes; `None`: a quarter of the machine's memory.
    pub memory_bytes: Option<u64>,
    /// Where the model directory is made.
    pub place: Place,
}

impl ModelDirectory {
    /// Trains a model and makes its directory, aside first: a killed process leaves no half of one under its name.
    pub fn train(
        request: TrainRequest,
        noise: &mut NoiseSource,
        report: &mut dyn FnMut(TrainProgress),
    ) -> Result<TrainReport, EngineError> {
        let start = Instant::now();
        let TrainRequest { rows: reader, columns, schema, transform, class_weights, config, memory_bytes, place } =
            request;
        // Whatever is wrong with the parameters is said before the rows are read.
        config.check()?;
        check_extractor(schema.as_ref(), config.extractor)?;
        let mut new = NewDirectory::prepare(place)?;
        new.cleared.drain(..).for_each(|cleared| report(TrainProgress::Cleared(cleared)));
        let known = new.known()?;
        if known.is_some() && columns.id.is_none() {
            return Err(OpenError::WitnessWithoutIds.into());
        }
        let reading = Instant::now();
        let is_classification = config.loss.is_classification();
        let derived = schema.as_ref().map(Schema::derived);
        let are_given = columns.weight.is_some() || !class_weights.is_empty();
        let weights = RowWeights { are_given, of_classes: class_weights.clone() };
        let import =
            Import::new(&new.aside, transform, derived, is_classification, weights, memory_bytes, known.as_ref())?;
        let Imported { filled, features, codec, id_key, n_suppressed } =
            import.run(reader, (&columns, schema.as_ref()), &mut |progress| report(progress))?;
        let read_seconds = reading.elapsed().as_secs_f64();

        let n_classes = codec.classes().len();
        let config = TrainingConfig { n_classes: is_classification.then_some(n_classes as u32), ..config };
        let rows = &filled.rows;
        let precision = rows.precision();
        let trained_columns = trained_columns(rows, &features);
        let class_rows = class_rows(rows, &codec)?;
        remarks(&trained_columns, &class_rows).for_each(|remark| report(TrainProgress::Remark(remark)));
        let settings = Settings {
            config,
            features,
            columns,
            schema,
            transform,
            codec,
            precision,
            max_row_weight: are_given.then_some(MOST_ROW_WEIGHT),
            class_weights,
            row_norm_from_rows: false,
            outside_scope: Vec::new(),
            id_key,
            row_names: RowNames::Ids,
        };
        let n_left = n_left_before(&settings, n_suppressed, known.as_ref())?;
        let training = Instant::now();
        rows.hold()?;
        let plan = TrainingPlan::new(settings.config.clone())?;
        let trained = plan.train(rows, noise, &mut |phase| report(TrainProgress::Training(phase)))?;
        let train_seconds = training.elapsed().as_secs_f64();
        let account = ReleaseAccount { n_left, ..trained.model.state().account };
        let model = trained.model.with_account(account);
        check_is_bounded(&model)?;

        let claim = model.claim();
        let report = TrainReport {
            n_rows: rows.n_rows(),
            n_suppressed,
            dim: rows.dim(),
            classes: n_classes,
            class_rows,
            columns: trained_columns,
            gradient_residual: claim.gradient_residual.get(),
            distance_bound: claim.distance_bound.get(),
            iterations: trained.iterations,
            read_seconds,
            train_seconds,
            seconds: 0.0,
            certified: model.state().certified,
            model: new.place.out.clone(),
        };
        let history = History { n_suppressed, is_stale: true, ..History::default() };
        let past = Past { history, ..Past::default() };
        new.finish(filled, &settings, &model, &past)?;
        Ok(TrainReport { seconds: start.elapsed().as_secs_f64(), ..report })
    }
}
