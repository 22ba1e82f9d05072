use efface_testkit::dyadic::Dyadic;

use super::super::digits::crafted::Crafted;
use super::*;
use crate::noise::NoiseSource;

/// σ·(k + x) rounded, bit by bit, for an x that ends after the given words.
fn reference(std: f64, step_exponent: i32, whole: u64, words: &[u64]) -> Option<i128> {
    let deviate = Dyadic::from_integer(i128::from(whole)).plus(&Dyadic::from_digits(words));
    Dyadic::from_f64(std).times(&deviate).times_power_of_two(-(step_exponent as isize)).round()
}

fn round(std: f64, step_exponent: i32, whole: u64, words: &[u64]) -> (Option<i128>, usize) {
    let mut bits = Crafted::new(words, 1);
    let mut fraction = Uniform::draw(&mut bits);
    let scale = Scale::new(std, step_exponent).expect("in range");
    (scale.round(whole, &mut fraction, &mut bits).map(u128::cast_signed), bits.n_taken)
}

#[test]
fn rounded_multiples_are_those_of_exact_arithmetic() {
    let mut random = NoiseSource::danger_fixed_seed(1);
    for case in 0..3000_u64 {
        let words: Vec<u64> = (0..5).map(|_| random.word()).collect();
        // Every size of σ, from steps that swallow the noise to 2¹⁰⁹, and doubles of all lengths.
        let bits_of_scale = random.below(170).cast_signed() as i32 - 60;
        let mantissa = random.word() >> (11 + random.below(53)) | 1;
        let std_exponent = random.below(400).cast_signed() as i32 - 200;
        let std = mantissa as f64 * 2_f64.powi(std_exponent - (64 - mantissa.leading_zeros().cast_signed()));
        let whole = if case % 7 == 0 { random.word() >> (38 + random.below(26)) } else { random.below(9) };
        let (rounded, n_taken) = round(std, std_exponent - bits_of_scale, whole, &words);
        let exact = reference(std, std_exponent - bits_of_scale, whole, &words);
        let exact = exact.filter(|steps| steps >> MAGNITUDE_BITS == 0);
        assert_eq!(rounded, exact, "σ = {std:e}·2^{bits_of_scale}, k = {whole}, x = {words:x?}");
        assert!(n_taken <= 4, "{n_taken} words for {bits_of_scale} bits");
        if bits_of_scale < 40 && whole < 1000 {
            assert_eq!(n_taken, 1, "the fast path is enough for all but one draw in millions");
        }
    }
}

#[test]
fn both_paths_agree() {
    let mut random = NoiseSource::danger_fixed_seed(2);
    for _ in 0..3000 {
        let words: Vec<u64> = (0..5).map(|_| random.word()).collect();
        let scale =
            Scale { mantissa: random.word() >> 11 | 1 << 52, exponent: random.below(100).cast_signed() as i32 - 90 };
        let whole = random.below(1024);
        let mut bits = Crafted::new(&words, 3);
        let mut fraction = Uniform::draw(&mut bits);
        let fast = scale.round(whole, &mut fraction, &mut bits);
        assert_eq!(fast, scale.round_with_more_digits(whole, &mut fraction, &mut bits));
    }
}

/// x = 0.0111…: the upper end is a half, which rounds up, until a word is not all ones.
#[test]
fn a_number_close_below_a_half_is_drawn_until_it_is_known_to_be_below() {
    for n_ones in 0..9 {
        let mut words = vec![(1 << 63) - 1];
        words.extend(vec![u64::MAX; n_ones]);
        words.push(17);
        let (rounded, n_taken) = round(1.0, 0, 3, &words);
        assert_eq!((rounded, n_taken), (Some(3), n_ones + 2));
        // A half and nothing more is not below.
        assert_eq!(round(1.0, 0, 3, &[1 << 63]), (Some(4), 1));
        // The same with a step of three binades more, where the words end elsewhere.
        let (rounded, _) = round(8.0, 3, 3, &words);
        assert_eq!(rounded, Some(3));
    }
}

#[test]
fn a_large_scale_takes_the_words_that_it_needs() {
    // Half a step is 2⁻⁸⁸: two words of x, and a third where they do not decide.
    let std = 1.25 * 2_f64.powi(86);
    let words = [0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210, 77];
    let (rounded, n_taken) = round(std, 0, 2, &words);
    assert_eq!((rounded, n_taken), (reference(std, 0, 2, &words), 2));
}

#[test]
fn what_does_not_fit_is_refused() {
    assert!(Scale::new(0.0, 0).is_none() && Scale::new(-1.0, 0).is_none());
    assert!(Scale::new(f64::NAN, 0).is_none() && Scale::new(f64::INFINITY, 0).is_none());
    assert!(Scale::new(2_f64.powi(109), 0).is_some() && Scale::new(2_f64.powi(110), 0).is_none());
    assert!(Scale::new(1e100, 300).is_some() && Scale::new(1e100, 200).is_none());
    assert!(Scale::new(5e-324, -1074).is_some() && Scale::new(1e-300, -1074).is_some());
    // 2¹⁰⁹ · 2¹⁷ is one step too far, and stays so with every further word.
    assert_eq!(round(2_f64.powi(109), 0, (1 << 17) - 1, &[5]).0.map(|steps| steps >> 125), Some(1));
    assert_eq!(round(2_f64.powi(109), 0, 1 << 17, &[5]).0, None);
    assert_eq!(round(2_f64.powi(109), 0, u64::MAX, &[5]).0, None);
}

#[test]
fn noise_far_below_a_step_is_zero() {
    assert_eq!(round(1e-300, 0, 5, &[u64::MAX]), (Some(0), 1));
    assert_eq!(round(1e-300, 0, 1 << 40, &[u64::MAX]).0, Some(0));
}

#[test]
fn a_double_is_its_parts() {
    for value in [1.0, 0.1, -3.75, 1e300, 1e-300, 5e-324, 2.3e-310, f64::MAX] {
        let (mantissa, exponent) = parts(value);
        let exact = Dyadic::from_integer(i128::from(mantissa)).times_power_of_two(exponent as isize);
        assert!(exact.equals(&Dyadic::from_f64(value.abs())), "{value:e}");
    }
}
