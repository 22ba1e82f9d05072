//! Sums as values: split and merged they are the whole, what was added and retracted is gone, sums from different points
//! do not mix, and bytes that are no sum are refused.

mod matrices;
mod rows;
mod weights;
mod within;

use efface_core::linalg::TrackedMatrix;
use efface_core::loss::{Logistic, Squared};
use efface_core::residual::{CurvatureChange, per_row};
use efface_core::rounding::UpperBound;
use efface_core::rows::{Point, Problem, RowBlock, RowBlocks, RowCount, RowStore};
use efface_core::sums::{
    DecodeError, GradientParts, GradientSum, GramParts, GramSum, GramWeights, IntegerSum, PointTag, StepPowers,
    SumDepth, SumError, SumRequest, Sums,
};
use efface_testkit::dense::{dot, norm};
use efface_testkit::store::{PlainRow, store_conformance};
use efface_testkit::{DoubleDouble, ReferenceLoss, Shape, random_problem};

use crate::store::{LAYOUTS, Precision, TestStore};

const DIM: usize = 6;

fn store(n_rows: usize) -> TestStore {
    let problem = random_problem(3, ReferenceLoss::Logistic, n_rows, DIM, Shape::Isotropic);
    let labels: Vec<f64> = (0..n_rows).map(|i| (i % 3) as f64).collect();
    let mut store = TestStore::of(&problem.rows, &labels);
    (0..n_rows).step_by(4).for_each(|i| store.weigh(i, 0.1 + i as f64));
    store
}

fn halves(n_rows: usize) -> (TestStore, TestStore, TestStore) {
    let whole = store(n_rows);
    let places: Vec<usize> = (0..n_rows).collect();
    let (first, second) = places.split_at(n_rows / 3);
    (whole.batch(first), whole.batch(second), whole)
}

fn for_each_block(store: &TestStore, mut work: impl FnMut(&RowBlock<'_>)) {
    for index in 0..store.n_blocks() {
        store.visit_block(index, &mut work).expect("readable");
    }
}

/// The distance between two sums is at most what both declare.
fn assert_near(a: GramSum, b: GramSum) {
    assert_eq!(a.count, b.count);
    let (a, b) = (TrackedMatrix::from(a), TrackedMatrix::from(b));
    let square: f64 = a.parts().0.iter().zip(&*b.parts().0).map(|(a, b)| 2.0 * (a - b) * (a - b)).sum();
    assert!(square.sqrt() <= a.error().get() + b.error().get());
}

#[test]
fn test_stores_conform_in_every_layout() {
    for layout in LAYOUTS {
        for precision in [Precision::Single, Precision::Double] {
            for n_rows in [0, 1, 40, 700] {
                let plain = store(n_rows.max(1));
                let mut rows = TestStore::empty(DIM, 1.000_001, precision).with_layout(layout);
                (0..n_rows).for_each(|i| rows.push(&plain.row(i), plain.label(i)));
                (0..n_rows).step_by(4).for_each(|i| rows.weigh(i, plain.row_weight(i)));
                (0..n_rows).step_by(7).for_each(|i| rows.remove(i));
                store_conformance(&rows, &PlainRow::of(&rows));
            }
        }
    }
}

#[test]
fn sums_that_are_split_and_merged_are_the_whole() {
    let problem = Problem::one_vs_rest(1, None);
    let point = Point { problem: &problem, weights: &[0.3, -1.0, 2.0, 0.1, 0.0, 0.7] };
    for n_rows in [30, 300, 900] {
        let (first, second, whole) = halves(n_rows);
        let gradient = |rows: &TestStore| rows.gradients(&Logistic, &[point]).expect("readable").swap_remove(0);
        let (mut merged, all) = (gradient(&first), gradient(&whole));
        merged.merge(&gradient(&second)).expect("the same point");
        assert_eq!(merged.count, all.count);
        let off: Vec<f64> = merged.gradient.iter().zip(&*all.gradient).map(|(a, b)| a - b).collect();
        assert!(norm(&off).to_f64() <= merged.error().get() + all.error().get());

        for weights in [GramWeights::One, GramWeights::Curvature { loss: &Logistic, point: &point }] {
            let sum = |rows: &TestStore| match weights {
                GramWeights::One => rows.gram().expect("readable"),
                GramWeights::Curvature { .. } => rows.curvature(&Logistic, &[point]).expect("readable").swap_remove(0),
            };
            let mut merged = sum(&first);
            merged.merge(&sum(&second)).expect("the same point");
            assert_near(merged, sum(&whole));
            let mut by_blocks = GramSum::zeros(DIM, UpperBound::new(1.0), &weights);
            for_each_block(&whole, |block| by_blocks.add(&weights, block).expect("the same point"));
            assert_near(by_blocks, sum(&whole));
        }
        let powers = |rows: &TestStore| rows.step_powers(&[point]).expect("readable").swap_remove(0);
        let (mut merged, all) = (powers(&first), powers(&whole));
        merged.merge(&powers(&second)).expect("the same step");
        assert!((merged.fourth_powers / all.fourth_powers - 1.0).abs() < 1e-12 && merged.count == all.count);

        let problems = [Problem::regression()];
        let ranges = |rows: &TestStore| rows.column_ranges(&problems).expect("finite");
        let mut merged = ranges(&first);
        merged.merge(&ranges(&second));
        assert_eq!(merged, ranges(&whole));
        let integers = |rows: &TestStore| rows.integers(&problems, &merged.exponents()).expect("on the grid");
        let (mut sum, mut all) = (integers(&first), IntegerSum::zeros(&merged.exponents()));
        sum.merge(&integers(&second)).expect("the same grid");
        all.merge(&integers(&whole)).expect("the same grid");
        assert!(sum == all);
    }
}

fn exact_fourth_powers(rows: &TestStore, point: &Point<'_>) -> DoubleDouble {
    let taking_part = PlainRow::of(rows).into_iter();
    let taking_part = taking_part.filter(|row| point.problem.target(row.label, row.selector).is_some());
    let power = |row: PlainRow| {
        let square = dot(&row.features, point.weights) * dot(&row.features, point.weights);
        square * square * row.row_weight
    };
    taking_part.map(power).sum()
}

/// What was added and retracted is gone but for rounding, which stays charged.
#[test]
fn what_is_added_and_retracted_is_gone() {
    let problem = Problem::one_vs_rest(1, None);
    let point = Point { problem: &problem, weights: &[0.3, -1.0, 2.0, 0.1, 0.0, 0.7] };
    for n_rows in [30, 300] {
        let (first, second, whole) = halves(n_rows);
        let gradient = |rows: &TestStore| rows.gradients(&Logistic, &[point]).expect("readable").swap_remove(0);
        let mut left = gradient(&whole);
        left.retract(&gradient(&second)).expect("the same point");
        let kept = gradient(&first);
        assert_eq!(left.count, kept.count);
        let off: Vec<f64> = left.gradient.iter().zip(&*kept.gradient).map(|(a, b)| a - b).collect();
        assert!(norm(&off).to_f64() <= left.error().get() + kept.error().get());
        left.retract(&kept).expect("the same point");
        assert_eq!((left.count.n_rows, left.count.weight_sum.get()), (0, 0.0));
        assert!(norm(&left.gradient).to_f64() <= left.error().get() && left.error().get() < 1e-11 * n_rows as f64);

        for sum in [RowStore::gram, |rows: &TestStore| {
            let problem = Problem::one_vs_rest(1, None);
            let point = Point { problem: &problem, weights: &[0.3, -1.0, 2.0, 0.1, 0.0, 0.7] };
            Ok(rows.curvature(&Logistic, &[point])?.swap_remove(0))
        }] {
            let mut left = sum(&whole).expect("readable");
            left.retract(&sum(&second).expect("readable")).expect("the same point");
            assert_near(left.clone(), sum(&first).expect("readable"));
            left.retract(&sum(&first).expect("readable")).expect("the same point");
            assert_eq!(left.count.n_rows, 0);
            let (entries, error) = (TrackedMatrix::from(left.clone()), left.error().get());
            assert!(norm(&entries.parts().0).to_f64() * 2.0 <= error && error < 1e-10 * n_rows as f64);
        }

        let powers = |rows: &TestStore| rows.step_powers(&[point]).expect("readable").swap_remove(0);
        let mut left = powers(&whole);
        for (gone, kept) in [(&second, Some(&first)), (&first, None)] {
            left.retract(&powers(gone)).expect("the same step");
            assert_eq!(left.count, kept.map_or_else(RowCount::default, |kept| powers(kept).count));
            let exact = kept.map_or(DoubleDouble::ZERO, |kept| exact_fourth_powers(kept, &point));
            let size = exact_fourth_powers(&whole, &point).to_f64();
            // With these constants the rung is the root of the powers.
            let one = UpperBound::new(1.0);
            let change = CurvatureChange { lipschitz: one, mean_position: one, row_norm: one };
            let bound = per_row(&change, one, &left).get();
            assert!(
                bound >= exact.sqrt().to_f64() && bound * bound - exact.to_f64() <= 1e-5 * size,
                "{bound} {exact:?}"
            );
            assert_eq!(StepPowers::from_bytes(&left.to_bytes()), Ok(left.clone()));
        }

        let problems = [Problem::regression()];
        let mut ranges = whole.column_ranges(&problems).expect("finite");
        let grid = ranges.exponents();
        let mut integers = whole.integers(&problems, &grid).expect("on the grid");
        for part in [&first, &second] {
            integers.retract(&part.integers(&problems, &grid).expect("on the grid")).expect("the same grid");
            ranges.retract(&part.column_ranges(&problems).expect("finite"));
        }
        let mut empty = IntegerSum::zeros(&grid);
        empty.merge(&IntegerSum::zeros(&grid)).expect("the same grid");
        assert!(integers == empty && ranges.exponents().iter().all(Option::is_none));
    }
}

#[test]
fn sums_from_different_points_do_not_mix() {
    let rows = store(40);
    let (problem, other) = (Problem::one_vs_rest(1, None), Problem::one_vs_rest(2, None));
    let (here, there) = ([0.5; DIM], [0.5, 0.5, 0.5, 0.5, 0.5, 0.500_000_000_000_000_1]);
    let point = Point { problem: &problem, weights: &here };
    let elsewhere = [Point { problem: &problem, weights: &there }, Point { problem: &other, weights: &here }];
    let mut gradient = rows.gradients(&Logistic, &[point]).expect("readable").swap_remove(0);
    let mut hessian = rows.curvature(&Logistic, &[point]).expect("readable").swap_remove(0);
    let mut matrix = TrackedMatrix::from(hessian.clone());
    let mut powers = rows.step_powers(&[point]).expect("readable").swap_remove(0);
    for point in &elsewhere {
        let refused = Err(SumError::AnotherPoint);
        let sum = rows.gradients(&Logistic, &[*point]).expect("readable").swap_remove(0);
        assert_eq!((gradient.merge(&sum), gradient.retract(&sum)), (refused.clone(), refused.clone()));
        let sum = rows.curvature(&Logistic, &[*point]).expect("readable").swap_remove(0);
        assert_eq!((hessian.merge(&sum), hessian.retract(&sum)), (refused.clone(), refused.clone()));
        assert_eq!((matrix.add(&sum), matrix.retract(&sum)), (refused.clone(), refused.clone()));
        let sum = rows.step_powers(&[*point]).expect("readable").swap_remove(0);
        assert_eq!((powers.merge(&sum), powers.retract(&sum)), (refused.clone(), refused.clone()));
        for_each_block(&rows, |block| {
            assert_eq!(gradient.add(&Logistic, point, block), refused);
            assert_eq!(hessian.add(&GramWeights::Curvature { loss: &Logistic, point }, block), refused);
        });
    }
    let squared = rows.gradients(&Squared, &[point]).expect("readable").swap_remove(0);
    assert_eq!(gradient.merge(&squared), Err(SumError::AnotherPoint));
    assert_eq!(hessian.merge(&rows.gram().expect("readable")), Err(SumError::AnotherPoint));
    let narrow = GramSum::zeros(DIM - 1, UpperBound::new(1.0), &GramWeights::One);
    let mut gram = rows.gram().expect("readable");
    assert_eq!(gram.merge(&narrow), Err(SumError::Dimension { expected: DIM, got: DIM - 1 }));
    let mut integers = IntegerSum::zeros(&[Some(1), None]);
    assert_eq!(integers.merge(&IntegerSum::zeros(&[Some(2), None])), Err(SumError::AnotherGrid));
}

/// Sums made by hand, one row after the other and with margins added up the slow way: with the depth that this has, the
/// declared error covers the truth; 60 stores of all sizes.
#[test]
fn sums_made_elsewhere_are_bounded_by_the_depth_they_declare() {
    let problem = Problem::one_vs_rest(1, None);
    for seed in 0..60 {
        let (n_rows, dim) = (1 + (seed as usize * 97) % 400, 1 + seed as usize % 30);
        let size = 10_f64.powi(seed as i32 % 12 - 4);
        let shape = Shape::ALL[seed as usize % Shape::ALL.len()];
        let rows = random_problem(seed, ReferenceLoss::Logistic, n_rows, dim, shape);
        let labels: Vec<f64> = rows.targets.iter().map(|y| f64::from(u8::from(*y > 0.0))).collect();
        let store = TestStore::of(&rows.rows, &labels);
        let weights: Vec<f64> = (0..dim).map(|j| size * (1.3 * j as f64 + 0.2).cos()).collect();
        let point = Point { problem: &problem, weights: &weights };
        let (mut gradient, mut lower) = (vec![0.0; dim], vec![0.0; dim * dim]);
        let (mut value, mut slopes, mut curvatures) = (0.0, 0.0, 0.0);
        let (mut exact, mut exact_lower) = (vec![DoubleDouble::ZERO; dim], vec![DoubleDouble::ZERO; dim * dim]);
        for (row, y) in rows.rows.iter().zip(&rows.targets) {
            let margin: f64 = row.iter().zip(&weights).fold(0.0, |sum, (x, w)| sum + x * w);
            let at = efface_core::loss::Loss::evaluate(&Logistic, margin, *y);
            let exact_margin = dot(row, &weights);
            let (slope, curvature) =
                (ReferenceLoss::Logistic.slope(exact_margin, *y), ReferenceLoss::Logistic.curvature(exact_margin, *y));
            (value, slopes, curvatures) = (value + at.value, slopes + at.slope.abs(), curvatures + at.curvature);
            for j in 0..dim {
                gradient[j] += at.slope * row[j];
                exact[j] += slope * row[j];
                for i in j..dim {
                    lower[j * dim + i] += at.curvature * row[i] * row[j];
                    exact_lower[j * dim + i] += curvature * DoubleDouble::from_product(row[i], row[j]);
                }
            }
        }
        let count = store.counts(std::slice::from_ref(&problem)).expect("readable")[0];
        let depth = SumDepth { margins: dim + 1, accumulation: n_rows + 1 };
        let parts =
            GradientParts { count, value, gradient: gradient.into(), slope_size: slopes, curvature_size: curvatures };
        let sum = GradientSum::from_parts(&Logistic, &point, store.row_norm_bound(), parts, depth).expect("it fits");
        let off: Vec<DoubleDouble> = exact.iter().zip(&*sum.gradient).map(|(exact, got)| *exact - *got).collect();
        assert!(norm(&off).to_f64() <= sum.error().get(), "seed {seed}");

        let weights = GramWeights::Curvature { loss: &Logistic, point: &point };
        let parts = GramParts { count, weight_size: curvatures, weighted: false, lower: lower.clone().into() };
        let sum = GramSum::from_parts(store.row_norm_bound(), &weights, dim, parts, depth).expect("it fits");
        let square: DoubleDouble = exact_lower.iter().zip(&lower).map(|(a, b)| (*a - *b) * (*a - *b) * 2.0).sum();
        assert!(square.sqrt().to_f64() <= sum.error().get(), "seed {seed}");
        assert_eq!(sum.tag(), PointTag::of(&Logistic, &point));
    }
}

#[test]
fn bytes_that_are_no_sum_are_refused() {
    let rows = store(40);
    let problem = Problem::one_vs_rest(1, None);
    let points = [Point { problem: &problem, weights: &[0.5; DIM] }];
    let problems = [Problem::regression()];
    let exponents = rows.column_ranges(&problems).expect("finite").exponents();
    let requests = [
        SumRequest::Counts { problems: &problems },
        SumRequest::Gradients { loss: &Logistic, points: &points },
        SumRequest::Curvature { loss: &Logistic, points: &points },
        SumRequest::Gram,
        SumRequest::StepPowers { points: &points },
        SumRequest::Ranges { problems: &problems },
        SumRequest::Integers { problems: &problems, exponents: &exponents },
    ];
    for request in requests {
        let asked = request.to_bytes();
        let answer = rows.sum(&request).expect("readable").to_bytes();
        for len in 0..asked.len() {
            assert!(SumRequest::with_bytes(&asked[..len], |_| ()).is_err(), "{len} bytes of {request:?}");
        }
        for len in 0..answer.len() {
            assert!(Sums::from_bytes(&answer[..len]).is_err(), "{len} bytes of the answer to {request:?}");
        }
        let altered = |bytes: &[u8], change: &dyn Fn(&mut Vec<u8>)| {
            let mut bytes = bytes.to_vec();
            change(&mut bytes);
            (SumRequest::with_bytes(&bytes, |_| ()).err(), Sums::from_bytes(&bytes).err())
        };
        let version = |bytes: &mut Vec<u8>| bytes[0] = 2;
        let unknown = Some(DecodeError::Version { got: 2 });
        assert_eq!(altered(&asked, &version).0, unknown);
        assert_eq!(altered(&answer, &version).1, unknown);
        assert!(altered(&asked, &|bytes| bytes.push(0)).0.is_some());
        assert!(altered(&answer, &|bytes| bytes.push(0)).1.is_some());
        // Sizes beyond all memory ask for no memory.
        let long = |bytes: &mut Vec<u8>| bytes.splice(2..bytes.len().min(10), [0xff; 8]).for_each(drop);
        assert!(altered(&answer, &long).1.is_some());
    }
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut sum = rows.gradients(&Logistic, &points).expect("readable").swap_remove(0);
        sum.gradient[2] = bad;
        assert_eq!(GradientSum::from_bytes(&sum.to_bytes()), Err(DecodeError::Number));
        let mut sum = rows.step_powers(&points).expect("readable").swap_remove(0);
        sum.fourth_powers = bad;
        assert_eq!(StepPowers::from_bytes(&sum.to_bytes()), Err(DecodeError::Number));
    }
    let gram = rows.gram().expect("readable");
    assert_eq!(GradientSum::from_bytes(&gram.to_bytes()), Err(DecodeError::Kind));
    let mut bytes = gram.to_bytes();
    let end = bytes.len();
    bytes[end - 8..].copy_from_slice(&f64::NAN.to_le_bytes());
    assert_eq!(GramSum::from_bytes(&bytes), Err(DecodeError::Number));
}
