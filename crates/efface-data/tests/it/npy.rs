//! Reading NPY: every element type and order, labels of every kind, and files that lie about their size.

use std::io::Write;
use std::path::Path;

use efface_data::{Columns, FeatureValues, LabelCodec, RawLabels, RowId, Table, read_table};
use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::TempDir;

use crate::samples::{assert_chunks_make_the_whole, real_file, without_folder};

/// An array in version 1 of the format.
fn npy(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n");
    [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), data].concat()
}

/// A folder with `x.npy`, and `y.npy` if given.
fn folder(x: &[u8], y: Option<&[u8]>) -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("x.npy"), x).expect("writable");
    if let Some(y) = y {
        std::fs::write(folder.path().join("y.npy"), y).expect("writable");
    }
    folder
}

fn path(folder: &Path, name: &str) -> String {
    folder.join(name).display().to_string()
}

fn read(x: &[u8], y: Option<&[u8]>) -> Result<Table, String> {
    let folder = folder(x, y);
    let label = y.map(|_| path(folder.path(), "y.npy"));
    let columns = Columns { label, ..Columns::default() };
    let table = read_table(folder.path().join("x.npy"), &columns, None);
    table.map_err(|error| without_folder(&error.to_string(), folder.path()))
}

fn features(x: &[u8]) -> FeatureValues {
    read(x, None).expect("valid").features().clone()
}

fn bytes<const N: usize>(values: &[[u8; N]]) -> Vec<u8> {
    values.concat()
}

/// As numpy.save writes it: the header is filled up with blanks to 128 bytes.
fn as_numpy(header: &str, data: &[u8]) -> Vec<u8> {
    [b"\x93NUMPY\x01\x00v\x00", format!("{header:<117}\n").as_bytes(), data].concat()
}

#[test]
fn arrays_written_by_numpy_are_read() {
    let values: [f64; 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.5];
    let x =
        as_numpy("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), }", &bytes(&values.map(f64::to_le_bytes)));
    let labels = [-1_i64, 1, 1].map(i64::to_le_bytes);
    let y = as_numpy("{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }", &bytes(&labels));

    let table = read(&x, Some(&y)).expect("valid");
    assert_eq!(table.features(), &FeatureValues::F64(values.to_vec()));
    assert_eq!(table.feature_names(), ["x0", "x1"]);
    assert_eq!(table.ids(), [0, 1, 2].map(RowId::Integer));
    let codec = LabelCodec::for_labels(table.labels().expect("labels").into(), true).expect("two classes");
    assert_eq!(codec.classes(), ["-1", "1"]);
}

#[test]
fn every_type_of_number_is_read_in_both_byte_orders() {
    let single = FeatureValues::F32(vec![1.0, 0.0]);
    let double = FeatureValues::F64(vec![1.0, 0.0]);
    let known = [
        ("|b1", vec![1, 0], &single),
        ("|u1", vec![1, 0], &single),
        ("|i1", vec![1, 0], &single),
        ("<i2", bytes(&[1_i16.to_le_bytes(), 0_i16.to_le_bytes()]), &single),
        (">u2", bytes(&[1_u16.to_be_bytes(), 0_u16.to_be_bytes()]), &single),
        ("<f2", bytes(&[0x3c00_u16.to_le_bytes(), 0_u16.to_le_bytes()]), &single),
        (">f2", bytes(&[0x3c00_u16.to_be_bytes(), 0_u16.to_be_bytes()]), &single),
        ("<f4", bytes(&[1_f32.to_le_bytes(), 0_f32.to_le_bytes()]), &single),
        (">f4", bytes(&[1_f32.to_be_bytes(), 0_f32.to_be_bytes()]), &single),
        ("<i4", bytes(&[1_i32.to_le_bytes(), 0_i32.to_le_bytes()]), &double),
        ("<u4", bytes(&[1_u32.to_le_bytes(), 0_u32.to_le_bytes()]), &double),
        ("<i8", bytes(&[1_i64.to_le_bytes(), 0_i64.to_le_bytes()]), &double),
        (">u8", bytes(&[1_u64.to_be_bytes(), 0_u64.to_be_bytes()]), &double),
        ("<f8", bytes(&[1_f64.to_le_bytes(), 0_f64.to_le_bytes()]), &double),
        (">f8", bytes(&[1_f64.to_be_bytes(), 0_f64.to_be_bytes()]), &double),
    ];
    for (descr, data, expected) in known {
        assert_eq!(&features(&npy(descr, false, "(2, 1)", &data)), expected, "{descr}");
    }
}

#[test]
fn column_major_arrays_are_turned() {
    let (n_rows, dim) = (70, 45);
    let by_row: Vec<f32> = (0..n_rows * dim).map(|i| i as f32).collect();
    let by_column = (0..dim).flat_map(|j| (0..n_rows).map(move |i| ((i * dim + j) as f32).to_le_bytes()));
    let data = by_column.collect::<Vec<_>>().concat();
    assert_eq!(features(&npy("<f4", true, "(70, 45)", &data)), FeatureValues::F32(by_row));
}

#[test]
fn rows_come_in_chunks_in_either_order() {
    let data: Vec<u8> = (0..2100 * 2).flat_map(|i| (i as f32).to_le_bytes()).collect();
    let labels: Vec<u8> = (0..2100).map(|i| (i % 3) as u8).collect();
    for fortran in [false, true] {
        let folder = folder(&npy("<f4", fortran, "(2100, 2)", &data), Some(&npy("|u1", false, "(2100,)", &labels)));
        let columns = Columns { label: Some(path(folder.path(), "y.npy")), ..Columns::default() };
        assert_chunks_make_the_whole(&folder.path().join("x.npy"), &columns);
    }
}

#[test]
fn the_features_of_scenes_are_read() {
    let (Some(x), Some(y)) = (real_file("scenes-features/test-x.npy.gz"), real_file("scenes-features/test-y.npy.gz"))
    else {
        return;
    };
    let columns = Columns { label: Some(y.display().to_string()), ..Columns::default() };
    let table = read_table(&x, &columns, None).expect("readable");
    assert_eq!(table.labels().expect("labels").values.len(), table.n_rows());
    assert_chunks_make_the_whole(&x, &columns);
}

#[test]
fn labels_ids_and_subjects_come_from_arrays_of_their_own() {
    let x = npy("|u1", false, "(2, 1)", &[1, 2]);
    let labels = |y: &[u8]| read(&x, Some(y)).expect("valid").labels().expect("labels").values.clone();
    let texts = |texts: [&str; 2]| RawLabels::Text(texts.map(String::from).to_vec());
    assert_eq!(labels(&npy("|b1", false, "(2,)", &[0, 1])), texts(["false", "true"]));
    assert_eq!(labels(&npy("|i1", false, "(2, 1)", &[255, 1])), RawLabels::Numbers(vec![-1.0, 1.0]));
    let floats = bytes(&[0.5_f64.to_le_bytes(), 2_f64.to_le_bytes()]);
    assert_eq!(labels(&npy("<f8", false, "(2,)", &floats)), RawLabels::Numbers(vec![0.5, 2.0]));
    assert_eq!(labels(&npy("|S3", false, "(2,)", b"catox\0")), texts(["cat", "ox"]));
    let unicode: Vec<u8> = "ja\0né\0".chars().flat_map(|c| (c as u32).to_le_bytes()).collect();
    assert_eq!(labels(&npy("<U3", false, "(2,)", &unicode)), texts(["ja", "né"]));

    let folder = folder(&x, Some(&npy("<i4", false, "(2,)", &bytes(&[7_i32.to_le_bytes(), 9_i32.to_le_bytes()]))));
    let columns = Columns {
        id: Some(path(folder.path(), "y.npy")),
        subject: Some(path(folder.path(), "y.npy")),
        ..Columns::default()
    };
    let table = read_table(folder.path().join("x.npy"), &columns, None).expect("valid");
    assert_eq!(table.ids(), [7, 9].map(RowId::Integer));
    assert_eq!(table.subjects().expect("subjects"), [7, 9].map(RowId::Integer));
}

#[test]
fn a_header_that_lies_about_the_size_is_refused_before_memory_is_taken() {
    let short = |shape: &str| read(&npy("<f8", false, shape, &[0; 24]), None).expect_err("must be refused");
    assert_eq!(short("(2, 2)"), "x.npy: truncated: 24 bytes of data, the header announces 32");
    let text = "x.npy: truncated: 24 bytes of data, the header announces 8000000000000";
    assert_eq!(short("(1000000000000, 1)"), text);
    assert!(short("(18446744073709551615, 18446744073709551615)").starts_with("x.npy: truncated"));
    assert_eq!(short("(3, 18446744073709551616)"), "x.npy: not a readable .npy file: its header cannot be parsed");
    assert_eq!(short("(0, 1000000000000)"), "x.npy: no rows");
    assert_eq!(short("(1000000000000, 0)"), "x.npy: no feature columns");
    assert_eq!(short("(2, 1)"), "x.npy: data goes on after the 16 bytes that the header announces");
    assert_eq!(short("(3,)"), "x.npy: shape is (3,), expected two axes (rows, features)");
}

#[test]
fn gzipped_arrays_are_read_and_cut_ones_refused() {
    let x = npy("<f8", false, "(4096, 1)", &1_f64.to_le_bytes().repeat(4096));
    let gzipped = |bytes: &[u8]| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).expect("in memory");
        encoder.finish().expect("in memory")
    };
    let read = |bytes: &[u8]| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("x.npy.gz");
        std::fs::write(&path, bytes).expect("writable");
        read_table(&path, &Columns::default(), None).map_err(|error| without_folder(&error.to_string(), folder.path()))
    };
    assert_eq!(read(&gzipped(&x)).expect("valid").n_rows(), 4096);
    let cut = read(&gzipped(&x[..x.len() - 8])).expect_err("must be refused");
    assert_eq!(cut, "x.npy.gz: truncated: 32760 bytes of data, the header announces 32768");
    let whole = gzipped(&x);
    assert!(read(&whole[..whole.len() / 2]).is_err());
    let huge = read(&gzipped(&npy("<f8", false, "(1000000000000, 1)", &[0; 8]))).expect_err("must be refused");
    assert!(huge.contains("the header announces 8000000000000"), "{huge}");
}

/// A few kilobytes, gzipped, can announce a row of millions of features, and each of them got a name.
#[test]
fn rows_of_more_features_than_can_be_learned_are_refused() {
    let x = npy("|u1", false, "(1, 1048577)", &vec![0; 1_048_577]);
    let error = read(&x, None).expect_err("must be refused");
    assert_eq!(error, "x.npy: 1048577 columns, at most 1048576 can be read");
}

#[test]
fn every_cut_of_a_valid_file_is_refused() {
    let x = npy("<f4", false, "(3, 1)", &1_f32.to_le_bytes().repeat(3));
    for length in 0..x.len() {
        assert!(read(&x[..length], None).is_err(), "cut to {length} bytes");
    }
    assert!(read(&x, None).is_ok());
}

#[test]
fn each_mistake_is_named() {
    let x = npy("<f4", false, "(2, 1)", &bytes(&[1_f32.to_le_bytes(), f32::NAN.to_le_bytes()]));
    let refusal = |x: &[u8], y: Option<&[u8]>| read(x, y).expect_err("must be refused");
    assert_eq!(refusal(&x, None), "x.npy, row 1, column `x0`: features must be finite, got `NaN`");
    let x = npy("|u1", false, "(2, 1)", &[1, 2]);
    let y = npy("|u1", false, "(3,)", &[1, 2, 3]);
    assert_eq!(refusal(&x, Some(&y)), "y.npy: 3 labels, but there are 2 rows");
    let y = npy("<c8", false, "(2,)", &[0; 16]);
    assert!(refusal(&x, Some(&y)).starts_with("y.npy: element type `<c8` cannot be read as labels"));
    let y = npy("<U1", false, "(2,)", &[0xff; 8]);
    assert_eq!(refusal(&x, Some(&y)), "y.npy: an element is not valid Unicode");
    assert!(refusal(&npy("<U1", false, "(1, 1)", &[0; 4]), None).contains("cannot be read as features"));
    assert_eq!(refusal(b"a,b\n1,2\n", None), "x.npy: not a readable .npy file: it does not begin with the magic bytes");
}

#[test]
fn an_array_of_another_width_is_not_taken_for_a_selection() {
    let folder = folder(&npy("|u1", false, "(1, 3)", &[1, 2, 3]), None);
    let read = |names: &[&str]| {
        let features = Some(names.iter().map(ToString::to_string).collect());
        let table = read_table(folder.path().join("x.npy"), &Columns { features, ..Columns::default() }, None);
        table.map_err(|error| without_folder(&error.to_string(), folder.path()))
    };
    assert!(read(&["x2", "x0", "x1"]).is_ok());
    let text = "x.npy: shape is 3 columns, expected 2 columns; the columns of an array cannot be left out";
    assert_eq!(read(&["x0", "x1"]).expect_err("too wide"), text);
    let text = "x.npy: no column `x3`; there are `x0`, `x1`, `x2`";
    assert_eq!(read(&["x0", "x1", "x2", "x3"]).expect_err("too narrow"), text);
}
