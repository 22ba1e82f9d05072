//! Small files that ask for much: under a limit of 1 GB of address space every one of them is refused in one line.
#![cfg(target_os = "linux")]

use std::io::{Cursor, Write};
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;
use parquet::data_type::DoubleType;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::sandbox::{Answer, COLUMNS, Sandbox, npy};

/// Runs the program with so little address space that a bomb would burst it.
fn confined(sandbox: &Sandbox, arguments: &str) -> Answer {
    sandbox.shell(&format!("ulimit -c 0; ulimit -v 1048576; exec \"$0\" {arguments}"))
}

/// A text, then so many times another, gzipped.
fn inflating(start: impl AsRef<[u8]>, repeated: &str, n_bytes: usize) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(start.as_ref()).expect("in memory");
    let block = repeated.repeat((1 << 20) / repeated.len());
    for _ in 0..n_bytes.div_ceil(block.len()) {
        encoder.write_all(block.as_bytes()).expect("in memory");
    }
    encoder.finish().expect("in memory")
}

/// An archive of one array of zeros, which deflate to a thousandth.
fn archive(array: &[u8], n_zeros: usize) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    zip.start_file("x.npy", SimpleFileOptions::default()).expect("in memory");
    zip.write_all(array).expect("in memory");
    for _ in 0..n_zeros >> 20 {
        zip.write_all(&vec![0; 1 << 20]).expect("in memory");
    }
    zip.finish().expect("in memory").into_inner()
}

/// One number so many times, which a dictionary writes in a few bytes.
fn column_of_one_number(n_rows: usize) -> Vec<u8> {
    let schema = parse_message_type("message rows { required double x0; }").expect("a schema");
    let mut writer = SerializedFileWriter::new(Vec::new(), schema.into(), Arc::default()).expect("in memory");
    let mut group = writer.next_row_group().expect("in memory");
    let mut column = group.next_column().expect("in memory").expect("a column");
    for _ in 0..n_rows / 100_000 {
        column.typed::<DoubleType>().write_batch(&vec![0.5; 100_000], None, None).expect("in memory");
    }
    column.close().expect("in memory");
    group.close().expect("in memory");
    writer.into_inner().expect("in memory")
}

/// Three megabytes of gzip took 4.2 gigabytes of memory, and 25 bytes of libsvm asked for 4 terabytes.
#[test]
fn bombs_are_refused_in_one_line() {
    let sandbox = Sandbox::with_model("");
    sandbox.json("release model --out model.json");
    let n_bytes = 256 << 20;
    sandbox.write("cell.csv.gz", inflating("id,who,a,b,c,y\nu1,p1,1,2,3,\"", "x", n_bytes));
    sandbox.write("header.csv.gz", inflating("id,", "x,", n_bytes));
    sandbox.write("line.svm.gz", inflating("1 ", "1:1 ", n_bytes));
    sandbox.write("wide.svm", "1 1048576:1\n".repeat(400));
    sandbox.write("index.svm", "1 4294967296:1\n0 1:1\n");
    sandbox.write("ids.txt", "7".repeat(3 << 20));
    sandbox.write("header.npy", npy("<f8", "(1000000000000, 1000000)", &[0; 64]));
    sandbox.write("text.npy", npy("<U99999999999", "(3, 1)", &[0; 64]));
    let huge = format!("{}1{}", "[".repeat(1 << 20), "]".repeat(1 << 20));
    sandbox.write("deep.json", &huge);
    sandbox.write("deep.toml", format!("a = {huge}"));
    let train = |data: &str| format!("train {data} --out other");
    for (arguments, parts) in [
        (format!("train cell.csv.gz {COLUMNS} --out other"), &["cell.csv.gz, line 2", "67108864 bytes"][..]),
        (format!("train header.csv.gz {COLUMNS} --out other"), &["header.csv.gz", "67108864 bytes"]),
        (train("line.svm.gz"), &["line.svm.gz, line 1: longer than 67108864 bytes"]),
        (train("wide.svm"), &["wide.svm: 400 rows of 1048576 features", "the limit is 1073741824"]),
        (train("index.svm"), &["index.svm, line 1: index `4294967296` is too large, the limit is 1048576"]),
        ("remove model --ids ids.txt".into(), &["ids.txt, line 1: longer than 1048576 bytes"]),
        ("remove model --ids /dev/zero".into(), &["/dev/zero: a device"]),
        (train("header.npy --label header.npy"), &["header.npy: truncated"]),
        (train("text.npy --label text.npy"), &["text.npy: element type `<U99999999999`"]),
        ("predict deep.json two.csv".into(), &["deep.json: not a published model"]),
        ("predict /dev/zero two.csv".into(), &["out of memory"]),
        ("certificate show deep.json".into(), &["deep.json"]),
        (format!("train two.csv {COLUMNS} --schema deep.toml --out other"), &["deep.toml"]),
    ] {
        confined(&sandbox, &arguments).is_refusal(parts);
    }
    assert!(!sandbox.exists("other"));
    confined(&sandbox, "verify deep.json").ends_with(1);
    // Machines are told as well.
    let answer = confined(&sandbox, "predict /dev/zero two.csv --json");
    answer.is_refusal(&["out of memory"]);
    assert_eq!(answer.json()["error"]["code"], "out-of-memory");
}

/// Rows are predicted chunk by chunk: a few megabytes that stand for hundreds of millions of rows take no memory.
#[test]
fn rows_beyond_memory_are_predicted_as_they_are_read() {
    let sandbox = Sandbox::new();
    sandbox.write("one.csv", "x0,y\n0.1,a\n0.3,b\n0.2,a\n0.4,b\n");
    sandbox.json("train one.csv --label y --out narrow --intercept");
    sandbox.json("release narrow --out narrow.json");
    sandbox.write("rows.csv.gz", inflating("x0\n", "1\n", 256 << 20));
    // A byte each, and four once they are read.
    let array = npy("|u1", "(268435456, 1)", &[]);
    sandbox.write("zeros.npz", archive(&array, 268_435_456));
    sandbox.write("zeros.npy.gz", inflating(array, "\0", 268_435_456));
    sandbox.write("many.parquet", column_of_one_number(25_000_000));
    for file in ["rows.csv.gz", "zeros.npz", "zeros.npy.gz", "many.parquet"] {
        let line =
            format!("ulimit -c 0; ulimit -v 1048576; \"$0\" predict narrow.json {file} | tail -n +200002 | head -1");
        let answer = sandbox.shell(&line);
        assert_eq!(answer.stderr, "", "{file}");
        assert!(answer.stdout.starts_with("200000,"), "{file}: {answer:?}");
    }
}

/// As many features as can be read: of a few rows a model is made, without a matrix of them, which would take 10 gigabytes.
/// Each thread that multiplies matrices reserves twice the processor's cache, untouched: a gigabyte on some machines.
#[test]
fn a_few_rows_of_many_features_are_no_bomb() {
    let sandbox = Sandbox::new();
    sandbox.write("wide.svm", "1 1:1 50000:1\n0 2:1\n1 1:1 3:1\n0 2:1 3:1\n");
    for arguments in ["train wide.svm --out model", "remove model --id 3"] {
        let line = format!("ulimit -c 0; ulimit -v 8388608; export RAYON_NUM_THREADS=1; exec \"$0\" {arguments}");
        sandbox.shell(&line).ends_with(0);
    }
}

/// Threads take address space, too, and a pool of them that cannot be started was a panic.
#[test]
fn threads_that_cannot_be_started_are_an_error() {
    let sandbox = Sandbox::new();
    sandbox.write("many.csv", crate::sandbox::two_classes(3000));
    let line = format!("ulimit -c 0; ulimit -v 1048576; exec \"$0\" train many.csv {COLUMNS} --out model");
    let answer = sandbox.shell(&format!("export RAYON_NUM_THREADS=5000; {line}"));
    answer.is_refusal(&["error: cannot start a thread", "hint: RAYON_NUM_THREADS=1"]);
    assert_eq!(sandbox.names("."), ["many.csv"]);
}
