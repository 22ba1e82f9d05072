//! Words whose meaning never changes: an enum, its tags, the list of them and their reading, all from one list.

/// Declares an enum whose variants have stable tags, as on the command line, in files and in certificates.
///
/// ```
/// efface_core::tagged! {
///     /// A fruit.
///     pub enum Fruit {
///         /// Green or red.
///         Apple = "apple",
///         /// Yellow.
///         Lemon = "lemon",
///     }
/// }
/// assert_eq!(Fruit::by_tag("lemon"), Some(Fruit::Lemon));
/// assert_eq!(Fruit::ALL.map(Fruit::tag), ["apple", "lemon"]);
/// ```
///
/// With `Apple = "apple" => "green or red",` the words are the variant's documentation, and `in_words` says them.
#[macro_export]
macro_rules! tagged {
    (
        $(#[$about:meta])*
        $visibility:vis enum $name:ident { $($variant:ident = $tag:literal => $words:literal,)+ }
    ) => {
        $crate::tagged! {
            $(#[$about])*
            $visibility enum $name { $(#[doc = $words] $variant = $tag,)+ }
        }

        impl $name {
            /// In plain words.
            pub const fn in_words(self) -> &'static str {
                match self {
                    $(Self::$variant => $words,)+
                }
            }
        }
    };
    (
        $(#[$about:meta])*
        $visibility:vis enum $name:ident { $($(#[$variant_about:meta])* $variant:ident = $tag:literal,)+ }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, $crate::tags::Serialize, $crate::tags::Deserialize)]
        #[serde(crate = "efface_core::tags::serde")]
        $visibility enum $name {
            $($(#[$variant_about])* #[serde(rename = $tag)] $variant,)+
        }

        impl $name {
            /// All of them, in order.
            pub const ALL: [Self; [$($tag),+].len()] = [$(Self::$variant),+];

            /// Stable name: its meaning never changes.
            pub const fn tag(self) -> &'static str {
                match self {
                    $(Self::$variant => $tag,)+
                }
            }

            /// The one of this tag; `None` for a tag that this version does not know.
            pub fn by_tag(tag: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|one| one.tag() == tag)
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.tag())
            }
        }
    };
}

#[doc(hidden)]
pub use serde::{self, Deserialize, Serialize};
