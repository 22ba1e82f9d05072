//! Reading Parquet: plain columns and lists, every type of number, labels and ids, and damaged files.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{FixedSizeListBuilder, Float32Builder, Float64Builder, ListBuilder};
use arrow_array::types::Int8Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Float32Array, Float64Array, Int8Array, Int16Array, Int32Array,
    Int64Array, LargeStringArray, RecordBatch, StringArray, UInt8Array, UInt16Array, UInt32Array, UInt64Array,
};
use efface_data::{Columns, FeatureValues, Precision, RawLabels, RowId, Table, is_array, read_table};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, GzipLevel, ZstdLevel};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};

use crate::samples::{assert_chunks_make_the_whole, assert_damage_is_refused, file, noise, refusal_of, without_folder};

/// The bytes of a file of these columns, in row groups of 500 rows.
fn parquet_as(columns: Vec<(&str, ArrayRef)>, compression: Compression) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
        .expect("columns of one length");
    let properties =
        WriterProperties::builder().set_compression(compression).set_max_row_group_row_count(Some(500)).build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).expect("in memory");
    writer.write(&batch).expect("in memory");
    writer.into_inner().expect("in memory")
}

fn parquet(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    parquet_as(columns, Compression::SNAPPY)
}

fn column(array: impl Array + 'static) -> ArrayRef {
    Arc::new(array)
}

fn read(bytes: &[u8], columns: &Columns) -> Result<Table, String> {
    let (folder, path) = file("t.parquet", bytes);
    read_table(&path, columns, None).map_err(|error| without_folder(&error.to_string(), folder.path()))
}

fn refusal(columns: Vec<(&str, ArrayRef)>, roles: &Columns) -> String {
    read(&parquet(columns), roles).expect_err("must be refused")
}

fn floats(values: &[f32]) -> ArrayRef {
    column(Float32Array::from(values.to_vec()))
}

fn people() -> Vec<(&'static str, ArrayRef)> {
    vec![
        ("age", column(Float64Array::from(vec![1.5, 2.5, 3.5]))),
        ("note", column(StringArray::from(vec![Some("a"), None, None]))),
        ("who", column(LargeStringArray::from(vec!["anna", "anna", "bob"]))),
        ("size", column(Int16Array::from(vec![-1, 0, 1]))),
        ("id", column(Int64Array::from(vec![7, -8, 9]))),
        ("y", column(DictionaryArray::<Int8Type>::from_iter(["no", "yes", "no"]))),
    ]
}

fn roles() -> Columns {
    Columns {
        label: Some("y".into()),
        id: Some("id".into()),
        subject: Some("who".into()),
        ignore: vec!["note".into()],
        ..Columns::default()
    }
}

#[test]
fn plain_columns_are_read_in_their_roles() {
    let table = read(&parquet(people()), &roles()).expect("valid");
    assert_eq!(table.feature_names(), ["age", "size"]);
    assert_eq!(table.features(), &FeatureValues::F64(vec![1.5, -1.0, 2.5, 0.0, 3.5, 1.0]));
    assert_eq!(table.ids(), [7, -8, 9].map(RowId::Integer));
    assert_eq!(table.subjects().expect("subjects"), ["anna", "anna", "bob"].map(RowId::parse));
    let labels = table.labels().expect("labels");
    assert_eq!(labels.values, RawLabels::Text(["no", "yes", "no"].map(String::from).to_vec()));
    assert!(labels.place(1).to_string().ends_with("t.parquet, row 1, column `y`"));
    assert!(!is_array("t.parquet"));
    let named = Columns { features: Some(vec!["size".into(), "age".into()]), ..Columns::default() };
    let table = read(&parquet(people()), &named).expect("valid");
    assert_eq!(table.features(), &FeatureValues::F64(vec![-1.0, 1.5, 0.0, 2.5, 1.0, 3.5]));
    assert_eq!(table.ids(), [0, 1, 2].map(RowId::Integer));
}

#[test]
fn an_index_saved_by_pandas_is_no_feature_unless_it_is_named() {
    let index = || ("__index_level_0__", column(Int64Array::from(vec![3, 5])));
    let bytes = parquet(vec![("a", floats(&[1.0, 2.0])), index()]);
    assert_eq!(read(&bytes, &Columns::default()).expect("valid").feature_names(), ["a"]);
    let id = Columns { id: Some("__index_level_0__".into()), ..Columns::default() };
    assert_eq!(read(&bytes, &id).expect("valid").ids(), [3, 5].map(RowId::Integer));
    let named = Columns { features: Some(vec!["__index_level_0__".into()]), ..Columns::default() };
    assert_eq!(read(&bytes, &named).expect("valid").features(), &FeatureValues::F64(vec![3.0, 5.0]));
}

#[test]
fn every_type_of_number_is_read_in_the_precision_it_needs() {
    let known: [(ArrayRef, Precision); 11] = [
        (column(BooleanArray::from(vec![true, false])), Precision::F32),
        (column(Int8Array::from(vec![1, 0])), Precision::F32),
        (column(Int16Array::from(vec![1, 0])), Precision::F32),
        (column(Int32Array::from(vec![1, 0])), Precision::F64),
        (column(Int64Array::from(vec![1, 0])), Precision::F64),
        (column(UInt8Array::from(vec![1, 0])), Precision::F32),
        (column(UInt16Array::from(vec![1, 0])), Precision::F32),
        (column(UInt32Array::from(vec![1, 0])), Precision::F64),
        (column(UInt64Array::from(vec![1, 0])), Precision::F64),
        (floats(&[1.0, 0.0]), Precision::F32),
        (column(Float64Array::from(vec![1.0, 0.0])), Precision::F64),
    ];
    for (array, precision) in known {
        let data_type = array.data_type().clone();
        let table = read(&parquet(vec![("a", array), ("b", floats(&[5.0, 6.0]))]), &Columns::default());
        let expected = match precision {
            Precision::F32 => FeatureValues::F32(vec![1.0, 5.0, 0.0, 6.0]),
            Precision::F64 => FeatureValues::F64(vec![1.0, 5.0, 0.0, 6.0]),
        };
        assert_eq!(table.expect("valid").features(), &expected, "{data_type}");
    }
}

#[test]
fn labels_and_ids_are_read_from_every_type_that_can_be_one() {
    let x = || ("x", floats(&[1.0, 2.0]));
    let labels = |array: ArrayRef| {
        let roles = Columns { label: Some("y".into()), ..Columns::default() };
        read(&parquet(vec![x(), ("y", array)]), &roles).expect("valid").labels().expect("labels").values.clone()
    };
    let texts = |texts: [&str; 2]| RawLabels::Text(texts.map(String::from).to_vec());
    assert_eq!(labels(column(BooleanArray::from(vec![true, false]))), texts(["true", "false"]));
    assert_eq!(labels(column(StringArray::from(vec!["a", "b"]))), texts(["a", "b"]));
    assert_eq!(labels(column(Int8Array::from(vec![-1, 1]))), RawLabels::Numbers(vec![-1.0, 1.0]));
    assert_eq!(labels(column(Float64Array::from(vec![0.5, 1.0]))), RawLabels::Numbers(vec![0.5, 1.0]));
    let ids = |array: ArrayRef| {
        let roles = Columns { id: Some("id".into()), ..Columns::default() };
        read(&parquet(vec![x(), ("id", array)]), &roles).expect("valid").ids().to_vec()
    };
    assert_eq!(ids(column(UInt8Array::from(vec![200, 1]))), [200, 1].map(RowId::Integer));
    let beyond = ids(column(UInt64Array::from(vec![u64::MAX, 1])));
    assert_eq!(beyond, [RowId::parse("18446744073709551615"), RowId::Integer(1)]);
    assert_eq!(ids(column(StringArray::from(vec!["007", "7"]))), [RowId::parse("007"), RowId::Integer(7)]);
}

fn lists(rows: &[&[f32]]) -> ArrayRef {
    let mut builder = ListBuilder::new(Float32Builder::new());
    for row in rows {
        builder.append_value(row.iter().map(|value| Some(*value)));
    }
    column(builder.finish())
}

#[test]
fn a_list_of_each_row_is_its_features() {
    let table = read(&parquet(vec![("emb", lists(&[&[1.0, 2.0], &[3.0, 4.0]]))]), &Columns::default()).expect("valid");
    assert_eq!(table.feature_names(), ["emb[0]", "emb[1]"]);
    assert_eq!(table.features(), &FeatureValues::F32(vec![1.0, 2.0, 3.0, 4.0]));

    let mut builder = FixedSizeListBuilder::new(Float64Builder::new(), 3);
    for value in [1.0, 2.0, 3.0, 4.0, 5.0, 6.0] {
        builder.values().append_value(value);
    }
    builder.append(true);
    builder.append(true);
    let bytes = parquet(vec![("y", floats(&[0.0, 1.0])), ("emb", column(builder.finish()))]);
    let label = Columns { label: Some("y".into()), ..Columns::default() };
    let table = read(&bytes, &label).expect("valid");
    assert_eq!(table.features(), &FeatureValues::F64(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));

    // A model names the elements of the list.
    let names = |names: &[&str]| {
        let features = Some(names.iter().map(ToString::to_string).collect());
        read(&bytes, &Columns { features, ..label.clone() })
    };
    assert_eq!(names(&["emb[0]", "emb[1]", "emb[2]"]).expect("valid").feature_names().len(), 3);
    assert_eq!(names(&["emb"]).expect("valid").feature_names().len(), 3);
    let text = "t.parquet: shape is 3 features, expected 2 features; elements of a list cannot be left out";
    assert_eq!(names(&["emb[0]", "emb[2]"]).expect_err("too few"), text);
    let text = "t.parquet: no column `emb[3]`; there are `emb[0]`, `emb[1]`, `emb[2]`";
    assert_eq!(names(&["emb[0]", "emb[3]"]).expect_err("too many"), text);
}

#[test]
fn each_mistake_is_named_with_its_place() {
    let all = Columns::default();
    let uneven = refusal(vec![("emb", lists(&[&[1.0, 2.0], &[3.0, 4.0], &[5.0]]))], &all);
    assert_eq!(uneven, "t.parquet, row 2, column `emb`: 1 values in the list, the first row has 2");
    assert_eq!(refusal(vec![("emb", lists(&[&[], &[]]))], &all), "t.parquet: no feature columns");
    let missing = column(Float32Array::from(vec![Some(1.0), None]));
    assert_eq!(refusal(vec![("a", missing)], &all), "t.parquet, row 1, column `a`: missing value (null)");
    let mut builder = ListBuilder::new(Float32Builder::new());
    builder.append_value([Some(1.0), Some(2.0)]);
    builder.append_value([Some(1.0), None]);
    let text = "t.parquet, row 1, column `emb`: missing value (null)";
    assert_eq!(refusal(vec![("emb", column(builder.finish()))], &all), text);
    let nan = floats(&[1.0, f32::NAN]);
    assert_eq!(refusal(vec![("a", nan)], &all), "t.parquet, row 1, column `a`: features must be finite, got `NaN`");
    let text = "t.parquet: column `note` of type text cannot be read as features; supported are booleans, integers, \
                floats, decimals and lists of numbers";
    assert_eq!(refusal(people(), &Columns { ignore: vec!["who".into()], ..Columns::default() }), text);
    let float_id = Columns { id: Some("age".into()), features: Some(vec!["size".into()]), ..Columns::default() };
    let text = "t.parquet: column `age` of type float cannot be read as row ids; supported are integers and texts";
    assert_eq!(refusal(people(), &float_id), text);
    let absent = Columns { label: Some("target".into()), ..Columns::default() };
    assert!(refusal(people(), &absent).starts_with("t.parquet: no column `target`; there are `age`, `note`"));
    let null_label = Columns { label: Some("note".into()), features: Some(vec!["age".into()]), ..Columns::default() };
    assert_eq!(refusal(people(), &null_label), "t.parquet, row 1, column `note`: missing value (null)");
    let twice = vec![("x", floats(&[1.0, 2.0])), ("id", column(Int32Array::from(vec![4, 4])))];
    let text = "t.parquet, row 1: row id `4` is already that of row 0";
    assert_eq!(refusal(twice, &Columns { id: Some("id".into()), ..Columns::default() }), text);
    assert_eq!(refusal(vec![("a", floats(&[]))], &all), "t.parquet: no rows");
    let foreign = refusal_of("t.parquet", b"a,b\n1,2\n3,4\n5,6\n", &all);
    assert!(foreign.starts_with("t.parquet: not a readable .parquet file: "), "{foreign}");
}

fn table(n: usize) -> Vec<(&'static str, ArrayRef)> {
    let mut builder = ListBuilder::new(Float32Builder::new());
    let values: Vec<f32> = noise(5, 3 * n).iter().map(|x| *x as f32).collect();
    for row in values.chunks(3) {
        builder.append_value(row.iter().map(|value| Some(*value)));
    }
    vec![
        ("emb", column(builder.finish())),
        ("a", column(Float64Array::from(noise(6, n)))),
        ("id", column((0_i64..).take(n).map(|i| 3 * i).collect::<Int64Array>())),
        ("who", column((0..n).map(|i| Some(format!("p{}", i / 4))).collect::<StringArray>())),
        ("y", column((0..n).map(|i| Some(i % 2 == 0)).collect::<BooleanArray>())),
        ("note", column((0..n).map(|_| None::<String>).collect::<StringArray>())),
    ]
}

#[test]
fn rows_come_in_chunks_under_every_compression() {
    for compression in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::LZ4_RAW,
        Compression::ZSTD(ZstdLevel::default()),
        Compression::GZIP(GzipLevel::default()),
    ] {
        let (_folder, path) = file("t.parquet", &parquet_as(table(2100), compression));
        assert_chunks_make_the_whole(&path, &roles());
    }
}

#[test]
fn a_corrupt_row_group_is_refused() {
    let mut bytes = parquet(table(2100));
    let (_folder, path) = file("t.parquet", &bytes);
    let start = first_byte_of(&path, 2, 1);
    bytes[start..start + 60].fill(0xaa);
    let text = "t.parquet: not a readable .parquet file: ";
    assert!(refusal_of("t.parquet", &bytes, &roles()).starts_with(text));
}

#[test]
fn damaged_files_are_refused() {
    let small = || table(12);
    for compression in [Compression::UNCOMPRESSED, Compression::SNAPPY] {
        assert_damage_is_refused("t.parquet", &parquet_as(small(), compression), &roles());
    }
}

/// The decoder makes room for as many row groups and children of a group as a footer announces, and descends as deep as
/// groups are nested: a file of a hundred bytes ended the process.
#[test]
fn footers_that_announce_more_than_there_is_are_refused_before_they_are_decoded() {
    let file = |footer: &[&[u8]]| {
        let footer = footer.concat();
        [b"PAR1", &footer[..], &(footer.len() as u32).to_le_bytes(), b"PAR1"].concat()
    };
    let most: &[u8] = &[0xfe, 0xff, 0xff, 0xff, 0x0f];
    // Version 1; a schema of a group `s` and a column `a` of 32-bit integers; no rows; row groups.
    let (version, column): (&[u8], &[u8]) = (&[0x15, 2], &[0x15, 2, 0x25, 0, 0x18, 1, b'a', 0]);
    let children = file(&[version, &[0x19, 0x2c, 0x48, 1, b's', 0x15], most, &[0], column, &[0x16, 0, 0x19, 0x0c, 0]]);
    let group: &[u8] = &[0x48, 1, b's', 0x15, 2, 0];
    let row_groups = file(&[version, &[0x19, 0x2c], group, column, &[0x16, 0, 0x19, 0xfc], &most[1..], &[0]]);
    let nested = file(&[version, &[0x19, 0xfc, 0xa1, 0x8d, 0x06], &group.repeat(100_000), column, &[0]]);
    let sound = file(&[version, &[0x19, 0x2c], group, column, &[0x16, 0, 0x19, 0x0c, 0]]);
    let text = "t.parquet: not a readable .parquet file: its footer announces more than there is";
    for bytes in [children, row_groups, nested] {
        assert_eq!(refusal_of("t.parquet", &bytes, &Columns::default()), text);
    }
    assert_eq!(refusal_of("t.parquet", &sound, &Columns::default()), "t.parquet: no rows");
}

/// A page that announces two gigabytes got them, for every column of the file.
#[test]
fn pages_that_announce_more_than_their_bytes_can_hold_are_refused() {
    let columns = vec![("a", floats(&[1.0, 2.0, 3.0]))];
    let mut bytes = parquet_as(columns, Compression::UNCOMPRESSED);
    let (_folder, path) = file("t.parquet", &bytes);
    let start = first_byte_of(&path, 0, 0);
    // The head of a dictionary, with its type and the size of three floats twice, becomes one of 2³¹ − 1 bytes from two.
    assert_eq!(bytes[start..start + 6], [0x15, 4, 0x15, 24, 0x15, 24]);
    bytes[start + 2..start + 10].copy_from_slice(&[0x15, 0xfe, 0xff, 0xff, 0xff, 0x0f, 0x15, 4]);
    let refusal = refusal_of("t.parquet", &bytes, &Columns::default());
    assert!(refusal.ends_with("a page announces 2147483647 bytes, and has 2"), "{refusal}");
}

#[test]
fn only_needed_columns_are_read() {
    let bytes = parquet(table(600));
    let (_folder, path) = file("t.parquet", &bytes);
    let start = first_byte_of(&path, 0, 1);
    let mut damaged = bytes;
    damaged[start..start + 50].fill(0xaa);
    std::fs::write(&path, &damaged).expect("writable");
    let without = Columns { features: Some(vec!["emb".into()]), ..Columns::default() };
    assert_eq!(read_table(&path, &without, None).expect("the other column is not touched").n_rows(), 600);
    assert!(read_table(&path, &Columns { features: Some(vec!["a".into()]), ..Columns::default() }, None).is_err());
}

fn first_byte_of(path: &Path, row_group: usize, column: usize) -> usize {
    let reader = SerializedFileReader::new(File::open(path).expect("readable")).expect("valid");
    reader.metadata().row_group(row_group).column(column).byte_range().0 as usize
}
