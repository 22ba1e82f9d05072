//! Growth curves: what training, one removal and settling cost as rows or features double, and with which exponent.

use efface_core::model::TrainingPlan;
use efface_data::MemoryRows;
use serde::{Deserialize, Serialize};

use super::Sizes;
use super::synthetic::{ClassMoments, ClassRows};
use crate::life::{Life, random_order};
use crate::measure::{median, try_timed};
use crate::{Result, Setting};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Growth {
    /// Against n, at a fixed d.
    pub(crate) by_rows: Curve,
    /// Against d, at a fixed n.
    pub(crate) by_features: Curve,
}

/// Costs at growing sizes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Curve {
    /// One per size, which doubles from one to the next.
    pub(crate) costs: Vec<Cost>,
    /// Exponents over the upper half of the sizes.
    pub(crate) exponents: Exponents,
}

/// Costs at one size. Training and settling are the least of a few times, one removal is the middle of many.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Cost {
    pub(crate) n_rows: usize,
    pub(crate) dim: usize,
    pub(crate) train_seconds: f64,
    pub(crate) removal_seconds: f64,
    pub(crate) settle_seconds: f64,
    pub(crate) settle_passes: usize,
}

/// a of `seconds ∝ sizeᵃ`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Exponents {
    pub(crate) train: f64,
    pub(crate) removal: f64,
    pub(crate) settle: f64,
}

/// Runs both curves on rows that are drawn like the first features of `real`.
pub(super) fn run(real: &MemoryRows, sizes: &Sizes, plan: &TrainingPlan, setting: &Setting<'_>) -> Result<Growth> {
    let costs = |what: &str, sizes_of: &[(usize, usize)]| -> Result<Vec<Cost>> {
        setting.begin(what, sizes_of.len());
        let cost = |&(n_rows, dim): &(usize, usize)| {
            let moments = ClassMoments::of(&ClassRows::first_features(real, dim));
            let cost = cost(&moments, n_rows, sizes.growth_removals, plan, setting.seed)?;
            setting.step();
            Ok(cost)
        };
        sizes_of.iter().map(cost).collect()
    };
    Ok(Growth {
        by_rows: Curve::of(costs("growth with the rows", &sizes.growth_with_rows)?, |cost| cost.n_rows),
        by_features: Curve::of(costs("growth with the features", &sizes.growth_with_features)?, |cost| cost.dim),
    })
}

impl Curve {
    fn of(costs: Vec<Cost>, size: impl Fn(&Cost) -> usize) -> Self {
        let fit = |seconds: fn(&Cost) -> f64| {
            let upper = &costs[costs.len() / 2..];
            exponent(&upper.iter().map(|cost| (size(cost) as f64, seconds(cost))).collect::<Vec<_>>())
        };
        let exponents = Exponents {
            train: fit(|cost| cost.train_seconds),
            removal: fit(|cost| cost.removal_seconds),
            settle: fit(|cost| cost.settle_seconds),
        };
        Self { costs, exponents }
    }
}

fn cost(moments: &ClassMoments, n_rows: usize, n_removals: usize, plan: &TrainingPlan, seed: u64) -> Result<Cost> {
    let rows = ClassRows::draw(moments, n_rows, seed);
    let dim = rows.dim;
    let mut life = Life::begin(plan, rows.into_rows()?, seed)?;
    let first = life.training_seconds;
    let train_seconds = repeated(first, || Ok(life.retrain(seed)?.1))?;

    let leaving = random_order(n_rows, seed).into_iter().take(n_removals);
    let removal_seconds = leaving.map(|position| Ok(life.remove(&[position])?.1)).collect::<Result<Vec<f64>>>()?;

    let mut settle_passes = 0;
    let mut settle = || -> Result<f64> {
        let mut model = life.model.clone();
        let (settled, seconds) = try_timed(|| model.settle(&life.rows, None))?;
        settle_passes = settled.passes;
        Ok(seconds)
    };
    let first = settle()?;
    let settle_seconds = repeated(first, settle)?;
    Ok(Cost { n_rows, dim, train_seconds, removal_seconds: median(removal_seconds), settle_seconds, settle_passes })
}

/// Least of up to five times of the same work, fewer when it is long: what else the machine does can only add to it. The
/// first is given.
fn repeated(first: f64, mut seconds: impl FnMut() -> Result<f64>) -> Result<f64> {
    let mut times = vec![first];
    while times.len() < MOST_REPEATS && times.iter().sum::<f64>() < ENOUGH_SECONDS {
        times.push(seconds()?);
    }
    Ok(times.into_iter().fold(f64::INFINITY, f64::min))
}

/// Least-squares slope of the logarithms: a of `y ∝ xᵃ`. NaN of fewer than two sizes.
///
/// ```text
/// a = Σ (ln x − mean)(ln y − mean) / Σ (ln x − mean)²
/// ```
fn exponent(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let mean_x = points.iter().map(|(x, _)| x.ln()).sum::<f64>() / n;
    let mean_y = points.iter().map(|(_, y)| y.ln()).sum::<f64>() / n;
    let product: f64 = points.iter().map(|(x, y)| (x.ln() - mean_x) * (y.ln() - mean_y)).sum();
    product / points.iter().map(|(x, _)| (x.ln() - mean_x).powi(2)).sum::<f64>()
}

/// Times of the same work at most.
const MOST_REPEATS: usize = 5;

/// Work that has taken this long is not repeated.
const ENOUGH_SECONDS: f64 = 6.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_of_power_laws_are_found() {
        for power in [0.0, 0.5, 1.0, 2.0, 3.0] {
            let points: Vec<(f64, f64)> = (3..9).map(|k| f64::from(1 << k)).map(|x| (x, 0.7 * x.powf(power))).collect();
            assert!((exponent(&points) - power).abs() < 1e-12);
        }
        assert!(exponent(&[(2.0, 1.0)]).is_nan());
    }

    #[test]
    fn only_the_upper_half_of_the_sizes_counts() {
        let cost = |n_rows: usize, seconds: f64| Cost {
            n_rows,
            dim: 1,
            train_seconds: seconds,
            removal_seconds: 1.0,
            settle_seconds: seconds,
            settle_passes: 1,
        };
        // Overhead below, a line above.
        let curve = Curve::of(vec![cost(1, 9.0), cost(2, 9.0), cost(4, 4.0), cost(8, 8.0)], |cost| cost.n_rows);
        assert!((curve.exponents.train - 1.0).abs() < 1e-12);
        assert!(curve.exponents.removal.abs() < 1e-12);
    }

    #[test]
    fn short_work_is_repeated_and_long_work_is_not() {
        let mut calls = 0;
        let mut times = |first: f64| {
            calls = 0;
            let least = repeated(first, || {
                calls += 1;
                Ok(first / f64::from(calls))
            });
            (least.expect("no error"), calls)
        };
        assert_eq!(times(0.4), (0.1, 4));
        assert_eq!(times(7.0), (7.0, 0));
    }
}
