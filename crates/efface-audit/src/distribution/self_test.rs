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
    /// The direct checks that fail, in whichever case.
    pub direct_failures: Vec<&'static str>,
}

/// Attacks every broken engine on the problems.
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
        let results: Vec<CaseResult> = problems
            .iter()
            .map(|problem| test(engine, &problem.case(), size.draws, rate, noise))
            .collect::<Result<_, _>>()?;
        engines.extend(judge(engine.name(), &results));
    }
    Ok(SelfTest { engines })
}

/// What all cases together say of an engine; `None` without a case.
fn judge(name: &'static str, results: &[CaseResult]) -> Option<Caught> {
    let excess = |result: &&CaseResult| result.epsilon_lower - result.epsilon_claimed;
    let worst = results.iter().max_by(|a, b| excess(a).total_cmp(&excess(b)))?;
    let mut direct_failures: Vec<&'static str> = results.iter().flat_map(|result| result.direct.failed()).collect();
    direct_failures.sort_unstable();
    direct_failures.dedup();
    let from_outside = results.iter().any(|result| result.broken);
    Some(Caught {
        name,
        caught: from_outside || !direct_failures.is_empty(),
        from_outside,
        case: worst.name.clone(),
        epsilon_claimed: worst.epsilon_claimed,
        epsilon_lower: worst.epsilon_lower,
        mu_claimed: worst.mu_claimed,
        mu_lower: worst.mu_lower.unwrap_or(0.0),
        direct_failures,
    })
}
