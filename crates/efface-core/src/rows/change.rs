//! Rows that leave and arrive together.

use super::{RowStore, Sign};

/// Rows that leave and rows that arrive, in one step.
#[derive(Clone, Copy, Default)]
pub struct Change<'a> {
    /// Rows that leave.
    pub removed: Option<&'a dyn RowStore>,
    /// Rows that arrive.
    pub added: Option<&'a dyn RowStore>,
}

impl<'a> Change<'a> {
    /// Only removals.
    pub fn remove(rows: &'a dyn RowStore) -> Self {
        Self { removed: Some(rows), added: None }
    }

    /// Only additions.
    pub fn add(rows: &'a dyn RowStore) -> Self {
        Self { removed: None, added: Some(rows) }
    }

    /// Both parts, each with its sign.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (Sign, &'a dyn RowStore)> {
        let removed = self.removed.map(|rows| (Sign::Retract, rows));
        removed.into_iter().chain(self.added.map(|rows| (Sign::Add, rows)))
    }
}
