//! What a report shows, as data: sections of text, figures and tables. A front end draws them.

use serde::Serialize;

/// One experiment on the page.
#[derive(Clone, Debug, Serialize)]
pub struct Section {
    /// Short name, also of files: `mnist`.
    pub id: &'static str,
    /// Headline.
    pub title: String,
    /// What it shows, in order.
    pub parts: Vec<Part>,
}

/// A piece of a section.
#[derive(Clone, Debug, Serialize)]
pub enum Part {
    /// A paragraph of plain text.
    Text(String),
    /// A chart.
    Chart(Chart),
    /// Rows of grey images.
    Images(Images),
    /// A table.
    Table(Table),
}

/// A chart of lines and points. The first series is the reference.
#[derive(Clone, Debug, Serialize)]
pub struct Chart {
    /// Name of its files: `mnist-residuals`.
    pub id: String,
    /// Headline above it.
    pub title: String,
    /// What to see in it, below it; also for readers who cannot see it.
    pub caption: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// The lines; at most seven can be told apart.
    pub series: Vec<Series>,
    /// Vertical lines at places that matter.
    pub marks: Vec<Mark>,
}

/// An axis.
#[derive(Clone, Debug, Serialize)]
pub struct Axis {
    /// What it counts, with its unit.
    pub label: String,
    /// How it counts.
    pub scale: AxisScale,
}

/// How an axis counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum AxisScale {
    /// Evenly, from the data's ends.
    Linear,
    /// By powers of ten. Values that are not positive have no place on it.
    Log,
    /// Fractions between 0 and 1, printed as percent.
    Percent,
}

/// One named line.
#[derive(Clone, Debug, Serialize)]
pub struct Series {
    /// What it is, for the legend.
    pub name: String,
    /// Points, in the order in which the line joins them.
    pub points: Vec<Point>,
    /// Whether a line joins the points.
    pub joined: bool,
}

/// A point, with words beside it where they help.
#[derive(Clone, Debug, Serialize)]
pub struct Point {
    /// Place.
    pub x: f64,
    /// Value.
    pub y: f64,
    /// Words beside the point.
    pub label: Option<String>,
}

/// A vertical line.
#[derive(Clone, Debug, Serialize)]
pub struct Mark {
    /// Where.
    pub x: f64,
    /// What happens there.
    pub label: String,
}

/// Rows of grey images, each row under a name.
#[derive(Clone, Debug, Serialize)]
pub struct Images {
    /// Name of its files.
    pub id: String,
    /// Headline above it.
    pub title: String,
    /// What to see.
    pub caption: String,
    /// Pixels per side.
    pub side: usize,
    /// The rows.
    pub rows: Vec<ImageRow>,
}

/// Images under one name.
#[derive(Clone, Debug, Serialize)]
pub struct ImageRow {
    /// What they have in common.
    pub name: String,
    /// The images: `side²` bytes each, 0 is paper, 255 is ink, and a word below each.
    pub images: Vec<(Vec<u8>, String)>,
}

/// A table of texts. The first column names the row.
#[derive(Clone, Debug, Serialize)]
pub struct Table {
    /// What it shows.
    pub caption: String,
    /// Heads of the columns.
    pub columns: Vec<String>,
    /// One text per column.
    pub rows: Vec<Vec<String>>,
}

impl Axis {
    /// An axis that counts evenly.
    pub fn linear(label: &str) -> Self {
        Self { label: label.to_owned(), scale: AxisScale::Linear }
    }

    /// An axis of powers of ten.
    pub fn log(label: &str) -> Self {
        Self { label: label.to_owned(), scale: AxisScale::Log }
    }

    /// An axis of percents.
    pub fn percent(label: &str) -> Self {
        Self { label: label.to_owned(), scale: AxisScale::Percent }
    }
}

impl Series {
    /// A line through these points.
    pub fn line(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let points = points.into_iter().map(|(x, y)| Point { x, y, label: None }).collect();
        Self { name: name.into(), points, joined: true }
    }
}
