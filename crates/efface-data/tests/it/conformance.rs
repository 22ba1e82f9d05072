//! What every store of rows promises, checked on each of them before and after rows leave; and the same sums as rows in
//! memory, to the last bit where the blocks are the same.

use efface_core::rows::{BLOCK_ROWS, Problem, RowBlocks, RowStore};
use efface_data::{MemoryRows, Precision, RowLayout, StoredRows};
use efface_testkit::store::{AllSums, PlainRow, in_threads, store_conformance};
use tempfile::TempDir;

use crate::samples::{ALL, contents, empty, store, stored, weighted_store};

const DIM: usize = 7;
const N: usize = 1200;
/// First and last row, both sides of a border between blocks, and neighbours.
const GONE: [usize; 8] = [0, 3, 255, 256, 257, 700, 701, 1199];

/// A store that rows can leave.
trait Store: RowBlocks {
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

/// Runs all checks. `rows` has the same rows in memory; with the same blocks sums must agree to the last bit.
fn conforms(mut store: impl Store, mut rows: MemoryRows, has_same_blocks: bool) {
    let compare = |store: &AllSums, rows: &AllSums| {
        store.assert_close(rows);
        assert!(!has_same_blocks || store == rows);
    };
    assert_eq!(store.shape(), rows.shape());
    // Reads blocks for the first time.
    store_conformance(&store, &PlainRow::of(&rows));
    compare(&AllSums::of(&store), &AllSums::of(&rows));
    assert_eq!(contents(&store), contents(&rows));
    for block in 0..store.n_blocks() {
        let look =
            &mut |block: &efface_core::rows::RowBlock<'_>| assert!((1..=BLOCK_ROWS).contains(&block.labels.len()));
        store.visit_block(block, look).expect("in range");
    }
    assert!(store.visit_block(store.n_blocks(), &mut |_| ()).is_err());
    assert!(store.visit_block(usize::MAX, &mut |_| ()).is_err());

    let some: Vec<usize> = [1199, 5, 6, 7, 0, 512].into_iter().filter(|position| *position < rows.len()).collect();
    assert!(AllSums::of(&store.pick(&some)) == AllSums::of(&rows.pick(&some)));
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
    store_conformance(&store, &PlainRow::of(&never_had));
    let after = AllSums::of(&store);
    compare(&after, &AllSums::of(&rows));
    after.assert_close(&AllSums::of(&never_had));
}

/// A store on disk in a folder of its own, with memory for a fraction of its blocks.
fn on_disk(n: usize, precision: Precision, blocks: (usize, usize), fraction: f64) -> (TempDir, StoredRows) {
    let (block_rows, segment_blocks) = blocks;
    laid_out(n, RowLayout { dim: DIM + 1, precision, block_rows, segment_blocks, weighted: false }, fraction)
}

fn laid_out(n: usize, layout: RowLayout, fraction: f64) -> (TempDir, StoredRows) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let full = stored(&folder.path().join("full"), layout, ALL, n);
    full.counts(&[Problem::regression()]).expect("readable");
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
        in_threads(2, || AllSums::of(&stored));
        let (_folder, all) = on_disk(N, Precision::F32, (64, 3), 1.0);
        in_threads(2, || AllSums::of(&all));
        let (limit, buffer) = (all.memory_bytes() as f64 * fraction, all.memory_bytes() / all.n_blocks() + 64);
        assert!(stored.memory_bytes() as f64 <= limit.ceil() + 2.0 * buffer as f64);
    }
}
