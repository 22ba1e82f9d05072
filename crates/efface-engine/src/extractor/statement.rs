//! What a statement promises, computed again.

use std::fs;
use std::path::Path;

use efface_core::accounting::Guarantee;
use efface_core::accounting::statement::Statement;
use serde::Serialize;

use crate::error::{EngineError, ExtractorError};

/// A statement, and what it promises to groups of several sizes.
#[derive(Clone, Debug, Serialize)]
pub struct StatementReport {
    /// What stands in the file.
    pub statement: Statement,
    /// ε of one unit at the stated δ, computed here.
    pub epsilon: f64,
    /// One per size that was asked for.
    pub groups: Vec<GroupPromise>,
}

/// What is promised to a group of so many rows that leave together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct GroupPromise {
    /// So many.
    pub group: usize,
    /// `None`: the training says too much about each for any promise to so many.
    #[serde(flatten)]
    pub share: Option<ExtractorShare>,
}

/// What a private extractor adds to a promise.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ExtractorShare {
    /// ε of the whole group.
    pub epsilon: f64,
    /// δ of the whole group.
    pub delta: f64,
    /// ε of one of them.
    pub epsilon_per_row: f64,
    /// δ of one of them.
    pub delta_per_row: f64,
}

/// Reads a statement, and computes what it promises to groups of these sizes.
pub fn read_statement(path: &Path, groups: &[usize]) -> Result<StatementReport, EngineError> {
    let text = fs::read_to_string(path).map_err(EngineError::io(path))?;
    let statement: Statement = serde_json::from_str(&text)
        .map_err(|error| ExtractorError::NoStatement { path: path.into(), reason: error.to_string() })?;
    let groups = groups.iter().map(|group| GroupPromise::of(&statement, *group)).collect();
    let epsilon = statement.training().epsilon_at(statement.fields().delta);
    Ok(StatementReport { statement, epsilon, groups })
}

impl GroupPromise {
    pub(super) fn of(statement: &Statement, group: usize) -> Self {
        let share = statement.extractor(group).ok().map(|one| {
            let Guarantee { epsilon, delta } = one.cost();
            ExtractorShare { epsilon, delta, epsilon_per_row: one.epsilon, delta_per_row: one.delta }
        });
        Self { group, share }
    }
}

/// As it is written.
pub(super) fn text_of(statement: &Statement) -> String {
    serde_json::to_string_pretty(statement).expect("numbers under names can be written as JSON") + "\n"
}
