//! What every store of rows promises, checked on each of them: the same sums as rows in memory, for any number of
//! threads, in any blocks, before and after rows leave.

use efface_core::linalg::TrackedMatrix;
use efface_core::loss::{Logistic, Squared};
use efface_core::rows::{BLOCK_ROWS, NegativeSampling, Point, Problem, RowCount, RowStore, Sign};
use efface_core::statistic::{GradientSum, StepPowers};
use efface_data::{MemoryRows, Precision, RowLayout, StoredRows};
use tempfile::TempDir;

use crate::samples::{ALL, contents, empty, in_threads, noise, store, stored, weighted_store};

const DIM: usize = 7;
const N: usize = 1200;
/// First and last row, both sides of a border between blocks, and neighbours.
const GONE: [usize; 8] = [0, 3, 255, 256, 257, 700, 701, 1199];

/// A store that rows can leave.
trait Store: RowStore {
    fn take_out(&mut self, positions: &[usize]);
    fn pick(&self, positions: &[usize]) -> MemoryRows;
}

impl Store for MemoryRows {
    fn take_out(&mut self, positions: &[usize]) {
        self.remove(positions).expect("present");
    }

    fn pick(&self, positions: &[usize]) -> MemoryRows {
        self.batch(positions).expect("present")
    }
}

impl Store for StoredRows {
    fn take_out(&mut self, positions: &[usize]) {
        self.remove(positions).expect("present");
    }

    fn pick(&self, positions: &[usize]) -> MemoryRows {
        self.batch(positions).expect("present")
    }
}

/// Every sum there is, at fixed points.
struct Sums {
    counts: Vec<RowCount>,
    gradients: Vec<GradientSum>,
    powers: StepPowers,
    matrices: Vec<TrackedMatrix>,
}

impl Sums {
    fn of(store: &impl RowStore) -> Self {
        let problems = [
            Problem::one_vs_rest(1, Some(NegativeSampling { fraction: 0.7 })),
            Problem::one_vs_rest(2, None),
            Problem::regression(),
        ];
        let weights = [noise(99, store.dim()), noise(98, store.dim())];
        let point = |problem| Point { problem, weights: &weights[0] };
        let points = [point(&problems[0]), Point { problem: &problems[1], weights: &weights[1] }];
        let mut gradients = store.gradients(&Logistic, &points).expect("readable");
        gradients.extend(store.gradients(&Squared, &[point(&problems[2])]).expect("readable"));
        let mut matrices = vec![TrackedMatrix::zeros(store.dim()), TrackedMatrix::zeros(store.dim())];
        store.add_gram(Sign::Add, &mut matrices[0]).expect("readable");
        store.add_curvature(&Logistic, &points[0], Sign::Add, &mut matrices[1]).expect("readable");
        Self {
            counts: problems.iter().map(|problem| store.count(problem).expect("readable")).collect(),
            gradients,
            powers: store.step_powers(&points[0]).expect("readable"),
            matrices,
        }
    }

    fn assert_equal(&self, other: &Self) {
        assert_eq!(self.counts, other.counts);
        assert_eq!(self.gradients, other.gradients);
        assert_eq!(self.powers, other.powers);
        for (mine, theirs) in self.matrices.iter().zip(&other.matrices) {
            assert_eq!(mine.parts().0, theirs.parts().0);
            assert_eq!((mine.error().get(), mine.trace().get()), (theirs.error().get(), theirs.trace().get()));
        }
    }

    /// Matrices within the bounds that they claim; the others within what rounding can do to sums of this length.
    fn assert_close(&self, other: &Self) {
        assert_eq!(self.counts, other.counts);
        for (mine, theirs) in self.gradients.iter().zip(&other.gradients) {
            assert_eq!(mine.count, theirs.count);
            assert_near(mine.value, theirs.value);
            mine.gradient.iter().zip(theirs.gradient.iter()).for_each(|(a, b)| assert_near(*a, *b));
        }
        assert_eq!(self.powers.count, other.powers.count);
        assert_near(self.powers.fourth_powers, other.powers.fourth_powers);
        for (mine, theirs) in self.matrices.iter().zip(&other.matrices) {
            let distance: f64 = lower(mine).zip(lower(theirs)).map(|(a, b)| (a - b) * (a - b)).sum();
            // An entry below the diagonal stands for two in the norm that is bounded.
            assert!((2.0 * distance).sqrt() <= mine.error().get() + theirs.error().get());
        }
    }
}

fn assert_near(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-11 * (1.0 + a.abs()), "{a} and {b}");
}

fn lower(matrix: &TrackedMatrix) -> impl Iterator<Item = f64> {
    let dim = matrix.dim();
    (0..dim).flat_map(move |j| (j..dim).map(move |i| matrix.parts().0[j * dim + i]))
}

/// Runs all checks. `rows` has the same rows in memory; with the same blocks sums must agree to the last bit.
fn conforms(mut store: impl Store, mut rows: MemoryRows, has_same_blocks: bool) {
    let compare = |store: &Sums, rows: &Sums| {
        store.assert_close(rows);
        if has_same_blocks {
            store.assert_equal(rows);
        }
    };
    assert_eq!((store.dim(), store.n_rows()), (rows.dim(), rows.n_rows()));
    assert_eq!(store.weight_sum(), rows.weight_sum());
    assert_eq!(store.row_norm_bound().get(), rows.row_norm_bound().get());
    // Once while blocks are read for the first time, by two threads, and twice when they are known.
    let fresh = in_threads(2, || Sums::of(&store));
    compare(&fresh, &Sums::of(&rows));
    in_threads(1, || Sums::of(&store)).assert_equal(&fresh);
    in_threads(2, || Sums::of(&store)).assert_equal(&fresh);
    assert_eq!(contents(&store), contents(&rows));
    for block in 0..store.n_blocks() {
        let look =
            &mut |block: &efface_core::rows::RowBlock<'_>| assert!((1..=BLOCK_ROWS).contains(&block.labels.len()));
        store.visit_block(block, look).expect("in range");
    }
    assert!(store.visit_block(store.n_blocks(), &mut |_| ()).is_err());
    assert!(store.visit_block(usize::MAX, &mut |_| ()).is_err());

    let mut gram = TrackedMatrix::zeros(store.dim());
    store.add_gram(Sign::Add, &mut gram).and_then(|()| store.add_gram(Sign::Retract, &mut gram)).expect("readable");
    let left: f64 = lower(&gram).map(|entry| 2.0 * entry * entry).sum();
    assert!(left.sqrt() <= gram.error().get());

    let some: Vec<usize> = [1199, 5, 6, 7, 0, 512].into_iter().filter(|position| *position < rows.len()).collect();
    Sums::of(&store.pick(&some)).assert_equal(&Sums::of(&rows.pick(&some)));
    assert_eq!(store.pick(&some).n_rows(), some.len());
    assert_eq!(store.pick(&some).weight_sum(), rows.pick(&some).weight_sum());

    let gone: Vec<usize> = GONE.into_iter().filter(|position| *position < rows.len()).collect();
    let kept: Vec<usize> = (0..rows.len()).filter(|position| !gone.contains(position)).collect();
    let never_had = rows.pick(&kept);
    store.take_out(&gone);
    rows.take_out(&gone);
    assert_eq!(store.n_rows(), kept.len());
    assert_eq!((store.weight_sum(), rows.weight_sum()), (never_had.weight_sum(), never_had.weight_sum()));
    assert_eq!(contents(&store), contents(&rows));
    let after = Sums::of(&store);
    compare(&after, &Sums::of(&rows));
    after.assert_close(&Sums::of(&never_had));
    in_threads(1, || Sums::of(&store)).assert_equal(&after);
}

/// A store on disk in a folder of its own, with memory for a fraction of its blocks.
fn on_disk(n: usize, precision: Precision, blocks: (usize, usize), fraction: f64) -> (TempDir, StoredRows) {
    let (block_rows, segment_blocks) = blocks;
    laid_out(n, RowLayout { dim: DIM + 1, precision, block_rows, segment_blocks, weighted: false }, fraction)
}

fn laid_out(n: usize, layout: RowLayout, fraction: f64) -> (TempDir, StoredRows) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let full = stored(&folder.path().join("full"), layout, ALL, n);
    full.count(&Problem::regression()).expect("readable");
    let limit = (full.memory_bytes() as f64 * fraction).ceil() as u64;
    let store = stored(&folder.path().join("rows"), layout, limit, n);
    (folder, store)
}

const PRECISIONS: [Precision; 2] = [Precision::F32, Precision::F64];

#[test]
fn rows_in_memory_conform() {
    for precision in PRECISIONS {
        conforms(store(N, DIM, precision), store(N, DIM, precision), true);
    }
}

#[test]
fn rows_on_disk_conform_with_full_blocks() {
    for precision in PRECISIONS {
        for (segment_blocks, fraction) in [(1, 0.0), (2, 0.5), (3, 1.0), (100, 0.3)] {
            let (_folder, stored) = on_disk(N, precision, (BLOCK_ROWS, segment_blocks), fraction);
            conforms(stored, store(N, DIM, precision), true);
        }
    }
}

#[test]
fn rows_on_disk_conform_with_blocks_of_any_size() {
    for precision in PRECISIONS {
        for (blocks, fraction) in [((1, 300), 0.5), ((7, 2), 0.0), ((64, 3), 0.4), ((255, 1), 1.0)] {
            let (_folder, stored) = on_disk(N, precision, blocks, fraction);
            conforms(stored, store(N, DIM, precision), false);
        }
    }
}

#[test]
fn rows_with_weights_conform() {
    for precision in PRECISIONS {
        let memory = || weighted_store(N, DIM, precision);
        assert_ne!(memory().weight_sum(), store(N, DIM, precision).weight_sum());
        conforms(memory(), memory(), true);
        for (block_rows, segment_blocks, fraction) in
            [(BLOCK_ROWS, 2, 0.5), (BLOCK_ROWS, 100, 0.0), (7, 3, 0.3), (1, 9, 1.0)]
        {
            let layout = RowLayout { dim: DIM + 1, precision, block_rows, segment_blocks, weighted: true };
            let (_folder, stored) = laid_out(N, layout, fraction);
            conforms(stored, memory(), block_rows == BLOCK_ROWS);
        }
    }
}

#[test]
fn a_single_row_and_no_row_at_all_conform() {
    for n in [0, 1] {
        for precision in PRECISIONS {
            let reference = || if n == 0 { empty(DIM, precision) } else { store(n, DIM, precision) };
            conforms(reference(), reference(), true);
            conforms(on_disk(n, precision, (BLOCK_ROWS, 2), 1.0).1, reference(), true);
            conforms(on_disk(n, precision, (BLOCK_ROWS, 2), 0.0).1, reference(), true);
        }
    }
}

#[test]
fn memory_stays_within_the_limit() {
    for fraction in [0.0, 0.3, 0.7] {
        let (_folder, stored) = on_disk(N, Precision::F32, (64, 3), fraction);
        in_threads(2, || Sums::of(&stored));
        let (_folder, all) = on_disk(N, Precision::F32, (64, 3), 1.0);
        in_threads(2, || Sums::of(&all));
        let (limit, buffer) = (all.memory_bytes() as f64 * fraction, all.memory_bytes() / all.n_blocks() + 64);
        assert!(stored.memory_bytes() as f64 <= limit.ceil() + 2.0 * buffer as f64);
    }
}
