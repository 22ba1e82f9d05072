//! The experiments of Guo et al. 2020, Section 4, on the data sets of [`data`], and what goes beyond them.
//!
//! Each experiment is a function from a [`Setting`] to its own results: plain numbers, kept as JSON. A results type
//! tells its own story as a [`page::Section`]: text, figures and tables as data, which a front end draws.
//!
//! | experiment | what | where |
//! |---|---|---|
//! | `mnist` | Figures 1 to 3 | [`mnist`] |
//! | `sst` | Section 4.2 | [`sst`] |
//! | `scenes` | Section 4.2, in place of LSUN | [`scenes`] |
//! | `times` | Table 1 | [`times`] |
//! | `scale` | a million rows, and how costs grow | [`scale`] |
//! | `beyond` | half of the rows leave, and nothing is lost | [`beyond`] |

pub mod beyond;
pub mod data;
mod error;
mod experiment;
mod life;
pub mod mnist;
pub mod objective;
pub mod page;
pub mod scale;
pub mod scenes;
mod setting;
pub mod sst;
mod text;
pub mod times;

pub use error::ExperimentError;
pub use experiment::{Experiment, Record, Results};
pub use setting::{Progress, Setting, Stage};
