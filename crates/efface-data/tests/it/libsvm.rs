//! Reading libsvm: sparse text becomes dense rows, with the labels of the file, and each mistake is called by its line.

use efface_data::{Columns, FeatureValues, RawLabels, RowId, carries_labels, is_array, open_table, read_table};

use crate::samples::{assert_chunks_make_the_whole, assert_damage_is_refused, file, gzipped, real_file, refusal_of};

const GOOD: &str = "# made by hand\n+1 1:0.5 3:-2e-1 # a comment\n\n-1\n+1 2:7\r\n";

fn with_model(dim: usize) -> Columns {
    Columns { features: Some((1..=dim).map(|index| format!("x{index}")).collect()), ..Columns::default() }
}

#[test]
fn rows_become_dense_and_bring_their_labels() {
    let (_folder, path) = file("t.svm", GOOD.as_bytes());
    let table = read_table(&path, &Columns::default(), None).expect("valid");
    assert_eq!(table.feature_names(), ["x1", "x2", "x3"]);
    assert_eq!(table.features(), &FeatureValues::F64(vec![0.5, 0.0, -0.2, 0.0, 0.0, 0.0, 0.0, 7.0, 0.0]));
    assert_eq!(table.ids(), [0, 1, 2].map(RowId::Integer));
    let labels = table.labels().expect("labels");
    assert_eq!(labels.values, RawLabels::Numbers(vec![1.0, -1.0, 1.0]));
    assert!(labels.place(2).to_string().ends_with("t.svm, line 5"));
    assert!(carries_labels(&path) && !is_array(&path) && !carries_labels("t.csv"));
}

#[test]
fn a_model_says_how_wide_rows_are() {
    let (_folder, path) = file("t.libsvm", GOOD.as_bytes());
    let table = read_table(&path, &with_model(5), None).expect("valid");
    assert_eq!(table.feature_names().len(), 5);
    let text = "t.svm, line 2: index `3` is beyond the 2 features of the model";
    assert_eq!(refusal_of("t.svm", GOOD.as_bytes(), &with_model(2)), text);
    let named = Columns { features: Some(vec!["x1".into(), "age".into()]), ..Columns::default() };
    assert_eq!(refusal_of("t.svm", GOOD.as_bytes(), &named), "t.svm: no column `age`; there are `x1`, `x2`");
}

#[test]
fn rows_come_in_chunks() {
    let text = (0..2100).map(|i| format!("{} {}:{}.25 90:{i}\n", i % 3, 1 + i % 80, i)).collect::<Vec<_>>().concat();
    let (_folder, path) = file("t.svm", text.as_bytes());
    assert_chunks_make_the_whole(&path, &Columns::default());
    assert_chunks_make_the_whole(&path, &with_model(100));
    let (_folder, path) = file("t.svm.gz", &gzipped(text.as_bytes()));
    assert_chunks_make_the_whole(&path, &Columns::default());
}

#[test]
fn each_mistake_is_named_with_its_line() {
    let with = |line: &str| refusal_of("t.svm", format!("1 1:1 2:3\n{line}\n").as_bytes(), &Columns::default());
    assert_eq!(with("1 2:1 1:3"), "t.svm, line 2: indices must increase, got `1` after `2`");
    assert_eq!(with("1 2:1 2:3"), "t.svm, line 2: indices must increase, got `2` after `2`");
    assert_eq!(with("1 0:1"), "t.svm, line 2: indices count from 1, got `0`");
    assert_eq!(with("1 -1:1"), "t.svm, line 2: the index must be a whole number, got `-1`");
    assert_eq!(with("1 1:x"), "t.svm, line 2, column `x1`: features must be numbers, got `x`");
    assert_eq!(with("1 1:"), "t.svm, line 2, column `x1`: features must be numbers, got ``");
    assert_eq!(with("1 1:1e999"), "t.svm, line 2, column `x1`: features must be finite, got `1e999`");
    assert_eq!(with("1 1:nan"), "t.svm, line 2, column `x1`: features must be finite, got `nan`");
    assert_eq!(with("1 17"), "t.svm, line 2: expected `index:value`, got `17`");
    assert_eq!(with("1 qid:3 1:1"), "t.svm, line 2: query ids (`qid:`) are not supported");
    assert_eq!(with("1,2 1:1"), "t.svm, line 2: the label must be a finite number, got `1,2`");
    assert_eq!(with("1:1 2:1"), "t.svm, line 2: the label must be a finite number, got `1:1`");
    assert_eq!(with("inf 2:1"), "t.svm, line 2: the label must be a finite number, got `inf`");
    assert_eq!(with("1 4000000000:1"), "t.svm, line 2: index `4000000000` is too large, the limit is 1048576");
    let text = "t.svm: line 1 is not valid Unicode";
    assert_eq!(refusal_of("t.svm", b"1 1:\xff\n", &Columns::default()), text);
}

#[test]
fn files_without_rows_or_features_are_refused() {
    let refusal = |text: &str| refusal_of("t.svm", text.as_bytes(), &Columns::default());
    assert_eq!(refusal(""), "t.svm: no rows");
    assert_eq!(refusal("# nothing\n\n"), "t.svm: no rows");
    assert_eq!(refusal("1\n0\n"), "t.svm: no feature columns");
    assert_eq!(refusal_of("t.svm", b"\n", &with_model(3)), "t.svm: no rows");
}

#[test]
fn no_column_can_be_label_id_or_subject() {
    let label = Columns { label: Some("y".into()), ..Columns::default() };
    let text = "t.svm: no column can be the label, got `y`; the file's own labels are used and its rows are numbered";
    assert_eq!(refusal_of("t.svm", GOOD.as_bytes(), &label), text);
    let id = Columns { id: Some("id".into()), ..Columns::default() };
    assert!(refusal_of("t.svm", GOOD.as_bytes(), &id).starts_with("t.svm: no column can be the id, got `id`"));
}

#[test]
fn rows_too_wide_to_be_held_at_once_are_read_a_few_at_a_time() {
    let row = format!("1 1048576:1 # {}\n", "wide ".repeat(120));
    let (_folder, path) = file("t.svm", row.repeat(10_000).as_bytes());
    let mut reader = open_table(&path, &Columns::default(), None).expect("valid");
    let chunk = reader.next_chunk(2).expect("valid").expect("rows");
    assert_eq!((chunk.n_rows(), chunk.features().len()), (2, 2 << 20));
}

#[test]
fn damaged_files_never_bring_the_reader_down() {
    // A cut text may still be a shorter text, so only the compressed one must be refused.
    let text = (0..40).map(|i| format!("{} {}:{}.25\n", i % 3, 1 + i % 80, i)).collect::<Vec<_>>().concat();
    assert_damage_is_refused("t.svm.gz", &gzipped(text.as_bytes()), &Columns::default());
}

#[test]
fn a9a_is_read() {
    let (Some(train), Some(test)) = (real_file("a9a/a9a.svm.gz"), real_file("a9a/a9a.t.svm.gz")) else { return };
    let table = read_table(&train, &Columns::default(), None).expect("readable");
    assert_eq!((table.n_rows(), table.feature_names().len()), (32_561, 123));
    let columns = Columns { features: Some(table.feature_names().to_vec()), ..Columns::default() };
    let table = read_table(&test, &columns, None).expect("readable");
    assert_eq!((table.n_rows(), table.feature_names().len()), (16_281, 123));
}
