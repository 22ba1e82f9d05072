//! Columns of tables as operators: numbers that are centred, scaled and cut, and texts that are told apart.

use crate::graph::{Attribute, GraphBuilder, Value};
use crate::proto::data_type;

/// What a number becomes: at most one feature for itself, and one for a gap. A gap is a NaN.
///
/// ```text
/// (x − location) / scale, cut at ±most
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NumberColumn {
    /// Subtracted first.
    pub location: f64,
    /// What is left is divided by it.
    pub scale: f64,
    /// Infinite: nothing is cut.
    pub most: f64,
    /// The feature of a gap. A NaN stays one.
    pub gap: f64,
    /// Whether the number is a feature at all.
    pub has_value: bool,
    /// Whether there is a feature that is 1 where there is a gap.
    pub has_slot: bool,
}

impl NumberColumn {
    /// A number that is a feature as it is.
    pub const PLAIN: Self =
        Self { location: 0.0, scale: 1.0, most: f64::INFINITY, gap: f64::NAN, has_value: true, has_slot: false };

    /// Number of features.
    pub fn width(&self) -> usize {
        usize::from(self.has_value) + usize::from(self.has_slot)
    }

    fn is_plain(&self) -> bool {
        let Self { location, scale, most, gap, has_value, has_slot } = *self;
        has_value && !has_slot && location == 0.0 && scale == 1.0 && most == f64::INFINITY && gap.is_nan()
    }
}

/// The features of rows of numbers, one entry of `columns` per number: each with its gap behind it. Some of the columns must
/// have a feature.
pub fn numbers(graph: &mut GraphBuilder, rows: &Value, columns: &[NumberColumn]) -> Value {
    if columns.iter().all(NumberColumn::is_plain) {
        return rows.clone();
    }
    let constant = |graph: &mut GraphBuilder, name, of: fn(&NumberColumn) -> f64| {
        let values: Vec<f32> = columns.iter().map(|column| of(column) as f32).collect();
        graph.constant(name, &[1, columns.len()], &values)
    };
    let location = constant(graph, "location", |column| column.location);
    let scale = constant(graph, "scale", |column| column.scale);
    let least = constant(graph, "least", |column| -column.most);
    let most = constant(graph, "most", |column| column.most);
    let gap = constant(graph, "gap", |column| column.gap);
    let centred = graph.node("Sub", &[rows, &location], &[]);
    let scaled = graph.node("Div", &[&centred, &scale], &[]);
    let raised = graph.node("Max", &[&scaled, &least], &[]);
    let cut = graph.node("Min", &[&raised, &most], &[]);
    let is_gap = graph.node("IsNaN", &[rows], &[]);
    let values = graph.node("Where", &[&is_gap, &gap, &cut], &[]);
    if columns.iter().all(|column| column.has_value && !column.has_slot) {
        return values;
    }

    // Numbers stand before slots; features in the order of columns.
    let slots = graph.node("Cast", &[&is_gap], &[("to", Attribute::Int(data_type::FLOAT.into()))]);
    let axis = [("axis", Attribute::Int(1))];
    let all = graph.node("Concat", &[&values, &slots], &axis);
    let places = columns.iter().enumerate().flat_map(|(at, column)| {
        [column.has_value.then_some(at), column.has_slot.then_some(columns.len() + at)].into_iter().flatten()
    });
    let places: Vec<i64> = places.map(|place| place.cast_signed() as i64).collect();
    let places = graph.constant_ints("places", &[places.len()], &places);
    graph.node("Gather", &[&all, &places], &axis)
}

/// From texts, one per row, to one feature per value: 1 where it stands. No value may be there twice.
pub fn one_of(graph: &mut GraphBuilder, texts: &Value, values: &[String]) -> Value {
    let attributes = [("cats_strings", Attribute::Texts(values.to_vec())), ("zeros", Attribute::Int(1))];
    let found = graph.node("ai.onnx.ml.OneHotEncoder", &[texts], &attributes);
    graph.reshape(&found, &[values.len()])
}

/// The sums of rows of so many features: of [`one_of`], whether any of the values stands there.
pub fn row_sums(graph: &mut GraphBuilder, rows: &Value, n_features: usize) -> Value {
    product(graph, rows, &vec![1.0; n_features], 1)
}

/// Rows times a matrix, which has `width` columns.
pub fn product(graph: &mut GraphBuilder, rows: &Value, matrix: &[f32], width: usize) -> Value {
    let matrix = graph.constant("matrix", &[matrix.len() / width, width], matrix);
    graph.node("MatMul", &[rows, &matrix], &[])
}

/// From numbers of buckets, one per row, to one feature per bucket. One beyond the last has features of zero.
pub fn one_hot(graph: &mut GraphBuilder, buckets: &Value, n_buckets: usize) -> Value {
    let depth = graph.constant_ints("buckets", &[1], &[n_buckets.cast_signed() as i64]);
    let off_and_on = graph.constant("off_and_on", &[2], &[0.0, 1.0]);
    let found = graph.node("OneHot", &[buckets, &depth, &off_and_on], &[]);
    graph.reshape(&found, &[n_buckets])
}
