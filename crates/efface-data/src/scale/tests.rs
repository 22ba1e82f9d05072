//! Scaling keeps direction, bounds the norm and looks at one row only, whatever the size of its numbers.

use proptest::prelude::*;

use super::*;

fn scaled(scale: Scale, row: &[f64]) -> Vec<f64> {
    let mut row = row.to_vec();
    RowTransform { scale, intercept: false }.scale_features(&mut row).expect("finite");
    row
}

fn norm(row: &[f64]) -> f64 {
    let largest = row.iter().fold(0.0_f64, |largest, x| largest.max(x.abs()));
    if largest == 0.0 { 0.0 } else { largest * row.iter().map(|x| (x / largest).powi(2)).sum::<f64>().sqrt() }
}

#[test]
fn scales_are_spelled_as_on_the_command_line() {
    for text in ["unit", "none", "clip:2.5", "clip:0.001", "within:1024", "within:0.5"] {
        let scale: Scale = text.parse().expect("valid");
        assert_eq!(scale.to_string(), text);
        let json = serde_json::to_string(&scale).expect("serializable");
        assert_eq!(json, format!("\"{text}\""));
        assert_eq!(serde_json::from_str::<Scale>(&json).expect("readable"), scale);
    }
    let texts =
        ["", "Unit", "unit:1", "none:1", "clip", "clip:", "clip:0", "clip:-1", "clip:nan", "clip:inf", "clip:x", "l2"];
    let radii = ["within", "within:", "within:0", "within:-1", "within:NaN", "within:inf", "within:1e309", "within:x"];
    for text in texts.into_iter().chain(radii) {
        let error = text.parse::<Scale>().expect_err("must be refused").to_string();
        assert!(error.ends_with(&format!("got `{text}`")), "{error}");
    }
    assert!(serde_json::from_str::<Scale>("\"clip:-3\"").is_err());
    assert!(serde_json::from_str::<Scale>("\"within:-3\"").is_err());
    assert!(format!("within:{}", f64::MAX).parse::<Scale>().is_err(), "its limit is beyond the range of doubles");
}

#[test]
fn numbers_of_any_size_are_scaled_to_unit_norm() {
    for size in [1e200, 1e308, f64::MAX, 1e-200, 1e-308, 5e-324] {
        for row in [vec![size], vec![size, -size, size], vec![size, 0.0, size / 2.0]] {
            let unit = scaled(Scale::Unit, &row);
            assert!((norm(&unit) - 1.0).abs() < 1e-12, "{row:?} became {unit:?}");
        }
    }
    assert_eq!(scaled(Scale::Unit, &[0.0, -0.0, 0.0]), [0.0, 0.0, 0.0]);
}

#[test]
fn clipping_divides_by_the_radius_and_shortens_what_is_longer() {
    let clip = Scale::Clip { radius: 10.0 };
    assert_eq!(scaled(clip, &[3.0, 4.0]), [0.3, 0.4]);
    assert_eq!(scaled(clip, &[30.0, 40.0]), [0.6, 0.8]);
    assert_eq!(scaled(clip, &[0.0, 0.0]), [0.0, 0.0]);
    assert!((norm(&scaled(clip, &[f64::MAX, f64::MAX])) - 1.0).abs() < 1e-12);
    let tiny = Scale::Clip { radius: 1e-300 };
    assert!((norm(&scaled(tiny, &[1e10, 1e10])) - 1.0).abs() < 1e-12);
    let huge = Scale::Clip { radius: 1e300 };
    assert!((norm(&scaled(huge, &[1e300, 0.0])) - 1.0).abs() < 1e-12);
}

#[test]
fn the_norm_limit_is_one_and_a_millionth() {
    let check = |row: &[f64]| RowTransform { scale: Scale::None, intercept: false }.check_norm(row);
    assert!(check(&[0.6, 0.8]).is_ok());
    assert!(check(&[1.000_000_9]).is_ok());
    let error = check(&[1.1]).expect_err("too long").to_string();
    assert!(error.starts_with("row norm is 1.1") && error.ends_with("the limit is 1.000001"), "{error}");
    assert!(check(&[f64::NAN]).is_err());
    assert!(check(&[1e300]).is_err());
}

#[test]
fn rows_within_a_radius_are_taken_as_they_are_and_longer_ones_named() {
    let scale = Scale::Within { radius: 4.0 };
    let row = [2.4, -3.2, 0.0];
    assert_eq!(scaled(scale, &row), row);
    let check = |row: &[f64]| RowTransform { scale, intercept: true }.check_norm(row);
    assert!(check(&row).is_ok() && check(&[4.000_003]).is_ok());
    let error = check(&[3.0, 4.0]).expect_err("too long");
    assert!(matches!(error, ScaleError::NormTooLarge { norm, limit } if norm >= 5.0 && limit == 4.0 * 1.000_001));
    assert!(error.to_string().ends_with("the limit is 4.000004"), "{error}");
    assert!(check(&[f64::NAN]).is_err() && check(&[1e300]).is_err());
    // Squares beyond the range of doubles: the norm is rounded up to infinity, and no limit is.
    let huge = RowTransform { scale: Scale::Within { radius: 1e308 }, intercept: false };
    assert!(huge.check_norm(&[1e307]).is_err());
}

#[test]
fn the_bound_covers_the_intercept() {
    let bound = |intercept| RowTransform { scale: Scale::Unit, intercept }.row_norm_bound().get();
    assert_eq!(bound(false), 1.000_001);
    assert!(bound(true) >= (1.000_001_f64.powi(2) + 1.0).sqrt() && bound(true) < 1.414_215);
    let within = |intercept| RowTransform { scale: Scale::Within { radius: 8.0 }, intercept }.row_norm_bound().get();
    assert_eq!(within(false), 8.0 * 1.000_001);
    assert!(within(true) >= (8.000_008_f64.powi(2) + 1.0).sqrt() && within(true) < 8.062_267);
}

#[test]
fn what_is_not_finite_is_named() {
    let mut row = [1.0, f64::INFINITY];
    let error = RowTransform { scale: Scale::Unit, intercept: true }.scale_features(&mut row);
    assert_eq!(error, Err(ScaleError::NotFinite { feature: 1, value: f64::INFINITY }));
}

fn any_row() -> impl Strategy<Value = Vec<f64>> {
    // Exponents over the whole range of doubles, zeros and subnormal numbers included.
    prop::collection::vec(any::<f64>().prop_filter("finite", |x| x.is_finite()), 1..70)
}

proptest! {
    #[test]
    fn scaled_rows_pass_the_check_after_rounding(row in any_row(), radius in 1e-3..1e3_f64) {
        for scale in [Scale::Unit, Scale::Clip { radius }] {
            let transform = RowTransform { scale, intercept: false };
            let double = scaled(scale, &row);
            prop_assert!(transform.check_norm(&double).is_ok());
            let single: Vec<f64> = double.iter().map(|x| f64::from(*x as f32)).collect();
            prop_assert!(transform.check_norm(&single).is_ok());
        }
    }

    #[test]
    fn unit_rows_keep_their_direction(row in any_row()) {
        let unit = scaled(Scale::Unit, &row);
        let largest = row.iter().fold(0.0_f64, |largest, x| largest.max(x.abs()));
        if largest > 0.0 {
            prop_assert!((norm(&unit) - 1.0).abs() < 1e-12);
            let relative: Vec<f64> = row.iter().map(|x| x / largest).collect();
            let length = norm(&relative);
            for (x, expected) in unit.iter().zip(&relative) {
                prop_assert!((x - expected / length).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn clipping_never_lengthens_a_row_relative_to_another(a in any_row(), radius in 1e-3..1e3_f64) {
        let clip = Scale::Clip { radius };
        let half: Vec<f64> = a.iter().map(|x| x / 2.0).collect();
        prop_assert!(norm(&scaled(clip, &half)) <= norm(&scaled(clip, &a)) * (1.0 + 1e-12));
    }
}

#[test]
fn a_row_of_any_length_can_be_predicted_for() {
    for scale in [Scale::None, Scale::Within { radius: 4.0 }] {
        let transform = RowTransform { scale, intercept: true };
        assert!(transform.check_norm(&[30.0, 40.0]).is_err());
        let looking = transform.for_prediction();
        assert!(looking.check_norm(&[30.0, 40.0]).is_ok());
        let mut row = [30.0, 40.0];
        looking.scale_features(&mut row).expect("finite");
        assert_eq!((row, looking.intercept), ([30.0, 40.0], true));
    }
    let unit = RowTransform { scale: Scale::Unit, intercept: false };
    assert_eq!(unit.for_prediction(), unit);
}
