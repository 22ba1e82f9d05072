//! Rows per second of each map: `cargo run --release -p efface-features --example speed`.
#![expect(clippy::print_stdout, reason = "a program")]

use std::time::Instant;

use efface_features::{ApplyError, FourierLayer, FourierMap, Grams, ImageShape, NgramMap, NgramSpec, ScatteringMap};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words =
        ["the", "film", "is", "a", "gorgeous", "witty", "seductive", "movie", "of", "no", "depth", "whatsoever"];
    let text = |i: usize| (0..19).map(|k| words[(i * 5 + k * k) % words.len()]).collect::<Vec<_>>().join(" ");
    let texts: Vec<String> = (0..50_000).map(text).collect();
    let words = Some(Grams { shortest: 1, longest: 2 });
    let characters = Some(Grams { shortest: 3, longest: 5 });
    let mut sparse = Vec::new();
    for (name, characters) in [("n-grams of words (1-2)", None), ("and of characters (3-5)", characters)] {
        let map = NgramMap::new(NgramSpec { buckets: 1 << 18, words, characters, binary: false, seed: 1 })?;
        measure(name, texts.len(), || {
            map.apply_block(&texts, &mut sparse);
            Ok::<_, ApplyError>(())
        })?;
    }

    let rows: Vec<f64> = (0..20_000 * 100).map(|i| f64::from(i * 7919 % 1009) / 1009.0).collect();
    let map = FourierMap::new(100, FourierLayer { width: 2048, length_scale: 1.0, seed: 1 })?;
    let mut out = vec![0.0; 20_000 * 2048];
    measure("Fourier, 100 -> 2,048", 20_000, || map.apply_block(&rows, &mut out))?;

    let images: Vec<u8> = (0..2000 * 3072_u32).map(|i| (i * 7919 % 253) as u8).collect();
    let scattering = ScatteringMap::new(ImageShape { height: 32, width: 32, channels: 3, resize: false })?;
    let mut middle = vec![0.0; 2000 * scattering.n_features()];
    measure("scattering, 32 x 32 x 3", 2000, || scattering.apply_block(&images, &mut middle))?;
    let map = FourierMap::new(scattering.n_features(), FourierLayer { width: 2048, length_scale: 0.5, seed: 1 })?;
    let mut out = vec![0.0; 2000 * 2048];
    measure("Fourier of it, 2,048", 2000, || map.apply_block(&middle, &mut out))?;
    Ok(())
}

/// The best of three.
fn measure<E>(name: &str, n_rows: usize, mut work: impl FnMut() -> Result<(), E>) -> Result<(), E> {
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        let start = Instant::now();
        work()?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    println!("{name:26} {:10.0} rows/s", n_rows as f64 / best);
    Ok(())
}
