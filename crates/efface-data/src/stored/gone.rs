//! Which positions hold no row any more: one bit each.

/// A set of positions.
#[derive(Clone, Debug, Default)]
pub(super) struct Gone {
    words: Vec<u64>,
    n_gone: usize,
}

impl Gone {
    pub(super) fn contains(&self, position: usize) -> bool {
        self.words.get(position / 64).is_some_and(|word| word >> (position % 64) & 1 == 1)
    }

    /// Adds a position; one that is in the set already changes nothing.
    pub(super) fn insert(&mut self, position: usize) {
        let word = position / 64;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.n_gone += usize::from(!self.contains(position));
        self.words[word] |= 1 << (position % 64);
    }

    /// Takes a position out of the set.
    pub(super) fn remove(&mut self, position: usize) {
        if self.contains(position) {
            self.words[position / 64] &= !(1 << (position % 64));
            self.n_gone -= 1;
        }
    }

    /// Number of positions in the set.
    pub(super) fn len(&self) -> usize {
        self.n_gone
    }

    /// All positions, ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        let bits = |word: u64| (0..64).filter(move |bit| word >> bit & 1 == 1);
        self.words.iter().enumerate().flat_map(move |(i, word)| bits(*word).map(move |bit| 64 * i + bit))
    }

    /// Forgets all positions from `len` on.
    pub(super) fn truncate(&mut self, len: usize) {
        self.words.truncate(len.div_ceil(64));
        if let Some(last) = self.words.get_mut(len / 64) {
            *last &= (1 << (len % 64)) - 1;
        }
        self.n_gone = self.words.iter().map(|word| word.count_ones() as usize).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_kept_once_and_in_order_until_they_are_cut_off() {
        let mut gone = Gone::default();
        for position in [200, 0, 63, 64, 200, 128] {
            gone.insert(position);
        }
        assert_eq!((gone.len(), gone.iter().collect::<Vec<_>>()), (5, vec![0, 63, 64, 128, 200]));
        assert!(gone.contains(63) && !gone.contains(62) && !gone.contains(100_000));
        gone.truncate(128);
        assert_eq!((gone.len(), gone.iter().collect::<Vec<_>>()), (3, vec![0, 63, 64]));
        gone.truncate(1);
        assert_eq!((gone.len(), gone.contains(0), gone.contains(63)), (1, true, false));
    }
}
