//! Adult: a row per person, raw columns encoded by a public schema.

use std::path::Path;

use efface_data::{Columns, FeatureOrder, LabelCodec, MemoryRows, RowTransform, Scale, Schema, read_table};

use super::{DataSet, Source, find};
use crate::Result;

const SOURCE: Source = Source {
    name: "Adult",
    folder: "adult",
    published: "https://archive.ics.uci.edu/dataset/2/adult (as train.csv.gz and test.csv.gz with a header)",
};

/// What the columns become.
const SCHEMA: &str = include_str!("adult.toml");

/// λ that suits Adult: with n rows clipped to norm 4 it is one over n·R².
pub const L2_PER_ROW: f64 = 2e-6;

/// UCI Adult: one-hot categories and ranges to [−1, 1], rows clipped to norm 4, with an intercept.
pub fn adult(data: &Path) -> Result<DataSet> {
    let schema = Schema::parse(SCHEMA)?;
    let columns = schema.fill_in(Columns { label: Some("income".into()), ..Columns::default() });
    let transform = RowTransform { scale: Scale::Clip { radius: 4.0 }, intercept: true };
    let read = |file: &str| -> Result<_> { Ok(read_table(find(data, &SOURCE, file)?, &columns, Some(&schema))?) };
    let (train, test) = (read("train.csv.gz")?, read("test.csv.gz")?);
    let codec = LabelCodec::for_labels(train.labels(), true)?;
    let rows = |table| MemoryRows::of_table(table, &transform, Some(&codec), FeatureOrder::AsRead);
    Ok(DataSet { name: "Adult", n_classes: 2, train: rows(train)?, test: rows(test)? })
}
