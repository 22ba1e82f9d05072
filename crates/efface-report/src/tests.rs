//! A page with every kind of part stands alone, is well formed, and holds nothing but what it was given.

use crate::{
    Axis, Chart, ImageRow, Images, Layout, Mark, Page, Part, Section, Series, Table, Text, code, digest, emphasis,
    raised, strong, text, verdict,
};

const EVIL: &str = "<script>alert(\"x\")</script>' onload='\u{1b}[2J\u{202e}&amp;\n";

fn chart(id: &str) -> Chart {
    let curve = |name: &str, factor: f64, power: f64| {
        Series::line(name, (0..=120).map(|i| 10_f64.powf(f64::from(i) / 40.0)).map(|m| (m, factor * m.powf(power))))
    };
    let bad = [0.0, -1.0, f64::NAN, f64::INFINITY].map(|y| (10.0, y));
    Chart {
        id: id.to_owned(),
        title: format!("Left after one removal, ‖∇L(w⁻)‖₂ {EVIL}"),
        caption: "Orders of magnitude below each bound.".to_owned(),
        x: Axis::log("rows removed"),
        y: Axis::log("gradient norm"),
        series: vec![curve("exact <b>", 3e-14, 1.0), curve("bound", 4e-10, 1.5), Series::line("nothing", bad)],
        marks: vec![
            Mark { x: 12.0, label: "budget spent".to_owned() },
            Mark { x: 14.0, label: "retraining".to_owned() },
        ],
    }
}

fn images() -> Images {
    let image = |k: usize| (0..64).map(|i| ((i * k) % 256) as u8).collect();
    let images = (0..14).map(|k| (image(k), format!("row {k} <i>"))).collect();
    let rows = vec![ImageRow { name: "Hardest & easiest".to_owned(), images }];
    Images { id: "images".to_owned(), title: "Images".to_owned(), caption: "Seen.".to_owned(), side: 8, rows }
}

fn page(words: &str) -> Page {
    let terms = vec![("ε".to_owned(), text!["e", raised("ε"), " at most"])];
    let parts = vec![
        Part::text(text![words, strong(words), emphasis(words), code(words), digest(words), raised(words)]),
        Part::Note(words.into()),
        Part::Heading("A heading".to_owned()),
        Part::List(vec![words.into(), "two".into()]),
        Part::Terms(terms.clone()),
        Part::Commands(vec![words.into()]),
        Part::Chart(chart("a chart")),
        Part::Images(images()),
        Part::Table(Table::new(
            words,
            ["name", "value", "check"],
            [
                [Text::from("first | row"), "≤ 2.5 ms".into(), verdict(true, "kept", "broken").into()],
                [Text::from("second"), "12 s".into(), verdict(false, "kept", "broken").into()],
            ],
        )),
        Part::Columns(vec![
            Section::new("", "Left", vec![Part::Table(Table::pairs("", [("n", words)]))]),
            Section::default(),
        ]),
    ];
    Page {
        kicker: "Efface".to_owned(),
        title: words.into(),
        head: vec![
            Part::Verdict { good: false, text: words.into(), reasons: vec![words.into()] },
            Part::Figures(terms),
        ],
        contents: true,
        sections: vec![Section::new("fixture", "A fixture", parts)],
        foot: vec![words.into()],
        layout: Layout::default(),
    }
}

/// Nothing is loaded or run, and every element is closed: the page is XML as well.
#[track_caller]
fn stands_alone(html: &str) {
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    let document = roxmltree::Document::parse_with_options(html, options).expect("well formed");
    for element in document.descendants().filter(roxmltree::Node::is_element) {
        let name = element.tag_name().name();
        assert!(!matches!(name, "script" | "link" | "img" | "iframe" | "object"), "<{name}>");
        for attribute in element.attributes() {
            let (name, value) = (attribute.name(), attribute.value());
            assert!(!name.starts_with("on") && name != "src" && name != "style", "{name}=\"{value}\"");
            assert!(name != "href" || value.starts_with('#'), "{name}=\"{value}\"");
        }
    }
    assert!(!html.contains("@import") && !html.contains("url("));
}

#[test]
fn a_page_stands_alone_whatever_its_words_are() {
    for words in ["plain words", EVIL] {
        for layout in [Layout::Report, Layout::Sheet { dense: true }] {
            let html = Page { layout, ..page(words) }.html();
            stands_alone(&html);
            let hidden = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
            assert!(!html.contains(hidden) && !html.contains("NaN"));
        }
    }
    stands_alone(&Page::default().html());
    assert!(page(EVIL).html().contains("&#60;script&#62;alert(&#34;x&#34;)&#60;/script&#62;&#39; onload=&#39;\\u{1b}"));
}

#[test]
fn every_part_is_in_both_forms_and_every_picture_is_a_file() {
    let page = page("a <b> & c");
    let (html, markdown) = (page.html(), page.markdown("figures/"));
    for (in_html, in_markdown) in [
        ("<strong>a &#60;b&#62; &#38; c</strong><em>", "**a &lt;b\\> &amp; c***a"),
        ("<sup>ε</sup>", "e<sup>ε</sup> at most"),
        ("<td class=\"num\">≤ 2.5 ms</td>", "| first \\| row | ≤ 2.5 ms | ✓ kept |"),
        ("<span class=\"bad\">✗ broken</span>", "**✗ broken**"),
        ("<a href=\"#fixture\">A fixture</a>", "- [A fixture](#a-fixture)\n"),
        ("<section id=\"fixture\">", "\n## A fixture\n"),
        ("<div class=\"verdict broken\">", "> a &lt;b\\> &amp; c\n> - a"),
        ("<figure id=\"a-chart\">", "](figures/a-chart.svg)"),
        ("<h2>Left</h2>", "### Left\n"),
    ] {
        assert!(html.contains(in_html), "{in_html} is missing in {html}");
        assert!(markdown.contains(in_markdown), "{in_markdown} is missing in {markdown}");
    }
    let figures = page.figures().expect("two names");
    assert_eq!(figures.iter().map(|figure| &*figure.name).collect::<Vec<_>>(), ["a-chart", "images"]);
    for figure in &figures {
        assert!(figure.svg.starts_with("<svg xmlns") && roxmltree::Document::parse(&figure.svg).is_ok());
    }
}

#[test]
fn two_pictures_of_one_name_are_refused() {
    let mut page = page("");
    page.sections[0].parts.push(Part::Chart(chart("a/chart")));
    assert_eq!(page.figures().map(|_| ()), Err("a-chart".to_owned()));
}
