//! How much drawn rows are like the real ones: a few numbers of both, side by side.

use efface_core::model::TrainingPlan;
use efface_data::MemoryRows;
use serde::{Deserialize, Serialize};

use super::synthetic::{ClassMoments, ClassRows, mean};
use crate::Result;
use crate::data::accuracy;
use crate::life::{Life, weights};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Likeness {
    pub(crate) dim: usize,
    /// The rows that were drawn from.
    pub(crate) real: Look,
    pub(crate) drawn: Look,
}

/// What rows look like.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Look {
    pub(crate) n_rows: usize,
    /// Mean cosine of two rows of the same class, over the six classes.
    pub(crate) cosine_within_class: f64,
    /// Mean squared distance of a row from the mean of its class.
    pub(crate) variance_within_class: f64,
    /// Share of that variance along the direction where it is largest.
    pub(crate) first_direction_share: f64,
    pub(crate) zero_fraction: f64,
    /// Accuracy on real test rows of a model that is trained on these rows, built against nature.
    pub(crate) test_accuracy: f64,
}

/// Draws `n_drawn` rows and looks at both kinds.
pub(super) fn compare(
    real: ClassRows,
    moments: &ClassMoments,
    n_drawn: usize,
    test: &MemoryRows,
    plan: &TrainingPlan,
    seed: u64,
) -> Result<Likeness> {
    let dim = real.dim;
    let drawn = ClassRows::draw(moments, n_drawn, seed);
    Ok(Likeness { dim, real: look(real, test, plan, seed)?, drawn: look(drawn, test, plan, seed)? })
}

fn look(rows: ClassRows, test: &MemoryRows, plan: &TrainingPlan, seed: u64) -> Result<Look> {
    let n_rows = rows.classes.len();
    let centred = Centred::of(&rows);
    let zero_fraction = rows.features.iter().filter(|x| **x == 0.0).count() as f64 / rows.features.len() as f64;
    let cosine_within_class = centred.cosine();
    let (variance_within_class, first_direction_share) = centred.spread();
    let life = Life::begin(plan, rows.into_rows()?, seed)?;
    let test_accuracy = accuracy(test, &weights(&life.model))?;
    Ok(Look { n_rows, cosine_within_class, variance_within_class, first_direction_share, zero_fraction, test_accuracy })
}

/// Rows seen from the means of their classes.
struct Centred<'a> {
    rows: &'a ClassRows,
    /// Mean and number of rows of each class.
    classes: Vec<(Vec<f64>, usize)>,
}

impl<'a> Centred<'a> {
    fn of(rows: &'a ClassRows) -> Self {
        let n_classes = rows.classes.iter().max().map_or(0, |last| usize::from(*last) + 1);
        let of_class = |class| rows.iter().filter(move |(_, of)| usize::from(*of) == class).map(|(row, _)| row);
        let classes = (0..n_classes).map(|class| (mean(of_class(class), rows.dim), of_class(class).count())).collect();
        Self { rows, classes }
    }

    /// Mean cosine of two different rows of one class, of classes weighted by their rows:
    ///
    /// ```text
    /// (‖Σ x‖² − n)/(n (n − 1))        over the n unit rows of a class
    /// ```
    fn cosine(&self) -> f64 {
        let (mut sum, mut n_counted) = (0.0, 0.0);
        for (mean, n_rows) in self.classes.iter().filter(|(_, n_rows)| *n_rows > 1) {
            let n = *n_rows as f64;
            let square_of_sum = n * n * mean.iter().map(|x| x * x).sum::<f64>();
            sum += n * (square_of_sum - n) / (n * (n - 1.0));
            n_counted += n;
        }
        sum / n_counted
    }

    /// Trace of the covariance within classes, and the share of its largest eigenvalue, by power iteration.
    fn spread(&self) -> (f64, f64) {
        let n_rows = self.rows.classes.len() as f64;
        let dim = self.rows.dim;
        // Uneven, so that it is orthogonal to no direction that rows are likely to have.
        let mut direction: Vec<f64> = (0..dim).map(|j| 1.0 + (j * 7919 % 1009) as f64 / 1009.0).collect();
        let (mut trace, mut largest) = (0.0, 0.0);
        for _ in 0..POWER_STEPS {
            let mut image = vec![0.0; dim];
            trace = 0.0;
            for (row, class) in self.rows.iter() {
                let mean = &self.classes[usize::from(class)].0;
                let (mut along, mut square) = (0.0, 0.0);
                for ((x, mean), direction) in row.iter().zip(mean).zip(&direction) {
                    let off = f64::from(*x) - mean;
                    along += off * direction;
                    square += off * off;
                }
                trace += square / n_rows;
                for ((image, x), mean) in image.iter_mut().zip(row).zip(mean) {
                    *image += along * (f64::from(*x) - mean);
                }
            }
            let norm = image.iter().map(|x| x * x).sum::<f64>().sqrt();
            largest = norm / n_rows;
            if norm == 0.0 {
                break;
            }
            direction = image.iter().map(|x| x / norm).collect();
        }
        (trace, largest / trace)
    }
}

/// Enough for a share in two digits: the second direction is well behind the first.
const POWER_STEPS: usize = 25;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cosine_and_spread_of_four_known_rows() {
        // One class; two rows along each of two orthogonal axes, so that the cosines are 1, 0, 0, 0, 0, 1.
        let features = vec![1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0];
        let rows = ClassRows { dim: 2, features, classes: vec![0; 4] };
        let centred = Centred::of(&rows);
        assert!((centred.cosine() - 1.0 / 3.0).abs() < 1e-12);
        // All spread is along (1, −1).
        let (variance, share) = centred.spread();
        assert!((variance - 0.5).abs() < 1e-12 && (share - 1.0).abs() < 1e-12, "{variance} {share}");
    }
}
