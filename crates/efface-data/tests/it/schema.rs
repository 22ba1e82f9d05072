//! Reading through a schema: the same features from every format, in any chunks and for any rows around; places of
//! mistakes; proposals.

use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{Float32Builder, ListBuilder};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Float64Array, Int32Array, RecordBatch, StringArray,
};
use efface_data::{
    ColumnKind, Columns, EntryOrigin, FeatureValues, Missing, Schema, SchemaProposal, Table, open_table, propose,
    read_table,
};
use parquet::arrow::ArrowWriter;
use proptest::prelude::*;

use crate::samples::{file, npy, without_folder};

const SCHEMA: &str = r#"
format = "efface-schema-1"
label = "y"
missing_markers = ["?"]

[[column]]
name = "age"
kind = "numeric"
range = [0, 100]
missing = "slot"
origin = "public"

[[column]]
name = "code"
kind = "categorical"
values = [1, 2]
missing = "zero"
origin = "public"

[[column]]
name = "town"
kind = "hashed"
buckets = 4
missing = { value = "elsewhere" }
origin = "public"

[[column]]
name = "member"
kind = "boolean"
true = ["true", "yes"]
false = ["false", "no"]
missing = "zero"
origin = "public"
"#;

fn schema() -> Schema {
    Schema::parse(SCHEMA).expect("valid")
}

fn labelled() -> Columns {
    Columns { label: Some("y".into()), ..Columns::default() }
}

fn values(table: &Table) -> &[f64] {
    let FeatureValues::F64(values) = table.features() else { panic!("doubles are expected") };
    values
}

fn parquet(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
        .expect("columns of one length");
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).expect("in memory");
    writer.write(&batch).expect("in memory");
    writer.into_inner().expect("in memory")
}

fn refusal(path: &Path, columns: &Columns, schema: &Schema) -> String {
    let error = read_table(path, columns, Some(schema)).expect_err("must be refused").to_string();
    without_folder(&error, path.parent().expect("a folder"))
}

#[test]
fn text_and_typed_columns_give_the_same_features() {
    let text = "y,town,age,code,member,note\na,Bern,25,1,true,-\nb,,75.5,2.0,,-\na,Rome,?,3,no,-\nb,Bern,,,yes,-\n";
    let (_csv, csv_path) = file("t.csv", text.as_bytes());
    let bytes = parquet(vec![
        ("member", Arc::new(BooleanArray::from(vec![Some(true), None, Some(false), Some(true)]))),
        ("age", Arc::new(Float64Array::from(vec![Some(25.0), Some(75.5), None, Some(f64::NAN)]))),
        ("town", Arc::new(StringArray::from(vec![Some("Bern"), None, Some("Rome"), Some(" Bern ")]))),
        ("code", Arc::new(Int32Array::from(vec![Some(1), Some(2), Some(3), None]))),
        ("y", Arc::new(StringArray::from(vec!["a", "b", "a", "b"]))),
        ("when", Arc::new(Date32Array::from(vec![1, 2, 3, 4]))),
    ]);
    let (_parquet, parquet_path) = file("t.parquet", &bytes);
    let from_text = read_table(&csv_path, &labelled(), Some(&schema())).expect("valid");
    let typed = read_table(&parquet_path, &labelled(), Some(&schema())).expect("valid");
    assert_eq!(from_text.feature_names(), schema().feature_names());
    assert_eq!(typed.feature_names(), from_text.feature_names());
    assert_eq!(values(&typed), values(&from_text));
    let rows: Vec<&[f64]> = values(&from_text).chunks_exact(10).collect();
    assert_eq!(rows[0][..5], [-0.5, 0.0, 1.0, 0.0, 0.0]);
    assert_eq!(rows[1][..5], [0.51, 0.0, 0.0, 1.0, 0.0]);
    assert_eq!(rows[2][..5], [0.0, 1.0, 0.0, 0.0, 1.0]);
    assert_eq!(rows[3][..5], [0.0, 1.0, 0.0, 0.0, 0.0]);
    assert_eq!([0, 1, 2, 3].map(|row| rows[row][9]), [1.0, 0.0, -1.0, 1.0]);
}

#[test]
fn lists_of_a_parquet_file_are_vectors() {
    let mut lists = ListBuilder::new(Float32Builder::new());
    for row in [Some([0.0, 1.0]), None, Some([-3.0, 0.5])] {
        match row {
            Some(row) => lists.append_value(row.map(Some)),
            None => lists.append_null(),
        }
    }
    let (_folder, path) = file("t.parquet", &parquet(vec![("face", Arc::new(lists.finish()))]));
    let entry = "[[column]]\nname = \"face\"\nkind = \"vector\"\ndim = 2\nrange = [-1, 1]";
    let of = |more: &str| Schema::parse(&format!("format = \"efface-schema-1\"\n{entry}\n{more}")).expect("valid");
    let table = read_table(&path, &Columns::default(), Some(&of("missing = \"zero\""))).expect("valid");
    assert_eq!(values(&table), [0.0, 1.0, 0.0, 0.0, -1.0, 0.5]);
    let text = "t.parquet, row 1, column `face`: missing value, which the schema does not allow here";
    assert_eq!(refusal(&path, &Columns::default(), &of("")), text);
    let proposed = propose(&path, &Columns::default(), None).expect("valid").schema;
    assert!(matches!(proposed.columns()[0].kind, ColumnKind::Vector { dim: 2, .. }), "{proposed:?}");
}

#[test]
fn columns_of_an_array_can_be_encoded() {
    let data: Vec<u8> = [1.0_f64, 5.0, 2.0, 10.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    let (_folder, path) = file("x.npy", &npy("<f8", "(2, 2)", &data));
    let entry = "[[column]]\nname = \"x1\"\nkind = \"numeric\"\nrange = [0, 10]\n[[column]]\nname = \"x0\"\nkind = \"categorical\"\nvalues = [1, 2]\nunknown = \"error\"";
    let schema = Schema::parse(&format!("format = \"efface-schema-1\"\n{entry}")).expect("valid");
    let table = read_table(&path, &Columns::default(), Some(&schema)).expect("valid");
    assert_eq!(table.feature_names(), ["x1", "x0=1", "x0=2"]);
    assert_eq!(values(&table), [0.0, 1.0, 0.0, 1.0, 0.0, 1.0]);
    let other = Schema::parse(&format!("format = \"efface-schema-1\"\n{}", entry.replace("x1", "x7"))).expect("valid");
    let text = "x.npy: the schema names column `x7`, not found; columns are `x0`, `x1`";
    assert_eq!(refusal(&path, &Columns::default(), &other), text);
}

#[test]
fn features_are_those_of_the_schema() {
    let (_folder, path) = file("t.csv", b"y,town,age,code,member\na,b,1,1,no\n");
    let named = Columns { features: Some(schema().feature_names()), ..labelled() };
    assert!(read_table(&path, &named, Some(&schema())).is_ok());
    let some = Columns { features: Some(vec!["age".into()]), ..labelled() };
    let text = "t.csv: the features are those of the schema and cannot be chosen apart from it";
    assert_eq!(refusal(&path, &some, &schema()), text);
    let (_folder, path) = file("t.csv", b"y,age\na,1\n");
    let text = "t.csv: the schema names column `code`, not found; columns are `y`, `age`";
    assert_eq!(refusal(&path, &labelled(), &schema()), text);
    let (_folder, path) = file("t.csv", b"town,age,code,member\nb,1,1,no\n");
    assert_eq!(
        refusal(&path, &labelled(), &schema()),
        "t.csv: no column `y`; there are `town`, `age`, `code`, `member`"
    );
}

/// A row of the table: cells, present or missing.
fn row() -> impl Strategy<Value = String> {
    let age = prop_oneof![Just("?".to_owned()), (-50_i32..150).prop_map(|x| x.to_string()), Just("12.75".to_owned())];
    let code = prop::sample::select(vec!["1", "2", "2.0", "7", "", "x"]);
    let town = prop::sample::select(vec!["Bern", "Rome", "Oslo", ""]);
    let member = prop::sample::select(vec!["yes", "no", "true", ""]);
    (age, code, town, member).prop_map(|(age, code, town, member)| format!("{age},{code},{town},{member},l"))
}

fn rows_of(lines: &[&String], max_rows: usize) -> Vec<Vec<f64>> {
    let text = lines.iter().map(|line| line.as_str()).collect::<Vec<_>>().join("\n");
    let (_folder, path) = file("t.csv", format!("age,code,town,member,y\n{text}\n").as_bytes());
    let mut reader = open_table(&path, &labelled(), Some(&schema())).expect("valid");
    let mut rows = Vec::new();
    while let Some(chunk) = reader.next_chunk(max_rows).expect("valid") {
        rows.extend(values(&chunk).chunks_exact(chunk.feature_names().len()).map(<[f64]>::to_vec));
    }
    rows
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// What removal rests on: a row becomes the same whoever else is in the file, and however the file is read.
    #[test]
    fn a_row_is_encoded_the_same_in_any_company(
        lines in prop::collection::vec((row(), any::<bool>()), 1..40),
        max_rows in 1_usize..10,
    ) {
        let all: Vec<&String> = lines.iter().map(|(line, _)| line).collect();
        let whole = rows_of(&all, usize::MAX);
        prop_assert_eq!(&rows_of(&all, max_rows), &whole);
        let kept: Vec<usize> = (0..lines.len()).filter(|i| lines[*i].1).collect();
        if !kept.is_empty() {
            let alone = rows_of(&kept.iter().map(|i| all[*i]).collect::<Vec<_>>(), max_rows);
            let expected: Vec<&Vec<f64>> = kept.iter().map(|i| &whole[*i]).collect();
            prop_assert_eq!(alone.iter().collect::<Vec<_>>(), expected);
        }
        let within = whole.iter().flatten().all(|x| (-1.0..=1.0).contains(x));
        prop_assert!(within);
        let norm = whole.iter().map(|row| row.iter().map(|x| x * x).sum::<f64>().sqrt()).fold(0.0, f64::max);
        prop_assert!(norm <= schema().largest_norm());
    }
}

fn proposal(text: &str, columns: &Columns) -> SchemaProposal {
    let (_folder, path) = file("t.csv", text.as_bytes());
    propose(&path, columns, None).expect("valid")
}

/// 200 rows; `cell(i)` gives the cells of all columns of row i.
fn table(header: &str, cell: impl Fn(usize) -> String) -> String {
    let rows = (0..200).map(cell).collect::<Vec<_>>().join("\n");
    format!("{header}\n{rows}\n")
}

#[test]
fn a_proposal_finds_the_kind_of_each_column() {
    let text = table("number,flag,mixed,word,many,unique,running,empty,code,y", |i| {
        let mixed = if i % 50 == 0 { "unk".to_owned() } else { (i % 7).to_string() };
        let word = if i % 10 == 0 { "NA" } else { ["a", "b\"c", "d#e"][i % 3] };
        let flag = ["Yes", "no"][i % 2];
        format!("{}.5,{flag},{mixed},\"{}\",w{},u{i},{},,{},l", i % 90, word.replace('"', "\"\""), i % 99, i + 7, i % 4)
    });
    let proposal = proposal(&text, &labelled());
    let kinds: Vec<(&str, &str)> =
        proposal.schema.columns().iter().map(|column| (column.name.as_str(), column.kind.tag())).collect();
    let expected = [
        ("number", "numeric"),
        ("flag", "boolean"),
        ("mixed", "categorical"),
        ("word", "categorical"),
        ("many", "hashed"),
        ("code", "numeric"),
    ];
    assert_eq!(kinds, expected);
    let left_out: Vec<&str> = proposal.left_out.iter().map(|left_out| left_out.name.as_str()).collect();
    assert_eq!(left_out, ["unique", "running", "empty"]);
    assert!(proposal.schema.columns().iter().all(|column| column.origin == EntryOrigin::Inferred));
    let column = |name: &str| proposal.schema.columns().iter().find(|column| column.name == name).expect("proposed");
    assert_eq!((column("word").missing.clone(), column("flag").missing.clone()), (Missing::Slot, Missing::Error));
    assert_eq!(column("many").kind, ColumnKind::Hashed { buckets: 128 });
    assert!(
        matches!(&column("number").kind, ColumnKind::Numeric { range: Some(range) } if (range.low(), range.high()) == (0.0, 100.0))
    );
    assert_eq!(proposal.columns[2].texts_among_numbers, ["unk"]);
    assert_eq!(proposal.columns[5].codes, ["0", "1", "2", "3"]);

    // What is written is what was proposed, and it reads the file that it was proposed for.
    let toml = proposal.to_toml();
    assert_eq!(Schema::parse(&toml).expect("valid"), proposal.schema, "{toml}");
    let (_folder, path) = file("t.csv", text.as_bytes());
    read_table(&path, &labelled(), Some(&proposal.schema)).expect("fits");
}

/// Sentences were left out as ids are, and what pictures become was nowhere said.
#[test]
fn sentences_become_n_grams_and_pictures_are_recognized() {
    let words = ["fine", "film", "plot", "dull", "long", "good"];
    let sentence = |i: usize| (0..4 + i % 4).map(|j| words[(i * (j + 3) + j) % 6]).collect::<Vec<_>>().join(" ");
    let text =
        table("n,review,photo,y", |i| format!("{},{} {i},faces/{i}.{},l", i % 9, sentence(i), ["png", "JPG"][i % 2]));
    let whole = proposal(&text, &labelled());
    for (proposal, number) in [(whole.clone(), "numeric"), (whole.derived(), "derived")] {
        let columns = proposal.schema.columns();
        assert_eq!((columns[0].kind.tag(), columns[1].kind.tag()), (number, "text"));
        assert_eq!(columns[1].origin, EntryOrigin::Public);
        assert_eq!((proposal.left_out[0].name.as_str(), columns.len()), ("photo", 2));
        assert_eq!(proposal.left_out[0].reason, "it names pictures");
        let toml = proposal.to_toml();
        assert_eq!(Schema::parse(&toml).expect("valid"), proposal.schema, "{toml}");
        let (_folder, path) = file("t.csv", text.as_bytes());
        read_table(&path, &labelled(), Some(&proposal.schema)).expect("fits");
    }
}

#[test]
fn rare_values_are_pointed_out() {
    let text = table("word,y", |i| format!("{},l", if i == 7 { "only here" } else { "common" }));
    let proposal = proposal(&text, &labelled());
    assert_eq!(proposal.columns[0].rare, ["only here"]);
    assert!(proposal.to_toml().contains("# In fewer than five rows, look twice: `only here`."));
}

#[test]
fn odd_names_and_values_survive_the_file() {
    let header = "\"a \"\"b\"\" # \\ [c]\",\"é,ü\"";
    let text =
        table(header, |i| format!("\"x = {}\n# y\",{}", i % 3, ["\"'''\"", "\"\"\"\"\"\"", "\\n", "\t|"][i % 4]));
    let proposal = proposal(&text, &Columns::default());
    assert_eq!(Schema::parse(&proposal.to_toml()).expect("valid"), proposal.schema, "{}", proposal.to_toml());
}

#[test]
fn a_sample_is_enough_and_types_that_cannot_be_read_are_left_out() {
    let text = table("a,b", |i| format!("{},{}", i % 9, if i < 100 { "x" } else { "y" }));
    let (_folder, path) = file("t.csv", text.as_bytes());
    let proposal = propose(&path, &Columns::default(), Some(60)).expect("valid");
    assert_eq!(proposal.n_rows, 60);
    assert!(matches!(&proposal.schema.columns()[1].kind, ColumnKind::Categorical { values, .. } if values == &["x"]));

    let bytes: ArrayRef = Arc::new(BinaryArray::from_vec(vec![b"a", b"b"]));
    let dates: ArrayRef = Arc::new(Date32Array::from(vec![1, 2]));
    let bytes = parquet(vec![("picture", bytes), ("when", dates), ("n", Arc::new(Int32Array::from(vec![1, 2])))]);
    let (_folder, path) = file("t.parquet", &bytes);
    let proposal = propose(&path, &Columns::default(), None).expect("valid");
    assert_eq!((proposal.left_out[0].name.as_str(), proposal.schema.columns().len()), ("picture", 2));
    assert_eq!(proposal.left_out[0].reason, "it cannot be read (binary)");
    assert!(read_table(&path, &Columns::default(), None).is_err());
}

#[test]
fn nothing_to_propose_is_an_error() {
    for (name, text) in [("t.csv", "a,y\n"), ("t.csv", ""), ("t.csv", "a,y\n,l\n"), ("t.txt", "a")] {
        let (_folder, path) = file(name, text.as_bytes());
        assert!(propose(&path, &labelled(), None).is_err(), "{text:?}");
    }
}
