//! Fixed maps as operators, so that a file takes raw rows.

use efface_features::{FeatureMap, FourierMap};

use crate::error::HeadError;
use crate::graph::{Dim, Element, GraphBuilder, Value};
use crate::head::BATCH;
use crate::scattering;

/// Begins a graph with its input, raw rows, and a map of them; gives their features. They are those of the map to about
/// 1e-5: sums are added up in another order.
///
/// The input of numbers is `X`, batch and numbers; that of images is `pixels`, batch, height, width and channels, of any
/// brightness and contrast. N-grams are hashed with SHA-256 or the like, for which there is no operator.
pub fn raw_rows(graph: &mut GraphBuilder, map: &FeatureMap) -> Result<Value, HeadError> {
    match map {
        FeatureMap::Fourier(map) => {
            let rows = graph.input("X", Element::Float, &[BATCH, Dim::Fixed(map.n_inputs())]);
            Ok(fourier(graph, &rows, map))
        }
        FeatureMap::Scattering(map) => {
            let (height, width, channels) = map.scattering().shape();
            let sides = [BATCH, Dim::Fixed(height), Dim::Fixed(width), Dim::Fixed(channels)];
            let pixels = graph.input("pixels", Element::Float, &sides);
            let features = scattering::scattering(graph, &pixels, map.scattering());
            Ok(map.fourier().map_or(features.clone(), |layer| fourier(graph, &features, layer)))
        }
        FeatureMap::Ngrams(_) => Err(HeadError::Ngrams),
    }
}

/// Random Fourier features of rows.
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
