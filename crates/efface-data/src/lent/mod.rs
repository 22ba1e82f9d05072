//! Rows that another program owns: they are not copied, but lent to every call that needs them. A checksum per row notices
//! when one has changed meanwhile.

mod bytes;
mod checks;
mod error;
mod scores;
mod table;
mod vault;
mod view;

pub use error::{Interrupted, RowsError};
pub use scores::{Scaling, longest_row, scaled, scores};
pub use table::{LentRows, LentTable, RowSpec, RowsToLend};
pub use vault::LentVault;
