//! Parquet columns of every type: the same table is the same features in a CSV; what cannot be read is left out, and said.

use std::sync::Arc;

use arrow_array::builder::{ListBuilder, MapBuilder, StringBuilder};
use arrow_array::types::{ArrowPrimitiveType, Float16Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, Date32Array, Date64Array, Decimal128Array, Decimal256Array, Float16Array, Int32Array,
    RecordBatch, StringArray, StructArray, Time32MillisecondArray, Time64MicrosecondArray, TimestampMicrosecondArray,
    TimestampMillisecondArray, TimestampNanosecondArray, TimestampSecondArray, UInt64Array,
};
use efface_data::{Columns, FeatureValues, RawLabels, RowId, Scale, Source, Table, open_rows, read_all, read_table};
use parquet::arrow::ArrowWriter;

use crate::samples::{file, without_folder};

fn parquet(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
        .expect("columns of one length");
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).expect("in memory");
    writer.write(&batch).expect("in memory");
    writer.into_inner().expect("in memory")
}

fn column(array: impl Array + 'static) -> ArrayRef {
    Arc::new(array)
}

/// Nanoseconds of 2024-05-31 18:00:07.123456789, and of an evening before 1970.
const INSTANTS: [i64; 2] = [1_717_178_407_123_456_789, -3_599_000_000_001];

fn instants(per_second: i64) -> Vec<Option<i64>> {
    let ticks = |ns: i64| Some(ns.div_euclid(1_000_000_000 / per_second));
    vec![ticks(INSTANTS[0]), None, ticks(INSTANTS[1])]
}

fn decimals(digits: [Option<i128>; 3], precision: u8, scale: i8) -> ArrayRef {
    let array = Decimal128Array::from(digits.to_vec());
    column(array.with_precision_and_scale(precision, scale).expect("they fit"))
}

fn halves() -> ArrayRef {
    let half = <Float16Type as ArrowPrimitiveType>::Native::from_f32;
    column(Float16Array::from(vec![Some(half(0.5)), None, Some(half(-2.25))]))
}

/// Each type, and what stands in a CSV in its place.
fn columns() -> Vec<(&'static str, ArrayRef, [&'static str; 3])> {
    let milliseconds = TimestampMillisecondArray::from(instants(1_000)).with_timezone("UTC");
    let nanoseconds = TimestampNanosecondArray::from(instants(1_000_000_000)).with_timezone("+02:00");
    let large = Decimal256Array::from_iter([Some(12_345_i128), None, Some(-1)].map(|x| x.map(Into::into)));
    let large = large.with_precision_and_scale(60, 2).expect("they fit");
    vec![
        ("date32", column(Date32Array::from(vec![Some(19_874), None, Some(-1)])), ["2024-05-31", "", "1969-12-31"]),
        (
            "date64",
            column(Date64Array::from(vec![Some(19_874 * 86_400_000), None, Some(-86_400_000)])),
            ["2024-05-31", "", "1969-12-31"],
        ),
        (
            "seconds",
            column(TimestampSecondArray::from(instants(1))),
            ["2024-05-31 18:00:07", "", "1969-12-31 23:00:00"],
        ),
        ("milliseconds", column(milliseconds), ["2024-05-31T18:00:07.123Z", "", "1969-12-31T23:00:00.999Z"]),
        (
            "microseconds",
            column(TimestampMicrosecondArray::from(instants(1_000_000))),
            ["2024-05-31 18:00:07.123456", "", "1969-12-31 23:00:00.999999"],
        ),
        (
            "nanoseconds",
            column(nanoseconds),
            ["2024-05-31T20:00:07.123456789+02:00", "", "1969-12-31T23:00:00.999999999Z"],
        ),
        (
            "time32",
            column(Time32MillisecondArray::from(vec![Some(64_800_000), None, Some(1_500)])),
            ["18:00:00", "", "00:00:01.5"],
        ),
        (
            "time64",
            column(Time64MicrosecondArray::from(vec![Some(64_800_000_000), None, Some(1)])),
            ["18:00:00", "", "00:00:00.000001"],
        ),
        ("int32 decimal", decimals([Some(12_345), None, Some(-7)], 9, 2), ["123.45", "", "-0.07"]),
        (
            "int64 decimal",
            decimals([Some(123_456_789_012_345_678), None, Some(1)], 18, 6),
            ["123456789012.345678", "", "0.000001"],
        ),
        (
            "fixed decimal",
            decimals([Some(10_i128.pow(30) + 1), None, Some(0)], 38, 10),
            ["100000000000000000000.0000000001", "", "0.0000000000"],
        ),
        ("large decimal", column(large), ["123.45", "", "-0.01"]),
        ("unsigned", column(UInt64Array::from(vec![Some(u64::MAX), None, Some(0)])), ["18446744073709551615", "", "0"]),
        ("half", halves(), ["0.5", "", "-2.25"]),
    ]
}

fn labelled() -> Columns {
    Columns { label: Some("y".into()), ..Columns::default() }
}

fn read(source: Source, columns: &Columns) -> (Table, Vec<String>) {
    let (mut reader, schema) = open_rows(source, columns, None, Scale::Auto).expect("readable");
    assert!(schema.is_some(), "columns are derived");
    let left_out = reader.left_out().iter().map(ToString::to_string).collect();
    (reader.next_chunk(100).expect("readable").expect("rows"), left_out)
}

/// Features, and the texts behind them.
fn seen(table: Table) -> (Vec<String>, Vec<u64>, String) {
    let parts = table.into_parts();
    let FeatureValues::F64(values) = &parts.features else { panic!("raw cells are doubles") };
    (parts.feature_names, values.iter().map(|x| x.to_bits()).collect(), format!("{:?}", parts.texts))
}

/// Dates, times and decimals were dropped without a word.
#[test]
fn a_column_of_any_type_is_what_it_is_in_a_csv() {
    let label = || column(StringArray::from(vec!["no", "yes", "no"]));
    for (name, array, cells) in columns() {
        let (_folder, typed) = file("t.parquet", &parquet(vec![("a", array), ("y", label())]));
        let text = format!("a,y\n{},no\n{},yes\n{},no\n", cells[0], cells[1], cells[2]);
        let (_other, text) = file("t.csv", text.as_bytes());
        let (typed, left_out) = read(Source::from(&typed), &labelled());
        assert_eq!(left_out, [""; 0], "{name}");
        assert_eq!(seen(typed), seen(read(Source::from(&text), &labelled()).0), "{name}");
    }
}

/// What Spark writes: parts of one table, beside files that say that it is complete.
#[test]
fn a_folder_of_files_is_one_table() {
    let part = |a: [&str; 2], y: [&str; 2]| {
        let texts = |texts: [&str; 2]| column(StringArray::from(texts.to_vec()));
        parquet(vec![("a", texts(a)), ("y", texts(y))])
    };
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).expect("writable");
    write("part-00000.parquet", &part(["1", "2"], ["no", "yes"]));
    write("part-00001.parquet", &part(["red", "4"], ["yes", "no"]));
    write("_SUCCESS", b"");
    write(".part-00000.parquet.crc", b"crc");
    let source = Source::named(&[folder.path().to_path_buf()]).expect("a folder of files");
    let (mut reader, _) = open_rows(source, &labelled(), None, Scale::Auto).expect("readable");
    let table = read_all(&mut *reader).expect("readable").expect("rows");
    assert_eq!((table.n_rows(), table.ids()[3].clone()), (4, RowId::Integer(3)));
    let (_other, text) = file("t.csv", b"a,y\n1,no\n2,yes\nred,yes\n4,no\n");
    assert_eq!(seen(table), seen(read(Source::from(&text), &labelled()).0));
}

fn nested() -> Vec<(&'static str, ArrayRef)> {
    let n = || column(Int32Array::from(vec![1, 2]));
    let texts = || column(StringArray::from(vec!["a", "b"]));
    let fields = RecordBatch::try_from_iter([("n", n()), ("t", texts())]).expect("columns of one length");
    let mut list = ListBuilder::new(StringBuilder::new());
    let mut map = MapBuilder::new(None, StringBuilder::new(), StringBuilder::new());
    for text in ["a", "b"] {
        list.append_value([Some(text)]);
        map.keys().append_value(text);
        map.values().append_value(text);
        map.append(true).expect("a key for each value");
    }
    vec![
        ("n", n()),
        ("address", column(StructArray::from(fields))),
        ("tags", column(list.finish())),
        ("extra", column(map.finish())),
        ("picture", column(BinaryArray::from_vec(vec![b"\x00", b"\xff"]))),
        ("y", texts()),
    ]
}

#[test]
fn columns_that_cannot_be_read_are_left_out_and_named() {
    let (folder, path) = file("t.parquet", &parquet(nested()));
    let (table, left_out) = read(Source::from(&path), &labelled());
    assert_eq!(table.feature_names(), ["n"]);
    assert_eq!(left_out, ["`address` (a struct)", "`tags` (a list of texts)", "`extra` (a map)", "`picture` (binary)"]);
    // Whoever leaves them out knows.
    let ignore = ["address", "tags", "extra"].map(String::from).to_vec();
    assert_eq!(read(Source::from(&path), &Columns { ignore, ..labelled() }).1, ["`picture` (binary)"]);
    let (_, left_out) = read(Source::named([&path, &copy(&folder)]).expect("files"), &labelled());
    assert_eq!(left_out.len(), 4);

    let refusal = |columns: Columns| {
        let error = open_rows(&path, &columns, None, Scale::Auto).map(drop).expect_err("must be refused");
        without_folder(&error.to_string(), folder.path())
    };
    let named = |name: &str| Some(name.to_owned());
    let text = "t.parquet: column `address` of type struct cannot be read as features; supported are texts, booleans, \
                numbers, dates, times and lists of numbers";
    assert_eq!(refusal(Columns { features: Some(vec!["n".into(), "address".into()]), ..labelled() }), text);
    let text = "t.parquet: column `tags` of type list of texts cannot be read as labels";
    assert!(refusal(Columns { label: named("tags"), ..Columns::default() }).starts_with(text));
    let text = "t.parquet: column `picture` of type binary cannot be read as row ids";
    assert!(refusal(Columns { id: named("picture"), ..labelled() }).starts_with(text));
}

/// The same file under another name.
fn copy(folder: &tempfile::TempDir) -> std::path::PathBuf {
    let to = folder.path().join("u.parquet");
    std::fs::copy(folder.path().join("t.parquet"), &to).expect("writable");
    to
}

/// Databases hand out integers as decimals of 38 digits.
#[test]
fn decimals_are_ids_labels_and_weights() {
    let bytes = parquet(vec![
        ("x", halves()),
        ("id", decimals([Some(7), Some(10_i128.pow(20)), Some(-8)], 38, 0)),
        ("y", decimals([Some(150), Some(-25), Some(0)], 10, 2)),
        ("w", decimals([Some(20), Some(5), Some(10)], 10, 1)),
        ("price", decimals([Some(1), Some(2), Some(3)], 10, 2)),
    ]);
    let (folder, path) = file("t.parquet", &bytes);
    let columns = Columns {
        label: Some("y".into()),
        id: Some("id".into()),
        weight: Some("w".into()),
        features: Some(vec!["price".into()]),
        ..Columns::default()
    };
    let table = read_table(&path, &columns, None).expect("numbers as they are");
    assert_eq!(table.features(), &FeatureValues::F64(vec![0.01, 0.02, 0.03]));
    assert_eq!(table.ids(), [RowId::Integer(7), RowId::parse("100000000000000000000"), RowId::Integer(-8)]);
    assert_eq!(table.labels().expect("labels").values, RawLabels::Numbers(vec![1.5, -0.25, 0.0]));
    assert_eq!(table.row_weights().expect("weights"), [2.0, 0.5, 1.0]);
    let priced = Columns { id: Some("price".into()), ..Columns::default() };
    let error = read_table(&path, &priced, None).expect_err("fractions").to_string();
    let text = "t.parquet: column `price` of type decimal cannot be read as row ids; supported are integers and texts";
    assert_eq!(without_folder(&error, folder.path()), text);
}
