//! Removable heads on fixed features: scattering, and random cosines of it.

use serde::{Deserialize, Serialize};

use super::EPSILONS;
use super::head::Head;
use crate::data::Pictures;
use crate::measure::try_timed;
use crate::{Result, Setting};

/// What was measured of fixed features and their head.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct FixedRun {
    /// Features.
    pub(super) width: usize,
    /// Making the features of all pictures took so long.
    pub(super) features_seconds: f64,
    #[serde(flatten)]
    pub(super) head: Head,
}

impl FixedRun {
    /// The promise is the least of the figure: what holds at its ε holds at every larger one, and the model is the same.
    pub(super) fn measure(pictures: &Pictures, width: usize, setting: &Setting<'_>) -> Result<Self> {
        setting.begin(format!("SVHN: {width} fixed features"), pictures.n_pictures());
        let (set, features_seconds) = try_timed(|| pictures.by_fixed_map(width, &mut |done| setting.is_at(done)))?;
        Ok(Self { width, features_seconds, head: Head::measure(set, L2_PER_ROW, (EPSILONS[0], None), setting)? })
    }
}

/// λ of the heads.
const L2_PER_ROW: f64 = 1e-7;
