//! What can be typed. Help texts live with the flags.

mod audit;
mod choices;
mod extractor;
mod ledger;
mod reproduce;
mod store;
mod train;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use efface_data::NetworkPlaces;
use efface_engine::PublishedModel;

pub(crate) use audit::AuditArgs;
pub(crate) use extractor::{ExtractorArgs, ExtractorCommand, ShowStatementArgs, TrainExtractorArgs};
pub(crate) use ledger::{
    CertificateArgs, CertificateCommand, KeyArgs, KeyCommand, LedgerArgs, LedgerCommand, PassphraseArgs,
    PolicyCommandArgs, RenewArgs, RequestCertificateArgs, RevokeArgs, ShowCertificateArgs, SigningArgs, VerifyArgs,
};
pub(crate) use reproduce::{DEFAULT_SEED, ReproduceArgs};
pub(crate) use store::{ModelArgs, SourceArgs, StoreArgs};
pub(crate) use train::{NotationArgs, PromiseArgs, RoleArgs, TableArgs, TrainArgs};

/// Train linear models that can forget: remove rows, or everything about a person, in milliseconds, and prove it.
#[derive(Parser)]
#[command(
    name = "efface",
    version,
    after_help = "Start with `efface demo`. Exit codes: 0 done, 1 a negative answer, 2 an error; \
                  130 and 143, it was interrupted."
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
    /// Train again from zero on the remaining rows.
    Retrain(RetrainArgs),
    /// Publish the model with fresh noise and a certificate.
    Release(ReleaseArgs),
    /// Check a certificate, or a whole model directory.
    Verify(VerifyArgs),
    /// Show a certificate, or certify what became of a request.
    Certificate(CertificateArgs),
    /// Make a key pair that signs certificates, or show a public key.
    Key(KeyArgs),
    /// Sign a checkpoint of the log, or prove consistency with an earlier one.
    Ledger(LedgerArgs),
    /// Decide when releases are made.
    Policy(PolicyCommandArgs),
    /// Add a promise to one whose releases are nearly all made.
    Renew(RenewArgs),
    /// Withdraw a release.
    Revoke(RevokeArgs),
    /// Show what a model is and what it claims.
    Status(StatusArgs),
    /// Predict with a published model.
    Predict(PredictArgs),
    /// Show rows as a published model takes them: scaled, texts as categories.
    Transform(TransformArgs),
    /// Measure a published model on labelled rows.
    Evaluate(EvaluateArgs),
    /// Write a published model as one ONNX file that takes raw rows.
    Export(ExportArgs),
    /// Propose what the columns of a raw table become, for you to review.
    Schema(SchemaArgs),
    /// Train a private feature extractor on images, or say what the statement of one promises.
    Extractor(ExtractorArgs),
    /// Attack what a model claims, and report with pictures.
    Audit(AuditArgs),
    /// Repeat the experiments of the paper, and report with pictures.
    Reproduce(ReproduceArgs),
    /// Say before training which noise is needed and how many instant removals fit.
    Plan(PlanArgs),
}

#[derive(Args)]
#[command(after_help = "Example:
  efface demo --out report.html")]
pub(crate) struct DemoArgs {
    /// Where the report goes.
    #[arg(long, default_value = "efface-demo.html")]
    pub(crate) out: PathBuf,
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
  efface remove churn.efface --ids to-forget.txt --skip-missing --request-id ticket-77")]
pub(crate) struct RemoveArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    #[command(flatten)]
    pub(crate) which: WhichArgs,
    /// Leave out ids and subjects that are not there (any more) instead of refusing the request, and count them.
    #[arg(long)]
    pub(crate) skip_missing: bool,
    /// Name of this request: asked again, it gets the same answer and removes nothing more. Kept as it is typed, and
    /// listed in certificates: nothing that names a person.
    #[arg(long, value_name = "R")]
    pub(crate) request_id: Option<String>,
    /// Settle afterwards.
    #[arg(long)]
    pub(crate) settle: bool,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
pub(crate) struct WhichArgs {
    /// Row ids, one or more.
    #[arg(long, value_name = "ID", num_args = 1.., allow_negative_numbers = true)]
    pub(crate) id: Vec<String>,
    /// Subjects whose rows all go, one or more.
    #[arg(long, value_name = "S", num_args = 1.., allow_negative_numbers = true)]
    pub(crate) subject: Vec<String>,
    /// File with one row id per line.
    #[arg(long, value_name = "FILE")]
    pub(crate) ids: Option<PathBuf>,
    /// File with one subject per line.
    #[arg(long, value_name = "FILE")]
    pub(crate) subjects: Option<PathBuf>,
    /// Rows whose records on the disk are damaged, as `efface verify` finds them. The model is trained again without them.
    #[arg(long)]
    pub(crate) damaged: bool,
}

#[derive(Args)]
#[command(after_help = "Examples:
  efface add churn.efface new-customers.csv
  efface add churn.efface 2024-*.csv --request-id import-7
  efface correct churn.efface corrected.csv
  efface add model.efface x.npy --label y.npy --id ids.npy")]
pub(crate) struct AddArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    #[command(flatten)]
    pub(crate) data: SourceArgs,
    /// Column or file with the labels [default: the column of training].
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) label: Option<String>,
    /// Column or file with the ids [default: the column of training; without one, numbering continues].
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) id: Option<String>,
    /// Column or file that says whose rows they are [default: the column of training].
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) subject: Option<String>,
    /// Makes the request safe to repeat: asked for again under the same id, it gets the same answer. A long file that was cut
    /// short goes on where it was.
    #[arg(long, value_name = "ID")]
    pub(crate) request_id: Option<String>,
}

#[derive(Args)]
#[command(after_help = "Example:
  efface settle churn.efface --tolerance 1e-9")]
pub(crate) struct SettleArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// Gradient norm to reach [default: that of training].
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub(crate) tolerance: Option<f64>,
}

#[derive(Args)]
#[command(after_help = "Example:
  efface retrain churn.efface")]
pub(crate) struct RetrainArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    #[command(flatten)]
    pub(crate) seed: SeedArgs,
}

#[derive(Args)]
#[command(after_help = "Example:
  efface release churn.efface --out model.json")]
pub(crate) struct ReleaseArgs {
    #[command(flatten)]
    pub(crate) model: SigningArgs,
    /// Copy the published model here, and its certificate beside it.
    #[arg(long, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) seed: SeedArgs,
}

#[derive(Args)]
#[command(after_help = "Example:
  efface status churn.efface --json")]
pub(crate) struct StatusArgs {
    /// The model directory.
    pub(crate) model: PathBuf,
}

#[derive(Args)]
pub(crate) struct NetworkArgs {
    /// Folder with the files of the networks that the model's features come from [default: that of the model].
    #[arg(long, value_name = "FOLDER")]
    networks: Option<PathBuf>,
}

impl NetworkArgs {
    /// The model whose networks lie where these say.
    pub(crate) fn of(&self, model: PublishedModel) -> PublishedModel {
        match &self.networks {
            None => model,
            Some(folder) => model.with_networks(NetworkPlaces::new([folder.clone()])),
        }
    }
}

#[derive(Args)]
#[command(after_help = "Examples:
  efface predict model.json people.csv --id customer --out predictions.csv
  efface predict churn.efface people.csv            (its latest release)
  efface predict churn.efface people.csv --probabilities --threshold 0.3

Of two classes, the one with the larger probability is predicted; --threshold moves that line. The positive class is the
second under \"classes\" in model.json: classes are sorted, so of no and yes it is yes, and of 0 and 1 it is 1. The column
`probability` is that of the predicted class. Files of any size are read and written in a stream; with --json and without --out,
predictions are one object, which is kept in memory.")]
pub(crate) struct PredictArgs {
    /// A published model, the folder of a release, or a model directory (its latest release).
    pub(crate) model: PathBuf,
    #[command(flatten)]
    pub(crate) data: SourceArgs,
    #[command(flatten)]
    pub(crate) networks: NetworkArgs,
    /// Column with row ids [default: row numbers from 0].
    #[arg(long, value_name = "NAME")]
    pub(crate) id: Option<String>,
    /// Where predictions go, as CSV [default: stdout].
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Add the probability of every class: a column `probability:CLASS` each; in JSON, a map `probabilities`.
    #[arg(long)]
    pub(crate) probabilities: bool,
    /// Predict the positive class (the second) from this probability on, instead of above one half; two classes only.
    #[arg(long, value_name = "P", allow_hyphen_values = true)]
    pub(crate) threshold: Option<f64>,
}

#[derive(Args)]
#[command(after_help = "Example:
  efface transform churn.efface people.csv --id customer --out scaled.csv

One column per feature of the model, as its weights take them. The constants by which columns are scaled are in model.json,
under \"constants\".")]
pub(crate) struct TransformArgs {
    /// A published model, the folder of a release, or a model directory (its latest release).
    pub(crate) model: PathBuf,
    #[command(flatten)]
    pub(crate) data: SourceArgs,
    #[command(flatten)]
    pub(crate) networks: NetworkArgs,
    /// Column with row ids [default: row numbers from 0].
    #[arg(long, value_name = "NAME")]
    pub(crate) id: Option<String>,
    /// Where the rows go, as CSV [default: stdout].
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Args)]
#[command(after_help = "Examples:
  efface evaluate model.json people.csv --label churned
  efface evaluate churn.efface people.csv --label churned --threshold 0.3 --json

Classes: accuracy beside the base rate (always answering the most frequent class), AUC (how well rows are put in order: 0.5 is
chance; of more than two classes the mean over each against the rest), log-loss and calibration error (whether a probability
of 70 % comes true 7 times in 10), figures of each class, and which classes are taken for which. Numbers: errors beside those
of always answering the mean, and R². A model that is no better than that gets a warning. --json has all figures, the
calibration in ten bins among them; what the rows do not define is null.")]
pub(crate) struct EvaluateArgs {
    /// A published model, the folder of a release, or a model directory (its latest release).
    pub(crate) model: PathBuf,
    #[command(flatten)]
    pub(crate) data: SourceArgs,
    #[command(flatten)]
    pub(crate) networks: NetworkArgs,
    /// Column with the labels, or file (or member) with them for arrays; libsvm files carry their own.
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) label: Option<String>,
    /// Predict the positive class (the second) from this probability on, instead of above one half; two classes only.
    #[arg(long, value_name = "P", allow_hyphen_values = true)]
    pub(crate) threshold: Option<f64>,
}

#[derive(Args)]
#[command(after_help = "Examples:
  efface export model.json --onnx model.onnx
  efface export photos.efface --onnx photos.onnx            (its latest release)
  efface export model.json --networks networks --onnx model.onnx --json

The file takes what stands in the columns, and answers label and probabilities (scores of classes that were trained with the squared
loss, a prediction where numbers are predicted). Tables of numbers are one input `X`, columns in the order of training. Otherwise each
column is an input under its name: numbers, texts, pixels. Three things stay outside, because ONNX has no operators for them: the
tokenizer before a network of texts, the hash of a `hashed` column, and the n-grams of a `text` column; docs/export.md has both
hashes in twenty lines of Python. What the file takes is shown, and listed by --json.

It computes in single precision: scores are those of `efface predict` to about 1e-5. The weights are the released ones, noise and
all, and nothing is in the file that is not in model.json and the network that it names.")]
pub(crate) struct ExportArgs {
    /// A published model, the folder of a release, or a model directory (its latest release).
    pub(crate) model: PathBuf,
    /// Where the file goes.
    #[arg(long, value_name = "FILE")]
    pub(crate) onnx: PathBuf,
    #[command(flatten)]
    pub(crate) networks: NetworkArgs,
}

#[derive(Args)]
#[command(after_help = "Examples:
  efface schema people.csv --label churned --id customer --out schema.toml
  efface schema people.parquet --label churned --ignore note --sample 100000 > schema.toml
  efface train people.csv --schema schema.toml --out churn.efface
  efface schema people.csv --label churned --public --out schema.toml

Columns of labels, ids and subjects get no entry, and neither do columns that look like ids: without the file, running numbers
are features. Every other column is `derived`: centred and scaled, texts as categories, by constants that are always those of
the remaining rows. But for ids, training with the file is the same as training without it, until you change it.

With --public, entries declare constants instead: numbers become [-1, 1] by a range, categories one feature per declared value,
long-tailed texts hashed buckets. What was read off the rows is marked origin = \"inferred\": review it, replace it by what is
publicly known, and write origin = \"public\". Until then status and certificates list the column as outside the guarantee.")]
pub(crate) struct SchemaArgs {
    #[command(flatten)]
    pub(crate) data: SourceArgs,
    #[command(flatten)]
    pub(crate) roles: RoleArgs,
    /// Columns to leave out.
    #[arg(long, value_name = "A,B,…", value_delimiter = ',')]
    pub(crate) ignore: Vec<String>,
    #[command(flatten)]
    pub(crate) notation: NotationArgs,
    /// Propose ranges and values to be declared, instead of constants that are derived from the rows.
    #[arg(long)]
    pub(crate) public: bool,
    /// Look at the first N rows only.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) sample: Option<u64>,
    /// Where the schema goes; a file that exists is left alone [default: stdout].
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Args)]
#[command(after_help = "Examples:
  efface plan --rows 100000 --dim 256 --l2 1e-3 --epsilon 1 --delta 1e-5
  efface plan public-sample.csv --label churned --id customer --C 10 --epsilon 1 --delta 1e-5")]
#[command(mut_arg("data", |data| {
    data.required(false).required_unless_present_all(["rows", "dim"]).help(
        "A public sample of the data, files as `efface train` takes them; without it, --rows and --dim",
    )
}))]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) table: TableArgs,
    /// n.
    #[arg(long, value_name = "N", requires = "dim", conflicts_with = "data")]
    pub(crate) rows: Option<usize>,
    /// d.
    #[arg(long, value_name = "D", requires = "rows")]
    pub(crate) dim: Option<usize>,
    #[command(flatten)]
    pub(crate) promise: PromiseArgs,
}
