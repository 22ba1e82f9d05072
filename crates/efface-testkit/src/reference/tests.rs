use super::*;
use crate::dense::design_norm;
use crate::problems::{Shape, random_problem};

const LOSSES: [ReferenceLoss; 2] = [ReferenceLoss::Logistic, ReferenceLoss::Squared];

fn small_problem(loss: ReferenceLoss) -> Reference {
    Reference {
        loss,
        rows: vec![vec![0.6, -0.3], vec![-0.2, 0.9], vec![0.5, 0.5], vec![-0.7, 0.1]],
        targets: vec![1.0, -1.0, -1.0, 1.0],
        l2_per_row: 0.05,
        total_ridge: 0.0,
        row_weights: Vec::new(),
        perturbation: vec![0.3, -0.2],
    }
}

#[test]
fn gradient_is_the_slope_of_the_value() {
    for loss in LOSSES {
        let problem = small_problem(loss);
        let (point, step) = ([0.7, -1.3], 1e-9);
        let gradient = problem.gradient(&point);
        for k in 0..2 {
            let shifted = |by: f64| {
                let mut moved = point.map(DoubleDouble::from);
                moved[k] += by;
                problem.value(&moved)
            };
            let difference = (shifted(step) - shifted(-step)) / (2.0 * step);
            assert!((difference - gradient[k]).abs().to_f64() < 1e-18, "{loss:?}, component {k}");
        }
    }
}

#[test]
fn hessian_is_the_slope_of_the_gradient() {
    for loss in LOSSES {
        let problem = small_problem(loss);
        let (point, step) = ([0.7, -1.3], 1e-9);
        let hessian = problem.hessian(&point);
        for k in 0..2 {
            let shifted = |by: f64| {
                let mut moved = point.map(DoubleDouble::from);
                moved[k] += by;
                problem.gradient(&moved)
            };
            let (after, before) = (shifted(step), shifted(-step));
            for j in 0..2 {
                let difference = (after[j] - before[j]) / (2.0 * step);
                assert!((difference - hessian[j][k]).abs().to_f64() < 1e-18, "{loss:?}, entry ({j}, {k})");
            }
        }
    }
}

#[test]
fn one_row_has_a_known_minimizer() {
    // Squared loss, x = (3/5, 4/5), y = 1, λ = 1/2: w = x (xᵀx + λ)⁻¹ = x · 2/3, up to the rounding of 0.6 and 0.8.
    let problem = Reference {
        loss: ReferenceLoss::Squared,
        rows: vec![vec![0.6, 0.8]],
        targets: vec![1.0],
        l2_per_row: 0.5,
        total_ridge: 0.0,
        row_weights: Vec::new(),
        perturbation: Vec::new(),
    };
    let row = [0.6, 0.8];
    let factor = 1.0 / (dot(&row, &row) + 0.5);
    for (found, x) in problem.minimizer().iter().zip(row) {
        assert!((*found - factor * x).abs().to_f64() < 1e-30);
    }
    // Logistic loss, x = 1, y = 1: the minimum is where s(−w) = λ w. At w = ln 3, s(−w) = 1/4, so λ = 1/(4 ln 3).
    let weight = 3.0_f64.ln();
    let logistic = Reference {
        loss: ReferenceLoss::Logistic,
        rows: vec![vec![1.0]],
        targets: vec![1.0],
        l2_per_row: 0.25 / weight,
        total_ridge: 0.0,
        row_weights: Vec::new(),
        perturbation: Vec::new(),
    };
    assert!((logistic.minimizer()[0] - weight).abs().to_f64() < 1e-15);
}

#[test]
fn minimizers_of_random_problems_have_vanishing_gradients() {
    for loss in LOSSES {
        for (seed, shape) in (0..).zip(Shape::ALL) {
            let problem = random_problem(seed, loss, 25, 6, shape);
            let minimizer = problem.minimizer();
            let (left, scale) = (problem.gradient_norm(&minimizer), problem.gradient_scale(&minimizer));
            assert!(left <= 1e-27 * scale, "{loss:?} {shape:?}: {left:e} of {scale:e}");
        }
    }
}

#[test]
fn hard_problems_converge() {
    // Large problem; weak regularization with separable labels; a perturbation that drives margins to extremes.
    let mut problem = random_problem(3, ReferenceLoss::Logistic, 200, 40, Shape::Correlated);
    problem.minimizer();
    problem = random_problem(4, ReferenceLoss::Logistic, 3, 1, Shape::Isotropic);
    problem.l2_per_row = 1e-4;
    for size in [0.0, 1.0, 1e3] {
        problem.perturbation = vec![size];
        problem.minimizer();
    }
}

#[test]
fn gradient_keeps_its_digits_at_extreme_margins() {
    // At w = 40 the slope of a right label is e^−40 ≈ 4e-18: a double gradient of order one would not see it.
    let problem = |targets: Vec<f64>| Reference {
        loss: ReferenceLoss::Logistic,
        rows: vec![vec![1.0]; targets.len()],
        targets,
        l2_per_row: 0.0,
        total_ridge: 0.0,
        row_weights: Vec::new(),
        perturbation: Vec::new(),
    };
    let wrong = problem(vec![-1.0]).gradient(&[40.0])[0];
    let both = problem(vec![-1.0, 1.0]).gradient(&[40.0])[0];
    let tail = DoubleDouble::from(-40.0).exp();
    assert!((wrong - both - tail / (tail + 1.0)).abs().to_f64() < 1e-31);
    assert_eq!(problem(vec![-1.0]).gradient_norm(&[1e20]), 1.0);
    assert_eq!(problem(vec![1.0]).gradient_norm(&[1e20]), 0.0);
}

#[test]
fn distance_follows_strong_convexity() {
    for loss in LOSSES {
        let problem = random_problem(11, loss, 30, 5, Shape::Isotropic);
        let minimizer = problem.minimizer();
        let weights: Vec<f64> = minimizer.iter().map(|w| w.to_f64() + 1e-3).collect();
        let distance = distance_to(&minimizer, &weights);
        assert!((distance - 1e-3 * 5.0_f64.sqrt()).abs() < 1e-15);
        assert_eq!(distance, problem.distance(&weights));
        let strong_convexity = problem.l2_per_row * problem.n_rows() as f64;
        assert!(distance <= problem.gradient_norm(&weights) / strong_convexity);
        // Upper curvature: λ n + ‖X‖² sup ℓ″, and ℓ″ ≤ 1 for both losses.
        let smoothness = strong_convexity + design_norm(&problem.rows).powi(2);
        assert!(problem.gradient_norm(&weights) <= smoothness * distance * (1.0 + 1e-12));
    }
}
