//! Sound release certificates of every kind, their numbers made the way that the engine makes them.

use efface_core::accounting::{Extractor, Guarantee, gaussian};
use efface_core::ridge::Ridge;
use efface_core::rounding::{LowerBound, UpperBound};

use super::example::{issued, named_request, nameless_request};
use crate::certificate::tags::{Limit, OutsideScope};
use crate::certificate::{
    Adversary, Arithmetic, CurvePoint, Decided, LogPosition, ReleaseCertificate, ReleaseClaims, ReleasePolicy,
    SincePrevious, SpentBefore,
};

/// Mechanism and law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Gaussian,
    Gamma,
    Objective,
    Exact,
}

/// What the claims of a release follow from.
#[derive(Clone, Debug)]
pub(super) struct Basis {
    pub(super) kind: Kind,
    pub(super) l2: f64,
    pub(super) n_rows: usize,
    /// What the rows weigh, where they do not count once each.
    pub(super) weight_sum: Option<f64>,
    /// r, or the residual under mechanism `objective`.
    pub(super) moved: f64,
    pub(super) noise_std: f64,
    pub(super) promise: Guarantee,
    pub(super) extractor: Option<Extractor>,
    /// Claimed distances of the releases before.
    pub(super) before: Vec<f64>,
}

/// What a release claims.
struct Claims {
    residual: UpperBound,
    distance: UpperBound,
    squares: UpperBound,
    distances: UpperBound,
    mu: UpperBound,
    mu_total: UpperBound,
    mu_limit: f64,
    epsilon: f64,
}

impl Basis {
    pub(super) fn of(kind: Kind) -> Self {
        let delta = if kind == Kind::Gamma { 0.0 } else { 1e-4 };
        let promise = match kind {
            Kind::Exact => Guarantee { epsilon: 0.0, delta: 0.0 },
            _ => Guarantee { epsilon: 1.0, delta },
        };
        let noise_std = if kind == Kind::Exact { 0.0 } else { 0.01 };
        let (n_rows, mut before, mut moved) = (57, vec![1e-4, 3e-4], 2e-4);
        if kind == Kind::Exact {
            (before, moved) = (vec![0.0; 2], 0.0);
        }
        Self { kind, l2: 0.01, n_rows, weight_sum: None, moved, noise_std, promise, extractor: None, before }
    }

    /// What the engine claims, each number rounded as it rounds it.
    fn claims(&self) -> Claims {
        let Self { kind, l2, moved, noise_std, promise, before, .. } = self;
        let (std, moved) = (LowerBound::new(*noise_std), UpperBound::new(*moved));
        let n = self.weight_sum.unwrap_or(self.n_rows as f64);
        let (residual, distance) = match kind {
            Kind::Objective => (moved, moved.over(LowerBound::new(l2 * n))),
            _ => (moved * UpperBound::new(*l2) * UpperBound::new(n), moved),
        };
        let sum = |f: fn(UpperBound) -> UpperBound| {
            before.iter().fold(UpperBound::ZERO, |sum, r| sum + f(UpperBound::new(*r)))
        };
        let (squares, distances) = match kind {
            Kind::Objective => (UpperBound::ZERO, UpperBound::ZERO),
            _ => (sum(UpperBound::squared), sum(|r| r)),
        };
        let mu = if *kind == Kind::Exact { UpperBound::ZERO } else { moved.over(std) };
        let mu_total = match kind {
            Kind::Exact => UpperBound::ZERO,
            Kind::Gaussian => (squares + distance.squared()).sqrt().over(std),
            Kind::Gamma => (distances + distance).over(std),
            Kind::Objective => mu,
        };
        let (mu_limit, epsilon) = match kind {
            Kind::Exact => (0.0, 0.0),
            Kind::Gamma => (promise.epsilon, mu_total.get()),
            _ => (
                gaussian::mu_limit(promise.epsilon, promise.delta).get(),
                gaussian::epsilon_at(mu_total, promise.delta),
            ),
        };
        let epsilon = epsilon.min(promise.epsilon);
        Claims { residual, distance, squares, distances, mu, mu_total, mu_limit, epsilon }
    }

    /// A few points of δ(ε).
    fn curve(&self, mu_total: UpperBound) -> Vec<CurvePoint> {
        match self.kind {
            Kind::Exact => Vec::new(),
            Kind::Gamma => vec![CurvePoint { epsilon: mu_total.get(), delta: 0.0 }],
            _ => [0.0, 0.1, 0.5, 1.0]
                .map(|part| part * self.promise.epsilon)
                .map(|epsilon| CurvePoint { epsilon, delta: gaussian::delta(epsilon, mu_total).get() })
                .to_vec(),
        }
    }

    /// The certificate.
    pub(super) fn certificate(&self, log: LogPosition, key_id: String) -> ReleaseCertificate {
        let Claims { residual, distance, squares, distances, mu, mu_total, mu_limit, epsilon } = self.claims();
        let Self { kind, l2, n_rows, weight_sum, noise_std, promise, extractor, before, .. } = self.clone();
        let nothing = Guarantee { epsilon: 0.0, delta: 0.0 };
        let shared = extractor.map_or(nothing, |extractor| extractor.cost());
        let (claimed, spent) = (promise.plus(shared), Guarantee { epsilon, delta: 0.0 }.plus(shared));
        let objective = kind == Kind::Objective;
        let limits: &[&str] = match kind {
            Kind::Objective => &Limit::ALL.map(Limit::tag),
            _ => &[],
        };
        let texts = |tags: &[&str]| tags.iter().map(ToString::to_string).collect::<Vec<_>>();
        let body = ReleaseClaims {
            decided: Decided { policy: ReleasePolicy { min_removals: Some(2), every_seconds: None }, revoked: vec![1] },
            release: before.len() + 1,
            certified: true,
            n_removed: 9,
            requests: vec![named_request(), nameless_request()],
            since_previous: SincePrevious {
                release: Some(before.len()),
                certificate: Some("ce".repeat(32)),
                n_people: 2,
                n_removed: 3,
                n_corrected: 0,
                n_added: 0,
                exposure: "several-together".into(),
            },
            mechanism: if objective { "objective" } else { "release" }.into(),
            loss: if kind == Kind::Exact { "squared" } else { "logistic" }.into(),
            ridge: Ridge::PerRow(l2),
            scale: "clip:2.5".into(),
            intercept: true,
            feature_maps: Vec::new(),
            row_norm_bound: Some(1.0),
            n_problems: 1,
            n_rows,
            weight_sum,
            negatives: None,
            dim: 4,
            rung: if kind == Kind::Exact { "exact" } else { "measured" }.into(),
            gamma: "tight".into(),
            gradient_residual: residual.get(),
            distance_bound: distance.get(),
            budget: objective.then(|| "analytic".into()),
            law: if kind == Kind::Gamma { "gamma" } else { "gaussian" }.into(),
            noise_std,
            lattice_step: None,
            mu: mu.get(),
            spent_before: SpentBefore {
                n_releases: before.len(),
                distance_squares: squares.get(),
                distances: distances.get(),
            },
            mu_total: mu_total.get(),
            mu_limit,
            promise,
            lives: None,
            extractor,
            epsilon: claimed.epsilon,
            delta: claimed.delta,
            epsilon_spent: spent.epsilon,
            curve: self.curve(mu_total),
            arithmetic: Arithmetic {
                bounds: "outward".into(),
                noise: if kind == Kind::Exact { "none" } else { "idealized" }.into(),
            },
            adversary: Adversary {
                sees_prior_release: false,
                sees_later_releases: !objective,
                adaptive_requests: !objective,
                secret_state: true,
            },
            limits: texts(limits),
            outside_scope: texts(&OutsideScope::ALL.map(OutsideScope::tag)),
            not_public: vec!["city".into()],
        };
        issued(body, log, key_id)
    }
}
