//! What every store of rows promises: its sums are those of its rows, within the error that each sum declares, for any
//! number of threads, and as bytes.

use efface_core::linalg::TrackedMatrix;
use efface_core::loss::{Logistic, Softmax, Squared};
use efface_core::rows::{
    Features, NegativeSampling, Point, Problem, RowBlock, RowBlocks, RowCount, RowStore, TargetRule, WeightSum,
};
use efface_core::sums::{ColumnRanges, GradientSum, GramSum, IntegerSum, StepPowers, SumRequest, Sums};

use crate::dense::{dot, norm};
use crate::{DoubleDouble, Reference, ReferenceLoss};

/// A row that a store should have.
#[derive(Clone, Debug, PartialEq)]
pub struct PlainRow {
    /// Widened to double precision.
    pub features: Vec<f64>,
    /// A number, or a class index.
    pub label: f64,
    /// A keyed hash of its id.
    pub selector: u64,
    /// As how many rows it counts.
    pub row_weight: f64,
}

impl PlainRow {
    /// The rows of a store that are present, in order.
    ///
    /// # Panics
    ///
    /// When a block cannot be read.
    pub fn of(store: &dyn RowBlocks) -> Vec<Self> {
        let mut rows = Vec::new();
        for index in 0..store.n_blocks() {
            let visited = store.visit_block(index, &mut |block| {
                for i in (0..block.labels.len()).filter(|i| block.present[*i]) {
                    let features = block.features.widened(i * store.dim()..(i + 1) * store.dim());
                    let (label, selector, row_weight) = (block.labels[i], block.selectors[i], block.row_weights[i]);
                    rows.push(Self { features, label, selector, row_weight });
                }
            });
            visited.expect("blocks can be read");
        }
        rows
    }
}

/// Every sum there is, at fixed points.
#[derive(Clone, Debug, PartialEq)]
pub struct AllSums {
    problems: [Problem; 4],
    weights: [Vec<f64>; 3],
    counts: Vec<RowCount>,
    gradients: Vec<GradientSum>,
    curvature: Vec<GramSum>,
    gram: GramSum,
    powers: Vec<StepPowers>,
    ranges: ColumnRanges,
    integers: IntegerSum,
}

impl AllSums {
    /// Asks a store for all of them.
    ///
    /// # Panics
    ///
    /// When rows cannot be read.
    pub fn of(store: &dyn RowStore) -> Self {
        let problems = [
            Problem::one_vs_rest(1, Some(NegativeSampling { fraction: 0.7 })),
            Problem::one_vs_rest(2, None),
            Problem::regression(),
            Problem::softmax(vec![0, 1, 2]),
        ];
        let weights = [wave(0.9, store.dim()), wave(2.3, store.dim()), wave(3.7, 3 * store.dim())];
        let points = [
            Point { problem: &problems[0], weights: &weights[0] },
            Point { problem: &problems[1], weights: &weights[1] },
        ];
        let value = [Point { problem: &problems[2], weights: &weights[0] }];
        let joint = [Point { problem: &problems[3], weights: &weights[2] }];
        let mut gradients = store.gradients(&Logistic, &points).expect("readable");
        gradients.extend(store.gradients(&Softmax, &joint).expect("readable"));
        gradients.extend(store.gradients(&Squared, &value).expect("readable"));
        let mut curvature = store.curvature(&Logistic, &points).expect("readable");
        curvature.extend(store.curvature(&Softmax, &joint).expect("readable"));
        let ranges = store.column_ranges(&problems[2..3]).expect("readable");
        let integers = store.integers(&problems[2..3], &ranges.exponents()).expect("readable");
        let mut added_up = IntegerSum::zeros(integers.exponents());
        added_up.merge(&integers).expect("the same grid");
        Self {
            counts: store.counts(&problems).expect("readable"),
            gradients,
            curvature,
            gram: store.gram().expect("readable"),
            powers: store.step_powers(&[points[0], points[1], joint[0]]).expect("readable"),
            ranges,
            integers: added_up,
            problems,
            weights,
        }
    }

    /// The same rows in other blocks: equal but for rounding, as far as the sums declare it.
    ///
    /// # Panics
    ///
    /// When they are not.
    pub fn assert_close(&self, other: &Self) {
        assert_eq!(self.counts, other.counts);
        for (mine, theirs) in self.gradients.iter().zip(&other.gradients) {
            assert_eq!(mine.count, theirs.count);
            assert!((mine.value - theirs.value).abs() <= 1e-11 * (1.0 + mine.value.abs()));
            let difference: Vec<f64> = mine.gradient.iter().zip(&*theirs.gradient).map(|(a, b)| a - b).collect();
            assert!(norm(&difference).to_f64() <= mine.error().get() + theirs.error().get());
        }
        for (mine, theirs) in self.matrices().zip(other.matrices()) {
            let (mine, theirs) = (TrackedMatrix::from(mine), TrackedMatrix::from(theirs));
            let square: f64 = lower(&mine).zip(lower(&theirs)).map(|(a, b)| (a - b) * (a - b)).sum();
            // An entry below the diagonal stands for two in the norm that is bounded.
            assert!((2.0 * square).sqrt() <= mine.error().get() + theirs.error().get());
        }
        for (mine, theirs) in self.powers.iter().zip(&other.powers) {
            assert_eq!(mine.count, theirs.count);
            assert!((mine.fourth_powers - theirs.fourth_powers).abs() <= 1e-11 * (1.0 + mine.fourth_powers));
        }
        // Integers do not round.
        assert_eq!((&self.ranges, &self.integers), (&other.ranges, &other.integers));
    }

    fn matrices(&self) -> impl Iterator<Item = GramSum> {
        self.curvature.iter().chain([&self.gram]).cloned()
    }

    fn assert_true_of(&self, rows: &[PlainRow]) {
        for (problem, count) in self.problems.iter().zip(&self.counts) {
            assert_eq!(*count, count_of(rows, problem));
        }
        let [first, second, joint] = &self.weights;
        let at = [(0, first), (1, second), (3, joint), (2, first)].map(|(at, weights)| (&self.problems[at], weights));
        for ((problem, weights), sum) in at.iter().zip(&self.gradients) {
            let exact = reference(rows, problem).gradient(weights);
            let off: Vec<DoubleDouble> = exact.iter().zip(&*sum.gradient).map(|(exact, got)| *exact - *got).collect();
            assert_eq!(sum.count, count_of(rows, problem));
            assert!(norm(&off).to_f64() <= sum.error().get(), "a gradient beyond its own error");
        }
        for ((problem, weights), sum) in at.iter().zip(&self.curvature) {
            assert_near(sum, &reference(rows, problem).hessian(weights));
        }
        // The curvature of squares is 1 everywhere.
        assert_near(&self.gram, &reference(rows, &self.problems[2]).hessian(first));
        for ((problem, step), sum) in at.iter().zip(&self.powers) {
            let power = |row: &PlainRow| {
                let scores = step.chunks_exact(row.features.len()).map(|step| dot(&row.features, step));
                let square: DoubleDouble = scores.map(|t| t * t).sum();
                square * square * row.row_weight
            };
            let exact = taking_part(rows, problem).map(|(row, _)| power(row)).sum::<DoubleDouble>().to_f64();
            assert!((sum.fourth_powers - exact).abs() <= 1e-9 * exact + 1e-300, "{} for {exact}", sum.fourth_powers);
        }
        let mut integers = IntegerSum::zeros(self.integers.exponents());
        let (mut ranges, targets) = (ColumnRanges::empty(self.weights[0].len() + 1), &self.problems[2..3]);
        for row in rows {
            let block = RowBlock {
                features: Features::F64(&row.features),
                labels: &[row.label],
                selectors: &[row.selector],
                present: &[true],
                row_weights: &[row.row_weight],
            };
            assert!(ranges.add(targets, &block));
            integers.add(targets, &block).expect("on the grid");
        }
        let mut added_up = IntegerSum::zeros(self.integers.exponents());
        added_up.merge(&integers).expect("the same grid");
        assert_eq!((&self.ranges, &self.integers), (&ranges, &added_up));
    }
}

/// Checks all that is promised of a store that should have these rows.
///
/// # Panics
///
/// When a promise is broken.
pub fn store_conformance(store: &dyn RowStore, rows: &[PlainRow]) {
    assert_eq!(store.n_rows(), rows.len());
    assert_eq!(store.weight_sum(), rows.iter().map(|row| WeightSum::of_row(row.row_weight)).sum());
    for row in rows {
        assert_eq!(row.features.len(), store.dim());
        assert!(norm(&row.features).to_f64() <= store.row_norm_bound().get(), "a row beyond the declared norm");
    }
    // First by two threads, while what is read for the first time is read.
    let sums = in_threads(2, || AllSums::of(store));
    assert!(in_threads(1, || AllSums::of(store)) == sums, "one thread sums differently");
    assert!(in_threads(3, || AllSums::of(store)) == sums, "three threads sum differently");
    sums.assert_true_of(rows);

    let problems = sums.problems.clone();
    let alone = [Point { problem: &problems[1], weights: &sums.weights[1] }];
    let joint = [Point { problem: &problems[3], weights: &sums.weights[2] }];
    assert_eq!(store.gradients(&Logistic, &alone).expect("readable")[0], sums.gradients[1], "other points in the pass");
    assert_eq!(store.curvature(&Logistic, &alone).expect("readable")[0], sums.curvature[1], "other points in the pass");

    let exponents = sums.ranges.exponents();
    for request in [
        SumRequest::Counts { problems: &problems },
        SumRequest::Gradients { loss: &Logistic, points: &alone },
        SumRequest::Curvature { loss: &Logistic, points: &alone },
        SumRequest::Gradients { loss: &Softmax, points: &joint },
        SumRequest::Curvature { loss: &Softmax, points: &joint },
        SumRequest::Gram,
        SumRequest::StepPowers { points: &alone },
        SumRequest::Ranges { problems: &problems[2..3] },
        SumRequest::Integers { problems: &problems[2..3], exponents: &exponents },
    ] {
        let answer = SumRequest::answer(&request.to_bytes(), store).expect("readable");
        let direct = store.sum(&request).expect("readable");
        assert_eq!(Sums::from_bytes(&answer), Ok(direct), "as bytes the answer to {request:?} is another");
    }

    let mut gram = TrackedMatrix::zeros(store.dim());
    gram.add(&sums.gram).and_then(|()| gram.retract(&sums.gram)).expect("the same point");
    let left: f64 = lower(&gram).map(|entry| 2.0 * entry * entry).sum();
    assert!(left.sqrt() <= gram.error().get());
}

/// Runs `work` on so many threads.
///
/// # Panics
///
/// When no threads can be started.
pub fn in_threads<T: Send>(n: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(n).build().expect("threads can be started").install(work)
}

/// Numbers between −1 and 1.
fn wave(start: f64, n: usize) -> Vec<f64> {
    (0..n).map(|i| (start + 1.7 * i as f64).sin()).collect()
}

fn taking_part<'a>(rows: &'a [PlainRow], problem: &'a Problem) -> impl Iterator<Item = (&'a PlainRow, f64)> {
    rows.iter().filter_map(|row| Some((row, problem.target(row.label, row.selector)?)))
}

fn count_of(rows: &[PlainRow], problem: &Problem) -> RowCount {
    let mut count = RowCount::default();
    for (row, _) in taking_part(rows, problem) {
        count.merge(&RowCount { n_rows: 1, weight_sum: WeightSum::of_row(row.row_weight) });
    }
    count
}

/// The problem over these rows, written a second time, without a ridge.
fn reference(rows: &[PlainRow], problem: &Problem) -> Reference {
    let loss = match &problem.target {
        TargetRule::Value => ReferenceLoss::Squared,
        TargetRule::OneVsRest { .. } => ReferenceLoss::Logistic,
        TargetRule::Softmax { classes } => ReferenceLoss::Softmax(classes.len()),
    };
    let (rows, targets): (Vec<&PlainRow>, Vec<f64>) = taking_part(rows, problem).unzip();
    Reference {
        loss,
        targets,
        row_weights: rows.iter().map(|row| row.row_weight).collect(),
        rows: rows.into_iter().map(|row| row.features.clone()).collect(),
        l2_per_row: 0.0,
        total_ridge: 0.0,
        perturbation: Vec::new(),
    }
}

/// Within the error that the sum declares.
fn assert_near(sum: &GramSum, exact: &[Vec<DoubleDouble>]) {
    let matrix = TrackedMatrix::from(sum.clone());
    let columns = exact.iter().enumerate().flat_map(|(j, column)| &column[j..]);
    let square: DoubleDouble = lower(&matrix).zip(columns).map(|(got, exact)| (*exact - got) * (*exact - got)).sum();
    let off = square.sqrt().to_f64();
    assert!(off <= matrix.error().get(), "a matrix off by {off:e}, error {:?}", matrix.error());
}

fn lower(matrix: &TrackedMatrix) -> impl Iterator<Item = f64> {
    let dim = matrix.dim();
    (0..dim).flat_map(move |j| (j..dim).map(move |i| matrix.parts().0[j * dim + i]))
}
