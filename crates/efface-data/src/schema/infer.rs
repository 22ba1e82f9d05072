//! A schema proposed from the rows, to be reviewed by a person. The file is read once, in a stream.

use std::collections::BTreeMap;
use std::path::Path;

use efface_features::NgramSpec;

use super::cell::Cell;
use super::column::{ColumnKind, ColumnSchema, EntryOrigin, Missing, Unknown};
use super::encode::is_missing;
use super::nice::nice_range;
use super::proposal::{LeftOut, ProposedColumn, SchemaProposal};
use super::written::Numbers;
use super::{MAX_FEATURES, Schema, USUAL_MISSING_MARKERS};
use crate::error::{CellError, ReadError};
use crate::read::{Source, open_cells};
use crate::table::Columns;

/// Proposes a schema for the columns of a file that have no other role, from its first `max_rows` rows or from all.
///
/// Every entry is marked `inferred`: it was chosen by a look at the rows, which nobody has reviewed yet.
pub fn propose(
    source: impl Into<Source>,
    columns: &Columns,
    max_rows: Option<u64>,
) -> Result<SchemaProposal, ReadError> {
    let source = source.into();
    let path = source.first();
    let mut reader = open_cells(&source, columns)?;
    let names = reader.feature_names().to_vec();
    let mut seen: Vec<Seen> = names.iter().map(|_| Seen::default()).collect();
    let (numbers, mut refused) = (Numbers::new(columns.notation), None);
    let mut n_rows = 0;
    loop {
        let wanted = max_rows.map_or(ROWS_AT_ONCE, |max| max.saturating_sub(n_rows).min(ROWS_AT_ONCE));
        let mut look_at = |i: usize, cell: Cell<'_>| {
            if let Err(error) = seen[i].add(&cell, &numbers) {
                refused.get_or_insert((i, error));
            }
        };
        let n_read = if wanted == 0 { 0 } else { reader.visit_rows(wanted, &mut look_at)? };
        if let Some((column, source)) = refused {
            let (file, column) = (path.into(), names[column].clone());
            return Err(ReadError::CellOf { file, column, source: Box::new(source) });
        }
        if n_read == 0 {
            break;
        }
        n_rows += n_read;
    }
    if n_rows == 0 {
        return Err(ReadError::Empty { file: path.into() });
    }
    let mut left_out: Vec<LeftOut> =
        reader.left_out().iter().map(|column| LeftOut::unreadable(&column.name, &column.what)).collect();
    let (mut entries, mut proposed) = (Vec::new(), Vec::new());
    for (name, seen) in names.into_iter().zip(&seen) {
        match seen.entry(&name) {
            Ok(entry) => {
                proposed.push(seen.proposed(&entry));
                entries.push(entry);
            }
            Err((reason, suggestion)) => left_out.push(LeftOut { name, reason, suggestion }),
        }
    }
    if entries.is_empty() {
        return Err(ReadError::NoFeatures { file: path.into() });
    }
    let roles = (columns.label.clone(), columns.id.clone(), columns.subject.clone());
    let markers = USUAL_MISSING_MARKERS.map(String::from).to_vec();
    let schema = Schema::new(roles, markers, entries, None)
        .map_err(|error| ReadError::NoProposal { file: path.into(), reason: error.to_string() })?
        .written_as(columns.notation);
    Ok(SchemaProposal { schema, n_rows, columns: proposed, left_out })
}

#[derive(Default)]
struct Seen {
    n_rows: u64,
    n_missing: u64,
    n_numbers: u64,
    n_lists: u64,
    has_fraction: bool,
    range: Option<(f64, f64)>,
    list_length: Option<usize>,
    lists_differ: bool,
    /// How often each value was seen, up to a number of values.
    counts: BTreeMap<String, u64>,
    /// Words of those values.
    n_words: usize,
    /// Values seen when there were too many to go on counting.
    n_values_when_full: Option<u64>,
}

impl Seen {
    fn add(&mut self, cell: &Cell<'_>, numbers: &Numbers) -> Result<(), CellError> {
        self.n_rows += 1;
        if is_missing(cell, |text| USUAL_MISSING_MARKERS.contains(&text)) {
            self.n_missing += 1;
            return Ok(());
        }
        if let Cell::List(values) = cell {
            self.n_lists += 1;
            self.lists_differ |= *self.list_length.get_or_insert(values.len()) != values.len();
            values.iter().filter(|value| value.is_finite()).for_each(|value| self.widen(*value));
            return Ok(());
        }
        if let Some(x) = cell.amount(numbers)?.filter(|x| x.is_finite()) {
            self.n_numbers += 1;
            self.has_fraction |= x.fract() != 0.0;
            self.widen(x);
        }
        if self.n_values_when_full.is_some() {
            return Ok(());
        }
        let value = cell.spelling();
        if let Some(count) = self.counts.get_mut(value.as_ref()) {
            *count += 1;
        } else if self.counts.len() < MOST_COUNTED {
            self.n_words += value.split_whitespace().count();
            self.counts.insert(value.into_owned(), 1);
        } else {
            self.n_values_when_full = Some(self.n_values());
        }
        Ok(())
    }

    fn widen(&mut self, x: f64) {
        let (low, high) = self.range.get_or_insert((x, x));
        (*low, *high) = (low.min(x), high.max(x));
    }

    /// Cells in which something stands.
    fn n_values(&self) -> u64 {
        self.n_rows - self.n_missing
    }

    /// Whether (nearly) every cell has a value of its own.
    fn is_nearly_unique(&self) -> bool {
        let n_values = self.n_values_when_full.unwrap_or_else(|| self.n_values());
        n_values >= FEW_ROWS && self.counts.len() as f64 > NEARLY * n_values as f64
    }

    /// Whole numbers, another in every row, that leave hardly any out: a running number.
    fn is_running_number(&self) -> bool {
        let all_distinct = self.counts.values().all(|count| *count == 1);
        let dense = self.range.is_some_and(|(low, high)| high - low < 2.0 * self.n_values() as f64);
        !self.has_fraction && all_distinct && dense && self.n_values() >= FEW_ROWS
    }

    /// Too many different texts for categories, of several words each.
    fn is_sentences(&self) -> bool {
        self.counts.len() > MOST_CATEGORIES && self.n_words >= WORDS_OF_A_SENTENCE * self.counts.len()
    }

    /// Names of pictures that can be read.
    fn is_pictures(&self) -> bool {
        let is_picture = |name: &String| {
            let extension = Path::new(name).extension().unwrap_or_default();
            ["png", "jpg", "jpeg"].iter().any(|known| extension.eq_ignore_ascii_case(known))
        };
        self.counts.keys().all(is_picture)
    }

    /// The entry to propose, or why there is none and what could be done.
    fn entry(&self, name: &str) -> Result<ColumnSchema, (String, Option<String>)> {
        if name.is_empty() {
            return Err(("it has no name".into(), None));
        }
        if self.n_values() == 0 {
            return Err(("every value is missing".into(), None));
        }
        let missing = if self.n_missing > 0 { Missing::Slot } else { Missing::Error };
        let kind = self.kind()?;
        // The map of texts is fixed: nothing of it was read off the rows.
        let origin = if kind.map().is_some() { EntryOrigin::Public } else { EntryOrigin::Inferred };
        Ok(ColumnSchema { name: name.to_owned(), kind, missing, origin })
    }

    fn kind(&self) -> Result<ColumnKind, (String, Option<String>)> {
        let range = self.range.and_then(|(min, max)| nice_range(min, max));
        let no_range = || ("its numbers are too large or too close for a range".to_owned(), None);
        if self.n_lists > 0 {
            return match self.list_length {
                Some(dim)
                    if !self.lists_differ && self.n_lists == self.n_values() && (1..=MAX_FEATURES).contains(&dim) =>
                {
                    Ok(ColumnKind::Vector { dim, range: Some(range.ok_or_else(no_range)?) })
                }
                _ => Err(("its lists have different lengths".into(), None)),
            };
        }
        if self.n_numbers == self.n_values() {
            if self.is_running_number() {
                let suggestion = "declare it as `id` if it is the row's id".to_owned();
                return Err(("it numbers the rows".into(), Some(suggestion)));
            }
            return Ok(ColumnKind::Numeric { range: Some(range.ok_or_else(no_range)?) });
        }
        if let Some(kind) = self.boolean() {
            return Ok(kind);
        }
        if self.is_sentences() {
            return Ok(ColumnKind::Text(NgramSpec::usual(BUCKETS_OF_SENTENCES)));
        }
        if self.is_pictures() {
            let suggestion =
                "give it an entry with kind = \"image\" and the height and width of the pictures".to_owned();
            return Err(("it names pictures".into(), Some(suggestion)));
        }
        if self.is_nearly_unique() {
            let suggestion = "declare it as `id` or `subject` if it says whose row it is".to_owned();
            return Err(("nearly every row has a text of its own".into(), Some(suggestion)));
        }
        if self.counts.len() <= MOST_CATEGORIES && self.n_values_when_full.is_none() {
            let values = self.counts.keys().cloned().collect();
            return Ok(ColumnKind::Categorical { values, unknown: Unknown::Slot });
        }
        Ok(ColumnKind::Hashed { buckets: self.counts.len().next_power_of_two().clamp(64, 1024) })
    }

    /// A kind for two spellings of true and false, both of which occur.
    fn boolean(&self) -> Option<ColumnKind> {
        const PAIRS: [(&str, &str); 5] = [("true", "false"), ("yes", "no"), ("t", "f"), ("y", "n"), ("on", "off")];
        let is = |word: &str| -> Vec<String> {
            self.counts.keys().filter(|text| text.eq_ignore_ascii_case(word)).cloned().collect()
        };
        PAIRS.iter().map(|(yes, no)| (is(yes), is(no))).find_map(|(true_values, false_values)| {
            let both = !true_values.is_empty() && !false_values.is_empty();
            let all = true_values.len() + false_values.len() == self.counts.len();
            (both && all).then_some(ColumnKind::Boolean { true_values, false_values })
        })
    }

    fn proposed(&self, entry: &ColumnSchema) -> ProposedColumn {
        let counts_all = self.n_values_when_full.is_none();
        let share = self.n_numbers as f64 / self.n_values() as f64;
        let few_codes = matches!(entry.kind, ColumnKind::Numeric { .. })
            && !self.has_fraction
            && counts_all
            && (3..=MOST_CODES).contains(&self.counts.len());
        ProposedColumn {
            name: entry.name.clone(),
            n_values: self.n_values(),
            n_missing: self.n_missing,
            range: self.range.filter(|_| matches!(entry.kind, ColumnKind::Numeric { .. } | ColumnKind::Vector { .. })),
            n_distinct: if self.n_lists == 0 && counts_all { Some(self.counts.len()) } else { None },
            rare: match &entry.kind {
                ColumnKind::Categorical { values, .. } => {
                    values.iter().filter(|value| self.counts.get(*value).is_some_and(|n| *n < RARE)).cloned().collect()
                }
                _ => Vec::new(),
            },
            codes: if few_codes { in_order(self.counts.keys()) } else { Vec::new() },
            texts_among_numbers: match &entry.kind {
                ColumnKind::Categorical { .. } | ColumnKind::Hashed { .. } if share > MOSTLY_NUMBERS => {
                    let texts = self.counts.keys().filter(|text| text.parse::<f64>().is_err());
                    texts.take(SHOWN_TEXTS).cloned().collect()
                }
                _ => Vec::new(),
            },
        }
    }
}

fn in_order<'a>(codes: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut codes: Vec<&String> = codes.collect();
    let value = |code: &String| code.parse::<f64>().unwrap_or(f64::INFINITY);
    codes.sort_by(|a, b| value(a).total_cmp(&value(b)));
    codes.into_iter().cloned().collect()
}

const ROWS_AT_ONCE: u64 = 8192;

/// Different values of a column that are counted; with more it is hashed or left out.
const MOST_COUNTED: usize = 10_000;

/// Different texts of a column of categories.
const MOST_CATEGORIES: usize = 50;

/// Words that a sentence has on average; names, addresses and titles have fewer.
const WORDS_OF_A_SENTENCE: usize = 5;

/// Features proposed for sentences: what a model of dense rows takes in seconds.
const BUCKETS_OF_SENTENCES: usize = 4096;

/// Different whole numbers that may be codes.
const MOST_CODES: usize = 20;

/// A value in fewer rows than this deserves a second look before it is published.
const RARE: u64 = 5;

/// With fewer rows than this nothing is unusual.
const FEW_ROWS: u64 = 20;

/// This share of different values, and a column tells rows apart.
const NEARLY: f64 = 0.9;

/// With this share of numbers, a column with texts in it may be one of numbers.
const MOSTLY_NUMBERS: f64 = 0.8;

const SHOWN_TEXTS: usize = 5;
