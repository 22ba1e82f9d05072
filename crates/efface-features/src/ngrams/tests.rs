use std::collections::HashMap;

use super::*;
use crate::in_threads;

const BOTH: NgramSpec = NgramSpec {
    buckets: 1 << 12,
    words: Some(Grams { shortest: 1, longest: 2 }),
    characters: Some(Grams { shortest: 3, longest: 5 }),
    binary: false,
    seed: 17,
};

/// N-grams of words, as a list of strings.
fn word_grams(text: &str, Grams { shortest, longest }: Grams) -> Vec<String> {
    let letters: Vec<char> = text.to_lowercase().chars().map(|c| if is_letter(c) { c } else { ' ' }).collect();
    let blanked: String = letters.into_iter().collect();
    let words: Vec<&str> = blanked.split(' ').filter(|word| word.chars().count() >= 2).collect();
    (shortest..=longest).flat_map(|n| words.windows(n).map(|gram| gram.join(" "))).collect()
}

fn is_letter(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// N-grams of characters, by scikit-learn's loop.
fn character_grams(text: &str, Grams { shortest, longest }: Grams) -> Vec<String> {
    let mut grams = Vec::new();
    for piece in text.to_lowercase().split_whitespace() {
        let piece: Vec<char> = format!(" {piece} ").chars().collect();
        for n in shortest..=longest {
            grams.extend((0..=piece.len().saturating_sub(n)).map(|at| piece[at..].iter().take(n).collect::<String>()));
            if n >= piece.len() {
                break;
            }
        }
    }
    grams
}

/// The hash by its description, of all bytes at once.
fn hash(seed: u64, kind: u8, gram: &str) -> u64 {
    let mut hash: u64 = 14_695_981_039_346_656_037;
    for byte in seed.to_le_bytes().into_iter().chain([kind]).chain(gram.bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(1_099_511_628_211);
    }
    for factor in [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53] {
        hash = (hash ^ (hash >> 33)).wrapping_mul(factor);
    }
    hash ^ (hash >> 33)
}

fn reference(spec: &NgramSpec, text: &str) -> Vec<f64> {
    let mut counts: HashMap<(u8, String), i32> = HashMap::new();
    let words = spec.words.map_or(vec![], |range| word_grams(text, range));
    let characters = spec.characters.map_or(vec![], |range| character_grams(text, range));
    let words = words.into_iter().map(|gram| (b'w', gram));
    for gram in words.chain(characters.into_iter().map(|gram| (b'c', gram))) {
        *counts.entry(gram).or_default() += 1;
    }
    let mut sums = vec![0.0; spec.buckets];
    for ((kind, gram), count) in counts {
        let hash = hash(spec.seed, kind, &gram);
        let index = ((u128::from(hash) * spec.buckets as u128) >> 64) as usize;
        sums[index] += f64::from(if spec.binary { 1 } else { count }) * if hash.is_multiple_of(2) { 1.0 } else { -1.0 };
    }
    let norm = sums.iter().map(|v| v * v).sum::<f64>().sqrt();
    sums.iter().map(|v| if norm > 0.0 { v / norm } else { 0.0 }).collect()
}

fn texts() -> Vec<String> {
    let pieces = [
        "the",
        "Movie",
        "was",
        "a",
        "été_2",
        "ΣΑΣ",
        "naïve!",
        "it's",
        "x",
        "--",
        "\t",
        "İstanbul",
        "東京",
        "42",
        "the",
    ];
    (0..200_usize)
        .map(|i| (0..i % 37).map(|k| pieces[(i * 7 + k * k * 3) % pieces.len()]).collect::<Vec<_>>().join(" "))
        .collect()
}

fn dense(map: &NgramMap, text: &str) -> Vec<f32> {
    let mut out = vec![f32::NAN; map.n_features()];
    map.apply_dense(text, &mut out).unwrap();
    out
}

#[test]
fn features_are_those_of_naive_counting() {
    let characters = Some(Grams { shortest: 1, longest: 9 });
    for spec in [
        BOTH,
        NgramSpec { binary: true, ..BOTH },
        NgramSpec { buckets: 2, characters: None, ..BOTH },
        NgramSpec { buckets: 16, words: None, characters, seed: u64::MAX, ..BOTH },
        NgramSpec { words: Some(Grams { shortest: 2, longest: 4 }), characters: None, ..BOTH },
    ] {
        let map = NgramMap::new(spec).unwrap();
        for text in texts() {
            let (found, expected) = (dense(&map, &text), reference(&spec, &text));
            let same = found.iter().zip(&expected).all(|(a, b)| (f64::from(*a) - b).abs() < 1e-6);
            assert!(same, "{spec:?} of {text:?}");
            assert!(found.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>() <= 1.0);
        }
    }
}

/// By scikit-learn 1.9.1: `CountVectorizer(ngram_range=…, analyzer=…).build_analyzer()`.
#[test]
fn grams_are_those_of_scikit_learn() {
    let text = "A Été_2  it's ΣΑΣ\n東京 ok";
    let words = word_grams(text, Grams { shortest: 1, longest: 2 });
    assert_eq!(words, ["été_2", "it", "σας", "東京", "ok", "été_2 it", "it σας", "σας 東京", "東京 ok"]);
    let characters = character_grams(text, Grams { shortest: 4, longest: 5 });
    let expected = [
        " a ", " été", "été_", "té_2", "é_2 ", " été_", "été_2", "té_2 ", " it'", "it's", "t's ", " it's", "it's ",
        " σας", "σας ", " σας ", " 東京 ", " ok ",
    ];
    assert_eq!(characters, expected);
}

#[test]
fn a_text_without_words_is_zero() {
    let map = NgramMap::new(NgramSpec { characters: None, ..BOTH }).unwrap();
    for text in ["", " \n", "a b !"] {
        let mut out = vec![(1, 1.0)];
        map.apply(text, &mut out);
        assert!(out.is_empty());
        assert!(dense(&map, text).iter().all(|v| *v == 0.0));
    }
}

#[test]
fn blocks_are_as_single_texts_for_any_number_of_threads() {
    let map = NgramMap::new(BOTH).unwrap();
    let texts = texts();
    let block = || {
        let mut out = vec![vec![(0, 0.0)]];
        map.apply_block(&texts, &mut out);
        out
    };
    let by_two = in_threads(2, block);
    assert_eq!(by_two, in_threads(1, block));
    let mut single = Vec::new();
    map.apply(&texts[36], &mut single);
    assert_eq!(by_two[36], single);
    assert!(single.is_sorted_by_key(|(index, _)| *index));
}

/// From an independent implementation in Python.
#[test]
fn features_are_known() {
    let map = NgramMap::new(NgramSpec { characters: Some(Grams { shortest: 3, longest: 3 }), ..BOTH }).unwrap();
    let mut out = Vec::new();
    map.apply("Good, good film", &mut out);
    assert_eq!(out, KNOWN);
}

#[test]
fn what_cannot_be_is_refused() {
    let error = |spec| NgramMap::new(spec).err().unwrap().to_string();
    assert_eq!(error(NgramSpec { buckets: 1000, ..BOTH }), "buckets must be a power of two, got `1000`");
    assert_eq!(error(NgramSpec { buckets: 1, ..BOTH }), "buckets must be at least 2 and at most 16777216, got `1`");
    assert_eq!(
        error(NgramSpec { words: None, characters: None, ..BOTH }),
        "n-grams must be of words, of characters or of both"
    );
    assert_eq!(
        error(NgramSpec { words: Some(Grams { shortest: 3, longest: 2 }), ..BOTH }),
        "n-grams of words must go from at least 1 up to at most 8, got `3` to `2`"
    );
    let map = NgramMap::new(BOTH).unwrap();
    assert_eq!(
        map.apply_dense("x", &mut [0.0; 5]).unwrap_err().to_string(),
        "the output of 1 rows must have 4096 numbers, got 5"
    );
}

const ONCE: f32 = 0.196_116_09;
const TWICE: f32 = 2.0 * ONCE;
const KNOWN: [(u32, f32); 14] = [
    (267, TWICE),
    (323, TWICE),
    (972, -ONCE),
    (1585, -ONCE),
    (1705, -ONCE),
    (1773, TWICE),
    (2150, ONCE),
    (2499, ONCE),
    (2818, -ONCE),
    (3121, ONCE),
    (3127, -TWICE),
    (3271, -ONCE),
    (3593, -ONCE),
    (3868, -ONCE),
];
