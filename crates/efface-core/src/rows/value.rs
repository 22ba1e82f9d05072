//! The precisions that feature values are kept in.

#![expect(clippy::inline_always, reason = "within loops that are compiled for several instruction sets")]

use bytemuck::Pod;

/// A feature value in the precision it is kept in: `f32` or `f64`.
pub trait RowValue: Pod + Default + Send + Sync + private::Sealed {
    /// As a double, exactly.
    fn wide(self) -> f64;

    /// The nearest value of this precision.
    fn nearest(value: f64) -> Self;

    /// Values as the bytes they have in memory.
    fn bytes(values: &[Self]) -> &[u8] {
        bytemuck::cast_slice(values)
    }
}

impl RowValue for f32 {
    #[inline(always)]
    fn wide(self) -> f64 {
        f64::from(self)
    }

    #[inline]
    fn nearest(value: f64) -> Self {
        value as Self
    }
}

impl RowValue for f64 {
    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }

    #[inline]
    fn nearest(value: f64) -> Self {
        value
    }
}

mod private {
    pub trait Sealed {}

    impl Sealed for f32 {}
    impl Sealed for f64 {}
}
