//! A directory of version 1 that becomes one of this version, stopped everywhere: the same rows, the same removals.

use std::fs;
use std::path::Path;

use super::check::{Found, Stage, ensure, kinds, refused, scratch};
use super::disk::Image;
use super::engine::{Claims, Place};
use super::points::Check;

/// Makes a directory of version 1: trained on 30 rows, u3 and u7 removed by request `first`, then p4 with u12 to u14,
/// released, u30 to u33 added, u30 removed. The old program was stopped before it overwrote that last row.
pub(crate) fn make_version_1(model: &Path) {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../efface-engine/tests/compat/model-v1");
    fs::create_dir(model).and_then(|()| Image::read(&kept)?.write(model)).expect("a copy");
    let rows = model.join("rows.bin");
    let mut bytes = fs::read(&rows).expect("readable");
    bytes[U30..][..LEFT_BEHIND.len()].copy_from_slice(&LEFT_BEHIND);
    fs::write(&rows, bytes).expect("writable");
}

/// Makes a directory of version 2, which has neither a log nor a key, by the same commands.
pub(crate) fn make_version_2(model: &Path) {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../efface-engine/tests/compat/model-v2");
    fs::create_dir(model).and_then(|()| Image::read(&kept)?.write(model)).expect("a copy");
}

const REMOVED: [usize; 6] = [3, 7, 12, 13, 14, 30];
const N_POSITIONS: usize = 34;

/// Where the record of u30 begins in `rows.bin`: a header of 64 bytes, and 44 bytes for each row of four values.
const U30: usize = 64 + 30 * 44;
const LEFT_BEHIND: [u8; 44] = *b"label...and four values of a row which left.";

/// An upgrade that was interrupted.
pub(crate) struct Upgrade {
    /// The directory of version 1.
    old: Image,
    /// What it claims, as an old model and as a new one, and what it claims after each settling.
    claims: Vec<Claims>,
    names: Vec<String>,
}

impl Upgrade {
    pub(crate) fn of(old: &Image, new: &Image) -> Self {
        let mut upgrade = Self { old: old.clone(), claims: Vec::new(), names: kinds(new) };
        upgrade.allow(old);
        upgrade.allow(new);
        assert!(upgrade.names.iter().all(|name| !name.contains("state.efface") && !name.contains("rows.bin")));
        upgrade
    }

    /// The claims of one more model may be found.
    pub(crate) fn allow(&mut self, image: &Image) {
        let folder = scratch();
        image.write(folder.path()).expect("writable");
        let claims = Place::without_witness(folder.path()).claims().expect("an undisturbed model");
        assert_eq!((claims.n_rows, claims.n_removed), (N_POSITIONS - REMOVED.len(), REMOVED.len()));
        assert!(claims.mended.is_empty());
        self.claims.push(claims);
    }

    /// No id in clear, and nothing of the row that had left the old directory without being overwritten.
    fn check_bytes(image: &Image) -> Result<(), String> {
        let ids = (0..N_POSITIONS).map(|i| format!("\"u{i}\"").into_bytes());
        let unwanted: Vec<Vec<u8>> = ids.chain(LEFT_BEHIND.chunks(11).map(<[u8]>::to_vec)).collect();
        let mut is_first = [false; 256];
        for pattern in &unwanted {
            is_first[usize::from(pattern[0])] = true;
        }
        for (name, bytes) in image.files() {
            let starts = (0..bytes.len()).filter(|i| is_first[usize::from(bytes[*i])]);
            for rest in starts.map(|i| &bytes[i..]) {
                let found = unwanted.iter().find(|pattern| rest.starts_with(pattern));
                ensure(found.is_none(), || format!("{name} still knows {found:?}"))?;
            }
        }
        Ok(())
    }
}

impl Check for Upgrade {
    fn check(&self, image: &Image, acknowledged: bool) -> Result<Found, String> {
        let folder = scratch();
        image.write(folder.path()).map_err(|error| error.to_string())?;
        let place = Place::without_witness(folder.path());
        let read = place.claims().map_err(|error| format!("status: {error}"))?;
        let latest =
            self.claims.iter().rposition(|claims| *claims == read).ok_or_else(|| format!("claims {read:?}"))?;
        let is_after = latest + 1 == self.claims.len();
        ensure(!acknowledged || is_after, || "answered and not in force".into())?;
        if acknowledged {
            Self::check_bytes(image).map_err(|error| format!("answered, and {error}"))?;
        }
        place.open_and_verify()?;
        let claims = place.claims().map_err(|error| format!("status after opening: {error}"))?;
        ensure(read == claims, || format!("opening turned {read:?} into {claims:?}"))?;
        let opened = Image::read(folder.path()).map_err(|error| error.to_string())?;
        let names = kinds(&opened);
        ensure(names == self.names, || format!("files are {names:?} where {:?} are expected", self.names))?;
        Self::check_bytes(&opened)?;
        let published = "model/releases/1/model.json";
        ensure(opened.content(published) == self.old.content(published), || "another release".into())?;

        let mut model = place.open()?;
        for i in REMOVED {
            refused(model.remove(&[&format!("u{i}")], None).map(drop), "has already been removed")?;
        }
        ensure(model.remove(&["u7", "u3"], Some("first"))?, || "a request is forgotten".into())?;
        let mut present: Vec<String> =
            (0..N_POSITIONS).filter(|i| !REMOVED.contains(i)).map(|i| format!("u{i}")).collect();
        let chance = image.hash() as usize % present.len();
        present.rotate_left(chance);
        let half: Vec<&str> = present.iter().take(present.len() / 2).map(String::as_str).collect();
        model.remove(&half, None).map_err(|error| format!("rows that are present: {error}"))?;
        model.close()?;
        let n_rows = place.claims()?.n_rows;
        ensure(n_rows + half.len() == claims.n_rows, || format!("{n_rows} rows are left"))?;
        let stage = if is_after { Stage::After } else { Stage::Before };
        Ok(Found { stage, residual: None })
    }
}
