//! One file per user action: typed arguments, one call of the engine, one answer.

pub(crate) mod audit;
pub(crate) mod certificate;
pub(crate) mod change;
pub(crate) mod demo;
pub(crate) mod evaluate;
pub(crate) mod export;
pub(crate) mod extractor;
pub(crate) mod key;
pub(crate) mod ledger;
pub(crate) mod plan;
pub(crate) mod predict;
pub(crate) mod release;
pub(crate) mod reproduce;
mod rows;
pub(crate) mod schema;
pub(crate) mod settle;
pub(crate) mod status;
pub(crate) mod train;
pub(crate) mod transform;
pub(crate) mod verify;

use std::path::Path;

use efface_core::accounting::Extractor;
use efface_core::noise::NoiseSource;
use efface_core::rounding::UpperBound;
use efface_data::{ClassWeights, Columns, RowTransform, Schema, TableReader, carries_labels, open_rows};
use efface_engine::{ChangeError, EngineError, ModelDirectory, OpenOptions, Repair};

use crate::args::{ModelArgs, SeedArgs, SigningArgs, TableArgs};
use crate::output::{Output, counted, parameter, quoted};

/// Rows to learn from.
struct LabelledRows {
    reader: Box<dyn TableReader>,
    columns: Columns,
    schema: Option<Schema>,
    transform: RowTransform,
    class_weights: ClassWeights,
}

/// Opens rows whose labels are needed. The schema fills in the roles of columns that it names and the user does not.
fn open_labelled(args: TableArgs) -> anyhow::Result<LabelledRows> {
    let class_weights = args.class_weights()?;
    let source = args.data.source().map_err(EngineError::from)?;
    let schema = args.schema.as_deref().map(Schema::load).transpose().map_err(EngineError::from)?;
    let asked = args.roles.columns(args.chosen);
    let columns = schema.as_ref().map_or(asked.clone(), |schema| schema.fill_in(asked));
    let columns = Columns { weight: args.weight, notation: args.notation.notation(), ..columns };
    check_label_is_named(source.first(), &columns)?;
    let transform = args.rows.transform(schema.as_ref());
    let (reader, schema) = open_rows(source, &columns, schema, transform.scale).map_err(EngineError::from)?;
    Ok(LabelledRows { reader, columns, schema, transform, class_weights })
}

fn check_label_is_named(data: &Path, columns: &Columns) -> anyhow::Result<()> {
    if columns.label.is_some() || carries_labels(data) {
        return Ok(());
    }
    Err(EngineError::Change(ChangeError::NoLabelNamed { path: data.into() }).into())
}

/// Opens a model for changing, and says what had to be put right.
fn open(model: &ModelArgs, output: &Output) -> anyhow::Result<ModelDirectory> {
    open_with(&model.path, &model.store.options(), output)
}

/// Opens a model for signing certificates.
fn open_to_sign(
    SigningArgs { directory, new, passphrase }: &SigningArgs,
    output: &Output,
) -> anyhow::Result<ModelDirectory> {
    let passphrase = key::passphrase(passphrase)?;
    open_with(&directory.path, &OpenOptions { key: new.key.clone(), passphrase, ..directory.store.options() }, output)
}

fn open_with(model: &Path, options: &OpenOptions, output: &Output) -> anyhow::Result<ModelDirectory> {
    let directory = ModelDirectory::open_with(model, options)?;
    for repair in directory.repairs_at_opening() {
        output.warn(&format!("repaired: {}", repaired(repair)));
    }
    Ok(directory)
}

/// What was put right, for people.
fn repaired(repair: &Repair) -> String {
    let lost = match repair.n_lost {
        0 => String::new(),
        n => format!(", {} lost (add them again)", counted(n, "row")),
    };
    format!("{}; {} removed again{lost}", repair.in_words(), counted(repair.n_removed_again, "row"))
}

/// A private feature extractor, and for how many rows its share is in the promise.
fn extractor_in_words(extractor: &Extractor, n_left: usize) -> String {
    let covered = counted(extractor.group, "row");
    let covers = format!("the promise covers {covered} removed or corrected, {n_left} so far");
    format!("({}, {}) per row; {covers}", parameter(extractor.epsilon), parameter(extractor.delta))
}

/// What to do about a spent budget, or else about an extractor that covers no more rows.
fn retraining_required(model: &Path, budget: Option<f64>, spent: Option<UpperBound>) -> String {
    if budget.zip(spent).is_none_or(|(budget, spent)| spent.get() <= budget) {
        return format!("retraining required: {EXTRACTOR_EXHAUSTED}");
    }
    over_budget(model)
}

/// What to do about a spent budget.
fn over_budget(model: &Path) -> String {
    let model = quoted(model);
    format!(
        "retraining required: the budget is spent. next: efface retrain {model} (or settle, which measures what is left)"
    )
}

const EXTRACTOR_EXHAUSTED: &str = "more rows have left than the private feature extractor's promise covers; train a new \
                                   extractor on the remaining rows and a model on its features, or use a public one";

/// The operating system's randomness, or a fixed seed with a warning.
fn noise(seed: &SeedArgs, output: &Output) -> anyhow::Result<NoiseSource> {
    Ok(match seed.danger_fixed_seed {
        None => NoiseSource::from_system()?,
        Some(seed) => {
            output.warn("a fixed seed: whoever knows it can take the noise off, and nothing is certified");
            NoiseSource::danger_fixed_seed(seed)
        }
    })
}
