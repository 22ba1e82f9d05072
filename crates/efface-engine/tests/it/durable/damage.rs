//! Damaged files: whatever byte is altered, the model is refused and nothing panics.

use std::fs;

use efface_core::loss::Logistic;
use efface_core::model::TrainingConfig;
use efface_engine::{EngineError, ModelDirectory, OpenError, OpenOptions, RowSource, Selection, Status, StorageError};
use efface_ledger::verify::{CheckName, CheckOutcome, Verdict};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::models::{Folder, copy, features, files, ids, json, published, randomness, squared, subjects, table};

const ROWS: &str = "model/rows/000000.rows";

/// What opening and a look at all rows says.
fn open_and_settle(folder: &Folder) -> Result<(), EngineError> {
    ModelDirectory::open(folder.model())?.settle(None).map(drop)
}

#[test]
fn a_state_with_any_byte_altered_is_refused() {
    let folder = Folder::with_model();
    let path = folder.state_file();
    let whole = fs::read(&path).expect("readable");
    for position in 0..whole.len() {
        let mut altered = whole.clone();
        altered[position] ^= 1 << (position % 8);
        fs::write(&path, altered).expect("writable");
        let error = open_and_settle(&folder).expect_err("altered");
        assert!(matches!(error, EngineError::Open(OpenError::DamagedState { .. })), "byte {position}: {error}");
    }
}

#[test]
fn a_state_of_any_other_length_is_refused() {
    let folder = Folder::with_model();
    let path = folder.state_file();
    let whole = fs::read(&path).expect("readable");
    for length in (0..whole.len()).step_by(13) {
        fs::write(&path, &whole[..length]).expect("writable");
        let error = open_and_settle(&folder).expect_err("cut short");
        assert!(matches!(error, EngineError::Open(OpenError::DamagedState { .. })), "{length} bytes: {error}");
    }
    fs::write(&path, [&whole[..], b"more"].concat()).expect("writable");
    assert!(matches!(open_and_settle(&folder), Err(EngineError::Open(OpenError::DamagedState { .. }))));
}

#[test]
fn a_state_of_another_version_is_refused_with_its_version() {
    let folder = Folder::with_model();
    let path = folder.state_file();
    let mut state = fs::read(&path).expect("readable");
    state[8..12].copy_from_slice(&7_u32.to_le_bytes());
    fs::write(&path, state).expect("writable");
    let error = open_and_settle(&folder).expect_err("of another version").to_string();
    assert!(error.ends_with("state/1: state format version 7 is unknown; this program reads version 1"), "{error}");
}

#[test]
fn lengths_beyond_all_memory_are_refused() {
    let folder = Folder::with_model();
    let path = folder.state_file();
    let whole = fs::read(&path).expect("readable");
    for at in [12, 20, 28] {
        for length in [u64::MAX, u64::MAX - 100, 1 << 62, 1 << 63] {
            let mut altered = whole.clone();
            altered[at..at + 8].copy_from_slice(&length.to_le_bytes());
            fs::write(&path, altered).expect("writable");
            assert!(matches!(open_and_settle(&folder), Err(EngineError::Open(OpenError::DamagedState { .. }))));
        }
    }
}

#[test]
fn rows_with_any_byte_altered_are_refused_or_take_no_part() {
    let folder = Folder::with_model();
    let whole = folder.read(ROWS);
    open_and_settle(&folder).expect("whole");
    let before = 2.0 * Status::read(folder.model()).expect("readable").distance_bound.get();
    let mut refused = 0;
    for position in (0..whole.len()).step_by(5) {
        let mut altered = whole.clone();
        altered[position] ^= 1 << (position % 8);
        folder.write(ROWS, altered);
        match open_and_settle(&folder) {
            Err(EngineError::Rows(_) | EngineError::Store(_)) => refused += 1,
            Err(error) => panic!("byte {position}: {error}"),
            // What stands where no row is takes no part in a sum, and is overwritten.
            Ok(()) => {
                let settled = Status::read(folder.model()).expect("readable");
                assert_eq!(settled.n_rows, 60, "byte {position}");
                assert!(settled.distance_bound.get() <= before, "byte {position}: {settled:?}");
            }
        }
    }
    assert!(refused * 5 >= 60 * (8 + 8 + 4 + 24), "{refused} of {} bytes", whole.len());
}

#[test]
fn rows_that_are_cut_short_gone_or_of_another_model_are_refused() {
    let folder = Folder::with_model();
    let whole = folder.read(ROWS);
    let refusal = || {
        let error = open_and_settle(&folder).expect_err("must be refused").to_string();
        error.replace(&format!("{}/", folder.model().display()), "")
    };
    for length in [0, 10, 63, 4096, whole.len() / 2, whole.len() - 1] {
        folder.write(ROWS, &whole[..length]);
        assert!(refusal().starts_with("rows/000000.rows: "), "{length} bytes: {}", refusal());
    }
    let mut narrow = String::new();
    for line in table(0..60).lines() {
        let columns: Vec<&str> = line.split(',').collect();
        narrow += &[&columns[..4], &columns[5..]].concat().join(",");
        narrow += "\n";
    }
    folder.try_train(&narrow, TrainingConfig::new(&Logistic, 1e-2, None), "other", None).expect("trainable");
    folder.write(ROWS, folder.read("other/rows/000000.rows"));
    assert!(refusal().contains("expected 3 values in "), "{}", refusal());
    fs::remove_file(folder.path(ROWS)).expect("there");
    assert!(refusal().starts_with("rows/000000.rows: No such file"), "{}", refusal());
    // The status needs no rows, and sees that they are gone.
    let found = Status::read(folder.model()).expect("readable").out_of_step;
    assert!(found[0].starts_with("row segments cannot be read: "), "{found:?}");
    folder.write(ROWS, whole);
    open_and_settle(&folder).expect("whole");
}

/// Other bytes that are altered are tried by the fuzz target `database`.
#[test]
fn a_database_that_is_damaged_or_none_is_refused() {
    let folder = Folder::with_model();
    let whole = folder.read("model/efface.db");
    folder.sql("PRAGMA user_version = 7");
    let other = folder.read("model/efface.db");
    for (bytes, part) in [
        (b"not a database, but some text that is long enough to look at".to_vec(), "efface.db is damaged"),
        (Vec::new(), "efface.db: database version 0 is unknown; this program reads version 1"),
        (other, "efface.db: database version 7 is unknown; this program reads version 1"),
        (whole[..whole.len() / 2].to_vec(), "efface.db is damaged"),
    ] {
        folder.write("model/efface.db", bytes);
        let refusals = [Status::read(folder.model()).map(drop), open_and_settle(&folder)];
        for error in refusals.map(|answer| answer.expect_err("must be refused").to_string()) {
            assert!(error.contains(part), "{error}");
        }
    }
    folder.write("model/efface.db", whole);
    open_and_settle(&folder).expect("whole");
}

/// A release settled the weights before it asked the log what it covers. Where that failed, the model in memory was another
/// than the one that was committed.
#[test]
fn a_release_that_cannot_read_the_log_moves_nothing() {
    let folder = Folder::with_model();
    let mut model = folder.open();
    model.remove(&ids(&["row-3"]), None).expect("present");
    let claimed = |model: &ModelDirectory| model.view().status().expect("readable").gradient_residual;
    let before = claimed(&model);
    folder.sql("UPDATE ledger SET leaf = 'damaged' WHERE change IS NOT NULL");
    let error = model.release(&mut randomness(), None).expect_err("no entry").to_string();
    assert!(error.ends_with("entry 1 of the log: damaged"), "{error}");
    assert_eq!(claimed(&model), before);
}

/// Damages of the database that are tried; `EFFACE_DAMAGES` asks for more.
fn n_damages() -> u64 {
    std::env::var("EFFACE_DAMAGES").ok().and_then(|n| n.parse().ok()).unwrap_or(200)
}

/// One flipped bit led to another person's row, or to fewer rows than were asked for, under valid certificates.
#[test]
fn no_damage_of_the_database_removes_anybody_else() {
    let folder = Folder::with_model();
    let mut model = folder.open();
    model.remove(&ids(&["row-3"]), None).expect("present");
    published(model.release(&mut randomness(), None).expect("writable"));
    model.close().expect("writable");
    let whole = folder.copy("whole");
    let database = fs::read(whole.join("efface.db")).expect("there");
    let (mut n_refused, mut n_carried_out) = (0, 0);
    for seed in 0..n_damages() {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut damaged = database.clone();
        let at = random.random_range(0..damaged.len());
        if seed % 2 == 0 {
            damaged[at] ^= 1 << random.random_range(0..8);
        } else {
            let end = damaged.len().min(at + random.random_range(1..64));
            random.fill(&mut damaged[at..end]);
        }
        if damaged == database {
            continue;
        }
        fs::remove_dir_all(folder.model()).expect("writable");
        copy(&whole, &folder.model());
        folder.write("model/efface.db", &damaged);
        // Neither may panic; what they answer is that of the whole database, or an error.
        if let Ok(status) = Status::read(folder.model()) {
            assert_eq!((status.n_rows, status.n_removed), (59, 1), "seed {seed}");
        }
        let removed = ModelDirectory::open(folder.model()).and_then(|mut model| {
            let verified = model.verify(true)?;
            assert_ne!(verified.verdict, Verdict::Valid, "seed {seed}");
            assert_eq!(model.remove(&ids(&["row-17"]), None)?.n_changed, 1, "seed {seed}");
            assert_eq!(model.remove(&subjects(&["person-9"]), None)?.n_changed, 4, "seed {seed}");
            model.close()
        });
        if removed.is_err() {
            n_refused += 1;
            continue;
        }
        n_carried_out += 1;
        // The selectors come behind the header and 256 labels.
        let selectors = &folder.read(ROWS)[4096 + 8 * 256..][..8 * 60];
        let (selectors, _) = selectors.as_chunks::<8>();
        let gone: Vec<usize> = (0..60).filter(|position| selectors[*position] == [0; 8]).collect();
        assert_eq!(gone, [3, 17, 36, 37, 38, 39], "seed {seed}");
    }
    assert!(n_refused > 0 && n_carried_out > 0, "{n_refused} refused, {n_carried_out} carried out");
}

/// A model with one flipped bit in the features of a row, where `damaged` is its number, closed.
fn with_damaged_row(damaged: usize, config: TrainingConfig) -> Folder {
    let folder = Folder::new();
    folder.train(&table(0..60), config);
    let mut rows = folder.read(ROWS);
    let value = features(damaged)[0].to_le_bytes();
    let at = rows.windows(8).position(|window| window == value).expect("the row");
    rows[at] ^= 4;
    folder.write(ROWS, rows);
    folder
}

/// One flipped bit in one row stopped settling and releasing for good, and nobody could take that row out.
#[test]
fn a_damaged_row_can_be_removed_corrected_or_dropped() {
    let configs = [squared(), TrainingConfig::new(&Logistic, 1e-2, None)];
    for (config, way) in configs.into_iter().flat_map(|config| (0..4).map(move |way| (config.clone(), way))) {
        let folder = with_damaged_row(17, config.clone());
        let mut model = folder.open();
        if config.loss.tag() == "logistic" {
            let error = model.settle(None).expect_err("damaged");
            assert_eq!(error.damaged_row(), Some(17), "{error}");
            assert_eq!(Status::read(folder.model()).expect("readable").damaged, [17]);
        }
        let report = match way {
            0 => model.remove(&ids(&["row-17", "row-3"]), None),
            1 => model.remove(&subjects(&["person-4"]), None),
            2 => model.remove(&Selection::Damaged, None),
            _ => model.correct(&RowSource::of(folder.write("same.csv", table([17])))),
        };
        report.expect("removable");
        // Cut short here, the change is made again from what is on the disk.
        if way % 2 == 0 {
            model.close().expect("writable");
        } else {
            drop(model);
        }
        let mut model = folder.open();
        let verified = model.verify(true).expect("readable");
        assert_eq!(verified.verdict, Verdict::Valid, "{way}: {verified:?}");
        assert!(Status::read(folder.model()).expect("readable").damaged.is_empty());
        let report = published(model.release(&mut randomness(), None).expect("writable"));
        let expected = Folder::new();
        let removed: &[usize] = [&[17, 3][..], &[16, 17, 18, 19], &[17], &[]][way];
        expected.train(&table((0..60).filter(|row| !removed.contains(row))), config.clone());
        let expected = published(expected.open().release(&mut randomness(), None).expect("writable"));
        let limit = if config.loss.tag() == "logistic" { 0.05 } else { 1e-12 };
        for (found, expected) in weights(&report.model).into_iter().zip(weights(&expected.model)) {
            assert!((found - expected).abs() <= limit, "{way}: {found} {expected}");
        }
        let error = model.remove(&Selection::Damaged, None).expect_err("none").to_string();
        assert_eq!(error, "no row is damaged");
    }
}

/// A check changes no file, and names what is damaged.
#[test]
fn verifying_changes_nothing_and_names_damaged_rows() {
    let folder = with_damaged_row(17, squared());
    let before = files(&folder.model());
    let look = || ModelDirectory::open_to_read(folder.model(), &OpenOptions::default()).expect("readable");
    let failed = || {
        let report = look().verify(false).expect("readable");
        assert_eq!(report.verdict, Verdict::Invalid, "{report:?}");
        let failed = report.checks.into_iter().find(|check| check.outcome == CheckOutcome::Failed).expect("one");
        (failed.check, failed.message)
    };
    assert_eq!(failed(), (CheckName::Rows, "the row at position 17 is damaged".into()));
    assert_eq!(files(&folder.model()), before);
    // Nobody changes it meanwhile.
    let reading = look();
    let error = ModelDirectory::open(folder.model()).err().expect("locked");
    assert!(matches!(error, EngineError::Open(OpenError::Locked { .. })), "{error}");
    drop(reading);

    // A removed row whose bytes are back.
    let folder = Folder::with_model();
    let before = folder.read(ROWS);
    let mut model = folder.open();
    model.remove(&ids(&["row-17"]), None).expect("removable");
    model.close().expect("writable");
    let mut after = folder.read(ROWS);
    let at = before.iter().zip(&after).skip(4096).rposition(|(before, after)| before != after).expect("purged") + 4096;
    after[at] = before[at];
    folder.write(ROWS, after);
    let report = ModelDirectory::open_to_read(folder.model(), &OpenOptions::default()).expect("readable").verify(false);
    let report = report.expect("readable");
    let failed = report.checks.iter().find(|check| check.outcome == CheckOutcome::Failed).expect("one");
    assert_eq!(failed.message, "1 of 1 removed rows are not overwritten");
    // They are overwritten again with whatever is damaged, also where no row is.
    let mut model = folder.open();
    let error = model.remove(&Selection::Damaged, None).expect_err("none").to_string();
    assert_eq!(error, "no row is damaged");
    assert_eq!(model.verify(false).expect("readable").verdict, Verdict::Valid);
}

fn weights(path: &std::path::Path) -> Vec<f64> {
    let model = json(path);
    model["weights"].as_array().expect("a list").iter().map(|weight| weight.as_f64().expect("a number")).collect()
}

/// A cut within the last page of the database was read as zeros: a subject lost only some of its rows, under exit code 0.
#[test]
fn a_database_that_was_cut_within_a_page_is_refused() {
    let folder = Folder::with_model();
    let whole = folder.read("model/efface.db");
    for missing in [1, 5, 1000, 2048, 4095, 4096] {
        folder.write("model/efface.db", &whole[..whole.len() - missing]);
        for selection in [subjects(&["person-4"]), ids(&["row-17"])] {
            let removed = ModelDirectory::open(folder.model()).and_then(|mut model| model.remove(&selection, None));
            let error = removed.expect_err("damaged");
            assert!(matches!(error, EngineError::Storage(StorageError::DamagedDatabase { .. })), "{missing}: {error}");
        }
    }
}

/// Power failed within an append: the file had grown, and what was to stand there was not written.
#[test]
fn a_list_of_removed_ids_with_an_unwritten_end_is_put_right() {
    let folder = Folder::with_model();
    let mut model = folder.open();
    model.remove(&ids(&["row-3"]), None).expect("removable");
    model.close().expect("writable");
    for unwritten in [1, 16, 20, 50] {
        let whole = folder.read("model/state/removed");
        folder.write("model/state/removed", [&whole[..], &vec![0; unwritten]].concat());
        let row = format!("row-{}", 4 + unwritten);
        let mut model = folder.open();
        model.remove(&ids(&[&row]), None).expect("removable");
        assert_eq!(model.verify(false).expect("readable").verdict, Verdict::Valid, "{unwritten}");
        model.close().expect("writable");
        assert!(folder.read("model/state/removed").starts_with(&whole));
    }
}

/// One flipped bit in the header of a segment, or a file that was cut short, stopped every command for good.
#[test]
fn a_damaged_header_is_read_from_its_copy_and_rows_that_were_cut_off_can_be_dropped() {
    let folder = Folder::with_model();
    let mut rows = folder.read(ROWS);
    rows[20] ^= 1;
    folder.write(ROWS, &rows);
    let mut model = folder.open();
    model.remove(&ids(&["row-3"]), None).expect("present");
    model.close().expect("writable");
    let rows = folder.read(ROWS);
    assert_eq!(rows[..64], rows[2048..][..64], "put right by the next checkpoint");

    // Rows 58 and 59 have lost their features.
    folder.write(ROWS, &rows[..rows.len() - 30]);
    let error = ModelDirectory::open(folder.model()).err().expect("cut short").to_string();
    assert!(error.contains("rows/000000.rows"), "{error}");
    let salvage = OpenOptions { salvage: true, ..OpenOptions::default() };
    let mut model = ModelDirectory::open_with(folder.model(), &salvage).expect("salvaged");
    assert_eq!(model.remove(&Selection::Damaged, None).expect("removable").n_changed, 2);
    published(model.release(&mut randomness(), None).expect("writable"));
    model.close().expect("writable");
    assert_eq!(folder.open().verify(true).expect("readable").verdict, Verdict::Valid);
}
