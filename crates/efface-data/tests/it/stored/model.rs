//! Any sequence of changes to rows in segments leaves what a plain list of rows would have.

use std::path::Path;

use efface_core::rows::{RowStore, WeightSum};
use efface_data::{Access, MemoryRows, Precision, RowLayout, StoredRows};
use proptest::prelude::*;

use crate::samples::{Row, TRANSFORM, contents, encoded, key, stored, weighted};

const DIM: usize = 3;

#[derive(Clone, Debug)]
enum Change {
    /// Adds rows and commits them.
    Append(usize),
    /// Adds positions that never held a row.
    AppendGone(usize),
    /// Adds rows and forgets them again.
    AppendAndTruncate(usize),
    /// Adds rows and dies before they are committed, perhaps in the middle of a file.
    AppendAndDie(usize, u64),
    /// Removes those of these positions that are present.
    Remove(Vec<usize>),
    /// Purges everything that is gone.
    Purge,
    Relabel,
    Reopen,
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        3 => (1_usize..30).prop_map(Change::Append),
        1 => (0_usize..30).prop_map(Change::AppendGone),
        1 => (1_usize..30).prop_map(Change::AppendAndTruncate),
        1 => (1_usize..30, 0_u64..1000).prop_map(|(n, lost)| Change::AppendAndDie(n, lost)),
        3 => prop::collection::vec(0_usize..100, 1..6).prop_map(Change::Remove),
        2 => Just(Change::Purge),
        1 => Just(Change::Relabel),
        2 => Just(Change::Reopen),
    ]
}

/// The list of rows, and the store that must agree with it.
struct Pair<'a> {
    folder: &'a Path,
    memory_bytes: u64,
    rows: Vec<Option<Row>>,
    store: StoredRows,
    next_id: i64,
}

impl Pair<'_> {
    fn apply(&mut self, change: Change) {
        let len = self.rows.len();
        match change {
            Change::Append(n) => {
                let rows = self.append(n);
                self.rows.extend(rows);
            }
            Change::AppendGone(n) => {
                assert_eq!(self.store.append_gone(n).expect("writable"), len..len + n);
                self.rows.extend(std::iter::repeat_n(None, n));
                assert_eq!(self.store.count_written(&(len..len + n).collect::<Vec<_>>()).expect("readable"), 0);
            }
            Change::AppendAndTruncate(n) => {
                self.append(n);
                self.store.truncate(len).expect("writable");
            }
            Change::AppendAndDie(n, lost) => {
                self.append(n);
                let last = self.folder.join(format!("{:06}.rows", self.store.n_segments() - 1));
                let file = std::fs::OpenOptions::new().write(true).open(&last).expect("writable");
                // Never so much that committed rows are lost: those were synced.
                if self.store.n_segments() > self.needed_segments(len) {
                    let size = file.metadata().expect("readable").len();
                    file.set_len(size.saturating_sub(lost)).expect("writable");
                }
                self.reopen();
            }
            Change::Remove(positions) => {
                let mut positions: Vec<usize> =
                    positions.into_iter().filter(|p| self.rows.get(*p).is_some_and(Option::is_some)).collect();
                positions.sort_unstable();
                positions.dedup();
                positions.reverse();
                let batch = self.store.batch(&positions).expect("readable");
                let expected: Vec<Option<Row>> = positions.iter().map(|p| self.rows[*p].clone()).collect();
                assert_eq!(contents(&batch), expected);
                self.store.remove(&positions).expect("present");
                for position in positions {
                    self.rows[position] = None;
                }
            }
            Change::Purge => {
                let gone = self.gone();
                self.store.purge(&gone).expect("gone");
            }
            Change::Relabel => {
                self.store.relabel(&[1.0, 2.0, 0.0]).expect("labels are 0 to 2");
                self.rows.iter_mut().flatten().for_each(|row| row.1 = (row.1 + 1.0) % 3.0);
            }
            Change::Reopen => self.reopen(),
        }
    }

    fn append(&mut self, n: usize) -> Vec<Option<Row>> {
        let precision = self.store.precision();
        let rows = if self.store.layout().weighted { weighted } else { encoded };
        let new = rows(self.next_id, n, DIM, precision);
        self.next_id += i64::try_from(n).expect("small");
        let added = self.store.append(&new, &new.selectors(&key())).expect("writable");
        assert_eq!(added, self.rows.len()..self.rows.len() + n);
        contents(&MemoryRows::of_encoded(new, &key()))
    }

    fn reopen(&mut self) {
        let (bound, gone) = (TRANSFORM.row_norm_bound(), self.gone().into_iter().collect());
        // What they weigh is remembered, or added up again: every second time each.
        let weights = self.rows.iter().flatten().map(|row| WeightSum::of_row(row.3));
        let known = (self.next_id % 2 == 0).then(|| weights.sum());
        self.store =
            StoredRows::open(Access::Change, self.folder, bound, self.memory_bytes, self.rows.len(), gone, known)
                .expect("readable");
    }

    fn gone(&self) -> Vec<usize> {
        (0..self.rows.len()).filter(|position| self.rows[*position].is_none()).collect()
    }

    fn needed_segments(&self, len: usize) -> usize {
        let layout = self.store.layout();
        len.div_ceil(layout.block_rows * layout.segment_blocks).max(1)
    }

    fn check(&self) {
        assert_eq!(contents(&self.store), self.rows);
        assert_eq!(self.store.len(), self.rows.len());
        assert_eq!(self.store.n_rows(), self.rows.iter().flatten().count());
        let weights = self.rows.iter().flatten().map(|row| WeightSum::of_row(row.3));
        assert_eq!(self.store.weight_sum(), weights.sum());
        assert_eq!(super::gone(&self.store), self.gone());
        assert_eq!(self.store.n_segments(), self.needed_segments(self.rows.len()));
        let count = |class: f64| self.rows.iter().flatten().filter(|row| row.1 == class).count();
        let counts = [count(0.0), count(1.0), count(2.0)];
        assert_eq!(self.store.count_classes(3).expect("readable"), counts);
        (0..self.store.n_segments()).for_each(|segment| self.store.verify(segment).expect("whole"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
    #[test]
    fn a_store_agrees_with_a_list_of_rows(
        changes in prop::collection::vec(change(), 1..25),
        block_rows in prop::sample::select(vec![1_usize, 3, 7, 64]),
        segment_blocks in 1_usize..4,
        is_single: bool,
        weighted: bool,
        memory_bytes in prop::sample::select(vec![0_u64, 1000, 1 << 20]),
    ) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let precision = if is_single { Precision::F32 } else { Precision::F64 };
        let layout = RowLayout { dim: DIM + 1, precision, block_rows, segment_blocks, weighted };
        let store = stored(folder.path(), layout, memory_bytes, 0);
        let mut pair = Pair { folder: folder.path(), memory_bytes, rows: Vec::new(), store, next_id: 0 };
        for change in changes {
            pair.apply(change);
            pair.check();
        }
    }
}
