//! Row segments that are older than the database says.

use std::collections::BTreeSet;

use crate::directory::ModelDirectory;
use crate::directory::database::{Repair, index, put};
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
        let unpurged: BTreeSet<usize> = self.keeper.database.unpurged()?.into_iter().collect();
        let mut purged = self.keeper.database.gone()?;
        purged.retain(|position| !unpurged.contains(position) && differing.contains(&self.rows.segment_of(*position)));
        if restored {
            // Told first: once the segments are stamped, nobody sees any more that they were old.
            let n_again = self.rows.count_written(&purged)?;
            let found = ["row segments are older than the database"];
            let repairs = Repair::note(&self.keeper.database, &found, n_again, 0)?;
            self.keeper.database.commit(|tables| put(tables, "repairs", &repairs))?;
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
