//! Changes by files: add, correct. A long file is taken part by part, each of them a change of its own.

use std::time::Instant;

use efface_data::{StrayTexts, Table, TableParts};

use super::Life;
use super::change::Request;
use super::new_rows::{RowPurpose, RowSource};
use super::report::ChangeReport;
use crate::error::{ChangeError, EngineError};

impl Life<'_> {
    /// Adds the rows of a file, read in the way the model's own rows were read. Rows that were removed before, by
    /// themselves or with their subject, are left out.
    pub fn add(&mut self, source: &RowSource<'_>) -> Result<ChangeReport, EngineError> {
        self.take_file(source, RowPurpose::Add)
    }

    /// Replaces rows by the rows of the same ids in a file: one removal and one addition in one step.
    pub fn correct(&mut self, source: &RowSource<'_>) -> Result<ChangeReport, EngineError> {
        self.take_file(source, RowPurpose::Correct)
    }

    fn take_file(&mut self, source: &RowSource<'_>, purpose: RowPurpose) -> Result<ChangeReport, EngineError> {
        let (mut reader, is_numbered) = self.open_rows(source, purpose)?;
        let max_rows = source.part_rows.unwrap_or_else(|| part_rows(reader.feature_names().len()));
        let (mut done, mut number): (Option<ChangeReport>, _) = (None, 1);
        let constants = self.rows.preparation().map(|preparation| preparation.encoder().constants());
        let mut strays = constants.map(|constants| StrayTexts::new(&self.settings.features, constants));
        let mut next = || Ok(reader.next_chunk(max_rows)?.map(Table::into_parts));
        loop {
            let taken = next().and_then(|parts: Option<TableParts>| {
                let Some(mut parts) = parts else { return Ok(None) };
                if is_numbered {
                    parts.ids = None;
                }
                if let Some(strays) = &mut strays {
                    strays.look(&parts.feature_names, &parts.features, &parts.origin);
                }
                let request_id = source.request_id.map(|id| part_id(id, number));
                self.take_part(parts, purpose, request_id.as_deref()).map(Some)
            });
            done = Some(match (taken, done) {
                (Ok(Some(report)), None) => report,
                (Ok(Some(report)), Some(before)) => report.after(&before),
                (Ok(None), Some(report)) => {
                    return Ok(ChangeReport {
                        remarks: strays.map(|strays| strays.remarks()).unwrap_or_default(),
                        ..report
                    });
                }
                // A reader refuses a file without rows.
                (Ok(None), None) => return Err(ChangeError::NothingNamed.into()),
                (Err(error), None) => return Err(error),
                (Err(error), Some(before)) => {
                    let (n_changed, source) = (before.n_changed, Box::new(error));
                    return Err(ChangeError::InPart { n_changed, source }.into());
                }
            });
            number += 1;
        }
    }

    fn take_part(
        &mut self,
        parts: TableParts,
        purpose: RowPurpose,
        request_id: Option<&str>,
    ) -> Result<ChangeReport, EngineError> {
        let start = Instant::now();
        let n_rows = parts.features.len() / parts.feature_names.len().max(1);
        let fingerprint = self.settings.fingerprint(&(purpose, n_rows, &parts.ids));
        let cells = request_id.map(|_| hex::encode(self.settings.id_key.fingerprint_of_cells(&parts)));
        if let Some(answered) = self.answered(request_id, &fingerprint, cells.as_deref())? {
            return Ok(answered);
        }
        let request = request_id.map(|id| Request { id, fingerprint, cells });
        let new = self.encode_rows(parts, None, purpose)?;
        match purpose {
            RowPurpose::Add => self.add_rows(new, request, start),
            RowPurpose::Correct => self.correct_rows(new, request, start),
        }
    }
}

/// So many rows of a file are taken in one step.
fn part_rows(n_features: usize) -> usize {
    (PART_BYTES / (8 * n_features.max(1))).clamp(1 << 10, 1 << 20)
}

const PART_BYTES: usize = 256 << 20;

/// What the parts of a request are called: the first as the request itself.
fn part_id(request_id: &str, number: usize) -> String {
    if number == 1 { request_id.into() } else { format!("{request_id} (part {number})") }
}
