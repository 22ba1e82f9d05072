//! The pictures of all sections, drawn as files.

use std::collections::BTreeSet;

use efface_reproduce::page::{Part, Section};

use crate::charts::{Place, chart_svg, images_svg, to_png};

/// A picture, drawn.
pub(super) struct Figure {
    /// Name of its files.
    pub(super) name: String,
    pub(super) svg: String,
    pub(super) png: Vec<u8>,
}

/// Draws every picture. Two of the same name would overwrite each other and are an error.
pub(super) fn draw<'a>(sections: impl Iterator<Item = &'a Section>) -> anyhow::Result<Vec<Figure>> {
    let mut names = BTreeSet::new();
    let mut figures = Vec::new();
    for part in sections.flat_map(|section| &section.parts) {
        let (id, svg) = match part {
            Part::Chart(chart) => (&chart.id, chart_svg(chart, Place::File)),
            Part::Images(images) => (&images.id, images_svg(images, Place::File)),
            Part::Text(_) | Part::Table(_) => continue,
        };
        let name = file_name(id);
        anyhow::ensure!(names.insert(name.clone()), "two pictures have the name `{name}`");
        let png = to_png(&svg)?;
        figures.push(Figure { name, svg, png });
    }
    Ok(figures)
}

/// A picture's id as the name of a file.
pub(super) fn file_name(id: &str) -> String {
    id.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' }).collect()
}
