//! Seeded random training problems of the shapes that break bounds: correlated columns, outliers, near duplicates.
//!
//! Every row has norm at most 1 − 1e-9, so that a check of `‖x‖ ≤ 1` with any rounding passes. The same arguments give
//! the same problem, as long as the random number crates keep their streams; a new shape goes to the end of the list.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;
use rand_distr::StandardNormal;

use crate::reference::{Reference, ReferenceLoss};

/// How the rows of a random problem lie in space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Gaussian directions, norms spread over (0, 1].
    Isotropic,
    /// Columns that are nearly multiples of each other: one dominant direction and decaying others.
    Correlated,
    /// Short rows, and one long row along its own axis.
    Outlier,
    /// Few distinct rows, repeated with noise of size 1e-7.
    NearDuplicates,
    /// Norms near 1e-6.
    Tiny,
    /// One to three nonzero entries in each row; some columns may be empty.
    Sparse,
}

impl Shape {
    /// All shapes.
    pub const ALL: [Self; 6] =
        [Self::Isotropic, Self::Correlated, Self::Outlier, Self::NearDuplicates, Self::Tiny, Self::Sparse];
}

/// Draws a problem with the given size and shape, unperturbed and unweighted: rows with ‖x_i‖₂ ≤ 1 − 1e-9, labels ±1 for the
/// logistic loss and real numbers for the squared one. The kind of labels and λ, between 1e-4 and 1, come from the seed.
pub fn random_problem(seed: u64, loss: ReferenceLoss, n_rows: usize, dim: usize, shape: Shape) -> Reference {
    let mut rng = ChaCha12Rng::seed_from_u64(seed);
    let l2_per_row = rng.random_range(1e-4_f64.ln()..1.0_f64.ln()).exp();
    let mut rows = draw_rows(&mut rng, n_rows, dim, shape);
    for row in &mut rows {
        limit_norm(row);
    }
    let targets = draw_targets(&mut rng, loss, &rows);
    Reference { loss, rows, targets, l2_per_row, total_ridge: 0.0, row_weights: Vec::new(), perturbation: Vec::new() }
}

fn draw_rows(rng: &mut ChaCha12Rng, n_rows: usize, dim: usize, shape: Shape) -> Vec<Vec<f64>> {
    match shape {
        Shape::Isotropic => (0..n_rows)
            .map(|_| {
                let length = rng.random_range(0.05..1.0);
                direction(rng, dim).iter().map(|x| x * length).collect()
            })
            .collect(),
        Shape::Correlated => {
            let common = direction(rng, dim);
            (0..n_rows)
                .map(|_| {
                    let along: f64 = rng.sample(StandardNormal);
                    let own = gaussian(rng, dim);
                    let decay = (0..).map(|k| 0.02 * 0.8_f64.powi(k));
                    common.iter().zip(own).zip(decay).map(|((c, o), decay)| 0.5 * along * c + decay * o).collect()
                })
                .collect()
        }
        Shape::Outlier => {
            let mut rows: Vec<Vec<f64>> =
                (0..n_rows).map(|_| direction(rng, dim).iter().map(|x| 0.05 * x).collect()).collect();
            let outlier = rng.random_range(0..n_rows);
            rows[outlier] = vec![0.0; dim];
            rows[outlier][dim - 1] = 1.0;
            rows
        }
        Shape::NearDuplicates => {
            let originals: Vec<Vec<f64>> = (0..n_rows.div_ceil(8)).map(|_| direction(rng, dim)).collect();
            (0..n_rows)
                .map(|i| originals[i % originals.len()].iter().map(|x| 0.9 * x + 1e-7 * normal(rng)).collect())
                .collect()
        }
        Shape::Tiny => (0..n_rows).map(|_| direction(rng, dim).iter().map(|x| 1e-6 * x).collect()).collect(),
        Shape::Sparse => (0..n_rows)
            .map(|_| {
                let mut row = vec![0.0; dim];
                for _ in 0..rng.random_range(1..=3) {
                    row[rng.random_range(0..dim)] = rng.random_range(-1.0..1.0);
                }
                row
            })
            .collect(),
    }
}

fn draw_targets(rng: &mut ChaCha12Rng, loss: ReferenceLoss, rows: &[Vec<f64>]) -> Vec<f64> {
    let teacher = direction(rng, rows.first().map_or(1, Vec::len));
    let margin = |row: &[f64]| row.iter().zip(&teacher).map(|(x, t)| x * t).sum::<f64>();
    let kind = rng.random_range(0..3);
    let sign = |positive: bool| if positive { 1.0 } else { -1.0 };
    rows.iter()
        .map(|row| match (loss, kind) {
            (ReferenceLoss::Squared, _) => 3.0 * margin(row) + 0.3 * normal(rng),
            // Random, separable and unbalanced labels.
            (_, 0) => sign(rng.random_bool(0.5)),
            (_, 1) => sign(margin(row) >= 0.0),
            _ => sign(rng.random_bool(0.05)),
        })
        .collect()
}

/// Shrinks a row to norm 1 − 1e-9 where it is longer.
fn limit_norm(row: &mut [f64]) {
    let limit = 1.0 - 1e-9;
    let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt();
    if norm > limit {
        let factor = limit * (1.0 - 1e-14) / norm;
        for x in row.iter_mut() {
            *x *= factor;
        }
    }
}

/// A uniform point of the unit sphere.
fn direction(rng: &mut ChaCha12Rng, dim: usize) -> Vec<f64> {
    let point = gaussian(rng, dim);
    let norm = point.iter().map(|x| x * x).sum::<f64>().sqrt();
    point.iter().map(|x| x / norm).collect()
}

fn gaussian(rng: &mut ChaCha12Rng, dim: usize) -> Vec<f64> {
    (0..dim).map(|_| normal(rng)).collect()
}

fn normal(rng: &mut ChaCha12Rng) -> f64 {
    rng.sample(StandardNormal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dense::{design_norm, norm};

    #[test]
    fn rows_are_short_and_sizes_are_kept() {
        for (seed, shape) in (0..60).zip(Shape::ALL.into_iter().cycle()) {
            for loss in [ReferenceLoss::Logistic, ReferenceLoss::Squared] {
                let (n_rows, dim) = (3 + 3 * seed as usize, 1 + seed as usize % 40);
                let problem = random_problem(seed, loss, n_rows, dim, shape);
                assert_eq!((problem.rows.len(), problem.targets.len()), (n_rows, n_rows));
                assert!((1e-4..=1.0).contains(&problem.l2_per_row));
                for (row, target) in problem.rows.iter().zip(&problem.targets) {
                    assert_eq!(row.len(), dim);
                    assert!(norm(row).to_f64() <= 1.0 - 1e-9);
                    assert!(loss == ReferenceLoss::Squared || target.abs() == 1.0);
                }
            }
        }
    }

    #[test]
    fn the_seed_decides_everything() {
        let draw = |seed| random_problem(seed, ReferenceLoss::Logistic, 20, 4, Shape::Correlated);
        assert_eq!(draw(7).rows, draw(7).rows);
        assert_eq!(draw(7).targets, draw(7).targets);
        assert_ne!(draw(7).rows, draw(8).rows);
    }

    #[test]
    fn shapes_have_their_features() {
        let draw = |shape| random_problem(5, ReferenceLoss::Logistic, 40, 8, shape).rows;
        let lengths = |rows: &[Vec<f64>]| rows.iter().map(|row| norm(row).to_f64()).collect::<Vec<_>>();

        let correlated = draw(Shape::Correlated);
        let total: f64 = lengths(&correlated).iter().map(|x| x * x).sum();
        assert!(design_norm(&correlated).powi(2) > 0.95 * total);

        let outlier = lengths(&draw(Shape::Outlier));
        assert_eq!(outlier.iter().filter(|&&length| length > 0.9).count(), 1);

        let duplicates = draw(Shape::NearDuplicates);
        let gap: Vec<f64> = duplicates[0].iter().zip(&duplicates[5]).map(|(a, b)| a - b).collect();
        assert!(norm(&gap).to_f64() < 1e-5 && duplicates[0] != duplicates[5]);

        assert!(lengths(&draw(Shape::Tiny)).iter().all(|&length| length < 2e-6));
        assert!(draw(Shape::Sparse).iter().all(|row| row.iter().filter(|&&x| x != 0.0).count() <= 3));
    }

    #[test]
    fn all_kinds_of_labels_occur() {
        let positives: Vec<usize> = (0..30)
            .map(|seed| {
                let problem = random_problem(seed, ReferenceLoss::Logistic, 100, 3, Shape::Isotropic);
                problem.targets.iter().filter(|&&y| y > 0.0).count()
            })
            .collect();
        assert!(positives.iter().any(|&n| n < 20), "no unbalanced labels");
        assert!(positives.iter().filter(|&&n| (30..=70).contains(&n)).count() > 10, "no balanced labels");
    }
}
