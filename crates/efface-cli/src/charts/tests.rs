//! Charts leave out what has no place on their axis, and put the rest where it belongs.

use efface_reproduce::page::{self, Axis};

use super::*;

fn chart(scale: Scale, values: &[f64]) -> String {
    let points = values.iter().enumerate().map(|(i, &y)| (i as f64, y)).collect();
    let series = [Series { name: "a <b>".to_owned(), points }];
    LineChart { description: "d", x_label: "x", y_label: "y", horizontal: Horizontal::Counts, scale, series: &series }
        .to_html()
}

/// The path of the first line.
fn line_of(html: &str) -> &str {
    let (_, path) = html.split_once("<path d=\"M ").expect("the chart has a line");
    path.split_once('"').expect("the attribute is closed").0
}

#[test]
fn values_without_a_logarithm_are_left_out() {
    let drawn = chart(Scale::Log10, &[1e-3, 1e-2, 1e-1]);
    let with_others = chart(Scale::Log10, &[1e-3, 1e-2, 1e-1, 0.0, -1.0, f64::NAN, f64::INFINITY]);
    assert_eq!(line_of(&drawn), line_of(&with_others));
    assert!(chart(Scale::Log10, &[0.0, f64::NAN]).contains("no value"));
}

#[test]
fn decades_far_below_and_above_one_are_drawn_where_they_are() {
    let html = chart(Scale::Log10, &[1e-15, 1e-9, 1e3]);
    for tick in ["10⁻¹⁶", "10⁻¹⁰", ">1<", "10⁴"] {
        assert!(html.contains(tick), "{tick} is missing");
    }
}

#[test]
fn names_are_escaped() {
    assert!(chart(Scale::Percent, &[0.5, 0.6]).contains("a &lt;b&gt;"));
}

#[test]
fn places_of_a_horizontal_axis_can_have_names() {
    let series = [Series { name: "a".to_owned(), points: vec![(0.0, 0.2), (1.0, 0.7)] }];
    let names = ["first".to_owned(), "second".to_owned()];
    let (x_label, y_label) = ("x", "y");
    let chart =
        |horizontal| LineChart { description: "d", x_label, y_label, horizontal, scale: Scale::Unit, series: &series };
    let html = chart(Horizontal::Names(&names)).to_html();
    assert!(html.contains(">first<") && html.contains(">second<") && html.contains(">0.2<"), "{html}");
    let html = chart(Horizontal::Numbers { low: -4.0, high: 4.0, step: 1.0 }).to_html();
    assert!(html.contains(">−4<") && html.contains(">4<"), "{html}");
}

fn picture(x: Axis, y: Axis, points: &[(f64, f64)]) -> page::Chart {
    page::Chart {
        id: "id".into(),
        title: "A & <b>".into(),
        caption: "what to \"see\"".into(),
        x,
        y,
        series: vec![page::Series::line("one <line>", points.iter().copied())],
        marks: Vec::new(),
    }
}

#[test]
fn a_log_axis_of_a_picture_has_powers_of_ten_and_says_so() {
    let chart = picture(Axis::log("rows"), Axis::log("norm"), &[(1.0, 1e-16), (1e3, 1e-4)]);
    let svg = chart_svg(&chart, Place::File);
    for part in ["10⁻¹⁶", "10⁻⁴", "10³", ">rows (log scale)<", ">norm (log scale)<"] {
        assert!(svg.contains(part), "{part} is missing");
    }
}

#[test]
fn percents_are_percents_on_both_axes() {
    let svg =
        chart_svg(&picture(Axis::percent("removed"), Axis::percent("right"), &[(0.0, 0.9), (0.5, 0.95)]), Place::File);
    for part in [">50 %<", ">0 %<", ">95 %<", ">removed<"] {
        assert!(svg.contains(part), "{part} is missing");
    }
}

#[test]
fn what_has_no_place_is_left_out_and_what_has_nothing_says_so() {
    let (x, y) = (|| Axis::linear("x"), || Axis::log("y"));
    let clean = [(0.0, 1e-3), (1.0, 1e-2)];
    let with_others: Vec<_> =
        clean.into_iter().chain([(2.0, 0.0), (3.0, -1.0), (4.0, f64::NAN), (f64::INFINITY, 1.0)]).collect();
    assert_eq!(
        chart_svg(&picture(x(), y(), &clean), Place::Page),
        chart_svg(&picture(x(), y(), &with_others), Place::Page),
    );
    assert!(chart_svg(&picture(x(), y(), &[(0.0, 0.0)]), Place::File).contains("no value that this chart could show"));
    let mut two = picture(x(), y(), &clean);
    two.series.push(page::Series::line("two", []));
    assert!(chart_svg(&two, Place::File).contains("two (no value on these axes)"));
    two.series.clear();
    assert!(chart_svg(&two, Place::File).contains("no value that this chart could show"));
}

#[test]
fn a_file_has_its_title_and_ground_and_a_page_has_its_own() {
    let chart = picture(Axis::linear("x"), Axis::linear("y"), &[(0.0, 1.0), (1.0, 2.0)]);
    let (file, page) = (chart_svg(&chart, Place::File), chart_svg(&chart, Place::Page));
    assert!(file.contains("A &amp; &lt;b&gt;") && file.contains("fill=\"#ffffff\"") && file.contains(" width=\"960\""));
    assert!(!page.contains("A &amp;") && page.contains("var(--rule)") && !page.contains(" width=\"960\""));
    for svg in [file, page] {
        assert!(svg.contains("one &lt;line&gt;") && svg.contains("aria-label=\"what to &quot;see&quot;\""));
    }
}

#[test]
fn marks_lie_on_the_axis_and_widen_it() {
    let mut chart = picture(Axis::linear("x"), Axis::linear("y"), &[(0.0, 1.0), (1.0, 2.0)]);
    chart.marks =
        vec![page::Mark { x: 9.5, label: "here & now".into() }, page::Mark { x: f64::NAN, label: "never".into() }];
    let svg = chart_svg(&chart, Place::File);
    assert!(svg.contains("here &amp; now") && svg.contains(">10<") && !svg.contains("never"), "{svg}");
}

#[test]
fn points_without_a_line_are_all_marked_and_have_their_words() {
    let mut chart = picture(Axis::linear("x"), Axis::linear("y"), &[]);
    let points = (0..40).map(|i| page::Point { x: f64::from(i), y: 1.0, label: (i == 7).then(|| "σ < 1".to_owned()) });
    chart.series = vec![page::Series { name: "points".into(), points: points.collect(), joined: false }];
    let svg = chart_svg(&chart, Place::File);
    assert!(svg.contains("σ &lt; 1") && svg.matches("<circle").count() == 40, "{}", svg.matches("<circle").count());
    chart.series[0].joined = true;
    assert!(chart_svg(&chart, Place::File).matches("<circle").count() < 15);
}

#[test]
fn long_numbers_beside_each_other_have_room() {
    let ticks = |high: f64| {
        let chart = picture(Axis::linear("rows"), Axis::linear("y"), &[(1000.0, 1.0), (high, 2.0)]);
        chart_svg(&chart, Place::File).matches("000<").count()
    };
    assert_eq!((ticks(998_000.0), ticks(7_900_000.0)), (5, 4));
}
