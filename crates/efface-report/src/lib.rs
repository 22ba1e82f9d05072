//! Reports as data, and how they are drawn.
//!
//! Whoever has results says what a page shows: sections of text, tables, charts and images ([`Part`]). This crate turns
//! them into one self-contained HTML page, Markdown, and SVG files. It has no numbers of its own.
//!
//! | what | where |
//! |---|---|
//! | sections and their parts | [`Section`], [`Part`] |
//! | words in bold, code, digests; what is printed of text from a file | [`Text`] |
//! | numbers as people read them | [`numbers`] |
//! | the page as HTML | `html.rs`, `templates/` |
//! | the page as Markdown, with its pictures as files | `markdown.rs` |
//! | charts and grey images as SVG | `charts/` |

mod charts;
mod html;
mod markdown;
pub mod numbers;
mod parts;
#[cfg(test)]
mod tests;
mod text;

pub use html::{Layout, Page};
pub use markdown::Figure;
pub use parts::{Axis, AxisScale, Chart, ImageRow, Images, Mark, Part, Point, Section, Series, Table};
pub use text::{Span, Style, Text, capitalized, code, digest, emphasis, in_one_line, raised, strong, verdict};
