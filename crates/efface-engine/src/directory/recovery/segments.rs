//! Row segments that are older than the database says.

use std::collections::BTreeSet;

use super::note;
use crate::directory::ModelDirectory;
use crate::directory::database::{Mending, index};
use crate::error::EngineError;

impl ModelDirectory {
    /// Overwrites the rows that left once more in every segment that is older than the database says.
    pub(in crate::directory) fn overwrite_restored_segments(&mut self) -> Result<(), EngineError> {
        let expected = self.keeper.database.epochs()?;
        let found = self.rows.epochs();
        let differing: Vec<usize> = (0..found.len()).filter(|i| expected.get(*i) != Some(&found[*i])).collect();
        if differing.is_empty() {
            return Ok(());
        }
        let restored = differing.iter().any(|i| expected.get(*i).is_some_and(|epoch| found[*i] < *epoch));
        let gone: Vec<usize> = self
            .keeper
            .database
            .gone()?
            .into_iter()
            .filter(|p| differing.contains(&self.rows.segment_of(*p)))
            .collect();
        let unpurged: BTreeSet<usize> = self.keeper.database.unpurged()?.into_iter().collect();
        let purged: Vec<usize> = gone.iter().copied().filter(|position| !unpurged.contains(position)).collect();
        if restored {
            // Told first: once the segments are stamped, nobody sees any more that they were old.
            let n_again = self.rows.count_written(&purged)?;
            let mended = note(&self.keeper.database, "row segments were older than the database", n_again, 0)?;
            self.keeper.database.commit(|tables| Mending::write_all(&mended, tables))?;
        }
        self.rows.purge(&purged)?;
        for segment in &differing {
            self.rows.verify(*segment)?;
        }
        self.rows.restamp(&differing, self.keeper.head.generation)?;
        let epochs = self.rows.epochs();
        self.keeper.database.commit(|tables| index::stamped(tables, &epochs))
    }
}
