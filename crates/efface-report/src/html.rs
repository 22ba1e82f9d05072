//! A page as one HTML document that refers to nothing outside itself, in light mode, dark mode and on paper.
//!
//! The templates are checked when this crate is compiled and escape what they are given; only other templates and the
//! pictures of `charts` are let through as they are.

use askama::Template;

use crate::charts::Place;
use crate::{Part, Section, Text};

/// A page.
#[derive(Clone, Debug, Default, Template)]
#[template(path = "page.html")]
pub struct Page {
    /// What kind of page it is, above the headline.
    pub kicker: String,
    /// Headline.
    pub title: Text,
    /// What comes before all sections.
    pub head: Vec<Part>,
    /// Whether the headlines of all sections are listed first.
    pub contents: bool,
    /// The sections.
    pub sections: Vec<Section>,
    /// Paragraphs at the foot.
    pub foot: Vec<Text>,
    /// How it is laid out.
    pub layout: Layout,
}

/// How a page is laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// As long as it needs to be.
    #[default]
    Report,
    /// On one sheet of A4.
    Sheet {
        /// Printed in smaller letters, where there is more to say than usual.
        dense: bool,
    },
}

impl Page {
    /// The page as one HTML document.
    #[expect(clippy::missing_panics_doc, reason = "a string takes every text")]
    pub fn html(&self) -> String {
        self.render().expect("a string takes every text") + "\n"
    }

    fn class(&self) -> &'static str {
        match self.layout {
            Layout::Report => "report",
            Layout::Sheet { dense: false } => "sheet",
            Layout::Sheet { dense: true } => "sheet dense",
        }
    }
}

#[derive(Template)]
#[template(path = "section.html")]
struct SectionView<'a> {
    section: &'a Section,
    /// Where pictures of its parts are.
    place: Place,
}

#[derive(Template)]
#[template(path = "part.html")]
struct PartView<'a> {
    part: &'a Part,
    place: Place,
}

const CSS: &str = include_str!("../templates/page.css");
