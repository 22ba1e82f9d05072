//! A model whose rows are summed in another process lives the life of one whose rows are summed here, to the last bit;
//! and the store behind it keeps what every store promises.
//!
//! The proof that sums are values and that the engine is written over a vault: nothing in core, data or engine knows of
//! the pipe. A program of its own, because it is also the other process.

mod vault;

use std::ops::Range;
use std::path::Path;

use efface_core::loss::{self, Loss};
use efface_core::model::{Mechanism, TrainingConfig};
use efface_core::noise::NoiseSource;
use efface_core::residual::Rung;
use efface_data::{
    ClassWeights, Columns, EncodedRows, FeatureValues, IdKey, IdKind, LabelCodec, Labels, Origin, Precision, RawLabels,
    RowId, RowLayout, RowTransform, Scale, StoredRows, TableParts, Vault,
};
use efface_engine::{LatestRelease, MemoryModel, Missing, ReleaseAnswer, RowNames, Selection, Settings};
use efface_testkit::store::{PlainRow, store_conformance};

use self::vault::{ProcessVault, serve};

const N_ROWS: usize = 700;
const N_FEATURES: usize = 6;
const TRANSFORM: RowTransform = RowTransform { scale: Scale::Unit, intercept: true };

fn key() -> IdKey {
    IdKey::new([4; 32])
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "--serve") {
        serve(&arguments[1..]).expect("requests can be answered");
        return;
    }
    keeps_the_promises_of_a_store();
    for (n_classes, rung, noise_std) in [(2, Rung::Stale, None), (3, Rung::PerRow, None), (0, Rung::Stale, Some(0.0))] {
        let here = life(n_classes, rung, noise_std, |rows, _| Box::new(rows));
        let elsewhere = life(n_classes, rung, noise_std, |rows, folder| {
            Box::new(ProcessVault::new(rows, folder).expect("a process"))
        });
        assert_eq!(here, elsewhere, "{n_classes} classes, {rung:?}");
    }
}

/// With rows that count differently, rows that arrived later and rows that left.
fn keeps_the_promises_of_a_store() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("rows");
    let mut vault = ProcessVault::new(empty_store(&path, true), &path).expect("a process");
    let weight = |row: usize| (row % 5) as f64 * 0.5;
    for range in [0..N_ROWS, N_ROWS..N_ROWS + 9] {
        let rows = encoded(range.clone(), 3).with_row_weights(range.clone().map(weight).collect());
        vault.arrive(&rows.expect("one per row"), &selectors(range)).expect("writable");
    }
    let gone = [0, 255, 256, 257, N_ROWS - 1, N_ROWS + 4];
    vault.leave(&gone).and_then(|()| vault.purge(&gone)).expect("present");
    let all = 0..N_ROWS + 9;
    let (labels, selectors) = (labels(all.clone(), 3), selectors(all.clone()));
    let plain = all.filter(|row| !gone.contains(row)).map(|row| PlainRow {
        features: scaled(row).collect(),
        label: labels[row],
        selector: selectors[row],
        row_weight: weight(row),
    });
    let (vault, plain): (&dyn Vault, Vec<PlainRow>) = (&vault, plain.collect());
    vault.sum(|rows| store_conformance(rows, &plain)).expect("as they were");
}

/// Trains, removes, adds, corrects, settles, trains again and releases; everything that is claimed and published on the way.
fn life(
    n_classes: usize,
    rung: Rung,
    noise_std: Option<f64>,
    vault: impl FnOnce(StoredRows, &Path) -> Box<dyn Vault>,
) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = settings(n_classes, rung, noise_std);
    let path = folder.path().join("rows");
    let mut rows = empty_store(&path, false);
    rows.arrive(&encoded(0..N_ROWS, n_classes), &selectors(0..N_ROWS)).expect("writable");

    let mut vault = vault(rows, &path);
    let (rows, labels) = (&mut *vault, labels(0..N_ROWS, n_classes));
    let mut noise = NoiseSource::danger_fixed_seed(5);
    let mut model =
        MemoryModel::train_on(rows, settings, &labels, None, None, &mut noise, &mut |_| {}).expect("trainable");
    let mut told = vec![format!("{} passes", model.iterations())];
    let ids = |ids: &[usize]| Selection::Ids(ids.iter().map(|id| RowId::numbered(*id)).collect());
    let lived = model.live(rows, |life| {
        let removed = life.remove(&ids(&[3, 4, 17]), None, Missing::Refuse)?;
        let added = life.add_table(table(N_ROWS..N_ROWS + 5, n_classes), None)?;
        let corrected = life.correct_table(correction(n_classes), None)?;
        let unknown = life.remove(&ids(&[3]), None, Missing::Refuse).expect_err("removed already");
        told.push(format!("{unknown}"));
        for report in [removed, added, corrected] {
            told.push(format!("{:?} {:?}", report.gradient_residual, report.distance_bound));
        }
        let settled = life.settle(None)?;
        told.push(format!("{} {:e} {:e}", settled.passes, settled.gradient_residual, settled.distance_bound));
        let retrained = life.retrain(&mut noise, &mut |_| {})?;
        told.push(format!("{} {:e}", retrained.iterations, retrained.distance_bound));
        life.remove(&ids(&[100]), None, Missing::Refuse)?;
        life.release(&mut noise)
    });
    assert!(matches!(lived, Ok(ReleaseAnswer::Published(_))), "{lived:?}");
    let LatestRelease { model: published, .. } = model.latest_release().expect("released");
    told.push(published.to_json());
    told
}

fn empty_store(folder: &Path, weighted: bool) -> StoredRows {
    let layout = RowLayout::new(N_FEATURES + 1, Precision::F64, weighted);
    StoredRows::create(folder, layout, TRANSFORM.row_norm_bound(), 1 << 20).expect("writable")
}

fn encoded(rows: Range<usize>, n_classes: usize) -> EncodedRows {
    let features = FeatureValues::F64(rows.clone().flat_map(scaled).collect());
    EncodedRows::new(N_FEATURES + 1, features, labels(rows, n_classes), TRANSFORM.row_norm_bound()).expect("fits")
}

fn selectors(rows: Range<usize>) -> Vec<u64> {
    rows.map(|row| key().digest(IdKind::Row, &RowId::numbered(row)).selector()).collect()
}

fn settings(n_classes: usize, rung: Rung, noise_std: Option<f64>) -> Settings {
    let loss: &'static dyn Loss = if n_classes > 0 { &loss::Logistic } else { &loss::Squared };
    let classes = (n_classes > 0).then_some(n_classes as u32);
    let mut config = TrainingConfig::new(loss, 1e-2, classes);
    (config.mechanism, config.bound, config.noise_std) = (Mechanism::Release, Some(rung), noise_std);
    Settings {
        config,
        features: (0..N_FEATURES).map(|i| format!("x{i}")).collect(),
        columns: Columns::default(),
        schema: None,
        transform: TRANSFORM,
        codec: match n_classes {
            0 => LabelCodec::Numeric,
            n => LabelCodec::Classes((0..n).map(|class| class.to_string()).collect()),
        },
        precision: Precision::F64,
        max_row_weight: None,
        class_weights: ClassWeights::default(),
        row_norm_from_rows: false,
        outside_scope: Vec::new(),
        id_key: key(),
        row_names: RowNames::Ids,
    }
}

/// A number in (−1, 1) that follows from two.
fn value(row: usize, column: usize) -> f64 {
    let mut x = (row as u64 * 1_000_003 + column as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ((x >> 11) as f64) * 2f64.powi(-52) - 1.0
}

/// A row that is scaled, with the intercept's constant.
fn scaled(row: usize) -> impl Iterator<Item = f64> {
    let values: Vec<f64> = (0..N_FEATURES).map(|column| value(row, column)).collect();
    let norm = values.iter().map(|x| x * x).sum::<f64>().sqrt();
    values.into_iter().map(move |x| x / norm).chain([1.0])
}

fn labels(rows: Range<usize>, n_classes: usize) -> Vec<f64> {
    let label = |row| match n_classes {
        0 => value(row, 0) - value(row, 1),
        n => ((value(row, 0) + value(row, 1) + 2.0) / 4.0 * n as f64).floor().min(n as f64 - 1.0),
    };
    rows.map(label).collect()
}

/// New rows as they are given.
fn table(rows: Range<usize>, n_classes: usize) -> TableParts {
    let origin = Origin::new("rows");
    let labels = labels(rows.clone(), n_classes);
    let labels = match n_classes {
        0 => RawLabels::Numbers(labels),
        _ => RawLabels::Text(labels.iter().map(|label| (*label as usize).to_string()).collect()),
    };
    TableParts {
        feature_names: (0..N_FEATURES).map(|i| format!("x{i}")).collect(),
        features: FeatureValues::F64(
            rows.flat_map(|row| (0..N_FEATURES).map(move |column| value(row, column))).collect(),
        ),
        labels: Some(Labels::new(labels, origin.clone(), None)),
        ids: None,
        subjects: None,
        row_weights: None,
        origin,
        texts: None,
    }
}

/// Other values for rows 8 and 9.
fn correction(n_classes: usize) -> TableParts {
    TableParts { ids: Some(vec![RowId::numbered(8), RowId::numbered(9)]), ..table(900..902, n_classes) }
}
