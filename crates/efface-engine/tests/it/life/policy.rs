//! When releases are made: held back until enough people have left, or until it is time.

use efface_engine::{HeldBack, ModelDirectory, ReleaseAnswer, ReleasePolicy, RowSource};

use crate::models::{Folder, certificate, ids, published, randomness, subjects, table};

fn policy(min_removals: Option<usize>, every_seconds: Option<u64>) -> ReleasePolicy {
    ReleasePolicy { min_removals, every_seconds }
}

/// A model with one release and a policy.
fn with_policy(min_removals: Option<usize>, every_seconds: Option<u64>) -> (Folder, ModelDirectory) {
    let folder = Folder::with_model();
    let mut model = folder.open();
    published(model.release(&mut randomness(), None).expect("writable"));
    model.set_policy(policy(min_removals, every_seconds)).expect("writable");
    (folder, model)
}

#[track_caller]
fn held_back(model: &mut ModelDirectory) -> HeldBack {
    match model.release(&mut randomness(), None).expect("an answer") {
        ReleaseAnswer::HeldBack(held_back) => held_back,
        answer => panic!("{answer:?}"),
    }
}

#[track_caller]
fn released(model: &mut ModelDirectory) -> usize {
    published(model.release(&mut randomness(), None).expect("writable")).release
}

#[test]
fn a_release_waits_for_enough_people() {
    let (folder, mut model) = with_policy(Some(3), None);
    for (row, n_people) in [("row-0", 1), ("row-4", 2)] {
        model.remove(&ids(&[row]), None).expect("removable");
        let expected = HeldBack { n_people, min_removals: Some(3), due: None };
        assert_eq!(held_back(&mut model), expected);
    }
    assert_eq!(model.n_releases(), 1);
    assert!(!folder.path("model/releases/2").exists());
    model.remove(&ids(&["row-8"]), None).expect("removable");
    assert_eq!(released(&mut model), 2);
    let certificate = certificate(&folder.path("model/releases/2/certificate.json"));
    assert_eq!(certificate["policy"], serde_json::json!({ "min_removals": 3, "every_seconds": null }));
    assert_eq!(certificate["since_previous"]["n_people"], 3);
    // Counting begins anew.
    model.remove(&ids(&["row-12"]), None).expect("removable");
    assert_eq!(held_back(&mut model).n_people, 1);
}

#[test]
fn people_are_counted_once_and_corrections_count() {
    let (folder, mut model) = with_policy(Some(3), None);
    // Person 0 has rows 0 to 3.
    model.remove(&ids(&["row-0"]), None).expect("removable");
    model.remove(&ids(&["row-1", "row-2"]), None).expect("removable");
    assert_eq!(held_back(&mut model).n_people, 1);
    model.remove(&subjects(&["person-0"]), None).expect("removable");
    assert_eq!(held_back(&mut model).n_people, 1);
    model.correct(&RowSource::of(folder.write("same.csv", table([5])))).expect("present");
    model.correct(&RowSource::of(folder.write("again.csv", table([6])))).expect("present");
    assert_eq!(held_back(&mut model).n_people, 2);
    model.add(&RowSource::of(folder.write("more.csv", table([100])))).expect("new");
    assert_eq!(held_back(&mut model).n_people, 2, "whoever comes hides nobody who left");
    model.remove(&ids(&["row-20"]), None).expect("removable");
    assert_eq!(released(&mut model), 2);
}

#[test]
fn the_count_survives_reopening() {
    let (folder, mut model) = with_policy(Some(2), None);
    model.remove(&ids(&["row-0"]), None).expect("removable");
    drop(model);
    let mut model = folder.open();
    assert_eq!(model.policy(), policy(Some(2), None));
    assert_eq!(held_back(&mut model).n_people, 1);
    model.remove(&ids(&["row-4"]), None).expect("removable");
    assert_eq!(released(&mut model), 2);
}

/// Between two releases from which nobody left nothing is to be learned.
#[test]
fn nothing_is_held_back_when_nobody_left() {
    let (_folder, mut model) = with_policy(Some(5), Some(1_000_000));
    assert_eq!(released(&mut model), 2);
    assert_eq!(released(&mut model), 3);
}

#[test]
fn a_first_release_is_never_held_back() {
    let folder = Folder::with_model();
    let mut model = folder.open();
    model.set_policy(policy(Some(50), Some(1_000_000))).expect("writable");
    model.remove(&ids(&["row-0"]), None).expect("removable");
    assert_eq!(released(&mut model), 1);
}

#[test]
fn a_release_waits_for_its_time() {
    let (folder, mut model) = with_policy(None, Some(1000));
    model.remove(&ids(&["row-0"]), None).expect("removable");
    let due = held_back(&mut model).due.expect("a time");
    model.close().expect("writable");
    folder.sql("UPDATE releases SET time = time - 990");
    let mut model = folder.open();
    assert_eq!(held_back(&mut model).due, Some(due - 990));
    model.close().expect("writable");
    folder.sql("UPDATE releases SET time = time - 10");
    assert_eq!(released(&mut folder.open()), 2);
}

/// A clock that was years ahead when a release was made held back all others for as long.
#[test]
fn a_clock_that_was_ahead_holds_nothing_back() {
    let (folder, mut model) = with_policy(None, Some(1000));
    model.remove(&ids(&["row-0"]), None).expect("removable");
    held_back(&mut model);
    model.close().expect("writable");
    folder.sql("UPDATE releases SET time = time + 1000000000");
    let mut model = folder.open();
    assert_eq!(released(&mut model), 2);
    // And from then on time counts again.
    model.remove(&ids(&["row-4"]), None).expect("removable");
    assert!(held_back(&mut model).due.is_some());
}

#[test]
fn with_both_the_first_that_is_reached_counts() {
    let (folder, mut model) = with_policy(Some(2), Some(1000));
    model.remove(&ids(&["row-0"]), None).expect("removable");
    assert_eq!((held_back(&mut model).n_people, held_back(&mut model).min_removals), (1, Some(2)));
    model.remove(&ids(&["row-4"]), None).expect("removable");
    assert_eq!(released(&mut model), 2);
    model.remove(&ids(&["row-8"]), None).expect("removable");
    held_back(&mut model);
    model.close().expect("writable");
    folder.sql("UPDATE releases SET time = time - 1000");
    assert_eq!(released(&mut folder.open()), 3);
}

#[test]
fn a_policy_can_be_taken_back_and_must_ask_for_something() {
    let (_folder, mut model) = with_policy(Some(3), None);
    model.remove(&ids(&["row-0"]), None).expect("removable");
    held_back(&mut model);
    for nothing in [policy(Some(0), None), policy(None, Some(0))] {
        let error = model.set_policy(nothing).expect_err("asks for nothing").to_string();
        assert_eq!(error, "a release policy must ask for at least 1 removal or at least 1 second");
    }
    assert_eq!(model.policy(), policy(Some(3), None));
    model.set_policy(ReleasePolicy::default()).expect("writable");
    assert_eq!(released(&mut model), 2);
}
