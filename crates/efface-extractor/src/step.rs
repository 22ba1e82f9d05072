//! One step: which rows it takes, the sum of their gradients, and the noise.

use efface_core::noise::NoiseSource;
use efface_core::noise::lattice::{Lattice, OffLattice};
use rayon::prelude::*;

use crate::clipping::{CLIP_EXPONENT, MOST_NARROW, Summand, scale};
use crate::example::{Example, Transposed};
use crate::images::Images;
use crate::network::Network;
use crate::plan::Private;

/// The rows that a step takes: each by its own coin.
pub(crate) fn poisson_sample(n_rows: usize, rate: f64, source: &mut NoiseSource) -> Vec<usize> {
    if rate >= 1.0 {
        return (0..n_rows).collect();
    }
    // Rounded down: no row is taken with more than the stated probability.
    let threshold = (rate * 2f64.powi(64)) as u64;
    let mut words = vec![0; 8 * COINS];
    let mut taken = Vec::new();
    for first in (0..n_rows).step_by(COINS) {
        source.fill(&mut words);
        let coins = words.as_chunks::<8>().0.iter().zip(first..n_rows);
        taken.extend(coins.filter(|(word, _)| u64::from_le_bytes(**word) < threshold).map(|(_, row)| row));
    }
    taken
}

/// The gradients of some rows, added up, and their losses.
pub(crate) struct Gradients {
    pub(crate) sum: Vec<f64>,
    pub(crate) loss: f64,
}

/// The clipped gradients of the rows, added up as integers, with exact noise; in units of the loss's slope.
///
/// ```text
/// C·2⁻²¹·( Σ round(s_i g_i) + round(2²¹ σ ξ) )
/// ```
pub(crate) fn private_sum(
    network: &Network,
    images: &Images<'_>,
    labels: &[u8],
    rows: &[usize],
    private: Private,
    source: &mut NoiseSource,
) -> Result<Gradients, OffLattice> {
    let n_weights = network.weights.len();
    let lattice = Lattice::new(-CLIP_EXPONENT).expect("2⁻²¹ is a double");
    // Randomness is used on one side only, so that threads change nothing.
    let ((sum, loss), noise) = rayon::join(
        || sum::<i32>(network, images, labels, rows, |example| scale(example.squared_norm(), private.clip, n_weights)),
        || lattice.noise(private.mechanism.noise_multiplier(), n_weights, source),
    );
    let noise = noise?;
    let sum = sum.iter().zip(noise.iter()).map(|(sum, noise)| lattice.point(i128::from(*sum) + noise) * private.clip);
    Ok(Gradients { sum: sum.collect(), loss })
}

/// The gradients of the rows, added up as they are.
pub(crate) fn plain_sum(network: &Network, images: &Images<'_>, labels: &[u8], rows: &[usize]) -> Gradients {
    let (sum, loss) = sum::<f32>(network, images, labels, rows, |_| Some(1.0));
    Gradients { sum, loss }
}

/// Adds up scaled gradients, in groups that depend on the rows alone.
pub(crate) fn sum<T: Summand>(
    network: &Network,
    images: &Images<'_>,
    labels: &[u8],
    rows: &[usize],
    scale: impl Fn(&Example) -> Option<f32> + Sync,
) -> (Vec<T::Wide>, f64) {
    let transposed = Transposed::new(network);
    let group = rows.len().div_ceil(GROUPS).max(1);
    let groups: Vec<(Vec<T::Wide>, f64)> = rows
        .par_chunks(group)
        .map(|rows| {
            let mut example = Example::new(network);
            let mut wide = vec![T::Wide::default(); network.weights.len()];
            let mut narrow = vec![T::default(); network.weights.len()];
            let mut loss = 0.0;
            for rows in rows.chunks(MOST_NARROW) {
                narrow.fill(T::default());
                for row in rows {
                    example.forward(network, images.get(*row));
                    loss += example.backward(network, &transposed, labels[*row]);
                    if let Some(scale) = scale(&example) {
                        example.add_to(network, scale, &mut narrow);
                    }
                }
                wide.iter_mut().zip(&narrow).for_each(|(wide, narrow)| *wide += narrow.wide());
            }
            (wide, loss)
        })
        .collect();
    let mut total = (vec![T::Wide::default(); network.weights.len()], 0.0);
    for (sum, loss) in groups {
        total.0.iter_mut().zip(sum).for_each(|(total, sum)| *total += sum);
        total.1 += loss;
    }
    total
}

/// Coins drawn at once.
const COINS: usize = 512;

/// Rows are added up in so many groups, whatever the number of threads.
const GROUPS: usize = 32;
