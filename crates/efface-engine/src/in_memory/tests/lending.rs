//! Rows that are lent, added and removed: what is checked, when, and what is kept of them.

use efface_testkit::store::{PlainRow, store_conformance};

use super::*;
use crate::in_memory::index::{RowIndex, numbered};
use crate::in_memory::view::RowsView;

#[test]
fn rows_that_cannot_be_added_leave_the_index_as_it_was() {
    let sample = Sample::new(Scale::Within { radius: 2.0 }, true, 2);
    let (mut model, lent) = (sample.train(), sample.lent());
    let long = [9.0; N_FEATURES];
    let new = NewRows { features: Features::F64(&long), labels: &[1.0], row_weights: None, subjects: None };
    let error = model.add(&lent, new, Some(&[RowId::parse("new")])).expect_err("too long");
    assert!(matches!(error, EngineError::InMemory(RowsError::Scale { .. })), "{error}");
    // Rows are still numbered: one without an id can join them.
    let good = NewRows { features: Features::F64(&sample.values[..N_FEATURES]), ..new };
    model.add(&lent, good, None).expect("numbered on");
    let position = |model: &MemoryModel, id: RowId| model.index.position_of(&id, &model.rows.present);
    assert_eq!(position(&model, numbered(N_ROWS)), Some(N_ROWS));
    // And from the first one that has an id of its own, all have.
    model.add(&lent, good, Some(&[RowId::parse("new")])).expect("new");
    assert_eq!(position(&model, RowId::parse("new")), Some(N_ROWS + 1));
    assert_eq!(position(&model, numbered(N_ROWS)), Some(N_ROWS));
    assert!(matches!(model.add(&lent, good, None), Err(EngineError::InMemory(RowsError::NoIds))));
}

#[test]
fn subjects_of_rows_that_come_to_a_model_without_are_refused() {
    let sample = Sample::new(Scale::Unit, true, 2);
    let (mut model, lent) = (sample.train(), sample.lent());
    let new = NewRows {
        features: Features::F64(&sample.values[..N_FEATURES]),
        labels: &[1.0],
        row_weights: None,
        subjects: Some(&[RowId::Integer(1)]),
    };
    assert!(matches!(model.add(&lent, new, None), Err(EngineError::NoSubjects)));
    assert_eq!(model.n_rows(), N_ROWS);
}

#[test]
fn rows_are_checked_again_after_they_were_read() {
    let sample = Sample::new(Scale::Unit, true, 2);
    let model = sample.train();
    let stop = AtomicBool::new(false);
    let lent = LentRows { cancel: &stop, ..sample.lent() };
    // A check that stops when it is asked to tells that there is one.
    let read = model.rows.read(&lent, |rows| {
        stop.store(true, Ordering::Relaxed);
        Ok(rows.n_rows())
    });
    assert!(matches!(read, Err(EngineError::InMemory(RowsError::Interrupted(_)))), "{read:?}");
    let mut changed = sample.values.clone();
    changed[400 * N_FEATURES] += 1.0;
    let lent = LentRows { features: Features::F64(&changed), cancel: &GO_ON };
    let read = model.rows.read(&lent, |_| -> Result<(), _> { panic!("rows that changed are not read") });
    assert!(matches!(read, Err(EngineError::InMemory(RowsError::Changed { row: 400 }))), "{read:?}");
}

/// Scaled on the fly or as they are, with and without rows that left and rows that came.
#[test]
fn lent_rows_conform() {
    for scale in [Scale::Unit, Scale::Within { radius: 2.0 }] {
        for intercept in [false, true] {
            let sample = Sample::new(scale, intercept, 2);
            let (mut model, lent) = (sample.train(), sample.lent());
            let check = |rows: &RowsView<'_>| {
                store_conformance(rows, &PlainRow::of(rows));
                Ok(())
            };
            model.rows.read(&lent, check).expect("unchanged");
            model.remove(&lent, &ids([3, 300]), None, false).expect("present");
            let new = NewRows {
                features: Features::F64(&sample.values[..N_FEATURES]),
                labels: &[1.0],
                row_weights: None,
                subjects: None,
            };
            model.add(&lent, new, None).expect("numbered on");
            model.rows.read(&lent, check).expect("unchanged");
        }
    }
}

#[test]
fn the_influence_of_some_rows_asks_nothing_of_the_others() {
    let sample = Sample::new(Scale::Unit, true, 2);
    let model = sample.train();
    let before = model.influence(&sample.lent(), Some(&[RowId::Integer(3)])).expect("unchanged");
    let mut changed = sample.values.clone();
    changed[400 * N_FEATURES] += 1.0;
    let lent = LentRows { features: Features::F64(&changed), cancel: &GO_ON };
    assert_eq!(model.influence(&lent, Some(&[RowId::Integer(3)])).expect("this one is unchanged"), before);
    for ids in [None, Some(&[RowId::Integer(400)][..])] {
        assert!(matches!(model.influence(&lent, ids), Err(EngineError::InMemory(RowsError::Changed { row: 400 }))));
    }
}

#[test]
fn a_subject_of_very_many_rows_is_removed_in_one_go() {
    // Row by row this would be 2·10¹⁰ comparisons.
    let n_rows = 200_000;
    let people: Vec<RowId> = (0..n_rows).map(|i| numbered(i % 100 / 99)).collect();
    let key = efface_data::IdKey::new([1; 32]);
    let mut index = RowIndex::new(key, n_rows, None, Some(&people)).expect("distinct");
    let mut present = vec![true; n_rows];
    let first = index.positions_of_subjects(&people[..1], &present).expect("there");
    assert_eq!(first.len(), n_rows / 100 * 99);
    index.remove(&first[1..]);
    first[1..].iter().for_each(|row| present[*row] = false);
    assert_eq!(index.positions_of_subjects(&people[..1], &present).expect("one is left"), first[..1]);
    index.remove(&first[..1]);
    present[first[0]] = false;
    let gone = index.positions_of_subjects(&people[..1], &present);
    assert!(matches!(gone, Err(EngineError::Lookup(LookupError::AlreadyRemoved { .. }))), "{gone:?}");
    assert_eq!(index.positions_of_subjects(&people[99..100], &present).expect("there").len(), n_rows / 100);
}

#[test]
fn divisors_are_kept_only_where_rows_are_divided() {
    let sample = Sample::new(Scale::Within { radius: 2.0 }, true, 2);
    let (mut model, lent) = (sample.train(), sample.lent());
    assert!(model.rows.divisors.is_empty());
    let new = NewRows {
        features: Features::F64(&sample.values[..N_FEATURES]),
        labels: &[1.0],
        row_weights: None,
        subjects: None,
    };
    model.add(&lent, new, None).expect("numbered on");
    model.correct(&lent, &[RowId::Integer(3)], new).expect("there");
    assert!(model.rows.divisors.is_empty());

    // Clipped rows: none of those trained on, and one that comes later.
    let sample = Sample::new(Scale::Clip { radius: 1.0 }, true, 2);
    let (mut model, lent) = (sample.train(), sample.lent());
    assert!(model.rows.divisors.is_empty());
    let long = [3.0; N_FEATURES];
    let clipped = NewRows { features: Features::F64(&long), ..new };
    model.add(&lent, clipped, None).expect("numbered on");
    model.correct(&lent, &[RowId::Integer(3)], clipped).expect("there");
    model.add(&lent, new, None).expect("numbered on");
    let divided = |model: &MemoryModel| -> Vec<usize> {
        (0..model.rows.len()).filter(|row| !model.rows.divisors.get(*row).is_one()).collect()
    };
    assert_eq!(divided(&model), [3, N_ROWS]);
    model.settle(&lent, None).expect("settled");
    model.remove(&lent, &ids([3]), None, false).expect("there");
    assert_eq!(divided(&model), [N_ROWS]);
}

#[test]
fn whose_row_it_was_is_forgotten_with_the_row() {
    let sample = Sample::new(Scale::Unit, true, 2);
    let names: Vec<RowId> = (0..N_ROWS).map(|i| RowId::parse(&format!("row-{i}"))).collect();
    let people: Vec<RowId> = (0..N_ROWS).map(|i| RowId::parse(&format!("person-{}", i / 4))).collect();
    let request = MemoryRequest { ids: Some(&names), subjects: Some(&people), ..sample.request() };
    let (mut model, lent) = (trained(request), sample.lent());
    let whose = |model: &MemoryModel, row: usize| {
        let (ids, subjects) = model.index.digests_by_position();
        (ids[row], subjects[row])
    };
    let (id, subject) = whose(&model, 8);
    model.remove(&lent, &Selection::Ids(names[8..9].to_vec()), None, false).expect("there");
    let nobody = IdDigest([0; IdDigest::BYTES]);
    assert_eq!(whose(&model, 8), (nobody, nobody));
    // The person has other rows, the row must not come back.
    assert!(model.index.is_removed(id) && !model.index.is_removed(subject));
    model.remove(&lent, &Selection::Subjects(people[8..9].to_vec()), None, false).expect("there");
    assert!(model.index.is_removed(subject));
}
