//! One table, as people have it: in every dialect, encoding and number of files it is the same table.

use efface_data::{Columns, FeatureValues, ReadError, Scale, Source, Table, open_rows, open_table, propose};

use crate::samples::{file, gzipped, without_folder};

const HEADER: [&str; 5] = ["kunde", "größe", "ort", "wieviel", "kommt"];

/// Rows with a decimal point, an umlaut, a gap, a delimiter in quotes.
const ROWS: [[&str; 5]; 4] = [
    ["1", "1.83", "Zürich", "3", "ja"],
    ["2", "1.60", "Orléans", "", "nein"],
    ["3", "1.75", "a,b;c|d", "12", "ja"],
    ["4", "", "Zürich", "7", "nein"],
];

fn columns() -> Columns {
    Columns { label: Some("kommt".into()), id: Some("kunde".into()), ..Columns::default() }
}

/// The table in text, decimal commas where the delimiter leaves them.
fn text(delimiter: char, end: &str) -> String {
    let cell = |cell: &str| if cell.contains(',') { format!("\"{cell}\"") } else { cell.to_owned() };
    let line = |cells: &[&str; 5]| cells.map(cell).join(&delimiter.to_string()) + end;
    let rows: Vec<String> = ROWS.iter().map(line).collect();
    line(&HEADER) + &rows.concat()
}

fn json_lines() -> String {
    let row = |row: &[&str; 5]| {
        let mut fields = serde_json::Map::new();
        for (name, cell) in HEADER.iter().zip(row) {
            let number = cell.parse::<f64>().ok().and_then(serde_json::Number::from_f64);
            let value = match number {
                Some(number) => number.into(),
                None if cell.is_empty() => serde_json::Value::Null,
                None => (*cell).into(),
            };
            fields.insert((*name).into(), value);
        }
        serde_json::Value::Object(fields).to_string() + "\n"
    };
    ROWS.iter().map(row).collect::<Vec<_>>().concat()
}

/// Everything that a model would see of a table.
fn seen(table: &Table) -> String {
    let texts = &table.clone().into_parts().texts;
    let bits: Vec<u64> = match table.features() {
        FeatureValues::F64(values) => values.iter().map(|x| x.to_bits()).collect(),
        FeatureValues::F32(values) => values.iter().map(|x| x.to_bits().into()).collect(),
    };
    let labels = &table.labels().expect("labels").values;
    format!("{:?} {bits:?} {:?} {labels:?} {texts:?}", table.feature_names(), table.ids())
}

fn read(source: Source) -> Result<String, ReadError> {
    let (mut reader, schema) = open_rows(source, &columns(), None, Scale::Auto)?;
    assert!(schema.is_some(), "columns are derived");
    let table = reader.next_chunk(100)?.expect("rows");
    assert!(reader.next_chunk(100)?.is_none());
    Ok(seen(&table))
}

fn utf16(text: &str) -> Vec<u8> {
    "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
}

fn latin1(text: &str) -> Vec<u8> {
    text.chars().map(|c| u8::try_from(u32::from(c)).expect("Latin-1")).collect()
}

#[test]
fn a_table_is_the_same_in_every_dialect() {
    let (_folder, path) = file("t.csv", text(',', "\n").as_bytes());
    let expected = read(Source::from(&path)).expect("readable");
    let semicolons = text(';', "\r\n").replace("1.83", "1,83").replace("1.60", "1,60").replace("1.75", "1,75");
    for (name, bytes) in [
        ("semicolon.csv", semicolons.clone().into_bytes()),
        ("excel.csv", [b"\xef\xbb\xbf", semicolons.as_bytes()].concat()),
        ("sep.csv", [b"\xef\xbb\xbfsep=;\r\n", semicolons.as_bytes()].concat()),
        ("sep-tilde.csv", format!("\"SEP=~\"\n{}", text('~', "\n")).into_bytes()),
        ("sep-utf16.csv", utf16(&format!("sep=\t\r\n{}", text('\t', "\r\n")))),
        ("tabs.tsv", text('\t', "\n").into_bytes()),
        ("bars.txt", text('|', "\n").into_bytes()),
        ("utf16.csv", utf16(&text(';', "\r\n"))),
        ("latin.csv", latin1(&text(',', "\n"))),
        ("latin.csv.gz", gzipped(&latin1(&text('\t', "\r\n")))),
        ("lines.jsonl", json_lines().into_bytes()),
        ("lines.ndjson.gz", gzipped(json_lines().as_bytes())),
        ("utf16.jsonl", utf16(&json_lines())),
    ] {
        let (_folder, path) = file(name, &bytes);
        assert_eq!(read(Source::from(&path)).expect(name), expected, "{name}");
    }
    let (_folder, path) = file("latin.csv", &latin1(&text(',', "\n")));
    let mut reader =
        open_table(&path, &Columns { features: Some(vec!["wieviel".into()]), ..columns() }, None).expect("a header");
    let progress = || reader.progress().guessed_encoding;
    assert_eq!(progress(), Some("Windows-1252 (Latin-1)"));
    assert!(reader.next_chunk(1).expect("the first row").is_some());
    assert_eq!(read(Source::from(&path).encoded("latin1").expect("known")).expect("readable"), expected);
    assert!(read(Source::from(&path).encoded("utf-16le").expect("known")).is_err(), "another encoding is believed");
}

#[test]
fn several_files_are_one_table() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("writable");
    write("a.csv", "x,y,n\n1,2,0\n3,4,1\n");
    // In another order, with a column of its own, in another dialect.
    write("b.csv", "n;more;y;x\n0;9;6;5\n");
    // Nobody wrote rows into these parts.
    for (name, text) in [("ba.csv", ""), ("bb.jsonl", "\n"), ("bc.csv", "x,y,n\n"), ("z.csv", "")] {
        write(name, text);
    }
    write("c.jsonl", "{\"x\": 7, \"y\": 8, \"n\": 1}\n\n{\"x\": 9, \"n\": 0, \"y\": 10}\n");
    let columns = Columns { label: Some("n".into()), ..Columns::default() };
    let mut reader = open_table(Source::named([folder.path()]).expect("files"), &columns, None).expect("readable");
    let (mut ids, mut values, mut places) = (Vec::new(), Vec::new(), Vec::new());
    while let Some(table) = reader.next_chunk(2).expect("readable") {
        ids.extend(table.ids().iter().map(ToString::to_string));
        places.extend(
            (0..table.n_rows()).map(|row| without_folder(&table.origin().place(row, None).to_string(), folder.path())),
        );
        match table.features() {
            FeatureValues::F64(features) => values.extend_from_slice(features),
            FeatureValues::F32(_) => unreachable!("texts are read in double precision"),
        }
    }
    assert_eq!(ids, ["0", "1", "2", "3", "4"]);
    assert_eq!(values, (1..=10).map(f64::from).collect::<Vec<_>>());
    assert_eq!(places, ["a.csv, line 2", "a.csv, line 3", "b.csv, line 2", "c.jsonl, line 1", "c.jsonl, line 3"]);
    assert_eq!(reader.progress().rows, 5);
    let proposal = propose(Source::named([folder.path()]).expect("files"), &columns, None).expect("a schema");
    assert_eq!(proposal.n_rows, 5);

    write("d.csv", "x,n\n1,0\n");
    let mut reader = open_table(Source::named([folder.path()]).expect("files"), &columns, None).expect("readable");
    let error = loop {
        match reader.next_chunk(10) {
            Ok(table) => assert!(table.is_some(), "the last file lacks a column"),
            Err(error) => break without_folder(&error.to_string(), folder.path()),
        }
    };
    assert_eq!(error, "d.csv: no column `y`; there are `x`, `n`");
}

fn refusal(name: &str, bytes: &[u8]) -> String {
    let (folder, path) = file(name, bytes);
    let columns = Columns { label: Some("y".into()), ..Columns::default() };
    let open = open_rows(&path, &columns, None, Scale::Auto).and_then(|(mut reader, _)| reader.next_chunk(2000));
    without_folder(&open.expect_err("must be refused").to_string(), folder.path())
}

#[test]
fn damaged_lines_of_json_are_named() {
    let good = "{\"a\": 1, \"y\": \"no\"}\n";
    let mut many = good.repeat(1001);
    many.push_str("{\"a\": 1, \"late\": 5, \"y\": \"no\"}\n");
    for (text, expected) in [
        ("", "t.jsonl: no rows"),
        ("[{\"a\": 1, \"y\": 2}]", "t.jsonl, line 1: an array; each line is one object: {\"column\": value, …}"),
        (
            &format!("{good}{{\"a\": 1, \"y\""),
            "t.jsonl, line 2: the line ends before its object is closed; each object stands on one line",
        ),
        (
            "{\n\"a\": 1,\n\"y\": 2}\n",
            "t.jsonl, line 1: the line ends before its object is closed; each object stands on one line",
        ),
        (&format!("{good}\n7\n"), "t.jsonl, line 3: invalid type: integer `7`, expected an object, at character 1"),
        (
            &format!("{good}{{\"a\": {{\"deep\": 1}}, \"y\": \"no\"}}\n"),
            "t.jsonl, line 2, column `a`: an object, where a text, a number, true, false or null is expected",
        ),
        (
            &format!("{good}{{\"a\": [1, 2], \"y\": \"no\"}}\n"),
            "t.jsonl, line 2, column `a`: a list, where a text, a number, true, false or null is expected",
        ),
        (&format!("{good}{{\"a\": 1}}\n"), "t.jsonl, line 2, column `y`: empty cell"),
        (
            &format!("{good}{{\"a\": \"{}\", \"y\": \"no\"}}\n", "long".repeat(1 << 18) + "!"),
            "t.jsonl, line 2, column `a`: a cell of 1048577 bytes, at most 1048576 can be read",
        ),
        (
            &many,
            "t.jsonl, line 1002: field `late` is in none of the lines at the beginning of the file, which say what columns \
             there are, at character 15",
        ),
    ] {
        assert_eq!(refusal("t.jsonl", text.as_bytes()), expected);
    }
}

/// Frames of pandas are written with their index before the first column.
#[test]
fn a_column_without_a_name_is_left_out_and_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("t.csv");
    std::fs::write(&path, ",n,y\n0,1.5,0\n1,2.5,1\n").expect("writable");
    let columns = Columns { label: Some("y".into()), ..Columns::default() };
    let (reader, _) = open_rows(&path, &columns, None, Scale::Auto).expect("readable");
    let left_out: Vec<String> = reader.left_out().iter().map(ToString::to_string).collect();
    assert_eq!(
        (reader.feature_names().concat().as_str(), left_out),
        ("n", vec!["`` (column 1, without a name)".into()])
    );
    assert_eq!(propose(&path, &columns, None).expect("a schema").left_out.len(), 1);
}

/// Bytes of a spreadsheet were quoted as the names of columns.
#[test]
fn files_that_are_no_text_are_called_what_they_are() {
    for (bytes, what) in [
        (gzipped(b"a,y\n1,0\n"), "a gzip file"),
        (b"PK\x03\x04\x14\0\x06\0".to_vec(), "a spreadsheet (.xlsx) or another zip archive"),
        (b"\x28\xb5\x2f\xfd\x04".to_vec(), "a zstd file"),
        (b"%PDF-1.7\n".to_vec(), "a PDF"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0".to_vec(), "a spreadsheet (.xls)"),
        (b"PAR1\x15\0".to_vec(), "a Parquet file"),
    ] {
        assert_eq!(refusal("t.csv", &bytes), format!("t.csv: not a text; it looks like {what}"));
        assert_eq!(refusal("t.jsonl", &bytes), format!("t.jsonl: not a text; it looks like {what}"));
        let unknown = refusal("t.dat", &bytes);
        assert!(unknown.starts_with(&format!("t.dat: unknown kind of file (it looks like {what});")), "{unknown}");
    }
    assert_eq!(refusal("t.csv.gz", &gzipped(&gzipped(b"a,y\n"))), "t.csv.gz: not a text; it looks like a gzip file");
}

/// Where nobody has written a schema, none is spoken of.
#[test]
fn a_column_that_is_missing_is_expected_by_somebody() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("a.csv"), "n,town,y\n1,Bern,0\n").expect("writable");
    std::fs::write(path("b.csv"), "n,y\n1,0\n").expect("writable");
    let columns = Columns { label: Some("y".into()), ..Columns::default() };
    let source = Source::named([path("a.csv"), path("b.csv")]).expect("files");
    let (mut reader, schema) = open_rows(source.clone(), &columns, None, Scale::Auto).expect("readable");
    let told = |error: ReadError| without_folder(&error.to_string(), folder.path());
    reader.next_chunk(10).expect("the first file");
    let text = |who: &str| format!("b.csv: {who} column `town`, not found; columns are `n`, `y`");
    assert_eq!(told(reader.next_chunk(10).expect_err("the second")), text("the first file has"));
    let model = open_table(path("b.csv"), &columns, schema.as_ref());
    assert_eq!(told(model.map(drop).expect_err("for a model")), text("the model was trained with"));
    let given = open_rows(path("b.csv"), &columns, schema, Scale::Auto);
    assert_eq!(told(given.map(drop).expect_err("by a schema")), text("the schema names"));
}

/// A cell of two megabytes was printed whole.
#[test]
fn long_cells_are_quoted_shortly() {
    let long = "é".repeat(400_000);
    let (folder, path) = file("t.csv", format!("a,y\n1,0\n{long},1\n").as_bytes());
    let columns = Columns { label: Some("y".into()), ..Columns::default() };
    let error = open_table(&path, &columns, None).expect("a header").next_chunk(10).expect_err("not a number");
    let expected =
        format!("t.csv, line 3, column `a`: features must be numbers, got `{}… (800000 bytes)`", "é".repeat(40));
    assert_eq!(without_folder(&error.to_string(), folder.path()), expected);
}

#[test]
fn weights_are_read_in_every_format() {
    let columns = Columns { label: Some("y".into()), weight: Some("w".into()), ..Columns::default() };
    let read = |name: &str, text: &str| {
        let (folder, path) = file(name, text.as_bytes());
        let table = open_table(&path, &columns, None).and_then(|mut reader| reader.next_chunk(10));
        table
            .map(|table| table.expect("rows").row_weights().expect("weights").to_vec())
            .map_err(|error| without_folder(&error.to_string(), folder.path()))
    };
    assert_eq!(read("t.csv", "x,y,w\n1,0,2\n2,1,0.5\n"), Ok(vec![2.0, 0.5]));
    assert_eq!(read("t.jsonl", "{\"x\":1,\"y\":0,\"w\":2}\n{\"x\":2,\"y\":1,\"w\":0}\n"), Ok(vec![2.0, 0.0]));
    let refused = "t.csv, line 2, column `w`: a row counts as 0 to 2147483648 rows, got `-1`";
    assert_eq!(read("t.csv", "x,y,w\n1,0,-1\n"), Err(refused.into()));
    assert_eq!(read("t.csv", "x,y,w\n1,0,\n"), Err("t.csv, line 2, column `w`: empty cell".into()));
}
