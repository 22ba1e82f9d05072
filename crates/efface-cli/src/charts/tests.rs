//! Charts leave out what has no place on their axis, and put the rest where it belongs.

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
fn axes_end_on_ticks_and_enclose_the_values() {
    for (low, high) in [(-15.3, -2.1), (-0.2, 0.3), (2.0, 2.0), (-16.0, 7.5)] {
        let axis = decades(low, high);
        assert!(axis.low <= low && high <= axis.high && axis.low < axis.high);
        assert!(axis.low % axis.step == 0.0 && axis.high % axis.step == 0.0);
        assert!((axis.high - axis.low) / axis.step <= 10.0);
    }
    for (low, high) in [(92.1, 93.4), (0.0, 0.0), (100.0, 100.0), (12.0, 99.0)] {
        let axis = percents(low, high);
        assert!(axis.low <= low && high <= axis.high && axis.high - axis.low >= 4.0);
    }
}

#[test]
fn names_are_escaped() {
    assert!(chart(Scale::Percent, &[0.5, 0.6]).contains("a &lt;b&gt;"));
}

#[test]
fn ink_becomes_darker_with_the_pixel() {
    let mut image = [0; 64];
    (image[0], image[9]) = (16, 8);
    let svg = digit_svg(&image);
    assert!(svg.contains("x=\"0\" y=\"0\" width=\"1\" height=\"1\" fill=\"#000000\""));
    assert!(svg.contains("x=\"1\" y=\"1\" width=\"1\" height=\"1\" fill=\"#808080\""));
    assert_eq!(svg.matches("<rect").count(), 3);
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
