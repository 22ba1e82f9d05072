//! From the inputs of a file to the features of its rows.

use efface_features::{ImageShape, ScatteringMap};
use efface_onnx::{
    Attribute, BATCH, Dim, Element, GraphBuilder, NumberColumn, Signature, TINY, Value, numbers, one_hot, one_of,
    product, row_sums, scaled, scattering,
};

use super::cells::{Becomes, Choices, Column, Holds};
use super::{FLOAT, OUTPUTS, ReleasedModel};
use crate::error::ExportError;
use crate::networks::exported;
use crate::schema::{ALL_COLUMNS, Missing};

/// What goes into a file.
#[derive(Default)]
pub(super) struct Inputs {
    /// Columns and what is given of them, one entry per input: those of a network first.
    pub(super) given: Vec<(Vec<String>, Holds)>,
    /// A file from some of the inputs to what the graph takes first.
    pub(super) network: Option<Vec<u8>>,
}

/// The features of all columns, and how many there are.
pub(super) fn features(
    model: &ReleasedModel<'_>,
    graph: &mut GraphBuilder,
    inputs: &mut Inputs,
) -> Result<(Value, usize), ExportError> {
    let columns = model.all_columns();
    columns.iter().try_for_each(check)?;
    let numbers: Option<Vec<NumberColumn>> = columns.iter().map(Column::as_number).collect();
    if let Some(numbers) = numbers {
        return table_of_numbers(graph, inputs, &columns, &numbers);
    }
    let from_network = of_network(model, &columns, graph, inputs)?;
    let (mut parts, mut width) = (Vec::new(), 0);
    for column in &columns {
        graph.scope(column.name);
        let features = match (&column.becomes, &from_network) {
            (Becomes::Network(spec), Some(features)) => {
                let flat = graph.reshape(features, &[spec.features]);
                Some((scaled(graph, &flat, spec.features, TINY), spec.features))
            }
            _ => of_column(graph, inputs, column),
        };
        let Some((features, n_features)) = features else { continue };
        width += n_features;
        if column.has_idle_slot {
            // No input says that the cell is missing, so it is there.
            let slot = product(graph, &features, &vec![0.0; n_features], 1);
            width += 1;
            parts.extend([features, slot]);
        } else {
            parts.push(features);
        }
    }
    graph.scope("model");
    if parts.is_empty() { Err(ExportError::NoFeatures) } else { Ok((side_by_side(graph, parts), width)) }
}

/// What the network gives, if there is one. It is the first that the graph takes.
fn of_network(
    model: &ReleasedModel<'_>,
    columns: &[Column<'_>],
    graph: &mut GraphBuilder,
    inputs: &mut Inputs,
) -> Result<Option<Value>, ExportError> {
    let mut networks = columns.iter().filter_map(|column| match &column.becomes {
        Becomes::Network(spec) => Some((column.name, *spec)),
        _ => None,
    });
    let Some((column, spec)) = networks.next() else { return Ok(None) };
    if let Some((second, _)) = networks.next() {
        return Err(ExportError::TwoNetworks { first: column.into(), second: second.into() });
    }
    let places = model.schema.map(|schema| schema.network_places().clone()).unwrap_or_default();
    let file = exported(spec, &input_name(column), &places)
        .map_err(|source| ExportError::Network { column: column.into(), source: Box::new(source) })?;
    let n_inputs = Signature::of(&file)?.inputs.len();
    inputs.given.extend(std::iter::repeat_n((vec![column.into()], Holds::of_network(&spec.input)), n_inputs));
    inputs.network = Some(file);
    Ok(Some(graph.input_of_any_shape(FROM_NETWORK, FLOAT)))
}

impl Column<'_> {
    /// What becomes of it, if it is a number or nothing.
    fn as_number(&self) -> Option<NumberColumn> {
        match self.becomes {
            Becomes::Number(column) => Some(column),
            Becomes::Nothing => Some(NumberColumn { has_value: false, ..NumberColumn::PLAIN }),
            _ => None,
        }
    }
}

/// One input for all columns.
fn table_of_numbers(
    graph: &mut GraphBuilder,
    inputs: &mut Inputs,
    columns: &[Column<'_>],
    of: &[NumberColumn],
) -> Result<(Value, usize), ExportError> {
    let width = of.iter().map(NumberColumn::width).sum();
    if width == 0 {
        return Err(ExportError::NoFeatures);
    }
    let names = columns.iter().map(|column| column.name.to_owned()).collect();
    inputs.given.push((names, Holds::Numbers));
    let rows = graph.input(ALL, FLOAT, &[BATCH, Dim::Fixed(columns.len())]);
    graph.scope("columns");
    Ok((numbers(graph, &rows, of), width))
}

/// The input of a column and its features; none where nothing becomes of it.
fn of_column(graph: &mut GraphBuilder, inputs: &mut Inputs, column: &Column<'_>) -> Option<(Value, usize)> {
    let mut input = |graph: &mut GraphBuilder, element, sides: &[usize], holds| {
        let sides: Vec<Dim> = std::iter::once(BATCH).chain(sides.iter().copied().map(Dim::Fixed)).collect();
        inputs.given.push((vec![column.name.to_owned()], holds));
        graph.input(&input_name(column.name), element, &sides)
    };
    Some(match &column.becomes {
        Becomes::Nothing | Becomes::Network(_) => return None,
        Becomes::Number(number) => {
            let cell = input(graph, FLOAT, &[1], Holds::Numbers);
            (numbers(graph, &cell, &[*number]), number.width())
        }
        Becomes::Vector(elements) => {
            let cell = input(graph, FLOAT, &[elements.len()], Holds::Numbers);
            (numbers(graph, &cell, elements), elements.iter().map(NumberColumn::width).sum())
        }
        Becomes::Texts(choices) => {
            let cell = input(graph, Element::Text, &[1], Holds::Texts);
            chosen(graph, &cell, choices)
        }
        Becomes::Truth { yes, no, missing, gaps } => {
            let cell = input(graph, Element::Text, &[1], Holds::Texts);
            let [is_true, is_false] = [yes, no].map(|values| is_among(graph, &cell, values));
            let mut truth = graph.node("Sub", &[&is_true, &is_false], &[]);
            let is_gap = is_among(graph, &cell, gaps);
            if let Missing::Value(value) = missing {
                let filling = if yes.contains(&value.spelling()) { 1.0 } else { -1.0 };
                let filling = product(graph, &is_gap, &[filling], 1);
                truth = graph.node("Add", &[&truth, &filling], &[]);
            }
            let has_slot = **missing == Missing::Slot;
            let parts = std::iter::once(truth).chain(has_slot.then_some(is_gap)).collect();
            (side_by_side(graph, parts), 1 + usize::from(has_slot))
        }
        Becomes::Bucket { buckets, has_slot } => {
            let cell = input(graph, Element::Int, &[1], Holds::Bucket { buckets: *buckets, gap: *buckets });
            let width = buckets + usize::from(*has_slot);
            (one_hot(graph, &cell, width), width)
        }
        Becomes::Ngrams { spec, width } => (input(graph, FLOAT, &[*width], Holds::Ngrams(*spec)), *width),
        Becomes::Made { n_features } => {
            let made = input(graph, FLOAT, &[*n_features], Holds::Numbers);
            (scaled(graph, &made, *n_features, TINY), *n_features)
        }
        Becomes::Image(shape) => {
            let ImageShape { height, width, channels, .. } = *shape;
            let pixels = input(graph, FLOAT, &[height, width, channels], Holds::Pixels);
            let map = ScatteringMap::new(*shape).expect(CHECKED);
            (scattering(graph, &pixels, &map), map.n_features())
        }
    })
}

/// One feature per value, and those of all others and of gaps.
fn chosen(graph: &mut GraphBuilder, cell: &Value, choices: &Choices) -> (Value, usize) {
    let Choices { values, gaps, has_others, has_slot, filling } = choices;
    let n = values.len();
    let is_gap = is_among(graph, cell, gaps);
    let mut parts = Vec::new();
    let others = if values.is_empty() {
        None
    } else {
        let mut found = one_of(graph, cell, values);
        let known = row_sums(graph, &found, n);
        if let Some(filling) = filling {
            let place: Vec<f32> = (0..n).map(|at| f32::from(u8::from(at == *filling))).collect();
            let filled = product(graph, &is_gap, &place, n);
            found = graph.node("Add", &[&found, &filled], &[]);
        }
        parts.push(found);
        Some(known)
    };
    if *has_others {
        let one = graph.constant("one", &[1], &[1.0]);
        let there = graph.node("Sub", &[&one, &is_gap], &[]);
        parts.push(others.map_or(there.clone(), |known| graph.node("Sub", &[&there, &known], &[])));
    }
    if *has_slot {
        parts.push(is_gap);
    }
    (side_by_side(graph, parts), n + usize::from(*has_others) + usize::from(*has_slot))
}

/// Whether one of these texts stands there: 1 or 0.
fn is_among(graph: &mut GraphBuilder, cell: &Value, texts: &[String]) -> Value {
    let found = one_of(graph, cell, texts);
    row_sums(graph, &found, texts.len())
}

fn side_by_side(graph: &mut GraphBuilder, mut parts: Vec<Value>) -> Value {
    if parts.len() == 1 {
        return parts.swap_remove(0);
    }
    let parts: Vec<&Value> = parts.iter().collect();
    graph.node("Concat", &parts, &[("axis", Attribute::Int(1))])
}

/// What the input of a column is called.
fn input_name(column: &str) -> String {
    match column {
        ALL_COLUMNS => ALL.into(),
        name if OUTPUTS.contains(&name) => format!("{name}_"),
        name => name.into(),
    }
}

/// Refuses constants that single precision does not have.
fn check(column: &Column<'_>) -> Result<(), ExportError> {
    let numbers = match &column.becomes {
        Becomes::Number(number) => std::slice::from_ref(number),
        Becomes::Vector(elements) => elements,
        _ => return Ok(()),
    };
    let is_single = |number: &NumberColumn| (number.location as f32).is_finite() && (number.scale as f32).is_normal();
    if numbers.iter().all(is_single) { Ok(()) } else { Err(ExportError::BeyondSingle { column: column.name.into() }) }
}

/// Why a map can be built.
pub(super) const CHECKED: &str = "the parameters in a schema are checked when it is read";

/// What a network gives, until it is joined with it: the name of no column.
const FROM_NETWORK: &str = "model/network";

/// The input of all columns of a table of numbers.
const ALL: &str = "X";
