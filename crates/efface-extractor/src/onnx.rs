//! A network as an ONNX file.

use efface_onnx::{Attribute, Dim, Element, GraphBuilder, GraphError, Value};

use crate::architecture::{Activation, Architecture, Place};
use crate::example::LEAST_VARIANCE;
use crate::network::Network;

impl Network {
    /// The file: `images` (batch × height × width × channels, brightness from 0 to 1) to `features` and `scores`.
    pub fn to_onnx(&self) -> Result<Vec<u8>, GraphError> {
        let Architecture { height, width, channels, n_classes, n_features, .. } = *self.architecture();
        let mut graph = GraphBuilder::new("efface-extractor");
        let sides = [Dim::Free("batch"), Dim::Fixed(height), Dim::Fixed(width), Dim::Fixed(channels)];
        let images = graph.input("images", Element::Float, &sides);
        let standard = standardized(&mut graph, &images);
        let mut value = transposed(&mut graph, &standard, [0, 3, 1, 2]);
        let mut depth = channels;
        let [first, second, features, scores] = &self.layout.places;
        for (name, place) in [("first", first), ("second", second)] {
            value = self.convolved(&mut graph, &value, name, place, depth);
            depth = place.outputs;
        }
        // Features count pixels before channels, as the weights do.
        let value = transposed(&mut graph, &value, [0, 2, 3, 1]);
        let value = graph.node("Flatten", &[&value], &[("axis", Attribute::Int(1))]);
        let value = self.dense(&mut graph, &value, "features", features);
        let value = self.bent(&mut graph, &value);
        graph.output("features", &value, Element::Float, &[Dim::Free("batch"), Dim::Fixed(n_features)]);
        let value = self.dense(&mut graph, &value, "scores", scores);
        graph.output("scores", &value, Element::Float, &[Dim::Free("batch"), Dim::Fixed(n_classes)]);
        graph.finish()
    }

    fn convolved(&self, graph: &mut GraphBuilder, input: &Value, name: &str, place: &Place, depth: usize) -> Value {
        let (kernel, filters) = (self.architecture().kernel, place.outputs);
        let ours = &self.weights[place.weights.clone()];
        // From (row, column, channel, filter) to (filter, channel, row, column).
        let area = kernel * kernel;
        let entry = |i: usize| ours[(i % area * depth + i / area % depth) * filters + i / area / depth];
        let theirs: Vec<f32> = (0..ours.len()).map(entry).collect();
        let weights = graph.constant(&format!("{name}_weights"), &[filters, depth, kernel, kernel], &theirs);
        let biases = graph.constant(&format!("{name}_biases"), &[filters], &self.weights[place.biases.clone()]);
        let response = graph.node("Conv", &[input, &weights, &biases], &[]);
        let two = || Attribute::Ints(vec![2, 2]);
        let pooled = graph.node("MaxPool", &[&response], &[("kernel_shape", two()), ("strides", two())]);
        self.bent(graph, &pooled)
    }

    fn dense(&self, graph: &mut GraphBuilder, input: &Value, name: &str, place: &Place) -> Value {
        let dims = [place.weights.len() / place.outputs, place.outputs];
        let weights = graph.constant(&format!("{name}_weights"), &dims, &self.weights[place.weights.clone()]);
        let biases = graph.constant(&format!("{name}_biases"), &dims[1..], &self.weights[place.biases.clone()]);
        let product = graph.node("MatMul", &[input, &weights], &[]);
        graph.node("Add", &[&product, &biases], &[])
    }

    fn bent(&self, graph: &mut GraphBuilder, input: &Value) -> Value {
        let operator = match self.architecture().activation {
            Activation::Relu => "Relu",
            Activation::Tanh => "Tanh",
        };
        graph.node(operator, &[input], &[])
    }
}

/// `(x − mean)/√(variance + 64/255²)` over each image, x = pixel/255: the same as with pixels and 64.
fn standardized(graph: &mut GraphBuilder, images: &Value) -> Value {
    // Twice: the mean is rounded as numbers of the size of pixels are, which tells in an image without contrast.
    let mut centred = images.clone();
    for _ in 0..2 {
        let mean = mean_of_image(graph, &centred);
        centred = graph.node("Sub", &[&centred, &mean], &[]);
    }
    let squares = graph.node("Mul", &[&centred, &centred], &[]);
    let variance = mean_of_image(graph, &squares);
    let least = graph.constant("least_variance", &[], &[(LEAST_VARIANCE / (255.0 * 255.0)) as f32]);
    let raised = graph.node("Add", &[&variance, &least], &[]);
    let deviation = graph.node("Sqrt", &[&raised], &[]);
    graph.node("Div", &[&centred, &deviation], &[])
}

fn mean_of_image(graph: &mut GraphBuilder, value: &Value) -> Value {
    graph.node("ReduceMean", &[value], &[("axes", Attribute::Ints(vec![1, 2, 3]))])
}

fn transposed(graph: &mut GraphBuilder, value: &Value, order: [i64; 4]) -> Value {
    graph.node("Transpose", &[value], &[("perm", Attribute::Ints(order.to_vec()))])
}
