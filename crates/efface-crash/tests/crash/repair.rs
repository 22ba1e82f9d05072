//! An old backup that is put back and repaired, stopped everywhere: whoever was removed stays removed, and what was spent
//! stays spent.

use std::fs;
use std::path::Path;

use efface_crash::engine::Place;
use efface_crash::request::{Request, Setup};

use super::check::{Found, Stage, ensure, refused, scratch};
use super::disk::Image;
use super::points::Check;
use super::world::World;

/// What is put back, each time with all else as it is today.
pub(crate) const RESTORED: [&[&str]; 5] =
    [&["efface.db", "rows", "state", "releases"], &["rows"], &["state"], &["efface.db"], &["efface.db", "state"]];

/// Puts parts of a model directory back as they were.
pub(crate) fn restore(root: &Path, old: &Image, parts: &[&str]) {
    let model = root.join("model");
    for part in parts {
        let place = model.join(part);
        let removed = if place.is_dir() { fs::remove_dir_all(&place) } else { fs::remove_file(&place) };
        removed.expect("there");
    }
    let is_restored = |name: &str| {
        let part = name.strip_prefix("model/").unwrap_or_default();
        parts.contains(&part.split('/').next().unwrap_or_default())
    };
    for path in old.paths().filter(|path| is_restored(path)) {
        match old.content(path) {
            None => fs::create_dir_all(root.join(path)),
            Some(content) => fs::write(root.join(path), content),
        }
        .expect("writable");
    }
}

/// Repair that was interrupted.
pub(crate) struct Repair {
    pub(crate) setup: Setup,
    /// What there was before the backup was put back.
    pub(crate) world: World,
    pub(crate) n_releases: usize,
}

impl Check for Repair {
    fn check(&self, image: &Image, acknowledged: bool) -> Result<Found, String> {
        let folder = scratch();
        image.write(folder.path()).map_err(|error| error.to_string())?;
        let place = Place::inside(folder.path(), self.setup);
        if acknowledged {
            self.world.forgets(image.files()).map_err(|error| format!("answered, and {error}"))?;
        }
        place.open_and_verify()?;
        let claims = place.claims().map_err(|error| format!("status after opening: {error}"))?;
        let (n_rows, n_releases) = (self.world.n_rows(), self.n_releases);
        ensure(claims.n_rows == n_rows, || format!("{} rows where {n_rows} are expected", claims.n_rows))?;
        ensure(claims.n_releases == n_releases, || format!("{} releases are counted", claims.n_releases))?;
        ensure(!claims.repaired.is_empty(), || "nothing is told of it".into())?;
        let opened = Image::read(folder.path()).map_err(|error| error.to_string())?;
        self.world.compare(opened.files())?;

        let mut model = place.open()?;
        for id in self.world.removed() {
            refused(model.remove(&[id], None).map(drop), "has already been removed")?;
        }
        model.perform(folder.path(), &Request::Settle, folder.path())?;
        model.remove(&[self.world.present(image.hash())], None)?;
        model.verified_log_size()?;
        model.close()?;
        Ok(Found { stage: if acknowledged { Stage::After } else { Stage::Before }, residual: None })
    }
}
