//! Table 1: times of training and of removal, beside those that the paper prints.

use efface_report::numbers::{count, number, seconds};
use efface_report::{Part, Section, Table};
use serde::{Deserialize, Serialize};

use crate::data::{DataSet, Load, mnist_3_vs_8, on_each, scenes, sst, svhn};
use crate::life::{Life, random_order};
use crate::measure::median;
use crate::objective::{EPSILON, Strength, published_plan, release_plan};
use crate::{Result, Setting};

/// λ of all models of the table.
const L2_PER_ROW: f64 = 1e-3;

/// σ of the perturbed models.
const NOISE_STD: f64 = 10.0;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TimesResults {
    pub(crate) data_sets: Vec<Times>,
    /// Data sets that are not there, each with what is missing.
    pub(crate) missing: Vec<String>,
}

/// Times on one data set: medians, with the largest bounds on the gradient's norm; removals and settling are those of
/// mechanism `release`, unless published.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Times {
    pub(crate) name: String,
    pub(crate) n_rows: usize,
    pub(crate) dim: usize,
    /// 1, or one per class.
    pub(crate) n_problems: usize,
    pub(crate) training_seconds: f64,
    pub(crate) trained_residual: f64,
    pub(crate) removal_seconds: f64,
    /// Removals before settling.
    pub(crate) n_removals: usize,
    pub(crate) settle_seconds: f64,
    pub(crate) settled_residual: f64,
    /// With a fresh Hessian at every removal.
    pub(crate) published_removal_seconds: f64,
    /// What the paper prints, on the authors' GPU.
    pub(crate) paper_training_seconds: f64,
    pub(crate) paper_removal_seconds: f64,
    pub(crate) paper_name: String,
}

const DATA_SETS: [Load; 4] = [mnist_3_vs_8, scenes, sst, svhn];

/// What the paper prints for each of them: name, seconds of training, seconds of one removal.
const PAPER: [(&str, f64, f64); 4] = [
    ("MNIST", 15.6, 0.04),
    ("LSUN (n = 1,000,000)", 124.0, 0.48),
    ("SST", 61.5, 0.07),
    ("SVHN, private extractor", 5400.0, 0.27),
];

pub(crate) fn run(setting: &Setting<'_>) -> Result<TimesResults> {
    let (data_sets, missing) = on_each(&DATA_SETS, setting, |index, data| measure(data, PAPER[index], setting))?;
    Ok(TimesResults { data_sets, missing })
}

fn measure(
    data: &DataSet,
    (paper_name, paper_training_seconds, paper_removal_seconds): (&str, f64, f64),
    setting: &Setting<'_>,
) -> Result<Times> {
    let (repeats, n_removals, n_published) = if setting.quick { (1, 5, 2) } else { (5, 100, 10) };
    setting.begin(format!("{}: times", data.name), repeats * (2 + n_removals) + n_published);
    let order = random_order(data.train.len(), setting.seed);
    let (mut training, mut removal, mut settling) = (Vec::new(), Vec::new(), Vec::new());
    let (mut trained_residual, mut settled_residual) = (0.0_f64, 0.0_f64);
    let plan = release_plan(data, L2_PER_ROW)?;
    for _ in 0..repeats {
        let mut life = Life::begin(&plan, data.train_rows()?, setting.seed)?;
        training.push(life.training_seconds);
        trained_residual = trained_residual.max(life.model.claim().gradient_residual.get());
        setting.step();
        removal.extend(life.remove_each(order.iter().copied().take(n_removals), setting)?);
        let (settled, seconds) = life.settle()?;
        settling.push(seconds);
        settled_residual = settled_residual.max(settled.claim.gradient_residual.get());
        setting.step();
    }
    let strength = Strength { l2_per_row: L2_PER_ROW, noise_std: NOISE_STD };
    let plan = published_plan(data, strength, EPSILON)?;
    let mut life = Life::begin(&plan, data.train_rows()?, setting.seed)?;
    let published = life.remove_each(order.into_iter().take(n_published), setting)?;
    Ok(Times {
        name: data.name.to_owned(),
        n_rows: data.n_rows(),
        dim: data.dim(),
        n_problems: life.model.state().fits.len(),
        training_seconds: median(training),
        trained_residual,
        removal_seconds: median(removal),
        n_removals,
        settle_seconds: median(settling),
        settled_residual,
        published_removal_seconds: median(published),
        paper_training_seconds,
        paper_removal_seconds,
        paper_name: paper_name.to_owned(),
    })
}

impl TimesResults {
    pub(crate) fn section(&self) -> Section {
        let row = |name: &str, text: &dyn Fn(&Times) -> String| -> Vec<String> {
            std::iter::once(name.to_owned()).chain(self.data_sets.iter().map(text)).collect()
        };
        let rows = vec![
            row("rows n", &|times| count(times.n_rows)),
            row("features d", &|times| match times.n_problems {
                1 => count(times.dim),
                n => format!("{} × {n} problems", count(times.dim)),
            }),
            row("training", &|times| seconds(times.training_seconds)),
            row("gradient's norm after training, at most", &|times| number(times.trained_residual)),
            row("removing one row", &|times| seconds(times.removal_seconds)),
            row("training ÷ removing", &|times| number(times.training_seconds / times.removal_seconds)),
            row("settling", &|times| format!("{} after {} removals", seconds(times.settle_seconds), times.n_removals)),
            row("gradient's norm after settling, at most", &|times| number(times.settled_residual)),
            row("removing as published, fresh Hessian", &|times| seconds(times.published_removal_seconds)),
            row("the paper's data set", &|times| times.paper_name.clone()),
            row("the paper's training", &|times| seconds(times.paper_training_seconds)),
            row("the paper's removing", &|times| seconds(times.paper_removal_seconds)),
            row("the paper's training ÷ removing", &|times| {
                number(times.paper_training_seconds / times.paper_removal_seconds)
            }),
        ];
        let caption = format!(
            "λ = 10⁻³. Features are there before training begins; those of SVHN are fixed ones. Training and settling aim at a gradient norm of 10⁻⁹, and the norm reached is a bound that \
                 counts rounding; removing one row includes its bound, in memory. Medians. The published method forms the \
                 Hessian at every removal; σ = {NOISE_STD}."
        );
        let table = Table::new(caption, row("", &|times| times.name.clone()), rows);
        let text = "Ours on a CPU, the paper's as printed, on the authors' GPU: the machines differ, so \
                    compare the ratios of training to removing, not the times.";
        let mut parts = vec![Part::text(text), Part::Table(table)];
        parts.extend(self.missing.iter().map(|missing| Part::text(format!("Left out: {missing}."))));
        Section::new("times", "Table 1: times of training and removal", parts)
    }
}
