//! Reading IDX: images and labels as MNIST has them, every element type, and files that lie about their size.

use efface_data::{Columns, FeatureValues, RawLabels, is_array, read_table};

use crate::samples::{
    assert_chunks_make_the_whole, assert_damage_is_refused, file, gzipped, npy, real_file, refusal_of,
};

/// An IDX file with axes of these lengths.
fn idx(code: u8, shape: &[u32], data: &[u8]) -> Vec<u8> {
    let axes: Vec<u8> = shape.iter().flat_map(|axis| axis.to_be_bytes()).collect();
    [&[0, 0, code, shape.len() as u8][..], &axes, data].concat()
}

fn labelled(path: &std::path::Path) -> Columns {
    Columns { label: Some(path.display().to_string()), ..Columns::default() }
}

#[test]
fn images_are_flattened_and_labels_come_from_a_file_of_their_own() {
    let pixels: Vec<u8> = (0..3 * 4).map(|i| 20 * i).collect();
    let (folder, path) = file("train-images-idx3-ubyte", &idx(8, &[3, 2, 2], &pixels));
    let labels = folder.path().join("train-labels.idx1-ubyte.gz");
    std::fs::write(&labels, gzipped(&idx(8, &[3], &[7, 0, 7]))).expect("writable");
    let table = read_table(&path, &labelled(&labels), None).expect("valid");
    assert_eq!(table.feature_names(), ["x0", "x1", "x2", "x3"]);
    assert_eq!(table.features(), &FeatureValues::F32(pixels.iter().map(|pixel| f32::from(*pixel)).collect()));
    assert_eq!(table.labels().expect("labels").values, RawLabels::Numbers(vec![7.0, 0.0, 7.0]));
    assert!(is_array(&path) && is_array(&labels));
    assert_chunks_make_the_whole(&path, &labelled(&labels));
}

#[test]
fn labels_may_be_of_the_other_array_format() {
    let (folder, path) = file("x.idx", &idx(8, &[2, 1], &[1, 2]));
    let labels = folder.path().join("y.npy");
    std::fs::write(&labels, npy("|u1", "(2,)", &[5, 6])).expect("writable");
    let table = read_table(&path, &labelled(&labels), None).expect("valid");
    assert_eq!(table.labels().expect("labels").values, RawLabels::Numbers(vec![5.0, 6.0]));
    let x = folder.path().join("x.npy");
    std::fs::write(&x, npy("|u1", "(2, 1)", &[5, 6])).expect("writable");
    let labels = folder.path().join("y.idx");
    std::fs::write(&labels, idx(8, &[2], &[8, 9])).expect("writable");
    let table = read_table(&x, &labelled(&labels), None).expect("valid");
    assert_eq!(table.labels().expect("labels").values, RawLabels::Numbers(vec![8.0, 9.0]));
}

#[test]
fn every_type_is_read_with_the_highest_byte_first() {
    let single = FeatureValues::F32(vec![-2.0, 1.0]);
    let double = FeatureValues::F64(vec![-2.0, 1.0]);
    let known = [
        (0x09, vec![0xfe, 1], &single),
        (0x0b, [(-2_i16).to_be_bytes(), 1_i16.to_be_bytes()].concat(), &single),
        (0x0c, [(-2_i32).to_be_bytes(), 1_i32.to_be_bytes()].concat(), &double),
        (0x0d, [(-2_f32).to_be_bytes(), 1_f32.to_be_bytes()].concat(), &single),
        (0x0e, [(-2_f64).to_be_bytes(), 1_f64.to_be_bytes()].concat(), &double),
    ];
    for (code, data, expected) in known {
        let (_folder, path) = file("x.idx", &idx(code, &[2, 1], &data));
        assert_eq!(read_table(&path, &Columns::default(), None).expect("valid").features(), expected, "{code:#x}");
    }
}

#[test]
fn each_mistake_is_named() {
    let refusal = |bytes: &[u8]| refusal_of("x.idx", bytes, &Columns::default());
    assert_eq!(refusal(b"a,b\n1,2\n"), "x.idx: not a readable .idx file: it does not begin with the magic bytes");
    assert_eq!(refusal(&idx(8, &[2, 2], &[1, 2, 3])), "x.idx: truncated: 3 bytes of data, the header announces 4");
    assert_eq!(
        refusal(&idx(8, &[1, 2], &[1, 2, 3])),
        "x.idx: data goes on after the 2 bytes that the header announces"
    );
    assert_eq!(refusal(&idx(8, &[0, 28, 28], &[])), "x.idx: no rows");
    assert_eq!(refusal(&idx(8, &[5, u32::MAX, u32::MAX, u32::MAX, 0], &[])), "x.idx: no feature columns");
    assert_eq!(refusal(&idx(8, &[2], &[1, 2])), "x.idx: shape is (2,), expected two axes (rows, features)");
    assert!(refusal(&idx(14, &[u32::MAX; 9], &[0; 99])).starts_with("x.idx: truncated: 99 bytes of data"));
    let nan = idx(13, &[1, 1], &f32::NAN.to_be_bytes());
    assert_eq!(refusal(&nan), "x.idx, row 0, column `x0`: features must be finite, got `NaN`");
}

#[test]
fn damaged_files_are_refused() {
    let bytes = idx(8, &[30, 3, 2], &[9; 180]);
    assert_damage_is_refused("x.idx", &bytes, &Columns::default());
    assert_damage_is_refused("x.idx.gz", &gzipped(&bytes), &Columns::default());
}

#[test]
fn mnist_is_read() {
    let (Some(images), Some(labels)) =
        (real_file("mnist/t10k-images-idx3-ubyte.gz"), real_file("mnist/t10k-labels-idx1-ubyte.gz"))
    else {
        return;
    };
    let table = read_table(&images, &labelled(&labels), None).expect("readable");
    assert_eq!((table.n_rows(), table.feature_names().len()), (10_000, 784));
    let RawLabels::Numbers(labels) = &table.labels().expect("labels").values else { panic!("numbers") };
    assert_eq!(labels[..5], [7.0, 2.0, 1.0, 0.0, 4.0]);
}
