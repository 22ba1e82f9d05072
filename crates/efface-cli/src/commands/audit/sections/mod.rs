//! One section of the report per attack.

pub(super) mod distribution;
pub(super) mod membership;
pub(super) mod reconstruction;
