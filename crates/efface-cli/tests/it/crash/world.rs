//! What the test knows without asking the program: the rows, who has left, and what the weights ought to be.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::sandbox::noise;

pub(crate) const N_FEATURES: usize = 3;

/// So much noise that no release settles first, and a claim right after a removal can be compared with the truth.
pub(crate) const NOISE_STD: f64 = 1e3;

const L2_PER_ROW: f64 = 1e-2;

/// Weights are known up to the rounding of numbers as large as the noise, 1e-13 in each, and gradients to ten times that.
const ROUNDING: f64 = 1e-11;

/// What is asked of the program.
#[derive(Clone, Debug)]
pub(crate) enum Request {
    Train,
    Remove { ids: Vec<String>, request_id: Option<&'static str> },
    RemoveSubject { subject: String, request_id: Option<&'static str> },
    Correct { rows: Vec<usize> },
    Add { rows: Vec<usize> },
    Settle,
    Release { copy: bool },
    Retrain,
}

impl Request {
    /// The command line.
    pub(crate) fn arguments(&self, inputs: &Path) -> Vec<String> {
        let input = self.input(inputs).display().to_string();
        let line = match self {
            Self::Train => format!(
                "train {input} --label y --id id --subject who --scale none --l2 {L2_PER_ROW} --noise-std {NOISE_STD} --out model"
            ),
            Self::Remove { ids, request_id } => format!("remove model --id {}{}", ids.join(" "), named(*request_id)),
            Self::RemoveSubject { subject, request_id } => {
                format!("remove model --subject {subject}{}", named(*request_id))
            }
            Self::Correct { .. } => format!("correct model {input}"),
            Self::Add { .. } => format!("add model {input}"),
            Self::Settle => "settle model".into(),
            Self::Release { copy: false } => "release model".into(),
            Self::Release { copy: true } => format!("release model --out {COPY}"),
            Self::Retrain => "retrain model".into(),
        };
        line.split(' ').chain(["--json"]).map(String::from).collect()
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
    pub(crate) fn write_input(&self, inputs: &Path) {
        let rows: Vec<(usize, Version)> = match self {
            Self::Train => TRAINED.map(|i| (i, Version::First)).collect(),
            Self::Correct { rows } => rows.iter().map(|i| (*i, Version::Corrected)).collect(),
            Self::Add { rows } => rows.iter().map(|i| (*i, Version::First)).collect(),
            _ => return,
        };
        let mut text = String::from("id,who,a,b,c,y\n");
        for (i, version) in rows {
            let Row { features: [a, b, c], subject, positive } = Row::new(i, version);
            let y = if positive { "yes" } else { "no" };
            writeln!(text, "{},{subject},{a},{b},{c},{y}", id(i)).expect("text");
        }
        std::fs::write(self.input(inputs), text).expect("writable");
    }
}

fn named(request_id: Option<&str>) -> String {
    request_id.map(|id| format!(" --request-id {id}")).unwrap_or_default()
}

/// Where the copy of a release goes.
pub(crate) const COPY: &str = "copy.json";

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
    positive: bool,
}

impl Row {
    fn new(i: usize, version: Version) -> Self {
        let seed = match version {
            Version::First => 1000 + i,
            Version::Corrected => 5000 + i,
        };
        let x = noise(seed as u64, 7);
        let features = [3, 4, 5].map(|k| 0.57 * x[k]);
        let positive = features[0] + features[1] - 0.5 * features[2] + 0.3 * x[6] > 0.0;
        Self { features, subject: subject(i / 4), positive }
    }

    fn patterns(&self) -> impl Iterator<Item = Pattern> {
        self.features.map(f64::to_le_bytes).into_iter()
    }
}

/// Bytes that tell a row, a person or an id.
pub(crate) type Pattern = [u8; 8];

/// The rows as they ought to be.
#[derive(Clone, Debug, Default)]
pub(crate) struct World {
    rows: BTreeMap<String, Row>,
    removed: Vec<String>,
    gone: Vec<Pattern>,
}

impl World {
    /// The world once a request is done.
    pub(crate) fn after(&self, request: &Request) -> Self {
        let mut world = self.clone();
        match request {
            Request::Train => world.rows = TRAINED.map(|i| (id(i), Row::new(i, Version::First))).collect(),
            Request::Remove { ids, .. } => ids.iter().for_each(|id| world.remove(id)),
            Request::RemoveSubject { subject, .. } => {
                let theirs = self.rows.iter().filter(|(_, row)| row.subject == *subject);
                theirs.for_each(|(id, _)| world.remove(id));
            }
            Request::Correct { rows } => {
                for i in rows {
                    let old = world.rows.insert(id(*i), Row::new(*i, Version::Corrected));
                    world.gone.extend(old.expect("a row to correct").patterns());
                }
            }
            Request::Add { rows } => world.rows.extend(rows.iter().map(|i| (id(*i), Row::new(*i, Version::First)))),
            Request::Settle | Request::Release { .. } | Request::Retrain => {}
        }
        world
    }

    fn remove(&mut self, id: &str) {
        let row = self.rows.remove(id).expect("a row to remove");
        self.gone.extend(row.patterns());
        self.gone.push(pattern(id));
        if !self.rows.values().any(|other| other.subject == row.subject) {
            self.gone.push(pattern(&row.subject));
        }
        self.removed.push(id.into());
    }

    pub(crate) fn n_rows(&self) -> usize {
        self.rows.len()
    }

    /// Ids that were removed, the latest last.
    pub(crate) fn removed(&self) -> &[String] {
        &self.removed
    }

    /// Some id that is present.
    pub(crate) fn present(&self, which: u64) -> &str {
        let nth = which as usize % self.rows.len();
        self.rows.keys().nth(nth).expect("there are rows")
    }

    /// Compares the bytes of files with what ought to be in them and what must not.
    pub(crate) fn compare<'a>(&self, files: impl Iterator<Item = (&'a str, &'a [u8])>) -> Result<(), String> {
        let mut wanted: BTreeMap<Pattern, bool> = BTreeMap::new();
        for (id, row) in &self.rows {
            wanted.extend(row.patterns().chain([pattern(id), pattern(&row.subject)]).map(|pattern| (pattern, false)));
        }
        let mut first_bytes = vec![false; 1 << 16];
        for pattern in wanted.keys().chain(&self.gone) {
            first_bytes[first_two(pattern)] = true;
        }
        for (name, bytes) in files {
            for window in bytes.windows(8).filter(|window| first_bytes[first_two(window)]) {
                if let Some(gone) = self.gone.iter().find(|gone| **gone == window) {
                    return Err(format!("{name} still knows {}", shown(*gone)));
                }
                if let Some(found) = wanted.get_mut(window) {
                    *found = true;
                }
            }
        }
        match wanted.iter().find(|(_, found)| !**found) {
            Some((pattern, _)) => {
                Err(format!("{} is nowhere: rows are kept in a way that this cannot see", shown(*pattern)))
            }
            None => Ok(()),
        }
    }

    /// The gradient of the objective at `weights` over the rows present, from its definition.
    ///
    /// ```text
    /// ∇L(w) = Σ −y σ(−y wᵀx) x + λ n w
    /// ```
    fn gradient(&self, weights: &[f64]) -> Vec<f64> {
        let ridge = L2_PER_ROW * self.rows.len() as f64;
        let mut gradient: Vec<f64> = weights.iter().map(|w| ridge * w).collect();
        for row in self.rows.values() {
            let y = if row.positive { 1.0 } else { -1.0 };
            let margin: f64 = row.features.iter().zip(weights).map(|(x, w)| y * x * w).sum();
            let slope = -y / (1.0 + margin.exp());
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
