//! The experiments of Guo et al. 2020, Section 4, on the data sets of [`data`], and what goes beyond them.
//!
//! Each experiment is a function from a [`Setting`] to its own results: plain numbers, kept as JSON. A results type
//! tells its own story as a [`efface_report::Section`]: text, figures and tables as data, which `efface-report` draws.
//!
//! | experiment | what | where |
//! |---|---|---|
//! | `mnist` | Figures 1 to 3 | `mnist/` |
//! | `sst`, `scenes` | Section 4.2; scenes in place of LSUN | `features.rs` |
//! | `svhn` | Section 4.3 and Figure 5 | `svhn/` |
//! | `times` | Table 1 | `times.rs` |
//! | `scale` | a million rows, and how costs grow | `scale/` |
//! | the demo | one person leaves a model of hand-written digits | [`demo`] |
//! | `beyond` | half of the rows leave, and nothing is lost | `beyond/` |

mod beyond;
pub mod data;
pub mod demo;
mod error;
mod experiment;
mod features;
mod life;
pub mod measure;
mod mnist;
mod objective;
mod scale;
mod setting;
mod svhn;
mod times;

pub use error::ExperimentError;
use error::Result;
pub use experiment::{Experiment, Record, page};
pub use life::{Life, weights};
pub use setting::{Setting, Stage};
