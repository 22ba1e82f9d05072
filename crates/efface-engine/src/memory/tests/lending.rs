//! Rows that are lent, added and removed: what is checked, when, and what is kept of them.

use crate::error::StorageError;
use efface_data::{EncodeError, IdDigest, IdKey, IdKind};
use efface_ledger::entry::{Change, Entry, Event};

use super::super::index::RowIndex;
use super::interrupted::Meddled;
use super::*;
use crate::history::History;
use crate::life::{CommittedChange, Found, StepKind};

#[test]
fn a_row_that_changed_since_training_is_noticed() {
    let mut held = Sample::usual().train();
    held.remove(&ids([7])).expect("removable");
    // A row that left may be anything, even no number.
    held.row_mut(7)[0] = f64::NAN;
    held.settle().expect("settled");
    held.row_mut(400)[2] += 1e-12;
    let before = weights(&held.model.model);
    assert!(has_changed(&held.settle().expect_err("noticed"), 400));
    assert!(has_changed(&held.remove(&ids([3, 400])).expect_err("noticed"), 400));
    let retrained = held.live(|life| life.retrain(&mut randomness(), &mut |_| {}));
    assert!(has_changed(&retrained.expect_err("noticed"), 400));
    assert!(has_changed(&held.bytes().expect_err("noticed"), 400));
    assert_eq!(weights(&held.model.model), before);
    held.remove(&ids([3])).expect("another row");
    assert!(has_changed(&held.try_release().expect_err("noticed"), 400));
    assert_eq!(held.model.view().n_releases(), 0);
    // Put back, everything goes on.
    let right = Sample::usual().values[400 * N_FEATURES..401 * N_FEATURES].to_vec();
    held.row_mut(400).copy_from_slice(&right);
    held.release();

    let FeatureValues::F64(values) = &held.values else { panic!("in double precision") };
    let short = LentRows { features: Features::F64(&values[N_FEATURES..]), cancel: &GO_ON };
    let error = LentVault::new(&mut held.table, short).err().expect("noticed");
    assert!(matches!(error, RowsError::OtherRows { .. }), "{error}");
}

#[test]
fn a_bound_that_reads_all_rows_notices_any_that_changed() {
    let sample = Sample::usual();
    let config = TrainingConfig { bound: Some(efface_core::residual::Rung::PerRow), ..sample.config() };
    let mut held = trained(MemoryRequest { config, ..sample.request() });
    held.row_mut(400)[2] += 1e-12;
    assert!(has_changed(&held.remove(&ids([3])).expect_err("noticed"), 400));
    assert_eq!(held.model.view().n_rows(), N_ROWS);
    held.row_mut(400).copy_from_slice(&sample.values[400 * N_FEATURES..401 * N_FEATURES]);
    held.remove(&ids([3])).expect("removable");
}

/// What is known of the weights is known of other rows then.
#[test]
fn a_model_whose_rows_change_while_they_are_read_is_not_used_again() {
    let mut held = Sample::usual().train();
    held.remove(&ids([3])).expect("removable");
    let (model, vault) = held.lend(&GO_ON);
    // The first check finds them as they were, the second one does not.
    let mut meddled = Meddled::checked(vault, 1);
    let error = model.live(&mut meddled, |life| life.settle(None)).expect_err("noticed");
    assert!(has_changed(&error, Meddled::CHANGED), "{error}");
    let is_damaged = |error: EngineError| matches!(error, EngineError::Storage(StorageError::Damaged));
    assert!(is_damaged(held.settle().expect_err("given up")));
    assert!(is_damaged(held.remove(&ids([4])).expect_err("given up")));
    assert!(is_damaged(held.try_release().expect_err("given up")));
    let retrained = held.live(|life| life.retrain(&mut randomness(), &mut |_| {}));
    assert!(is_damaged(retrained.expect_err("given up")));
    assert!(is_damaged(held.bytes().expect_err("given up")));
    let folder = folder();
    assert!(is_damaged(held.keep(folder.path()).err().expect("given up")));
}

/// Training from zero leaves the model alone.
#[test]
fn training_again_on_rows_that_change_meanwhile_does_the_model_no_harm() {
    let mut held = Sample::usual().train();
    let (model, vault) = held.lend(&GO_ON);
    let mut meddled = Meddled::checked(vault, 1);
    let error = model.live(&mut meddled, |life| life.retrain(&mut randomness(), &mut |_| {})).expect_err("noticed");
    assert!(has_changed(&error, Meddled::CHANGED), "{error}");
    held.settle().expect("as before");
}

#[test]
fn the_influence_of_some_rows_asks_nothing_of_the_others() {
    let mut held = Sample::usual().train();
    let third = [RowId::Integer(3)];
    let before = held.influences(Some(&third)).expect("unchanged");
    held.row_mut(400)[0] += 1.0;
    assert_eq!(held.influences(Some(&third)).expect("this one is unchanged"), before);
    for ids in [None, Some(&[RowId::Integer(400)][..])] {
        assert!(has_changed(&held.influences(ids).expect_err("noticed"), 400));
    }
}

#[test]
fn rows_that_cannot_be_added_leave_the_index_as_it_was() {
    let sample = Sample::new(Scale::Within { radius: 2.0 }, true, 2);
    let mut held = sample.train();
    let new = TableParts { ids: Some(vec![RowId::parse("new")]), ..sample.parts(&[0]) };
    let long = TableParts { features: FeatureValues::F64(vec![9.0; N_FEATURES]), ..new.clone() };
    let error = held.add(long).expect_err("too long");
    assert!(matches!(error, EngineError::Encode(EncodeError::Scale { .. })), "{error}");
    // Rows are still numbered: one without an id can join them, and so can one with an id of its own.
    held.add(sample.parts(&[0])).expect("numbered on");
    held.add(new).expect("new");
    held.add(sample.parts(&[0])).expect("numbered on");
    let by_id = [RowId::numbered(N_ROWS), RowId::parse("new"), RowId::numbered(N_ROWS + 2), RowId::numbered(5)];
    let positions = by_id.map(|id| position(&held, &id));
    assert_eq!(positions, [N_ROWS, N_ROWS + 1, N_ROWS + 2, 5].map(Some));
    assert_eq!(position(&held, &RowId::numbered(N_ROWS + 1)), None);
}

fn position(held: &Held, id: &RowId) -> Option<usize> {
    let digest = held.model.settings.id_key.digest(IdKind::Row, id);
    match held.model.keeper.index.find(IdKind::Row, id, digest) {
        Found::At(positions) => positions.first().copied(),
        Found::Removed | Found::Unknown => None,
    }
}

#[test]
fn a_subject_of_very_many_rows_is_removed_in_one_go() {
    // Row by row this would be 2·10¹⁰ comparisons.
    let n_rows = 200_000;
    let people: Vec<RowId> = (0..n_rows).map(|i| RowId::numbered(i % 100 / 99)).collect();
    let key = IdKey::new([1; 32]);
    let mut index = RowIndex::new(key.clone(), n_rows, None, Some(&people)).expect("distinct");
    let rows_of = |index: &RowIndex, person: &RowId| match index.find(
        IdKind::Subject,
        person,
        key.digest(IdKind::Subject, person),
    ) {
        Found::At(positions) => Some(positions),
        Found::Removed => None,
        Found::Unknown => panic!("known"),
    };
    let first = rows_of(&index, &people[0]).expect("there");
    assert_eq!(first.len(), n_rows / 100 * 99);
    leave(&mut index, &first[1..]);
    assert_eq!(rows_of(&index, &people[0]).expect("one is left"), first[..1]);
    leave(&mut index, &first[..1]);
    assert_eq!(rows_of(&index, &people[0]), None);
    assert_eq!(rows_of(&index, &people[99]).expect("there").len(), n_rows / 100);
}

/// Removes rows from an index.
fn leave(index: &mut RowIndex, positions: &[usize]) {
    let change = Change { change: 1, n_rows: positions.len(), rows: None, request: None };
    index.commit(&CommittedChange {
        kind: StepKind::Removal,
        removed: positions.to_vec(),
        removed_keys: positions.iter().map(|position| index.keys_at(*position)).collect(),
        added: 0..0,
        added_keys: Vec::new(),
        texts: efface_data::derived::Texts::new(),
        history: History::default(),
        entry: Entry::new("2026-01-01T00:00:00Z", Event::Removal(change)),
        request: None,
    });
}

#[test]
fn whose_row_it_was_is_forgotten_with_the_row() {
    let (sample, names, people) = (Sample::usual(), names(), people());
    let mut held = trained(MemoryRequest { ids: Some(&names), subjects: Some(&people), ..sample.request() });
    let whose = |held: &Held, row: usize| {
        let (ids, subjects) = held.model.keeper.index.digests_by_position();
        (ids[row], subjects[row])
    };
    let (id, subject) = whose(&held, 8);
    held.remove(&Selection::Ids(names[8..9].to_vec())).expect("there");
    let nobody = IdDigest([0; IdDigest::BYTES]);
    assert_eq!(whose(&held, 8), (nobody, nobody));
    // The person has other rows, the row must not come back.
    let is_removed = |held: &Held, digest| held.model.keeper.index.removed.contains(&digest);
    assert!(is_removed(&held, id) && !is_removed(&held, subject));
    held.remove(&person_of(8)).expect("there");
    assert!(is_removed(&held, subject));
    // A row that is corrected is forgotten where it stood, and nobody was removed.
    let (id, subject) = whose(&held, 20);
    held.correct(TableParts { ids: Some(names[20..21].to_vec()), ..sample.parts(&[20]) }).expect("there");
    assert_eq!((whose(&held, 20), whose(&held, N_ROWS)), ((nobody, nobody), (id, subject)));
    assert!(!is_removed(&held, id) && !is_removed(&held, subject));
}

/// Rows that left before numbered rows got ids have none.
#[test]
fn a_numbered_row_that_left_stays_away_when_another_one_is_corrected() {
    let sample = Sample::usual();
    let mut held = sample.train();
    held.remove(&ids([3])).expect("there");
    held.correct(TableParts { ids: Some(vec![RowId::Integer(8)]), ..sample.parts(&[9]) }).expect("there");
    let gone = [3, 8];
    let left: Vec<usize> = (0..=N_ROWS).filter(|position| !gone.contains(position)).collect();
    assert_eq!((0..=N_ROWS).filter(|position| held.table.is_present(*position)).collect::<Vec<_>>(), left);
    let (ids, _) = held.model.keeper.index.digests_by_position();
    assert_eq!(gone.map(|position| ids[position]), [IdDigest([0; IdDigest::BYTES]); 2]);
    assert_eq!(position(&held, &RowId::Integer(8)), Some(N_ROWS));
    assert!(is_removed(&held.remove(&super::ids([3])).expect_err("gone")));
}
