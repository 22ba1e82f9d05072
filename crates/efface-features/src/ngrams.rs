//! Hashed n-grams: texts as counts of words and of pieces of words, without a vocabulary.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::{ApplyError, BuildError, in_range};
use crate::norm::to_unit_norm;

/// Counts of n-grams, added up with random signs under their hashes, scaled to norm 1.
///
/// ```text
/// φ(t) = v / ‖v‖      v[h(g) >> (64 − log₂ buckets)] += (1 − 2·(h(g) & 1)) · count(g, t)      for every n-gram g of t
/// ```
///
/// The text is lower-cased. A word is a run of two or more letters, digits and underscores (Unicode's, as in
/// scikit-learn's `token_pattern`); an n-gram of words is n words in a row, joined by a blank. N-grams of characters are
/// those of scikit-learn's `char_wb`: of each piece between blanks with a blank on either side, which counts once as a
/// whole when it is shorter than the shortest n-gram. A text without n-grams has features of zero. Which characters are
/// letters, and what their lower case is, is what the standard library knows of Unicode.
///
/// h is 64-bit FNV-1a over the seed (little-endian), a `w` or a `c`, and the n-gram in UTF-8; then the finalizer of
/// MurmurHash3, so that all bits depend on all others. Two n-grams of one hash count as one. Weinberger et al. 2009.
pub struct NgramMap {
    spec: NgramSpec,
}

/// What is counted, and where it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NgramSpec {
    /// Number of features: a power of two.
    pub buckets: usize,
    /// N-grams of words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<Grams>,
    /// N-grams of characters within words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub characters: Option<Grams>,
    /// Whether an n-gram counts once per text, however often it is there.
    #[serde(default)]
    pub binary: bool,
    /// Public.
    #[serde(default)]
    pub seed: u64,
}

/// A range of n. Written `[1, 2]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "[usize; 2]", from = "[usize; 2]")]
pub struct Grams {
    /// The smallest n.
    pub shortest: usize,
    /// The largest n.
    pub longest: usize,
}

impl From<[usize; 2]> for Grams {
    fn from([shortest, longest]: [usize; 2]) -> Self {
        Self { shortest, longest }
    }
}

impl From<Grams> for [usize; 2] {
    fn from(Grams { shortest, longest }: Grams) -> Self {
        [shortest, longest]
    }
}

impl NgramSpec {
    /// Words and pairs of words.
    pub fn usual(buckets: usize) -> Self {
        let words = Some(Grams { shortest: 1, longest: 2 });
        Self { buckets, words, characters: None, binary: false, seed: 0 }
    }

    /// Whether there is such a map.
    pub(crate) fn check(&self) -> Result<(), BuildError> {
        in_range("buckets", self.buckets, 2, MOST_FEATURES)?;
        if !self.buckets.is_power_of_two() {
            return Err(BuildError::NotAPowerOfTwo { value: self.buckets });
        }
        if self.words.is_none() && self.characters.is_none() {
            return Err(BuildError::NoGrams);
        }
        for (of, range, most) in [("words", self.words, MOST_WORDS), ("characters", self.characters, MOST_CHARACTERS)] {
            if let Some(Grams { shortest, longest }) = range
                && (shortest < 1 || shortest > longest || longest > most)
            {
                return Err(BuildError::Range { of, shortest, longest, most });
            }
        }
        Ok(())
    }
}

impl NgramMap {
    /// Checks the parameters.
    pub fn new(spec: NgramSpec) -> Result<Self, BuildError> {
        spec.check()?;
        Ok(Self { spec })
    }

    /// The parameters.
    pub fn spec(&self) -> &NgramSpec {
        &self.spec
    }

    /// Number of features.
    pub fn n_features(&self) -> usize {
        self.spec.buckets
    }

    /// Replaces `out` by the features of a text that are not zero, by index.
    pub fn apply(&self, text: &str, out: &mut Vec<(u32, f32)>) {
        let mut hashes = self.hashes(text);
        hashes.sort_unstable();
        if self.spec.binary {
            hashes.dedup();
        }
        out.clear();
        let shift = u64::BITS - self.spec.buckets.ilog2();
        // The index is the front of the hash: equal indices are neighbours.
        for same in hashes.chunk_by(|a, b| a >> shift == b >> shift) {
            let sum: i64 = same.iter().map(|hash| 1 - 2 * (hash & 1).cast_signed()).sum();
            if sum != 0 {
                out.push(((same[0] >> shift) as u32, sum as f32));
            }
        }
        let mut values: Vec<f32> = out.iter().map(|(_, value)| *value).collect();
        to_unit_norm(&mut values);
        for ((_, place), value) in out.iter_mut().zip(values) {
            *place = value;
        }
    }

    /// Writes the features of texts, with both cores: a list of (index, value) for each.
    pub fn apply_block<T: AsRef<str> + Sync>(&self, texts: &[T], out: &mut Vec<Vec<(u32, f32)>>) {
        out.resize_with(texts.len(), Vec::new);
        let pairs = texts.par_iter().zip(out.par_iter_mut()).with_min_len(64);
        pairs.for_each(|(text, out)| self.apply(text.as_ref(), out));
    }

    /// Writes all features of a text, zeros too.
    pub fn apply_dense(&self, text: &str, out: &mut [f32]) -> Result<(), ApplyError> {
        ApplyError::check(1, 1, out.len(), self.spec.buckets)?;
        let mut sparse = Vec::new();
        self.apply(text, &mut sparse);
        out.fill(0.0);
        for (index, value) in sparse {
            out[index as usize] = value;
        }
        Ok(())
    }

    /// One hash for every occurrence of every n-gram.
    fn hashes(&self, text: &str) -> Vec<u64> {
        let text = text.to_lowercase();
        let mut hashes = Vec::with_capacity(text.len());
        let seeded = Fnv::START.add(&self.spec.seed.to_le_bytes());
        if let Some(range) = self.spec.words {
            of_words(&text, range, seeded.add(b"w"), &mut hashes);
        }
        if let Some(range) = self.spec.characters {
            of_characters(&text, range, seeded.add(b"c"), &mut hashes);
        }
        hashes
    }
}

fn of_words(text: &str, range: Grams, start: Fnv, hashes: &mut Vec<u64>) {
    let in_word = |c: char| c.is_alphanumeric() || c == '_';
    let words = text.split(|c| !in_word(c)).filter(|word| word.chars().nth(1).is_some());
    let words: Vec<&[u8]> = words.map(str::as_bytes).collect();
    for first in 0..words.len() {
        let mut hash = start;
        for (n, word) in (1..=range.longest).zip(&words[first..]) {
            hash = if n > 1 { hash.add(b" ").add(word) } else { hash.add(word) };
            if n >= range.shortest {
                hashes.push(hash.finish());
            }
        }
    }
}

fn of_characters(text: &str, range: Grams, start: Fnv, hashes: &mut Vec<u64>) {
    let mut padded = String::new();
    for piece in text.split_whitespace() {
        padded.clear();
        padded.extend([" ", piece, " "]);
        for (first, _) in padded.char_indices() {
            let mut hash = start;
            let mut length = 0;
            for c in padded[first..].chars().take(range.longest) {
                hash = hash.add(c.encode_utf8(&mut [0; 4]).as_bytes());
                length += 1;
                if length >= range.shortest {
                    hashes.push(hash.finish());
                }
            }
            // Shorter than the shortest: once, as a whole.
            if first == 0 && length < range.shortest {
                hashes.push(hash.finish());
                break;
            }
        }
    }
}

/// FNV-1a, 64 bits. Not against an adversary: whoever chooses texts can make n-grams collide.
#[derive(Clone, Copy)]
struct Fnv(u64);

impl Fnv {
    const START: Self = Self(0xcbf2_9ce4_8422_2325);

    #[inline]
    fn add(self, bytes: &[u8]) -> Self {
        Self(bytes.iter().fold(self.0, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)))
    }

    #[inline]
    fn finish(self) -> u64 {
        let hash = (self.0 ^ (self.0 >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        let hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        hash ^ (hash >> 33)
    }
}

const MOST_FEATURES: usize = 1 << 24;
const MOST_WORDS: usize = 8;
const MOST_CHARACTERS: usize = 16;

#[cfg(test)]
mod tests;
