//! Lent rows as a vault: what a call is given is checked against what it was before anything is claimed of it.

use std::ops::Range;

use efface_core::rows::{Features, RowStore};
use rayon::prelude::*;

use super::checks::checksum;
use super::error::RowsError;
use super::table::{LentRows, LentTable, len_of};
use super::view::RowsView;
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
        let changed = (0..self.table.n_lent).into_par_iter().with_min_len(64).find_first(|row| self.has_changed(*row));
        changed.map_or(Ok(()), |row| Err(RowsError::Changed { row }))
    }

    /// The same for a few positions.
    fn check_unchanged_at(&self, positions: &[usize]) -> Result<(), RowsError> {
        let changed = positions.iter().find(|row| self.has_changed(**row));
        changed.map_or(Ok(()), |row| Err(RowsError::Changed { row: *row }))
    }

    fn has_changed(&self, row: usize) -> bool {
        let (table, n_features) = (&self.table, self.table.spec.n_features);
        row < table.n_lent
            && table.noted.present[row]
            && each!(Features, self.lent.features, values => {
                checksum(&values[row * n_features..(row + 1) * n_features]) != table.checksums[row]
            })
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
        self.check_unchanged_at(positions)?;
        let batch = self.view().batch(positions);
        self.check_unchanged_at(positions)?;
        Ok(batch)
    }

    fn arrive(&mut self, rows: &EncodedRows, selectors: &[u64]) -> Result<Range<usize>, VaultError> {
        let (found, expected) = (rows.dim(), self.table.dim());
        if found != expected {
            return Err(AppendError::Dimension { found, expected }.into());
        }
        let (found, expected) = (rows.precision(), self.table.precision());
        if found != expected {
            return Err(AppendError::Precision { found, expected }.into());
        }
        Ok(self.table.append(rows, selectors))
    }

    fn leave(&mut self, positions: &[usize]) -> Result<(), VaultError> {
        self.table.noted.set_present(positions, false);
        Ok(())
    }

    fn undo(&mut self, left: &[usize], arrived: Range<usize>) -> Result<(), VaultError> {
        self.table.truncate(arrived.start);
        self.table.noted.set_present(left, true);
        Ok(())
    }

    fn purge(&mut self, positions: &[usize]) -> Result<(), VaultError> {
        self.table.purge(positions);
        Ok(())
    }
}
