//! The numbers of random certificates, computed a second time in double-double and by another formula of Φ: what the
//! engine claims is accepted, and what is a little better is refused.

use efface_core::accounting::{Extractor, Guarantee};
use efface_testkit::DoubleDouble;
use efface_testkit::hockey_stick::gaussian_delta;

use super::basis::{Basis, Kind};
use crate::certificate::{LogPosition, ReleaseCertificate};
use crate::verify::arithmetic::checks;
use crate::verify::check::{CheckOutcome, Verification};

/// Numbers in (0, 1) that look random and are the same on every machine.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 12) as f64 + 0.5) * 2f64.powi(-52)
    }

    fn within(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.next())
    }

    fn up_to(&mut self, n: usize) -> usize {
        (self.next() * n as f64) as usize
    }
}

/// A certificate that keeps its promise, of random size.
fn basis(kind: Kind, dice: &mut Dice) -> Basis {
    let delta = if kind == Kind::Gamma { 0.0 } else { dice.within(1e-12, 1e-2) };
    let promise = Guarantee { epsilon: dice.within(0.01, 8.0), delta };
    let noise_std = dice.within(1e-6, 1e3);
    let limit = match kind {
        Kind::Gamma => promise.epsilon,
        _ => efface_core::accounting::gaussian::mu_limit(promise.epsilon, delta).get(),
    };
    let n_before = if kind == Kind::Objective { 0 } else { dice.up_to(6) };
    // Shares of the limit that add up to less than all of it, by squares or as they are.
    let mut share = || dice.within(1e-3, 0.99) * limit * noise_std / (n_before + 1) as f64;
    let (moved, before) = (share(), (0..n_before).map(|_| share()).collect());
    let n_rows = 1 + dice.up_to(100_000);
    let weigh = dice.next() < 0.5;
    let weight_sum = weigh.then(|| n_rows as f64 * dice.within(1e-6, 1e6));
    // Nine rows have left.
    let group = 9 + dice.up_to(12);
    let extractor = (dice.next() < 0.3).then(|| Extractor { epsilon: dice.within(0.01, 0.2), delta: 1e-9, group });
    Basis { kind, l2: dice.within(1e-8, 1.0), n_rows, weight_sum, moved, noise_std, promise, extractor, before }
}

fn certificate(basis: &Basis) -> ReleaseCertificate {
    basis.certificate(LogPosition { origin: "log".into(), position: 0 }, String::new())
}

/// Names of the checks that fail.
fn failing(certificate: &ReleaseCertificate) -> Vec<&'static str> {
    let failed = checks(certificate).into_iter().filter(|check| check.outcome == CheckOutcome::Failed);
    failed.map(|check| check.check.tag()).collect()
}

/// What all releases come to, from its definition.
fn total(basis: &Basis) -> DoubleDouble {
    let all = || basis.before.iter().chain([&basis.moved]).map(|r| DoubleDouble::from(*r));
    let moved = match basis.kind {
        Kind::Gaussian => all().map(|r| r * r).sum::<DoubleDouble>().sqrt(),
        Kind::Gamma => all().sum(),
        _ => basis.moved.into(),
    };
    moved / DoubleDouble::from(basis.noise_std)
}

/// Whether one number is at least another, to double-double precision.
fn at_least(claimed: f64, truth: DoubleDouble) -> bool {
    (DoubleDouble::from(claimed) - truth).to_f64() >= 0.0
}

const KINDS: [Kind; 3] = [Kind::Gaussian, Kind::Gamma, Kind::Objective];
const N_CERTIFICATES: usize = 300;

fn each_certificate(visit: impl Fn(&Basis, &ReleaseCertificate)) {
    for kind in KINDS {
        let mut dice = Dice(kind as u64 + 1);
        for _ in 0..N_CERTIFICATES {
            let basis = basis(kind, &mut dice);
            visit(&basis, &certificate(&basis));
        }
    }
}

#[test]
fn what_the_engine_claims_is_true_and_accepted() {
    each_certificate(|basis, c| {
        assert_eq!(failing(c), [""; 0], "{basis:?}: {:?}", Verification::of(checks(c)));
        let mu = DoubleDouble::from(basis.moved) / DoubleDouble::from(basis.noise_std);
        assert!(at_least(c.mu, mu) && at_least(c.mu_total, total(basis)), "{basis:?}");
        if basis.kind != Kind::Gamma {
            // Another formula of Φ, good to 1e-14 or so.
            let share = c.epsilon_spent - basis.extractor.map_or(0.0, |extractor| extractor.cost().epsilon);
            assert!(gaussian_delta(share, c.mu_total) <= c.promise.delta * (1.0 + 1e-6) + 1e-13, "{basis:?}");
            for point in &c.curve {
                assert!(gaussian_delta(point.epsilon, c.mu_total) <= point.delta + 1e-13, "{basis:?}");
            }
        }
    });
}

#[test]
fn a_mu_below_the_truth_is_refused() {
    each_certificate(|basis, c| {
        let truth = total(basis).to_f64();
        let mut too_good = c.clone();
        too_good.mu_total = truth * (1.0 - 1e-9);
        // Where the releases before are negligible, the total is below μ of this one too.
        assert_eq!(failing(&too_good), ["total"], "{basis:?}");
        let mut too_good = c.clone();
        too_good.mu = basis.moved / basis.noise_std * (1.0 - 1e-9);
        assert_eq!(failing(&too_good), ["mu"], "{basis:?}");
    });
}

#[test]
fn an_epsilon_or_delta_below_the_truth_is_refused() {
    each_certificate(|basis, c| {
        let extractor = basis.extractor.map_or(0.0, |extractor| extractor.cost().epsilon);
        let share = c.epsilon_spent - extractor;
        // Only where all of it is spent on purpose is the promise itself claimed, and that is another check.
        if share > 1e-3 && share < basis.promise.epsilon {
            let mut too_good = c.clone();
            too_good.epsilon_spent = share * (1.0 - 1e-6) + extractor;
            assert_eq!(failing(&too_good), ["epsilon"], "{basis:?}");
        }
        for i in 0..c.curve.len() {
            let mut too_good = c.clone();
            let point = &mut too_good.curve[i];
            match basis.kind {
                Kind::Gamma => point.epsilon *= 1.0 - 1e-9,
                _ if point.delta > 1e-12 => point.delta *= 1.0 - 1e-6,
                _ => continue,
            }
            assert_eq!(failing(&too_good), ["curve"], "{basis:?}");
        }
    });
}

#[test]
fn a_limit_above_what_the_promise_allows_is_refused() {
    each_certificate(|basis, c| {
        let mut too_good = c.clone();
        too_good.mu_limit *= 1.0 + if basis.kind == Kind::Gamma { 1e-9 } else { 1e-6 };
        assert_eq!(failing(&too_good), ["limit"], "{basis:?}");
        let mut spent = c.clone();
        spent.mu_limit = c.mu_total * (1.0 - 1e-9);
        assert_eq!(failing(&spent), ["limit"], "{basis:?}");
    });
}
