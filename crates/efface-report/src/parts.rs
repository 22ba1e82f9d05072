//! What a report shows, as data.

use askama::Template;

use crate::Text;

/// A part of a page under a headline.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// Name of its anchor and files; may be empty.
    pub id: String,
    /// Headline; may be empty.
    pub title: String,
    /// What it shows, in order.
    pub parts: Vec<Part>,
}

/// A piece of a section.
#[derive(Clone, Debug)]
pub enum Part {
    /// A paragraph.
    Text(Text),
    /// A paragraph in small print.
    Note(Text),
    /// A smaller headline.
    Heading(String),
    /// A list.
    List(Vec<Text>),
    /// Terms and what they mean.
    Terms(Vec<(String, Text)>),
    /// Numbers to remember, and what each one is.
    Figures(Vec<(String, Text)>),
    /// A verdict, with its reasons.
    Verdict {
        /// Whether it is good news.
        good: bool,
        /// The verdict.
        text: Text,
        /// Why, where there is more than one reason.
        reasons: Vec<Text>,
    },
    /// Command lines.
    Commands(Vec<Text>),
    /// A chart.
    Chart(Chart),
    /// Rows of grey images.
    Images(Images),
    /// A table.
    Table(Table),
    /// Sections side by side.
    Columns(Vec<Section>),
}

/// A table. The first column names the row; columns of numbers are set flush right. It is displayed as HTML.
#[derive(Clone, Debug, Default, Template)]
#[template(path = "table.html")]
pub struct Table {
    /// What it shows.
    pub caption: Text,
    /// Heads of the columns; none for pairs of names and values.
    pub columns: Vec<String>,
    /// One text per column.
    pub rows: Vec<Vec<Text>>,
}

/// A chart of lines and points. The first series is the reference.
#[derive(Clone, Debug, Default)]
pub struct Chart {
    /// Name of its files: `mnist-residuals`.
    pub id: String,
    /// Headline above it; may be empty.
    pub title: String,
    /// What to see in it, below it; also for readers who cannot see it.
    pub caption: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// The lines; at most eight can be told apart.
    pub series: Vec<Series>,
    /// Vertical lines at places that matter.
    pub marks: Vec<Mark>,
}

/// An axis.
#[derive(Clone, Debug, Default)]
pub struct Axis {
    /// What it counts, with its unit.
    pub label: String,
    /// How it counts.
    pub scale: AxisScale,
}

/// How an axis counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AxisScale {
    /// Evenly, between the ends of the data.
    #[default]
    Linear,
    /// Evenly from 0 to 1.
    Unit,
    /// By powers of ten. Values that are not positive have no place on it.
    Log,
    /// Fractions, printed as percent.
    Percent,
}

/// One named line.
#[derive(Clone, Debug)]
pub struct Series {
    /// What it is, for the legend.
    pub name: String,
    /// Points, in the order in which the line joins them.
    pub points: Vec<Point>,
    /// Whether a line joins the points.
    pub joined: bool,
}

/// A point, with words where they help: points of the same words get the same number, which the legend explains.
#[derive(Clone, Debug)]
pub struct Point {
    /// Place.
    pub x: f64,
    /// Value.
    pub y: f64,
    /// What is special about it.
    pub label: Option<String>,
}

/// A vertical line.
#[derive(Clone, Debug)]
pub struct Mark {
    /// Where.
    pub x: f64,
    /// What happens there.
    pub label: String,
}

/// Rows of grey images, each row under a name.
#[derive(Clone, Debug, Default)]
pub struct Images {
    /// Name of its files.
    pub id: String,
    /// Headline above it; may be empty.
    pub title: String,
    /// What to see.
    pub caption: String,
    /// Pixels per side.
    pub side: usize,
    /// The rows.
    pub rows: Vec<ImageRow>,
}

/// Images under one name.
#[derive(Clone, Debug)]
pub struct ImageRow {
    /// What they have in common; may be empty.
    pub name: String,
    /// The images: `side²` bytes each, 0 is paper, 255 is ink, and words below each.
    pub images: Vec<(Vec<u8>, String)>,
}

impl Section {
    /// A section of these parts.
    pub fn new(id: impl Into<String>, title: impl Into<String>, parts: Vec<Part>) -> Self {
        Self { id: id.into(), title: title.into(), parts }
    }
}

impl Part {
    /// A paragraph.
    pub fn text(text: impl Into<Text>) -> Self {
        Self::Text(text.into())
    }
}

impl Table {
    /// A table of these rows under the heads of its columns.
    pub fn new<C: Into<Text>>(
        caption: impl Into<Text>,
        columns: impl IntoIterator<Item = impl Into<String>>,
        rows: impl IntoIterator<Item = impl IntoIterator<Item = C>>,
    ) -> Self {
        let rows = rows.into_iter().map(|row| row.into_iter().map(Into::into).collect()).collect();
        Self { caption: caption.into(), columns: columns.into_iter().map(Into::into).collect(), rows }
    }

    /// Names and values.
    pub fn pairs<V: Into<Text>>(caption: impl Into<Text>, rows: impl IntoIterator<Item = (&'static str, V)>) -> Self {
        let rows = rows.into_iter().map(|(name, value)| vec![name.into(), value.into()]).collect();
        Self { caption: caption.into(), columns: Vec::new(), rows }
    }

    pub(crate) fn n_columns(&self) -> usize {
        if self.columns.is_empty() { self.rows.iter().map(Vec::len).max().unwrap_or(0) } else { self.columns.len() }
    }

    /// How the page sets a column.
    fn class(&self, column: usize) -> &'static str {
        if self.is_numeric(column) { "num" } else { "words" }
    }

    /// Whether a column holds numbers.
    pub(crate) fn is_numeric(&self, column: usize) -> bool {
        let cells =
            || self.rows.iter().filter_map(|row| row.get(column)).map(Text::plain).filter(|cell| !cell.is_empty());
        let is_number = |cell: String| {
            let rest = cell.trim_start_matches(['−', '-', '+', '<', '>', '≤', '≥', '≈', '~', '±', ' ']);
            matches!(&*cell, "–" | "—" | "∞") || rest.starts_with(|c: char| c.is_ascii_digit())
        };
        column > 0 && cells().count() > 0 && cells().all(is_number)
    }
}

impl Axis {
    /// An axis that counts evenly.
    pub fn linear(label: &str) -> Self {
        Self { label: label.to_owned(), scale: AxisScale::Linear }
    }

    /// An axis from 0 to 1.
    pub fn unit(label: &str) -> Self {
        Self { label: label.to_owned(), scale: AxisScale::Unit }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_numbers_are_known_by_their_cells() {
        let rows = [["1", "≤ 2.5 ms", "3 runs", ""], ["2", "–", "none", ""]];
        let table = Table::new("", ["data", "time", "note", "empty"], rows);
        assert_eq!([0, 1, 2, 3].map(|column| table.is_numeric(column)), [false, true, false, false]);
    }
}
