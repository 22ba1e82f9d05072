//! The experiments of Guo et al. 2020, Section 4, on the data sets of [`data`], and what goes beyond them.
//!
//! Each experiment is a function from a [`Setting`] to its own results: plain numbers, kept as JSON. A results type
//! tells its own story as a [`efface_report::Section`]: text, figures and tables as data, which `efface-report` draws.
//!
//! | experiment | what | where |
//! |---|---|---|
//! | `mnist` | Figures 1 to 3 | [`mnist`] |
//! | `sst` | Section 4.2 | [`sst`] |
//! | `scenes` | Section 4.2, in place of LSUN | [`scenes`] |
//! | `times` | Table 1 | [`times`] |
//! | `scale` | a million rows, and how costs grow | [`scale`] |
//! | the demo | one person leaves a model of hand-written digits | [`demo`] |
//! | `beyond` | half of the rows leave, and nothing is lost | [`beyond`] |

pub mod beyond;
pub mod data;
pub mod demo;
mod error;
mod experiment;
mod life;
pub mod measure;
pub mod mnist;
pub mod objective;
pub mod scale;
pub mod scenes;
mod setting;
pub mod sst;
pub mod times;

pub use error::ExperimentError;
pub use experiment::{Experiment, Record, Results, page};
pub use life::{distance, weights};
pub use setting::{Progress, Setting, Stage};
