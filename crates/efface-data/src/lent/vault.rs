//! Lent rows as a vault: what a call is given is checked against what it was before anything is claimed of it.

use std::ops::Range;

use efface_core::rows::{Features, RowStore};
use rayon::prelude::*;

use super::checks::checksum;
use super::error::RowsError;
use super::table::{LentRows, LentTable, len_of};
use super::view::RowsView;
use crate::derived::{Constants, Counts, MAX_TEXTS, Preparation, RawRows, Texts};
use crate::error::AppendError;
use crate::rows::{EncodedRows, MemoryRows, Precision, each};
use crate::vault::{Vault, VaultError};

/// The rows of a model for the length of one call.
pub struct LentVault<'a> {
    pub(super) table: &'a mut LentTable,
    lent: LentRows<'a>,
}

impl<'a> LentVault<'a> {
    /// Rows lent again. Values that do not have the shape that they had at training are an error.
    pub fn new(table: &'a mut LentTable, lent: LentRows<'a>) -> Result<Self, RowsError> {
        let (found, found_precision) = (len_of(lent.features), Precision::of(lent.features));
        let (expected, expected_precision) = (table.n_lent * table.spec.n_features, table.precision());
        if (found, found_precision) != (expected, expected_precision) {
            return Err(RowsError::OtherRows { found, found_precision, expected, expected_precision });
        }
        Ok(Self { table, lent })
    }

    pub(super) fn view(&self) -> RowsView<'_> {
        RowsView::new(self.table, self.lent)
    }

    /// Fails when a lent row is not what it was: all of them, in parallel.
    pub(super) fn check_unchanged(&self) -> Result<(), RowsError> {
        let rows = (0..self.table.n_lent).into_par_iter().with_min_len(64);
        rows.map(|row| self.check_row(row)).find_first(Result::is_err).unwrap_or(Ok(()))
    }

    /// Counts rows that are present in, or out, where constants are derived.
    fn count(&mut self, positions: &[usize], count: impl FnOnce(&mut Counts, RawRows<'_>)) -> Result<(), VaultError> {
        if self.table.preparation.is_none() || positions.is_empty() {
            return Ok(());
        }
        let rows = self.kept_batch(positions)?;
        if let Some(preparation) = &mut self.table.preparation {
            count(preparation.counts_mut(), rows.raw());
        }
        Ok(())
    }

    fn check_row(&self, row: usize) -> Result<(), RowsError> {
        let (table, n_features) = (&self.table, self.table.spec.n_features);
        let is_changed = row < table.n_lent
            && table.noted.present[row]
            && each!(Features, self.lent.features, values => {
                checksum(&values[row * n_features..(row + 1) * n_features]) != table.checksums[row]
            });
        if is_changed { Err(RowsError::Changed { row }) } else { Ok(()) }
    }
}

impl Vault for LentVault<'_> {
    fn n_positions(&self) -> usize {
        self.table.n_positions()
    }

    fn is_present(&self, position: usize) -> bool {
        self.table.is_present(position)
    }

    fn pass(&self, passes: &mut dyn FnMut(&dyn RowStore)) {
        passes(&self.view());
    }

    /// Their owner may write to them at any time.
    fn check(&self) -> Result<(), VaultError> {
        Ok(self.check_unchanged()?)
    }

    fn batch(&self, positions: &[usize]) -> Result<MemoryRows, VaultError> {
        self.table.noted.check_present(positions)?;
        positions.iter().try_for_each(|row| self.check_row(*row))?;
        let batch = self.view().batch(positions);
        positions.iter().try_for_each(|row| self.check_row(*row))?;
        Ok(batch)
    }

    fn kept_batch(&self, positions: &[usize]) -> Result<MemoryRows, VaultError> {
        if self.table.preparation.is_none() {
            return self.batch(positions);
        }
        self.table.noted.check_present(positions)?;
        positions.iter().try_for_each(|row| self.check_row(*row))?;
        Ok(self.view().kept_batch(positions))
    }

    fn prepare(&self, rows: MemoryRows) -> MemoryRows {
        match &self.table.preparation {
            None => rows,
            Some(preparation) => rows.encoded(preparation.encoder()),
        }
    }

    fn preparation(&self) -> Option<&Preparation> {
        self.table.preparation.as_ref()
    }

    fn derive(&mut self) -> Result<Option<Constants>, VaultError> {
        let before = self.table.preparation.as_mut().and_then(Preparation::derive);
        self.table.encode_targets();
        Ok(before)
    }

    fn encode_by(&mut self, constants: Constants) {
        if let Some(preparation) = &mut self.table.preparation {
            preparation.encode_by(constants);
        }
        self.table.encode_targets();
    }

    fn arrive(&mut self, rows: &EncodedRows, selectors: &[u64]) -> Result<Range<usize>, VaultError> {
        rows.check_shape(self.table.spec.kept_dim(), self.table.precision())?;
        let counts = self.table.preparation.as_ref().map(Preparation::counts).filter(|_| !rows.texts().is_empty());
        if let Some(column) = counts.and_then(|counts| counts.overflowing(rows.raw())) {
            return Err(AppendError::TooManyTexts { column, limit: MAX_TEXTS }.into());
        }
        Ok(self.table.append(rows, selectors))
    }

    fn leave(&mut self, positions: &[usize]) -> Result<(), VaultError> {
        self.count(positions, Counts::retract)?;
        self.table.noted.set_present(positions, false);
        Ok(())
    }

    fn undo(&mut self, left: &[usize], arrived: Range<usize>) -> Result<(), VaultError> {
        let rows: Vec<usize> = arrived.clone().filter(|position| self.table.is_present(*position)).collect();
        self.count(&rows, Counts::retract)?;
        self.table.truncate(arrived.start);
        self.table.noted.set_present(left, true);
        self.count(left, |counts, rows| counts.add(rows, &Texts::new()))
    }

    fn purge(&mut self, positions: &[usize]) -> Result<(), VaultError> {
        self.table.purge(positions);
        Ok(())
    }
}
