//! The whole audit: all attacks on one subject, and one verdict.

use efface_core::noise::NoiseSource;
use serde::Serialize;

use crate::distribution::{self, CaseResult, SelfTest, problems, self_test};
use crate::engine::{Case, SOUND, train_exactly};
use crate::error::AuditError;
use crate::membership::{self, Membership};
use crate::public_rows;
use crate::reconstruction::{self, Reconstruction, Target};

/// How much work to do, and how sure to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Lives drawn per world and case of the distribution test, and the false-alarm rate of all its cases together.
    pub distribution: distribution::Size,
    /// Work of the membership attack; models in a directory get at most this.
    pub membership: membership::Size,
    /// Examples that the membership attack is made on.
    pub n_examples: usize,
    /// Pairs of releases that the reconstruction is tried on, for each number of removals.
    pub reconstruction_trials: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            distribution: distribution::Size::default(),
            membership: membership::Size::default(),
            n_examples: 12,
            reconstruction_trials: 40,
        }
    }
}

impl Settings {
    /// Enough to see whether everything works, in a tenth of the time. The broken engines are still caught.
    pub fn quick() -> Self {
        let default = Self::default();
        Self {
            distribution: distribution::Size { draws: 8_000, ..default.distribution },
            membership: membership::Size { shadows: 64, trials: 40, ..default.membership },
            n_examples: 4,
            reconstruction_trials: 9,
        }
    }
}

/// Everything that was found. Nothing in it identifies a row, but for pictures of public ones, which are not serialized.
#[derive(Clone, Debug, Serialize)]
pub struct Audit {
    /// What it comes to.
    pub verdict: Verdict,
    /// What was attacked.
    pub subject: Subject,
    /// Attack 1: can releases after removal be told from releases after retraining?
    pub distribution: Distribution,
    /// Can this audit see? Only for the built-in problems.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub self_test: Option<SelfTest>,
    /// Attack 2: was this example there?
    #[serde(skip_serializing_if = "Option::is_none")]
    pub membership: Option<Membership>,
    /// Attack 3: which row left? A limit of every method; no verdict follows from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reconstruction: Option<Reconstruction>,
    /// What was left out or cut short, and why.
    pub notes: Vec<String>,
}

/// What an audit comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// No attack broke the claim.
    Stands,
    /// An attack broke the claim.
    Broken,
    /// No attack broke the claim, but a broken engine went unseen, too: draw more.
    Blind,
}

/// What was attacked.
#[derive(Clone, Debug, Serialize)]
pub struct Subject {
    /// Whether it is the built-in problems rather than a model.
    pub built_in: bool,
    /// Rows.
    pub n_rows: usize,
    /// Features.
    pub dim: usize,
    /// ε promised for the model's life.
    pub epsilon: f64,
    /// δ.
    pub delta: f64,
    /// Scale of the noise; it differs from problem to problem where they are built in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise_std: Option<f64>,
}

/// The distribution test over all its cases.
#[derive(Clone, Debug, Serialize)]
pub struct Distribution {
    /// How much was drawn, and how sure an alarm is.
    pub size: distribution::Size,
    /// One per choice of canaries.
    pub cases: Vec<CaseResult>,
    /// Whether a claim was broken from outside in one of them.
    pub broken: bool,
    /// Whether the direct checks hold in all of them.
    pub direct_checks_hold: bool,
}

impl Distribution {
    /// The case in which the lower bound of ε comes closest to its claim, or exceeds it by most.
    pub fn closest(&self) -> Option<&CaseResult> {
        // As a share of the claim; a claim of zero counts as a tiny one.
        let margin = |case: &CaseResult| (case.epsilon_lower - case.epsilon_claimed) / case.epsilon_claimed.max(1e-3);
        // Where there is no noise there is nothing to bound.
        let noisy = |case: &CaseResult| case.epsilon_claimed > 0.0;
        self.cases.iter().max_by(|a, b| noisy(a).cmp(&noisy(b)).then(margin(a).total_cmp(&margin(b))))
    }

    /// Tests Efface as it is on all cases. The rate is shared among them.
    pub(crate) fn of(
        cases: &[Case<'_>],
        size: distribution::Size,
        noise: &mut NoiseSource,
        report: &mut dyn FnMut(&str),
    ) -> Result<Self, AuditError> {
        let rate = size.false_alarm_rate / cases.len().max(1) as f64;
        let mut results = Vec::with_capacity(cases.len());
        for case in cases {
            report(&format!("distribution test: {}", case.name));
            results.push(distribution::test(&SOUND, case, size.draws, rate, noise)?);
        }
        let broken = results.iter().any(|result| result.broken);
        let direct_checks_hold = results.iter().all(|result| result.direct.hold());
        Ok(Self { size, cases: results, broken, direct_checks_hold })
    }
}

impl Audit {
    /// The verdict that follows from the parts.
    pub(crate) fn judged(mut self) -> Self {
        let broken = self.distribution.broken
            || !self.distribution.direct_checks_hold
            || self.membership.as_ref().is_some_and(|membership| membership.broken);
        self.verdict = match &self.self_test {
            _ if broken => Verdict::Broken,
            Some(self_test) if !self_test.passed() => Verdict::Blind,
            _ => Verdict::Stands,
        };
        self
    }
}

/// Attacks Efface on the built-in problems, and the broken engines too.
pub fn built_in(
    settings: &Settings,
    noise: &mut NoiseSource,
    report: &mut dyn FnMut(&str),
) -> Result<Audit, AuditError> {
    let problems = problems::all()?;
    let cases: Vec<Case<'_>> = problems.iter().map(problems::Problem::case).collect();
    let distribution = Distribution::of(&cases, settings.distribution, noise, report)?;
    let self_test = self_test(&problems, &settings.distribution, noise, report)?;
    let (plan, rows, examples) = membership::built_in(settings.n_examples)?;
    let membership = membership::attack(&plan, &rows, &examples, &settings.membership, noise, report)?;
    let public = public_rows::digits()?;
    let removable: Vec<usize> = (0..public.rows.len()).collect();
    let target = Target {
        trained: &train_exactly(&public.plan, &public.rows)?,
        rows: &public.rows,
        removable: &removable,
        public: &public.sample,
        keep_pictures: true,
    };
    let reconstruction = reconstruction::attack(&target, settings.reconstruction_trials, noise, report)?;
    let rows = cases[0].rows;
    let audit = Audit {
        verdict: Verdict::Stands,
        subject: Subject {
            built_in: true,
            n_rows: rows.n_rows(),
            dim: rows.dim(),
            epsilon: problems::CLAIM.epsilon,
            delta: problems::CLAIM.delta,
            noise_std: None,
        },
        distribution,
        self_test: Some(self_test),
        membership: Some(membership),
        reconstruction: Some(reconstruction),
        notes: Vec::new(),
    };
    Ok(audit.judged())
}
