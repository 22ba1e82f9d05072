//! Lent rows are a store like any other: scaled on the fly or handed out as they are, with rows that left and rows that
//! arrived.

use std::sync::atomic::AtomicBool;

use efface_data::derived::{Counts, Preparation, Texts};
use efface_data::{
    EncodedRows, FeatureValues, LentRows, LentTable, LentVault, MemoryRows, Precision, RowSpec, RowTransform,
    RowsToLend, Scale, Vault,
};
use efface_testkit::store::{PlainRow, store_conformance};

use crate::samples::{encoded_from, key, noise, weigh};

const N_FEATURES: usize = 7;
const N: usize = 600;
const N_LATER: usize = 40;
/// First and last row, both sides of a border between blocks, the first and the last that arrived, and neighbours.
const GONE: [usize; 8] = [0, 3, 255, 256, N - 1, N, N + 7, N + N_LATER - 1];

fn features(first_id: i64, n: usize, precision: Precision) -> FeatureValues {
    let values = noise(first_id as u64 + 5, n * N_FEATURES);
    match precision {
        Precision::F32 => FeatureValues::F32(values.into_iter().map(|x| x as f32).collect()),
        Precision::F64 => FeatureValues::F64(values),
    }
}

/// The rows that a store in memory would have.
fn plain(rows: EncodedRows) -> Vec<PlainRow> {
    PlainRow::of(&MemoryRows::of_encoded(rows, &key()))
}

fn conforms(transform: RowTransform, precision: Precision, weighted: bool) {
    let rows = |id: i64, n| {
        let rows = encoded_from(id, N_FEATURES, features(id, n, precision), &transform, precision);
        if weighted { weigh(id, rows) } else { rows }
    };
    let check = |vault: &LentVault<'_>, rows: &[PlainRow]| {
        let vault: &dyn Vault = vault;
        vault.sum(|store| store_conformance(store, rows)).expect("as they were lent");
    };
    let (first, later, go_on) = (rows(0, N), rows(1000, N_LATER), AtomicBool::new(false));
    let values = features(0, N, precision);
    let lent = LentRows { features: values.slice(0..values.len()), cancel: &go_on };
    let max_row_weight = weighted.then_some(2.0);
    let mut table = LentTable::new(RowsToLend {
        rows: lent,
        labels: first.labels(),
        selectors: first.selectors(&key()),
        row_weights: first.row_weights(),
        texts: &Texts::new(),
        preparation: (transform.scale == Scale::Auto)
            .then(|| Preparation::new(Counts::new(&[true; N_FEATURES], false), transform.intercept)),
        shape: RowSpec { transform, n_features: N_FEATURES, n_classes: 3, max_row_weight },
    })
    .expect("valid");
    let mut vault = LentVault::new(&mut table, lent).expect("the same rows");
    let first = plain(first);
    check(&vault, &first);

    let arrived = vault.arrive(&later, &later.selectors(&key())).expect("of the same shape");
    let all = [first.clone(), plain(later.clone())].concat();
    check(&vault, &all);
    vault.leave(&GONE).expect("present");
    let kept: Vec<PlainRow> = (0..all.len()).filter(|row| !GONE.contains(row)).map(|row| all[row].clone()).collect();
    check(&vault, &kept);

    let left: Vec<usize> = GONE.into_iter().filter(|row| *row < N).collect();
    vault.undo(&left, arrived).expect("not purged");
    check(&vault, &first);
    vault.arrive(&later, &later.selectors(&key())).expect("of the same shape");
    vault.leave(&GONE).expect("present");
    vault.purge(&GONE).expect("gone");
    check(&vault, &kept);
}

#[test]
fn lent_rows_conform() {
    // Every row divided, some of them, none: the last are handed out as they are lent.
    let transforms = [
        RowTransform { scale: Scale::Unit, intercept: true },
        RowTransform { scale: Scale::Clip { radius: 1.5 }, intercept: false },
        RowTransform { scale: Scale::Within { radius: 3.0 }, intercept: false },
    ];
    for transform in transforms {
        for precision in [Precision::F32, Precision::F64] {
            for weighted in [false, true] {
                conforms(transform, precision, weighted);
            }
        }
    }
}
