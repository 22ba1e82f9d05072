//! The law of the noise as a whole: its variance, its distribution, and its independence between successive releases.

use efface_core::noise::NoiseLaw;

use super::check::DirectCheck;
use crate::statistics::{
    chi_square_limits, gamma_cdf, kolmogorov_smirnov, kolmogorov_smirnov_limit, normal_cdf, product_sum_limit,
};

/// Sums over all noise of a sample, pooled over weights and releases.
#[derive(Clone)]
pub(super) struct LawSums {
    law: NoiseLaw,
    /// Values kept of each release, evenly spread over the weights.
    kept_per_release: usize,
    values: Vec<f64>,
    /// Σ z² over all weights, and how many they are.
    squares: f64,
    n_squares: usize,
    /// Σ z z′ over successive releases.
    products: f64,
    n_products: usize,
    before: Vec<f64>,
}

/// Values kept in all: enough to see the law to a hundredth.
const MOST_VALUES: usize = 200_000;

impl LawSums {
    pub(super) fn new(law: NoiseLaw, draws: usize) -> Self {
        Self {
            law,
            kept_per_release: (MOST_VALUES / draws.max(1)).max(1),
            values: Vec::new(),
            squares: 0.0,
            n_squares: 0,
            products: 0.0,
            n_products: 0,
            before: Vec::new(),
        }
    }

    pub(super) fn law(&self) -> NoiseLaw {
        self.law
    }

    /// Adds the noise of one release, in units of its claimed scale.
    pub(super) fn add(&mut self, noise: Vec<f64>) {
        let squares: f64 = noise.iter().map(|z| z * z).sum();
        if self.law == NoiseLaw::Gamma {
            // The length follows a gamma law; made uniform, so that models of any size share one test.
            self.values.push(gamma_cdf(noise.len() as f64, squares.sqrt()));
            return;
        }
        self.squares += squares;
        self.n_squares += noise.len();
        if !self.before.is_empty() {
            self.products += noise.iter().zip(&self.before).map(|(a, b)| a * b).sum::<f64>();
            self.n_products += noise.len();
        }
        let kept = self.kept_per_release.min(noise.len());
        self.values.extend((0..kept).map(|i| noise[i * noise.len() / kept]));
        self.before = noise;
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.values.extend(other.values);
        self.squares += other.squares;
        self.n_squares += other.n_squares;
        self.products += other.products;
        self.n_products += other.n_products;
    }

    /// Up to three checks, each at the rate given.
    pub(super) fn checks(&mut self, rate: f64) -> Vec<DirectCheck> {
        let limit = kolmogorov_smirnov_limit(self.values.len(), rate);
        if self.law == NoiseLaw::Gamma {
            let found = kolmogorov_smirnov(&mut self.values, |x| x.clamp(0.0, 1.0));
            return vec![DirectCheck::at_most("noise-law", found, limit)];
        }
        let (low, high) = chi_square_limits(self.n_squares, rate);
        let count = self.n_squares.max(1) as f64;
        let variance = DirectCheck::between("noise-variance", self.squares / count, low / count, high / count);
        let found = kolmogorov_smirnov(&mut self.values, normal_cdf);
        let law = DirectCheck::at_most("noise-law", found, limit);
        let count = self.n_products.max(1) as f64;
        let limit = product_sum_limit(self.n_products, rate) / count;
        let independence = DirectCheck::between("noise-independence", self.products / count, -limit, limit);
        vec![variance, law, independence]
    }
}
