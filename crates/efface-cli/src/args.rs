//! What can be typed. Help texts live with the flags.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use efface_core::accounting::Guarantee;
use efface_core::loss;
use efface_core::model::{BudgetRule, Mechanism, TrainingConfig};
use efface_core::noise::NoiseLaw;
use efface_core::residual::{Constants, Rung};
use efface_data::{Columns, RowTransform, Scale};

/// Train linear models that can forget: remove rows, or everything about a person, in milliseconds, and prove it.
#[derive(Parser)]
#[command(
    name = "efface",
    version,
    after_help = "Start with `efface demo`. Exit codes: 0 done, 1 a negative answer, 2 an error."
)]
pub(crate) struct Cli {
    /// Print one JSON object on stdout instead of text on stderr.
    #[arg(long, global = true)]
    pub(crate) json: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Show the whole story on hand-written digits, with a report.
    Demo(DemoArgs),
    /// Train a model and make its directory.
    Train(Box<TrainArgs>),
    /// Remove rows or people from a model.
    Remove(RemoveArgs),
    /// Add rows to a model.
    Add(AddArgs),
    /// Replace rows by corrected ones of the same ids.
    Correct(AddArgs),
    /// Measure what removals left behind and polish it away.
    Settle(SettleArgs),
    /// Train again from zero on the rows that are left.
    Retrain(RetrainArgs),
    /// Publish the model with fresh noise and a certificate.
    Release(ReleaseArgs),
    /// Show what a model is and what it claims.
    Status(StatusArgs),
    /// Predict with a published model.
    Predict(PredictArgs),
    /// Measure a published model on labelled rows.
    Evaluate(EvaluateArgs),
    /// Say before training which noise is needed and how many instant removals fit.
    Plan(PlanArgs),
}

#[derive(Args)]
pub(crate) struct DemoArgs {
    /// Where the report goes.
    #[arg(long, default_value = "efface-demo.html")]
    pub(crate) out: PathBuf,
}

#[derive(Args)]
#[command(after_help = "Examples:
  efface train people.csv --label churned --id customer --out churn.efface
  efface train x.npy --label y.npy --scale clip:10 --l2 1e-4 --out model.efface
  efface train people.csv --label churned --mechanism objective --noise-std 10 --gamma paper --budget paper --out paper.efface")]
pub(crate) struct TrainArgs {
    /// Rows: `.csv` with a header, or `.npy` (rows × features); either may be gzipped.
    pub(crate) data: PathBuf,
    /// The model directory to make.
    #[arg(long)]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) columns: ColumnArgs,
    #[command(flatten)]
    pub(crate) rows: RowArgs,
    #[command(flatten)]
    pub(crate) promise: PromiseArgs,
    /// How the model is protected when it leaves.
    #[arg(long, value_enum, default_value_t = MechanismArg::Release)]
    pub(crate) mechanism: MechanismArg,
    /// What certifies a removal [default: stale (release), data-dependent (objective)].
    #[arg(long, value_enum)]
    pub(crate) bound: Option<BoundArg>,
    /// Constants of the bounds: the least ones, or those the paper prints (γ = 1/4, no factor ½).
    #[arg(long, value_enum, default_value_t = GammaArg::Tight)]
    pub(crate) gamma: GammaArg,
    /// Removal budget of mechanism `objective`: exact for every ε, or σε/c as printed.
    #[arg(long, value_enum, default_value_t = BudgetArg::Analytic)]
    pub(crate) budget: BudgetArg,
    /// What a private feature extractor spent; added to what is claimed.
    #[arg(long, value_name = "E", requires = "extractor_delta", allow_hyphen_values = true)]
    pub(crate) extractor_epsilon: Option<f64>,
    /// Likewise.
    #[arg(long, value_name = "D", requires = "extractor_epsilon", allow_hyphen_values = true)]
    pub(crate) extractor_delta: Option<f64>,
    /// With three classes or more: fraction of the negatives each one-vs-rest problem keeps, by a salted hash of the id.
    #[arg(long, value_name = "FRACTION", allow_hyphen_values = true)]
    pub(crate) negatives: Option<f64>,
    /// Gradient norm at which training and settling stop.
    #[arg(long, value_name = "T", default_value_t = 1e-9, allow_hyphen_values = true)]
    pub(crate) tolerance: f64,
    /// Keep no d × d matrix beyond this many features: L-BFGS, and removals without a step.
    #[arg(long, value_name = "D", default_value_t = 4096)]
    pub(crate) max_matrix_dim: usize,
    #[command(flatten)]
    pub(crate) seed: SeedArgs,
}

#[derive(Args)]
pub(crate) struct ColumnArgs {
    /// Column with the labels (`.csv`), or file with them (`.npy`).
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) label: String,
    /// Column (or `.npy` file) with row ids [default: row numbers from 0].
    #[arg(long, value_name = "NAME")]
    pub(crate) id: Option<String>,
    /// Column (or `.npy` file) that says whose row it is.
    #[arg(long, value_name = "NAME")]
    pub(crate) subject: Option<String>,
    /// Columns to use as features [default: all others].
    #[arg(long, value_name = "A,B,…", value_delimiter = ',')]
    pub(crate) features: Option<Vec<String>>,
    /// Columns to leave out.
    #[arg(long, value_name = "A,B,…", value_delimiter = ',')]
    pub(crate) ignore: Vec<String>,
}

impl ColumnArgs {
    pub(crate) fn columns(&self) -> Columns {
        Columns {
            features: self.features.clone(),
            label: Some(self.label.clone()),
            id: self.id.clone(),
            subject: self.subject.clone(),
            ignore: self.ignore.clone(),
        }
    }
}

#[derive(Args)]
pub(crate) struct RowArgs {
    /// Append a constant 1 to every row.
    #[arg(long)]
    pub(crate) intercept: bool,
    /// unit: every row to norm 1; clip:R: divide by R, shorten longer rows; none: rows must have norm at most 1.
    #[arg(long, default_value_t = Scale::Unit, value_name = "unit|clip:R|none")]
    pub(crate) scale: Scale,
}

impl RowArgs {
    pub(crate) fn transform(&self) -> RowTransform {
        RowTransform { scale: self.scale, intercept: self.intercept }
    }
}

#[derive(Args)]
pub(crate) struct PromiseArgs {
    /// Loss.
    #[arg(long, value_enum, default_value_t = LossArg::Logistic)]
    pub(crate) loss: LossArg,
    /// λ: the objective adds λ·n/2·‖w‖².
    #[arg(long, value_name = "LAMBDA", default_value_t = 1e-3, allow_hyphen_values = true)]
    pub(crate) l2: f64,
    /// ε of the promise.
    #[arg(long, value_name = "E", default_value_t = 1.0, allow_hyphen_values = true)]
    pub(crate) epsilon: f64,
    /// δ of the promise (0 under the gamma law).
    #[arg(long, value_name = "D", default_value_t = 1e-4, allow_hyphen_values = true)]
    pub(crate) delta: f64,
    /// Standard deviation of the noise (scale of the gamma law) [default: 0.001 (release), 1 (objective), 0 (squared loss)].
    #[arg(long, value_name = "S", allow_hyphen_values = true)]
    pub(crate) noise_std: Option<f64>,
    /// Law of the noise: gaussian gives (ε, δ), gamma gives pure ε.
    #[arg(long, value_enum, default_value_t = LawArg::Gaussian)]
    pub(crate) law: LawArg,
}

impl PromiseArgs {
    pub(crate) fn config(&self) -> TrainingConfig {
        let loss: &'static dyn loss::Loss = match self.loss {
            LossArg::Logistic => &loss::Logistic,
            LossArg::Squared => &loss::Squared,
        };
        TrainingConfig {
            epsilon: self.epsilon,
            delta: self.delta,
            noise_std: self.noise_std,
            law: match self.law {
                LawArg::Gaussian => NoiseLaw::Gaussian,
                LawArg::Gamma => NoiseLaw::Gamma,
            },
            ..TrainingConfig::new(loss, self.l2, None)
        }
    }
}

impl TrainArgs {
    pub(crate) fn config(&self) -> TrainingConfig {
        let budget = match self.budget {
            BudgetArg::Analytic => BudgetRule::Analytic,
            BudgetArg::Paper => BudgetRule::Paper,
        };
        TrainingConfig {
            mechanism: match self.mechanism {
                MechanismArg::Release => Mechanism::Release,
                MechanismArg::Objective => Mechanism::Objective { budget },
            },
            bound: self.bound.map(BoundArg::rung),
            constants: match self.gamma {
                GammaArg::Tight => Constants::Tight,
                GammaArg::Paper => Constants::Paper,
            },
            extractor: self
                .extractor_epsilon
                .zip(self.extractor_delta)
                .map(|(epsilon, delta)| Guarantee { epsilon, delta }),
            negatives: self.negatives,
            gradient_tolerance: self.tolerance,
            max_matrix_dim: self.max_matrix_dim,
            ..self.promise.config()
        }
    }
}

#[derive(Args)]
pub(crate) struct SeedArgs {
    /// For tests only: noise from this seed. Whoever knows it can take the noise off; nothing is certified.
    #[arg(long, value_name = "SEED")]
    pub(crate) danger_fixed_seed: Option<u64>,
}

#[derive(Args)]
#[command(after_help = "Examples:
  efface remove churn.efface --id 8123
  efface remove churn.efface --subject alpha --subject beta --settle
  efface remove churn.efface --ids to-forget.txt --request-id ticket-77")]
pub(crate) struct RemoveArgs {
    /// The model directory.
    pub(crate) model: PathBuf,
    #[command(flatten)]
    pub(crate) which: WhichArgs,
    /// Name of this request: asked again, it gets the same answer and removes nothing more.
    #[arg(long, value_name = "R")]
    pub(crate) request_id: Option<String>,
    /// Settle afterwards.
    #[arg(long)]
    pub(crate) settle: bool,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
pub(crate) struct WhichArgs {
    /// Row id; may be given several times.
    #[arg(long, value_name = "ID", num_args = 1.., allow_negative_numbers = true)]
    pub(crate) id: Vec<String>,
    /// Subject whose rows all go; may be given several times.
    #[arg(long, value_name = "S", num_args = 1.., allow_negative_numbers = true)]
    pub(crate) subject: Vec<String>,
    /// File with one row id per line.
    #[arg(long, value_name = "FILE")]
    pub(crate) ids: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct AddArgs {
    /// The model directory.
    pub(crate) model: PathBuf,
    /// Rows, in the form the model was trained on.
    pub(crate) data: PathBuf,
    /// Column or file with the labels [default: the column of training].
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) label: Option<String>,
    /// Column or file with the ids [default: the column of training; without one, rows are numbered on].
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) id: Option<String>,
    /// Column or file that says whose rows they are [default: the column of training].
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) subject: Option<String>,
}

#[derive(Args)]
pub(crate) struct SettleArgs {
    /// The model directory.
    pub(crate) model: PathBuf,
    /// Gradient norm to reach [default: that of training].
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub(crate) tolerance: Option<f64>,
}

#[derive(Args)]
pub(crate) struct RetrainArgs {
    /// The model directory.
    pub(crate) model: PathBuf,
    #[command(flatten)]
    pub(crate) seed: SeedArgs,
}

#[derive(Args)]
pub(crate) struct ReleaseArgs {
    /// The model directory.
    pub(crate) model: PathBuf,
    /// Copy the published model here, and its certificate beside it.
    #[arg(long, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) seed: SeedArgs,
}

#[derive(Args)]
pub(crate) struct StatusArgs {
    /// The model directory.
    pub(crate) model: PathBuf,
}

#[derive(Args)]
pub(crate) struct PredictArgs {
    /// A published model, the folder of a release, or a model directory (its latest release).
    pub(crate) model: PathBuf,
    /// Rows.
    pub(crate) data: PathBuf,
    /// Column with row ids [default: row numbers from 0].
    #[arg(long, value_name = "NAME")]
    pub(crate) id: Option<String>,
    /// Where predictions go, as CSV [default: stdout].
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct EvaluateArgs {
    /// A published model, the folder of a release, or a model directory (its latest release).
    pub(crate) model: PathBuf,
    /// Rows.
    pub(crate) data: PathBuf,
    /// Column with the labels (`.csv`), or file with them (`.npy`).
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) label: String,
}

#[derive(Args)]
#[command(after_help = "Examples:
  efface plan --rows 100000 --dim 256 --l2 1e-3 --epsilon 1 --delta 1e-5
  efface plan public-sample.csv --label churned --l2 1e-3 --epsilon 1 --delta 1e-5")]
pub(crate) struct PlanArgs {
    /// A public sample of the data; without it, --rows and --dim.
    #[arg(required_unless_present_all = ["rows", "dim"])]
    pub(crate) data: Option<PathBuf>,
    /// Column or file with the labels of the sample.
    #[arg(long, value_name = "NAME|FILE", required_unless_present_all = ["rows", "dim"])]
    pub(crate) label: Option<String>,
    /// Columns of the sample to use as features [default: all others].
    #[arg(long, value_name = "A,B,…", value_delimiter = ',')]
    pub(crate) features: Option<Vec<String>>,
    /// Columns of the sample to leave out.
    #[arg(long, value_name = "A,B,…", value_delimiter = ',')]
    pub(crate) ignore: Vec<String>,
    /// n.
    #[arg(long, value_name = "N", requires = "dim", conflicts_with = "data")]
    pub(crate) rows: Option<usize>,
    /// d.
    #[arg(long, value_name = "D", requires = "rows")]
    pub(crate) dim: Option<usize>,
    #[command(flatten)]
    pub(crate) shape: RowArgs,
    #[command(flatten)]
    pub(crate) promise: PromiseArgs,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum LossArg {
    Logistic,
    Squared,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum MechanismArg {
    /// Fresh noise at every release; no limit on removals.
    Release,
    /// The paper's Algorithms 1 and 2: one perturbation, a removal budget.
    Objective,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum LawArg {
    Gaussian,
    Gamma,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum BoundArg {
    DataDependent,
    Stale,
    PerRow,
    Measured,
    StepNorm,
    WorstCase,
}

impl BoundArg {
    fn rung(self) -> Rung {
        match self {
            Self::DataDependent => Rung::DataDependent,
            Self::Stale => Rung::Stale,
            Self::PerRow => Rung::PerRow,
            Self::Measured => Rung::Measured,
            Self::StepNorm => Rung::StepNorm,
            Self::WorstCase => Rung::WorstCase,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum GammaArg {
    Tight,
    Paper,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum BudgetArg {
    Analytic,
    Paper,
}
