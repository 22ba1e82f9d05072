//! Networks of images: sizes, layouts, batches, and what is refused.

use efface_onnx::{Attribute, Dim, Element, GraphBuilder, ImageInput, ImageNetwork, prepend};

use crate::{assert_close, numbers};

const BATCH: Dim = Dim::Free("batch");
const HEIGHT: usize = 6;
const WIDTH: usize = 4;
const CHANNELS: usize = 3;
const FILTERS: usize = 5;
const FEATURES: usize = 7;

/// Convolution of 3 × 3, ReLU, maxima of 2 × 2, and a dense layer.
struct Weights {
    filters: Vec<f32>,
    biases: Vec<f32>,
    dense: Vec<f32>,
}

impl Weights {
    fn new() -> Self {
        let n_pooled = FILTERS * HEIGHT / 2 * WIDTH / 2;
        Self {
            filters: numbers(FILTERS * CHANNELS * 9, 1),
            biases: numbers(FILTERS, 2),
            dense: numbers(n_pooled * FEATURES, 3),
        }
    }

    fn file(&self, input: &[Dim], channels_last: bool) -> Vec<u8> {
        let mut graph = GraphBuilder::new("network");
        let mut value = graph.input("pixels", Element::Float, input);
        if channels_last {
            value = graph.node("Transpose", &[&value], &[("perm", Attribute::Ints(vec![0, 3, 1, 2]))]);
        }
        let filters = graph.constant("filters", &[FILTERS, CHANNELS, 3, 3], &self.filters);
        let biases = graph.constant("biases", &[FILTERS], &self.biases);
        value = graph.node("Conv", &[&value, &filters, &biases], &[("pads", Attribute::Ints(vec![1; 4]))]);
        value = graph.node("Relu", &[&value], &[]);
        let square = Attribute::Ints(vec![2, 2]);
        value = graph.node("MaxPool", &[&value], &[("kernel_shape", square.clone()), ("strides", square)]);
        value = graph.node("Flatten", &[&value], &[]);
        let dense = graph.constant("dense", &[self.dense.len() / FEATURES, FEATURES], &self.dense);
        value = graph.node("Gemm", &[&value, &dense], &[]);
        graph.output("features", &value, Element::Float, &[input[0], Dim::Fixed(FEATURES)]);
        graph.finish().unwrap()
    }

    /// The same by plain loops, of one image with its channels together.
    fn features(&self, image: &[u8], input: &ImageInput) -> Vec<f32> {
        let at = |channel: usize, y: usize, x: usize| {
            let pixel = f32::from(image[((y - 1) * WIDTH + x - 1) * CHANNELS + channel]);
            (pixel / 255.0 - input.mean[channel]) / input.deviation[channel]
        };
        let is_inside = |y: usize, x: usize| (1..=HEIGHT).contains(&y) && (1..=WIDTH).contains(&x);
        let filtered = |filter: usize, y: usize, x: usize| {
            let mut sum = self.biases[filter];
            for (channel, dy, dx) in (0..CHANNELS * 9).map(|i| (i / 9, i % 9 / 3, i % 3)) {
                if is_inside(y + dy, x + dx) {
                    sum += self.filters[(filter * CHANNELS + channel) * 9 + dy * 3 + dx] * at(channel, y + dy, x + dx);
                }
            }
            sum.max(0.0)
        };
        let mut pooled = Vec::new();
        for (filter, y, x) in (0..FILTERS * HEIGHT / 2 * WIDTH / 2).map(|i| (i / 6, i % 6 / 2, i % 2)) {
            let four = [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(dy, dx)| filtered(filter, 2 * y + dy, 2 * x + dx));
            pooled.push(four.into_iter().fold(0.0, f32::max));
        }
        let feature = |j: usize| pooled.iter().enumerate().map(|(i, v)| v * self.dense[i * FEATURES + j]).sum();
        (0..FEATURES).map(feature).collect()
    }
}

fn input() -> ImageInput {
    let (mean, deviation) = (vec![0.5, 0.25, 0.1], vec![0.2, 0.3, 1.0]);
    ImageInput { height: HEIGHT, width: WIDTH, channels: CHANNELS, mean, deviation }
}

fn pixels(n: usize) -> Vec<u8> {
    (0..n * HEIGHT * WIDTH * CHANNELS).map(|i| (i * 7919 % 251) as u8).collect()
}

fn fixed(sides: [usize; 3]) -> Vec<Dim> {
    std::iter::once(BATCH).chain(sides.map(Dim::Fixed)).collect()
}

fn refused(file: &[u8], input: &ImageInput) -> String {
    ImageNetwork::open(file, input).err().expect("is refused").to_string()
}

#[test]
fn features_are_those_of_plain_loops_in_any_layout_and_batch() {
    let weights = Weights::new();
    let images = pixels(70);
    let expected: Vec<f32> =
        images.chunks(HEIGHT * WIDTH * CHANNELS).flat_map(|image| weights.features(image, &input())).collect();
    let free = [BATCH, Dim::Free("channels"), Dim::Free("height"), Dim::Free("width")];
    let in_fours = [4, CHANNELS, HEIGHT, WIDTH].map(Dim::Fixed);
    for (shape, channels_last) in [
        (&fixed([CHANNELS, HEIGHT, WIDTH])[..], false),
        (&fixed([HEIGHT, WIDTH, CHANNELS])[..], true),
        (&free[..], false),
        (&in_fours[..], false),
    ] {
        let network = ImageNetwork::open(&weights.file(shape, channels_last), &input()).unwrap();
        assert_eq!((network.n_inputs(), network.n_features()), (HEIGHT * WIDTH * CHANNELS, FEATURES));
        let mut out = vec![f32::NAN; expected.len()];
        network.apply(&images, &mut out).unwrap();
        assert_close(&out, &expected, 1e-4);

        let mut alone = vec![f32::NAN; FEATURES];
        for (image, out) in images.chunks(network.n_inputs()).zip(out.chunks(FEATURES)) {
            network.apply(image, &mut alone).unwrap();
            assert_eq!(alone, out);
        }
        let floats: Vec<f32> = images.iter().map(|v| f32::from(*v)).collect();
        let mut again = vec![f32::NAN; expected.len()];
        network.apply(&floats, &mut again).unwrap();
        assert_eq!(again, out);
    }
}

/// The file that takes images as they are is one of images with channels last, mean 0 and deviation 1/255.
#[test]
fn a_network_with_its_front_takes_images_as_they_are() {
    let weights = Weights::new();
    let images = pixels(5);
    let as_they_are = ImageInput { mean: vec![0.0; 3], deviation: vec![1.0 / 255.0; 3], ..input() };
    for (shape, channels_last) in [([CHANNELS, HEIGHT, WIDTH], false), ([HEIGHT, WIDTH, CHANNELS], true)] {
        let file = weights.file(&fixed(shape), channels_last);
        let network = ImageNetwork::open(&file, &input()).unwrap();
        let whole = ImageNetwork::open(&prepend(network.front("pictures"), &file).unwrap(), &as_they_are).unwrap();
        let apply = |network: &ImageNetwork| {
            let mut out = vec![f32::NAN; 5 * FEATURES];
            network.apply(&images, &mut out).unwrap();
            out
        };
        assert_close(&apply(&whole), &apply(&network), 1e-4);
    }
}

/// Whatever else comes in: features that depended on other rows would tell of rows that were removed.
#[test]
fn a_network_that_mixes_the_rows_of_a_batch_sees_one_at_a_time() {
    for batch in [BATCH, Dim::Fixed(3)] {
        let mut graph = GraphBuilder::new("mixes");
        let sides = [batch, Dim::Fixed(1), Dim::Fixed(1), Dim::Fixed(2)];
        let images = graph.input("images", Element::Float, &sides);
        let axis = graph.constant_ints("axis", &[1], &[0]);
        let sum = graph.node("ReduceSum", &[&images, &axis], &[("keepdims", Attribute::Int(1))]);
        let mixed = graph.node("Add", &[&images, &sum], &[]);
        let features = graph.node("Flatten", &[&mixed], &[]);
        graph.output("features", &features, Element::Float, &[batch, Dim::Fixed(2)]);
        let input = ImageInput { height: 1, width: 2, channels: 1, mean: vec![0.0], deviation: vec![1.0] };
        let network = ImageNetwork::open(&graph.finish().unwrap(), &input).unwrap();
        let mut out = [f32::NAN; 6];
        network.apply(&[0_u8, 51, 102, 153, 204, 255], &mut out).unwrap();
        assert_close(&out, &[0.0, 0.4, 0.8, 1.2, 1.6, 2.0], 1e-6);
    }
}

#[test]
fn networks_are_used_by_many_threads() {
    let network = ImageNetwork::open(&Weights::new().file(&fixed([CHANNELS, HEIGHT, WIDTH]), false), &input()).unwrap();
    let images = pixels(3);
    let features = || {
        let mut out = vec![0.0; 3 * FEATURES];
        network.apply(&images, &mut out).unwrap();
        out
    };
    let first = features();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(features)).collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), first);
        }
    });
}

#[test]
fn rows_that_cannot_be_are_named() {
    let file = Weights::new().file(&fixed([CHANNELS, HEIGHT, WIDTH]), false);
    let network = ImageNetwork::open(&file, &input()).unwrap();
    let n = network.n_inputs();
    let error = |images: &[f32], n_out: usize| network.apply(images, &mut vec![0.0; n_out]).unwrap_err().to_string();
    assert_eq!(error(&[0.0; 73], 0), "images must have 72 numbers each, got 73 numbers in all");
    assert_eq!(error(&[0.0; 144], 7), "the output of 2 rows must have 14 numbers, got 7");
    let mut images = vec![0.5; 40 * n];
    images[35 * n + 4] = f32::NAN;
    assert_eq!(error(&images, 40 * FEATURES), "value 4 must be finite, got `NaN`");
    // Finite, and too large for what is done with it.
    images[35 * n + 4] = 3e38;
    let network = ImageNetwork::open(&file, &ImageInput { deviation: vec![1e-3; 3], ..input() }).unwrap();
    let error = network.apply(&images, &mut [0.0; 40 * FEATURES]).unwrap_err().to_string();
    assert!(error.starts_with("the network's feature ") && error.contains(" is `"), "{error}");
}

#[test]
fn networks_that_do_not_fit_are_refused() {
    let weights = Weights::new();
    let file = weights.file(&fixed([CHANNELS, HEIGHT, WIDTH]), false);
    assert_eq!(
        refused(&file, &ImageInput { height: 8, ..input() }),
        "the network takes [?, 3, 6, 4], not images of height 8, width 4 and 3 channels (as batch, channels, height, \
         width or batch, height, width, channels)"
    );
    let mean = vec![0.0];
    assert_eq!(refused(&file, &ImageInput { mean, ..input() }), "mean must have 3 numbers, one per channel, got 1");
    let deviation = vec![1.0, 0.0, 1.0];
    let input_with = ImageInput { deviation, ..input() };
    assert_eq!(refused(&file, &input_with), "deviation must be positive and finite, got `0`");
    assert_eq!(refused(&file, &ImageInput { channels: 4, ..input() }), "channels must be 1 or 3, got `4`");

    assert!(refused(&file[..file.len() / 2], &input()).starts_with("not an ONNX model: "));
    assert!(refused(b"no model", &input()).starts_with("not an ONNX model: "));
    assert_eq!(refused(&[], &input()), "not an ONNX model: it has no graph");
}

/// A network of one operator.
fn of_one(operator: &str, element: Element) -> Vec<u8> {
    let mut graph = GraphBuilder::new("network");
    let shape = fixed([CHANNELS, HEIGHT, WIDTH]);
    let pixels = graph.input("pixels", element, &shape);
    let value = graph.node(operator, &[&pixels], &[]);
    graph.output("features", &value, element, &[BATCH, Dim::Free("features")]);
    graph.finish().unwrap()
}

#[test]
fn networks_that_cannot_be_run_are_refused() {
    let unknown = refused(&of_one("Unheard", Element::Float), &input());
    assert!(unknown.starts_with("ONNX Runtime refuses the network: ") && unknown.contains("Unheard"), "{unknown}");
    let ints = refused(&of_one("Flatten", Element::Int), &input());
    assert_eq!(ints, "the network's first output `features` is not of 32-bit floats");
    let shape = fixed([CHANNELS, HEIGHT, WIDTH]);
    let mut graph = GraphBuilder::new("network");
    let pixels = graph.input("pixels", Element::Float, &shape);
    let value = graph.node("Relu", &[&pixels], &[]);
    graph.output("features", &value, Element::Float, &shape);
    assert_eq!(
        refused(&graph.finish().unwrap(), &input()),
        "the network's first output is [1, 3, 6, 4], expected batch and features; end the network with GlobalAveragePool \
         and Flatten"
    );
    let mut graph = GraphBuilder::new("network");
    let pixels = graph.input("pixels", Element::Float, &shape);
    let other = graph.input("other", Element::Float, &shape);
    let value = graph.node("Add", &[&pixels, &other], &[]);
    graph.output("features", &value, Element::Float, &shape);
    let two = refused(&graph.finish().unwrap(), &input());
    assert_eq!(two, "a network of images must have one input, got `pixels`, `other`");
}

/// Nothing in the file contradicts itself, but the shapes do once an image is run through it.
#[test]
fn networks_that_fail_at_a_first_image_are_refused() {
    let mut graph = GraphBuilder::new("network");
    let free = [BATCH, Dim::Free("channels"), Dim::Free("height"), Dim::Free("width")];
    let pixels = graph.input("pixels", Element::Float, &free);
    let flat = graph.node("Flatten", &[&pixels], &[]);
    let dense = graph.constant("dense", &[5, 2], &[0.0; 10]);
    let value = graph.node("MatMul", &[&flat, &dense], &[]);
    graph.output("features", &value, Element::Float, &[BATCH, Dim::Fixed(2)]);
    let error = refused(&graph.finish().unwrap(), &input());
    assert!(error.starts_with("the network fails on a first row: "), "{error}");
}
