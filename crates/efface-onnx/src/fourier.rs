//! Random Fourier features as operators.

use efface_features::FourierMap;

use crate::graph::{GraphBuilder, Value};

/// Random Fourier features of rows. They are those of the map to about 1e-5: sums are added up in another order.
pub fn fourier(graph: &mut GraphBuilder, rows: &Value, map: &FourierMap) -> Value {
    let width = map.n_features();
    let projection = graph.constant("projection", &[map.n_inputs(), width], &map.projection());
    let phases = graph.constant("phases", &[width], map.phases());
    let share = graph.constant("share", &[1], &[map.share()]);
    let projected = graph.node("MatMul", &[rows, &projection], &[]);
    let angles = graph.node("Add", &[&projected, &phases], &[]);
    let cosines = graph.node("Cos", &[&angles], &[]);
    graph.node("Mul", &[&cosines, &share], &[])
}
