//! Can this audit see? Every engine of [`crate::broken`] is attacked like the sound one, and must be caught.

use efface_core::noise::NoiseSource;
use serde::Serialize;

use super::{CaseResult, Size, problems, test};
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

/// A broken engine, and how it looks.
#[derive(Clone, Debug, Serialize)]
pub struct Caught {
    /// What is wrong with it.
    pub name: &'static str,
    /// Whether its claim was broken, from outside or from inside.
    pub caught: bool,
    /// Whether releases alone broke its claim: a lower bound of its ε or μ exceeds it.
    pub from_outside: bool,
    /// The first case in which it was caught; else the one in which its lower bound comes closest to its claim.
    pub case: String,
    /// ε as it claims.
    pub epsilon_claimed: f64,
    /// Lower confidence bound of its true ε.
    pub epsilon_lower: f64,
    /// μ as it claims.
    pub mu_claimed: f64,
    /// Lower confidence bound of its true μ.
    pub mu_lower: f64,
    /// The direct checks that fail in that case.
    pub direct_failures: Vec<&'static str>,
}

/// Attacks every broken engine on one problem after the other, until it is caught.
pub(crate) fn self_test(
    problems: &[problems::Problem],
    size: &Size,
    noise: &mut NoiseSource,
    report: &mut dyn FnMut(&str),
) -> Result<SelfTest, AuditError> {
    let rate = size.false_alarm_rate / problems.len().max(1) as f64;
    let mut engines = Vec::with_capacity(broken::ALL.len());
    for engine in &broken::ALL {
        report(&format!("broken engine: {}", engine.name));
        let mut shown: Option<Caught> = None;
        for problem in problems {
            let found = Caught::in_case(engine.name, test(engine, &problem.case(), size.draws, rate, noise)?);
            let caught = found.caught;
            if caught || shown.as_ref().is_none_or(|shown| found.excess() > shown.excess()) {
                shown = Some(found);
            }
            if caught {
                break;
            }
        }
        engines.extend(shown);
    }
    Ok(SelfTest { engines })
}

impl Caught {
    fn in_case(name: &'static str, result: CaseResult) -> Self {
        Self {
            name,
            caught: result.broken || !result.direct.hold(),
            from_outside: result.broken,
            direct_failures: result.direct.failed(),
            case: result.name,
            epsilon_claimed: result.epsilon_claimed,
            epsilon_lower: result.epsilon_lower,
            mu_claimed: result.mu_claimed,
            mu_lower: result.mu_lower.unwrap_or(0.0),
        }
    }

    fn excess(&self) -> f64 {
        self.epsilon_lower - self.epsilon_claimed
    }
}
