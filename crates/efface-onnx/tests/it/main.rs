//! Networks made in the tests, run by ONNX Runtime and by plain loops.

mod exports;
mod images;
mod tables;
mod texts;

/// Numbers between −1 and 1 that look random.
fn numbers(n: usize, seed: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 7919 + seed * 104_729) % 2003) as f32 / 1001.0 - 1.0).collect()
}

/// Whether two lists agree to this absolute tolerance.
fn assert_close(found: &[f32], expected: &[f32], tolerance: f32) {
    assert_eq!(found.len(), expected.len());
    for (at, (a, b)) in found.iter().zip(expected).enumerate() {
        // A difference that is no number is no agreement.
        assert!((a - b).abs() <= tolerance, "place {at}: {a} is not {b}");
    }
}
