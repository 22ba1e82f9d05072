//! A process stopped at every single operation on its files, and the power lost at every one of them.
//!
//! `recorder.c` is loaded below the real program and writes down each call that changes a file, SQLite's included. From
//! the log, `disk.rs` builds the directory as it could be found after a stop at the n-th operation, for every n: of a
//! process that was killed between two operations or within a write, and of a machine that lost power, for which it
//! states the model. Each distinct directory is opened with the real engine and `check.rs` says what must hold: it
//! opens, the request is done or not done as a whole, and done if that was answered; nobody who left is in any byte; and
//! the claim is above the gradient that `world.rs` computes from the rows themselves.
//!
//! The log is complete: played to its end it must give the directory that the program left, byte for byte.
//!
//! A crash can come while the traces of an earlier one are cleared away: each directory that a killed process left is
//! given to the program once more, and that run is stopped at every operation too.
#![cfg(target_os = "linux")]

mod check;
mod disk;
mod engine;
mod points;
mod recording;
mod world;

use std::path::Path;

use check::{Found, Interrupted, Side, scratch};
use disk::{Disk, Image};
use points::{Cause, Points, Tally};
use recording::Recorder;
use world::{Request, World, id, subject};

/// Power losses tried at each operation of a command, and of the command that clears up after a crash.
const POWER_LOSSES: u64 = 20;
const POWER_LOSSES_AFTER_A_CRASH: u64 = 2;

/// The test must not shrink unnoticed.
const LEAST_POINTS: usize = 2_000;

fn script() -> Vec<Request> {
    let ids = |rows: &[usize]| rows.iter().map(|i| id(*i)).collect();
    vec![
        Request::Train,
        Request::Remove { ids: ids(&[3]), request_id: None },
        Request::RemoveSubject { subject: subject(5), request_id: Some("ticket-1") },
        Request::Correct { rows: vec![8, 9] },
        Request::Add { rows: vec![100, 101, 102] },
        Request::Settle,
        Request::Release { copy: false },
        Request::Remove { ids: ids(&[100, 9]), request_id: Some("ticket-2") },
        Request::Release { copy: true },
        Request::Retrain,
    ]
}

#[test]
fn a_crash_at_any_operation_leaves_all_of_a_request_or_nothing() {
    let tools = scratch();
    let recorder = Recorder::compile(tools.path());
    let root = tools.path().join("root");
    std::fs::create_dir(&root).expect("writable");
    let root = root.canonicalize().expect("just made");
    let mut disk = Disk::new(&Image::read(&root).expect("readable"));
    let mut world = World::default();
    let mut before: Option<Side> = None;
    let mut total = Tally::default();
    for (i, request) in script().iter().enumerate() {
        request.write_input(tools.path());
        let (_, operations) = recorder.run(&root, &disk, &request.arguments(tools.path()));
        let left = Image::read(&root).expect("readable");
        world = world.after(request);
        let after = Side::of(&left, world.clone());
        let interrupted = Interrupted { request, inputs: tools.path(), before: before.as_ref(), after: &after };
        let points = Points::of(&mut disk, &operations, POWER_LOSSES, i as u64);
        assert!(disk.killed() == left, "{request:?}: the log does not lead to the directory that was left");
        let found = points.check(&interrupted);
        let mut tally = Tally::of(&operations, &points);
        tally.add(&crash_again(&recorder, tools.path(), &interrupted, &points, &found));
        eprintln!("{request:?}: {tally}");
        total.add(&tally);
        if matches!(request, Request::Remove { .. }) {
            let left = |found: &Found| matches!(found, Found::After { residual } if *residual > 1e-6);
            assert!(found.iter().any(left), "a removal must leave something for its claim to say anything");
        }
        before = Some(after);
    }
    eprintln!("in all: {total}");
    assert!(total.n_points >= LEAST_POINTS, "{total}");
}

/// Lets the program work with what killed processes left, and stops it again at every operation.
fn crash_again(recorder: &Recorder, inputs: &Path, first: &Interrupted<'_>, points: &Points, found: &[Found]) -> Tally {
    let mut tally = Tally::default();
    let request = Request::Settle;
    for (point, found) in points.distinct.iter().zip(found) {
        let side = match found {
            Found::Before { .. } => first.before.expect("found"),
            Found::After { .. } => first.after,
            Found::NoModel => continue,
        };
        if point.cause != Cause::Killed {
            continue;
        }
        let folder = scratch();
        let root = folder.path().canonicalize().expect("just made");
        point.image.write(&root).expect("writable");
        let mut disk = Disk::new(&point.image);
        let (_, operations) = recorder.run(&root, &disk, &request.arguments(inputs));
        let left = Image::read(&root).expect("readable");
        let after = Side::of(&left, side.world.clone());
        let interrupted = Interrupted { request: &request, inputs, before: Some(side), after: &after };
        let points = Points::of(&mut disk, &operations, POWER_LOSSES_AFTER_A_CRASH, point.n as u64);
        assert!(disk.killed() == left, "the log of settling does not lead to the directory that was left");
        points.check(&interrupted);
        tally.add(&Tally::of(&operations, &points));
    }
    tally
}
