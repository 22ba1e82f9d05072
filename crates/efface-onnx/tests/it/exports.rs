//! Heads and fixed maps as operators, beside the models and maps that they stand for.

use efface_features::{FourierLayer, FourierMap, ImageShape, ScatteringMap};
use efface_onnx::{
    Answer, Dim, Element, GraphBuilder, ImageInput, ImageNetwork, Labels, LinearHead, Link, TINY, Value, compose,
    scaled,
};

use crate::{assert_close, numbers};

const D: usize = 6;

/// Runs a graph on rows of D numbers.
fn run(rows: &[f32], build: impl FnOnce(&mut GraphBuilder, &Value) -> (Value, usize)) -> Vec<f32> {
    let mut graph = GraphBuilder::new("head");
    let input = graph.input("rows", Element::Float, &[Dim::Free("batch"), Dim::Fixed(1), Dim::Fixed(1), Dim::Fixed(D)]);
    let rows_value = graph.reshape(&input, &[D]);
    let (value, n) = build(&mut graph, &rows_value);
    graph.output("out", &value, Element::Float, &[Dim::Free("batch"), Dim::Fixed(n)]);
    as_rows(&graph.finish().unwrap(), rows, 1, D, 1)
}

/// Runs a file on images as they are.
fn as_rows(file: &[u8], rows: &[f32], height: usize, width: usize, channels: usize) -> Vec<f32> {
    let (mean, deviation) = (vec![0.0; channels], vec![1.0 / 255.0; channels]);
    let network = ImageNetwork::open(file, &ImageInput { height, width, channels, mean, deviation }).unwrap();
    let mut out = vec![f32::NAN; rows.len() / network.n_inputs() * network.n_features()];
    network.apply(rows, &mut out).unwrap();
    out
}

fn head(n_scores: usize, link: Link) -> LinearHead {
    let labels = Labels::Ints((10..).take(n_scores.max(2)).collect());
    let answer = Answer::Label { labels, link };
    LinearHead { weights: numbers(n_scores * D, 5), intercepts: numbers(n_scores, 6), answer }
}

fn scores(head: &LinearHead, row: &[f32]) -> Vec<f32> {
    let of = |(w, b): (&[f32], &f32)| b + w.iter().zip(row).map(|(w, v)| w * v).sum::<f32>();
    head.weights.chunks(D).zip(&head.intercepts).map(of).collect()
}

fn sigmoid(score: f32) -> f32 {
    1.0 / (1.0 + (-score).exp())
}

#[test]
fn heads_say_what_the_model_says() {
    let rows = numbers(40 * D, 7);
    for (n_scores, link) in [
        (1, Link::Logistic),
        (1, Link::Scores),
        (3, Link::Logistic),
        (3, Link::Scores),
        (3, Link::Softmax),
        (2, Link::Softmax),
    ] {
        let head = head(n_scores, link);
        let found = run(&rows, |graph, rows| (head.append(graph, rows).unwrap().numbers, n_scores.max(2)));
        let labels = run(&rows, |graph, rows| {
            let label = head.append(graph, rows).unwrap().label.unwrap();
            let label = graph.node("Cast", &[&label], &[("to", efface_onnx::Attribute::Int(1))]);
            (graph.reshape(&label, &[1]), 1)
        });
        for ((row, found), label) in rows.chunks(D).zip(found.chunks(n_scores.max(2))).zip(labels) {
            let mut expected = scores(&head, row);
            if n_scores == 1 {
                expected.insert(0, -expected[0]);
            }
            let largest = (0..expected.len()).max_by(|a, b| expected[*a].total_cmp(&expected[*b])).unwrap();
            match link {
                Link::Scores => (),
                Link::Logistic => expected = expected.into_iter().map(sigmoid).collect(),
                Link::Softmax => expected = expected.into_iter().map(f32::exp).collect(),
            }
            if link != Link::Scores {
                let sum: f32 = expected.iter().sum();
                expected = expected.iter().map(|s| s / sum).collect();
            }
            assert_close(found, &expected, 1e-5);
            assert_eq!(label, 10.0 + largest as f32);
        }
    }
    let head = LinearHead { answer: Answer::Number, ..head(1, Link::Scores) };
    let found = run(&rows, |graph, rows| (head.append(graph, rows).unwrap().numbers, 1));
    assert_close(&found, &rows.chunks(D).flat_map(|row| scores(&head, row)).collect::<Vec<_>>(), 1e-5);
}

#[test]
fn rows_are_scaled_by_their_norm_or_a_least_one() {
    let mut rows = numbers(4 * D, 8);
    rows[..D].fill(0.0);
    rows[2 * D..3 * D].iter_mut().for_each(|v| *v *= 1e-3);
    for least in [TINY, 0.5] {
        let found = run(&rows, |graph, rows| (scaled(graph, rows, D, least), D));
        let norm = |row: &[f32]| row.iter().map(|v| v * v).sum::<f32>().sqrt();
        let expected: Vec<f32> = rows.chunks(D).flat_map(|row| row.iter().map(|v| v / norm(row).max(least))).collect();
        assert_close(&found, &expected, 1e-6);
    }
}

#[test]
fn heads_that_cannot_be_are_refused() {
    let error = |head: LinearHead| {
        let mut graph = GraphBuilder::new("head");
        let rows = graph.input("rows", Element::Float, &[Dim::Free("batch"), Dim::Fixed(D)]);
        head.finish(&mut graph, &rows).unwrap_err().to_string()
    };
    let answer = |n: i64, link| Answer::Label { labels: Labels::Ints((0..n).collect()), link };
    let three = head(3, Link::Logistic);
    assert_eq!(
        error(LinearHead { answer: answer(2, Link::Logistic), ..three.clone() }),
        "3 scores do not tell 2 labels apart"
    );
    let two = head(2, Link::Softmax);
    assert_eq!(error(LinearHead { answer: answer(2, Link::Logistic), ..two }), "2 scores do not tell 2 labels apart");
    assert_eq!(error(head(1, Link::Softmax)), "1 scores do not tell 2 labels apart");
    assert_eq!(error(LinearHead { answer: Answer::Number, ..three.clone() }), "a prediction needs one score, got 3");
    let weights = vec![1.0; 16];
    assert_eq!(
        error(LinearHead { weights, ..three.clone() }),
        "16 weights are not a whole number of features for each of 3 scores"
    );
    assert_eq!(error(LinearHead { intercepts: vec![f32::NAN; 3], ..three }), "weights must be finite, got `NaN`");
}

#[test]
fn fourier_features_are_those_of_the_map() {
    let map = FourierMap::new(D, FourierLayer { width: 50, length_scale: 0.5, seed: 3 }).unwrap();
    let rows = numbers(64 * D, 9);
    let found = run(&rows, |graph, rows| (efface_onnx::fourier(graph, rows, &map), 50));
    let mut expected = vec![0.0; 64 * 50];
    map.apply_block(&rows, &mut expected).unwrap();
    assert_close(&found, &expected, 1e-5);
}

#[test]
fn scattering_features_are_those_of_the_map() {
    for (height, width, channels) in [(8, 12, 3), (16, 8, 1), (32, 32, 3)] {
        let map = ScatteringMap::new(ImageShape { height, width, channels, resize: false }).unwrap();
        let mut graph = GraphBuilder::new("scattering");
        let sides = [height, width, channels].map(Dim::Fixed);
        let pixels = graph.input("pixels", Element::Float, &[Dim::Free("batch"), sides[0], sides[1], sides[2]]);
        let features = efface_onnx::scattering(&mut graph, &pixels, &map);
        graph.output("out", &features, Element::Float, &[Dim::Free("batch"), Dim::Fixed(map.n_features())]);
        let n = height * width * channels;
        let mut images: Vec<f32> = numbers(5 * n, 10).iter().map(|v| (v + 1.0) * 127.5).collect();
        // One colour, of which rounding makes contrast.
        images[..n].fill(0.1);
        let found = as_rows(&graph.finish().unwrap(), &images, height, width, channels);
        let mut expected = vec![0.0; found.len()];
        map.apply_block(&images, &mut expected).unwrap();
        assert_close(&found, &expected, 1e-5);
    }
}

/// A network, its features scaled, a Fourier layer and a head: one file, from rows to probabilities.
#[test]
fn a_network_and_its_head_are_one_file() {
    let mut graph = GraphBuilder::new("network");
    let input = graph.input("pixels", Element::Float, &[Dim::Free("n"), Dim::Fixed(1), Dim::Fixed(1), Dim::Fixed(D)]);
    let rows_value = graph.reshape(&input, &[D]);
    let relu = graph.node("Relu", &[&rows_value], &[]);
    graph.output("features", &relu, Element::Float, &[Dim::Free("n"), Dim::Fixed(D)]);
    let network = graph.finish().unwrap();

    let map = FourierMap::new(D, FourierLayer { width: D, length_scale: 1.0, seed: 1 }).unwrap();
    let linear = head(3, Link::Softmax);
    let mut graph = GraphBuilder::new("head");
    let features = graph.input("features", Element::Float, &[Dim::Free("batch"), Dim::Fixed(D)]);
    let unit = scaled(&mut graph, &features, D, TINY);
    let cosines = efface_onnx::fourier(&mut graph, &unit, &map);
    let answers = linear.append(&mut graph, &cosines).unwrap();
    graph.output("probabilities", &answers.numbers, Element::Float, &[Dim::Free("batch"), Dim::Fixed(3)]);
    let file = compose(&network, graph).unwrap();

    let rows = numbers(9 * D, 11);
    let found = as_rows(&file, &rows, 1, D, 1);
    let expected = rows.chunks(D).flat_map(|row| {
        let row: Vec<f32> = row.iter().map(|v| v.max(0.0)).collect();
        let norm = row.iter().map(|v| v * v).sum::<f32>().sqrt().max(TINY);
        let unit: Vec<f32> = row.iter().map(|v| v / norm).collect();
        let mut cosines = [0.0; D];
        map.apply_block(&unit, &mut cosines).unwrap();
        let exponentials: Vec<f32> = scores(&linear, &cosines).iter().map(|s| s.exp()).collect();
        let sum: f32 = exponentials.iter().sum();
        exponentials.into_iter().map(move |e| e / sum)
    });
    assert_close(&found, &expected.collect::<Vec<_>>(), 1e-5);
}
