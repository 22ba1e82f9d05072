//! A model, its rows and the truth about them, kept in step. No tests here; the checks that tests call after each step.

use efface_core::loss::{Logistic, Loss, Squared};
use efface_core::model::{
    BudgetRule, ChangeReport, Fit, Mechanism, Model, MultiClass, Release, ReleaseOutcome, TrainingConfig, TrainingPlan,
};
use efface_core::noise::NoiseSource;
use efface_core::removal::Change;
use efface_core::ridge::Ridge;
use efface_core::rounding::UpperBound;
use efface_core::rows::{RowStore, TargetRule, WeightSum};
use efface_testkit::dense::{design_norm, norm};
use efface_testkit::{DoubleDouble, Reference, ReferenceLoss, Shape, random_problem};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;

use crate::store::{FULL_BLOCKS, LAYOUTS, Layout, Precision, TestStore};

/// What a world is drawn from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draw {
    pub(crate) seed: u64,
    pub(crate) loss: ReferenceLoss,
    pub(crate) n_rows: usize,
    pub(crate) dim: usize,
    pub(crate) shape: Shape,
    pub(crate) precision: Precision,
    /// Every row ends in the same number, as with an intercept.
    pub(crate) constant_column: bool,
    /// R: rows are scaled to this norm.
    pub(crate) row_norm: f64,
    pub(crate) layout: Layout,
    /// 2, or more; squared loss has none.
    pub(crate) n_classes: u32,
    /// Rows weigh from nothing to a thousand; otherwise each counts once.
    pub(crate) weighted: bool,
}

impl Draw {
    /// Sizes and shape from the seed: d from 1 to 40, and everything that makes rows awkward.
    pub(crate) fn any(seed: u64, loss: ReferenceLoss, n_rows: usize) -> Self {
        let mut rng = ChaCha12Rng::seed_from_u64(seed);
        rng.set_stream(7);
        Self {
            seed,
            loss,
            n_rows,
            dim: (41_f64.powf(rng.random_range(0.0..1.0)) as usize).clamp(1, 40),
            shape: Shape::ALL[rng.random_range(0..Shape::ALL.len())],
            precision: if rng.random_bool(0.3) { Precision::Single } else { Precision::Double },
            constant_column: rng.random_bool(0.3),
            row_norm: [1.0, 1.0, 1.0, 0.25, 4.0][rng.random_range(0..5)],
            layout: LAYOUTS[rng.random_range(0..LAYOUTS.len())],
            n_classes: classes_of(loss),
            weighted: rng.random_bool(0.4),
        }
    }

    /// Plain rows of norm one, in double precision.
    pub(crate) fn plain(seed: u64, loss: ReferenceLoss, n_rows: usize, dim: usize, shape: Shape) -> Self {
        let precision = Precision::Double;
        let (constant_column, row_norm, layout, weighted) = (false, 1.0, FULL_BLOCKS, false);
        let n_classes = classes_of(loss);
        Self { seed, loss, n_rows, dim, shape, precision, constant_column, row_norm, layout, n_classes, weighted }
    }

    /// The default configuration for these rows, with noise also for the squared loss: without it there are exact sums
    /// instead of fits, which have tests of their own.
    pub(crate) fn config(&self) -> TrainingConfig {
        let loss: &'static dyn Loss = match self.loss {
            ReferenceLoss::Logistic | ReferenceLoss::Softmax(_) => &Logistic,
            ReferenceLoss::Squared => &Squared,
        };
        let multi_class = match self.loss {
            ReferenceLoss::Softmax(_) => MultiClass::Softmax,
            _ => MultiClass::OneVsRest,
        };
        let n_classes = loss.is_classification().then_some(self.n_classes);
        let noise_std = (self.loss == ReferenceLoss::Squared).then_some(1e-3);
        let config =
            TrainingConfig { noise_std, multi_class, ..TrainingConfig::new(loss, self.l2_per_row(), n_classes) };
        // Every third world has a ridge that does not grow with its rows.
        let ridge = if self.seed % 3 == 1 { Ridge::Total(10.0 * self.l2_per_row()) } else { config.ridge };
        TrainingConfig { ridge, ..config }
    }

    /// λ, from 1e-4 to 1.
    fn l2_per_row(&self) -> f64 {
        random_problem(self.seed, self.loss, 1, 1, Shape::Tiny).l2_per_row
    }

    /// Draws the rows, and as many again that may arrive later.
    fn rows(&self) -> (TestStore, Vec<Spare>) {
        let mut rng = ChaCha12Rng::seed_from_u64(self.seed);
        rng.set_stream(8);
        let problem = random_problem(self.seed, self.loss, 2 * self.n_rows, self.dim, self.shape);
        // Rounding to single precision may lengthen a row.
        let slack = if self.precision == Precision::Single { 1.0 + 1e-6 } else { 1.0 };
        let mut store = TestStore::empty(self.dim, self.row_norm * slack, self.precision).with_layout(self.layout);
        let mut spare = Vec::new();
        for (index, (row, target)) in problem.rows.iter().zip(&problem.targets).enumerate() {
            let mut row: Vec<f64> = row.iter().map(|x| x * self.row_norm).collect();
            if self.constant_column {
                row = row.iter().map(|x| 0.6 * x).collect();
                row[self.dim - 1] = 0.79 * self.row_norm;
            }
            let label = match self.loss {
                ReferenceLoss::Squared => *target,
                ReferenceLoss::Logistic if self.n_classes == 2 => f64::from(u8::from(*target > 0.0)),
                // In half of the worlds what the row says has a part in it.
                ReferenceLoss::Softmax(_) if self.seed.is_multiple_of(2) && *target > 0.0 => 0.0,
                _ => f64::from(rng.random_range(0..self.n_classes)),
            };
            // The first row always counts: some problem without any weight would have no minimiser.
            let row_weight = match (self.weighted, index) {
                (false, _) => 1.0,
                (true, index) if index % 13 == 5 => 0.0,
                // Sums above and below the number of rows: bounds go both ways.
                (true, _) if self.seed.is_multiple_of(2) => 10f64.powf(rng.random_range(-3.0..3.0)),
                (true, _) => 10f64.powf(rng.random_range(-5.0..-1.0)),
            };
            if index < self.n_rows {
                store.push(&row, label);
                store.weigh(index, row_weight);
            } else {
                spare.push(Spare { row, label, row_weight });
            }
        }
        (store, spare)
    }
}

fn classes_of(loss: ReferenceLoss) -> u32 {
    if let ReferenceLoss::Softmax(n_classes) = loss { n_classes as u32 } else { 2 }
}

/// A row that may arrive later.
#[derive(Clone)]
struct Spare {
    row: Vec<f64>,
    label: f64,
    row_weight: f64,
}

pub(crate) struct World {
    pub(crate) draw: Draw,
    pub(crate) store: TestStore,
    pub(crate) model: Model,
    pub(crate) rng: ChaCha12Rng,
    spare: Vec<Spare>,
}

impl World {
    /// Draws rows and trains on them with the default configuration, changed by `configure`.
    pub(crate) fn train(draw: Draw, configure: impl FnOnce(&mut TrainingConfig)) -> Self {
        let (store, spare) = draw.rows();
        let mut config = draw.config();
        configure(&mut config);
        let plan = TrainingPlan::new(config).expect("a valid configuration");
        let mut noise = NoiseSource::danger_fixed_seed(draw.seed);
        let model = plan.train(&store, &mut noise, &mut |_| {}).expect("trainable").model;
        let mut rng = ChaCha12Rng::seed_from_u64(draw.seed);
        rng.set_stream(9);
        Self { draw, store, model, rng, spare }
    }

    /// The same rows and state under another configuration.
    pub(crate) fn replanned(&self, configure: impl FnOnce(&mut TrainingConfig)) -> Self {
        let mut config = self.model.plan().config().clone();
        configure(&mut config);
        let plan = TrainingPlan::new(config).expect("a valid configuration");
        let model = Model::from_state(plan, self.model.state().clone()).expect("the same problems");
        Self { draw: self.draw, store: self.store.clone(), model, rng: self.rng.clone(), spare: self.spare.clone() }
    }

    /// The rows of the given places leave, `n_added` spare rows arrive.
    pub(crate) fn change(&mut self, removed: &[usize], n_added: usize) -> ChangeReport {
        let leaving = self.store.batch(removed);
        for index in removed {
            self.store.remove(*index);
        }
        let first = self.store.n_places();
        let n_added = n_added.min(self.spare.len());
        for Spare { row, label, row_weight } in self.spare.drain(..n_added) {
            self.store.push(&row, label);
            self.store.weigh(self.store.n_places() - 1, row_weight);
        }
        let arriving = self.store.batch(&(first..first + n_added).collect::<Vec<usize>>());
        let change = Change {
            removed: (!removed.is_empty()).then_some(&leaving as &dyn RowStore),
            added: (n_added > 0).then_some(&arriving as &dyn RowStore),
        };
        self.model.change(&change, &self.store).expect("rows in memory can be read")
    }

    /// Places of `n` random rows that are present; at least two stay.
    pub(crate) fn some_rows(&mut self, n: usize) -> Vec<usize> {
        let mut places = self.store.present();
        let n = n.min(places.len().saturating_sub(2));
        (0..n).map(|_| places.swap_remove(self.rng.random_range(0..places.len()))).collect()
    }

    /// A removal (mostly), an addition or a correction of 1 to `largest` rows.
    pub(crate) fn random_change(&mut self, largest: usize) -> ChangeReport {
        let n = self.rng.random_range(1..=largest);
        let kind: f64 = self.rng.random();
        let removed = if kind < 0.8 { self.some_rows(n) } else { Vec::new() };
        self.change(&removed, if kind > 0.65 { n } else { 0 })
    }

    /// The problem of one fit over the rows now present, written a second time. Which negatives take part is the rule's
    /// own business, tested with the sums over rows.
    pub(crate) fn truth(&self, fit: &Fit) -> Reference {
        let positive = match fit.problem.target {
            TargetRule::Value | TargetRule::Softmax { .. } => None,
            TargetRule::OneVsRest { positive } => Some(positive),
        };
        let takes_part =
            |place: &usize| fit.problem.target(self.store.label(*place), self.store.selector(*place)).is_some();
        let places: Vec<usize> = self.store.present().into_iter().filter(takes_part).collect();
        let rows = self.store.batch(&places);
        let mut reference = rows.reference(self.draw.loss, self.model.plan().config().ridge, positive);
        reference.perturbation = fit.perturbation.as_deref().map_or(Vec::new(), <[f64]>::to_vec);
        reference
    }

    /// What the rows of a fit weigh, added up anew.
    fn weight_of(&self, fit: &Fit) -> WeightSum {
        self.truth(fit).row_weights.into_iter().map(WeightSum::of_row).sum()
    }

    /// The claim on the gradient and the invariant of every fit, against gradients in double-double.
    pub(crate) fn check_gradients(&self) {
        let mut square = DoubleDouble::ZERO;
        for fit in &self.model.state().fits {
            let truth = self.truth(fit);
            assert_eq!((fit.count.n_rows, fit.count.weight_sum), (truth.n_rows(), self.weight_of(fit)));
            let gradient = truth.gradient(&fit.weights);
            self.assert_covers(fit.residual(), norm(&gradient), "the residual of a fit");
            self.assert_covers(fit.gradient_error, unknown_part(fit, &gradient), "the error of a known gradient");
            square += norm(&gradient) * norm(&gradient);
        }
        self.assert_covers(self.model.claim().gradient_residual, square.sqrt(), "the claimed residual");
    }

    /// The claim on the distance, against weights trained from scratch in double-double.
    pub(crate) fn check_distance(&self) {
        let mut square = DoubleDouble::ZERO;
        let objective = efface_core::objective::Objective {
            loss: self.model.plan().loss(),
            ridge: self.model.plan().config().ridge,
            square_sum: None,
        };
        for fit in &self.model.state().fits {
            let distance = distance(&self.truth(fit), &fit.weights);
            self.assert_covers(fit.distance_bound(&objective), distance, "the distance of a fit");
            square += distance * distance;
        }
        self.assert_covers(self.model.claim().distance_bound, square.sqrt(), "the claimed distance");
    }

    /// The bound of ‖X‖₂², against a singular value in higher precision.
    pub(crate) fn check_design(&self) {
        let weighted = |index: usize| {
            let root = self.store.row_weight(index).sqrt();
            self.store.row(index).iter().map(|x| root * x).collect()
        };
        let rows: Vec<Vec<f64>> = self.store.present().into_iter().map(weighted).collect();
        let exact = design_norm(&rows).powi(2);
        let claimed = self.model.state().design_norm_squared.get();
        // The reference itself is good to 1e-12.
        assert!(claimed >= exact * (1.0 - 3e-12), "‖X‖² is {exact:e}, claimed {claimed:e}, {:?}", self.draw);
    }

    fn assert_covers(&self, bound: UpperBound, exact: DoubleDouble, what: &str) {
        let case = (self.draw, self.model.plan().config());
        assert!(bound.is_finite(), "{what} has no finite bound: {case:?}");
        assert!(DoubleDouble::from(bound.get()) >= exact, "{what} is {exact:?}, its bound {:e}: {case:?}", bound.get());
    }
}

/// Mechanism `objective` with the exact budget.
pub(crate) const OBJECTIVE: Mechanism = Mechanism::Objective { budget: BudgetRule::Analytic };

/// 60 plain rows of 5 features, and a model trained on them.
pub(crate) fn small_world(seed: u64, loss: ReferenceLoss, configure: impl FnOnce(&mut TrainingConfig)) -> World {
    World::train(Draw::plain(seed, loss, 60, 5, Shape::Isotropic), configure)
}

/// Noise that anybody can predict.
pub(crate) fn fixed_noise() -> NoiseSource {
    NoiseSource::danger_fixed_seed(5)
}

/// What a model publishes; it must not refuse.
pub(crate) fn published(model: &mut Model, noise: &mut NoiseSource) -> Release {
    match model.release(noise) {
        ReleaseOutcome::Published(release) => release,
        refused => panic!("not published: {refused:?}"),
    }
}

/// ‖exact gradient − known gradient‖.
pub(crate) fn unknown_part(fit: &Fit, exact: &[DoubleDouble]) -> DoubleDouble {
    let difference: Vec<DoubleDouble> =
        exact.iter().zip(&*fit.gradient).map(|(exact, known)| *exact - *known).collect();
    norm(&difference)
}

/// ‖w − argmin‖.
pub(crate) fn distance(truth: &Reference, weights: &[f64]) -> DoubleDouble {
    let difference: Vec<DoubleDouble> = truth.minimizer().iter().zip(weights).map(|(exact, w)| *exact - *w).collect();
    norm(&difference)
}
