//! What is decided at training: columns, scaling, the promise, and how it is kept.

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use efface_core::accounting::Extractor;
use efface_core::loss::Loss;
use efface_core::model::{BudgetRule, Mechanism, MechanismKind, MultiClass, TrainingConfig};
use efface_core::noise::NoiseLaw;
use efface_core::residual::{Constants, Rung};
use efface_core::ridge::Ridge;
use efface_core::rows::MOST_ROW_WEIGHT;
use efface_data::{ClassWeights, Columns, DateOrder, DecimalMark, Notation, RowTransform, Scale, Schema};

use super::choices::{losses, one_of};
use super::ledger::{NewKeyArgs, PolicyArgs};
use super::{SeedArgs, SourceArgs, StoreArgs};

#[derive(Args)]
#[command(after_help = "Examples:
  efface train people.csv --label churned --id customer --out churn.efface
  efface train people.csv --label churned --id customer --C 10 --out churn.efface
  efface train people.csv --schema schema.toml --label churned --out churn.efface
  efface train kunden.csv --label gekauft --id kunde --decimal , --out kunden.efface
  efface train 2024-*.csv --label churned --id customer --weight n_orders --out churn.efface
  zcat people.jsonl.gz | efface train - --label churned --id customer --out churn.efface
  efface train x.npy --label y.npy --scale unit --l2 1e-3 --out model.efface
  efface train rows.parquet --label y --id id --memory 512MB --witness /elsewhere/churn.witness --out churn.efface
  efface train people.csv --label churned --id customer --key operator.key --min-removals 10 --release-every 30d --out churn.efface
  efface train people.csv --label churned --id customer --mechanism objective --noise-std 10 --gamma paper --budget paper --out paper.efface")]
#[command(group(ArgGroup::new("private_extractor").args(["schema", "extractor_epsilon"]).multiple(true)))]
pub(crate) struct TrainArgs {
    #[command(flatten)]
    pub(crate) table: TableArgs,
    /// The model directory to make. A training that is interrupted leaves nothing of it.
    #[arg(long)]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) promise: PromiseArgs,
    /// How the model is protected when it leaves: by fresh noise at every release, with no limit on removals, or by the paper's
    /// Algorithms 1 and 2, one perturbation of the objective and a removal budget.
    #[arg(long, value_parser = one_of(MechanismKind::ALL, MechanismKind::tag), default_value_t = MechanismKind::Release)]
    pub(crate) mechanism: MechanismKind,
    /// What certifies a removal [default: stale (release), data-dependent (objective)].
    #[arg(long, value_parser = one_of(Rung::LADDER, Rung::tag))]
    pub(crate) bound: Option<Rung>,
    /// Constants of the bounds: the least ones, or those the paper prints (γ = 1/4, no factor ½).
    #[arg(long, value_parser = one_of(Constants::ALL, Constants::tag), default_value_t = Constants::Tight)]
    pub(crate) gamma: Constants,
    /// Removal budget of mechanism `objective`: exact for every ε, or σε/c as printed.
    #[arg(long, value_parser = one_of(BudgetRule::ALL, BudgetRule::tag), default_value_t = BudgetRule::Analytic)]
    pub(crate) budget: BudgetRule,
    /// ε per row of a feature extractor that was trained privately on these rows; added to what is claimed. A public
    /// extractor costs nothing.
    #[arg(long, value_name = "E", requires = "extractor_delta", allow_hyphen_values = true)]
    pub(crate) extractor_epsilon: Option<f64>,
    /// Its δ per row.
    #[arg(long, value_name = "D", requires = "extractor_epsilon", allow_hyphen_values = true)]
    pub(crate) extractor_delta: Option<f64>,
    /// Claim the extractor's share for so many removed or corrected rows; when more have left, no release is made any more
    /// [default: 1].
    #[arg(long, value_name = "K", requires = "private_extractor")]
    pub(crate) extractor_group: Option<usize>,
    /// With three classes or more: fraction of the negatives each one-vs-rest problem keeps, by a keyed hash of the id.
    #[arg(long, value_name = "FRACTION", allow_hyphen_values = true)]
    pub(crate) negatives: Option<f64>,
    /// Gradient norm at which training and settling stop.
    #[arg(long, value_name = "T", default_value_t = 1e-9, allow_hyphen_values = true)]
    pub(crate) tolerance: f64,
    /// Keep no d × d matrix beyond this many features: L-BFGS, and removals without a step.
    #[arg(long, value_name = "D", default_value_t = 4096)]
    pub(crate) max_matrix_dim: usize,
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
    #[command(flatten)]
    pub(crate) signing: NewKeyArgs,
    #[command(flatten)]
    pub(crate) seed: SeedArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// Rows to learn from, and what their columns are.
#[derive(Args)]
pub(crate) struct TableArgs {
    #[command(flatten)]
    pub(crate) data: SourceArgs,
    #[command(flatten)]
    pub(crate) roles: RoleArgs,
    #[command(flatten)]
    pub(crate) chosen: ChosenColumns,
    /// Column (or `.npy` file) that says as how many rows a row counts [default: each counts once].
    #[arg(long, value_name = "NAME")]
    pub(crate) weight: Option<String>,
    /// Let every row of a class count so many times: `--class-weight fraud=20`. May be repeated.
    #[arg(long, value_name = "CLASS=W", value_parser = class_weight)]
    pub(crate) class_weight: Vec<(String, f64)>,
    /// What raw columns become: numbers by public ranges, categories by declared values; `efface schema` proposes one.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["features", "ignore"])]
    pub(crate) schema: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) notation: NotationArgs,
    #[command(flatten)]
    pub(crate) rows: RowArgs,
}

#[derive(Args, Clone)]
pub(crate) struct RoleArgs {
    /// Column with the labels, or file (or member) with them for arrays; libsvm files carry their own.
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) label: Option<String>,
    /// Column (or `.npy` file) with row ids [default: row numbers from 0].
    #[arg(long, value_name = "NAME")]
    pub(crate) id: Option<String>,
    /// Column (or `.npy` file) that says whose row it is.
    #[arg(long, value_name = "NAME")]
    pub(crate) subject: Option<String>,
}

#[derive(Args)]
pub(crate) struct ChosenColumns {
    /// Columns to use as features [default: all others].
    #[arg(long, value_name = "A,B,…", value_delimiter = ',')]
    pub(crate) features: Option<Vec<String>>,
    /// Columns to leave out.
    #[arg(long, value_name = "A,B,…", value_delimiter = ',')]
    pub(crate) ignore: Vec<String>,
}

impl RoleArgs {
    /// The columns of these roles, besides those that are chosen as features.
    pub(crate) fn columns(self, chosen: ChosenColumns) -> Columns {
        let (Self { label, id, subject }, ChosenColumns { features, ignore }) = (self, chosen);
        Columns { features, label, id, subject, ignore, ..Columns::default() }
    }
}

/// How numbers and dates are written, where one text can be read in two ways.
#[derive(Args, Clone, Copy)]
pub(crate) struct NotationArgs {
    /// What stands before a fraction, `.` or `,`: with `,` the text 1.234 is 1234, and 1,234 is 1.234 [default: each number says
    /// so itself, and a table that contradicts itself is refused].
    #[arg(long, value_name = "MARK", value_parser = decimal_mark)]
    decimal: Option<DecimalMark>,
    /// What comes first in a date such as 05/06/2024: `dmy` or `mdy` [default: such dates are texts].
    #[arg(long, value_name = "ORDER", value_parser = date_order)]
    dates: Option<DateOrder>,
}

impl NotationArgs {
    pub(crate) fn notation(self) -> Notation {
        Notation { decimal: self.decimal, dates: self.dates }
    }
}

fn decimal_mark(text: &str) -> Result<DecimalMark, &'static str> {
    match text {
        "." => Ok(DecimalMark::Point),
        "," => Ok(DecimalMark::Comma),
        _ => Err("the decimal mark is `.` or `,`"),
    }
}

fn date_order(text: &str) -> Result<DateOrder, &'static str> {
    match text {
        "dmy" => Ok(DateOrder::DayFirst),
        "mdy" => Ok(DateOrder::MonthFirst),
        _ => Err("dates are `dmy` (31/05/2024) or `mdy` (05/31/2024)"),
    }
}

#[derive(Args)]
pub(crate) struct RowArgs {
    /// Fit an intercept [default: with --scale auto, and where a schema has maps].
    #[arg(long, overrides_with = "no_intercept")]
    pub(crate) intercept: bool,
    /// Fit none.
    #[arg(long)]
    pub(crate) no_intercept: bool,
    /// auto: columns are centred and scaled, texts become categories, all of it as if removed rows had never been there; unit: every
    /// row to norm 1; clip:R: divide by R, shorten longer rows; within:R: as they are, norms at most R; none: within:1; raw: as they
    /// are, of any length (squared loss without noise) [default: auto, or as they are where a schema has maps and derives nothing].
    #[arg(long, value_name = "auto|unit|clip:R|within:R|none|raw")]
    pub(crate) scale: Option<Scale>,
}

impl RowArgs {
    pub(crate) fn transform(&self, schema: Option<&Schema>) -> RowTransform {
        let usual = schema.map_or(RowTransform::USUAL, Schema::usual_transform);
        let scale = self.scale.unwrap_or(usual.scale);
        let has_intercept = self.intercept || scale == usual.scale && usual.intercept;
        RowTransform { scale, intercept: has_intercept && !self.no_intercept }
    }
}

#[derive(Args)]
pub(crate) struct PromiseArgs {
    /// Loss.
    #[arg(long, value_parser = losses(), default_value = "logistic")]
    pub(crate) loss: &'static dyn Loss,
    /// What three classes or more become under the logistic loss: one problem of all of them (softmax), or one problem each,
    /// against the rest [default: softmax, or one-vs-rest with --negatives].
    #[arg(long, value_name = "RULE", value_parser = one_of(MultiClass::ALL, MultiClass::tag))]
    pub(crate) classes: Option<MultiClass>,
    #[command(flatten)]
    pub(crate) ridge: RidgeArgs,
    /// ε of the promise.
    #[arg(long, value_name = "E", default_value_t = 1.0, allow_hyphen_values = true)]
    pub(crate) epsilon: f64,
    /// δ of the promise (0 under the gamma law).
    #[arg(long, value_name = "D", default_value_t = 1e-4, allow_hyphen_values = true)]
    pub(crate) delta: f64,
    /// Standard deviation of the noise (scale of the gamma law) [default: 0.001 (release), 1 (objective), 0 (squared loss, up to 4,096 features)].
    #[arg(long, value_name = "S", allow_hyphen_values = true)]
    pub(crate) noise_std: Option<f64>,
    /// Releases that the promise is shared among, where there is noise: no more are made, and with fewer each may be less exact.
    #[arg(long, value_name = "N", default_value_t = 4_096)]
    pub(crate) max_releases: u64,
    /// Law of the noise: gaussian gives (ε, δ), gamma gives pure ε.
    #[arg(long, value_parser = one_of(NoiseLaw::ALL, NoiseLaw::tag), default_value_t = NoiseLaw::Gaussian)]
    pub(crate) law: NoiseLaw,
}

impl PromiseArgs {
    pub(crate) fn config(&self) -> TrainingConfig {
        TrainingConfig {
            epsilon: self.epsilon,
            delta: self.delta,
            noise_std: self.noise_std,
            max_releases: self.max_releases,
            law: self.law,
            ridge: self.ridge.ridge(),
            multi_class: self.classes.unwrap_or(MultiClass::Softmax),
            ..TrainingConfig::new(self.loss, 1.0, None)
        }
    }
}

/// One number under the three names that people have for it.
#[derive(Args)]
#[group(multiple = false)]
pub(crate) struct RidgeArgs {
    /// Ridge as scikit-learn's classifiers have it: the objective adds ‖w‖²/(2C) [default: 1].
    #[arg(long = "C", value_name = "C", allow_hyphen_values = true, value_parser = positive)]
    pub(crate) inverse: Option<f64>,
    /// The same as scikit-learn's `Ridge` has it: the objective adds α/2·‖w‖², so α = 1/C.
    #[arg(long, value_name = "ALPHA", allow_hyphen_values = true)]
    pub(crate) alpha: Option<f64>,
    /// Ridge per row, as the paper has it: the objective adds λ·n/2·‖w‖².
    #[arg(long, value_name = "LAMBDA", allow_hyphen_values = true)]
    pub(crate) l2: Option<f64>,
}

impl RidgeArgs {
    fn ridge(&self) -> Ridge {
        match (self.inverse, self.alpha, self.l2) {
            (Some(inverse), ..) => Ridge::Total(1.0 / inverse),
            (_, Some(alpha), _) => Ridge::Total(alpha),
            (.., Some(lambda)) => Ridge::PerRow(lambda),
            (None, None, None) => Ridge::Total(1.0),
        }
    }
}

fn class_weight(text: &str) -> Result<(String, f64), String> {
    if text == "balanced" {
        let why = "weights by how frequent classes are would remember rows that left; write CLASS=W";
        return Err(why.into());
    }
    let (class, weight) = text.rsplit_once('=').ok_or("write CLASS=W, as in fraud=20")?;
    let weight: f64 = weight.parse().map_err(|error| format!("weight `{weight}`: {error}"))?;
    let is_usable = weight > 0.0 && weight <= MOST_ROW_WEIGHT;
    is_usable
        .then(|| (class.to_owned(), weight))
        .ok_or_else(|| format!("a class weighs more than 0 and at most {MOST_ROW_WEIGHT}, got `{weight}`"))
}

fn positive(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|error| format!("{error}"))?;
    let is_usable = value > 0.0 && value.is_finite() && (1.0 / value).is_finite();
    is_usable.then_some(value).ok_or_else(|| format!("C must be positive and finite, got `{value}`"))
}

impl TableArgs {
    /// What classes weigh. Who gives a class two weights means one of them, and nobody knows which.
    pub(crate) fn class_weights(&self) -> anyhow::Result<ClassWeights> {
        let given = &self.class_weight;
        for (class, weight) in given {
            if let Some((_, other)) = given.iter().find(|(other, with)| other == class && with != weight) {
                anyhow::bail!("class `{class}` has two weights, {weight} and {other}");
            }
        }
        Ok(ClassWeights::new(given.iter().cloned()))
    }
}

impl TrainArgs {
    pub(crate) fn config(&self) -> TrainingConfig {
        let usual = if self.negatives.is_some() { MultiClass::OneVsRest } else { MultiClass::Softmax };
        TrainingConfig {
            multi_class: self.promise.classes.unwrap_or(usual),
            mechanism: Mechanism::new(self.mechanism, self.budget),
            bound: self.bound,
            constants: self.gamma,
            extractor: self.extractor_epsilon.zip(self.extractor_delta).map(|(epsilon, delta)| Extractor {
                epsilon,
                delta,
                group: self.extractor_group.unwrap_or(1),
            }),
            negatives: self.negatives,
            gradient_tolerance: self.tolerance,
            max_matrix_dim: self.max_matrix_dim,
            ..self.promise.config()
        }
    }
}
