//! What was decided at training and does not change afterwards.

use std::path::Path;

use efface_core::accounting::Extractor;
use efface_core::model::{TrainingConfig, TrainingPlan};
use efface_core::noise::NoiseSource;
use efface_data::derived::{Counts, Preparation, Texts};
use efface_data::{
    ClassWeights, Columns, IdKey, LabelCodec, NetworkPlaces, Precision, RowSpec, RowTransform, Scale, Schema,
};
use efface_features::FeatureSpec;
use efface_ledger::certificate::{FeatureMap, FittedBeside, MapOrigin};
use serde::{Deserialize, Serialize};

use crate::directory::files::NETWORKS;
use crate::error::{ChangeError, EngineError, OpenError};

/// An extractor that no digest names: nobody can tell which rows it saw, so all that ever left count.
pub(crate) const ELSEWHERE: &str = "";

/// The fixed part of a model.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// What is trained and promised.
    pub config: TrainingConfig,
    /// Names of the features, in the model's order, without the intercept.
    pub features: Vec<String>,
    /// The roles of columns when the model was trained; rows added later are read in the same way.
    pub columns: Columns,
    /// What raw columns become; without, they are features as they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Schema>,
    /// How rows are scaled.
    pub transform: RowTransform,
    /// How labels become numbers.
    pub codec: LabelCodec,
    /// Precision in which rows are kept.
    pub precision: Precision,
    /// The most that a row may weigh; without, every row counts once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_row_weight: Option<f64>,
    /// As how many rows a row of each class counts, where that differs.
    #[serde(default, skip_serializing_if = "ClassWeights::is_empty")]
    pub class_weights: ClassWeights,
    /// Whether the bound on the length of rows was taken from the rows.
    pub row_norm_from_rows: bool,
    /// What else was fitted on the rows, as whoever trained declared it: certificates say that they do not cover it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outside_scope: Vec<FittedBeside>,
    /// Key of the hashes under which ids are kept. Random, kept with the secrets.
    pub id_key: IdKey,
    /// What rows can be called by.
    pub row_names: RowNames,
}

/// What the rows of a model can be called by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowNames {
    /// Ids that were given, or numbers in the order in which rows came.
    #[default]
    Ids,
    /// Labels of the index of a data frame.
    Index,
    /// Nothing: rows can be found by subject only.
    Nothing,
}

/// Random bytes of the operating system, for names, salts and keys.
pub(crate) fn fresh<const N: usize>() -> Result<[u8; N], EngineError> {
    let mut bytes = [0; N];
    NoiseSource::from_system()?.fill(&mut bytes);
    Ok(bytes)
}

/// Classes of which there are no rows.
pub(crate) fn absent_classes(class_counts: &[usize]) -> impl Iterator<Item = u32> + '_ {
    (0..).zip(class_counts).filter(|(_, count)| **count == 0).map(|(class, _)| class)
}

/// The configuration with the share of the private network in a schema, for a group of rows (one, unless said otherwise);
/// as it is where a share is stated already.
pub fn with_extractor(
    config: TrainingConfig,
    schema: Option<&Schema>,
    group: Option<usize>,
) -> Result<TrainingConfig, OpenError> {
    let extractor = match (config.extractor, schema.and_then(Schema::private_network)) {
        (Some(stated), _) => Some(stated),
        (None, Some((column, statement))) => {
            let share = statement.extractor(group.unwrap_or(1));
            Some(share.map_err(|source| OpenError::ExtractorGroup { column: column.into(), source })?)
        }
        (None, None) if group.is_some() => return Err(OpenError::NoPrivateNetwork),
        (None, None) => None,
    };
    Ok(TrainingConfig { extractor, ..config })
}

/// Refuses a promise without the share of a network that saw the rows.
pub(crate) fn check_extractor(schema: Option<&Schema>, extractor: Option<Extractor>) -> Result<(), OpenError> {
    let Some((column, statement)) = schema.and_then(Schema::private_network) else { return Ok(()) };
    let delta = extractor.map_or(statement.fields().delta, |extractor| extractor.delta);
    let (proved, stated) = (statement.training().epsilon_at(delta), extractor.map(|extractor| extractor.epsilon));
    match stated {
        Some(stated) if stated >= proved => Ok(()),
        _ => Err(OpenError::ExtractorShare { column: column.into(), proved, delta, stated }),
    }
}

impl Settings {
    /// The same whose networks are those of a model directory.
    pub(crate) fn with_networks_in(self, directory: &Path) -> Self {
        self.with_networks(NetworkPlaces::new([directory.join(NETWORKS)]))
    }

    /// The same whose networks are looked for here.
    pub(crate) fn with_networks(self, places: NetworkPlaces) -> Self {
        Self { schema: self.schema.map(|schema| schema.with_networks(places)), ..self }
    }

    /// Number of classes; 0 for regression.
    pub fn n_classes(&self) -> usize {
        self.codec.classes().len()
    }

    pub(crate) fn row_spec(&self) -> RowSpec {
        let (transform, n_features) = (self.transform, self.features.len());
        RowSpec { transform, n_features, n_classes: self.n_classes(), max_row_weight: self.max_row_weight }
    }

    pub(crate) fn class_names(&self, plan: &TrainingPlan) -> Vec<String> {
        plan.classes().into_iter().map(|class| self.codec.classes()[class as usize].clone()).collect()
    }

    /// Names of those of `classes` that have no rows any more.
    pub(crate) fn classes_gone(&self, classes: &[u32], class_counts: &[usize]) -> Vec<String> {
        let gone = absent_classes(class_counts).filter(|class| classes.contains(class));
        gone.map(|class| self.codec.classes()[class as usize].clone()).collect()
    }

    /// Refuses to look for rows by id where no id names one.
    pub(crate) fn check_has_ids(&self) -> Result<(), EngineError> {
        match self.row_names {
            RowNames::Ids | RowNames::Index => Ok(()),
            RowNames::Nothing => Err(ChangeError::NoRowIds.into()),
        }
    }

    /// Whether a row may weigh this much: 1 where every row counts once.
    pub(crate) fn check_row_weight(&self, value: f64) -> Result<(), EngineError> {
        match self.max_row_weight {
            None if value == 1.0 => Ok(()),
            None => Err(ChangeError::Unweighted { value }.into()),
            Some(limit) if value <= limit => Ok(()),
            Some(limit) => Err(ChangeError::RowWeight { value, limit }.into()),
        }
    }

    /// How raw rows are prepared as long as none is counted; `None`: rows are kept as sums take them.
    pub(crate) fn no_rows_prepared(&self, texts: Texts) -> Option<Preparation> {
        if self.transform.scale != Scale::Auto {
            return None;
        }
        let all = || vec![true; self.features.len()];
        let derived = self.schema.as_ref().map_or_else(all, Schema::derived);
        let counts = Counts::new(&derived, self.codec.classes().is_empty()).with_texts(texts);
        Some(Preparation::new(counts, self.transform.intercept))
    }

    /// Columns whose schema entries were proposed from the rows and are not marked public: outside the guarantee.
    pub fn not_public(&self) -> Vec<String> {
        self.schema.as_ref().map(Schema::not_public).unwrap_or_default()
    }

    /// The maps that make features of raw cells.
    pub(crate) fn feature_maps(&self) -> Vec<FeatureMap> {
        let Some(schema) = &self.schema else { return Vec::new() };
        let (not_public, private) = (schema.not_public(), schema.private_network());
        let of = |(column, spec): (Option<&str>, FeatureSpec)| {
            let is_public = column.is_none_or(|column| not_public.iter().all(|other| other != column));
            let origin = match (&spec, is_public) {
                (FeatureSpec::Network(_) | FeatureSpec::Transformer(_), true) => MapOrigin::Public,
                (FeatureSpec::Network(_) | FeatureSpec::Transformer(_), false) => MapOrigin::Unknown,
                _ => MapOrigin::Fixed,
            };
            match private {
                Some((name, statement)) if column == Some(name) => FeatureMap::private(name, &spec, statement),
                _ => FeatureMap::new(column, origin, &spec),
            }
        };
        schema.maps().into_iter().map(of).collect()
    }

    /// What a witness calls the private extractor: by the digest of its network, where it is one in the schema.
    pub(crate) fn private_extractor(&self) -> Option<&str> {
        self.config.extractor?;
        let network = self.schema.as_ref().and_then(Schema::private_network);
        Some(network.map_or(ELSEWHERE, |(_, statement)| &statement.fields().digest))
    }

    /// How to read more rows: the features by name, and the columns of labels, ids and subjects unless the file is an
    /// array, where these are files of their own that belong to the rows trained on.
    pub(crate) fn columns_for(&self, array: bool) -> Columns {
        let features = Some(self.features.clone());
        if array { Columns { features, ..Columns::default() } } else { Columns { features, ..self.columns.clone() } }
    }
}
