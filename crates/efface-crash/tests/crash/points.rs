//! The points at which a command can be stopped, and the distinct directories that they leave.

use std::collections::HashMap;
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::chance::Dice;
use super::check::Found;
use super::disk::{ContentChange, Disk, Image, Operation};

/// How a process was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Between two operations.
    Killed,
    /// After some bytes of a write.
    KilledWithin { bytes: usize },
    /// With the machine.
    PowerLost { variant: u64 },
}

/// What must hold of a directory that was found.
pub(crate) trait Check: Sync {
    /// Which model it is, or what is wrong with it. Once the answer was given, all of the request must be done.
    fn check(&self, image: &Image, acknowledged: bool) -> Result<Found, String>;
}

/// A directory that can be found, and the first point at which it is.
pub(crate) struct Point {
    /// Operations done.
    pub(crate) n: usize,
    pub(crate) cause: Cause,
    pub(crate) image: Image,
    next: String,
    /// Whether it can be found after the answer.
    acknowledged: bool,
}

/// The distinct directories that the stops of one command leave.
#[derive(Default)]
pub(crate) struct Points {
    pub(crate) distinct: Vec<Point>,
    by_hash: HashMap<u64, usize>,
    n_tried: usize,
}

impl Points {
    /// Plays a command on the disk, and stops before each operation and after the last one.
    ///
    /// About so many power losses are tried in all, but one at every operation. Where there are few, operations share the
    /// variants.
    pub(crate) fn of(disk: &mut Disk, operations: &[Operation], power_losses: usize, seed: u64) -> Self {
        let power_losses = (power_losses / (operations.len() + 1)).max(1) as u64;
        let n_variants = power_losses.max(LEAST_VARIANTS);
        let mut points = Self::default();
        let mut dice = Dice(seed);
        let mut acknowledged = false;
        for n in 0..=operations.len() {
            let next = operations.get(n);
            let mut found = |cause, image| points.add(n, cause, next, image, acknowledged);
            found(Cause::Killed, disk.killed());
            if let Some(write @ Operation::Content(_, ContentChange::Write { bytes, .. })) = next {
                for bytes in [bytes.len() / 2, dice.below(bytes.len())] {
                    if let Some(image) = disk.torn(write, bytes) {
                        found(Cause::KilledWithin { bytes }, image);
                    }
                }
            }
            for i in 0..power_losses {
                let variant = (n as u64 * power_losses + i) % n_variants;
                found(Cause::PowerLost { variant }, disk.power_lost(variant, &mut dice));
            }
            if let Some(operation) = next {
                disk.apply(operation);
                acknowledged |= matches!(operation, Operation::Acknowledge);
            }
        }
        assert!(acknowledged, "a command answers");
        points
    }

    fn add(&mut self, n: usize, cause: Cause, next: Option<&Operation>, image: Image, acknowledged: bool) {
        self.n_tried += 1;
        let place = *self.by_hash.entry(image.hash()).or_insert(self.distinct.len());
        if place == self.distinct.len() {
            let next = next.map_or("the end".into(), ToString::to_string);
            self.distinct.push(Point { n, cause, image, next, acknowledged });
        }
        self.distinct[place].acknowledged |= acknowledged;
    }

    /// Checks every distinct directory.
    #[track_caller]
    pub(crate) fn check(&self, name: &str, check: &impl Check) -> Vec<Found> {
        let (found, wrong): (Vec<_>, Vec<_>) = self.look(check).into_iter().partition(Result::is_ok);
        let errors: Vec<String> = wrong.into_iter().filter_map(Result::err).collect();
        let shown = errors.iter().take(5).map(String::as_str).collect::<Vec<_>>().join("\n");
        assert!(errors.is_empty(), "{name}: {} directories are wrong\n{shown}", errors.len());
        found.into_iter().flatten().collect()
    }

    /// What is found in every distinct directory, or what is wrong with it.
    fn look(&self, check: &impl Check) -> Vec<Result<Found, String>> {
        let next = AtomicUsize::new(0);
        let answers = Mutex::new(vec![None; self.distinct.len()]);
        let work = || {
            loop {
                let i = next.fetch_add(1, Ordering::Relaxed);
                let Some(point) = self.distinct.get(i) else { return };
                let answer = point.look(check);
                answers.lock().expect("no thread has panicked")[i] = Some(answer);
            }
        };
        let n_threads = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| (0..n_threads).for_each(|_| drop(scope.spawn(work))));
        let answers = answers.into_inner().expect("no thread has panicked");
        answers.into_iter().map(|answer| answer.expect("every directory is looked at")).collect()
    }

    /// What is wrong with some directory, the latest first.
    pub(crate) fn find_wrong(&self, check: &impl Check) -> Option<String> {
        self.distinct.iter().rev().find_map(|point| point.look(check).err())
    }

    /// Some of the directories that killed processes left, spread evenly, with their places.
    pub(crate) fn killed(&self, at_most: usize) -> impl Iterator<Item = (usize, &Point)> {
        let is_killed = |(_, point): &(usize, &Point)| point.cause == Cause::Killed;
        let n_killed = self.distinct.iter().enumerate().filter(is_killed).count();
        self.distinct.iter().enumerate().filter(is_killed).step_by(n_killed.div_ceil(at_most).max(1))
    }
}

impl Point {
    fn look(&self, check: &impl Check) -> Result<Found, String> {
        let Self { n, cause, next, .. } = self;
        let found = check.check(&self.image, self.acknowledged);
        found.map_err(|error| format!("{cause:?} after {n} operations, before {next}: {error}"))
    }
}

/// The extremes, and some chance.
const LEAST_VARIANTS: u64 = 7;

/// What was tried, in numbers.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) points: usize,
    operations: usize,
    directories: usize,
}

impl Tally {
    pub(crate) fn of(operations: &[Operation], points: &Points) -> Self {
        Self { points: points.n_tried, operations: operations.len(), directories: points.distinct.len() }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.points += other.points;
        self.operations += other.operations;
        self.directories += other.directories;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { points, operations, directories } = self;
        write!(f, "{operations} operations, {points} points, {directories} distinct directories")
    }
}
