//! Tables and stores that several tests use.

use std::io::Write;
use std::path::{Path, PathBuf};

use efface_core::rows::{Features, RowBlocks, RowStore, UNIT_WEIGHTS};
use efface_data::{
    Columns, EncodedRows, FeatureOrder, FeatureValues, LabelCodec, Labels, MemoryRows, Origin, Precision, RawLabels,
    RowId, RowLayout, RowTransform, Scale, StoredRows, Table, TableParts, encode_table, open_table, read_table,
};
use flate2::Compression;
use flate2::write::GzEncoder;
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

pub(crate) fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("in memory");
    encoder.finish().expect("in memory")
}

/// A row-major array in version 1 of NumPy's format.
pub(crate) fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), data].concat()
}

/// Refusal of a file, with the folder's path taken out.
pub(crate) fn refusal_of(name: &str, bytes: &[u8], columns: &Columns) -> String {
    let (folder, path) = file(name, bytes);
    let error = read_table(&path, columns, None).expect_err("must be refused").to_string();
    without_folder(&error, folder.path())
}

/// Reads a file in chunks of several sizes and checks that they put together are the whole table.
pub(crate) fn assert_chunks_make_the_whole(path: &Path, columns: &Columns) {
    let whole = read_table(path, columns, None).expect("valid");
    let dim = whole.feature_names().len();
    for max_rows in [1, 7, 1000] {
        let mut reader = open_table(path, columns, None).expect("valid");
        assert_eq!(reader.feature_names(), whole.feature_names());
        let (mut ids, mut subjects, mut labels, mut n_rows) = (Vec::new(), Vec::new(), Vec::new(), 0);
        while let Some(chunk) = reader.next_chunk(max_rows).expect("valid") {
            assert!(chunk.n_rows() == max_rows || n_rows + chunk.n_rows() == whole.n_rows());
            assert_eq!(chunk.origin().first_row(), n_rows as u64);
            assert_eq!(chunk.origin().place(0, None), whole.origin().place(n_rows, None));
            let range = n_rows * dim..(n_rows + chunk.n_rows()) * dim;
            match (chunk.features(), whole.features()) {
                (FeatureValues::F32(chunk), FeatureValues::F32(whole)) => assert_eq!(chunk, &whole[range]),
                (FeatureValues::F64(chunk), FeatureValues::F64(whole)) => assert_eq!(chunk, &whole[range]),
                _ => panic!("another precision"),
            }
            n_rows += chunk.n_rows();
            assert_eq!(reader.progress().rows, n_rows as u64);
            ids.extend_from_slice(chunk.ids());
            subjects.extend_from_slice(chunk.subjects().unwrap_or_default());
            labels.extend(chunk.labels().map(|labels| texts(&labels.values)).unwrap_or_default());
        }
        assert_eq!(n_rows, whole.n_rows());
        assert_eq!(ids, whole.ids());
        assert_eq!(subjects, whole.subjects().unwrap_or_default());
        assert_eq!(labels, whole.labels().map(|labels| texts(&labels.values)).unwrap_or_default());
        let progress = reader.progress();
        assert_eq!(progress.bytes_read, progress.bytes_total, "{progress:?}");
        assert!(reader.next_chunk(max_rows).expect("still at the end").is_none());
    }
}

fn texts(labels: &RawLabels) -> Vec<String> {
    match labels {
        RawLabels::Text(texts) => texts.clone(),
        RawLabels::Numbers(numbers) => numbers.iter().map(f64::to_string).collect(),
    }
}

/// Checks that a file cut short, or with a byte changed, never brings the reader down, and that a cut is an error.
pub(crate) fn assert_damage_is_refused(name: &str, bytes: &[u8], columns: &Columns) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join(name);
    for length in (0..bytes.len()).step_by(37).chain([bytes.len() - 1]) {
        std::fs::write(&path, &bytes[..length]).expect("writable");
        assert!(read_table(&path, columns, None).is_err(), "{name} cut to {length} of {} bytes", bytes.len());
    }
    let mut changed = bytes.to_vec();
    for position in 0..bytes.len() {
        for bits in [0xff, 0x80, 0x01] {
            changed[position] ^= bits;
            std::fs::write(&path, &changed).expect("writable");
            drop(read_table(&path, columns, None));
            changed[position] = bytes[position];
        }
    }
}

/// A file of the real data sets.
pub(crate) fn real_file(name: &str) -> Option<PathBuf> {
    Some(efface_testkit::real_data()?.join(name))
}

pub(crate) const TRANSFORM: RowTransform = RowTransform { scale: Scale::Unit, intercept: true };
pub(crate) fn key() -> efface_data::IdKey {
    efface_data::IdKey::new([3; 32])
}

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
    let features = FeatureValues::F64(noise(first_id as u64 + 17, n * dim));
    encoded_from(first_id, dim, features, &TRANSFORM, precision)
}

/// The same of given features.
pub(crate) fn encoded_from(
    first_id: i64,
    dim: usize,
    features: FeatureValues,
    transform: &RowTransform,
    precision: Precision,
) -> EncodedRows {
    let n = features.len() / dim;
    let ids: Vec<RowId> = (first_id..).take(n).map(RowId::Integer).collect();
    let subjects = (first_id..).take(n).map(|id| RowId::parse(&format!("s{}", id / 4))).collect();
    let labels = (first_id..).take(n).map(|id| (id % 3) as f64).collect();
    let origin = Origin::new("sample");
    let table = Table::new(TableParts {
        feature_names: (0..dim).map(|feature| format!("f{feature}")).collect(),
        features,
        labels: Some(Labels::new(RawLabels::Numbers(labels), origin.clone(), None)),
        ids: Some(ids),
        subjects: Some(subjects),
        row_weights: None,
        origin,
        texts: None,
    })
    .expect("valid");
    let codec = LabelCodec::Classes(["0", "1", "2"].map(String::from).to_vec());
    encode_table(table, transform, Some(&codec), FeatureOrder::AsRead, precision).expect("valid")
}

/// The same rows, which count a different number of times each, some of them not at all.
pub(crate) fn weighted(first_id: i64, n: usize, dim: usize, precision: Precision) -> EncodedRows {
    weigh(first_id, encoded(first_id, n, dim, precision))
}

pub(crate) fn weigh(first_id: i64, rows: EncodedRows) -> EncodedRows {
    let weights = (first_id..).take(rows.n_rows()).map(|id| (id % 5) as f64 * 0.37).collect();
    rows.with_row_weights(weights).expect("one per row")
}

pub(crate) fn empty(dim: usize, precision: Precision) -> MemoryRows {
    store(1, dim, precision).batch(&[]).expect("nothing asked for")
}

/// The rows with ids 0, 1, …, in memory.
pub(crate) fn store(n: usize, dim: usize, precision: Precision) -> MemoryRows {
    let store = MemoryRows::of_encoded(encoded(0, n, dim, precision), &key());
    assert_eq!((store.len(), store.n_rows()), (n, n));
    store
}

/// The rows of [`weighted`] with ids 0, 1, …, in memory.
pub(crate) fn weighted_store(n: usize, dim: usize, precision: Precision) -> MemoryRows {
    MemoryRows::of_encoded(weighted(0, n, dim, precision), &key())
}

/// Memory for all blocks.
pub(crate) const ALL: u64 = 1 << 30;

/// A store on disk with the rows of [`store`], or of [`weighted_store`]; `layout.dim` counts the intercept.
pub(crate) fn stored(folder: &Path, layout: RowLayout, memory_bytes: u64, n: usize) -> StoredRows {
    let mut store = StoredRows::create(folder, layout, TRANSFORM.row_norm_bound(), memory_bytes).expect("writable");
    if n > 0 {
        let rows = if layout.weighted { weighted } else { encoded }(0, n, layout.dim - 1, layout.precision);
        assert_eq!(store.append(&rows, &rows.selectors(&key())).expect("writable"), 0..n);
    }
    store
}

/// Features, label, selector and weight of a row.
pub(crate) type Row = (Vec<f64>, f64, u64, f64);

/// All rows as the sums see them, `None` for one that is gone, which must be zeros.
pub(crate) fn contents(store: &impl RowBlocks) -> Vec<Option<Row>> {
    let mut rows = Vec::new();
    for block in 0..store.n_blocks() {
        let visited = store.visit_block(block, &mut |block| {
            let values: Vec<f64> = match block.features {
                Features::F32(values) => values.iter().copied().map(f64::from).collect(),
                Features::F64(values) => values.to_vec(),
            };
            assert_eq!(values.len(), block.labels.len() * store.dim());
            let is_unweighted = std::ptr::eq(block.row_weights.as_ptr(), UNIT_WEIGHTS.as_ptr());
            for (i, values) in values.chunks_exact(store.dim()).enumerate() {
                let row = (values.to_vec(), block.labels[i], block.selectors[i], block.row_weights[i]);
                if !block.present[i] {
                    let weight = if is_unweighted { 1.0 } else { 0.0 };
                    assert_eq!(row, (vec![0.0; store.dim()], 0.0, 0, weight));
                }
                rows.push(block.present[i].then_some(row));
            }
        });
        visited.expect("readable");
    }
    rows
}

/// CRC-32 (reflected, polynomial 0xedb88320), bit by bit.
pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    let bit = |crc: u32| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| bit(crc)))
}
