//! Sums of outer products that know their rounding error, and upper bounds of their largest eigenvalue.

use efface_core::linalg::{TrackedMatrix, largest_eigenvalue};
use efface_core::loss::Logistic;
use efface_core::rounding::{UpperBound, norm};
use efface_core::rows::{Point, Problem, RowStore, Sign};
use efface_core::sums::GramSum;
use efface_testkit::dense::{design_norm, dot};
use efface_testkit::{DoubleDouble, ReferenceLoss, Shape, random_problem};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;

use crate::store::{LAYOUTS, Precision, TestStore};

/// The exact `Σ a_i x_i x_iᵀ`, as full rows.
struct Exact(Vec<Vec<DoubleDouble>>);

impl Exact {
    fn zeros(dim: usize) -> Self {
        Self(vec![vec![DoubleDouble::ZERO; dim]; dim])
    }

    fn add(&mut self, weight: DoubleDouble, row: &[f64]) {
        for (entries, x) in self.0.iter_mut().zip(row) {
            for (entry, y) in entries.iter_mut().zip(row) {
                *entry += weight * DoubleDouble::from_product(*x, *y);
            }
        }
    }

    /// ‖stored − exact‖_F.
    fn distance(&self, stored: &TrackedMatrix) -> f64 {
        let (lower, _, _) = stored.parts();
        let mut square = DoubleDouble::ZERO;
        for (i, row) in self.0.iter().enumerate() {
            for (j, exact) in row.iter().enumerate() {
                let difference = *exact - lower[i.min(j) * stored.dim() + i.max(j)];
                square += difference * difference;
            }
        }
        square.sqrt().to_f64()
    }

    fn trace(&self) -> f64 {
        self.0.iter().enumerate().map(|(i, row)| row[i]).sum::<DoubleDouble>().to_f64()
    }

    fn times(&self, v: &[f64]) -> Vec<DoubleDouble> {
        self.0.iter().map(|row| dot(row, v)).collect()
    }
}

/// 12 pools, 1000 batches that arrive and leave, of 1 to 30 rows each, or of 1 to 3, which are listed for a while; sum of
/// ones, and of curvatures at a point. Half of the pools have weights from a millionth to a thousand.
#[test]
fn error_of_a_sum_is_bounded_through_a_thousand_changes() {
    for (seed, layout) in (0..12).zip(LAYOUTS.iter().cycle()) {
        let dim = [1, 3, 12, 40, 160, 200][seed as usize % 6];
        let most = if dim < 100 { 30 } else { 3 };
        let precision = if seed % 3 == 0 { Precision::Single } else { Precision::Double };
        let shape = Shape::ALL[seed as usize % Shape::ALL.len()];
        let problem = random_problem(seed, ReferenceLoss::Logistic, 60, dim, shape);
        let mut pool = TestStore::empty(dim, 1.000_001, precision).with_layout(layout);
        let labels = problem.targets.iter().map(|y| f64::from(u8::from(*y > 0.0)));
        problem.rows.iter().zip(labels).for_each(|(row, label)| pool.push(row, label));
        if seed % 2 == 1 {
            (0..60).for_each(|place| pool.weigh(place, 10_f64.powf((place as f64 * 0.37) % 9.0 - 6.0)));
        }

        let mut rng = ChaCha12Rng::seed_from_u64(seed);
        let anchor: Vec<f64> = (0..dim).map(|_| rng.random_range(-5.0..5.0)).collect();
        let view = Problem::one_vs_rest(1, None);
        let point = Point { problem: &view, weights: &anchor };
        let (mut gram, mut hessian) = (TrackedMatrix::zeros(dim), TrackedMatrix::zeros(dim));
        let mut copies = [0_u32; 60];
        for cycle in 0..1000 {
            let sign = if rng.random_bool(0.5) { Sign::Add } else { Sign::Retract };
            let mut places: Vec<usize> = (0..rng.random_range(1..=most)).map(|_| rng.random_range(0..60)).collect();
            // Only what is there can leave, once for each time it came.
            places.retain(|place| match sign {
                Sign::Add => {
                    copies[*place] += 1;
                    true
                }
                Sign::Retract => {
                    let there = copies[*place] > 0;
                    copies[*place] -= u32::from(there);
                    there
                }
            });
            let batch = pool.batch(&places);
            update(&mut gram, &batch.gram().expect("readable"), sign);
            update(&mut hessian, &batch.curvature(&Logistic, &[point]).expect("readable")[0], sign);
            if cycle % 97 == 96 {
                check_sums(&pool, &copies, &anchor, &gram, &hessian);
            }
        }
    }
}

fn update(matrix: &mut TrackedMatrix, sum: &GramSum, sign: Sign) {
    match sign {
        Sign::Add => matrix.add(sum),
        Sign::Retract => matrix.retract(sum),
    }
    .expect("the same point");
}

fn check_sums(pool: &TestStore, copies: &[u32], anchor: &[f64], gram: &TrackedMatrix, hessian: &TrackedMatrix) {
    let dim = gram.dim();
    let (mut exact_gram, mut exact_hessian) = (Exact::zeros(dim), Exact::zeros(dim));
    for (place, n) in copies.iter().enumerate() {
        let (row, n) = (pool.row(place), DoubleDouble::from(f64::from(*n)));
        let target = if pool.label(place) == 1.0 { 1.0 } else { -1.0 };
        let n = n * pool.row_weight(place);
        exact_gram.add(n, &row);
        exact_hessian.add(n * ReferenceLoss::Logistic.curvature(dot(&row, anchor), target), &row);
    }
    for (stored, exact) in [(gram, exact_gram), (hessian, exact_hessian)] {
        let (error, bound) = (exact.distance(stored), stored.error().get());
        assert!(error <= bound, "error {error:e}, bound {bound:e}");
        assert!(bound <= 1e-8 * stored.trace().get(), "a bound of {bound:e} says nothing");
        assert!(stored.trace().get() >= exact.trace() * (1.0 - 1e-15));
        let v: Vec<f64> = (0..dim).map(|j| ((j * 29 + 7) % 13) as f64 / 6.0 - 1.0).collect();
        let mut product = vec![0.0; dim];
        let bound = stored.multiply(0.3, &v, norm(&v), &mut product).get();
        let left: Vec<DoubleDouble> =
            exact.times(&v).iter().zip(&v).zip(&product).map(|((exact, v), got)| *exact + 0.3 * *v - *got).collect();
        let left = efface_testkit::dense::norm(&left).to_f64();
        assert!(left <= bound, "a product is off by {left:e}, bound {bound:e}");
        let form = dot(&exact.times(&v), &v).to_f64();
        let claimed = stored.quadratic_form(&v, norm(&v)).get();
        let slack = stored.trace().get() * norm(&v).get().powi(2);
        assert!(claimed >= form && claimed <= form + 1e-7 * slack, "vᵀAv is {form:e}, claimed {claimed:e}");
    }
}

/// Exact and computed `ℓ″ x xᵀ` of one row at weights that cancel in its margin.
fn cancelling(row: &[f64], weights: &[f64]) -> (Exact, TrackedMatrix) {
    let store = TestStore::of(&[row.to_vec()], &[1.0]);
    let problem = Problem::one_vs_rest(1, None);
    let point = Point { problem: &problem, weights };
    let hessian = store.curvature(&Logistic, &[point]).expect("readable").swap_remove(0).into();
    let mut exact = Exact::zeros(row.len());
    exact.add(ReferenceLoss::Logistic.curvature(dot(row, weights), 1.0), row);
    (exact, hessian)
}

/// Margins with rounding errors of order one: the curvatures are wrong in the first digit, and everything that is
/// computed with their sum has to say so. 300 rows.
#[test]
fn curvatures_at_rounded_margins_are_charged() {
    let mut rng = ChaCha12Rng::seed_from_u64(31);
    let mut largest = 0.0_f64;
    for case in 0..300 {
        let dim = 2 + case % 40;
        let row: Vec<f64> = (0..dim).map(|_| rng.random_range(-1.0..1.0) / (dim as f64).sqrt()).collect();
        let size = 10_f64.powf(rng.random_range(15.0..17.0));
        let mut weights: Vec<f64> = (0..dim).map(|_| size * rng.random_range(-1.0..1.0)).collect();
        // The last weight takes the margin back to nearly nothing.
        let margin = dot(&row[..dim - 1], &weights[..dim - 1]).to_f64();
        weights[dim - 1] = -margin / row[dim - 1];
        let (exact, hessian) = cancelling(&row, &weights);
        let (error, bound) = (exact.distance(&hessian), hessian.error().get());
        assert!(error <= bound, "error {error:e}, bound {bound:e}");
        largest = largest.max(error);

        let mut product = vec![0.0; dim];
        let bound = hessian.multiply(0.0, &row, norm(&row), &mut product).get();
        let left: Vec<DoubleDouble> =
            exact.times(&row).iter().zip(&product).map(|(exact, got)| *exact - *got).collect();
        assert!(efface_testkit::dense::norm(&left).to_f64() <= bound);
        assert!(dot(&exact.times(&row), &row).to_f64() <= hessian.quadratic_form(&row, norm(&row)).get());
        let top = exact.trace();
        assert!(top <= largest_eigenvalue(&hessian).get() * (1.0 + 1e-15), "a rank-one matrix of trace {top}");
    }
    assert!(largest > 0.01, "the largest error is {largest:e}");
}

/// A computed curvature of zero is a rounded one too: at margins whose rounding error exceeds 745 the row's share may be
/// missing from the sum, and the bound has to say so.
#[test]
fn curvatures_lost_to_rounded_margins_are_charged() {
    let row = [0.5; 4];
    // Exactly 0.5·(8200 − 8190) = 5; added up in any order, thousands are lost beside 1e20.
    for weights in [[1e20, -1e20, 8200.0, -8190.0], [8200.0, 1e20, -8190.0, -1e20], [1e20, 8200.0, -1e20, -8190.0]] {
        let (exact, hessian) = cancelling(&row, &weights);
        let (error, bound) = (exact.distance(&hessian), hessian.error().get());
        assert!(error <= bound, "error {error:e}, bound {bound:e} at weights {weights:?}");
    }
}

/// 200 matrices that are exactly as stored: what is left of a product's bound is the product's own rounding.
#[test]
fn rounding_of_products_is_bounded() {
    let mut rng = ChaCha12Rng::seed_from_u64(32);
    let mut smallest = f64::INFINITY;
    for case in 0..200 {
        let dim = 1 + case % 50;
        let rows: Vec<Vec<f64>> =
            (0..3).map(|_| (0..dim).map(|_| f64::from(rng.random_range(-9..=9))).collect()).collect();
        let gram = exactly(dim, |i, j| rows.iter().map(|row| row[i] * row[j]).sum());
        let mut exact = Exact::zeros(dim);
        for row in &rows {
            exact.add(DoubleDouble::ONE, row);
        }
        // All of one sign in half of the cases, so that roundings add up.
        let low = if case % 2 == 0 { -1.0 } else { 0.0 };
        let (v, ridge): (Vec<f64>, f64) =
            ((0..dim).map(|_| rng.random_range(low..1.0)).collect(), rng.random_range(0.0..9.0));
        let mut product = vec![0.0; dim];
        let bound = gram.multiply(ridge, &v, norm(&v), &mut product).get();
        let times = exact.times(&v);
        let left: Vec<DoubleDouble> = times
            .iter()
            .zip(&v)
            .zip(&product)
            .map(|((exact, v), got)| *exact + ridge * DoubleDouble::from(*v) - *got)
            .collect();
        let left = efface_testkit::dense::norm(&left).to_f64();
        assert!(left <= bound, "a product is off by {left:e}, bound {bound:e}");
        smallest = smallest.min(bound / left);
        let form = dot(&times, &v);
        assert!(DoubleDouble::from(gram.quadratic_form(&v, norm(&v)).get()) >= form);
    }
    assert!(smallest < 100.0, "the smallest ratio of bound to truth is {smallest}");
}

/// A matrix with exactly known entries: error zero, trace as given.
fn exactly(dim: usize, entry: impl Fn(usize, usize) -> f64) -> TrackedMatrix {
    let mut lower = vec![0.0; dim * dim];
    for j in 0..dim {
        for i in j..dim {
            lower[j * dim + i] = entry(i, j);
        }
    }
    let trace = (0..dim).map(|j| UpperBound::new(entry(j, j))).sum();
    TrackedMatrix::from_parts(dim, lower, UpperBound::ZERO, trace).expect("a square")
}

/// ±1: entry of the Hadamard matrix of order 2^k.
fn hadamard(i: usize, j: usize) -> f64 {
    if (i & j).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 }
}

/// `H diag(eigenvalues) H / n`, exact for integer eigenvalues up to 2⁴⁰.
fn with_eigenvalues(eigenvalues: &[f64]) -> TrackedMatrix {
    let n = eigenvalues.len();
    exactly(n, |i, j| (0..n).map(|k| eigenvalues[k] * hadamard(i, k) * hadamard(j, k)).sum::<f64>() / n as f64)
}

#[test]
fn largest_eigenvalue_is_never_below_an_exactly_known_one() {
    let n = 16;
    let large = 2_f64.powi(40);
    let cases: [(&str, Vec<f64>); 7] = [
        ("clustered at the top", (0..n).map(|k| large - k as f64).collect()),
        ("all equal", vec![large; n]),
        ("one above a cluster", (0..n).map(|k| if k == 5 { large } else { large - 1.0 }).collect()),
        ("huge spread", (0..n).map(|k| large * 0.25_f64.powf(k as f64)).collect()),
        ("rank one", (0..n).map(|k| if k == 3 { large } else { 0.0 }).collect()),
        // The power iteration starts near column 0, which has nothing here, and must find column 9.
        ("hidden from the start", (0..n).map(|k| if k == 9 { 1024.0 } else { f64::from(u8::from(k != 0)) }).collect()),
        ("slowly hidden", (0..n).map(|k| [1000.0, 1010.0][usize::from(k == 15)]).collect()),
    ];
    for (name, eigenvalues) in cases {
        let largest = eigenvalues.iter().copied().fold(0.0, f64::max);
        let bound = largest_eigenvalue(&with_eigenvalues(&eigenvalues)).get();
        assert!(bound >= largest, "{name}: {bound} for {largest}");
        assert!(bound <= 1.06 * largest, "{name}: {bound} for {largest} is loose");
    }
}

#[test]
fn the_error_of_a_matrix_is_added_to_its_largest_eigenvalue() {
    for dim in [1, 2, 5] {
        let gram = exactly(dim, |i, j| f64::from(u8::from(i == j)));
        let (lower, _, _) = gram.parts();
        let error = UpperBound::new(0.5);
        let drifted = TrackedMatrix::from_parts(dim, lower.to_vec(), error, UpperBound::new(9.0)).expect("a square");
        let bound = largest_eigenvalue(&drifted).get();
        assert!((1.5..1.6).contains(&bound), "d = {dim}: {bound}");
    }
}

#[test]
fn largest_eigenvalue_of_a_rank_one_matrix_is_the_squared_norm() {
    for dim in [1, 2, 3, 7, 33, 300] {
        let v: Vec<f64> = (0..dim).map(|j| ((j * 37 + 11) % 64) as f64 - 31.0).collect();
        let square: f64 = v.iter().map(|x| x * x).sum();
        for scale in [1.0, 2_f64.powi(-200), 2_f64.powi(200)] {
            let bound = largest_eigenvalue(&exactly(dim, |i, j| scale * v[i] * v[j])).get();
            assert!(bound >= scale * square && bound <= 1.002 * scale * square, "d = {dim}: {bound:e}");
        }
    }
}

/// The start of the power iteration has no share at all in the top eigenvector: the estimate is the second eigenvalue.
#[test]
fn an_estimate_that_misses_the_top_is_found_out() {
    // Integers orthogonal to each other; the start is nearly constant on coordinates 0 and 1009, which agree in it.
    let dim = 1010;
    for top in [1.2, 1.45, 1.6, 10.0] {
        // (e_0 − e_1009)/√2 has eigenvalue `top`, everything else 1.
        let gram = exactly(dim, |i, j| match (i, j) {
            (0, 0) | (1009, 1009) => 0.5 * (top + 1.0),
            (1009, 0) => -0.5 * (top - 1.0),
            _ => f64::from(u8::from(i == j)),
        });
        let bound = largest_eigenvalue(&gram).get();
        assert!(bound >= top, "{bound} for {top}");
    }
}

/// 120 random designs in every shape and layout.
#[test]
fn squared_norm_of_a_design_is_bounded_tightly() {
    for seed in 0..120 {
        let (n_rows, dim) = (1 + (seed as usize * 53) % 150, 1 + (seed as usize * 7) % 40);
        let shape = Shape::ALL[seed as usize % Shape::ALL.len()];
        let problem = random_problem(seed, ReferenceLoss::Logistic, n_rows, dim, shape);
        let layout = LAYOUTS[seed as usize % LAYOUTS.len()];
        let store = TestStore::of(&problem.rows, &problem.targets).with_layout(layout);
        let gram = TrackedMatrix::from(store.gram().expect("readable"));
        let (bound, exact) = (largest_eigenvalue(&gram).get(), design_norm(&problem.rows).powi(2));
        assert!(bound >= exact * (1.0 - 3e-12), "{bound:e} for {exact:e}: seed {seed}, {shape:?}");
        // Beside the estimate's 6 %, the rounding bound, which is relative to n rows of the declared norm.
        assert!(bound <= 1.06 * exact + 1e-10 * n_rows as f64, "{bound:e} for {exact:e}: seed {seed}, {shape:?}");
    }
}
