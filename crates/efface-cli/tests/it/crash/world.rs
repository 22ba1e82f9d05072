//! What the test knows without asking the program: the rows, who has left, and what the weights ought to be.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::sandbox::noise;

pub(crate) const N_FEATURES: usize = 3;

/// So much noise that no release settles first, and a claim right after a removal can be compared with the truth.
pub(crate) const NOISE_STD: f64 = 1e3;

const L2_PER_ROW: f64 = 1e-2;

/// Weights are known up to half a step of the lattice that releases are rounded to, 2.3e-13 in each, and gradients to ten
/// times that.
const ROUNDING: f64 = 1e-11;

/// What holds for all commands on a model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    pub(crate) loss: Loss,
    /// Whether a witness is kept, outside the model directory.
    pub(crate) witness: bool,
    /// Whether the operator has a key of their own, elsewhere.
    pub(crate) key: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    Logistic,
    Squared,
}

/// What is asked of the program.
#[derive(Clone, Debug)]
pub(crate) enum Request {
    Train,
    Remove {
        ids: Vec<String>,
        request_id: Option<&'static str>,
        settle: bool,
    },
    RemoveSubject {
        subject: String,
        request_id: Option<&'static str>,
    },
    Correct {
        rows: Vec<usize>,
    },
    Add {
        rows: Vec<usize>,
    },
    Settle,
    Release {
        copy: bool,
    },
    Retrain,
    /// A policy that never holds a release back: the checks make one.
    Policy,
    Revoke {
        release: usize,
    },
    Certify {
        request: &'static str,
    },
}

impl Request {
    /// The removal of some rows by number.
    pub(crate) fn remove(rows: &[usize], request_id: Option<&'static str>) -> Self {
        Self::Remove { ids: rows.iter().map(|i| id(*i)).collect(), request_id, settle: false }
    }

    /// The part of the request that can be done without the rest of it.
    pub(crate) fn first_half(&self) -> Option<Self> {
        match self {
            Self::Remove { ids, request_id, settle: true } => {
                Some(Self::Remove { ids: ids.clone(), request_id: *request_id, settle: false })
            }
            _ => None,
        }
    }

    /// The command line. Where the witness is, a model remembers from training.
    pub(crate) fn arguments(&self, inputs: &Path, setup: Setup) -> Vec<String> {
        let input = self.input(inputs).display().to_string();
        let line = match self {
            Self::Train => {
                let loss = match setup.loss {
                    Loss::Logistic => "logistic",
                    Loss::Squared => "squared",
                };
                format!(
                    "train {input} --label y --id id --subject who --scale none --loss {loss} --l2 {L2_PER_ROW} \
                     --noise-std {NOISE_STD} --out model"
                )
            }
            Self::Remove { ids, request_id, settle } => {
                let settle = if *settle { " --settle" } else { "" };
                format!("remove model --id {}{}{settle}", ids.join(" "), named(*request_id))
            }
            Self::RemoveSubject { subject, request_id } => {
                format!("remove model --subject {subject}{}", named(*request_id))
            }
            Self::Correct { .. } => format!("correct model {input}"),
            Self::Add { .. } => format!("add model {input}"),
            Self::Settle => "settle model".into(),
            Self::Release { copy: false } => "release model".into(),
            Self::Release { copy: true } => format!("release model --out {COPY}"),
            Self::Retrain => "retrain model".into(),
            Self::Policy => format!("policy model --min-removals {MIN_REMOVALS}"),
            Self::Revoke { release } => format!("revoke model {release}"),
            Self::Certify { request } => format!("certificate request model {request} --out {REQUEST}"),
        };
        let mut arguments: Vec<String> = line.split(' ').chain(["--json"]).map(String::from).collect();
        if matches!(self, Self::Train) {
            arguments.extend(setup.witness.then(witness_arguments).into_iter().flatten());
            arguments.extend(
                setup.key.then(|| ["--key".into(), key_file(inputs).display().to_string()]).into_iter().flatten(),
            );
        }
        arguments
    }

    /// The same where the model has been moved to, and its witness with it.
    pub(crate) fn arguments_elsewhere(&self, inputs: &Path, setup: Setup) -> Vec<String> {
        let mut arguments = self.arguments(inputs, setup);
        if setup.witness && !matches!(self, Self::Train) {
            arguments.extend(witness_arguments());
        }
        arguments
    }

    /// The file of rows that the request takes.
    pub(crate) fn input(&self, inputs: &Path) -> PathBuf {
        inputs.join(match self {
            Self::Correct { .. } => "corrected.csv",
            Self::Add { .. } => "added.csv",
            _ => "rows.csv",
        })
    }

    /// Writes that file.
    pub(crate) fn write_input(&self, inputs: &Path, setup: Setup) {
        let rows: Vec<(usize, Version)> = match self {
            Self::Train => TRAINED.map(|i| (i, Version::First)).collect(),
            Self::Correct { rows } => rows.iter().map(|i| (*i, Version::Corrected)).collect(),
            Self::Add { rows } => rows.iter().map(|i| (*i, Version::First)).collect(),
            _ => return,
        };
        let mut text = String::from("id,who,a,b,c,y\n");
        for (i, version) in rows {
            let row = Row::new(i, version);
            let [a, b, c] = row.features;
            let y = match setup.loss {
                Loss::Logistic if row.score > 0.0 => "yes".into(),
                Loss::Logistic => "no".into(),
                Loss::Squared => row.score.to_string(),
            };
            writeln!(text, "{},{},{a},{b},{c},{y}", id(i), row.subject).expect("text");
        }
        std::fs::write(self.input(inputs), text).expect("writable");
    }
}

fn named(request_id: Option<&str>) -> String {
    request_id.map(|id| format!(" --request-id {id}")).unwrap_or_default()
}

fn witness_arguments() -> [String; 2] {
    ["--witness".into(), WITNESS.into()]
}

/// The witness, beside the model.
pub(crate) const WITNESS: &str = "witness";

/// Where the copy of a release goes.
pub(crate) const COPY: &str = "copy.json";

/// Where the certificate of a request goes.
pub(crate) const REQUEST: &str = "request.json";

/// One person is enough, and without anybody nothing is held back.
pub(crate) const MIN_REMOVALS: usize = 1;

/// The operator's key, among the inputs.
pub(crate) fn key_file(inputs: &Path) -> PathBuf {
    inputs.join("operator.key")
}

const TRAINED: std::ops::Range<usize> = 0..40;

/// Eight bytes, so that it can be looked for in the way of a number.
pub(crate) fn id(i: usize) -> String {
    format!("r{i:07}")
}

pub(crate) fn subject(i: usize) -> String {
    format!("p{i:07}")
}

#[derive(Clone, Copy)]
enum Version {
    First,
    Corrected,
}

#[derive(Clone, Debug)]
struct Row {
    features: [f64; N_FEATURES],
    subject: String,
    /// The label; only its sign where there are two classes.
    score: f64,
}

impl Row {
    fn new(i: usize, version: Version) -> Self {
        let seed = match version {
            Version::First => 1000 + i,
            Version::Corrected => 5000 + i,
        };
        let x = noise(seed as u64, 7);
        let features = [3, 4, 5].map(|k| 0.57 * x[k]);
        let score = features[0] + features[1] - 0.5 * features[2] + 0.3 * x[6];
        Self { features, subject: subject(i / 4), score }
    }

    fn patterns(&self, loss: Loss) -> impl Iterator<Item = Pattern> {
        let label = (loss == Loss::Squared).then_some(self.score);
        self.features.into_iter().chain(label).map(f64::to_le_bytes)
    }
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
                    world.gone.extend(old.patterns(self.setup.loss));
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
        self.gone.extend(row.patterns(self.setup.loss));
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
            wanted.extend(row.patterns(self.setup.loss).map(|pattern| (pattern, false)));
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
