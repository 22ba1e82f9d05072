//! Chance that is the same in every run.

/// How much of what is not certain survives.
#[derive(Clone, Copy)]
pub(crate) enum Odds {
    Never,
    Even,
    Always,
}

/// A generator of numbers that look random.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    /// A number from 0 to n − 1.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n.max(1)
    }
}
