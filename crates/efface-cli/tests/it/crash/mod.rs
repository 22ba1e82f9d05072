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
//! A crash can come while the traces of an earlier one are cleared away: directories that killed processes left are
//! given to the program once more, and that run is stopped at every operation too.
#![cfg(target_os = "linux")]

mod chance;
mod check;
mod disk;
mod engine;
mod names;
mod points;
mod recording;
mod world;

use std::path::PathBuf;

use check::{Found, Interrupted, Side, scratch};
use disk::{Disk, Image, Operation};
use points::{Points, Tally};
use recording::Recorder;
use tempfile::TempDir;
use world::{Request, World, id, subject};

/// Power losses tried during each command, and during one that clears up after a crash. To be lowered if the test takes
/// too long; that a process is killed is tried at every operation.
const POWER_LOSSES: usize = 800;
const POWER_LOSSES_AFTER_A_CRASH: usize = 40;

/// Crashes of each command after which the program is stopped again.
const CRASHES_TO_CLEAR: usize = 12;

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
    let mut session = Session::start();
    let mut total = Tally::default();
    for request in script() {
        let (operations, before, after) = session.record(&request);
        let inputs = session.inputs();
        let interrupted = Interrupted { request: &request, inputs: &inputs, before: before.as_ref(), after: &after };
        let points = Points::of(&mut session.disk, &operations, POWER_LOSSES, total.points as u64);
        session.assert_log_is_complete();
        let found = points.check(&interrupted);
        let mut tally = Tally::of(&operations, &points);
        tally.add(&crash_again(&session.recorder, &interrupted, &points, &found));
        eprintln!("{request:?}: {tally}");
        total.add(&tally);
        if matches!(request, Request::Remove { .. }) {
            let left = |found: &Found| matches!(found, Found::After { residual } if *residual > 1e-6);
            assert!(found.iter().any(left), "a removal must leave something for its claim to say anything");
        }
    }
    eprintln!("in all: {total}");
    assert!(total.points >= LEAST_POINTS, "{total}");
}

/// The test must be able to fail. Without its syncs, or with its answer given too early, a removal is not safe.
#[test]
fn a_missing_sync_and_an_early_answer_are_noticed() {
    let is_file = |operation: &Operation| matches!(operation, Operation::SyncFile(_));
    let is_folder = |operation: &Operation| matches!(operation, Operation::SyncFolder(_));
    let is_answer = |operation: &Operation| matches!(operation, Operation::Acknowledge);
    let spoilers: [(Spoiler<'_>, bool); 4] = [
        (&|operations| operations.retain(|operation| !is_file(operation)), true),
        (&|operations| operations.retain(|operation| !is_folder(operation)), true),
        (&|operations| operations.sort_by_key(|operation| !is_answer(operation)), true),
        (&|_| {}, false),
    ];
    for (i, (spoil, must_fail)) in spoilers.into_iter().enumerate() {
        let mut session = Session::start();
        let remove = Request::Remove { ids: vec![id(3)], request_id: None };
        for request in [Request::Train, remove] {
            let (mut operations, before, after) = session.record(&request);
            if before.is_some() {
                spoil(&mut operations);
            }
            let points = Points::of(&mut session.disk, &operations, POWER_LOSSES, 1);
            session.assert_log_is_complete();
            let Some(before) = before else { continue };
            let inputs = session.inputs();
            let interrupted = Interrupted { request: &request, inputs: &inputs, before: Some(&before), after: &after };
            let errors: Vec<String> = points.look(&interrupted).into_iter().filter_map(Result::err).collect();
            assert_eq!(!errors.is_empty(), must_fail, "spoiler {i}: {errors:?}");
        }
    }
}

/// Makes a log worse than it was.
type Spoiler<'a> = &'a dyn Fn(&mut Vec<Operation>);

/// A folder with a model, the recorder, and the disk that the recorded commands work on.
struct Session {
    folder: TempDir,
    recorder: Recorder,
    disk: Disk,
    world: World,
    latest: Option<Side>,
}

impl Session {
    fn start() -> Self {
        let folder = scratch();
        std::fs::create_dir(folder.path().join(ROOT)).expect("writable");
        let recorder = Recorder::compile(folder.path());
        let disk = Disk::new(&Image::read(&folder.path().join(ROOT)).expect("readable"));
        Self { folder, recorder, disk, world: World::default(), latest: None }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join(ROOT).canonicalize().expect("there")
    }

    fn inputs(&self) -> PathBuf {
        self.folder.path().into()
    }

    /// Runs a request to its end: what it did, and the models before and after it.
    fn record(&mut self, request: &Request) -> (Vec<Operation>, Option<Side>, Side) {
        request.write_input(&self.inputs());
        let operations = self.recorder.run(&self.root(), &self.disk, &request.arguments(&self.inputs()));
        self.world = self.world.after(request);
        let after = Side::of(&Image::read(&self.root()).expect("readable"), self.world.clone());
        (operations, self.latest.replace(after.clone()), after)
    }

    /// Nothing that the program did to its files has escaped the recorder.
    fn assert_log_is_complete(&self) {
        let left = Image::read(&self.root()).expect("readable");
        assert!(self.disk.killed() == left, "the log does not lead to the directory that was left");
    }
}

const ROOT: &str = "root";

/// Lets the program work with what killed processes left, and stops it again at every operation.
fn crash_again(recorder: &Recorder, first: &Interrupted<'_>, points: &Points, found: &[Found]) -> Tally {
    let inputs = first.inputs;
    let mut tally = Tally::default();
    let request = Request::Settle;
    for (i, point) in points.killed(CRASHES_TO_CLEAR) {
        let side = match found[i] {
            Found::Before { .. } => first.before.expect("found"),
            Found::After { .. } => first.after,
            Found::NoModel => continue,
        };
        let folder = scratch();
        let root = folder.path().canonicalize().expect("just made");
        point.image.write(&root).expect("writable");
        let mut disk = Disk::new(&point.image);
        let operations = recorder.run(&root, &disk, &request.arguments(inputs));
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
