//! The noise along single directions: its mean and its variance must be those of a standard normal number along every
//! one. A direction without noise publishes the secret weights along it, and in many dimensions hardly changes the
//! variance as a whole.
//!
//! Looked at are (1, …, 1), the secret weights themselves, some directions drawn at random, and axes.

use std::sync::Arc;

use efface_core::noise::{NoiseLaw, NoiseSource};

use super::check::{DirectCheck, closest};
use crate::dense::{dot, length, normalized};
use crate::statistics::{chi_square_limits, normal_quantile};

/// Directions drawn at random.
const RANDOM: usize = 8;

/// Axes looked at, evenly spread; all of them where there are no more.
const AXES: usize = 16;

/// Sums of the noise of one release of a life, along each direction.
#[derive(Clone)]
pub(super) struct Directions {
    along: Arc<[Direction]>,
    n: usize,
    /// Σ p and Σ p² of the noise's part p along each direction, in units of its claimed scale.
    sums: Vec<(f64, f64)>,
}

enum Direction {
    Axis(usize),
    /// Of length 1.
    Along(Vec<f64>),
}

impl Directions {
    pub(super) fn new(secret: &[f64], noise: &mut NoiseSource) -> Self {
        let n = secret.len();
        let random = (0..RANDOM).map(|_| NoiseLaw::Gaussian.sample(n, 1.0, noise).to_vec());
        let dense = [vec![1.0; n], secret.to_vec()].into_iter().chain(random).filter(|along| length(along) > 0.0);
        let dense = dense.map(|along| Direction::Along(normalized(&along)));
        let axes = n.min(AXES);
        let along: Arc<[Direction]> = dense.chain((0..axes).map(|i| Direction::Axis(i * n / axes))).collect();
        Self { sums: vec![(0.0, 0.0); along.len()], along, n: 0 }
    }

    pub(super) fn add(&mut self, noise: &[f64]) {
        self.n += 1;
        for (direction, (sum, squares)) in self.along.iter().zip(&mut self.sums) {
            let part = match direction {
                Direction::Axis(i) => noise[*i],
                Direction::Along(unit) => dot(unit, noise),
            };
            *sum += part;
            *squares += part * part;
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.n += other.n;
        for ((sum, squares), (more, more_squares)) in self.sums.iter_mut().zip(other.sums) {
            *sum += more;
            *squares += more_squares;
        }
    }
}

/// Mean and variance along all directions of all releases; each kind fails for a sound engine with probability at most
/// `rate`.
pub(super) fn checks(releases: &[&Directions], rate: f64) -> Vec<DirectCheck> {
    let n_looks = releases.iter().map(|release| release.sums.len()).sum::<usize>().max(1);
    let each = rate / n_looks as f64;
    let over = |look: &dyn Fn(&Directions) -> Option<DirectCheck>| closest(releases.iter().filter_map(|of| look(of)));
    let means = over(&|release| {
        // Σ p / n is normal with variance 1/n.
        let n = release.n.max(1) as f64;
        let limit = -normal_quantile(0.5 * each) / n.sqrt();
        closest(release.sums.iter().map(|(sum, _)| DirectCheck::between("noise-mean", sum / n, -limit, limit)))
    });
    let variances = over(&|release| {
        let n = release.n.max(1) as f64;
        let (low, high) = chi_square_limits(release.n, each);
        let check = |squares: f64| DirectCheck::between("noise-directions", squares / n, low / n, high / n);
        closest(release.sums.iter().map(|(_, squares)| check(*squares)))
    });
    means.into_iter().chain(variances).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::direct::law::LawSums;

    /// In many dimensions a missing direction is too small a part of the variance to be seen there; along itself it is
    /// all of it.
    #[test]
    fn noise_missing_along_ones_is_seen_where_the_variance_is_blind() {
        let (dim, draws, rate) = (784_usize, 2_000, 1e-8);
        let mut noise = NoiseSource::danger_fixed_seed(3);
        let secret: Vec<f64> = (0..dim).map(|i| (i as f64).sin()).collect();
        for missing in [false, true] {
            let mut directions = Directions::new(&secret, &mut noise);
            let mut law = LawSums::new(NoiseLaw::Gaussian, draws);
            for _ in 0..draws {
                let mut z = NoiseLaw::Gaussian.sample(dim, 1.0, &mut noise).to_vec();
                let mean = z.iter().sum::<f64>() / dim as f64;
                for z in &mut z {
                    *z -= if missing { mean } else { 0.0 };
                }
                directions.add(&z);
                law.add(z);
            }
            assert!(law.checks(rate).iter().all(|check| check.held), "missing: {missing}");
            let found = checks(&[&directions], rate);
            assert!(found[0].held && found[1].held != missing, "{found:?}");
        }
    }

    #[test]
    fn an_offset_along_a_direction_is_seen() {
        let mut noise = NoiseSource::danger_fixed_seed(4);
        let mut directions = Directions::new(&[1.0, 2.0, -1.0], &mut noise);
        for _ in 0..10_000 {
            let z = NoiseLaw::Gaussian.sample(3, 1.0, &mut noise);
            directions.add(&[z[0] + 0.1, z[1], z[2]]);
        }
        let found = checks(&[&directions], 1e-8);
        assert!(found[0].name == "noise-mean" && !found[0].held && found[1].held, "{found:?}");
    }
}
