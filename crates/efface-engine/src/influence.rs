//! How far the weights would move if a row left. What is hard to remove has much of it.

use efface_data::RowId;

use crate::error::EngineError;
use crate::model_directory::ModelDirectory;

impl ModelDirectory {
    /// Norm of the step that removing each of these rows alone would take, in the order of `ids`; `None`: of all rows in the
    /// order of their positions, 0 where a row has left. Estimates, and functions of the rows: keep them inside.
    pub fn influences(&self, ids: Option<&[RowId]>) -> Result<Vec<f64>, EngineError> {
        Ok(match ids {
            None => self.model.influences(&self.rows)?,
            Some(ids) => self.model.influences(&self.rows.batch(&self.positions_of(ids)?)?)?,
        })
    }
}
