//! What makes features of pictures and texts: networks, statements of their training, pictures themselves.

use efface_core::accounting::statement::Statement;
use efface_images::{OtherSizes, Shape, pixels};
use efface_onnx::{Dim, Element, GraphBuilder, Signature, compose, pooled};

/// A network. Its bytes are another program's: a graph that is put behind it is found again there.
pub(crate) fn network(bytes: &[u8]) {
    let taken = Signature::of(bytes);
    let mut behind = GraphBuilder::new("behind");
    let features = behind.input("features", Element::Float, &[Dim::Free("batch"), Dim::Free("features")]);
    let length = behind.node("ReduceL2", &[&features], &[]);
    behind.output("length", &length, Element::Float, &[Dim::Free("batch"), Dim::Free("features")]);
    if let Ok(joined) = compose(bytes, behind) {
        let (joined, taken) =
            (Signature::of(&joined).expect("what was joined is a file"), taken.expect("what was read"));
        assert_eq!(joined.inputs, taken.inputs);
        assert_eq!(joined.outputs.len(), 1);
    }
    if let Ok(joined) = pooled(bytes) {
        Signature::of(&joined).expect("what was joined is a file");
    }
}

/// A statement: one that is read says the same once it is written, and more to nobody than to each of two.
pub(crate) fn statement(bytes: &[u8]) {
    let Ok(statement) = serde_json::from_slice::<Statement>(bytes) else { return };
    let text = serde_json::to_vec(&statement).expect("a statement can be written");
    assert_eq!(serde_json::from_slice::<Statement>(&text).expect("what was written"), statement);
    let delta = statement.fields().delta;
    let proved = statement.training().epsilon_at(delta);
    assert!(proved >= 0.0, "{proved}");
    if let (Ok(one), Ok(two)) = (statement.extractor(1), statement.extractor(2)) {
        assert!(one.cost().delta <= delta && two.cost().delta <= delta);
        assert!(two.cost().epsilon >= one.cost().epsilon);
    }
}

/// A picture, as it is and brought to a size.
pub(crate) fn picture(bytes: &[u8]) {
    let shape = Shape { height: 8, width: 8, channels: 3 };
    for other_sizes in [OtherSizes::Refused, OtherSizes::Resized] {
        if let Ok(pixels) = pixels(bytes, shape, other_sizes) {
            assert_eq!(pixels.len(), 8 * 8 * 3);
            assert!(pixels.iter().all(|pixel| (0.0..=255.0).contains(pixel)));
        }
    }
}
