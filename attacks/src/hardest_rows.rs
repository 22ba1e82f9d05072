//! A training set with rows that are hard to remove, and people who remove its rows in one order or another.
//!
//! Most rows share twenty features. The first 120 speak for one of forty rare features each, three rows per feature, with
//! labels that contradict each other: taking one of them out moves the model far, in a direction that few rows hold in place.

use efface_core::loss;
use efface_core::model::{BudgetRule, Mechanism, Model, TrainingConfig, TrainingPlan};
use efface_core::noise::NoiseSource;
use efface_core::predict;
use efface_core::removal::Change;
use efface_core::residual::{Constants, Rung};
use efface_data::{
    FeatureOrder, FeatureValues, LabelCodec, Labels, MemoryRows, Origin, RawLabels, RowTransform, Scale, Table,
    TableParts,
};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;
use rand_distr::StandardNormal;

/// Rows to train on.
pub(crate) const N_ROWS: usize = 2000;

const N_TEST: usize = 4000;
const N_COMMON: usize = 20;
const N_RARE: usize = 40;
const ROWS_PER_RARE: usize = 3;

/// Who decides which row leaves next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Chance.
    Random,
    /// An attacker who sees even the secret state, and takes the row that moves it most.
    HardestFirst,
}

/// A model, its rows, and the rows that are held out.
pub(crate) struct World {
    pub(crate) model: Model,
    pub(crate) rows: MemoryRows,
    test: MemoryRows,
    test_labels: Vec<f64>,
    /// Rows in the order in which they leave; the last is the next.
    queue: Vec<usize>,
    order: Order,
    rank_every: usize,
}

/// Mechanism `objective` as the paper has it: its constants, its budget, its data-dependent bound.
pub(crate) fn objective() -> TrainingConfig {
    TrainingConfig {
        mechanism: Mechanism::Objective { budget: BudgetRule::Paper },
        constants: Constants::Paper,
        bound: Some(Rung::DataDependent),
        noise_std: Some(PERTURBATION_STD),
        ..release()
    }
}

/// Mechanism `release` as it is by default.
pub(crate) fn release() -> TrainingConfig {
    TrainingConfig::new(&loss::Logistic, 1e-3, Some(2))
}

/// σ of mechanism `objective`.
const PERTURBATION_STD: f64 = 5.0;

impl World {
    /// Trains on the rows. The attacker looks again after every `rank_every` removals.
    pub(crate) fn train(config: TrainingConfig, order: Order, rank_every: usize) -> anyhow::Result<Self> {
        let mut rng = ChaCha12Rng::seed_from_u64(20);
        let (rows, test) = (draw(&mut rng, N_ROWS)?, draw(&mut rng, N_TEST)?);
        let test_labels = (0..test.len()).filter_map(|i| test.label(i)).collect();
        let mut noise = NoiseSource::danger_fixed_seed(21);
        let model = TrainingPlan::new(config)?.train(&rows, &mut noise, &mut |_| {})?.model;
        let mut queue = Vec::new();
        if order == Order::Random {
            queue = (0..rows.len()).collect();
            queue.shuffle(&mut rng);
        }
        Ok(Self { model, rows, test, test_labels, queue, order, rank_every })
    }

    /// Removes the next row.
    pub(crate) fn remove_next(&mut self) -> anyhow::Result<()> {
        if self.queue.is_empty() && self.order == Order::HardestFirst {
            self.queue = self.hardest()?;
        }
        let Some(position) = self.queue.pop() else { anyhow::bail!("no row is left") };
        let batch = self.rows.batch(&[position])?;
        self.rows.remove(&[position])?;
        self.model.change(&Change::remove(&batch), &self.rows)?;
        Ok(())
    }

    /// The rows whose removal would move the model most, hardest last.
    fn hardest(&self) -> anyhow::Result<Vec<usize>> {
        let mut ranked = Vec::new();
        for position in (0..self.rows.len()).filter(|position| self.rows.is_present(*position)) {
            ranked.push((self.model.influence(&self.rows.batch(&[position])?)?, position));
        }
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
        ranked.truncate(self.rank_every);
        Ok(ranked.into_iter().rev().map(|(_, position)| position).collect())
    }

    /// Trains from zero on the rows that are left.
    pub(crate) fn retrain(&self) -> anyhow::Result<Model> {
        let mut noise = NoiseSource::danger_fixed_seed(22);
        Ok(self.model.plan().train(&self.rows, &mut noise, &mut |_| {})?.model)
    }

    /// Fraction of right classes on rows that were held out.
    pub(crate) fn accuracy(&self, weights: &[Vec<f64>]) -> anyhow::Result<f64> {
        Ok(predict::accuracy(&predict::margins(&self.test, weights)?, &self.test_labels))
    }
}

/// Weights of a model, one vector per problem.
pub(crate) fn weights(model: &Model) -> Vec<Vec<f64>> {
    model.state().fits.iter().map(|fit| fit.weights.to_vec()).collect()
}

fn draw(rng: &mut ChaCha12Rng, n_rows: usize) -> anyhow::Result<MemoryRows> {
    let dim = N_COMMON + N_RARE;
    let (mut values, mut labels) = (Vec::with_capacity(n_rows * dim), Vec::with_capacity(n_rows));
    for row in 0..n_rows {
        let common: Vec<f64> = (0..N_COMMON).map(|_| rng.sample(StandardNormal)).collect();
        let length = common.iter().map(|x| x * x).sum::<f64>().sqrt();
        let rare = (row < N_RARE * ROWS_PER_RARE).then_some(row % N_RARE);
        // Norm 1 in both cases.
        let (share, own) = if rare.is_some() { (0.3, 0.953) } else { (0.999, 0.0) };
        values.extend(common.iter().map(|x| share * x / length));
        values.extend((0..N_RARE).map(|k| if rare == Some(k) { own } else { 0.0 }));
        let teacher = (common[0] - common[1] + 0.5 * common[2]) / length;
        let noise: f64 = rng.sample(StandardNormal);
        // The rows of a rare feature contradict each other.
        let positive = if rare.is_some() { (row / N_RARE).is_multiple_of(2) } else { teacher + 0.1 * noise > 0.0 };
        labels.push(f64::from(u8::from(positive)));
    }
    let origin = Origin::new("drawn");
    let table = Table::new(TableParts {
        feature_names: (0..dim).map(|k| k.to_string()).collect(),
        features: FeatureValues::F64(values),
        labels: Some(Labels::new(RawLabels::Numbers(labels), origin.clone(), None)),
        ids: None,
        subjects: None,
        row_weights: None,
        origin,
        texts: None,
    })?;
    let codec = LabelCodec::Classes(vec!["0".into(), "1".into()]);
    let transform = RowTransform { scale: Scale::None, intercept: false };
    Ok(MemoryRows::of_table(table, &transform, Some(&codec), FeatureOrder::AsRead)?)
}
