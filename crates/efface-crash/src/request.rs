//! What is asked of the engine, and the rows that it is asked about.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::engine::{self, Place};

/// Features of a row.
pub const N_FEATURES: usize = 3;

/// λ.
pub const L2_PER_ROW: f64 = 1e-2;

/// So much noise that no release settles first, and a claim right after a removal can be compared with the truth.
pub const NOISE_STD: f64 = 1e3;

/// The witness, beside the model.
pub const WITNESS: &str = "witness";

/// Where the copy of a release goes.
pub const COPY: &str = "copy.json";

/// Where the certificate of a request goes.
pub const REQUEST: &str = "request.json";

/// What holds for all requests to a model.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Setup {
    /// What is fitted.
    pub loss: Loss,
    /// Whether a witness is kept, outside the model directory.
    pub witness: bool,
    /// Whether the operator has a key of their own, elsewhere.
    pub key: bool,
}

/// What is fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Loss {
    /// Two classes.
    Logistic,
    /// Numbers.
    Squared,
}

/// What is asked.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "as in the engine")]
pub enum Request {
    Train,
    Remove {
        ids: Vec<String>,
        request_id: Option<String>,
        settle: bool,
    },
    RemoveSubject {
        subject: String,
        request_id: Option<String>,
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
        request: String,
    },
}

impl Request {
    /// The removal of some rows by number.
    pub fn remove(rows: &[usize], request_id: Option<&str>) -> Self {
        let ids = rows.iter().map(|i| id(*i)).collect();
        Self::Remove { ids, request_id: request_id.map(str::to_owned), settle: false }
    }

    /// The removal of a person by number.
    pub fn remove_subject(i: usize, request_id: Option<&str>) -> Self {
        Self::RemoveSubject { subject: subject(i), request_id: request_id.map(str::to_owned) }
    }

    /// The part of the request that can be done without the rest of it.
    pub fn first_half(&self) -> Option<Self> {
        match self {
            Self::Remove { ids, request_id, settle: true } => {
                Some(Self::Remove { ids: ids.clone(), request_id: request_id.clone(), settle: false })
            }
            _ => None,
        }
    }

    /// The file of rows that the request takes.
    pub fn input(&self, inputs: &Path) -> PathBuf {
        inputs.join(match self {
            Self::Correct { .. } => "corrected.csv",
            Self::Add { .. } => "added.csv",
            _ => "rows.csv",
        })
    }

    /// Writes that file.
    ///
    /// # Panics
    ///
    /// When it cannot be written.
    pub fn write_input(&self, inputs: &Path, setup: Setup) {
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

/// A request to a process of its own.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    /// What is asked.
    pub request: Request,
    /// What holds for all requests.
    pub setup: Setup,
    /// Where files of rows, and the operator's key, are.
    pub inputs: PathBuf,
    /// Whether the model has been moved, and its witness with it: a model remembers where its witness was.
    pub is_moved: bool,
}

impl Job {
    /// Does it, in the current folder.
    pub fn run(&self) -> Result<(), String> {
        let Self { request, setup, inputs, is_moved } = self;
        let here = Path::new("");
        if matches!(request, Request::Train) {
            return engine::train(here, inputs, *setup);
        }
        let place = Place::inside(here, Setup { witness: setup.witness && *is_moved, ..*setup });
        let mut model = place.open()?;
        model.perform(inputs, request, here)?;
        model.close()
    }
}

/// The operator's key, among the inputs.
pub fn key_file(inputs: &Path) -> PathBuf {
    inputs.join("operator.key")
}

/// Rows that a model is trained on.
pub const TRAINED: std::ops::Range<usize> = 0..40;

/// The id of a row: eight bytes, so that it can be looked for in the way of a number.
pub fn id(i: usize) -> String {
    format!("r{i:07}")
}

/// The id of a person.
pub fn subject(i: usize) -> String {
    format!("p{i:07}")
}

/// Which values of a row.
#[derive(Clone, Copy, Debug)]
pub enum Version {
    /// Those that it came with.
    First,
    /// Those that it was given.
    Corrected,
}

/// A row.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its features.
    pub features: [f64; N_FEATURES],
    /// Whose it is.
    pub subject: String,
    /// The label; only its sign where there are two classes.
    pub score: f64,
}

impl Row {
    /// Row `i`.
    pub fn new(i: usize, version: Version) -> Self {
        let seed = match version {
            Version::First => 1000 + i,
            Version::Corrected => 5000 + i,
        };
        let mut state = seed as u64;
        let x = [(); 7].map(|()| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 11) as f64) * 2f64.powi(-52) - 1.0
        });
        let features = [3, 4, 5].map(|k| 0.57 * x[k]);
        let score = features[0] + features[1] - 0.5 * features[2] + 0.3 * x[6];
        Self { features, subject: subject(i / 4), score }
    }
}
