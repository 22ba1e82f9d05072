//! Reading in chunks: every format delivers the same rows, however many are asked for at a time.

use efface_data::{Columns, RowId, open_table, read_table};

use crate::samples::{assert_chunks_make_the_whole, file, gzipped, without_folder};

fn table(n: usize) -> String {
    let rows = (0..n).map(|i| format!("{},{}.5,u{i},p{},{}\n", i * 3, i, i / 4, i % 3)).collect::<Vec<_>>().concat();
    format!("a,b,id,who,y\n{rows}")
}

fn columns() -> Columns {
    Columns { label: Some("y".into()), id: Some("id".into()), subject: Some("who".into()), ..Columns::default() }
}

#[test]
fn a_table_in_text_comes_in_chunks() {
    let (_folder, path) = file("t.csv", table(2500).as_bytes());
    assert_chunks_make_the_whole(&path, &columns());
    let numbered = Columns { ignore: vec!["id".into(), "who".into()], ..Columns::default() };
    assert_chunks_make_the_whole(&path, &numbered);
    let (_folder, path) = file("t.csv.gz", &gzipped(table(2500).as_bytes()));
    assert_chunks_make_the_whole(&path, &columns());
}

#[test]
fn rows_without_ids_are_numbered_on() {
    let (_folder, path) = file("t.csv", b"a\n1\n2\n3\n");
    let mut reader = open_table(&path, &Columns::default(), None).expect("valid");
    assert_eq!(reader.next_chunk(2).expect("valid").expect("rows").ids(), [0, 1].map(RowId::Integer));
    assert_eq!(reader.next_chunk(0).expect("valid").expect("a row").ids(), [2].map(RowId::Integer));
    assert!(reader.next_chunk(2).expect("valid").is_none());
}

#[test]
fn mistakes_are_named_by_their_place_in_the_whole_file() {
    let (folder, path) = file("t.csv", b"a\n1\n2\n3\nx\n");
    let mut reader = open_table(&path, &Columns::default(), None).expect("valid");
    reader.next_chunk(3).expect("valid");
    let error = reader.next_chunk(3).expect_err("must be refused").to_string();
    let text = "t.csv, line 5, column `a`: features must be numbers, got `x`";
    assert_eq!(without_folder(&error, folder.path()), text);
}

#[test]
fn an_id_that_comes_twice_is_refused_in_the_whole_table() {
    let text = "id,a\n".to_owned() + &(0..100).map(|i| format!("{},1\n", i % 99)).collect::<Vec<_>>().concat();
    let (folder, path) = file("t.csv", text.as_bytes());
    let columns = Columns { id: Some("id".into()), ..Columns::default() };
    let error = read_table(&path, &columns, None).expect_err("must be refused").to_string();
    let text = "t.csv, line 101: row id `0` is already that of line 2";
    assert_eq!(without_folder(&error, folder.path()), text);
}

#[test]
fn a_file_without_rows_is_an_error_in_chunks_too() {
    let (_folder, path) = file("t.csv", b"a,b\n");
    let mut reader = open_table(&path, &Columns::default(), None).expect("valid");
    assert!(reader.next_chunk(10).is_err());
}
