//! Every coin of the sampler against its exact probability: counts of a million trials, each within what chance allows
//! but for a rate of 1e-6. The law of the whole is tested in `tests/it/noise/exact_noise.rs`.

use efface_testkit::counts::{chi_square, count_tail};
use efface_testkit::special::normal_cdf;
use efface_testkit::statistics::{kolmogorov_smirnov, ks_threshold};

use super::super::digits::crafted::Crafted;
use super::*;

const FALSE_ALARM_RATE: f64 = 1e-6;
const N: u64 = 1_000_000;

fn assert_coin(probability: f64, what: &str, mut coin: impl FnMut(&mut NoiseSource) -> bool) {
    let mut bits = NoiseSource::danger_fixed_seed(11);
    let count = (0..N).filter(|_| coin(&mut bits)).count() as u64;
    let chance = count_tail(count, N, probability);
    assert!(chance > FALSE_ALARM_RATE, "{what}: {count} of {N}, probability {probability}: chance {chance:e}");
    // The test has power: a coin that is off by half a percent fails.
    let spoiled = if probability < 0.5 { probability + 0.005 } else { probability - 0.005 };
    assert!(count_tail(count, N, spoiled) < FALSE_ALARM_RATE, "{what}: the test sees nothing");
}

/// A number known to start with these digits; the rest is drawn when asked for.
fn starting_with(x: f64) -> Uniform {
    Uniform::draw(&mut Crafted::new(&[(x * 2_f64.powi(64)) as u64], 0))
}

#[test]
fn coins_are_fair() {
    assert_coin(0.5, "the sign", coin);
}

#[test]
fn the_half_exponential_has_its_probability() {
    assert_coin((-0.5_f64).exp(), "e^(−½)", exp_half);
    for n in [0, 1, 2, 6, 12] {
        if n == 0 {
            assert!((0..1000).all(|seed| exp_half_power(0, &mut Crafted::new(&[], seed))));
            continue;
        }
        assert_coin((-0.5 * n as f64).exp(), "e^(−n/2)", |bits| exp_half_power(n, bits));
    }
}

#[test]
fn successes_in_a_row_are_geometric() {
    let mut bits = NoiseSource::danger_fixed_seed(12);
    let mut counts = [0_u64; 20];
    (0..N).for_each(|_| counts[successes_of_exp_half(&mut bits).min(19) as usize] += 1);
    let success = (-0.5_f64).exp();
    let mut probabilities: Vec<f64> = (0..19).map(|k| (1.0 - success) * success.powi(k)).collect();
    probabilities.push(success.powi(19));
    let test = chi_square(&counts, &probabilities);
    assert!(test.p_value > FALSE_ALARM_RATE, "{test:?}");
}

#[test]
fn shares_have_their_probability() {
    for k in [0, 1, 2, 5, 40] {
        for x in [0.0625, 0.5, 0.9375] {
            let p = (2.0 * k as f64 + x) / (2.0 * k as f64 + 2.0);
            assert_coin(p, "(2k + x)/(2k + 2)", |bits| share(k, &mut starting_with(x), bits));
        }
    }
}

#[test]
fn exponentials_of_shares_have_their_probability() {
    for k in [0, 1, 2, 5] {
        for x in [0.0625, 0.5, 0.9375] {
            let p = (2.0 * k as f64 + x) / (2.0 * k as f64 + 2.0);
            assert_coin((-x * p).exp(), "e^(−xp)", |bits| exp_of_share(k, &mut starting_with(x), bits));
            let all = |bits: &mut NoiseSource| {
                let mut x = starting_with(x);
                (0..=k).all(|_| exp_of_share(k, &mut x, bits))
            };
            assert_coin((-0.5 * x * (2.0 * k as f64 + x)).exp(), "e^(−x(2k+x)/2)", all);
        }
    }
}

#[test]
fn whole_and_fraction_are_half_normal() {
    let mut bits = NoiseSource::danger_fixed_seed(13);
    let mut sample: Vec<f64> = (0..200_000)
        .map(|_| {
            let (whole, fraction) = half_normal(&mut bits);
            whole as f64 + fraction.first() as f64 / 2_f64.powi(64)
        })
        .collect();
    let distance = kolmogorov_smirnov(&mut sample, |x| 2.0 * normal_cdf(x) - 1.0);
    assert!(distance < ks_threshold(sample.len(), FALSE_ALARM_RATE), "{distance}");
}

/// A word drawn twice in a row ties a comparison; the numbers are then drawn further, and the coin falls as they say.
#[test]
fn ties_in_a_chain_are_decided_by_further_digits() {
    // u₁ and u₂ share their first word; of the second words that of u₂ is drawn first, and is below. u₃ ends the chain.
    assert!(exp_half(&mut Crafted::new(&[100, 100, 8, 9, u64::MAX], 0)), "two links, even");
    assert!(!exp_half(&mut Crafted::new(&[100, 100, 9, 8], 0)), "one link, odd");
}

/// Words chosen so that the deviate is known: k = 0 by a failing first coin, x kept at once, and the sign.
#[test]
fn crafted_words_give_the_deviate_that_they_spell() {
    let x = (1 << 63) - 1;
    // u₁ below ½ and u₂ above it: odd, so k = 0. Then x; then z above x, so x is kept. Two more words of x. A sign.
    let words = [5, 6, x, u64::MAX, u64::MAX, 3, 1 << 63];
    let unit = RoundedNormal::new(1.0, Lattice::new(0).expect("in range")).expect("in range");
    let mut bits = Crafted::new(&words, 0);
    assert_eq!(unit.draw(&mut bits), Some(0), "0.0111… is below a half");
    assert_eq!(bits.n_taken, words.len());
    let fine = RoundedNormal::new(1.0, Lattice::new(-64).expect("in range")).expect("in range");
    let mut bits = Crafted::new(&[5, 6, x, u64::MAX, u64::MAX, 1 << 63], 0);
    assert_eq!(fine.draw(&mut bits), Some(-(i128::from(x) + 1)), "rounded by the word after the first");
}
