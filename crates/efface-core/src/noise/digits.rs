//! Uniform numbers whose binary digits are drawn when a comparison asks for them, and not before.
//!
//! A number that is never asked for its last digit is a real number: comparisons of two of them are exact, and no draw
//! is ever rounded. Digits come in words of 64 bits. One word decides all but one comparison in 2⁶⁴.

use zeroize::Zeroize;

use super::NoiseSource;

/// Independent uniform words.
pub(super) trait RandomBits {
    /// The next 64 bits.
    fn word(&mut self) -> u64;

    /// A uniform integer below `n`, exactly: multiples of `n` are spread over the words, and the words left over are
    /// drawn again (Lemire 2019).
    fn below(&mut self, n: u64) -> u64 {
        loop {
            let product = u128::from(self.word()) * u128::from(n);
            // Of 2⁶⁴ words 2⁶⁴ mod n are left over: those whose low half is below that, and so below n.
            if (product as u64) >= n || (product as u64) >= n.wrapping_neg() % n {
                return (product >> 64) as u64;
            }
        }
    }
}

impl RandomBits for NoiseSource {
    #[inline]
    fn word(&mut self) -> u64 {
        self.next_word()
    }
}

/// A uniform number in (0, 1), known to as many words as were asked for. Words beyond the first are wiped
/// when dropped.
pub(super) struct Uniform {
    first: u64,
    /// Empty, and not allocated, unless the first word left a question open.
    rest: Vec<u64>,
}

impl Uniform {
    /// A fresh number, known to one word.
    #[inline]
    pub(super) fn draw(bits: &mut impl RandomBits) -> Self {
        Self { first: bits.word(), rest: Vec::new() }
    }

    /// The leading 64 binary digits.
    #[inline]
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// Whether it is below ½.
    #[inline]
    pub(super) fn is_below_half(&self) -> bool {
        self.first >> 63 == 0
    }

    /// Whether it is below `other`. Both are drawn further until they differ.
    #[inline]
    pub(super) fn is_below(&mut self, other: &mut Self, bits: &mut impl RandomBits) -> bool {
        if self.first == other.first { self.is_below_further_on(other, bits) } else { self.first < other.first }
    }

    #[cold]
    fn is_below_further_on(&mut self, other: &mut Self, bits: &mut impl RandomBits) -> bool {
        let mut n = 2;
        loop {
            let (mine, others) = (self.digits(n, bits)[n - 2], other.digits(n, bits)[n - 2]);
            if mine != others {
                return mine < others;
            }
            n += 1;
        }
    }

    /// The words after the first, drawn until there are `n` with it.
    pub(super) fn digits(&mut self, n: usize, bits: &mut impl RandomBits) -> &[u64] {
        while self.rest.len() + 1 < n {
            if self.rest.len() == self.rest.capacity() {
                // A vector that grows by itself leaves a copy behind.
                let mut longer = Vec::with_capacity(2 * self.rest.len() + 4);
                longer.extend_from_slice(&self.rest);
                self.rest.zeroize();
                self.rest = longer;
            }
            self.rest.push(bits.word());
        }
        &self.rest
    }
}

impl Drop for Uniform {
    #[inline]
    fn drop(&mut self) {
        if !self.rest.is_empty() {
            self.rest.zeroize();
        }
    }
}

#[cfg(test)]
pub(super) mod crafted {
    use super::RandomBits;
    use crate::noise::NoiseSource;

    /// Words that a test wrote down, and random ones after them; counts what was taken.
    pub(in crate::noise) struct Crafted {
        words: Vec<u64>,
        after: NoiseSource,
        pub(in crate::noise) n_taken: usize,
    }

    impl Crafted {
        pub(in crate::noise) fn new(words: &[u64], seed: u64) -> Self {
            Self { words: words.to_vec(), after: NoiseSource::danger_fixed_seed(seed), n_taken: 0 }
        }
    }

    impl RandomBits for Crafted {
        fn word(&mut self) -> u64 {
            self.n_taken += 1;
            self.words.get(self.n_taken - 1).copied().unwrap_or_else(|| self.after.word())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::crafted::Crafted;
    use super::*;

    #[test]
    fn one_word_decides_where_it_differs() {
        let mut bits = Crafted::new(&[5, 6], 0);
        let (mut a, mut b) = (Uniform::draw(&mut bits), Uniform::draw(&mut bits));
        assert!(a.is_below(&mut b, &mut bits) && !b.is_below(&mut a, &mut bits));
        assert_eq!((bits.n_taken, a.rest.capacity()), (2, 0), "nothing more is drawn, and nothing allocated");
    }

    #[test]
    fn equal_words_are_drawn_further_until_they_differ() {
        // First, second and third words agree; the fourth decides.
        let mut bits = Crafted::new(&[7, 7, 1, 1, 2, 2, 9, 8], 0);
        let (mut a, mut b) = (Uniform::draw(&mut bits), Uniform::draw(&mut bits));
        assert!(!a.is_below(&mut b, &mut bits) && b.is_below(&mut a, &mut bits));
        assert_eq!((a.digits(4, &mut bits).to_vec(), b.digits(4, &mut bits).to_vec()), (vec![1, 2, 9], vec![1, 2, 8]));
        assert_eq!(bits.n_taken, 8, "digits that are known are not drawn again");
        assert_eq!(a.digits(11, &mut bits).len(), 10);
        assert_eq!(a.digits(4, &mut bits)[..3], [1, 2, 9], "nor do they change when more are drawn");
    }

    #[test]
    fn integers_below_n_leave_out_the_words_that_do_not_divide_evenly() {
        // 2⁶⁴ = 3·k + 1: of the words for each value one is too many, and that is word 0.
        let mut bits = Crafted::new(&[0, 1, u64::MAX / 3 + 1, u64::MAX], 0);
        assert_eq!([(); 3].map(|()| bits.below(3)), [0, 1, 2]);
        assert_eq!(bits.n_taken, 4);
        // A power of two divides: every word counts.
        let mut bits = Crafted::new(&[0, u64::MAX], 0);
        assert_eq!([bits.below(4), bits.below(4)], [0, 3]);
    }
}
