use super::*;
use crate::in_threads;

fn fourier(n_inputs: usize, width: usize, length_scale: f64, seed: u64) -> Result<FourierMap, BuildError> {
    FourierMap::new(n_inputs, FourierLayer { width, length_scale, seed })
}

fn rows(n: usize, dim: usize) -> Vec<f32> {
    (0..n * dim).map(|i| ((i * 7919) % 1009) as f32 / 1009.0 - 0.5).collect()
}

fn features(map: &FourierMap, rows: &[f32]) -> Vec<f32> {
    let mut out = vec![f32::NAN; rows.len() / map.n_inputs() * map.n_features()];
    map.apply_block(rows, &mut out).unwrap();
    out
}

#[test]
fn features_are_cosines_of_the_documented_projection() {
    let (dim, width, length_scale) = (7, 37, 0.8);
    let map = fourier(dim, width, length_scale, 5).unwrap();
    let rows = rows(3, dim);
    for (row, out) in rows.chunks(dim).zip(features(&map, &rows).chunks(width)) {
        for (j, out) in out.iter().enumerate() {
            let mut stream = Stream::new(5, j);
            let phase = stream.uniform() * std::f64::consts::TAU;
            let normals: Vec<f64> = (0..dim.div_ceil(2)).flat_map(|_| <[f64; 2]>::from(stream.normals())).collect();
            let angle: f64 = row.iter().zip(&normals).map(|(x, p)| f64::from(*x) * p / length_scale).sum();
            let expected = (angle + phase).cos() / (width as f64).sqrt();
            assert!((f64::from(*out) - expected).abs() < 1e-6, "feature {j}: {out}, expected {expected}");
        }
    }
}

/// Each product is a mean of independent terms with variance below 3/8: six deviations, one false alarm in 5e8.
#[test]
fn inner_products_approximate_the_gaussian_kernel() {
    let (dim, width) = (20, 1 << 14);
    let rows = rows(8, dim);
    for (length_scale, seed) in [(0.5, 1), (1.0, 2), (3.0, u64::MAX)] {
        let map = fourier(dim, width, length_scale, seed).unwrap();
        let features = features(&map, &rows);
        for i in 0..8 {
            for j in 0..=i {
                let pairs = |all: &[f32], dim: usize| -> Vec<(f64, f64)> {
                    let (a, b) = (&all[i * dim..(i + 1) * dim], &all[j * dim..(j + 1) * dim]);
                    a.iter().zip(b).map(|(a, b)| (f64::from(*a), f64::from(*b))).collect()
                };
                let distance: f64 = pairs(&rows, dim).iter().map(|(a, b)| (a - b) * (a - b)).sum();
                let product: f64 = pairs(&features, width).iter().map(|(a, b)| a * b).sum();
                let kernel = 0.5 * (-distance / (2.0 * length_scale * length_scale)).exp();
                let deviation = (0.375 / width as f64).sqrt();
                assert!((product - kernel).abs() < 6.0 * deviation, "{product} for {kernel}");
            }
        }
    }
}

#[test]
fn threads_and_blocks_make_no_difference() {
    let map = fourier(11, 70, 1.0, 3).unwrap();
    let rows = rows(101, 11);
    let by_two = in_threads(2, || features(&map, &rows));
    assert_eq!(by_two, in_threads(1, || features(&map, &rows)));
    assert_eq!(by_two[70 * 100..], features(&map, &rows[1100..]));
}

#[test]
fn a_wider_map_begins_with_the_same_angles() {
    let (narrow, wide) = (fourier(5, 20, 1.0, 9).unwrap(), fourier(5, 80, 1.0, 9).unwrap());
    let (narrow, wide) = (features(&narrow, &rows(1, 5)), features(&wide, &rows(1, 5)));
    assert!(narrow.iter().zip(&wide).all(|(a, b)| (a - 2.0 * b).abs() < 1e-6));
}

#[test]
fn norms_are_at_most_one() {
    let map = fourier(3, 64, 1e6, 1).unwrap();
    for row in features(&map, &rows(50, 3)).chunks(64) {
        assert!(row.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>() <= 1.0);
    }
}

#[test]
fn doubles_are_taken_in_single_precision() {
    let map = fourier(2, 8, 1.0, 1).unwrap();
    let (mut of_doubles, mut of_singles) = ([0.0; 8], [0.0; 8]);
    map.apply_block(&[0.1_f64, -0.7], &mut of_doubles).unwrap();
    map.apply_block(&[0.1_f32, -0.7], &mut of_singles).unwrap();
    assert_eq!(of_doubles, of_singles);
}

/// From an independent implementation of ChaCha20 and of the formulas, in Python.
#[test]
fn features_are_known() {
    let map = fourier(3, 4, 0.5, 42).unwrap();
    let out = features(&map, &[0.25, -0.5, 1.0]);
    assert_eq!(out, KNOWN);
}

#[test]
fn what_cannot_be_is_refused() {
    let error = |n_inputs, width, scale| fourier(n_inputs, width, scale, 0).err().unwrap().to_string();
    assert_eq!(error(0, 1, 1.0), "number of inputs must be at least 1 and at most 1048576, got `0`");
    assert_eq!(error(1, 0, 1.0), "width must be at least 1 and at most 1048576, got `0`");
    assert_eq!(
        error(1 << 20, 1 << 10, 1.0),
        "1048576 inputs and width 1024 make a matrix of more than 268435456 numbers"
    );
    assert_eq!(error(1, 1, f64::NAN), "length scale must be at least 1e-9 and at most 1e9, got `NaN`");

    let map = fourier(2, 1, 1e-9, 0).unwrap();
    let mut rows = vec![0.0_f64; 200];
    let error = |rows: &[f64], room| map.apply_block(rows, &mut vec![0.0; room]).unwrap_err().to_string();
    assert_eq!(error(&rows[1..], 100), "rows must have 2 numbers each, got 199 numbers in all");
    assert_eq!(error(&rows, 99), "the output of 100 rows must have 100 numbers, got 99");
    rows[121] = 1e38;
    assert_eq!(error(&rows, 100), "values are too large for length scale `0.000000001`");
    rows[81] = 1e39;
    assert!(error(&rows, 100).starts_with("value 1 must be finite and at most 3.4e38, got `1000"));
}

const KNOWN: [f32; 4] = [-0.036_566_712, -0.407_893_24, -0.411_156_03, 0.475_647_84];
