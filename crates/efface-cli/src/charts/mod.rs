//! Pictures of reports: charts, and small grey images.
//!
//! Axes, grid, lines and markers are drawn by kuva. Three things are done here. Decades are computed before kuva sees
//! the values, because its own log axis stops at 1e-10 and a settled model lies below that. Titles, legends and words
//! beside points are placed here, where it is known what else is in the picture. All ink of a page's picture is
//! `currentColor` or a variable of the page, so that one picture serves light mode, dark mode and paper; a picture that
//! is a file of its own has fixed ink.
//!
//! | what | where |
//! |---|---|
//! | ends of axes, ticks | `axis` |
//! | colours, dashes, markers | `style` |
//! | the frame that all charts share | `frame` |
//! | line charts of the demo and of audits | `line_chart` |
//! | charts of experiments: one description, a file or part of a page | `picture`, with `labels`, `legend`, `marks` |
//! | rows of grey images | `images` |
//! | files of pixels | `png` |

mod axis;
mod digit;
mod frame;
mod images;
mod labels;
mod legend;
mod line_chart;
mod marks;
mod picture;
mod png;
mod style;
#[cfg(test)]
mod tests;
mod text;

pub(crate) use digit::digit_svg;
pub(crate) use images::images_svg;
pub(crate) use line_chart::{Horizontal, LineChart, Scale, Series};
pub(crate) use picture::chart_svg;
pub(crate) use png::to_png;
pub(crate) use text::escape;

/// Where a picture is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Inside a page, whose colours and font it takes and which says its title.
    Page,
    /// A file of its own, on white, with its title.
    File,
}
