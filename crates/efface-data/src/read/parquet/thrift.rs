//! Just enough of Thrift's compact protocol, in which Parquet writes its footer and the heads of its pages, to look at a
//! number before the decoder believes it.
//!
//! Nothing is allocated, nesting is bounded, and a collection that announces more elements than there are bytes is not
//! one. `None` stands for bytes that are not of the protocol.

#[derive(Clone, Copy)]
pub(super) struct Compact<'a> {
    rest: &'a [u8],
}

pub(super) type Kind = u8;

pub(super) const I32: Kind = 5;
pub(super) const LIST: Kind = 9;
pub(super) const STRUCT: Kind = 12;

impl<'a> Compact<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Calls `visit` for each field of a struct, with its number and type; it must parse or skip the value. Ends with
    /// the struct, or when `visit` says so by `Some(false)`.
    pub(super) fn fields(&mut self, mut visit: impl FnMut(&mut Self, i64, Kind) -> Option<bool>) -> Option<()> {
        let mut id = 0_i64;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Some(());
            }
            id = match head >> 4 {
                0 => self.integer()?,
                step => id.checked_add(i64::from(step))?,
            };
            if !visit(self, id, head & 0x0f)? {
                return Some(());
            }
        }
    }

    /// The head of a list: number and type of its elements.
    pub(super) fn list(&mut self) -> Option<(usize, Kind)> {
        let head = self.byte()?;
        let size = match head >> 4 {
            15 => usize::try_from(self.varint()?).ok()?,
            size => usize::from(size),
        };
        // Every element takes a byte at least.
        (size <= self.rest.len()).then_some((size, head & 0x0f))
    }

    /// An integer of any width.
    pub(super) fn integer(&mut self) -> Option<i64> {
        let zigzag = self.varint()?;
        Some((zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed())
    }

    pub(super) fn skip(&mut self, kind: Kind) -> Option<()> {
        self.skip_nested(kind, MAX_DEPTH)
    }

    fn skip_nested(&mut self, kind: Kind, depth: u32) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match kind {
            // As the value of a field, a boolean is its type.
            1 | 2 => Some(()),
            3 => self.advance(1),
            4..=6 => self.varint().map(drop),
            7 => self.advance(8),
            8 => {
                let len = usize::try_from(self.varint()?).ok()?;
                self.advance(len)
            }
            LIST | 10 => {
                let (size, kind) = self.list()?;
                (0..size).try_for_each(|_| self.skip_element(kind, depth))
            }
            11 => {
                let size = usize::try_from(self.varint()?).ok()?;
                if size == 0 {
                    return Some(());
                }
                let kinds = self.byte()?;
                (0..size).try_for_each(|_| {
                    self.skip_element(kinds >> 4, depth)?;
                    self.skip_element(kinds & 0x0f, depth)
                })
            }
            STRUCT => self.fields(|this, _, kind| this.skip_nested(kind, depth).map(|()| true)),
            _ => None,
        }
    }

    /// In a collection, a boolean is a byte.
    fn skip_element(&mut self, kind: Kind, depth: u32) -> Option<()> {
        if matches!(kind, 1 | 2) { self.advance(1) } else { self.skip_nested(kind, depth) }
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn advance(&mut self, n_bytes: usize) -> Option<()> {
        self.rest = self.rest.get(n_bytes..)?;
        Some(())
    }
}

/// Structs and collections within each other.
const MAX_DEPTH: u32 = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_value_is_passed_over() {
        let fields = [
            &[0x11][..],                     // 1: true
            &[0x13, 0xff],                   // 2: a byte
            &[0x15, 0x80, 0x01],             // 3: an integer of two bytes
            &[0x17, 1, 2, 3, 4, 5, 6, 7, 8], // 4: a double
            &[0x18, 2, b'a', b'b'],          // 5: a text
            &[0x19, 0x31, 1, 0, 1],          // 6: three booleans
            &[0x1b, 1, 0x85, 1, b'k', 4],    // 7: a map from a text to an integer
            &[0x1c, 0x15, 3, 0],             // 8: a struct of one integer
            &[0x05, 0x20, 9],                // 16: a number that does not follow
            &[0],
        ];
        let bytes = fields.concat();
        let mut seen = Vec::new();
        let mut compact = Compact::new(&bytes);
        let parsed = compact.fields(|this, id, kind| {
            seen.push(id);
            this.skip(kind).map(|()| true)
        });
        assert_eq!((parsed, seen, compact.rest.len()), (Some(()), vec![1, 2, 3, 4, 5, 6, 7, 8, 16], 0));
        for length in 0..bytes.len() {
            assert!(Compact::new(&bytes[..length]).skip(STRUCT).is_none(), "cut to {length}");
        }
    }

    #[test]
    fn what_cannot_be_there_is_refused() {
        let skip = |bytes: &[u8]| Compact::new(bytes).skip(STRUCT);
        assert_eq!(skip(&[0x19, 0xf5, 0xff, 0xff, 0xff, 0x7f, 0]), None, "a list longer than its bytes");
        assert_eq!(skip(&[0x18, 0xff, 0xff, 0xff, 0xff, 0x0f, 0]), None, "a text longer than its bytes");
        assert_eq!(skip(&[0x1c; 1000]), None, "structs within structs");
        assert_eq!(skip(&[0x15, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0]), None);
    }
}
