use efface_testkit::dyadic::Dyadic;

use super::*;
use crate::noise::digits::RandomBits;
use crate::rounding::norm;

fn lattice(exponent: i32) -> Lattice {
    Lattice::new(exponent).expect("in range")
}

/// A random double of any sign, size and length.
fn any_weight(random: &mut NoiseSource, exponents: u64, least: i32) -> f64 {
    let mantissa = (random.word() >> (11 + random.below(53))) as f64;
    let exponent = least + random.below(exponents) as i32;
    let value = mantissa * 2_f64.powi(exponent / 2) * 2_f64.powi(exponent - exponent / 2);
    if random.below(2) == 0 { -value } else { value }
}

#[test]
fn weights_are_rounded_as_in_exact_arithmetic() {
    let mut random = NoiseSource::danger_fixed_seed(1);
    let mut n_refused = 0;
    for _ in 0..5000 {
        let weight = any_weight(&mut random, 250, -150);
        let lattice = lattice(random.below(160) as i32 - 120);
        let exact = Dyadic::from_f64(weight).times_power_of_two(-(lattice.exponent() as isize)).round();
        let exact = exact.filter(|steps| steps.unsigned_abs() >> MAGNITUDE_BITS == 0);
        let rounded = lattice.round(&[weight]).ok().map(|steps| steps[0]);
        assert_eq!(rounded, exact, "{weight:e} on 2^{}", lattice.exponent());
        n_refused += usize::from(exact.is_none());
    }
    assert!((100..4000).contains(&n_refused), "{n_refused} were refused");
}

#[test]
fn halves_go_away_from_zero_and_zero_stays() {
    let steps = lattice(-1).round(&[0.25, -0.25, 0.75, 0.249_999, 0.0, -0.0, 5e-324]).expect("small");
    assert_eq!(*steps, [1, -1, 2, 0, 0, 0, 0]);
}

/// The whole of a release in exact arithmetic: the same noise, drawn again, added bit by bit.
#[test]
fn published_weights_are_those_of_exact_arithmetic() {
    let mut random = NoiseSource::danger_fixed_seed(2);
    for seed in 0..300 {
        let exponent = random.below(100) as i32 - 80;
        let lattice = lattice(exponent);
        let std = any_weight(&mut random, 40, exponent - 60).abs() + lattice.step();
        let weights: Vec<f64> = (0..7).map(|_| any_weight(&mut random, 110, exponent - 80)).collect();
        let published = lattice.publish(&weights, std, &mut NoiseSource::danger_fixed_seed(seed)).expect("they fit");
        let noise = lattice.noise(std, 7, &mut NoiseSource::danger_fixed_seed(seed)).expect("it fits");
        for ((weight, noise), published) in weights.iter().zip(noise.iter()).zip(&published) {
            let in_steps = |value: &Dyadic| value.times_power_of_two(-(exponent as isize));
            let centre = in_steps(&Dyadic::from_f64(*weight)).round().expect("small");
            let exact = Dyadic::from_integer(centre).plus(&Dyadic::from_integer(*noise));
            let shown = in_steps(&Dyadic::from_f64(*published));
            assert!(shown.is_integer(), "{published:e} is no multiple of 2^{exponent}");
            if exact.magnitude() < 2_f64.powi(53) {
                assert!(shown.equals(&exact), "{weight:e} on 2^{exponent}");
            }
            // Rounded to 53 bits at most, and to the nearest: no other double is closer.
            let distance = |candidate: f64| exact.plus(&in_steps(&Dyadic::from_f64(-candidate))).magnitude();
            assert!(distance(*published) <= distance(published.next_up()).min(distance(published.next_down())));
        }
    }
}

#[test]
fn steps_are_powers_of_two_down_to_the_smallest_double() {
    for exponent in [-1074, -1073, -1023, -1022, -1021, -30, 0, 1, 896] {
        let step = lattice(exponent).step();
        assert!(Dyadic::from_f64(step).equals(&Dyadic::from_integer(1).times_power_of_two(exponent as isize)));
    }
    assert!(Lattice::new(-1075).is_none() && Lattice::new(897).is_none());
    assert!(lattice(896).point(i128::MAX).is_finite());
    assert_eq!(lattice(-1074).point(-3), -3.0 * 5e-324);
}

#[test]
fn the_coarsest_lattice_within_a_charge_is_taken() {
    let within = |limit: f64, n: usize| Lattice::with_charge_within(LowerBound::new(limit), n);
    for limit in [1e-300, 3e-12, 0.7, 1e80] {
        for n in [1, 2, 100, 123_456_789] {
            let lattice = within(limit, n).expect("in range");
            let exact = (n as f64).sqrt() * lattice.step();
            assert!(exact <= limit && 2.0 * exact > limit * (1.0 - 1e-14), "{limit:e}, {n}: {exact:e}");
            assert!(lattice.rounding_charge(n).get() >= exact);
        }
    }
    assert!(within(0.0, 1).is_none() && within(f64::NAN, 1).is_none() && within(f64::INFINITY, 1).is_none());
    assert!(within(5e-324, 100).is_none(), "finer than the smallest double");
    assert_eq!(within(1e-320, 0), within(1e-320, 1));
}

#[test]
fn rounding_adds_at_most_the_charge_to_a_distance() {
    let mut random = NoiseSource::danger_fixed_seed(3);
    let lattice = lattice(-4);
    let mut most = 0.0_f64;
    for n in [1, 2, 5, 40] {
        for _ in 0..500 {
            let mut number = || random.word() as f64 / 2_f64.powi(64) - 0.5;
            let a: Vec<f64> = (0..n).map(|_| 3.0 * number()).collect();
            let b: Vec<f64> = a.iter().map(|x| x + 0.2 * number()).collect();
            let apart = distance(&a, &b);
            let points = |v: &[f64]| -> Vec<f64> {
                lattice.round(v).expect("small").iter().map(|steps| lattice.point(*steps)).collect()
            };
            let rounded = distance(&points(&a), &points(&b));
            assert!(rounded <= (UpperBound::new(apart) + lattice.rounding_charge(n)).get(), "{n} weights");
            most = most.max(rounded - apart);
        }
    }
    assert!(most > 0.0, "rounding does move weights apart");
}

/// Two vectors on both sides of the halves: hardly apart, and a whole step in every coordinate after rounding. With the
/// plain distance the claim would be wrong, with the charge it is just right.
#[test]
fn the_plain_distance_would_be_wrong() {
    let (n, lattice) = (9, lattice(-10));
    let half = 0.5 * lattice.step();
    let (a, b) = (vec![half; n], vec![half.next_down(); n]);
    let apart = norm(&a.iter().zip(&b).map(|(a, b)| a - b).collect::<Vec<f64>>());
    let [a, b] = [&a, &b].map(|v| lattice.round(v).expect("small"));
    assert!(a.iter().all(|j| *j == 1) && b.iter().all(|j| *j == 0));
    let rounded = 3.0 * lattice.step();
    assert!(rounded > 1e12 * apart.get(), "the plain distance is {:e}", apart.get());
    let charged = (apart + lattice.rounding_charge(n)).get();
    assert!(rounded <= charged && charged < rounded * (1.0 + 1e-12), "{charged:e}");
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    norm(&a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<f64>>()).get()
}

#[test]
fn what_does_not_fit_is_refused_before_noise_is_drawn() {
    let lattice = lattice(-30);
    let limit = 2_f64.powi(96);
    let mut source = NoiseSource::danger_fixed_seed(4);
    for weight in [limit, -limit, f64::MAX, f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
        let refused = lattice.publish(&[0.5, weight], 1.0, &mut source).expect_err("too large");
        assert!(refused.limit == limit && refused.step == lattice.step());
        assert!(refused.value == weight || refused.value.is_nan() && weight.is_nan());
    }
    assert_eq!(source.word(), NoiseSource::danger_fixed_seed(4).word(), "no word was taken");
    let message = lattice.round(&[1e30]).expect_err("too large").to_string();
    assert_eq!(
        message,
        format!("`{}` does not fit a lattice of step {:e}: it counts up to {limit:e}", 1e30, 2_f64.powi(-30))
    );
    assert_eq!(lattice.round(&[limit.next_down()]).expect("fits")[0], ((1_i128 << 53) - 1) << 73);
    for std in [0.0, -1.0, f64::NAN, f64::INFINITY, 2_f64.powi(80)] {
        assert!(lattice.publish(&[0.5], std, &mut source).is_err(), "{std}");
    }
}

#[test]
fn noise_of_every_size_is_published() {
    let mut source = NoiseSource::danger_fixed_seed(5);
    for (std, exponent) in [(1e-300, -1030), (1e-300, -1074), (5e-324, -1074), (1e100, 300), (1e100, 250), (1.0, -99)] {
        let lattice = lattice(exponent);
        let published = lattice.publish(&[0.0; 100], std, &mut source).expect("it fits");
        let spread = (published.iter().map(|w| (w / std).powi(2)).sum::<f64>() / 100.0).sqrt();
        assert!((0.6..1.5).contains(&spread), "{std:e}: {spread}");
        assert!(published.iter().all(|w| Dyadic::from_f64(*w).times_power_of_two(-(exponent as isize)).is_integer()));
    }
}
