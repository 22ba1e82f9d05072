//! Changing the rows: remove, add, correct. Each is one step of the model and one commit.

use std::path::Path;
use std::time::Instant;

use efface_core::model::Outcome;
use efface_core::removal::Change;
use efface_core::rounding::{LowerBound, UpperBound};
use efface_core::rows::RowStore;
use efface_data::{
    EncodedRows, FeatureOrder, MemoryRows, RowId, RowsFile, Table, TableParts, carries_labels, encode_table, is_array,
    read_table,
};
use serde::{Deserialize, Serialize};

use crate::directory::ROWS;
use crate::error::EngineError;
use crate::model_directory::ModelDirectory;

/// Which rows to remove.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Selection {
    /// Rows by their ids.
    Ids(Vec<RowId>),
    /// All rows of these subjects.
    Subjects(Vec<RowId>),
}

/// Rows to add, or to put in the place of others.
#[derive(Clone, Copy, Debug)]
pub struct RowSource<'a> {
    /// The file.
    pub data: &'a Path,
    /// Column or file with the labels; `None`: the column that the model was trained with.
    pub label: Option<&'a str>,
    /// Column or file with the ids; `None`: likewise.
    pub id: Option<&'a str>,
    /// Column or file with the subjects; `None`: likewise.
    pub subject: Option<&'a str>,
}

impl<'a> RowSource<'a> {
    /// A file whose columns are called as those of training.
    pub fn of(data: &'a Path) -> Self {
        Self { data, label: None, id: None, subject: None }
    }
}

/// What rows from a file are for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NewRows {
    /// They join the others.
    Add,
    /// They take the place of the rows of the same ids.
    Correct,
}

/// What a change led to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChangeReport {
    /// Rows now.
    pub n_rows: usize,
    /// Rows that left or came; a corrected row counts once.
    pub n_changed: usize,
    /// Upper bound of the gradient left behind.
    pub gradient_residual: UpperBound,
    /// Upper bound of the distance to the retrained weights.
    pub distance_bound: UpperBound,
    /// What the bounds rest on.
    pub rung: String,
    /// Whether the model still stands.
    pub outcome: OutcomeTag,
    /// Largest residual that the perturbation covers (mechanism `objective`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<f64>,
    /// Residual so far (mechanism `objective`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spent: Option<UpperBound>,
    /// Time of the step alone.
    pub step_seconds: f64,
    /// Time of the whole call, durable write included.
    pub seconds: f64,
    /// Whether this is the answer to an earlier request of the same id, and nothing was done now.
    pub repeated: bool,
}

/// Whether a model still stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutcomeTag {
    /// It does.
    Done,
    /// Train again.
    RetrainRequired,
}

impl From<Outcome> for OutcomeTag {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Done => Self::Done,
            Outcome::RetrainRequired => Self::RetrainRequired,
        }
    }
}

/// A request that was answered: asked again, it gets the same answer. What was asked is kept as a hash only.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct PastRequest {
    fingerprint: String,
    report: ChangeReport,
}

impl ModelDirectory {
    /// Removes rows: the weights follow, the claim is updated, the rows are purged from the directory.
    pub fn remove(&mut self, selection: &Selection, request_id: Option<&str>) -> Result<ChangeReport, EngineError> {
        let fingerprint = self.fingerprint(selection);
        if let Some(past) = request_id.and_then(|id| self.index.requests.get(id)) {
            if past.fingerprint != fingerprint {
                return Err(EngineError::RequestReused { request_id: request_id.unwrap_or_default().into() });
            }
            return Ok(ChangeReport { repeated: true, ..past.report.clone() });
        }
        let start = Instant::now();
        let positions = match selection {
            Selection::Ids(ids) => self.rows.positions_of(ids)?,
            Selection::Subjects(subjects) => self.rows.positions_of_subjects(subjects)?,
        };
        if positions.is_empty() {
            return Err(EngineError::NothingNamed);
        }
        let batch = self.rows.batch(&positions)?;
        self.check_enough_remain(&batch, None)?;
        self.transaction(|this| {
            this.rows.remove(&positions)?;
            this.forget(&positions);
            this.index.n_removed += positions.len();
            let step = Instant::now();
            this.model.change(&Change::remove(&batch), &this.rows)?;
            let mut report = this.report(positions.len(), step.elapsed().as_secs_f64());
            report.seconds = start.elapsed().as_secs_f64();
            if let Some(id) = request_id {
                this.index.requests.insert(id.into(), PastRequest { fingerprint, report: report.clone() });
            }
            this.commit()?;
            this.purge()?;
            report.seconds = start.elapsed().as_secs_f64();
            Ok(report)
        })
    }

    /// Adds the rows of a file, read in the way the model's own rows were read.
    pub fn add(&mut self, source: &RowSource<'_>) -> Result<ChangeReport, EngineError> {
        let start = Instant::now();
        let encoded = self.read_rows(source, NewRows::Add)?;
        self.rows.check_append(&encoded)?;
        let n_added = encoded.n_rows();
        self.transaction(|this| {
            let positions = this.append(encoded)?;
            let batch = this.rows.batch(&positions)?;
            let step = Instant::now();
            this.model.change(&Change::add(&batch), &this.rows)?;
            let mut report = this.report(n_added, step.elapsed().as_secs_f64());
            this.commit()?;
            report.seconds = start.elapsed().as_secs_f64();
            Ok(report)
        })
    }

    /// Replaces rows by the rows of the same ids in a file: one removal and one addition in one step.
    pub fn correct(&mut self, source: &RowSource<'_>) -> Result<ChangeReport, EngineError> {
        let start = Instant::now();
        let encoded = self.read_rows(source, NewRows::Correct)?;
        let old = self.rows.positions_of(encoded.ids())?;
        let removed = self.rows.batch(&old)?;
        self.check_enough_remain(&removed, Some(&encoded))?;
        let n_changed = encoded.n_rows();
        self.transaction(|this| {
            this.rows.remove_to_replace(&old)?;
            this.forget(&old);
            let positions = this.append(encoded)?;
            let added = this.rows.batch(&positions)?;
            let step = Instant::now();
            let change = Change { removed: Some(&removed), added: Some(&added) };
            this.model.change(&change, &this.rows)?;
            let mut report = this.report(n_changed, step.elapsed().as_secs_f64());
            this.commit()?;
            this.purge()?;
            report.seconds = start.elapsed().as_secs_f64();
            Ok(report)
        })
    }

    fn read_rows(&self, source: &RowSource<'_>, role: NewRows) -> Result<EncodedRows, EngineError> {
        let settings = &self.settings;
        let own_labels = carries_labels(source.data);
        let mut columns = settings.columns_for(is_array(source.data) || own_labels);
        columns.label = source.label.map(String::from).or(columns.label);
        columns.id = source.id.map(String::from).or(columns.id);
        columns.subject = source.subject.map(String::from).or(columns.subject);
        let path = || source.data.into();
        if columns.label.is_none() && !own_labels {
            return Err(EngineError::NoLabelNamed { path: path() });
        }
        let numbered = columns.id.is_none();
        if numbered && (role == NewRows::Correct || settings.columns.id.is_some()) {
            return Err(EngineError::NoIdNamed { path: path() });
        }
        if role == NewRows::Add && columns.subject.is_none() && settings.columns.subject.is_some() {
            return Err(EngineError::NoSubjectNamed { path: path() });
        }
        let mut parts = read_table(source.data, &columns)?.into_parts();
        if numbered {
            self.number_on(&mut parts);
        }
        if role == NewRows::Correct && parts.subjects.is_none() {
            self.keep_subjects(&mut parts)?;
        }
        let table = Table::new(parts)?;
        let order = FeatureOrder::Named(&settings.features);
        Ok(encode_table(table, &settings.transform, Some(&settings.codec), order, settings.precision)?)
    }

    /// Rows without ids of their own get numbers that no row has had: positions never repeat.
    fn number_on(&self, parts: &mut TableParts) {
        let first = self.rows.len();
        let n_new = parts.ids.as_ref().map_or(0, Vec::len);
        parts.ids = Some((first..first + n_new).map(|number| RowId::parse(&number.to_string())).collect());
    }

    /// A corrected row stays with its subject unless another one is named.
    fn keep_subjects(&self, parts: &mut TableParts) -> Result<(), EngineError> {
        let positions = self.rows.positions_of(parts.ids.as_deref().unwrap_or_default())?;
        parts.subjects = positions.into_iter().map(|position| self.rows.subject(position).cloned()).collect();
        Ok(())
    }

    /// Appends rows in memory and in the file of rows, where they count only after the commit.
    fn append(&mut self, encoded: EncodedRows) -> Result<Vec<usize>, EngineError> {
        let positions = self.rows.append(encoded)?;
        let mut file = RowsFile::open(self.path.join(ROWS))?;
        file.append(&self.rows, positions.clone())?;
        file.sync()?;
        for position in positions.clone() {
            self.index.ids.push(self.rows.id(position).cloned());
            self.index.subjects.push(self.rows.subject(position).cloned());
        }
        Ok(positions.collect())
    }

    fn forget(&mut self, positions: &[usize]) {
        for &position in positions {
            self.index.ids[position] = None;
            self.index.subjects[position] = None;
        }
        self.index.pending_purge.extend(positions);
    }

    /// Refuses a removal that would leave no row, or none of a class, counting the rows that come in the same step.
    fn check_enough_remain(&self, batch: &MemoryRows, coming: Option<&EncodedRows>) -> Result<(), EngineError> {
        let (n_removed, n_rows) = (batch.n_rows(), self.rows.n_rows());
        if n_removed >= n_rows && coming.is_none() {
            return Err(EngineError::LastRow { n_removed, n_rows });
        }
        let classes = self.settings.codec.classes();
        let leaving = batch.class_counts(classes.len());
        let present = self.rows.class_counts(classes.len());
        for (index, class) in classes.iter().enumerate() {
            let arriving =
                coming.map_or(0, |rows| rows.labels().iter().filter(|label| **label == index as f64).count());
            let (n_removed, n_rows) = (leaving[index], present[index]);
            if n_removed > 0 && n_removed >= n_rows + arriving {
                return Err(EngineError::LastOfClass { class: class.clone(), n_removed, n_rows });
            }
        }
        Ok(())
    }

    fn report(&self, n_changed: usize, step_seconds: f64) -> ChangeReport {
        let report = ChangeReport {
            n_rows: 0,
            n_changed,
            gradient_residual: UpperBound::INFINITE,
            distance_bound: UpperBound::INFINITE,
            rung: String::new(),
            outcome: OutcomeTag::Done,
            budget: None,
            spent: None,
            step_seconds,
            seconds: step_seconds,
            repeated: false,
        };
        self.brought_up_to_date(&report)
    }

    /// The report of a change with what the model claims now: after settling, the settled values.
    #[must_use]
    pub fn brought_up_to_date(&self, report: &ChangeReport) -> ChangeReport {
        let claim = self.model.claim();
        let budget = self.model.removal_budget();
        ChangeReport {
            n_rows: self.rows.n_rows(),
            gradient_residual: claim.gradient_residual,
            distance_bound: claim.distance_bound,
            rung: claim.rung.tag().into(),
            outcome: self.model.outcome().into(),
            budget: budget.map(LowerBound::get),
            spent: budget.map(|_| claim.gradient_residual),
            ..report.clone()
        }
    }

    /// A keyed hash of what a request asks for: the same for the same ids in any order, and no id in clear.
    fn fingerprint(&self, selection: &Selection) -> String {
        use std::fmt::Write;

        use sha2::{Digest, Sha256};

        let mut selection = selection.clone();
        match &mut selection {
            Selection::Ids(ids) | Selection::Subjects(ids) => ids.sort_unstable(),
        }
        let text = serde_json::to_vec(&selection).expect("ids are numbers or strings");
        let digest = Sha256::new().chain_update(self.settings.salt).chain_update(text).finalize();
        digest.iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }
}
