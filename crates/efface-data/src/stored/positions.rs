//! A set of positions, one bit each: as large for a million rows that left as for one, and copied by whole words.

use std::ops::Range;

/// Positions of rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PositionSet {
    words: Vec<u64>,
    n_positions: usize,
}

impl PositionSet {
    /// Positions of one [chunk](Self::chunk).
    pub const CHUNK_POSITIONS: usize = 8 * Self::CHUNK_BYTES;

    /// Bytes of one [chunk](Self::chunk).
    pub const CHUNK_BYTES: usize = 1024;

    /// Number of positions in the set.
    pub fn len(&self) -> usize {
        self.n_positions
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.n_positions == 0
    }

    /// Whether a position is in the set.
    pub fn contains(&self, position: usize) -> bool {
        self.words.get(position / BITS).is_some_and(|word| word >> (position % BITS) & 1 == 1)
    }

    /// Adds a position; says whether it is new.
    pub fn insert(&mut self, position: usize) -> bool {
        if position / BITS >= self.words.len() {
            self.words.resize(position / BITS + 1, 0);
        }
        let is_new = !self.contains(position);
        self.words[position / BITS] |= 1 << (position % BITS);
        self.n_positions += usize::from(is_new);
        is_new
    }

    /// Takes a position out; says whether it was there.
    pub fn remove(&mut self, position: usize) -> bool {
        let was_there = self.contains(position);
        if was_there {
            self.words[position / BITS] &= !(1 << (position % BITS));
            self.n_positions -= 1;
        }
        was_there
    }

    /// The positions within a range, ascending.
    pub fn range(&self, range: Range<usize>) -> impl Iterator<Item = usize> + '_ {
        let words = range.start / BITS..range.end.div_ceil(BITS).min(self.words.len());
        let ones = words.flat_map(|index| {
            let word = self.words[index];
            (0..if word == 0 { 0 } else { BITS })
                .filter(move |bit| word >> bit & 1 == 1)
                .map(move |bit| index * BITS + bit)
        });
        ones.filter(move |position| range.contains(position))
    }

    /// All positions, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.range(0..self.words.len() * BITS)
    }

    /// Takes out all positions from `end` on.
    pub fn truncate(&mut self, end: usize) {
        let beyond: Vec<usize> = self.range(end..self.words.len() * BITS).collect();
        for position in beyond {
            self.remove(position);
        }
    }

    /// Numbers of the chunks that have positions, ascending: chunk i is about `CHUNK_POSITIONS` positions from
    /// i · `CHUNK_POSITIONS` on.
    pub fn chunks(&self) -> impl Iterator<Item = usize> + '_ {
        let has_positions = |words: &[u64]| words.iter().any(|word| *word != 0);
        self.words
            .chunks(CHUNK_WORDS)
            .enumerate()
            .filter(move |(_, words)| has_positions(words))
            .map(|(chunk, _)| chunk)
    }

    /// The bits of a chunk, least significant first.
    pub fn chunk(&self, chunk: usize) -> [u8; Self::CHUNK_BYTES] {
        let mut bits = [0; Self::CHUNK_BYTES];
        let words = self.words.iter().skip(chunk * CHUNK_WORDS);
        bits.as_chunks_mut().0.iter_mut().zip(words).for_each(|(bytes, word)| *bytes = word.to_le_bytes());
        bits
    }

    /// Adds the positions of a chunk. Memory is taken for all positions up to its last one.
    pub fn insert_chunk(&mut self, chunk: usize, bits: &[u8; Self::CHUNK_BYTES]) {
        let (first, end) = (chunk * CHUNK_WORDS, (chunk + 1) * CHUNK_WORDS);
        if self.words.len() < end {
            self.words.resize(end, 0);
        }
        for (word, bytes) in self.words[first..end].iter_mut().zip(bits.as_chunks().0) {
            let new = u64::from_le_bytes(*bytes) & !*word;
            *word |= new;
            self.n_positions += new.count_ones() as usize;
        }
    }
}

impl Extend<usize> for PositionSet {
    fn extend<T: IntoIterator<Item = usize>>(&mut self, positions: T) {
        for position in positions {
            self.insert(position);
        }
    }
}

impl FromIterator<usize> for PositionSet {
    fn from_iter<T: IntoIterator<Item = usize>>(positions: T) -> Self {
        let mut set = Self::default();
        set.extend(positions);
        set
    }
}

const BITS: usize = u64::BITS as usize;

const CHUNK_WORDS: usize = PositionSet::CHUNK_BYTES / size_of::<u64>();

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn it_is_the_set_of_what_was_put_into_it() {
        let (mut set, mut truth) = (PositionSet::default(), BTreeSet::new());
        let mut state = 7_u64;
        for step in 0..20_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let position = (state >> 33) as usize % 40_000;
            match step % 7 {
                0 => assert_eq!(set.remove(position), truth.remove(&position)),
                _ => assert_eq!(set.insert(position), truth.insert(position)),
            }
        }
        let check = |set: &PositionSet, truth: &BTreeSet<usize>| {
            assert_eq!(set.len(), truth.len());
            assert!(set.iter().eq(truth.iter().copied()));
            assert!((0..40_100).all(|position| set.contains(position) == truth.contains(&position)));
            for range in [0..0, 5..5, 63..65, 100..20_000, 39_000..90_000, 50_000..60_000] {
                assert!(set.range(range.clone()).eq(truth.range(range).copied()));
            }
        };
        check(&set, &truth);
        let mut again = PositionSet::default();
        for chunk in set.chunks() {
            // The second time adds nothing.
            (0..2).for_each(|_| again.insert_chunk(chunk, &set.chunk(chunk)));
        }
        check(&again, &truth);
        set.truncate(12_345);
        truth.split_off(&12_345);
        check(&set, &truth);
    }
}
