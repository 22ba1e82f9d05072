//! What `predict`, `transform` and `evaluate` have in common: a published model, rows that are read in a stream, and answers
//! that are written as they come.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use efface_data::{Columns, Source, StrayTexts, Table, open_table};
use efface_engine::{EngineError, PublishedModel, Status};
use serde_json::json;

use crate::interrupt;
use crate::output::{Output, quoted};
use crate::progress::Progress;
use crate::whole_file::WholeFile;

/// Opens a published model; for a model directory, with a warning when rows have left since its latest release.
pub(super) fn open_model(path: &Path, output: &Output) -> anyhow::Result<PublishedModel> {
    let model = PublishedModel::open(path)?;
    let Ok(status) = Status::read(path) else { return Ok(model) };
    let (release, directory) = (model.release, quoted(path));
    for found in &status.out_of_step {
        output.warn(&format!(
            "{found}: release {release} may know rows that have been removed; see efface status {directory}"
        ));
    }
    if status.n_removed_since_release > 0 {
        output.warn(&format!(
            "release {release} still knows rows that have been removed since; next: efface release {directory}"
        ));
    }
    Ok(model)
}

/// Reads rows for a model, at most so many at a time, and says which texts it takes for gaps.
pub(super) fn read(
    model: &PublishedModel,
    (source, columns): (Source, &Columns),
    max_rows: usize,
    mut progress: Progress,
    output: &Output,
    mut take: impl FnMut(Table) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let derived = model.derived.as_ref();
    let mut strays = derived.map(|derived| StrayTexts::new(&derived.columns, &derived.constants)).unwrap_or_default();
    let mut reader = open_table(source, columns, model.schema.as_ref()).map_err(EngineError::from)?;
    while let Some(chunk) = reader.next_chunk(max_rows).map_err(EngineError::from)? {
        strays.look(chunk.feature_names(), chunk.features(), chunk.origin());
        take(chunk)?;
        progress.reading(reader.progress());
    }
    drop(progress);
    output.remark(&strays.remarks());
    Ok(())
}

pub(super) fn refuse_to_overwrite(out: &Path, model: &Path, rows: &[PathBuf]) -> anyhow::Result<()> {
    let is_out = |input: &Path| {
        std::fs::canonicalize(out).is_ok_and(|out| std::fs::canonicalize(input).is_ok_and(|input| input == out))
    };
    let place = out.display();
    let is_read = rows.iter().any(|file| is_out(file));
    anyhow::ensure!(!is_read, "{place}: these are the rows; the answer goes to another file");
    anyhow::ensure!(!is_out(model), "{place}: this is the model; the answer goes to another file");
    Ok(())
}

/// Where answers go, chunk by chunk.
pub(super) enum Sink<'a, T> {
    Stdout,
    File(WholeFile, &'a Path),
    /// One object for machines, which is whole or not there: it waits for the last row.
    Object(Vec<T>),
}

impl<'a, T> Sink<'a, T> {
    pub(super) fn new(out: Option<&'a Path>, output: &Output) -> anyhow::Result<Self> {
        Ok(match out {
            Some(out) => {
                let file = WholeFile::create(out)?;
                interrupt::abandon_after(out, output)?;
                Self::File(file, out)
            }
            None if output.is_text() => Self::Stdout,
            None => Self::Object(Vec::new()),
        })
    }

    /// Lines of progress among those of answers would help nobody.
    pub(super) fn progress(&self, output: &Output) -> Progress {
        Progress::new(output.is_text() && (matches!(self, Self::File(..)) || !std::io::stdout().is_terminal()))
    }

    pub(super) fn put(&mut self, chunk: T, csv: impl Fn(&T) -> anyhow::Result<Vec<u8>>) -> anyhow::Result<()> {
        match self {
            Self::Stdout => std::io::stdout().write_all(&csv(&chunk)?).context("stdout"),
            Self::File(file, _) => file.write(&csv(&chunk)?),
            Self::Object(chunks) => {
                chunks.push(chunk);
                Ok(())
            }
        }
    }

    /// Gives the file its name, and says so. What machines are to be told in its place comes back.
    pub(super) fn finish(self, n_rows: usize, what: &str, output: &Output) -> anyhow::Result<Option<Vec<T>>> {
        match self {
            Self::Stdout => Ok(None),
            Self::Object(chunks) => Ok(Some(chunks)),
            Self::File(file, out) => {
                file.finish()?;
                let out = out.display().to_string();
                let sentence = format!("wrote {n_rows} {what} to {out}");
                output.show(&json!({"n_rows": n_rows, "out": out}), &sentence, &[])?;
                Ok(None)
            }
        }
    }
}
