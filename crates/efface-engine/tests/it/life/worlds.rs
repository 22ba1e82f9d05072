//! Both worlds: rows were removed, or they were never there. Whatever is published must be the same, or noised, or labelled.
//!
//! Left out of the comparison: names, times, keys and digests; counts that are declared public (the number of removed rows
//! and requests); weights that carry noise; and under mechanism `objective` what the limit `p4-published-residual` names.

use std::collections::BTreeSet;
use std::fmt::Write;

use efface_core::loss::{Logistic, Loss, Squared};
use efface_core::model::{BudgetRule, Mechanism, MultiClass, Refusal, Refused, TrainError, TrainingConfig};
use efface_core::noise::NoiseLaw;
use efface_core::ridge::Ridge;
use efface_data::{RowId, RowTransform, Scale};
use efface_engine::{EngineError, ModelDirectory, ReleaseAnswer, RowSource, Selection};
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

use crate::models::{Folder, certificate, randomness};

/// Fields that differ by their meaning, whatever the rows are.
const NAMES_TIMES_AND_COUNTS: [&str; 7] =
    ["model", "issued", "key_id", "log", "n_removed", "requests", "since_previous"];

/// What stands in a certificate of mechanism `objective` without noise, as its fourth limit says.
const PUBLISHED_RESIDUAL: [&str; 7] =
    ["gradient_residual", "distance_bound", "mu", "mu_total", "epsilon_spent", "curve", "rung"];

/// Rows, who leaves, and how a model of them is trained.
struct Setting {
    config: TrainingConfig,
    transform: RowTransform,
    rows: Vec<String>,
    /// Of these rows some leave, or were never there.
    leaving: Vec<usize>,
}

impl Setting {
    fn new(seed: u64, is_exact: bool) -> Self {
        let mut dice = ChaCha8Rng::seed_from_u64(seed);
        let loss: &'static dyn Loss = if is_exact || dice.random_bool(0.2) { &Squared } else { &Logistic };
        let mut config = TrainingConfig::new(loss, 10f64.powf(dice.random_range(-9.0..1.0)), None);
        let n_classes = if loss.is_classification() { *[2, 2, 3, 4].choose(&mut dice).expect("some") } else { 0 };
        if is_exact {
            config.ridge = Ridge::PerRow(10f64.powf(dice.random_range(-6.0..1.0)));
        } else {
            config.noise_std = Some(10f64.powf(dice.random_range(-5.0..0.0)));
            config.epsilon = 10f64.powf(dice.random_range(-2.0..1.0));
            config.delta = 10f64.powf(dice.random_range(-9.0..-1.0));
            config.max_releases = *[1, 100, 65_536].choose(&mut dice).expect("some");
            config.gradient_tolerance = *[1e-2, 1e-9].choose(&mut dice).expect("some");
            config.max_matrix_dim = *[0, 4096].choose(&mut dice).expect("some");
            config.negatives = (n_classes > 2 && dice.random_bool(0.5)).then_some(0.6);
            if config.negatives.is_none() && !seed.is_multiple_of(3) {
                config.multi_class = MultiClass::Softmax;
            }
            if dice.random_bool(0.15) {
                config.law = NoiseLaw::Gamma;
            }
            if dice.random_bool(0.15) {
                config.mechanism = Mechanism::Objective { budget: BudgetRule::Analytic };
                config.noise_std = Some(1e6);
            }
        }
        let size = 10f64.powi(dice.random_range(-3..4));
        let scale = match dice.random_range(0..3) {
            0 => Scale::Unit,
            1 => Scale::Clip { radius: size },
            _ if is_exact => Scale::Raw,
            _ => Scale::Within { radius: 10.0 * size },
        };
        let scale = if seed % 4 == 3 { Scale::Auto } else { scale };
        let n_rows = dice.random_range(20..60);
        let rows = (0..n_rows)
            .map(|i| {
                let mut row = format!("u{i},p{}", i / 2);
                for _ in 0..3 {
                    write!(row, ",{}", size * dice.random_range(-1.0..1.0)).expect("text");
                }
                // Only the first rows are of a category, and there are columns of other sizes.
                write!(row, ",{},{}", f64::from(u8::from(i < 2)) * size, 1e-4 * dice.random::<f64>() * size)
                    .expect("text");
                let label: f64 = if n_classes > 0 { (i % n_classes) as f64 } else { dice.random_range(-9.0..9.0) };
                write!(row, ",{label}").expect("text");
                row
            })
            .collect();
        // The first two rows always: what only they have must be gone.
        let leaving = (0..dice.random_range(2..n_rows - 3 * n_classes.max(2))).collect();
        Self { config, transform: RowTransform { scale, intercept: dice.random_bool(0.5) }, rows, leaving }
    }

    fn table(&self, is_there: impl Fn(usize) -> bool) -> String {
        let rows: Vec<&str> =
            self.rows.iter().enumerate().filter(|(i, _)| is_there(*i)).map(|(_, row)| &**row).collect();
        format!("id,who,a,b,c,d,e,y\n{}\n", rows.join("\n"))
    }

    fn train(&self, folder: &Folder, rows: &str) -> Result<ModelDirectory, EngineError> {
        folder.try_train_scaled(rows, self.config.clone(), self.transform)?;
        Ok(folder.open())
    }

    /// Trained on all rows, of which some leave again; some come later.
    fn removed(&self, folder: &Folder, dice: &mut ChaCha8Rng) -> Result<ModelDirectory, EngineError> {
        let late = self.rows.len() - dice.random_range(0..3);
        let mut model = self.train(folder, &self.table(|i| i < late))?;
        let (first, then) = self.leaving.split_at(dice.random_range(0..self.leaving.len()));
        let ids = |rows: &[usize]| Selection::Ids(rows.iter().map(|i| RowId::parse(&format!("u{i}"))).collect());
        for part in [first, then].into_iter().filter(|part| !part.is_empty()) {
            model.remove(&ids(part), None)?;
        }
        if late < self.rows.len() {
            let path = folder.write("late.csv", self.table(|i| i >= late));
            model.add(&RowSource::of(&path))?;
        }
        Ok(model)
    }

    fn never_there(&self, folder: &Folder) -> Result<ModelDirectory, EngineError> {
        self.train(folder, &self.table(|i| !self.leaving.contains(&i)))
    }
}

/// The model file and the certificate of a first release; `None`: nothing can be released.
fn release(model: Result<ModelDirectory, EngineError>) -> Option<(Vec<u8>, Value)> {
    let mut model = match model {
        Ok(model) => model,
        Err(EngineError::Train(TrainError::OutOfReach { .. } | TrainError::Singular { .. })) => return None,
        Err(error) => panic!("{error}"),
    };
    // Mechanism `objective` has a budget instead of settling before a release.
    if matches!(model.settings().config.mechanism, Mechanism::Objective { .. }) {
        model.settle(None).expect("readable");
    }
    match model.release(&mut randomness(), None).expect("writable") {
        ReleaseAnswer::Published(report) => {
            Some((std::fs::read(&report.model).expect("written"), certificate(&report.certificate)))
        }
        // Without a matrix a very small λ asks for more passes than are made.
        ReleaseAnswer::Refused(Refused { outcome: Refusal::RetrainRequired | Refusal::OutOfReach, .. }) => None,
        refused => panic!("trained, and refused: {refused:?}"),
    }
}

/// Names of the fields that differ.
fn differing(ours: &Value, theirs: &Value, allowed: &[&str]) -> BTreeSet<String> {
    let (ours, theirs) = (ours.as_object().expect("fields"), theirs.as_object().expect("fields"));
    let names: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    let differs = |name: &&&String| ours.get(**name) != theirs.get(**name) && !allowed.contains(&name.as_str());
    names.iter().filter(differs).map(|name| (*name).clone()).collect()
}

/// The figure: with λ = 1.57e-9 and 40 rows the certificate claimed 2.45e-6 after removing seven of them, and
/// 1.23e-6 after the others and after every retraining.
#[test]
fn everything_published_is_the_same_whether_rows_were_removed_or_never_there() {
    let (mut n_compared, mut n_refused, mut n_in_one) = (0, 0, 0);
    for seed in 0..420 {
        let setting = Setting::new(seed, false);
        let mut dice = ChaCha8Rng::seed_from_u64(seed + 10_000);
        let (folder, other) = (Folder::new(), Folder::new());
        let worlds = (release(setting.removed(&folder, &mut dice)), release(setting.never_there(&other)));
        let ((model, claims), (other_model, other_claims)) = match worlds {
            (Some(removed), Some(never_there)) => (removed, never_there),
            (None, None) => {
                n_refused += 1;
                continue;
            }
            _ => {
                n_in_one += 1;
                continue;
            }
        };
        let objective = matches!(setting.config.mechanism, Mechanism::Objective { .. });
        let mut allowed = NAMES_TIMES_AND_COUNTS.to_vec();
        allowed.extend(PUBLISHED_RESIDUAL.iter().filter(|_| objective));
        assert_eq!(
            differing(&claims, &other_claims, &allowed),
            BTreeSet::new(),
            "seed {seed}: {claims}\n{other_claims}"
        );
        let json = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).expect("JSON");
        let noised = ["weights", "intercept"];
        assert_eq!(differing(&json(&model), &json(&other_model), &noised), BTreeSet::new(), "seed {seed}");
        n_compared += 1;
    }
    assert!(n_compared >= 300, "{n_compared} compared, {n_refused} refused by training");
    assert!(n_refused >= 10, "the settings are too kind: {n_refused} refused");
    // Whether a model can be trained is decided by looking at the rows, removed ones included: some five settings are so near
    // to the limit that one of the two trainings is refused.
    assert!(n_in_one <= 20, "{n_in_one} are released in one world only");
}

/// Where classes are taken together, the last row of one takes a part of everybody's problem along. Also after a crash between the
/// removal and the next checkpoint.
#[test]
fn a_class_that_goes_leaves_the_problem_of_the_others() {
    for n_classes in [3, 4] {
        let config = TrainingConfig {
            multi_class: MultiClass::Softmax,
            noise_std: Some(1e-6),
            ..TrainingConfig::new(&Logistic, 1e-2, None)
        };
        let row = |i: usize| {
            let class = if i == 0 { n_classes - 1 } else { i % (n_classes - 1) };
            format!("u{i},p{i},{},{},{class}", (i as f64 * 0.7).sin() / 2.0, (i as f64 * 1.9).cos() / 2.0)
        };
        let table = |rows: Vec<String>| format!("id,who,a,b,y\n{}\n", rows.join("\n"));
        let folders = [Folder::new(), Folder::new(), Folder::new()];
        let [removed, crashed, never] = &folders;
        removed.train(&table((0..50).map(row).collect()), config.clone());
        crashed.train(&table((0..50).map(row).collect()), config.clone());
        never.train(&table((1..50).map(row).collect()), config);
        let first = Selection::Ids(vec![RowId::parse("u0")]);
        for folder in [removed, crashed] {
            let mut model = folder.open();
            let report = model.remove(&first, None).expect("present");
            assert_eq!(report.classes_gone, [(n_classes - 1).to_string()]);
            if folder.model() == removed.model() {
                model.close().expect("writable");
            }
        }
        let files = folders.each_ref().map(|folder| release(Ok(folder.open())).expect("released"));
        let json = files.map(|(model, claims)| (serde_json::from_slice::<Value>(&model).expect("JSON"), claims));
        let [(_, _), (_, _), (model, claims)] = &json;
        assert_eq!(model["loss"], if n_classes == 3 { "logistic" } else { "softmax" });
        let weights = |model: &Value| model["weights"].to_string();
        let numbers = |model: &Value| -> Vec<f64> {
            let separators = |c: char| !(c.is_ascii_digit() || "+-.e".contains(c));
            weights(model).split(separators).filter_map(|number| number.parse().ok()).collect()
        };
        for (other, other_claims) in &json[..2] {
            assert_eq!(differing(other, model, &["weights", "intercept"]), BTreeSet::new());
            assert_eq!(differing(other_claims, claims, &NAMES_TIMES_AND_COUNTS), BTreeSet::new());
            assert!(numbers(other).iter().zip(numbers(model)).all(|(a, b)| (a - b).abs() < 2e-5), "{other} {model}");
        }
    }
}

/// Without noise nothing hides a bit: the whole file is the same.
#[test]
fn an_exact_model_file_is_the_retrained_one_byte_for_byte() {
    for seed in 0..200 {
        let setting = Setting::new(seed, true);
        let mut dice = ChaCha8Rng::seed_from_u64(seed + 20_000);
        let (folder, other) = (Folder::new(), Folder::new());
        let threads = |n| rayon::ThreadPoolBuilder::new().num_threads(n).build().expect("threads");
        let (model, claims) = threads(1 + seed as usize % 2)
            .install(|| release(setting.removed(&folder, &mut dice)))
            .expect("exact models can be released");
        let (other_model, other_claims) = threads(2 - seed as usize % 2)
            .install(|| release(setting.never_there(&other)))
            .expect("exact models can be released");
        assert_eq!(String::from_utf8(model), String::from_utf8(other_model), "seed {seed}");
        assert_eq!(differing(&claims, &other_claims, &NAMES_TIMES_AND_COUNTS), BTreeSet::new(), "seed {seed}");
        assert_eq!((&claims["epsilon"], &claims["delta"]), (&0.0.into(), &0.0.into()));
    }
}
