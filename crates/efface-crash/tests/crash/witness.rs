//! The witness of a model: after a crash it knows all that was answered, and what the directory knows once that is open.

use efface_crash::engine::{Claims, Place};
use efface_crash::request::WITNESS;

use super::check::{ensure, scratch};
use super::disk::Image;
use super::world::World;

/// What the lines of a witness say, read without the engine.
#[derive(Debug, PartialEq, Eq)]
struct Knowledge {
    changes: usize,
    suppressed: usize,
    releases: usize,
    entries: u64,
}

impl Knowledge {
    fn read(text: &str) -> Option<Self> {
        let mut knowledge = Self { changes: 0, suppressed: 0, releases: 0, entries: 0 };
        for line in text.lines().skip(1) {
            // The last word of every line is its checksum.
            let told: serde_json::Value = serde_json::from_str(line.rsplit_once(' ')?.0).ok()?;
            knowledge.changes = usize::try_from(told["n_changes"].as_u64()?).ok()?;
            knowledge.suppressed += told["removed"].as_array()?.len();
            knowledge.releases = usize::try_from(told["account"]["n_releases"].as_u64()?).ok()?;
            knowledge.entries = told["ledger"][1].as_u64()?;
        }
        Some(knowledge)
    }
}

/// The witness says what the model says.
pub(crate) fn check_in_step(image: &Image, world: &World, claims: &Claims, log_size: u64) -> Result<(), String> {
    let text = image.content(WITNESS).and_then(|bytes| std::str::from_utf8(bytes).ok()).ok_or("no witness")?;
    let known = Knowledge::read(text).ok_or_else(|| format!("a witness that is not understood: {text}"))?;
    let wanted = Knowledge {
        changes: world.n_changes(),
        suppressed: world.n_suppressed(),
        releases: claims.n_releases,
        entries: log_size,
    };
    ensure(known == wanted, || format!("the witness knows {known:?} where {wanted:?} is expected"))
}

/// The witness as a crash left it brings an old copy of the whole directory to where the world is: all who left leave
/// again, and what was spent is spent.
pub(crate) fn check_remembers(image: &Image, backup: &Image, world: &World, n_releases: usize) -> Result<(), String> {
    let folder = scratch();
    backup.write(folder.path()).map_err(|error| error.to_string())?;
    let witness = image.content(WITNESS).ok_or("no witness")?;
    std::fs::write(folder.path().join(WITNESS), witness).map_err(|error| error.to_string())?;
    let place = Place::inside(folder.path(), world.setup());
    let mut old = place.open().map_err(|error| format!("an old copy: {error}"))?;
    let claims = place.claims()?;
    ensure(claims.n_releases == n_releases, || format!("an old copy counts {} releases", claims.n_releases))?;
    for id in world.removed() {
        let answer = old.remove(&[id], None);
        let is_refused = answer.as_ref().is_err_and(|error| error.contains("has already been removed"));
        ensure(is_refused, || format!("`{id}` in an old copy: {answer:?}"))?;
    }
    Ok(())
}
