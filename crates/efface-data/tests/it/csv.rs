//! Reading CSV: what is accepted, and what each mistake is called.

use std::io::Write;

use efface_data::{Columns, FeatureValues, RawLabels, RowId, Scale, Table, open_rows, read_table};
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::samples::{file, without_folder};

fn columns() -> Columns {
    Columns {
        label: Some("y".into()),
        id: Some("id".into()),
        subject: Some("who".into()),
        ignore: vec!["note".into()],
        ..Columns::default()
    }
}

fn read(text: impl AsRef<[u8]>, columns: &Columns) -> Result<Table, String> {
    let (folder, path) = file("t.csv", text.as_ref());
    read_table(&path, columns, None).map_err(|error| without_folder(&error.to_string(), folder.path()))
}

fn refusal(text: impl AsRef<[u8]>) -> String {
    read(text, &columns()).expect_err("must be refused")
}

const GOOD: &str = "id,who,a,note,b,y\n7,anna,1,x,2.5,no\n007,anna, -1e-3 ,,4,yes\n\"8\",\"bob, jr\",0,x,0,no\n";

#[test]
fn a_table_is_read_with_its_labels_ids_and_subjects() {
    let table = read(GOOD, &columns()).expect("valid");
    assert_eq!(table.feature_names(), ["a", "b"]);
    assert_eq!(table.features(), &FeatureValues::F64(vec![1.0, 2.5, -1e-3, 4.0, 0.0, 0.0]));
    assert_eq!(table.ids(), [RowId::Integer(7), RowId::Text("007".into()), RowId::Integer(8)]);
    assert_eq!(table.subjects().expect("subjects"), ["anna", "anna", "bob, jr"].map(RowId::parse));
    let labels = table.labels().expect("labels");
    assert_eq!(labels.values, RawLabels::Text(["no", "yes", "no"].map(String::from).to_vec()));
    assert!(labels.place(1).to_string().ends_with("t.csv, line 3, column `y`"));
}

#[test]
fn features_can_be_named_and_everything_else_left_out() {
    let named = Columns { features: Some(vec!["b".into(), "a".into()]), ..Columns::default() };
    let table = read(GOOD, &named).expect("valid");
    assert_eq!(table.features(), &FeatureValues::F64(vec![2.5, 1.0, 4.0, -1e-3, 0.0, 0.0]));
    assert_eq!(table.ids(), [0, 1, 2].map(RowId::Integer));
    assert!(table.labels().is_none() && table.subjects().is_none());
}

#[test]
fn a_gzipped_table_reads_the_same() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(GOOD.as_bytes()).expect("in memory");
    let bytes = encoder.finish().expect("in memory");
    let (_folder, path) = file("t.csv.gz", &bytes);
    let table = read_table(&path, &columns(), None).expect("valid");
    assert_eq!(table.features(), read(GOOD, &columns()).expect("valid").features());
    let (_folder, path) = file("t.csv.gz", &bytes[..bytes.len() - 20]);
    assert!(read_table(&path, &columns(), None).is_err());
}

#[test]
fn lines_are_counted_as_an_editor_counts_them() {
    let bad_line = |text: &str| read(text, &Columns::default()).expect_err("must be refused");
    assert_eq!(bad_line("a,b\n1,2\n3,x\n"), "t.csv, line 3, column `b`: features must be numbers, got `x`");
    assert_eq!(bad_line("a,b\r\n1,2\r\n3,x\r\n"), "t.csv, line 3, column `b`: features must be numbers, got `x`");
    assert_eq!(bad_line("a,b\r\n1,2\r\n3,x"), "t.csv, line 3, column `b`: features must be numbers, got `x`");
    assert_eq!(bad_line("\u{feff}a,b\n\n1,2\n\n\n3,x"), "t.csv, line 6, column `b`: features must be numbers, got `x`");
    let named = Columns { ignore: vec!["t".into()], ..Columns::default() };
    let quoted = read("t,a\n\"1\n2\n3\",4\n\"x\ny\",z\n", &named).expect_err("must be refused");
    assert_eq!(quoted, "t.csv, line 5, column `a`: features must be numbers, got `z`");
}

#[test]
fn each_mistake_is_named_with_its_place_and_value() {
    let header = "id,who,a,note,b,y\n";
    let with = |line: &str| refusal(format!("{header}1,anna,1,,2,no\n{line}\n"));
    assert_eq!(with("2,bob,,,2,no"), "t.csv, line 3, column `a`: empty cell");
    assert_eq!(with("2,bob,1,,2;5,no"), "t.csv, line 3, column `b`: features must be numbers, got `2;5`");
    assert_eq!(with("2,bob,1,,NaN,no"), "t.csv, line 3, column `b`: features must be finite, got `NaN`");
    assert_eq!(with("2,bob,-inf,,1,no"), "t.csv, line 3, column `a`: features must be finite, got `-inf`");
    assert_eq!(with("2,bob,1e999,,1,no"), "t.csv, line 3, column `a`: features must be finite, got `1e999`");
    assert_eq!(with("2,bob,1"), "t.csv, line 3: 3 cells, the header has 6");
    assert_eq!(with("2,bob,1,,2,no,5"), "t.csv, line 3: 7 cells, the header has 6");
    assert_eq!(with("1,bob,1,,2,no"), "t.csv, line 3: row id `1` is already that of line 2");
    assert_eq!(with(",bob,1,,2,no"), "t.csv, line 3, column `id`: empty cell");
    assert_eq!(with("2, ,1,,2,no"), "t.csv, line 3, column `who`: empty cell");
    assert_eq!(with("2,bob,1,,2,"), "t.csv, line 3, column `y`: empty cell");
    // The first letter beyond ASCII says that the text is in UTF-8, and a later one is not.
    let mixed = [header.as_bytes(), "1,Orléans,1,,2,no\n".as_bytes(), b"2,Orl\xe9ans,1,,2,no\n"].concat();
    assert_eq!(refusal(mixed), "t.csv: line 3, column `who` is not valid Unicode");
}

#[test]
fn headers_of_more_columns_than_can_be_learned_are_refused() {
    let text = "t.csv: 1048577 columns, at most 1048576 can be read";
    assert_eq!(refusal(",".repeat(1 << 20)), text);
}

#[test]
fn empty_files_and_missing_columns_are_refused() {
    assert_eq!(refusal(""), "t.csv: no rows");
    assert_eq!(refusal("id,who,a,note,b,y\n"), "t.csv: no rows");
    assert_eq!(refusal("id,who,a\n1,anna,2\n"), "t.csv: no column `y`; there are `id`, `who`, `a`");
    assert_eq!(refusal("id,who,y\n1,anna,no\n"), "t.csv: no column `note`; there are `id`, `who`, `y`");
    assert_eq!(refusal("id,who,y,note\n1,anna,no,x\n"), "t.csv: no feature columns");
    let texts = refusal("id,who,a,b,note,c,y\n1,anna,x,2,,z,no\n");
    assert_eq!(texts, "t.csv, line 2, column `a`: features must be numbers, got `x`; no numbers either: `c`");
    assert_eq!(refusal("id,who,y,a,a\n1,anna,no,1,1\n"), "t.csv: two columns are called `a`");
}

#[test]
fn files_that_are_missing_or_of_another_kind_are_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let message = |name: &str| {
        let error = read_table(folder.path().join(name), &Columns::default(), None).expect_err("must be refused");
        without_folder(&error.to_string(), folder.path())
    };
    assert!(message("absent.csv").starts_with("absent.csv: No such file"));
    let text = "t.xlsx: unknown kind of file; supported are .csv, .tsv, .txt, .jsonl, .ndjson, .npy, .npz, .parquet, .svm, .libsvm and .idx, and all but \
                .npz and .parquet gzipped (.gz)";
    assert_eq!(message("t.xlsx"), text);
}

#[test]
fn a_line_that_names_the_delimiter_counts_as_a_line() {
    let all = Columns::default();
    let table = read("sep=;\r\na;b\r\n1;2\r\n", &all).expect("valid");
    assert_eq!((table.feature_names().join(" ").as_str(), table.n_rows()), ("a b", 1));
    let refusal = |text: &str| read(text, &all).expect_err("must be refused");
    assert_eq!(refusal("sep=;\na;b\n1;x\n"), "t.csv, line 3, column `b`: features must be numbers, got `x`");
    assert_eq!(refusal("sep=;\na;b\n1;2\n1\n"), "t.csv, line 4: 1 cells, the header has 2");
    assert_eq!(refusal("sep=;\n"), "t.csv: no rows");
    assert_eq!(refusal("sep=;"), "t.csv: no rows");
    assert_eq!(read("sep,b\n1,2\n", &all).expect("a column of that name").feature_names(), ["sep", "b"]);
}

/// The parser ends a quote where the text ends: the rest of the file was a cell, or the row before it had too few of them.
#[test]
fn a_quote_that_is_not_closed_is_named_where_it_is_opened() {
    let refusal = |text: &str| read(text, &Columns::default()).expect_err("must be refused");
    let opened = "a quote is opened here and not closed";
    for end in ["\n", "\r\n"] {
        let refusal = |text: &str| refusal(&text.replace('\n', end));
        assert_eq!(refusal("a,b,c\n1,2,3\n4,\"5,6\n7,8,9\n"), format!("t.csv, line 3, column `b`: {opened}"));
        assert_eq!(refusal("a,b,c\n1,2,\"3\n4,5,6\n7,8,9"), format!("t.csv, line 2, column `c`: {opened}"));
        assert_eq!(refusal("a,b\n\n\"1\n2\",\"\n3\n"), format!("t.csv, line 4, column `b`: {opened}"));
        assert_eq!(refusal("a,\"b\n1,2\n"), format!("t.csv, line 1: {opened}"));
        assert_eq!(refusal("sep=,\na,b\n1,\""), format!("t.csv, line 3, column `b`: {opened}"));
    }
    let spans = "t.csv, line 2: 4 cells, the header has 3; the row spans 2 lines: is a quote not closed?";
    assert_eq!(refusal("a,b,c\n1,\"2,3\n4\",5,6\n"), spans);
    let whole = read("a,b\n1,\"2\"", &Columns::default()).expect("closed by the last byte");
    assert_eq!(whole.features(), &FeatureValues::F64(vec![1.0, 2.0]));
}

/// A cell was held as a whole, however long: three megabytes of gzip inflate to four gigabytes behind one quote.
#[test]
fn cells_and_rows_have_an_end() {
    let long = |n: usize| format!("id,who,a,note,b,y\r\n7,anna,1,,2.5,no\r\n8,anna,1,\"{}\",2.5,no\r\n", "x".repeat(n));
    assert_eq!(read(long(1 << 20), &columns()).expect("at the limit").n_rows(), 2);
    let text = "t.csv, line 3, column `note`: a cell of 1048577 bytes, at most 1048576 can be read";
    assert_eq!(refusal(long((1 << 20) + 1)), text);

    let mut text = "id,who,a,note,b,y\r\n7,anna,1,,2.5,no\r\n8,anna,1,\"".as_bytes().to_vec();
    text.resize(70_000_000, b'x');
    let message = "the row is longer than 67108864 bytes; is a quote not closed?";
    assert_eq!(refusal(&text), format!("t.csv, line 3: {message}"));
    let (folder, path) = file("t.csv.gz", &{
        let mut gz = GzEncoder::new(Vec::new(), Compression::fast());
        gz.write_all(&text).expect("in memory");
        gz.finish().expect("in memory")
    });
    let error = read_table(&path, &columns(), None).expect_err("must be refused").to_string();
    assert_eq!(without_folder(&error, folder.path()), format!("t.csv.gz, line 3: {message}"));
    // The header as well.
    assert_eq!(refusal(&text[42..]), format!("t.csv, line 1: {message}"));
}

/// What separates columns is told by the header, and numbers, dates and texts are told apart cell by cell.
#[test]
fn columns_are_separated_by_comma_semicolon_tab_or_bar() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let columns = Columns { label: Some("y".into()), ..Columns::default() };
    for (delimiter, name) in [(",", "comma"), (";", "semicolon"), ("\t", "tab"), ("|", "bar")] {
        let rows = ["\"a, b\"|when|y", "1.5|2024-05-31|no", "\"2|x\"|2024-06-01|yes", "|x|no"];
        let text = rows.map(|row| row.replace('|', delimiter)).join("\n");
        let path = folder.path().join(format!("{name}.csv"));
        std::fs::write(&path, text).expect("writable");
        let (mut reader, schema) = open_rows(&path, &columns, None, Scale::Auto).expect("readable");
        assert_eq!(reader.feature_names(), ["a, b", "when"], "{name}");
        assert_eq!(schema.expect("cells are kept as they are").derived(), [true, true]);
        let table = reader.next_chunk(10).expect("readable").expect("rows");
        let FeatureValues::F64(cells) = table.features() else { panic!("raw cells are doubles") };
        assert_eq!((cells[0], cells[1], cells[3]), (1.5, 19_874.0, 19_875.0), "{name}");
        assert!([cells[2], cells[4], cells[5]].iter().all(|cell| cell.is_nan()), "{name}");
        assert_eq!(table.into_parts().texts.expect("texts").len(), 2, "{name}");
    }
}
