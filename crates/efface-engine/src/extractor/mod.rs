//! Training a private feature extractor on a table of images: an ONNX file and the statement of its training, both or neither.

mod checkpoint;
mod report;
mod statement;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;

use efface_core::accounting::statement::Statement;
pub use efface_core::accounting::subsampled::MechanismError;
use efface_data::{ALL_COLUMNS, ImageReader, ImageTable, LabelledImages, ReadProgress, Source, is_array};
use efface_extractor::{Architecture, Images, Trained, Trainer, TrainingConfig, TrainingPlan};
pub use efface_extractor::{ArchitectureError, CheckpointError, PlanError, Privacy, TrainError};
pub use efface_features::ImageShape;

use self::checkpoint::Checkpoint;
pub use self::report::ExtractorReport;
pub use self::statement::{ExtractorShare, GroupPromise, StatementReport, read_statement};
use crate::directory::files;
use crate::error::{ChangeError, EngineError, ExtractorError, StorageError};

/// An extractor to be trained.
pub struct ExtractorRequest {
    /// The table of images.
    pub source: Source,
    /// The column with the images; an array has one of its own.
    pub image: Option<String>,
    /// The column with the labels; of an array the file with them.
    pub label: Option<String>,
    /// The classes, where they are public before the rows are seen; otherwise those that are found count as public.
    pub classes: Option<Vec<String>>,
    /// A number of rows that is public before they are counted; otherwise the number that is found counts as public.
    pub public_rows: Option<usize>,
    /// The size of images.
    pub shape: ImageShape,
    /// How it is trained.
    pub training: ExtractorTraining,
    /// Where files go.
    pub place: ExtractorPlace,
}

/// How an extractor is trained. What is left open is that of [`TrainingConfig::usual`] and its usual learning rate.
#[derive(Clone, Copy, Debug)]
pub struct ExtractorTraining {
    /// What is promised.
    pub privacy: Privacy,
    /// δ of the promise to the whole group, as the statement says it.
    pub delta: f64,
    /// The group for which the report says what is promised.
    pub group: usize,
    /// Features per image.
    pub n_features: usize,
    /// How often a row is taken on average.
    pub epochs: Option<f64>,
    /// Rows that a step takes on average.
    pub expected_batch: Option<usize>,
    /// Step size.
    pub learning_rate: Option<f64>,
    /// Share of the last step that the next one repeats.
    pub momentum: Option<f64>,
}

/// Where the files of an extractor go.
#[derive(Clone, Debug)]
pub struct ExtractorPlace {
    /// The ONNX file.
    pub network: PathBuf,
    /// The statement beside it; `None`: beside the network under its name.
    pub statement: Option<PathBuf>,
    /// Where training is written down between steps, so that a run that stops can go on.
    pub checkpoint: Option<PathBuf>,
}

impl ExtractorPlace {
    /// `encoder.onnx` has `encoder.statement.json`, unless another place is named.
    pub fn statement(&self) -> PathBuf {
        self.statement.clone().unwrap_or_else(|| self.network.with_extension("statement.json"))
    }
}

/// What is going on.
#[derive(Clone, Copy, Debug)]
pub enum ExtractorProgress {
    /// Rows are read.
    Reading(ReadProgress),
    /// A step is done; the first time none, or those of the checkpoint.
    Training {
        /// Steps that are done.
        done: u64,
        /// Steps in all.
        steps: u64,
        /// The mean loss of the rows of this step. Not protected: for whoever has the rows.
        loss: f64,
    },
}

/// Trains an extractor and writes its two files.
///
/// `progress` stops it with `Break`: then nothing is left but the checkpoint, where one was asked for.
pub fn train_extractor(
    request: &ExtractorRequest,
    progress: &mut dyn FnMut(ExtractorProgress) -> ControlFlow<()>,
) -> Result<ExtractorReport, EngineError> {
    let start = Instant::now();
    request.check()?;
    let checkpoint = request.place.checkpoint.as_deref().map(Checkpoint::find).transpose()?;
    let ExtractorRequest { training, shape, place, .. } = request;
    let data = read(request, progress)?;
    let plan = request.plan(&data)?;
    let labels: Vec<u8> = data.labels.iter().map(|label| *label as u8).collect();
    let images = Images::new(shape.height, shape.width, shape.channels, &data.pixels).map_err(ExtractorError::from)?;
    let trainer = match checkpoint.as_ref().and_then(Checkpoint::found) {
        Some((path, bytes)) => Trainer::resume(plan.clone(), bytes)
            .map_err(|source| ExtractorError::Checkpoint { path: path.into(), source })?,
        None => Trainer::new(plan.clone()).map_err(ExtractorError::from)?,
    };
    let n_resumed = trainer.steps_done();
    let trained = run(trainer, (&images, &labels), checkpoint.as_ref(), progress)?;
    let network = trained.network.to_onnx().map_err(ExtractorError::from)?;
    let statement = trained.statement(training.delta, &network).transpose().map_err(ExtractorError::from)?;
    let seconds = start.elapsed().as_secs_f64();
    let report = ExtractorReport::new(request, &plan, &data, statement.as_ref(), (n_resumed, seconds));
    publish(place, &network, statement.as_ref())?;
    if let Some(checkpoint) = &checkpoint {
        checkpoint.remove();
    }
    Ok(report)
}

impl ExtractorRequest {
    /// Refuses what is wrong before a row is read.
    fn check(&self) -> Result<(), EngineError> {
        let architecture = self.architecture(self.classes.as_ref().map_or(2, Vec::len));
        architecture.check().map_err(PlanError::from).map_err(ExtractorError::from)?;
        self.training.privacy.check().map_err(ExtractorError::from)?;
        let delta = self.training.delta;
        if !(delta > 0.0 && delta < 1.0) {
            return Err(ExtractorError::Delta { value: delta }.into());
        }
        if self.training.group == 0 {
            return Err(ExtractorError::from(PlanError::Mechanism(MechanismError::EmptyGroup)).into());
        }
        let ExtractorPlace { network, checkpoint, .. } = &self.place;
        let statement = self.place.statement();
        let places = [Some(network), Some(&statement), checkpoint.as_ref()];
        let named: Vec<&PathBuf> = places.into_iter().flatten().collect();
        let resolved: Vec<PathBuf> = named.iter().map(|path| resolved(path)).collect();
        if let Some(i) = (1..named.len()).find(|i| resolved[..*i].contains(&resolved[*i])) {
            return Err(ExtractorError::OnePlace { path: named[i].clone() }.into());
        }
        // Made right before the network: where only it is there, a run was killed between the two.
        if statement.exists() && !network.exists() && read_statement(&statement, &[]).is_ok() {
            return Err(ExtractorError::LeftOver { statement, network: network.clone() }.into());
        }
        for path in [network, &statement] {
            if path.exists() {
                return Err(StorageError::Exists { path: path.clone() }.into());
            }
            // A folder that is missing or cannot be written to is noticed now, and not after hours.
            files::reserve(path)?;
            std::fs::remove_file(files::aside(path)).map_err(EngineError::io(path))?;
        }
        Ok(())
    }

    fn architecture(&self, n_classes: usize) -> Architecture {
        let ImageShape { height, width, channels, .. } = self.shape;
        Architecture::new(height, width, channels, n_classes, self.training.n_features)
    }

    /// The images of an array are its rows.
    fn image_column(&self) -> Option<String> {
        self.image.clone().or_else(|| is_array(self.source.first()).then(|| ALL_COLUMNS.to_owned()))
    }

    fn table(&self) -> Result<ImageTable, EngineError> {
        let path = self.source.first();
        let image = self.image_column().ok_or_else(|| ExtractorError::NoImageNamed { path: path.into() })?;
        let label = self.label.clone().ok_or_else(|| ChangeError::NoLabelNamed { path: path.into() })?;
        Ok(ImageTable { image, label, classes: self.classes.clone(), shape: self.shape })
    }

    fn plan(&self, data: &LabelledImages) -> Result<TrainingPlan, ExtractorError> {
        let n_rows = self.public_rows.unwrap_or(data.labels.len());
        let training = &self.training;
        let usual = TrainingConfig::usual(self.architecture(data.classes.len()), n_rows, training.privacy);
        let mut config = TrainingConfig {
            expected_batch: training.expected_batch.unwrap_or(usual.expected_batch),
            epochs: training.epochs.unwrap_or(usual.epochs),
            momentum: training.momentum.unwrap_or(usual.momentum),
            ..usual
        };
        config.learning_rate = training.learning_rate.map_or_else(|| config.usual_learning_rate(), Ok)?;
        Ok(TrainingPlan::new(config)?)
    }
}

fn read(
    request: &ExtractorRequest,
    progress: &mut dyn FnMut(ExtractorProgress) -> ControlFlow<()>,
) -> Result<LabelledImages, EngineError> {
    let mut reader = ImageReader::open(request.source.clone(), request.table()?)?;
    while reader.read_chunk()? {
        if progress(ExtractorProgress::Reading(reader.progress())).is_break() {
            return Err(ExtractorError::Stopped { steps: None, checkpoint: None }.into());
        }
    }
    Ok(reader.finish()?)
}

/// A path that two spellings share, as far as its folder is there.
fn resolved(path: &Path) -> PathBuf {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match (folder.canonicalize(), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path.into(),
    }
}

/// Takes all steps that are left, and writes them down from time to time.
fn run(
    trainer: Trainer,
    (images, labels): (&Images<'_>, &[u8]),
    checkpoint: Option<&Checkpoint>,
    progress: &mut dyn FnMut(ExtractorProgress) -> ControlFlow<()>,
) -> Result<Trained, EngineError> {
    let steps = trainer.plan().steps();
    let mut written = Instant::now();
    let mut failed = None;
    let mut go_on = |trainer: &Trainer, is_first: bool| {
        let (done, loss) = (trainer.steps_done(), trainer.loss());
        let flow = progress(ExtractorProgress::Training { done, steps, loss });
        let is_due = is_first || flow.is_break() || done == steps || written.elapsed().as_secs() >= CHECKPOINT_SECONDS;
        if let Some(checkpoint) = checkpoint.filter(|_| is_due) {
            if let Err(error) = checkpoint.write(trainer) {
                failed = Some(error);
                return ControlFlow::Break(());
            }
            written = Instant::now();
        }
        flow
    };
    let begun = (trainer.steps_done(), go_on(&trainer, true));
    let trained = match begun {
        (steps_done, ControlFlow::Break(())) => Err(TrainError::Stopped { steps_done, steps }),
        (_, ControlFlow::Continue(())) => trainer.run(images, labels, &mut |trainer| go_on(trainer, false)),
    };
    match (trained, failed) {
        (_, Some(error)) => Err(error),
        (Err(TrainError::Stopped { steps_done, steps }), None) => {
            let checkpoint = checkpoint.map(|checkpoint| checkpoint.path().to_owned());
            Err(ExtractorError::Stopped { steps: Some((steps_done, steps)), checkpoint }.into())
        }
        (trained, None) => Ok(trained.map_err(ExtractorError::from)?),
    }
}

/// Writes the statement and then the network: a network without its statement could be taken for a public one.
fn publish(place: &ExtractorPlace, network: &[u8], statement: Option<&Statement>) -> Result<(), EngineError> {
    let path = place.statement();
    if let Some(statement) = statement {
        files::publish_new(&path, statement::text_of(statement).as_bytes())?;
    }
    files::publish_new(&place.network, network).inspect_err(|_| {
        if statement.is_some() {
            // Best effort: it is about nothing.
            let _ = std::fs::remove_file(&path);
        }
    })
}

/// Training is written down this often.
const CHECKPOINT_SECONDS: u64 = 30;
