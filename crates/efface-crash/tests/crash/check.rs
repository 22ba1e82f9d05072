//! What must hold of a directory that a crash left, whatever the point and whatever the layout.

use std::path::Path;

use efface_crash::engine::{Claims, Opened, Place};
use efface_crash::request::{COPY, Job, REQUEST, Request, Setup, WITNESS};
use tempfile::TempDir;

use super::disk::Image;
use super::points::Check;
use super::recording::run_plainly;
use super::witness;
use super::world::World;

/// A model before or after a request.
#[derive(Clone, Debug)]
pub(crate) struct Side {
    pub(crate) world: World,
    claims: Claims,
    /// Entries of the log.
    log_size: u64,
    names: Vec<String>,
}

impl Side {
    /// Takes down what an undisturbed model says.
    pub(crate) fn of(image: &Image, world: World) -> Self {
        let folder = scratch();
        image.write(folder.path()).expect("writable");
        let place = Place::inside(folder.path(), world.setup());
        let claims = place.claims().expect("an undisturbed model");
        assert_eq!((claims.n_rows, claims.n_removed), (world.n_rows(), world.removed().len()));
        assert_eq!((claims.n_left_out, claims.repaired.len()), (world.n_left_out(), 0));
        let log_size = place.open_and_verify().expect("an undisturbed model");
        assert_eq!(place.claims().expect("an undisturbed model"), claims, "opening changes nothing");
        let names = kinds(&Image::read(folder.path()).expect("readable"));
        assert_eq!(names.iter().filter(|name| *name == "model/state/#").count(), 1, "{names:?}");
        assert!(names.iter().all(|name| !name.contains(UNFINISHED)), "{names:?}");
        Self { world, claims, log_size, names }
    }
}

/// A request that was interrupted, and the models before, within and after it. Before training there is none.
pub(crate) struct Interrupted<'a> {
    pub(crate) request: &'a Request,
    pub(crate) setup: Setup,
    pub(crate) inputs: &'a Path,
    pub(crate) before: Option<&'a Side>,
    /// Where the request consists of two.
    pub(crate) between: Option<&'a Side>,
    pub(crate) after: &'a Side,
    /// The whole directory as it was right after training, where there is a witness that knows more.
    pub(crate) backup: Option<&'a Image>,
}

/// What was found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    pub(crate) stage: Stage,
    /// The gradient that is truly left, where it is known.
    pub(crate) residual: Option<f64>,
}

/// How much of a request was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    NoModel,
    Before,
    Between,
    After,
}

impl Check for Interrupted<'_> {
    /// Looks at what was found, and then goes on working with it.
    fn check(&self, image: &Image, acknowledged: bool) -> Result<Found, String> {
        let folder = scratch();
        let root = folder.path();
        image.write(root).map_err(|error| error.to_string())?;
        for path in image.paths() {
            let top = path.split('/').next().unwrap_or(path);
            let known = top == MODEL
                || top.starts_with(ASIDE)
                || top.starts_with(COPY)
                || top.starts_with(REQUEST)
                || self.setup.witness && (top.trim_end_matches(UNFINISHED) == WITNESS || top == WITNESS_LOCK);
            ensure(known, || format!("`{top}` is left behind"))?;
        }
        if !image.has(MODEL) {
            ensure(self.before.is_none(), || "the model is gone".into())?;
            ensure(!acknowledged, || "answered and not in force".into())?;
            self.train_again(root)?;
            return Ok(Found { stage: Stage::NoModel, residual: None });
        }
        if acknowledged {
            // Before anybody opens it.
            self.after.world.forgets(image.files()).map_err(|error| format!("answered, and {error}"))?;
        }
        let place = Place::inside(root, self.setup);
        if self.setup.witness {
            ensure(image.has(WITNESS), || "the witness is gone".into())?;
        }
        let read = place.claims().map_err(|error| format!("status: {error}"))?;
        let log_size = place.open_and_verify()?;
        let claims = place.claims().map_err(|error| format!("status after opening: {error}"))?;
        ensure(read == claims, || format!("opening turned {read:?} into {claims:?}"))?;
        let (side, stage) = self.recognise(&claims, log_size)?;
        ensure(!acknowledged || stage == Stage::After, || "answered and not in force".into())?;

        let opened = Image::read(root).map_err(|error| error.to_string())?;
        let names = kinds(&opened);
        ensure(names == side.names, || format!("files are {names:?} where {:?} are expected", side.names))?;
        side.world.compare(opened.files())?;
        check_copies(&opened, claims.n_releases)?;
        if self.setup.witness {
            witness::check_in_step(&opened, &side.world, &claims, log_size)?;
        }
        if let Some(backup) = self.backup.filter(|_| acknowledged) {
            witness::check_remembers(image, backup, &side.world, claims.n_releases)?;
        }

        let mut model = place.open().map_err(|error| format!("opening again: {error}"))?;
        check_certificates(&opened, &model)?;
        let weights = model.secret_weights();
        let residual = side.world.check_claim(&weights, claims.gradient_residual)?;
        let world = self.go_on(&mut model, image.hash(), stage)?;
        model.verified_log_size().map_err(|error| format!("verifying after going on: {error}"))?;
        model.close()?;
        let n_rows = place.claims()?.n_rows;
        ensure(n_rows == world.n_rows(), || format!("one more removal leaves {n_rows} rows"))?;
        world.compare(Image::read(&place.model).map_err(|error| error.to_string())?.files())?;
        Ok(Found { stage, residual: Some(residual) })
    }
}

impl Interrupted<'_> {
    /// Which of the models makes these claims.
    fn recognise(&self, claims: &Claims, log_size: u64) -> Result<(&Side, Stage), String> {
        let known = [(Some(self.after), Stage::After), (self.between, Stage::Between), (self.before, Stage::Before)];
        for (side, stage) in known {
            if let Some(side) = side.filter(|side| side.claims == *claims && side.log_size == log_size) {
                return Ok((side, stage));
            }
        }
        let known = known.map(|(side, _)| side.map(|side| (&side.claims, side.log_size)));
        Err(format!("neither before nor after: {claims:?} and a log of {log_size}\n{known:?}"))
    }

    /// A training that was killed stops no other one, which clears all that was left.
    fn train_again(&self, root: &Path) -> Result<(), String> {
        let (setup, inputs) = (self.setup, self.inputs.into());
        run_plainly(root, &Job { request: Request::Train, setup, inputs, is_moved: false })?;
        let trained = Image::read(root).map_err(|error| error.to_string())?;
        let names = kinds(&trained);
        ensure(names == self.after.names, || format!("files after training again are {names:?}"))?;
        let claims = Place::inside(root, self.setup).claims()?;
        ensure(claims == self.after.claims, || format!("training again gives {claims:?}"))
    }

    /// The request is repeated, a removed row cannot be removed twice, one that is there can. What is left after that.
    fn go_on(&self, model: &mut Opened, chance: u64, stage: Stage) -> Result<World, String> {
        let wanted = &self.after.world;
        let repeated = match self.request {
            Request::Train => Ok(()),
            // What was handed out before may be there already.
            request => model.perform(self.inputs, request, scratch().path()),
        };
        let is_removed = stage != Stage::Before;
        match self.request {
            Request::Remove { request_id: None, .. } | Request::RemoveSubject { request_id: None, .. }
                if is_removed =>
            {
                refused(repeated, "has already been removed")?;
            }
            Request::Add { .. } if stage == Stage::After => refused(repeated, "is already present")?,
            Request::Revoke { .. } if stage == Stage::After => refused(repeated, "is revoked already")?,
            _ => repeated.map_err(|error| format!("repeated: {error}"))?,
        }
        let n_rows = model.n_rows();
        ensure(n_rows == wanted.n_rows(), || format!("repeated, it leaves {n_rows} rows and not {}", wanted.n_rows()))?;
        let mut remove = |id: &str| model.remove(&[id], None).map(drop);
        let removed = wanted.removed();
        for id in removed.first().into_iter().chain(removed.last()) {
            refused(remove(id), "has already been removed")?;
        }
        let present = wanted.present(chance);
        remove(present).map_err(|error| format!("a row that is present: {error}"))?;
        refused(remove(present), "has already been removed")?;
        Ok(wanted.after(&Request::Remove { ids: vec![present.into()], request_id: None, settle: false }))
    }
}

/// A copy of a release is there as a whole or not at all, and never without its certificate.
fn check_copies(image: &Image, n_releases: usize) -> Result<(), String> {
    let certificate = format!("{COPY}.certificate.json");
    for (copy, original) in [(COPY, "model.json"), (certificate.as_str(), "certificate.json")] {
        if !image.has(copy) {
            continue;
        }
        let original = format!("{MODEL}/releases/{n_releases}/{original}");
        ensure(image.has(&certificate), || "a copy without its certificate".into())?;
        ensure(image.content(copy) == image.content(&original), || format!("{copy} is not {original}"))?;
    }
    Ok(())
}

/// Certificates that were handed out, if they are there, are genuine and in the log.
fn check_certificates(image: &Image, model: &Opened) -> Result<(), String> {
    for name in [format!("{COPY}.certificate.json"), REQUEST.into()] {
        if let Some(certificate) = image.content(&name) {
            model.vouches_for(certificate).map_err(|error| format!("{name}: {error}"))?;
        }
    }
    Ok(())
}

/// The files of a model and its witness, numbers left out: a crash may skip one. A log without a byte is left out too:
/// whoever reads the database makes it.
pub(crate) fn kinds(image: &Image) -> Vec<String> {
    let counts = |path: &&str| {
        let is_log = path.ends_with("-wal") && image.content(path).is_some_and(<[u8]>::is_empty);
        (path.starts_with(MODEL) || path.starts_with(WITNESS)) && !is_log
    };
    let mut kinds: Vec<String> = image.paths().filter(counts).map(without_numbers).collect();
    kinds.sort();
    kinds
}

fn without_numbers(path: &str) -> String {
    let mut kind = String::new();
    for c in path.chars() {
        match c {
            '0'..='9' if kind.ends_with('#') => {}
            '0'..='9' => kind.push('#'),
            _ => kind.push(c),
        }
    }
    kind
}

/// A folder in memory where the system has one: syncing costs nothing there.
pub(crate) fn scratch() -> TempDir {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    folder.expect("a temporary folder")
}

pub(crate) fn refused(answer: Result<(), String>, why: &str) -> Result<(), String> {
    match answer {
        Ok(()) => Err(format!("what must be refused (`{why}`) is done")),
        Err(error) if error.contains(why) => Ok(()),
        Err(error) => Err(format!("refused for another reason than `{why}`: {error}")),
    }
}

pub(crate) fn ensure(holds: bool, message: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(message()) }
}

const MODEL: &str = "model";

/// What follows the name of a file while it is written.
const UNFINISHED: &str = ".partial";

/// The lock of a witness stays beside it, as that of a directory stays in it.
const WITNESS_LOCK: &str = "witness.lock";

/// What a training writes before its directory gets its name.
const ASIDE: &str = "model.partial-";
