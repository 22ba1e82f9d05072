use std::f64::consts::PI;

use sha2::{Digest, Sha256};

use super::*;
use crate::in_threads;

fn image(n: usize, seed: usize) -> Vec<u8> {
    (0..n).map(|i| ((i * i * 31 + i * seed * 7919 + (i / 7) * 53) % 251) as u8).collect()
}

fn features<T: Copy + Into<f32> + Sync>(map: &ScatteringMap, images: &[T]) -> Vec<f32> {
    let mut out = vec![f32::NAN; images.len() / map.n_inputs() * map.n_features()];
    map.apply_block(images, &mut out).unwrap();
    out
}

/// An image that repeats itself, in double precision.
struct Periodic {
    w: usize,
    h: usize,
    values: Vec<f64>,
}

impl Periodic {
    fn at(&self, x: isize, y: isize) -> f64 {
        let wrapped = |at: isize, side: usize| at.rem_euclid(side.cast_signed()).cast_unsigned();
        self.values[wrapped(y, self.h) * self.w + wrapped(x, self.w)]
    }

    /// `|image ⋆ ψ|` at every `step`-th pixel, by the definition of a convolution.
    fn modulus(&self, scale: i32, orientation: usize, step: usize) -> Self {
        let size = 2.0_f64.powi(scale);
        let theta = PI * orientation as f64 / 8.0;
        let taps: Vec<(isize, isize, f64, f64)> = (-24..=24)
            .flat_map(|y: isize| (-24..=24).map(move |x: isize| (x, y)))
            .map(|(x, y)| {
                let u = x as f64 * theta.cos() + y as f64 * theta.sin();
                let v = -(x as f64) * theta.sin() + y as f64 * theta.cos();
                let g = (-(u * u + 0.25 * v * v) / (2.0 * (0.8 * size).powi(2))).exp();
                (x, y, g, 0.75 * PI / size * u)
            })
            .collect();
        let total: f64 = taps.iter().map(|tap| tap.2).sum();
        let kappa: f64 = taps.iter().map(|(_, _, g, phase)| g * phase.cos()).sum::<f64>() / total;
        let one = |x: isize, y: isize| {
            let (mut re, mut im) = (0.0, 0.0);
            for (dx, dy, g, phase) in &taps {
                re += self.at(x - dx, y - dy) * g * (phase.cos() - kappa) / total;
                im += self.at(x - dx, y - dy) * g * phase.sin() / total;
            }
            re.hypot(im)
        };
        let (w, h) = (self.w / step, self.h / step);
        let values = (0..w * h).map(|i| one((i % w * step).cast_signed(), (i / w * step).cast_signed())).collect();
        Self { w, h, values }
    }

    /// Weighted means around the centres of the cells inside the border.
    fn cells(&self, step: usize) -> Vec<f64> {
        let (columns, rows) = (self.w * step / 4 - 2, self.h * step / 4 - 2);
        let cell = |i: usize| {
            let (cx, cy) = (5.5 + 4.0 * (i % columns) as f64, 5.5 + 4.0 * (i / columns) as f64);
            let weighted = self.values.iter().enumerate().map(|(at, value)| {
                let (x, y) = ((at % self.w * step) as f64, (at / self.w * step) as f64);
                let weight = (-((x - cx).powi(2) + (y - cy).powi(2)) / (2.0 * 1.6 * 1.6)).exp();
                (weight, weight * value)
            });
            let (weights, values) = weighted.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
            values / weights
        };
        (0..columns * rows).map(cell).collect()
    }
}

/// The recipe step by step, without Fourier transforms, in double precision.
fn reference(pixels: &[u8], height: usize, width: usize, channels: usize) -> Vec<f64> {
    let grey: Vec<f64> = pixels
        .chunks(channels)
        .map(|p| {
            if channels == 1 {
                p[0].into()
            } else {
                0.299 * f64::from(p[0]) + 0.587 * f64::from(p[1]) + 0.114 * f64::from(p[2])
            }
        })
        .collect();
    let n = grey.len() as f64;
    let mean = grey.iter().sum::<f64>() / n;
    let deviation = (grey.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt();
    let (w, h) = (width + 8, height + 8);
    let mirror = |at: usize, side: usize| {
        let inside = at.abs_diff(4);
        if inside >= side { 2 * side - 2 - inside } else { inside }
    };
    let pixel = |i: usize| (grey[mirror(i / w, height) * width + mirror(i % w, width)] - mean) / deviation;
    let image = Periodic { w, h, values: (0..w * h).map(pixel).collect() };

    let fine: Vec<Periodic> = (0..8).map(|o| image.modulus(0, o, 1)).collect();
    let mut paths = vec![image.cells(1)];
    paths.extend(fine.iter().map(|u| u.cells(1)));
    paths.extend((0..8).map(|o| image.modulus(1, o, 2).cells(2)));
    paths.extend(fine.iter().flat_map(|u| (0..8).map(|o| u.modulus(1, o, 2).cells(2))));

    let norm = |values: &[f64]| values.iter().map(|v| v * v).sum::<f64>().sqrt();
    for path in &mut paths {
        for v in path.iter_mut() {
            *v = v.signum() * v.abs().sqrt();
        }
        let scale = norm(path) + 0.3;
        for v in path {
            *v /= scale;
        }
    }
    let all = paths.concat();
    let norm = norm(&all);
    all.iter().map(|v| v / norm).collect()
}

fn scattering(height: usize, width: usize, channels: usize) -> Result<ScatteringMap, BuildError> {
    ScatteringMap::new(ImageShape { height, width, channels, resize: false })
}

#[test]
fn features_are_those_of_convolutions_in_space() {
    for (height, width, channels) in [(8, 12, 3), (16, 8, 1)] {
        let map = scattering(height, width, channels).unwrap();
        let image = image(map.n_inputs(), 3);
        let (found, expected) = (features(&map, &image), reference(&image, height, width, channels));
        let off = found.iter().zip(&expected).map(|(a, b)| (f64::from(*a) - b).abs()).fold(0.0, f64::max);
        // S₀ may be near zero, where the square root is steep.
        assert!(off < 1e-5, "off by {off}");
        assert_eq!(found.len(), expected.len());
    }
}

#[test]
fn threads_and_blocks_make_no_difference() {
    let map = scattering(8, 8, 1).unwrap();
    let images = image(64 * 21, 5);
    let by_two = in_threads(2, || features(&map, &images));
    assert_eq!(by_two, in_threads(1, || features(&map, &images)));
    assert_eq!(by_two[324 * 20..], features(&map, &images[64 * 20..]));
}

#[test]
fn brightness_and_contrast_make_no_difference() {
    let map = scattering(12, 8, 3).unwrap();
    let bytes = image(map.n_inputs(), 1);
    let fractions: Vec<f32> = bytes.iter().map(|v| f32::from(*v) / 510.0 + 0.25).collect();
    let pairs = features(&map, &bytes).into_iter().zip(features(&map, &fractions));
    assert!(pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-4));
}

#[test]
fn norms_are_at_most_one_and_plain_images_are_zero() {
    let map = scattering(8, 8, 3).unwrap();
    let norm = |image: &[f32]| features(&map, image).iter().map(|v| f64::from(*v).powi(2)).sum::<f64>();
    assert_eq!(norm(&[0.0; 192]), 0.0);
    assert_eq!(norm(&[0.1; 192]), 0.0);
    let image: Vec<f32> = image(192, 9).into_iter().map(f32::from).collect();
    assert!((0.999_999..=1.0).contains(&norm(&image)));
}

/// All features of an image of 32 × 32, to the last bit. A change of this value changes every model that has this map.
#[test]
fn features_are_known() {
    let map = scattering(32, 32, 3).unwrap();
    let features = features(&map, &image(3072, 2));
    let bytes: Vec<u8> = features.iter().flat_map(|v| v.to_le_bytes()).collect();
    let digest = hex::encode(Sha256::digest(&bytes));
    assert_eq!(features.len(), 5184);
    assert_eq!(digest, KNOWN, "first features {:?}", &features[..4]);
}

#[test]
fn what_cannot_be_is_refused() {
    let error = |height, width, channels| scattering(height, width, channels).err().unwrap().to_string();
    assert_eq!(error(4, 32, 1), "height must be at least 8 and at most 128, got `4`");
    assert_eq!(error(32, 30, 1), "width must be a multiple of 4, got `30`");
    assert_eq!(error(32, 32, 4), "channels must be 1 or 3, got `4`");

    let map = scattering(8, 8, 1).unwrap();
    let error = |image: &[f32]| map.apply_block(image, &mut vec![0.0; image.len() / 64 * 324]).unwrap_err().to_string();
    assert_eq!(error(&[0.0; 65]), "rows must have 64 numbers each, got 65 numbers in all");
    let mut images = [0.5; 192];
    images[130] = f32::NAN;
    assert_eq!(error(&images), "value 2 must be finite and at most 3.4e38, got `NaN`");
}

const KNOWN: &str = "b15a57f5f807948dd9fc930935821426d607d5d599103cca9d0d92b2fc223361";
