//! Charts leave out what has no place on their axis, and put the rest where it belongs.

use super::*;
use crate::{Axis, Chart, Mark, Point, Series};

fn chart(x: Axis, y: Axis, points: &[(f64, f64)]) -> Chart {
    Chart {
        id: "id".into(),
        title: "A & <b>".into(),
        caption: "what to \"see\"".into(),
        x,
        y,
        series: vec![Series::line("one <line>", points.iter().copied())],
        ..Chart::default()
    }
}

fn linear(points: &[(f64, f64)]) -> Chart {
    chart(Axis::linear("x"), Axis::linear("y"), points)
}

fn n_markers(svg: &str) -> usize {
    svg.matches("class=\"marker\"").count()
}

#[test]
fn a_log_axis_has_powers_of_ten_and_says_so() {
    let svg = chart_svg(&chart(Axis::log("rows"), Axis::log("norm"), &[(1.0, 1e-16), (1e3, 1e-4)]), Place::File);
    for part in ["10⁻¹⁶", "10⁻⁴", "10³", ">1<", ">rows (log scale)<", ">norm (log scale)<"] {
        assert!(svg.contains(part), "{part} is missing");
    }
}

#[test]
fn percents_are_percents_on_both_axes() {
    let points = [(0.0, 0.9), (0.5, 0.95)];
    let svg = chart_svg(&chart(Axis::percent("removed"), Axis::percent("right"), &points), Place::File);
    for part in [">50 %<", ">0 %<", ">95 %<", ">removed<"] {
        assert!(svg.contains(part), "{part} is missing");
    }
}

#[test]
fn a_unit_axis_shows_all_of_it() {
    let svg = chart_svg(&chart(Axis::linear("x"), Axis::unit("share"), &[(-4.0, 0.4), (4.0, 0.5)]), Place::Page);
    for part in [">0.0<", ">1.0<", ">−4<", ">4<"] {
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
        chart_svg(&chart(x(), y(), &clean), Place::Page),
        chart_svg(&chart(x(), y(), &with_others), Place::Page),
    );
    assert!(chart_svg(&chart(x(), y(), &[(0.0, 0.0)]), Place::File).contains("no value that this chart could show"));
    let mut two = chart(x(), y(), &clean);
    two.series.push(Series::line("two", []));
    assert!(chart_svg(&two, Place::File).contains("two (no value on these axes)"));
    two.series.clear();
    assert!(chart_svg(&two, Place::File).contains("no value that this chart could show"));
}

#[test]
fn a_file_has_its_title_and_ground_and_a_page_has_its_own() {
    let chart = linear(&[(0.0, 1.0), (1.0, 2.0)]);
    let [file, page, column] = [Place::File, Place::Page, Place::Column].map(|place| chart_svg(&chart, place));
    assert!(
        file.contains("A &#38; &#60;b&#62;") && file.contains("fill=\"#ffffff\"") && file.contains(" width=\"960\"")
    );
    assert!(!page.contains("A &#38;") && page.contains("var(--rule)") && !page.contains(" width=\"960\""));
    assert!(column.contains("viewBox=\"0 0 560 "));
    for svg in [file, page, column] {
        assert!(svg.contains("one &#60;line&#62;") && svg.contains("aria-label=\"what to &#34;see&#34;\""));
    }
}

#[test]
fn marks_lie_on_the_axis_and_widen_it() {
    let mut chart = linear(&[(0.0, 1.0), (1.0, 2.0)]);
    chart.marks = vec![Mark { x: 9.5, label: "here & now".into() }, Mark { x: f64::NAN, label: "never".into() }];
    let svg = chart_svg(&chart, Place::File);
    assert!(svg.contains("here &#38; now") && svg.contains(">10<") && !svg.contains("never"), "{svg}");
}

#[test]
fn points_without_a_line_are_all_marked_and_points_of_the_same_words_share_a_number() {
    let mut chart = linear(&[]);
    let label = |i: i32| match i {
        7 | 9 => Some("σ < 1".to_owned()),
        8 => Some("σ = 1".to_owned()),
        _ => None,
    };
    let points = (0..40).map(|i| Point { x: f64::from(i), y: 1.0, label: label(i) });
    chart.series = vec![Series { name: "points".into(), points: points.collect(), joined: false }];
    let svg = chart_svg(&chart, Place::File);
    // One more is the sample in the legend.
    assert_eq!(n_markers(&svg), 41);
    assert_eq!((svg.matches("σ &#60; 1").count(), svg.matches("σ = 1").count()), (1, 1));
    let numbers = |number: u8| svg.matches(&format!("paint-order=\"stroke\">{number}<")).count();
    assert_eq!((numbers(1), numbers(2), numbers(3)), (2, 1, 0));
    chart.series[0].joined = true;
    assert!(n_markers(&chart_svg(&chart, Place::File)) < 15);
}

#[test]
fn long_numbers_beside_each_other_have_room() {
    let ticks = |high: f64| {
        let chart = chart(Axis::linear("rows"), Axis::linear("y"), &[(1000.0, 1.0), (high, 2.0)]);
        chart_svg(&chart, Place::File).matches("000<").count()
    };
    assert_eq!((ticks(998_000.0), ticks(7_900_000.0)), (5, 4));
}
