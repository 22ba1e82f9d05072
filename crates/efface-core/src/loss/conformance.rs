//! The test suite that every loss runs: derivatives, extreme margins, and the constants that the bounds rest on.

use efface_testkit::golden;
use efface_testkit::{DoubleDouble, ReferenceLoss};

use super::{ALL, EVALUATION_ROUNDING, Loss, SCALAR, by_tag};
use crate::rounding::UNIT_ROUNDOFF;

/// The same loss written a second time, in double-double.
fn reference(loss: &dyn Loss) -> ReferenceLoss {
    match loss.tag() {
        "logistic" => ReferenceLoss::Logistic,
        "squared" => ReferenceLoss::Squared,
        other => panic!("the loss `{other}` has no reference in the testkit"),
    }
}

fn targets(loss: &dyn Loss) -> &'static [f64] {
    if loss.is_classification() { &[1.0, -1.0] } else { &[0.0, 1.0, -1.0, 0.3, -250.0, 1e15] }
}

/// 0, ±37, ±1e3, ±1e20, the extremes of the third derivative, and a fine grid between.
fn margins() -> Vec<f64> {
    let mut margins = vec![0.0, 5e-324, 1e-300, 1e-17, 1e-8, 1.316_957_896_924_816_6, 37.0, 1e3, 1e20, 1e140];
    margins.extend([700.0, 708.3, 708.4, 710.0, 744.0, 745.1, 745.2, 746.0]);
    margins.extend((1..=4000).map(|k| f64::from(k) * 0.01));
    margins.iter().flat_map(|z| [*z, -z]).collect()
}

#[test]
fn tags_are_unique_and_lead_back() {
    for loss in ALL {
        assert_eq!(by_tag(loss.tag()).map(Loss::tag), Some(loss.tag()));
        assert_eq!(ALL.iter().filter(|other| other.tag() == loss.tag()).count(), 1);
    }
    assert!(by_tag("hinge").is_none());
}

#[test]
fn slope_and_curvature_are_the_numerical_derivatives() {
    let step = 1e-5;
    for loss in SCALAR {
        for target in &targets(loss)[..2] {
            for z in (-1200..=1200).map(|k| f64::from(k) * 0.025) {
                let central = |f: &dyn Fn(f64) -> f64| (f(z + step) - f(z - step)) / (2.0 * step);
                let slope = central(&|z| loss.value(z, *target));
                let curvature = central(&|z| loss.slope(z, *target));
                let scale = 1.0 + loss.value(z, *target);
                assert!((slope - loss.slope(z, *target)).abs() < 2e-10 * scale, "{loss:?} at {z}: {slope}");
                assert!((curvature - loss.curvature(z, *target)).abs() < 1e-9, "{loss:?} at {z}: {curvature}");
            }
        }
    }
}

#[test]
fn every_margin_is_evaluated_within_the_declared_rounding() {
    let allowed = EVALUATION_ROUNDING as f64 * UNIT_ROUNDOFF;
    for loss in SCALAR {
        let exact = reference(loss);
        for target in targets(loss) {
            for z in margins() {
                let at = loss.evaluate(z, *target);
                assert_eq!(at.value, loss.value(z, *target));
                assert_eq!(at.slope, loss.slope(z, *target));
                assert_eq!(at.curvature, loss.curvature(z, *target));
                let margin = DoubleDouble::from(z);
                let close = |computed: f64, exact: DoubleDouble| {
                    let error = (exact - computed).abs().to_f64();
                    error <= allowed * exact.abs().to_f64() || error <= f64::MIN_POSITIVE
                };
                assert!(close(at.slope, exact.slope(margin, *target)), "slope of {loss:?} at {z:e}: {at:?}");
                assert!(
                    close(at.curvature, exact.curvature(margin, *target)),
                    "curvature of {loss:?} at {z:e}: {at:?}"
                );
                // The square of a margin near the largest number overflows in both.
                let value = exact.value(margin, *target);
                assert!(
                    close(at.value, value) || at.value == f64::INFINITY && z.abs() > 1e150,
                    "{loss:?} at {z:e}: {at:?}"
                );
            }
        }
    }
}

#[test]
fn logistic_agrees_with_the_sixty_digit_table() {
    let table = golden::logistic();
    let loss = by_tag("logistic").expect("the logistic loss exists");
    for entry in table.entries {
        let at = loss.evaluate(entry.margin, 1.0);
        for (computed, exact) in [(at.value, entry.value), (at.slope, entry.slope), (at.curvature, entry.curvature)] {
            let error = (computed - exact).abs();
            let allowed = table.relative_tolerance * exact.abs() + table.absolute_tolerance;
            assert!(error <= allowed, "at {:e}: {computed:e} for {exact:e}", entry.margin);
        }
    }
}

#[test]
fn losses_are_convex_and_not_negative() {
    for loss in SCALAR {
        for target in targets(loss) {
            for z in margins() {
                let at = loss.evaluate(z, *target);
                assert!(at.value >= 0.0 && at.curvature >= 0.0 && !at.slope.is_nan(), "{loss:?} at {z:e}: {at:?}");
            }
        }
    }
}

#[test]
fn declared_bounds_of_slope_and_curvature_hold_and_are_the_least() {
    for loss in SCALAR {
        let (mut steepest, mut most_curved) = (0.0_f64, 0.0_f64);
        for target in targets(loss) {
            for z in margins() {
                let at = loss.evaluate(z, *target);
                assert!(at.curvature <= loss.curvature_bound(), "{loss:?} at {z:e}");
                assert!(loss.slope_bound().is_none_or(|bound| at.slope.abs() <= bound), "{loss:?} at {z:e}");
                (steepest, most_curved) = (steepest.max(at.slope.abs()), most_curved.max(at.curvature));
            }
        }
        assert!(most_curved >= 0.9999 * loss.curvature_bound(), "{loss:?}: {most_curved}");
        match loss.slope_bound() {
            Some(bound) => assert!(steepest >= 0.9999 * bound, "{loss:?}: {steepest}"),
            None => assert!(steepest >= 1e20, "{loss:?} declares no slope bound and has one near {steepest}"),
        }
    }
}

/// Pairs of margins: all of a coarse grid, and neighbours of a fine one, where the ratio is largest. Differences are
/// taken in double-double, so that the ratio is right to 1e-20 and the last digit of γ counts.
#[test]
fn curvature_lipschitz_holds_and_is_tight() {
    for loss in SCALAR {
        let (exact, gamma) = (reference(loss), DoubleDouble::from(loss.curvature_lipschitz()));
        for target in targets(loss) {
            let curvature = |z: f64| exact.curvature(DoubleDouble::from(z), *target);
            let coarse: Vec<f64> = (-150..=150).map(|k| f64::from(k) * 0.2).chain([-1e20, -1e3, 1e3, 1e20]).collect();
            for (i, a) in coarse.iter().enumerate() {
                for b in &coarse[..i] {
                    let change = (curvature(*a) - curvature(*b)).abs();
                    assert!(change <= gamma * (DoubleDouble::from(*a) - *b).abs(), "{loss:?} between {a:e} and {b:e}");
                }
            }
            let mut steepest = DoubleDouble::ZERO;
            // Around every multiple of 0.01 and around the turning point of the logistic curvature, at three distances.
            for z in
                (-800..=800).map(|k| f64::from(k) * 0.01).chain([1.316_957_896_924_816_6, -1.316_957_896_924_816_6])
            {
                for apart in [1e-3, 1e-6, 1e-9] {
                    let (a, b) = (z - apart, z + apart);
                    let ratio = (curvature(b) - curvature(a)).abs() / (DoubleDouble::from(b) - a);
                    assert!(ratio <= gamma, "{loss:?} around {z}: {ratio:?}");
                    steepest = steepest.max(ratio);
                }
            }
            assert!(steepest >= gamma * 0.9999, "{loss:?}: γ is {gamma:?}, the steepest pair has {steepest:?}");
        }
        assert!(loss.printed_curvature_lipschitz() >= loss.curvature_lipschitz(), "{loss:?}");
    }
}

#[test]
fn logistic_lipschitz_constant_is_one_over_six_roots_of_three_rounded_up() {
    let exact = DoubleDouble::ONE / (DoubleDouble::from(3.0).sqrt() * 6.0);
    let declared = by_tag("logistic").expect("the logistic loss exists").curvature_lipschitz();
    assert!(exact <= DoubleDouble::from(declared), "{declared} is below 1/(6√3)");
    assert!(DoubleDouble::from(declared.next_down().next_down()) < exact, "{declared} is more than two units above");
}
