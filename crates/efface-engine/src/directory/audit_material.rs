//! What an audit attacks.

use efface_core::model::Model;
use efface_core::rows::RowBlocks;

use crate::directory::ModelDirectory;

/// The secret model and its rows, to be looked at and copied in memory, never to be changed or shown.
#[derive(Clone, Copy)]
pub struct AuditMaterial<'a> {
    /// The model as it is now.
    pub model: &'a Model,
    /// The rows present.
    pub rows: &'a dyn RowBlocks,
}

impl ModelDirectory {
    /// Hands out what an audit attacks. Whoever gets it is inside the trust boundary.
    pub fn audit_material(&self) -> AuditMaterial<'_> {
        AuditMaterial { model: &self.model, rows: &self.rows }
    }
}
