//! Alterations of files, the same in every run: bits, lengths, cuts, repetitions, and pieces of other files.

/// Makes altered copies of some files.
pub(crate) struct Alteration<'a> {
    seeds: &'a [&'a [u8]],
    state: u64,
}

impl<'a> Alteration<'a> {
    pub(crate) fn new(seeds: &'a [&'a [u8]]) -> Self {
        Self { seeds, state: 0x9e37_79b9_7f4a_7c15 }
    }

    /// The next altered copy.
    pub(crate) fn next(&mut self) -> Vec<u8> {
        let mut bytes = self.seed().to_vec();
        for _ in 0..=self.below(4) {
            self.alter(&mut bytes);
        }
        bytes.truncate(MAX_BYTES);
        bytes
    }

    fn alter(&mut self, bytes: &mut Vec<u8>) {
        let at = self.below(bytes.len());
        let range = at..at + self.below((bytes.len() - at).min(64));
        match self.below(9) {
            _ if bytes.is_empty() => bytes.extend(self.random().to_le_bytes()),
            0 => bytes[at] ^= 1 << self.below(8),
            1 => bytes[at] = self.random() as u8,
            2 => bytes.truncate(at),
            3 => drop(bytes.drain(range)),
            4 => {
                let piece = bytes[range].repeat(1 + self.below(8));
                bytes.splice(at..at, piece);
            }
            5 => {
                let other = self.seed();
                let start = self.below(other.len());
                bytes.splice(range, other[start..].iter().copied());
            }
            6 => {
                let number = NUMBERS[self.below(NUMBERS.len())].to_string();
                bytes.splice(at..at, number.into_bytes());
            }
            // A length, in any of the ways that formats write one.
            _ => {
                let number = NUMBERS[self.below(NUMBERS.len())];
                let field = if self.below(2) == 0 { number.to_le_bytes() } else { number.to_be_bytes() };
                let width = [1, 2, 4, 8][self.below(4)];
                let field = if self.below(2) == 0 { &field[..width] } else { &field[8 - width..] };
                bytes.iter_mut().skip(at).zip(field).for_each(|(byte, new)| *byte = *new);
            }
        }
    }

    fn seed(&mut self) -> &'a [u8] {
        self.seeds[self.below(self.seeds.len())]
    }

    /// A number below `n`, or 0.
    fn below(&mut self, n: usize) -> usize {
        (self.random() >> 11) as usize % n.max(1)
    }

    /// xorshift64*.
    fn random(&mut self) -> u64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        self.state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

/// Numbers at which arithmetic goes wrong.
const NUMBERS: [u64; 14] =
    [0, 1, 2, 7, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fff_ffff, 0xffff_ffff, 1 << 20, 1 << 40, u64::MAX / 2, u64::MAX];

/// A longer file is cut: what grows with it is not what is looked for. A database has 72 KiB.
const MAX_BYTES: usize = 96 << 10;
