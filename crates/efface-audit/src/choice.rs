//! Choosing at random, from the noise that is handed in.

use efface_core::noise::NoiseSource;

/// A random word.
pub(crate) fn word(noise: &mut NoiseSource) -> u64 {
    let mut bytes = [0; 8];
    noise.fill(&mut bytes);
    u64::from_le_bytes(bytes)
}

/// A source of its own for one part of the work, so that parts can run side by side and still be the same every time.
/// What it draws is never published.
pub(crate) fn branch(noise: &mut NoiseSource) -> NoiseSource {
    NoiseSource::danger_fixed_seed(word(noise))
}

/// So many of them.
pub(crate) fn branches(n: usize, noise: &mut NoiseSource) -> Vec<NoiseSource> {
    (0..n).map(|_| branch(noise)).collect()
}

/// A whole number below n, each equally likely.
pub(crate) fn below(n: usize, noise: &mut NoiseSource) -> usize {
    let n = n.max(1) as u64;
    // The last, incomplete run of n words is drawn again.
    let limit = u64::MAX - u64::MAX % n;
    loop {
        let word = word(noise);
        if word < limit {
            return (word % n) as usize;
        }
    }
}

/// `m` of the numbers below n, in random order.
pub(crate) fn some(m: usize, n: usize, noise: &mut NoiseSource) -> Vec<usize> {
    let mut all: Vec<usize> = (0..n).collect();
    let m = m.min(n);
    for i in 0..m {
        let j = i + below(n - i, noise);
        all.swap(i, j);
    }
    all.truncate(m);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_distinct_and_even() {
        let mut noise = NoiseSource::danger_fixed_seed(1);
        let mut counts = [0; 10];
        for _ in 0..10_000 {
            let mut chosen = some(3, 10, &mut noise);
            for i in &chosen {
                counts[*i] += 1;
            }
            chosen.sort_unstable();
            chosen.dedup();
            assert_eq!(chosen.len(), 3);
        }
        // 3,000 expected of each, standard deviation 46.
        assert!(counts.iter().all(|count| (2_720..=3_280).contains(count)), "{counts:?}");
    }
}
