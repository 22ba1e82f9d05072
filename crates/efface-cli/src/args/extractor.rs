//! What can be typed about private feature extractors.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand};
use efface_core::accounting::Guarantee;
use efface_engine::extractor::{ExtractorPlace, ExtractorTraining, ImageShape, Privacy};

use super::SourceArgs;

#[derive(Args)]
#[command(after_help = "Examples:
  efface extractor train photos.csv --image photo --label kind --height 32 --width 32 --group 10 --out encoder.onnx
  efface extractor show encoder.statement.json --group 10")]
pub(crate) struct ExtractorArgs {
    #[command(subcommand)]
    pub(crate) command: ExtractorCommand,
}

#[derive(Subcommand)]
pub(crate) enum ExtractorCommand {
    /// Train a network on images with differential privacy: an ONNX file, and the statement of what its training tells.
    Train(Box<TrainExtractorArgs>),
    /// Say what a statement promises, computed again: made here, by Opacus, or elsewhere.
    Show(ShowStatementArgs),
}

#[derive(Args)]
#[command(after_help = "Examples:
  efface extractor train photos.csv --image photo --label kind --height 32 --width 32 --epsilon 1 --delta 1e-5 --group 10 --out encoder.onnx
  efface extractor train train-images.idx --label train-labels.idx --height 28 --width 28 --channels 1 --out encoder.onnx
  efface extractor train photos.parquet --image photo --label kind --height 64 --width 64 --resize --checkpoint run.checkpoint --out encoder.onnx

Try fixed features first (kind = \"image\" in a schema): they cost nothing, and any number of rows may leave. An extractor that was
trained on the rows tells about them: its promise is for --group rows that leave, and after that a new one has to be trained.
The number of rows and the classes are taken as public; --public-rows and --classes name them before the rows are seen. Each
further training on the same rows, to find better options, tells more: look for them on public images.
The loss that is shown meanwhile is not protected: it is for the eyes of whoever has the rows.")]
#[command(group(ArgGroup::new("privacy").args(["epsilon", "noise_multiplier", "danger_no_privacy"])))]
pub(crate) struct TrainExtractorArgs {
    #[command(flatten)]
    pub(crate) data: SourceArgs,
    /// Column with the images: names of PNG or JPEG files from the table's folder, bytes of such files (Parquet), or lists of
    /// pixels from 0 to 255 [default for arrays: their rows].
    #[arg(long, value_name = "NAME")]
    pub(crate) image: Option<String>,
    /// Column with the labels; for arrays the file with them.
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) label: Option<String>,
    /// Rows of pixels of an image.
    #[arg(long, value_name = "N")]
    height: usize,
    /// Pixels per row.
    #[arg(long, value_name = "N")]
    width: usize,
    /// 3 (colours) or 1 (grey).
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = channels)]
    channels: usize,
    /// Resize pictures of another size, instead of refusing them.
    #[arg(long)]
    resize: bool,
    /// Where the ONNX file goes; a file that exists is left alone.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Where its statement goes [default: encoder.statement.json beside encoder.onnx].
    #[arg(long, value_name = "FILE")]
    statement: Option<PathBuf>,
    /// Write the training down here every half minute and when it is interrupted, and go on from there if the file is there. It
    /// goes when the training is done. One checkpoint is gone on from once: what two runs make of it is not accounted for.
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
    /// ε that the whole group is promised [default: 1].
    #[arg(long, value_name = "E", allow_hyphen_values = true)]
    epsilon: Option<f64>,
    /// δ that the whole group is promised.
    #[arg(long, value_name = "D", default_value_t = 1e-5, allow_hyphen_values = true)]
    delta: f64,
    /// Rows that may leave together under that promise. A person with five rows is five of them.
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    group: u64,
    /// In the place of --epsilon: standard deviation of the noise in units of the clipping norm.
    #[arg(long, value_name = "S", allow_hyphen_values = true)]
    noise_multiplier: Option<f64>,
    /// No noise and no statement. For public images: whoever has the network may find the images in it.
    #[arg(long)]
    danger_no_privacy: bool,
    /// The classes, all of them, where they are known before the rows are seen [default: those that are found].
    #[arg(long, value_name = "A,B,…", value_delimiter = ',')]
    pub(crate) classes: Option<Vec<String>>,
    /// Plan for so many rows, a public number near the true one [default: as many as there are].
    #[arg(long, value_name = "N")]
    pub(crate) public_rows: Option<usize>,
    /// Features per image.
    #[arg(long, value_name = "N", default_value_t = 256)]
    features: usize,
    /// How often a row is taken on average [default: 10].
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    epochs: Option<f64>,
    /// Rows that a step takes on average [default: a 16th of the rows, from 64 to 2,048].
    #[arg(long, value_name = "N")]
    batch: Option<usize>,
    /// Step size [default: follows from noise, steps and batch].
    #[arg(long, value_name = "R", allow_hyphen_values = true)]
    learning_rate: Option<f64>,
    /// Share of the last step that the next one repeats [default: 0.9].
    #[arg(long, value_name = "M", allow_hyphen_values = true)]
    momentum: Option<f64>,
    /// Norm that the gradient of a row is clipped to.
    #[arg(long, value_name = "C", default_value_t = 0.5, allow_hyphen_values = true)]
    clip: f64,
}

impl TrainExtractorArgs {
    pub(crate) fn shape(&self) -> ImageShape {
        ImageShape { height: self.height, width: self.width, channels: self.channels, resize: self.resize }
    }

    pub(crate) fn training(&self) -> ExtractorTraining {
        let (delta, clip) = (self.delta, self.clip);
        let group = usize::try_from(self.group).unwrap_or(usize::MAX);
        let privacy = match self.noise_multiplier {
            _ if self.danger_no_privacy => Privacy::None,
            Some(noise_multiplier) => Privacy::Noise { noise_multiplier, clip },
            None => {
                let guarantee = Guarantee { epsilon: self.epsilon.unwrap_or(1.0), delta };
                Privacy::Promise { guarantee, group, clip }
            }
        };
        ExtractorTraining {
            privacy,
            delta,
            group,
            n_features: self.features,
            epochs: self.epochs,
            expected_batch: self.batch,
            learning_rate: self.learning_rate,
            momentum: self.momentum,
        }
    }

    pub(crate) fn place(&self) -> ExtractorPlace {
        ExtractorPlace {
            network: self.out.clone(),
            statement: self.statement.clone(),
            checkpoint: self.checkpoint.clone(),
        }
    }
}

#[derive(Args)]
#[command(after_help = "Examples:
  efface extractor show encoder.statement.json
  efface extractor show encoder.statement.json --group 10 --group 25 --json

docs/extractor-statement.md says what stands in a statement, and how parameters of Opacus, JAX-Privacy and TensorFlow Privacy map to it.
That the training was what it says is the word of whoever made it.")]
pub(crate) struct ShowStatementArgs {
    /// A statement.
    pub(crate) statement: PathBuf,
    /// Size of a group that leaves; may be repeated [default: 1, 10, 100].
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) group: Vec<u64>,
}

fn channels(text: &str) -> Result<usize, &'static str> {
    match text {
        "1" => Ok(1),
        "3" => Ok(3),
        _ => Err("images have 1 channel (grey) or 3 (red, green, blue)"),
    }
}
