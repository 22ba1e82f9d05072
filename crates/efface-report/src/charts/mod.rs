//! Pictures of reports as SVG: charts, and small grey images.
//!
//! All ink of a page's picture is `currentColor` or a variable of the page, so that one picture serves light mode, dark
//! mode and paper; a picture that is a file of its own has fixed ink.
//!
//! | what | where |
//! |---|---|
//! | a chart from top to bottom | `chart` |
//! | ends of axes, ticks and what they say | `axis` |
//! | axes, grid, lines and markers | `frame` |
//! | colours, dashes, markers | `style` |
//! | names of vertical marks, the legend | `marks`, `legend` |
//! | rows of grey images | `images` |
//! | the sheet that a picture is put together on | `canvas` |

mod axis;
mod canvas;
mod chart;
mod frame;
mod images;
mod legend;
mod letters;
mod marks;
mod style;
#[cfg(test)]
mod tests;

pub(crate) use chart::chart_svg;
pub(crate) use images::images_svg;

/// Where a picture is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Inside a page, whose colours and font it takes and which says its title.
    Page,
    /// Inside a narrow column of a page.
    Column,
    /// A file of its own, on white, with its title.
    File,
}
