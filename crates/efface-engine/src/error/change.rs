//! Why rows cannot be changed, or weights not be settled.

use std::path::PathBuf;

use efface_core::ridge::Ridge;

use super::EngineError;

/// A change of the rows, or of the weights, is refused. Nothing has been changed, unless it says so.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are named in the messages")]
#[non_exhaustive]
pub enum ChangeError {
    /// A column of texts tells rows apart.
    #[error(
        "column `{column}` has more than {} different texts: it tells rows apart, and cannot be a feature",
        efface_data::derived::MAX_TEXTS
    )]
    TooManyTexts { column: String },
    /// Damaged rows were to be removed, and there are none.
    #[error("no row is damaged")]
    NothingDamaged,
    /// A corrected row would keep its weight, which is not known any more.
    #[error("the old row is damaged, and its weight is lost; give the weight of the new one")]
    WeightLost,
    /// A request names nothing to remove.
    #[error("no rows given")]
    NothingNamed,
    /// The model knows nobody by subject.
    #[error("this model was trained without a subject column")]
    NoSubjects,
    /// No id names a row of the model.
    #[error("the rows of this model have no ids: remove by subject, or train again with an id for each row")]
    NoRowIds,
    /// Labels of an array are in a file of their own, and none was named.
    #[error("{}: no labels given", path.display())]
    NoLabelNamed { path: PathBuf },
    /// Rows of this model are told by their ids, and none are named.
    #[error("{}: no id column given", path.display())]
    NoIdNamed { path: PathBuf },
    /// The model knows whose rows it has, and these are nobody's.
    #[error("{}: no subject column given", path.display())]
    NoSubjectNamed { path: PathBuf },
    /// Two rows to train on have the same id.
    #[error("rows {first} and {second} (counted from 0) have the same id")]
    RepeatedId { first: usize, second: usize },
    /// A request id without a character.
    #[error("a request id must not be empty")]
    RequestUnnamed,
    /// A request id is of the form that requests without one get.
    #[error("request id `{request_id}` is reserved: requests without an id are called change-N")]
    RequestReserved { request_id: String },
    /// A request id was used before for another request.
    #[error("request id `{request_id}` was used before, for other rows or other values")]
    RequestReused { request_id: String },
    /// A removal would leave no row.
    #[error("removing {} would leave none: the model has {n_rows}", rows(*n_removed))]
    LastRow { n_removed: usize, n_rows: usize },
    /// A removal would leave rows that count for nothing.
    #[error("removing {} would leave only rows of weight 0", rows(*n_removed))]
    LastWeight { n_removed: usize },
    /// Rows of a class that left the model with its last row.
    #[error("class `{class}` left this model with its last row")]
    ClassGone { class: String },
    /// A new row weighs more than any row of the model may.
    #[error("row weight {value} given, but the limit of this model is {limit}")]
    RowWeight { value: f64, limit: f64 },
    /// A new row does not count once, and every row of the model does.
    #[error("row weight {value} given, but this model was trained without row weights")]
    Unweighted { value: f64 },
    /// Rows that are not those of the model that they come with.
    #[error("these are not the rows of the model: {reason}")]
    ForeignRows { reason: String },
    /// A tolerance is not a positive number.
    #[error("tolerance must be positive and finite, got `{value}`")]
    Tolerance { value: f64 },
    /// Numbers are so extreme that nothing can be claimed of the model.
    #[error(
        "no finite bound can be given: the labels or the noise (standard deviation `{noise_std}`) are too large, or {} \
         `{}` is too small", ridge.name(), ridge.strength()
    )]
    Unbounded { ridge: Ridge, noise_std: f64 },
    /// A removal counts, but what it left behind could not be polished away.
    #[error("the rows are removed, but settling failed: {source}")]
    NotSettled { source: Box<EngineError> },
    /// A long file is taken part by part: what was taken counts, what comes after it does not.
    #[error("{} are in force, the others are not: {source}", rows(*n_changed))]
    InPart { n_changed: usize, source: Box<EngineError> },
    /// A class is to weigh more or less than others, and no row is of it.
    #[error("class `{class}` has a weight, but there are no rows of it; there are {known}")]
    WeightOfNoClass { class: String, known: String },
}

impl ChangeError {
    /// Stable name.
    pub fn code(&self) -> &'static str {
        match self {
            Self::TooManyTexts { .. } => "too-many-texts",
            Self::NothingNamed => "nothing-named",
            Self::NothingDamaged => "nothing-damaged",
            Self::WeightLost => "weight-lost",
            Self::NoSubjects => "no-subjects",
            Self::NoRowIds => "no-row-ids",
            Self::NoLabelNamed { .. } => "no-label-named",
            Self::NoIdNamed { .. } => "no-id-named",
            Self::NoSubjectNamed { .. } => "no-subject-named",
            Self::RepeatedId { .. } => "repeated-id",
            Self::RequestUnnamed => "request-unnamed",
            Self::RequestReserved { .. } => "request-reserved",
            Self::RequestReused { .. } => "request-reused",
            Self::LastRow { .. } => "last-row",
            Self::LastWeight { .. } => "last-weight",
            Self::ClassGone { .. } => "class-gone",
            Self::RowWeight { .. } => "row-weight",
            Self::Unweighted { .. } => "unweighted",
            Self::ForeignRows { .. } => "foreign-rows",
            Self::Tolerance { .. } => "tolerance",
            Self::Unbounded { .. } => "unbounded",
            Self::NotSettled { .. } => "not-settled",
            Self::InPart { source, .. } => source.code(),
            Self::WeightOfNoClass { .. } => "weight-of-no-class",
        }
    }
}

fn rows(n: usize) -> String {
    if n == 1 { "1 row".into() } else { format!("{n} rows") }
}
