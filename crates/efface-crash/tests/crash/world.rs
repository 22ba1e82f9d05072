//! What the test knows without asking the program: the rows, who has left, and what the weights ought to be.

use std::collections::{BTreeMap, BTreeSet};

use efface_crash::request::{L2_PER_ROW, Loss, N_FEATURES, Request, Row, Setup, TRAINED, Version, id};

/// Weights are known up to half a step of the lattice that releases are rounded to, 2.3e-13 in each, and gradients to ten
/// times that.
const ROUNDING: f64 = 1e-11;

fn patterns(row: &Row, loss: Loss) -> impl Iterator<Item = Pattern> {
    let label = (loss == Loss::Squared).then_some(row.score);
    row.features.into_iter().chain(label).map(f64::to_le_bytes)
}

/// Bytes that tell a row, a person or an id.
pub(crate) type Pattern = [u8; 8];

/// The rows as they ought to be.
#[derive(Clone, Debug)]
pub(crate) struct World {
    setup: Setup,
    rows: BTreeMap<String, Row>,
    removed: Vec<String>,
    n_subjects_removed: usize,
    n_left_out: usize,
    n_changes: usize,
    gone: Vec<Pattern>,
    /// Ids and subjects, of which only keyed hashes are kept anywhere.
    hidden: BTreeSet<Pattern>,
}

impl World {
    /// A world without rows.
    pub(crate) fn new(setup: Setup) -> Self {
        Self {
            setup,
            rows: BTreeMap::new(),
            removed: Vec::new(),
            n_subjects_removed: 0,
            n_left_out: 0,
            n_changes: 0,
            gone: Vec::new(),
            hidden: BTreeSet::new(),
        }
    }

    /// The world once a request is done.
    pub(crate) fn after(&self, request: &Request) -> Self {
        let mut world = self.clone();
        match request {
            Request::Train => TRAINED.for_each(|i| world.insert(i, Version::First)),
            Request::Remove { ids, .. } => ids.iter().for_each(|id| world.remove(id)),
            Request::RemoveSubject { subject, .. } => {
                let theirs = self.rows.iter().filter(|(_, row)| row.subject == *subject);
                theirs.for_each(|(id, _)| world.remove(id));
            }
            Request::Correct { rows } => {
                for i in rows {
                    let old = world.rows.remove(&id(*i)).expect("a row to correct");
                    world.gone.extend(patterns(&old, self.setup.loss));
                    world.insert(*i, Version::Corrected);
                }
            }
            Request::Add { rows } => {
                for i in rows {
                    if self.removed.contains(&id(*i)) {
                        world.n_left_out += 1;
                    } else {
                        world.insert(*i, Version::First);
                    }
                }
            }
            Request::Settle
            | Request::Release { .. }
            | Request::Retrain
            | Request::Policy
            | Request::Revoke { .. }
            | Request::Certify { .. } => {}
        }
        let is_change = matches!(
            request,
            Request::Remove { .. } | Request::RemoveSubject { .. } | Request::Correct { .. } | Request::Add { .. }
        );
        world.n_changes += usize::from(is_change);
        world
    }

    fn insert(&mut self, i: usize, version: Version) {
        let row = Row::new(i, version);
        self.hidden.extend([pattern(&id(i)), pattern(&row.subject)]);
        self.rows.insert(id(i), row);
    }

    fn remove(&mut self, id: &str) {
        let row = self.rows.remove(id).expect("a row to remove");
        self.gone.extend(patterns(&row, self.setup.loss));
        if !self.rows.values().any(|other| other.subject == row.subject) {
            self.n_subjects_removed += 1;
        }
        self.removed.push(id.into());
    }

    pub(crate) fn setup(&self) -> Setup {
        self.setup
    }

    pub(crate) fn n_rows(&self) -> usize {
        self.rows.len()
    }

    /// Ids that were removed, the latest last.
    pub(crate) fn removed(&self) -> &[String] {
        &self.removed
    }

    /// Ids and subjects that must not come back.
    pub(crate) fn n_suppressed(&self) -> usize {
        self.removed.len() + self.n_subjects_removed
    }

    /// Rows that were offered again after their removal.
    pub(crate) fn n_left_out(&self) -> usize {
        self.n_left_out
    }

    /// Requests that changed the rows.
    pub(crate) fn n_changes(&self) -> usize {
        self.n_changes
    }

    /// Some id that is present.
    pub(crate) fn present(&self, which: u64) -> &str {
        let nth = which as usize % self.rows.len();
        self.rows.keys().nth(nth).expect("there are rows")
    }

    /// No file knows a number of a row that left, or an id or a subject at all.
    pub(crate) fn forgets<'a>(&self, files: impl Iterator<Item = (&'a str, &'a [u8])>) -> Result<(), String> {
        self.search(files, &mut BTreeMap::new())
    }

    /// The same, and every number of a row that is present is found somewhere.
    pub(crate) fn compare<'a>(&self, files: impl Iterator<Item = (&'a str, &'a [u8])>) -> Result<(), String> {
        let mut wanted: BTreeMap<Pattern, bool> = BTreeMap::new();
        for row in self.rows.values() {
            wanted.extend(patterns(row, self.setup.loss).map(|pattern| (pattern, false)));
        }
        self.search(files, &mut wanted)?;
        match wanted.iter().find(|(_, found)| !**found) {
            Some((pattern, _)) => {
                Err(format!("{} is nowhere: rows are kept in a way that this cannot see", shown(*pattern)))
            }
            None => Ok(()),
        }
    }

    fn search<'a>(
        &self,
        files: impl Iterator<Item = (&'a str, &'a [u8])>,
        wanted: &mut BTreeMap<Pattern, bool>,
    ) -> Result<(), String> {
        let unwanted: BTreeSet<&Pattern> = self.gone.iter().chain(&self.hidden).collect();
        let mut first_bytes = vec![false; 1 << 16];
        for pattern in wanted.keys().chain(unwanted.iter().copied()) {
            first_bytes[first_two(pattern)] = true;
        }
        for (name, bytes) in files {
            for window in bytes.windows(8).filter(|window| first_bytes[first_two(window)]) {
                let window: Pattern = window.try_into().expect("eight bytes");
                if unwanted.contains(&window) {
                    return Err(format!("{name} still knows {}", shown(window)));
                }
                if let Some(found) = wanted.get_mut(&window) {
                    *found = true;
                }
            }
        }
        Ok(())
    }

    /// The gradient of the objective at `weights` over the rows present, from its definition.
    ///
    /// ```text
    /// ∇L(w) = Σ ℓ′ x + λ n w      ℓ′ = −y σ(−y wᵀx), y = ±1 (logistic)      ℓ′ = wᵀx − y (squared)
    /// ```
    fn gradient(&self, weights: &[f64]) -> Vec<f64> {
        let ridge = L2_PER_ROW * self.rows.len() as f64;
        let mut gradient: Vec<f64> = weights.iter().map(|w| ridge * w).collect();
        for row in self.rows.values() {
            let product: f64 = row.features.iter().zip(weights).map(|(x, w)| x * w).sum();
            let slope = match self.setup.loss {
                Loss::Logistic => {
                    let y = row.score.signum();
                    -y / (1.0 + (y * product).exp())
                }
                Loss::Squared => product - row.score,
            };
            gradient.iter_mut().zip(row.features).for_each(|(g, x)| *g += slope * x);
        }
        gradient
    }

    /// The norm of that gradient, or what is wrong with a claim about it.
    pub(crate) fn check_claim(&self, weights: &[f64], claimed: f64) -> Result<f64, String> {
        if weights.len() != N_FEATURES {
            return Err(format!("{} weights", weights.len()));
        }
        let truth = self.gradient(weights).iter().map(|g| g * g).sum::<f64>().sqrt();
        if truth <= claimed + ROUNDING {
            return Ok(truth);
        }
        Err(format!("a gradient of {truth:e} is left where at most {claimed:e} is claimed"))
    }
}

fn pattern(text: &str) -> Pattern {
    text.as_bytes().try_into().expect("eight bytes")
}

fn first_two(bytes: &[u8]) -> usize {
    usize::from(bytes[0]) | usize::from(bytes[1]) << 8
}

fn shown(pattern: Pattern) -> String {
    match std::str::from_utf8(&pattern) {
        Ok(text) if text.chars().all(|c| c.is_ascii_graphic()) => format!("`{text}`"),
        _ => format!("the number {}", f64::from_le_bytes(pattern)),
    }
}
