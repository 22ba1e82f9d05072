//! Can this audit see? Every engine of [`crate::broken`] is attacked like the sound one, and must be caught from outside.

use efface_core::noise::NoiseSource;
use serde::Serialize;

use super::{Size, problems, test};
use crate::broken;
use crate::error::AuditError;

/// What became of the broken engines.
#[derive(Clone, Debug, Serialize)]
pub struct SelfTest {
    /// One per engine.
    pub engines: Vec<Caught>,
}

impl SelfTest {
    /// Engines that were caught.
    pub fn n_caught(&self) -> usize {
        self.engines.iter().filter(|engine| engine.caught).count()
    }

    /// Whether all of them were.
    pub fn passed(&self) -> bool {
        self.n_caught() == self.engines.len()
    }
}

/// A broken engine, and how it looks from outside.
#[derive(Clone, Debug, Serialize)]
pub struct Caught {
    /// What is wrong with it.
    pub name: &'static str,
    /// Whether the distribution test broke its claim.
    pub caught: bool,
    /// The case in which its lower bound exceeds its claim by most.
    pub case: String,
    /// ε as it claims.
    pub epsilon_claimed: f64,
    /// Lower confidence bound of its true ε.
    pub epsilon_lower: f64,
    /// μ as it claims.
    pub mu_claimed: f64,
    /// Lower confidence bound of its true μ.
    pub mu_lower: f64,
    /// The direct checks that fail as well.
    pub direct_failures: Vec<&'static str>,
}

/// Attacks every broken engine on the tight problems.
pub fn self_test(
    problems: &[problems::Problem],
    size: &Size,
    noise: &mut NoiseSource,
    report: &mut dyn FnMut(&str),
) -> Result<SelfTest, AuditError> {
    let rate = size.false_alarm_rate / problems.len().max(1) as f64;
    let mut engines = Vec::with_capacity(broken::ALL.len());
    for engine in broken::ALL {
        report(engine.name());
        let mut worst: Option<Caught> = None;
        let mut direct_failures: Vec<&'static str> = Vec::new();
        for problem in problems {
            let result = test(engine, &problem.case(), size.draws, rate, noise)?;
            direct_failures.extend(result.direct.failed());
            let found = Caught {
                name: engine.name(),
                caught: result.epsilon_lower > result.epsilon_claimed,
                case: result.name,
                epsilon_claimed: result.epsilon_claimed,
                epsilon_lower: result.epsilon_lower,
                mu_claimed: result.mu_claimed,
                mu_lower: result.mu_lower.unwrap_or(0.0),
                direct_failures: Vec::new(),
            };
            let excess = |caught: &Caught| caught.epsilon_lower - caught.epsilon_claimed;
            if worst.as_ref().is_none_or(|worst| excess(&found) > excess(worst)) {
                worst = Some(found);
            }
        }
        direct_failures.sort_unstable();
        direct_failures.dedup();
        engines.extend(worst.map(|worst| Caught { direct_failures, ..worst }));
    }
    Ok(SelfTest { engines })
}
