//! Where the rows of a model live, as an engine sees it: rows arrive, leave and are overwritten by position, a few of them
//! can be copied, and all of them can be summed over.
//!
//! [`StoredRows`] keeps its own copy in segments; [`LentVault`](crate::LentVault) borrows rows from another program. A
//! vault elsewhere, which sums where its rows are, is another implementation.

use std::ops::Range;

use efface_core::rows::RowStore;

use crate::derived::{Constants, Preparation, Texts};
use crate::error::{AppendError, LookupError, StoredRowsError};
use crate::lent::RowsError;
use crate::rows::EncodedRows;
use crate::rows::MemoryRows;
use crate::stored::StoredRows;

/// The rows of one model. Positions are 0, 1, … and are never used twice.
///
/// A change goes through a vault in three steps: rows [arrive](Self::arrive) and [leave](Self::leave), the change is
/// committed elsewhere or [undone](Self::undo), and what left is [purged](Self::purge).
pub trait Vault {
    /// Number of positions, those of removed rows included.
    fn n_positions(&self) -> usize;

    /// Whether the row at a position is there and has not been removed.
    fn is_present(&self, position: usize) -> bool;

    /// Lets `passes` sum over the rows present.
    fn pass(&self, passes: &mut dyn FnMut(&dyn RowStore));

    /// Fails when rows are not what they were, where that can happen. What was summed counts only if this holds before and
    /// after.
    fn check(&self) -> Result<(), VaultError>;

    /// Copies the rows at these positions, which must be present.
    fn batch(&self, positions: &[usize]) -> Result<MemoryRows, VaultError>;

    /// Positions of rows present that are not what was written. A pass over all rows, where that can happen.
    fn damaged(&self) -> Result<Vec<usize>, VaultError> {
        Ok(Vec::new())
    }

    /// Counts and weighs the rows present anew, after rows left of which nobody knows what they were; how many there are of
    /// each class.
    fn recount(&mut self, _n_classes: usize) -> Result<Vec<usize>, VaultError> {
        Err(VaultError::Elsewhere("the rows of this vault cannot be counted anew".into()))
    }

    /// The same as they are kept: raw, where constants are derived from them.
    fn kept_batch(&self, positions: &[usize]) -> Result<MemoryRows, VaultError> {
        self.batch(positions)
    }

    /// Rows as [`arrive`](Self::arrive) takes them, as sums take them.
    fn prepare(&self, rows: MemoryRows) -> MemoryRows {
        rows
    }

    /// How raw rows become rows of the model; `None`: they are kept as sums take them.
    fn preparation(&self) -> Option<&Preparation> {
        None
    }

    /// Encodes rows by the constants that follow from those present, from now on. Those before, if they were others: then
    /// the weights are those of other rows.
    fn derive(&mut self) -> Result<Option<Constants>, VaultError> {
        Ok(None)
    }

    /// Encodes rows by these constants again: nothing was trained under the new ones.
    fn encode_by(&mut self, _constants: Constants) {}

    /// Adds rows with one selector each and returns their positions. They are where they will stay, as durable as they
    /// will be, when this returns. On an error nothing is added.
    fn arrive(&mut self, rows: &EncodedRows, selectors: &[u64]) -> Result<Range<usize>, VaultError>;

    /// Takes rows out of every sum; their values are kept until they are purged. On an error nothing has left.
    fn leave(&mut self, positions: &[usize]) -> Result<(), VaultError>;

    /// Takes back a change that was not committed: rows that arrived go, rows that left are present again.
    fn undo(&mut self, left: &[usize], arrived: Range<usize>) -> Result<(), VaultError>;

    /// Overwrites rows that left. Doing it twice changes nothing.
    fn purge(&mut self, positions: &[usize]) -> Result<(), VaultError>;
}

impl dyn Vault + '_ {
    /// What `passes` makes of the rows present, which are the same before and after.
    pub fn sum<T>(&self, passes: impl FnOnce(&dyn RowStore) -> T) -> Result<T, VaultError> {
        self.check()?;
        let (mut passes, mut summed) = (Some(passes), None);
        self.pass(&mut |rows| summed = passes.take().map(|passes| passes(rows)));
        self.check()?;
        summed.ok_or_else(|| VaultError::Elsewhere("the vault made no pass over its rows".into()))
    }
}

/// Rows cannot be reached, added or taken out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VaultError {
    /// Rows in segments.
    #[error(transparent)]
    Stored(#[from] StoredRowsError),
    /// Rows in memory.
    #[error(transparent)]
    Lent(#[from] RowsError),
    /// Rows do not fit those that are there.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// Rows are not there.
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// Rows in a vault of another crate.
    #[error(transparent)]
    Elsewhere(Box<dyn std::error::Error + Send + Sync>),
}

impl VaultError {
    /// The position of a row that is not what was written.
    pub fn damaged_row(&self) -> Option<usize> {
        if let Self::Stored(error) = self { error.damaged_row() } else { None }
    }
}

impl Vault for StoredRows {
    fn n_positions(&self) -> usize {
        self.len()
    }

    fn is_present(&self, position: usize) -> bool {
        Self::is_present(self, position)
    }

    fn pass(&self, passes: &mut dyn FnMut(&dyn RowStore)) {
        passes(self);
    }

    /// Checksums are compared whenever rows are read.
    fn check(&self) -> Result<(), VaultError> {
        Ok(())
    }

    fn batch(&self, positions: &[usize]) -> Result<MemoryRows, VaultError> {
        Ok(Self::batch(self, positions)?)
    }

    fn damaged(&self) -> Result<Vec<usize>, VaultError> {
        Ok(Self::damaged(self)?)
    }

    fn recount(&mut self, n_classes: usize) -> Result<Vec<usize>, VaultError> {
        Ok(Self::recount(self, n_classes)?)
    }

    fn prepare(&self, rows: MemoryRows) -> MemoryRows {
        Self::prepare(self, rows)
    }

    fn preparation(&self) -> Option<&Preparation> {
        Self::preparation(self)
    }

    fn derive(&mut self) -> Result<Option<Constants>, VaultError> {
        Ok(Self::derive(self)?)
    }

    fn encode_by(&mut self, constants: Constants) {
        Self::encode_by(self, constants);
    }

    fn arrive(&mut self, rows: &EncodedRows, selectors: &[u64]) -> Result<Range<usize>, VaultError> {
        let positions = self.append(rows, selectors)?;
        self.sync()?;
        Ok(positions)
    }

    fn leave(&mut self, positions: &[usize]) -> Result<(), VaultError> {
        Ok(self.remove(positions)?)
    }

    fn undo(&mut self, left: &[usize], arrived: Range<usize>) -> Result<(), VaultError> {
        self.truncate(arrived.start)?;
        // Texts that were known are known until the change is committed.
        for position in left {
            self.admit(*position..position + 1, &Texts::new())?;
        }
        Ok(())
    }

    fn purge(&mut self, positions: &[usize]) -> Result<(), VaultError> {
        Ok(Self::purge(self, positions)?)
    }
}
