//! The same history in memory and in a directory: the same answers, and models of the same rows.

use std::fmt::Write;
use std::path::PathBuf;

use efface_data::{ClassWeights, IdKind, open_table};
use efface_ledger::verify::Verdict;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::directory::make::TrainRequest;
use crate::history::History;
use crate::life::{Found, View};

const FEATURES: [&str; 3] = ["a", "b", "c"];
/// Rows trained on.
const FIRST: usize = 45;
/// All rows that there may ever be, of which each person has three.
const ALL: usize = 75;

const TRANSFORM: RowTransform = RowTransform { scale: Scale::Clip { radius: 1.0 }, intercept: true };

fn name(i: usize) -> RowId {
    RowId::parse(&format!("row-{i}"))
}

fn person(i: usize) -> RowId {
    RowId::parse(&format!("person-{i}"))
}

/// Features and class of a row, in one of several versions.
fn row(i: usize, version: u64) -> ([f64; 3], usize) {
    let mut dice = ChaCha8Rng::seed_from_u64(1000 * version + i as u64);
    let features: [f64; 3] = std::array::from_fn(|_| dice.random_range(-1.0..1.0));
    // Class 2 has one row at first: it goes in every fourth history.
    let class = if i % 60 == 7 { 2 } else { usize::from(features[0] + features[1] > 0.1) };
    (features, class)
}

/// Rows as they are given to an operation.
fn parts(rows: &[(usize, u64)], subjects: Option<Vec<RowId>>) -> TableParts {
    let given: Vec<_> = rows.iter().map(|(i, version)| row(*i, *version)).collect();
    let origin = Origin::new("rows");
    let labels = RawLabels::Numbers(given.iter().map(|(_, class)| *class as f64).collect());
    TableParts {
        feature_names: FEATURES.map(String::from).to_vec(),
        features: FeatureValues::F64(given.iter().flat_map(|(features, _)| *features).collect()),
        labels: Some(Labels::new(labels, origin.clone(), None)),
        ids: Some(rows.iter().map(|(i, _)| name(*i)).collect()),
        subjects,
        row_weights: None,
        origin,
        texts: None,
    }
}

/// One model in memory, one in a directory.
struct Worlds {
    memory: Held,
    directory: Option<ModelDirectory>,
    folder: tempfile::TempDir,
    weighted: bool,
}

impl Worlds {
    fn new(seed: u64, weighted: bool) -> Self {
        let folder = folder();
        let rows: Vec<_> = (0..FIRST).map(|i| row(i, 0)).collect();
        let (values, labels): (Vec<_>, Vec<_>) = rows.iter().map(|(values, class)| (*values, *class as f64)).unzip();
        let row_weights: Vec<f64> = (0..FIRST).map(|i| (i % 4) as f64 * 0.7 + 0.1).collect();
        let mut config = TrainingConfig::new(&Logistic, 1e-2, Some(3));
        config.negatives = (seed % 3 == 1).then_some(0.6);
        config.max_matrix_dim = if seed % 5 == 4 { 0 } else { 4096 };
        let mut memory = trained(MemoryRequest {
            rows: LentRows { features: Features::F64(values.as_flattened()), cancel: &GO_ON },
            texts: &NO_TEXTS,
            labels: &labels,
            row_weights: weighted.then_some(&row_weights),
            class_weights: ClassWeights::default(),
            max_row_weight: weighted.then_some(4.0),
            ids: Some(&(0..FIRST).map(name).collect::<Vec<_>>()),
            subjects: Some(&(0..FIRST).map(|i| person(i / 3)).collect::<Vec<_>>()),
            features: FEATURES.map(String::from).to_vec(),
            schema: None,
            columns: Columns::default(),
            row_names: RowNames::Ids,
            codec: LabelCodec::Classes(["0", "1", "2"].map(String::from).to_vec()),
            transform: TRANSFORM,
            row_norm_from_rows: false,
            outside_scope: Vec::new(),
            config: config.clone(),
        });
        let directory = if weighted || config.negatives.is_some() {
            // Files have no weights, and negatives are picked by a secret: a twin of the model in memory moves.
            Held::from_bytes(&memory.bytes().expect("unchanged")).expect("whole").keep(folder.path())
        } else {
            train_directory(&folder, config).and_then(ModelDirectory::open)
        };
        Self { memory, directory: Some(directory.expect("writable")), folder, weighted }
    }

    fn directory(&mut self) -> &mut ModelDirectory {
        self.directory.as_mut().expect("open")
    }

    /// Runs an operation in both worlds, where it has the same answer.
    fn both<T>(&mut self, operation: impl Fn(&mut Life<'_>) -> Result<T, EngineError>) -> Option<[T; 2]> {
        let (here, there) = (self.memory.live(&operation), self.directory().live(&operation));
        match (here, there) {
            (Ok(here), Ok(there)) => Some([here, there]),
            (Err(here), Err(there)) => {
                assert_eq!(here.to_string(), there.to_string());
                None
            }
            (here, there) => panic!("{:?} in memory, {:?} in a directory", here.err(), there.err()),
        }
    }

    /// The same for a change of the rows. Returns whether it was made.
    fn change(&mut self, operation: impl Fn(&mut Life<'_>) -> Result<ChangeReport, EngineError>) -> bool {
        let said = |report: &ChangeReport| {
            let ChangeReport { n_rows, n_changed, n_missing, n_suppressed, .. } = *report;
            let ChangeReport { classes_gone, outcome, rung, repeated, .. } = report.clone();
            ([n_rows, n_changed, n_missing, n_suppressed], classes_gone, outcome, rung, repeated)
        };
        let reports = self.both(operation);
        reports.inspect(|[here, there]| assert_eq!(said(here), said(there))).is_some()
    }

    /// Something happens. Returns whether rows changed.
    fn step(&mut self, dice: &mut ChaCha8Rng) -> bool {
        let some_of = |dice: &mut ChaCha8Rng, range: std::ops::Range<usize>, n: usize| {
            let all: Vec<usize> = range.collect();
            all.sample(dice, n).copied().collect::<Vec<_>>()
        };
        let n = dice.random_range(1..4);
        match dice.random_range(0..12) {
            0..4 => {
                let selection = if dice.random_bool(0.7) {
                    Selection::Ids(some_of(dice, 0..ALL, n).into_iter().map(name).collect())
                } else {
                    Selection::Subjects(some_of(dice, 0..ALL / 3 + 2, 1).into_iter().map(person).collect())
                };
                let missing = if dice.random_bool(0.7) { Missing::Skip } else { Missing::Refuse };
                let request = dice.random_bool(0.5).then(|| format!("request-{}", dice.random_range(0..6)));
                self.change(|life| life.remove(&selection, request.as_deref(), missing))
            }
            4..7 => {
                let rows: Vec<_> = some_of(dice, 0..ALL, n).into_iter().map(|i| (i, dice.random_range(0..3))).collect();
                let subjects = rows.iter().map(|(i, _)| person(i / 3)).collect();
                let (new, row_weights) = (parts(&rows, Some(subjects)), self.row_weights(dice, n));
                self.change(|life| life.add_table(new.clone(), row_weights.clone()))
            }
            7..10 => {
                let rows: Vec<_> =
                    some_of(dice, 0..FIRST, n).into_iter().map(|i| (i, dice.random_range(0..3))).collect();
                let subjects = dice.random_bool(0.3).then(|| vec![person(dice.random_range(0..ALL / 3)); rows.len()]);
                let (right, row_weights) = (parts(&rows, subjects), self.row_weights(dice, n));
                self.change(|life| life.correct_table(right.clone(), row_weights.clone()))
            }
            10 => {
                self.both(|life| life.settle(None)).expect("readable");
                false
            }
            _ => {
                self.reopen();
                false
            }
        }
    }

    fn row_weights(&self, dice: &mut ChaCha8Rng, n: usize) -> Option<Vec<f64>> {
        // One in eight of them is too heavy.
        let mut weights = || [0.0, 0.3, 0.5, 1.0, 1.7, 2.0, 3.9, 4.5].choose(dice).copied().expect("some");
        self.weighted.then(|| (0..n).map(|_| weights()).collect::<Vec<_>>()).filter(|_| n != 2)
    }

    /// Both models leave the process and come back.
    fn reopen(&mut self) {
        let path = self.directory().path().to_path_buf();
        drop(self.directory.take());
        self.directory = Some(ModelDirectory::open(path).expect("whole"));
        self.memory = Held::from_bytes(&self.memory.bytes().expect("unchanged")).expect("whole");
    }

    fn assert_same(&mut self) {
        let directory = self.directory.as_mut().expect("open");
        let (here, there) = (self.memory.model.view(), directory.view());
        let history = |view: View<'_>| History { model: String::new(), ..view.keeper.history().clone() };
        assert_eq!(history(here), history(there));
        assert_eq!(here.of.model.state().count, there.of.model.state().count);
        assert_eq!(here.of.model.state().account, there.of.model.state().account);
        for i in 0..ALL {
            assert_eq!(found(here, IdKind::Row, &name(i)), found(there, IdKind::Row, &name(i)), "row {i}");
            let subject = person(i / 3);
            assert_eq!(found(here, IdKind::Subject, &subject), found(there, IdKind::Subject, &subject), "of {i}");
        }
        assert_near(here.of.model, there.of.model);
        let claimed = [here, there].map(|view| view.of.model.claim().gradient_residual.get());
        let material = directory.audit_material();
        let left = [self.memory.measure(), material.model.measure(material.rows).expect("readable")];
        assert!(left.iter().zip(claimed).all(|(left, claimed)| left.residual_at_least.get() <= claimed));
        assert_eq!(material.rows.n_rows(), self.memory.table.count().n_rows);
        assert_eq!(self.class_counts(), self.memory.model.view().keeper.history().class_counts);
    }

    /// Rows of each class, counted.
    fn class_counts(&mut self) -> Vec<usize> {
        let (_, vault) = self.memory.lend(&GO_ON);
        let present: Vec<usize> = (0..vault.n_positions()).filter(|position| vault.is_present(*position)).collect();
        vault.batch(&present).expect("present").class_counts(3)
    }
}

/// Where the rows of an id are; `None`: they were removed.
fn found(view: View<'_>, kind: IdKind, id: &RowId) -> Option<Vec<usize>> {
    let digest = view.settings().id_key.digest(kind, id);
    match view.keeper.find(kind, id, digest).expect("readable") {
        Found::At(positions) => Some(positions),
        Found::Removed => None,
        Found::Unknown => Some(Vec::new()),
    }
}

/// Trains on a file of the first rows. Returns the directory.
fn train_directory(folder: &tempfile::TempDir, config: TrainingConfig) -> Result<PathBuf, EngineError> {
    let mut text = String::from("id,who,a,b,c,y\n");
    for i in 0..FIRST {
        let ([a, b, c], class) = row(i, 0);
        writeln!(text, "row-{i},person-{},{a},{b},{c},{class}", i / 3).expect("text");
    }
    let (data, out) = (folder.path().join("rows.csv"), folder.path().join("model"));
    std::fs::write(&data, text).expect("writable");
    let columns =
        Columns { label: Some("y".into()), id: Some("id".into()), subject: Some("who".into()), ..Columns::default() };
    let request = TrainRequest {
        rows: open_table(data, &columns, None).expect("readable"),
        columns,
        schema: None,
        transform: TRANSFORM,
        config,
        class_weights: ClassWeights::default(),
        memory_bytes: None,
        place: Place { out: out.clone(), ..Place::default() },
    };
    ModelDirectory::train(request, &mut randomness(), &mut |_| {})?;
    Ok(out)
}

#[test]
fn the_same_history_leads_to_the_same_model_in_memory_and_in_a_directory() {
    let (mut n_changes, mut n_unchanged, mut n_gone) = (0, 0, 0);
    for seed in 0..16 {
        let mut dice = ChaCha8Rng::seed_from_u64(seed);
        let mut worlds = Worlds::new(seed, seed % 2 == 1);
        for step in 0..24 {
            if seed % 4 == 3 && step == 12 {
                let last_of_class = Selection::Ids([7, 67].map(name).to_vec());
                worlds.change(|life| life.remove(&last_of_class, None, Missing::Skip));
            }
            if worlds.step(&mut dice) {
                n_changes += 1;
            } else {
                n_unchanged += 1;
            }
            worlds.assert_same();
        }
        n_gone += usize::from(worlds.class_counts().contains(&0));
        // What was in memory can go where the other one is.
        let mut kept = worlds.memory.keep(&worlds.folder.path().join("moved")).expect("writable");
        assert_eq!(kept.verify(true).expect("readable").verdict, Verdict::Valid);
        std::mem::swap(&mut kept, worlds.directory());
        worlds.assert_same();
        let releases = worlds.both(|life| life.release(&mut randomness())).expect("readable");
        let [here, there] = releases.map(|answer| match answer {
            ReleaseAnswer::Published(report) => (report.release.to_string(), report.exposure.tag(), report.n_requests),
            ReleaseAnswer::Refused(refused) => (refused.outcome.to_string(), "", 0),
            ReleaseAnswer::HeldBack(_) => panic!("there is no policy"),
        });
        assert_eq!(here, there);
        worlds.assert_same();
    }
    assert!(n_changes >= 150 && n_unchanged >= 40 && n_gone >= 4, "{n_changes}, {n_unchanged}, {n_gone}");
}
