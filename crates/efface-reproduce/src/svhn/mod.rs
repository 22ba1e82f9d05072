//! House numbers: Figure 5 (Guo et al. 2020, Section 4.3), a feature extractor that is private, and one that is fixed.
//!
//! [`fixed`] trains removable heads on features that no picture had a part in, [`network`] the small network that takes the
//! place of the paper's, with privacy and without, and [`head`] is the life of a head: ten rows leave, it is settled and
//! released.

mod fixed;
mod head;
mod network;
mod section;

use serde::{Deserialize, Serialize};

use self::fixed::FixedRun;
use self::network::{PlainRun, PrivateRun};
use crate::data::svhn_pictures;
use crate::{Result, Setting};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SvhnResults {
    n_rows: usize,
    n_test_rows: usize,
    /// Rows that leave each model.
    n_removals: usize,
    delta: f64,
    /// Fixed features, by their number.
    fixed: Vec<FixedRun>,
    /// Private extractors, by ε.
    private: Vec<PrivateRun>,
    /// The network without privacy.
    plain: PlainRun,
}

pub(crate) fn run(setting: &Setting<'_>) -> Result<SvhnResults> {
    let pictures = svhn_pictures(&setting.data, setting.quick)?;
    let (widths, epsilons) = if setting.quick { (&[32, 64][..], &[1.0][..]) } else { (&WIDTHS[..], &EPSILONS[..]) };
    let private = |epsilon: &f64| PrivateRun::measure(&pictures, *epsilon, setting);
    let results = SvhnResults {
        n_rows: pictures.train.n_pictures(),
        n_test_rows: pictures.test.n_pictures(),
        n_removals: GROUP,
        delta: DELTA,
        private: epsilons.iter().map(private).collect::<Result<_>>()?,
        plain: PlainRun::measure(&pictures, setting)?,
        fixed: widths.iter().map(|width| FixedRun::measure(&pictures, *width, setting)).collect::<Result<_>>()?,
    };
    network::forget_checkpoints(&results.private, setting);
    Ok(results)
}

impl SvhnResults {
    /// Fixed features that are less accurate than they were when they were chosen.
    pub(crate) fn shortfalls(&self) -> Vec<String> {
        let short =
            |run: &&FixedRun| LEAST.iter().any(|(width, least)| run.width == *width && run.head.accuracy < *least);
        let told = |run: &FixedRun| format!("{} fixed features: accuracy {:.4}", run.width, run.head.accuracy);
        self.fixed.iter().filter(short).map(told).collect()
    }
}

/// Rows that every model supports, as in the paper.
const GROUP: usize = 10;

/// δ of every model.
const DELTA: f64 = 1e-4;

/// ε of the private extractors with their heads.
const EPSILONS: [f64; 5] = [0.1, 0.3, 1.0, 3.0, 10.0];

/// Numbers of fixed features.
const WIDTHS: [usize; 2] = [2048, 4096];

/// What the fixed features reach.
const LEAST: [(usize, f64); 2] = [(2048, 0.875), (4096, 0.885)];
