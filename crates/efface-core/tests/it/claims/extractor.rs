//! A private feature extractor under a model from which rows are removed: what it costs that they are several.

use efface_core::accounting::{Extractor, Guarantee};
use efface_core::model::{Outcome, ReleaseOutcome};
use efface_testkit::{DoubleDouble, ReferenceLoss};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;

use crate::world::{World, fixed_noise, published, small_world};

fn exact(value: f64) -> DoubleDouble {
    DoubleDouble::from(value)
}

/// Σ_{i<k} e^{iε}, term by term.
fn geometric(epsilon: f64, k: usize) -> DoubleDouble {
    (0..k).map(|i| (exact(epsilon) * i as f64).exp()).sum()
}

#[test]
fn the_cost_of_a_group_is_enclosed() {
    let mut rng = ChaCha12Rng::seed_from_u64(1);
    for case in 0..400 {
        let epsilon = if case % 20 == 0 { 0.0 } else { 10f64.powf(rng.random_range(-12.0..1.0)) };
        let delta = if case % 7 == 0 { 0.0 } else { 10f64.powf(rng.random_range(-30.0..-1.0)) };
        let group = 1 + (300_f64.powf(rng.random_range(0.0..1.0)) as usize);
        let extractor = Extractor { epsilon, delta, group };
        let (above, below) = (extractor.cost(), extractor.least_cost());
        let (all, sum) = (exact(epsilon) * group as f64, exact(delta) * geometric(epsilon, group));
        assert!(exact(above.epsilon) >= all && all >= exact(below.epsilon), "{extractor:?}");
        // Beyond that the reference has no exponential.
        if all > exact(600.0) {
            continue;
        }
        assert!(exact(above.delta) >= sum && sum >= exact(below.delta), "{extractor:?}: {sum:?} {above:?} {below:?}");
        // An argument that is rounded up moves an exponential by as much as it is large.
        assert!(above.delta <= below.delta * (1.0 + 1e-12), "{extractor:?}: {above:?} {below:?}");
        assert!(above.epsilon <= below.epsilon * (1.0 + 1e-14), "{extractor:?}");
    }
    let vast = Extractor { group: 1_000_000, ..Extractor::per_row(1.0, 0.0) };
    assert_eq!(vast.cost().delta, 0.0, "a pure promise stays pure");
    assert_eq!(Extractor { delta: 1e-300, ..vast }.cost().delta, f64::INFINITY);
    assert_eq!(Extractor::per_row(0.5, 1e-5).cost(), Guarantee { epsilon: 0.5, delta: 1e-5 });
}

/// The least δ for which one law is (ε, δ)-close to another, over every event: the outcomes where it is above e^ε times
/// the other.
fn least_delta(epsilon: f64, law: &[DoubleDouble], other: &[DoubleDouble]) -> DoubleDouble {
    let factor = exact(epsilon).exp();
    law.iter().zip(other).map(|(p, q)| (*p - factor * *q).max(DoubleDouble::ZERO)).sum()
}

/// The mechanism that attains the bound: two outcomes, the first of which is as likely with i rows gone as
/// (ε, δ)-privacy allows it to be beside i + 1. It promises each row what it should, both ways, and to k rows together
/// exactly what is claimed: the share that was claimed for one of them is false.
#[test]
fn a_group_loses_exactly_what_is_claimed() {
    for (epsilon, delta, group) in [(0.1, 1e-6, 10), (0.5, 1e-5, 9), (0.02, 1e-3, 50), (1.0, 1e-9, 12)] {
        let extractor = Extractor { epsilon, delta, group };
        let mut laws = vec![[exact(1e-9), exact(1.0) - exact(1e-9)]];
        for _ in 0..group {
            let p = exact(epsilon).exp() * laws[laws.len() - 1][0] + exact(delta);
            assert!(p < exact(0.5), "{extractor:?}");
            laws.push([p, DoubleDouble::ONE - p]);
        }
        laws.reverse();
        let tiny = exact(1e-28);
        for pair in laws.windows(2) {
            for (law, other) in [(pair[0], pair[1]), (pair[1], pair[0])] {
                assert!(least_delta(epsilon, &law, &other) <= exact(delta) + tiny, "one row: {extractor:?}");
            }
        }
        let cost = extractor.cost();
        let found = least_delta(cost.epsilon, &laws[0], &laws[group]);
        assert!(found <= exact(cost.delta), "{extractor:?}: {found:?} {cost:?}");
        assert!(found.to_f64() >= cost.delta * (1.0 - 1e-9), "{extractor:?}: nothing less is true");
        // What was claimed before: once, however many rows; and the paper's way out, ε for all of them and δ for one.
        assert!(least_delta(epsilon, &laws[0], &laws[group]).to_f64() > 2.0 * delta);
        assert!(least_delta(cost.epsilon, &laws[0], &laws[group]).to_f64() > 2.0 * delta);
    }
}

/// Randomized response, each row's bit by itself: 50 rows removed at ε = 0.5 each, with a removal of ε = 1 on top. 1.5 was
/// claimed, where 26 is true.
#[test]
fn fifty_rows_are_not_covered_by_the_promise_for_one() {
    let (epsilon, k) = (0.5, 50);
    let likely = DoubleDouble::ONE / (DoubleDouble::ONE + exact(-epsilon).exp());
    let unlikely = DoubleDouble::ONE - likely;
    let power = |p: DoubleDouble, n: usize| (0..n).fold(DoubleDouble::ONE, |product, _| product * p);
    let (mut law, mut other) = (Vec::new(), Vec::new());
    let mut ways = DoubleDouble::ONE;
    for j in 0..=k {
        law.push(ways * power(likely, j) * power(unlikely, k - j));
        other.push(ways * power(likely, k - j) * power(unlikely, j));
        ways = ways * ((k - j) as f64) / ((j + 1) as f64);
    }
    let old = 1.0 + epsilon;
    assert!(least_delta(old, &law, &other).to_f64() > 0.8, "claimed was a delta of 0");
    let cost = Extractor { group: k, ..Extractor::per_row(epsilon, 0.0) }.cost();
    assert!((cost.epsilon - 25.0).abs() < 1e-13);
    assert!(least_delta(cost.epsilon, &law, &other).to_f64() < 1e-25);
    assert!(least_delta(cost.epsilon - 1e-3, &law, &other).to_f64() > 0.0, "nothing less is true");
}

fn with_extractor(extractor: Extractor) -> World {
    small_world(4, ReferenceLoss::Logistic, |config| {
        (config.extractor, config.noise_std) = (Some(extractor), Some(1.0));
    })
}

fn removed(world: &mut World, n_rows: usize) -> Guarantee {
    let places = world.some_rows(n_rows);
    world.change(&places, 0);
    world.model.settle(&world.store, None).expect("readable");
    published(&mut world.model, &mut fixed_noise()).claim.guarantee
}

#[test]
fn within_the_declared_group_the_claim_stays_and_beyond_it_there_is_none() {
    let extractor = Extractor { group: 4, ..Extractor::per_row(0.3, 1e-6) };
    let mut world = with_extractor(extractor);
    let (alone, start) = (world.model.plan().guarantee(), world.model.plan().claimed_guarantee());
    assert_eq!(start, alone.plus(extractor.cost()));
    assert!(start.epsilon > alone.epsilon + 1.2);
    for _ in 0..3 {
        assert_eq!(removed(&mut world, 1), start);
    }
    // Old values of corrected rows leave, too; rows that come do not.
    let places = world.some_rows(1);
    world.change(&places, 1);
    world.change(&[], 3);
    world.model.settle(&world.store, None).expect("readable");
    assert_eq!(world.model.outcome(), Outcome::Done);
    assert_eq!(published(&mut world.model, &mut fixed_noise()).claim.guarantee, start);

    let places = world.some_rows(1);
    world.change(&places, 0);
    assert_eq!(world.model.outcome(), Outcome::RetrainRequired);
    world.model.settle(&world.store, None).expect("readable");
    let account = world.model.state().account;
    let refused = world.model.release(&mut fixed_noise());
    assert!(matches!(refused, ReleaseOutcome::ExtractorExhausted { n_left: 5, group: 4 }), "{refused:?}");
    assert_eq!(world.model.state().account, account, "a refusal is no release");
    // Retraining brings nobody back: the extractor is the same.
    let again = world.model.plan().train(&world.store, &mut fixed_noise(), &mut |_| {}).expect("trainable").model;
    assert_eq!(again.with_account(account).outcome(), Outcome::RetrainRequired);
}
