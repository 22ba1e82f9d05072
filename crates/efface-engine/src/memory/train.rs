//! Training on rows that somebody else owns, or that are elsewhere.

use efface_core::model::{Phase, TrainingConfig, TrainingPlan};
use efface_core::noise::NoiseSource;
use efface_data::derived::Texts;
use efface_data::{
    ClassWeights, ColumnKind, Columns, IdKey, IdKind, LabelCodec, LentRows, LentTable, LentVault, Precision, ReadError,
    RowId, RowTransform, RowsError, RowsToLend, Scale, Schema, Vault,
};
use efface_ledger::certificate::FittedBeside;
use rayon::prelude::*;

use super::MemoryModel;
use super::index::RowIndex;
use super::keeper::MemoryKeeper;
use crate::error::{ChangeError, EngineError};
use crate::life::{check_is_bounded, count_classes};
use crate::settings::{RowNames, Settings, check_extractor, fresh};

/// What to train, on what.
pub struct MemoryRequest<'a> {
    /// The rows, which the same caller lends again later.
    pub rows: LentRows<'a>,
    /// The texts behind hashes in raw rows; empty where they are numbers.
    pub texts: &'a Texts,
    /// One per row: the index of a class, or a number.
    pub labels: &'a [f64],
    /// One per row: as how many rows it counts; `None`: each counts once.
    pub row_weights: Option<&'a [f64]>,
    /// As how many rows a row of each class counts besides, where that differs; it is remembered for new rows.
    pub class_weights: ClassWeights,
    /// The most that a row may weigh, also of new rows; without, every row counts once.
    pub max_row_weight: Option<f64>,
    /// One per row, all distinct; `None`: rows are numbered from 0.
    pub ids: Option<&'a [RowId]>,
    /// One per row: whose it is.
    pub subjects: Option<&'a [RowId]>,
    /// Names of the features.
    pub features: Vec<String>,
    /// What made the features of raw cells; `None`: columns are features, as they are or derived.
    pub schema: Option<Schema>,
    /// The roles of the columns that all this came from, where it had names: `features` are those of the user's own.
    pub columns: Columns,
    /// What rows can be called by.
    pub row_names: RowNames,
    /// Names of the classes, or numbers.
    pub codec: LabelCodec,
    /// How rows are scaled.
    pub transform: RowTransform,
    /// Whether the radius of `transform` was chosen by looking at the rows: certificates say so.
    pub row_norm_from_rows: bool,
    /// What else was fitted on the rows: certificates say that they do not cover it.
    pub outside_scope: Vec<FittedBeside>,
    /// What to train and promise. `n_classes` is filled in from the codec.
    pub config: TrainingConfig,
}

impl MemoryModel {
    /// Trains a model on lent rows, and takes note of them. The rows are read and not kept.
    pub fn train(
        request: &MemoryRequest<'_>,
        noise: &mut NoiseSource,
        report: &mut dyn FnMut(Phase),
    ) -> Result<(Self, LentTable), EngineError> {
        let MemoryRequest { rows, texts, labels, row_weights, ids, subjects, .. } = *request;
        let settings = request.settings()?;
        check_derives(&settings)?;
        check_extractor(settings.schema.as_ref(), settings.config.extractor)?;
        let of_classes = (!settings.class_weights.is_empty())
            .then(|| settings.class_weights.weigh_indices(&settings.codec, labels, row_weights));
        of_classes.iter().flatten().try_for_each(|weight| settings.check_row_weight(*weight))?;
        let row_weights = of_classes.as_deref().or(row_weights);
        let id = |row: usize| ids.and_then(|ids| ids.get(row)).cloned().unwrap_or_else(|| RowId::numbered(row));
        let selector = |row: usize| settings.id_key.digest(IdKind::Row, &id(row)).selector();
        let selectors = (0..labels.len()).into_par_iter().with_min_len(256).map(selector).collect();
        let shape = settings.row_spec();
        let preparation = settings.no_rows_prepared(Texts::new());
        let lent = LentTable::new(RowsToLend { rows, labels, selectors, row_weights, texts, preparation, shape });
        let mut table = lent.map_err(|error| match error {
            RowsError::TooManyTexts { column, .. } => {
                ChangeError::TooManyTexts { column: settings.features[column].clone() }.into()
            }
            other => EngineError::from(other),
        })?;
        let vault = LentVault::new(&mut table, rows)?;
        let model = Self::train_on(&vault, settings, labels, ids, subjects, noise, report)?;
        Ok((model, table))
    }

    /// Trains a model on the rows of a vault: `labels`, `ids` and `subjects` are theirs, one per row; without ids, rows are
    /// numbered from 0.
    pub fn train_on(
        rows: &dyn Vault,
        settings: Settings,
        labels: &[f64],
        ids: Option<&[RowId]>,
        subjects: Option<&[RowId]>,
        noise: &mut NoiseSource,
        report: &mut dyn FnMut(Phase),
    ) -> Result<Self, EngineError> {
        let plan = TrainingPlan::new(settings.config.clone())?;
        for (what, given) in [("ids", ids), ("subjects", subjects)] {
            if let Some(given) = given.filter(|given| given.len() != labels.len()) {
                return Err(RowsError::Count { what, found: given.len(), expected: labels.len() }.into());
            }
        }
        let index = RowIndex::new(settings.id_key.clone(), labels.len(), ids, subjects)?;
        let trained = rows.sum(|rows| plan.train(rows, noise, report))??;
        check_is_bounded(&trained.model)?;
        let keeper = MemoryKeeper::new(index, hex::encode(fresh::<16>()?), count_classes(labels, settings.n_classes()));
        Ok(Self { settings, model: trained.model, keeper, iterations: trained.iterations })
    }
}

/// Constants are derived under one scale only.
fn check_derives(settings: &Settings) -> Result<(), ReadError> {
    let scale = settings.transform.scale;
    let mut columns = settings.schema.iter().filter(|_| scale != Scale::Auto).flat_map(Schema::columns);
    match columns.find(|column| column.kind == ColumnKind::Derived) {
        Some(column) => Err(ReadError::DerivedBesideScale { column: column.name.clone(), scale }),
        None => Ok(()),
    }
}

impl MemoryRequest<'_> {
    /// What is decided by it, with fresh secrets.
    fn settings(&self) -> Result<Settings, EngineError> {
        let n_classes = self.codec.classes().len();
        // Rows with ids or subjects need them later too, whatever their columns were called.
        let named = |given: bool, column: &Option<String>, usual: &str| {
            given.then(|| column.clone().unwrap_or_else(|| usual.into()))
        };
        let columns = Columns {
            id: named(self.ids.is_some(), &self.columns.id, "id"),
            subject: named(self.subjects.is_some(), &self.columns.subject, "subject"),
            ..self.columns.clone()
        };
        // As of a file with these columns: the command line reads more rows through it. It depends on no row.
        let is_frame = self.transform.scale == Scale::Auto && self.columns.features.is_some();
        let derived = || is_frame.then(|| Schema::of_derived(&self.features, &columns).ok()).flatten();
        let schema = self.schema.clone().or_else(derived);
        let mut outside_scope = self.outside_scope.clone();
        outside_scope.sort_by_key(FittedBeside::to_string);
        outside_scope.dedup();
        Ok(Settings {
            config: TrainingConfig { n_classes: (n_classes > 0).then_some(n_classes as u32), ..self.config.clone() },
            features: self.features.clone(),
            columns,
            schema,
            transform: self.transform,
            codec: self.codec.clone(),
            precision: Precision::of(self.rows.features),
            max_row_weight: self.max_row_weight,
            class_weights: self.class_weights.clone(),
            row_norm_from_rows: self.row_norm_from_rows,
            outside_scope,
            id_key: IdKey::new(fresh()?),
            row_names: self.row_names,
        })
    }
}
