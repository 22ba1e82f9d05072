//! Pictures of another size, see [`crate::OtherSizes::Resized`].

/// Resizes columns, then rows. Sizes are height and width.
pub(crate) fn resized(pixels: &[f32], from: [usize; 2], to: [usize; 2], channels: usize) -> Vec<f32> {
    let (down, across) = (weights(from[0], to[0]), weights(from[1], to[1]));
    let row_len = from[1] * channels;
    let mut rows = vec![0.0_f64; to[0] * row_len];
    for (out, (first, weights)) in rows.chunks_exact_mut(row_len).zip(&down) {
        for (row, weight) in pixels[first * row_len..].chunks_exact(row_len).zip(weights) {
            out.iter_mut().zip(row).for_each(|(sum, v)| *sum += weight * f64::from(*v));
        }
    }
    let mut out = Vec::with_capacity(to[0] * to[1] * channels);
    for row in rows.chunks_exact(row_len) {
        for (first, weights) in &across {
            for channel in 0..channels {
                let values = row[first * channels..].iter().skip(channel).step_by(channels);
                out.push(values.zip(weights).map(|(v, weight)| v * weight).sum::<f64>() as f32);
            }
        }
    }
    out
}

/// For each place of a side, the first pixel that takes part, and the weights of it and those after it. They add up to 1.
fn weights(from: usize, to: usize) -> Vec<(usize, Vec<f64>)> {
    let scale = from as f64 / to as f64;
    let reach = scale.max(1.0);
    let at = |i: usize| {
        let centre = (i as f64 + 0.5) * scale;
        let first = (centre - reach).floor().max(0.0) as usize;
        let end = ((centre + reach).ceil() as usize).min(from);
        let weight = |k: usize| (1.0 - (k as f64 + 0.5 - centre).abs() / reach).max(0.0);
        let sum: f64 = (first..end).map(weight).sum();
        (first, (first..end).map(|k| weight(k) / sum).collect())
    };
    (0..to).map(at).collect()
}
