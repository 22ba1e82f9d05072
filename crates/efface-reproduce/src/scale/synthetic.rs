//! Rows drawn to look like real ones: class by class, with the mean and the covariance of the real rows of the class.
//!
//! No covariance matrix is formed. A mixture of a few real rows with normal weights has it already:
//!
//! ```text
//! x = m_c + Σ_{j=1..k} g_j (x_{i_j} − m_c)/√k        i_j a random row of class c, g_j ~ N(0, 1), k = 8
//! ```
//!
//! has mean m_c and the covariance of the rows of class c, whatever k is. Real features are not negative, so negative
//! entries are then set to zero, and the row is brought to norm 1. Both move the moments a little; how much is measured
//! and shown beside the results.

use efface_core::rows::RowStore;
use efface_data::{FeatureValues, MemoryRows, RowTransform, Scale};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;

use crate::Result;
use crate::data::rows_of;

/// Unit rows in single precision, each with its class.
pub(crate) struct ClassRows {
    pub(crate) dim: usize,
    /// Row-major.
    pub(crate) features: Vec<f32>,
    /// One per row.
    pub(crate) classes: Vec<u8>,
}

impl ClassRows {
    /// The first `dim` features of rows whose labels are classes, brought to norm 1 again.
    pub(crate) fn first_features(rows: &MemoryRows, dim: usize) -> Self {
        let dim = dim.min(rows.dim());
        let mut cut = Self { dim, features: Vec::with_capacity(rows.n_rows() * dim), classes: Vec::new() };
        for (row, class) in (0..rows.len()).filter_map(|i| rows.row(i).zip(rows.label(i))) {
            let start = cut.features.len();
            cut.features.extend(row.iter().take(dim).map(|x| *x as f32));
            to_norm_one(&mut cut.features[start..]);
            cut.classes.push(class as u8);
        }
        cut
    }

    /// Draws `n_rows` rows. One stream of random numbers per block of rows: the same for any number of threads.
    pub(crate) fn draw(moments: &ClassMoments, n_rows: usize, seed: u64) -> Self {
        let dim = moments.dim;
        let mut drawn = Self { dim, features: vec![0.0; n_rows * dim], classes: vec![0; n_rows] };
        let blocks = drawn.features.par_chunks_mut(BLOCK_ROWS * dim).zip(drawn.classes.par_chunks_mut(BLOCK_ROWS));
        blocks.enumerate().for_each(|(block, (features, classes))| {
            let mut generator = ChaCha8Rng::seed_from_u64(seed);
            generator.set_stream(block as u64);
            for (row, class) in features.chunks_exact_mut(dim).zip(classes) {
                let drawn_from = moments.random_class(&mut generator);
                drawn_from.draw(&mut generator, row);
                // Negative entries are set to zero.
                for x in row.iter_mut() {
                    *x = x.max(0.0);
                }
                to_norm_one(row);
                *class = drawn_from.class;
            }
        });
        drawn
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[f32], u8)> {
        self.features.chunks_exact(self.dim).zip(self.classes.iter().copied())
    }

    /// Labels: 1 where something is built, 0 in nature.
    pub(crate) fn labels(&self) -> Vec<f64> {
        self.classes.iter().map(|class| f64::from(u8::from(BUILT.contains(class)))).collect()
    }

    /// The rows as a model takes them, without a copy of their features. That no norm exceeds 1 is checked on the way.
    pub(crate) fn into_rows(self) -> Result<MemoryRows> {
        let unscaled = RowTransform { scale: Scale::None, intercept: false };
        let labels = self.labels();
        rows_of(FeatureValues::F32(self.features), self.dim, (labels, 2), &unscaled)
    }
}

/// Real rows by class, from which rows with the same moments are drawn.
pub(crate) struct ClassMoments {
    dim: usize,
    n_rows: usize,
    classes: Vec<ClassSource>,
}

impl ClassMoments {
    pub(crate) fn of(real: &ClassRows) -> Self {
        let mut classes: Vec<ClassSource> = Vec::new();
        for (row, class) in real.iter() {
            match classes.iter_mut().find(|source| source.class == class) {
                Some(source) => source.rows.extend_from_slice(row),
                None => classes.push(ClassSource { class, rows: row.to_vec(), mean: Vec::new() }),
            }
        }
        for source in &mut classes {
            source.mean = mean(source.rows.chunks_exact(real.dim), real.dim).iter().map(|x| *x as f32).collect();
        }
        Self { dim: real.dim, n_rows: real.classes.len(), classes }
    }

    /// A class, as often as real rows have it.
    fn random_class(&self, generator: &mut ChaCha8Rng) -> &ClassSource {
        let mut index = generator.random_range(0..self.n_rows);
        let (last, others) = self.classes.split_last().expect("a row was drawn, so there is a class");
        for source in others {
            let n_rows = source.rows.len() / self.dim;
            if index < n_rows {
                return source;
            }
            index -= n_rows;
        }
        last
    }
}

/// The real rows of one class.
struct ClassSource {
    class: u8,
    rows: Vec<f32>,
    mean: Vec<f32>,
}

impl ClassSource {
    /// `m + Σ_j g_j (x_{i_j} − m)/√k`, neither clipped nor scaled.
    fn draw(&self, generator: &mut ChaCha8Rng, into: &mut [f32]) {
        let dim = into.len();
        let n_rows = self.rows.len() / dim;
        let mixed: [(f32, usize); MIXED_ROWS] = std::array::from_fn(|_| {
            let weight: f32 = StandardNormal.sample(generator);
            (weight / (MIXED_ROWS as f32).sqrt(), generator.random_range(0..n_rows))
        });
        let of_mean = 1.0 - mixed.iter().map(|(weight, _)| weight).sum::<f32>();
        into.iter_mut().zip(&self.mean).for_each(|(x, mean)| *x = of_mean * mean);
        for (weight, index) in mixed {
            let row = &self.rows[index * dim..(index + 1) * dim];
            into.iter_mut().zip(row).for_each(|(x, real)| *x += weight * real);
        }
    }
}

/// Mean of rows of `dim` values; zeros of none.
pub(crate) fn mean<'a>(rows: impl Iterator<Item = &'a [f32]>, dim: usize) -> Vec<f64> {
    let mut sum = vec![0.0; dim];
    let mut n_rows = 0;
    for row in rows {
        sum.iter_mut().zip(row).for_each(|(sum, x)| *sum += f64::from(*x));
        n_rows += 1;
    }
    sum.into_iter().map(|sum| sum / f64::from(n_rows.max(1))).collect()
}

/// Divides a row by its norm; a row of zeros stays one.
fn to_norm_one(row: &mut [f32]) {
    const LANES: usize = 8;
    let square = |x: &f32| f64::from(*x) * f64::from(*x);
    let (chunks, rest) = row.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for chunk in chunks {
        sums.iter_mut().zip(chunk).for_each(|(sum, x)| *sum += square(x));
    }
    let norm = (sums.iter().sum::<f64>() + rest.iter().map(square).sum::<f64>()).sqrt();
    if norm > 0.0 {
        for x in row {
            *x = (f64::from(*x) / norm) as f32;
        }
    }
}

/// k: real rows behind a drawn one.
const MIXED_ROWS: usize = 8;

/// Rows that share a stream of random numbers.
const BLOCK_ROWS: usize = 256;

/// Classes of the scenes in which something is built: buildings and streets.
const BUILT: [u8; 2] = [0, 5];

#[cfg(test)]
mod tests {
    use super::*;

    /// Two classes of 40 rows with 6 features, far enough from zero that nothing is clipped.
    fn made_up() -> ClassRows {
        let mut generator = ChaCha8Rng::seed_from_u64(1);
        let (mut features, mut classes) = (Vec::new(), Vec::new());
        for i in 0..80 {
            let class = if i % 2 == 0 { 0 } else { 3 };
            let common: f32 = generator.random_range(0.0..1.0);
            features
                .extend((0..6).map(|j| 3.0 + f32::from(class) * j as f32 + common + generator.random_range(0.0..0.5)));
            classes.push(class);
        }
        let mut rows = ClassRows { dim: 6, features, classes };
        rows.features.chunks_exact_mut(6).for_each(to_norm_one);
        rows
    }

    fn covariance(rows: &[f32], dim: usize) -> Vec<f64> {
        let centre = mean(rows.chunks_exact(dim), dim);
        let mut sum = vec![0.0; dim * dim];
        for row in rows.chunks_exact(dim) {
            for (entry, sum) in sum.iter_mut().enumerate() {
                let (i, j) = (entry / dim, entry % dim);
                *sum += (f64::from(row[i]) - centre[i]) * (f64::from(row[j]) - centre[j]);
            }
        }
        let n_rows = (rows.len() / dim) as f64;
        sum.into_iter().map(|sum| sum / n_rows).collect()
    }

    #[test]
    fn rows_are_the_same_for_any_number_of_threads() {
        let moments = ClassMoments::of(&made_up());
        let drawn = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            pool.install(|| ClassRows::draw(&moments, 1000, 5))
        };
        let (one, four) = (drawn(1), drawn(4));
        assert_eq!(one.features, four.features);
        assert_eq!(one.classes, four.classes);
        assert_ne!(one.features, ClassRows::draw(&moments, 1000, 6).features);
    }

    #[test]
    fn drawn_rows_have_the_mean_and_covariance_of_their_class() {
        let moments = ClassMoments::of(&made_up());
        let mut generator = ChaCha8Rng::seed_from_u64(2);
        for source in &moments.classes {
            let mut drawn = vec![0.0; 6 * 100_000];
            drawn.chunks_exact_mut(6).for_each(|row| source.draw(&mut generator, row));
            let (ours, theirs) = (covariance(&drawn, 6), covariance(&source.rows, 6));
            let variance = (0..6).map(|j| theirs[7 * j]).fold(0.0, f64::max);
            for (ours, theirs) in ours.iter().zip(&theirs) {
                assert!((ours - theirs).abs() < 0.03 * variance, "{ours} {theirs}");
            }
            for (ours, theirs) in mean(drawn.chunks_exact(6), 6).iter().zip(&source.mean) {
                assert!((ours - f64::from(*theirs)).abs() < 0.02 * variance.sqrt(), "{ours} {theirs}");
            }
        }
    }

    #[test]
    fn drawn_rows_have_norm_one_and_no_negative_entry() {
        let mut real = made_up();
        // Entries near zero, so that some are clipped.
        real.features.iter_mut().step_by(5).for_each(|x| *x = 0.0);
        real.features.iter_mut().step_by(7).for_each(|x| *x = 0.01);
        let drawn = ClassRows::draw(&ClassMoments::of(&real), 2000, 3);
        assert!(drawn.features.iter().all(|x| *x >= 0.0));
        for (row, _) in drawn.iter() {
            let norm = row.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
            assert!((norm - 1.0).abs() < 1e-6, "{norm}");
        }
        let built = drawn.labels().iter().sum::<f64>() / 2000.0;
        assert!((0.4..0.6).contains(&built), "{built}");
        let rows = drawn.into_rows().expect("unit rows");
        assert_eq!((rows.n_rows(), rows.dim()), (2000, 6));
    }
}
