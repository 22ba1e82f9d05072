//! What must hold of a directory that a crash left, whatever the point and whatever the layout.

use std::path::Path;

use tempfile::TempDir;

use super::disk::Image;
use super::engine::{self, Claims};
use super::recording::run_plainly;
use super::world::{COPY, Request, World};

/// A model before or after a request.
#[derive(Clone, Debug)]
pub(crate) struct Side {
    pub(crate) world: World,
    claims: Claims,
    names: Vec<String>,
}

impl Side {
    /// Takes down what an undisturbed model says. Opened and closed first, as the ones that it is compared with are.
    pub(crate) fn of(image: &Image, world: World) -> Self {
        let folder = scratch();
        image.write(folder.path()).expect("writable");
        let model = folder.path().join(MODEL);
        engine::open_and_close(&model).expect("an undisturbed model");
        let claims = engine::claims(&model).expect("an undisturbed model");
        assert_eq!(claims.n_rows, world.n_rows());
        let names = kinds(&Image::read(folder.path()).expect("readable"));
        Self { world, claims, names }
    }
}

/// A request that was interrupted, and the models before and after it. Before training there is none.
pub(crate) struct Interrupted<'a> {
    pub(crate) request: &'a Request,
    pub(crate) inputs: &'a Path,
    pub(crate) before: Option<&'a Side>,
    pub(crate) after: &'a Side,
}

/// Which of the two was found, and the gradient that is truly left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Found {
    Before { residual: f64 },
    After { residual: f64 },
    NoModel,
}

impl Interrupted<'_> {
    /// Looks at what was found, and then goes on working with it.
    pub(crate) fn check(&self, image: &Image) -> Result<Found, String> {
        let folder = scratch();
        let root = folder.path();
        image.write(root).map_err(|error| error.to_string())?;
        for path in image.paths() {
            let top = path.split('/').next().unwrap_or(path);
            let known = top == MODEL || top.starts_with(ASIDE) || top.starts_with(COPY);
            ensure(known, || format!("`{top}` is left behind"))?;
        }
        if !image.has(MODEL) {
            ensure(self.before.is_none(), || "the model is gone".into())?;
            self.train_again(root)?;
            return Ok(Found::NoModel);
        }
        let model = root.join(MODEL);
        let read = engine::claims(&model).map_err(|error| format!("status: {error}"))?;
        engine::open_and_close(&model).map_err(|error| format!("opening: {error}"))?;
        let claims = engine::claims(&model).map_err(|error| format!("status after opening: {error}"))?;
        ensure(read == claims, || format!("opening turned {read:?} into {claims:?}"))?;
        let (side, is_after) = match self.before {
            Some(before) if claims == before.claims && claims != self.after.claims => (before, false),
            _ => (self.after, true),
        };
        ensure(claims == side.claims, || {
            format!(
                "neither before nor after: {claims:?}\n{:?}\n{:?}",
                self.before.map(|side| &side.claims),
                side.claims
            )
        })?;

        let opened = Image::read(root).map_err(|error| error.to_string())?;
        let mut names = kinds(&opened);
        names.retain(|name| !name.ends_with(UNFINISHED));
        ensure(names == side.names, || format!("files are {names:?} where {:?} are expected", side.names))?;
        side.world.compare(opened.files())?;
        check_copies(&opened, claims.n_releases)?;

        let weights = engine::secret_weights(&model).map_err(|error| format!("releasing: {error}"))?;
        let residual = side.world.check_claim(&weights, claims.gradient_residual)?;
        self.go_on(&model, image.hash(), is_after)?;
        Ok(if is_after { Found::After { residual } } else { Found::Before { residual } })
    }

    /// A training that was killed stops no other one, which clears what was left: all but a folder without a byte, which
    /// could be anybody's.
    fn train_again(&self, root: &Path) -> Result<(), String> {
        run_plainly(root, &Request::Train.arguments(self.inputs))?;
        let trained = Image::read(root).map_err(|error| error.to_string())?;
        let rows_left = trained.files().find(|(path, bytes)| path.starts_with(ASIDE) && !bytes.is_empty());
        ensure(rows_left.is_none(), || format!("training again leaves {:?}", rows_left.map(|(path, _)| path)))?;
        let names: Vec<String> = kinds(&trained).into_iter().filter(|name| !name.starts_with(ASIDE)).collect();
        ensure(names == self.after.names, || format!("files after training again are {names:?}"))?;
        let claims = engine::claims(&root.join(MODEL))?;
        ensure(claims == self.after.claims, || format!("training again gives {claims:?}"))
    }

    /// The request is repeated, a removed row cannot be removed twice, one that is there can.
    fn go_on(&self, model: &Path, chance: u64, is_after: bool) -> Result<(), String> {
        let wanted = &self.after.world;
        let repeated = match self.request {
            Request::Train => Ok(()),
            request => engine::perform(model, self.inputs, request),
        };
        match self.request {
            Request::Remove { request_id: None, .. } | Request::RemoveSubject { request_id: None, .. } if is_after => {
                refused(repeated, "has already been removed")?;
            }
            Request::Add { .. } if is_after => refused(repeated, "is already present")?,
            _ => repeated.map_err(|error| format!("repeated: {error}"))?,
        }
        let n_rows = engine::claims(model)?.n_rows;
        ensure(n_rows == wanted.n_rows(), || format!("repeated, it leaves {n_rows} rows and not {}", wanted.n_rows()))?;
        let remove = |id: &str| {
            let request = Request::Remove { ids: vec![id.into()], request_id: None };
            engine::perform(model, self.inputs, &request)
        };
        let removed = wanted.removed();
        for id in removed.first().into_iter().chain(removed.last()) {
            refused(remove(id), "has already been removed")?;
        }
        let present = wanted.present(chance);
        remove(present).map_err(|error| format!("a row that is present: {error}"))?;
        refused(remove(present), "has already been removed")?;
        let n_rows = engine::claims(model)?.n_rows;
        ensure(n_rows + 1 == wanted.n_rows(), || format!("one more removal leaves {n_rows} rows"))?;
        let wanted = wanted.after(&Request::Remove { ids: vec![present.into()], request_id: None });
        let left = Image::read(model).map_err(|error| error.to_string())?;
        wanted.compare(left.files())?;
        let unfinished = left.paths().find(|path| path.ends_with(UNFINISHED));
        ensure(unfinished.is_none(), || format!("`{unfinished:?}` is left behind for good"))
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

/// The files of a model, numbers left out: a crash may skip one.
fn kinds(image: &Image) -> Vec<String> {
    let inside = image.paths().filter(|path| path.starts_with("model"));
    let mut kinds: Vec<String> = inside.map(without_numbers).collect();
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

fn refused(answer: Result<(), String>, why: &str) -> Result<(), String> {
    match answer {
        Ok(()) => Err(format!("what must be refused (`{why}`) is done")),
        Err(error) if error.contains(why) => Ok(()),
        Err(error) => Err(format!("refused for another reason than `{why}`: {error}")),
    }
}

fn ensure(holds: bool, message: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(message()) }
}

const MODEL: &str = "model";

/// Files that a process was writing aside. Opening may leave them, the next change does not.
const UNFINISHED: &str = ".partial";

/// What a training writes before its directory gets its name.
const ASIDE: &str = "model.partial-";
