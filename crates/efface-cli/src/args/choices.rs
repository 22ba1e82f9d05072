//! Values that are picked from a list, by their tags.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use efface_core::loss::{self, Loss};

/// A parser of the tags of a list.
pub(super) fn one_of<T: Copy + Send + Sync + 'static, const N: usize>(
    all: [T; N],
    tag: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(all.map(tag))
        .map(move |text| all.into_iter().find(|one| tag(*one) == text).expect("the parser lets no other through"))
}

/// A parser of losses.
pub(super) fn losses() -> impl TypedValueParser<Value = &'static dyn Loss> {
    one_of(loss::SCALAR, Loss::tag)
}
