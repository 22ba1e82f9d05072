//! What each column of a table goes into a file as, and which features the file makes of it.

use efface_features::{ImageShape, NetworkInput, NetworkSpec, NgramSpec};
use efface_onnx::NumberColumn;
use serde::Serialize;

use super::ReleasedModel;
use crate::derived::{ColumnConstants, Constants, MOST_SCALES};
use crate::schema::{ColumnKind, ColumnSchema, Missing, USUAL_MISSING_MARKERS, Unknown, ValueRange};

/// What is given of a cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "holds", rename_all = "lowercase")]
pub enum Holds {
    /// Numbers; a gap is a NaN.
    Numbers,
    /// Texts without blanks around them; a gap is an empty one.
    Texts,
    /// Pixels from 0 to 255, row by row, channels together.
    Pixels,
    /// Numbers of tokens, and which of them are no padding.
    Tokens {
        /// SHA-256 of the file that says how texts become tokens.
        tokenizer: String,
        /// Longer texts are cut off.
        max_tokens: usize,
    },
    /// The number of the bucket of a value; a gap has the number `gap`.
    Bucket {
        /// Number of buckets.
        buckets: usize,
        /// What stands for a gap.
        gap: usize,
    },
    /// Hashed n-grams, zeros included, and behind them whether the text is missing, where that is a feature.
    Ngrams(NgramSpec),
}

/// What becomes of a column.
pub(super) enum Becomes<'a> {
    Nothing,
    Number(NumberColumn),
    Texts(Choices),
    Truth {
        yes: Vec<String>,
        no: Vec<String>,
        missing: &'a Missing,
        gaps: Vec<String>,
    },
    Bucket {
        buckets: usize,
        has_slot: bool,
    },
    /// Elements; the last one brings the slot.
    Vector(Vec<NumberColumn>),
    Ngrams {
        spec: NgramSpec,
        width: usize,
    },
    Image(ImageShape),
    Network(&'a NetworkSpec),
    /// What another program makes of it.
    Made {
        n_features: usize,
    },
}

/// Texts that have a feature each.
pub(super) struct Choices {
    pub(super) values: Vec<String>,
    /// Texts that mean that nothing is there.
    pub(super) gaps: Vec<String>,
    /// Whether all other texts have a feature together.
    pub(super) has_others: bool,
    /// Whether gaps have one.
    pub(super) has_slot: bool,
    /// The value that a gap stands for.
    pub(super) filling: Option<usize>,
}

/// A column: its name, what becomes of it, and whether a gap has a feature that the file cannot know of.
pub(super) struct Column<'a> {
    pub(super) name: &'a str,
    pub(super) becomes: Becomes<'a>,
    pub(super) has_idle_slot: bool,
}

impl ReleasedModel<'_> {
    /// All columns, in the order of their features.
    pub(super) fn all_columns(&self) -> Vec<Column<'_>> {
        let usual = || USUAL_MISSING_MARKERS.map(String::from).to_vec();
        let markers = self.schema.map_or_else(usual, |schema| schema.missing_markers().to_vec());
        let gaps: Vec<String> = std::iter::once(String::new()).chain(markers).collect();
        let Some(schema) = self.schema else {
            return self.columns.iter().enumerate().map(|(at, name)| self.plain(name, at, &gaps)).collect();
        };
        // Constants are told by feature.
        let starts = schema.columns().iter().scan(0, |next, column| {
            let at = *next;
            *next += column.width();
            Some(at)
        });
        schema.columns().iter().zip(starts).map(|(column, at)| self.declared(column, at, &gaps)).collect()
    }

    /// A column that no schema speaks of.
    fn plain<'a>(&self, name: &'a str, at: usize, gaps: &[String]) -> Column<'a> {
        let becomes = self.constants.map_or(Becomes::Number(NumberColumn::PLAIN), |c| derived(c, at, gaps));
        Column { name, becomes, has_idle_slot: false }
    }

    fn declared<'a>(&self, column: &'a ColumnSchema, at: usize, gaps: &[String]) -> Column<'a> {
        let missing = &column.missing;
        let has_slot = *missing == Missing::Slot;
        let gaps = gaps.to_vec();
        let becomes = match &column.kind {
            ColumnKind::Derived => self.constants.map_or(Becomes::Nothing, |c| derived(c, at, &gaps)),
            ColumnKind::Numeric { range } => Becomes::Number(in_range(*range, missing)),
            ColumnKind::Categorical { values, unknown } => {
                let filling = if let Missing::Value(value) = missing { Some(value.spelling()) } else { None };
                Becomes::Texts(Choices {
                    gaps,
                    has_others: *unknown == Unknown::Slot,
                    has_slot,
                    filling: filling.and_then(|filling| values.iter().position(|value| *value == filling)),
                    values: values.clone(),
                })
            }
            ColumnKind::Boolean { true_values, false_values } => {
                Becomes::Truth { yes: true_values.clone(), no: false_values.clone(), missing, gaps }
            }
            ColumnKind::Hashed { buckets } => Becomes::Bucket { buckets: *buckets, has_slot },
            ColumnKind::Vector { dim, range } => {
                let last = in_range(*range, missing);
                let mut elements = vec![NumberColumn { has_slot: false, ..last }; dim - 1];
                elements.push(last);
                Becomes::Vector(elements)
            }
            ColumnKind::Text(spec) => Becomes::Ngrams { spec: *spec, width: column.width() },
            ColumnKind::Image(shape) => Becomes::Image(*shape),
            // No model is trained on them: they are read to train a network.
            ColumnKind::Pixels(_) => Becomes::Nothing,
            ColumnKind::Network { spec, .. } => Becomes::Network(spec),
            ColumnKind::Transformer(spec) => Becomes::Made { n_features: spec.features },
        };
        let knows_no_gaps = matches!(becomes, Becomes::Image(_) | Becomes::Network(_) | Becomes::Made { .. });
        Column { name: &column.name, becomes, has_idle_slot: has_slot && knows_no_gaps }
    }
}

/// What derived constants make of column `at`.
fn derived<'a>(constants: &Constants, at: usize, gaps: &[String]) -> Becomes<'a> {
    let number = |column: NumberColumn| Becomes::Number(NumberColumn { gap: 0.0, ..column });
    match &constants.columns[at] {
        ColumnConstants::Number { scale, has_missing } => number(NumberColumn {
            location: scale.location,
            scale: scale.scale,
            most: MOST_SCALES,
            has_slot: *has_missing,
            ..NumberColumn::PLAIN
        }),
        ColumnConstants::Gaps => number(NumberColumn { has_value: false, has_slot: true, ..NumberColumn::PLAIN }),
        ColumnConstants::Given => number(NumberColumn::PLAIN),
        ColumnConstants::Categories { categories, has_others, has_missing } => Becomes::Texts(Choices {
            values: categories.iter().map(|category| category.name.clone()).collect(),
            gaps: gaps.to_vec(),
            has_others: *has_others,
            has_slot: *has_missing,
            filling: None,
        }),
        ColumnConstants::Nothing | ColumnConstants::Empty => Becomes::Nothing,
    }
}

/// A number of a declared range, or as it is.
fn in_range(range: Option<ValueRange>, missing: &Missing) -> NumberColumn {
    let scaled = |x| range.map_or(x, |range| range.scale(x));
    let gap = match missing {
        Missing::Error => f64::NAN,
        Missing::Zero | Missing::Slot => 0.0,
        Missing::Value(value) => value.number().map_or(f64::NAN, scaled),
    };
    let as_it_is = NumberColumn { gap, has_slot: *missing == Missing::Slot, ..NumberColumn::PLAIN };
    range.map_or(as_it_is, |range| NumberColumn {
        location: 0.5 * range.low() + 0.5 * range.high(),
        scale: 0.5 * (range.high() - range.low()),
        most: 1.0,
        ..as_it_is
    })
}

impl Holds {
    pub(super) fn of_network(input: &NetworkInput) -> Self {
        match input {
            NetworkInput::Image { .. } => Self::Pixels,
            NetworkInput::Text { tokenizer, max_tokens } => {
                Self::Tokens { tokenizer: tokenizer.clone(), max_tokens: *max_tokens }
            }
        }
    }
}
