//! Tables of every format, and the schemas that make features of raw ones.

use std::io::Write;
use std::path::Path;

use efface_data::{CellError, Columns, ReadError, Schema, open_table, propose, read_table};
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::agreement::check;
use crate::scratch;

/// A table, as it is and with the roles that some columns have.
pub(crate) fn read(name: &str, bytes: &[u8]) {
    let path = scratch::file(name, bytes);
    check(&path, &Columns::default(), None);
    let role = |name: &str| Some(name.to_owned());
    let columns = Columns { label: role("y"), id: role("id"), subject: role("who"), ..Columns::default() };
    check(&path, &columns, None);
    check(&path, &Columns { id: None, subject: None, ..columns }, None);
}

/// An array as features, and as the labels, the ids and the subjects of one that has three rows.
pub(crate) fn read_array(name: &str, bytes: &[u8]) {
    let path = scratch::file(name, bytes);
    check(&path, &Columns::default(), None);
    let mut three_rows = if name == "rows.idx" {
        vec![0, 0, 8, 2, 0, 0, 0, 3, 0, 0, 0, 1]
    } else {
        let header = b"{'descr': '|u1', 'fortran_order': False, 'shape': (3, 1), }\n";
        [b"\x93NUMPY\x01\x00", &[header.len() as u8, 0][..], header].concat()
    };
    three_rows.extend([1, 2, 3]);
    let features = scratch::file(&format!("three-{name}"), &three_rows);
    let column = Some(path.to_str().expect("a path of our own").to_owned());
    check(&features, &Columns { label: column.clone(), ..Columns::default() }, None);
    check(&features, &Columns { id: column.clone(), subject: column, ..Columns::default() }, None);
}

pub(crate) fn libsvm(bytes: &[u8]) {
    let path = scratch::file("rows.svm", bytes);
    if is_small_when_dense(&path) {
        check(&path, &Columns::default(), None);
    }
    let features = (1..=3).map(|index| format!("x{index}")).collect();
    check(&path, &Columns { features: Some(features), ..Columns::default() }, None);
}

/// A line of ten bytes can stand for a row of a million features. That is what the format is for, so that only rows which
/// are few, or short, are read at once.
fn is_small_when_dense(path: &Path) -> bool {
    const MAX_VALUES: usize = 1 << 22;
    let Ok(mut reader) = open_table(path, &Columns::default(), None) else { return true };
    let max_rows = MAX_VALUES / reader.feature_names().len();
    let Ok(Some(chunk)) = reader.next_chunk(max_rows) else { return true };
    chunk.n_rows() < max_rows
}

pub(crate) fn parquet(bytes: &[u8]) {
    read("rows.parquet", bytes);
    check_proposal(&scratch::file("rows.parquet", bytes));
}

/// Bytes that are not gzipped are, so that what lies behind the decompression is reached, too.
pub(crate) fn gz(bytes: &[u8]) {
    let gzipped = if bytes.starts_with(&[0x1f, 0x8b]) { bytes.to_vec() } else { gzipped(bytes) };
    for name in ["rows.csv.gz", "rows.npy.gz", "rows.svm.gz", "rows.idx.gz"] {
        let path = scratch::file(name, &gzipped);
        if name != "rows.svm.gz" || is_small_when_dense(&path) {
            check(&path, &Columns::default(), None);
        }
    }
}

/// A schema file. One that is read can be kept with a model and read back, and encodes a table or says why not.
pub(crate) fn schema(bytes: &[u8]) {
    let path = scratch::file("schema.toml", bytes);
    let Ok(schema) = Schema::load(path) else { return };
    let names = schema.feature_names();
    assert_eq!(names.len(), schema.dim(), "names and features");
    assert!(schema.largest_norm() >= 0.0, "a norm of {}", schema.largest_norm());
    let kept = serde_json::to_string(&schema).expect("a schema can be kept");
    let again: Schema = serde_json::from_str(&kept).expect("what was kept can be read");
    assert_eq!(again, schema, "kept and read back");
    let table = check(&scratch::file("rows.csv", RAW_TABLE), &schema.fill_in(Columns::default()), Some(&schema));
    assert!(table.is_none_or(|table| table.feature_names() == names), "names of the table");
}

/// A raw table, read through a schema and looked at for a proposal.
pub(crate) fn raw_csv(bytes: &[u8]) {
    let path = scratch::file("rows.csv", bytes);
    let schema = Schema::parse(SCHEMA).expect("a valid schema");
    check(&path, &schema.fill_in(Columns::default()), Some(&schema));
    check_proposal(&path);
}

/// A schema that is proposed for a table can be written, is read back the same, and encodes that table.
fn check_proposal(path: &Path) {
    let Ok(proposal) = propose(path, &Columns::default(), None) else { return };
    let text = proposal.to_toml();
    let schema = Schema::parse(&text).unwrap_or_else(|error| panic!("a proposal that cannot be read: {error}\n{text}"));
    assert_eq!(schema, proposal.schema, "proposed and read back");
    match read_table(path, &Columns::default(), Some(&schema)) {
        Ok(table) => assert_eq!(table.n_rows() as u64, proposal.n_rows, "rows of the proposal"),
        Err(ReadError::TooLarge { .. }) => {}
        // A list with an element that is no number cannot be read, whatever the schema.
        Err(ReadError::Cell { source, .. }) if matches!(*source, CellError::NotFinite { .. }) => {}
        Err(error) => panic!("the table that a schema was proposed for is refused by it: {error}\n{text}"),
    }
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("in memory");
    encoder.finish().expect("in memory")
}

const SCHEMA: &str = r#"
format = "efface-schema-1"
label = "y"
id = "id"
missing_markers = ["?"]

[[column]]
name = "age"
kind = "numeric"
range = [0, 120]
missing = "slot"

[[column]]
name = "plan"
kind = "categorical"
values = ["basic", "plus"]

[[column]]
name = "note"
kind = "hashed"
buckets = 16
"#;

const RAW_TABLE: &[u8] = b"id,age,plan,note,y\n1,30,basic,some words,a\n2,?,plus,,b\n3,150,gold,more words here,a\n";
