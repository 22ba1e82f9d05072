//! Tables and stores that several tests use.

use std::path::{Path, PathBuf};

use efface_core::rows::RowStore;
use efface_data::{
    EncodedRows, FeatureOrder, FeatureValues, LabelCodec, Labels, MemoryRows, Origin, Precision, RawLabels, RemovedIds,
    RowId, RowTransform, Scale, Table, TableParts, encode_table,
};
use tempfile::TempDir;

/// A folder that disappears with the value, and a file in it.
pub(crate) fn file(name: &str, bytes: &[u8]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).expect("writable");
    (folder, path)
}

/// The message with the folder's path taken out.
pub(crate) fn without_folder(message: &str, folder: &Path) -> String {
    message.replace(&format!("{}/", folder.display()), "")
}

pub(crate) const TRANSFORM: RowTransform = RowTransform { scale: Scale::Unit, intercept: true };
pub(crate) const SALT: [u8; 32] = [3; 32];
pub(crate) const KEY: [u8; 32] = [4; 32];

/// Numbers in (−1, 1) that look random and are the same on every machine.
pub(crate) fn noise(seed: u64, n: usize) -> Vec<f64> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 11) as f64) * 2f64.powi(-52) - 1.0
    };
    (0..n).map(|_| next()).collect()
}

/// `n` rows of `dim` features with ids `first_id`, …, three classes, and one subject per four rows.
pub(crate) fn encoded(first_id: i64, n: usize, dim: usize, precision: Precision) -> EncodedRows {
    let ids: Vec<RowId> = (first_id..).take(n).map(RowId::Integer).collect();
    let subjects = (first_id..).take(n).map(|id| RowId::parse(&format!("s{}", id / 4))).collect();
    let labels = (first_id..).take(n).map(|id| (id % 3) as f64).collect();
    let origin = Origin::new("sample");
    let table = Table::new(TableParts {
        feature_names: (0..dim).map(|feature| format!("f{feature}")).collect(),
        features: FeatureValues::F64(noise(first_id as u64 + 17, n * dim)),
        labels: Some(Labels::new(RawLabels::Numbers(labels), origin.clone(), None)),
        ids: Some(ids),
        subjects: Some(subjects),
        origin,
    })
    .expect("valid");
    let codec = LabelCodec::Classes(["0", "1", "2"].map(String::from).to_vec());
    encode_table(table, &TRANSFORM, Some(&codec), FeatureOrder::AsRead, precision).expect("valid")
}

pub(crate) fn empty(dim: usize, precision: Precision) -> MemoryRows {
    let bound = TRANSFORM.row_norm_bound();
    MemoryRows::new(TRANSFORM.model_dim(dim), precision, bound, SALT, RemovedIds::new(KEY))
}

/// A store of `n` rows with ids 0, 1, …
pub(crate) fn store(n: usize, dim: usize, precision: Precision) -> MemoryRows {
    let mut store = empty(dim, precision);
    store.append(encoded(0, n, dim, precision)).expect("new ids");
    assert_eq!((store.len(), store.n_rows()), (n, n));
    store
}
