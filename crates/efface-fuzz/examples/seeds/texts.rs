//! Seeds of texts: CSV, libsvm, schemas.

use super::{gzipped, seed, seed_with_damage};

pub(super) fn write() {
    seed_with_damage("csv", "plain", PLAIN.as_bytes());
    seed("csv", "quoted", "a,\"b, c\",y\n\"1\",\"2\",\"x\ny\"\n3,4,\"z\"\"\"\n");
    seed("csv", "crlf", PLAIN.replace('\n', "\r\n"));
    seed("csv", "blank-lines", "\n\na,b\n\n1,2\r\n\r\n\n3,4");
    seed("csv", "one-cell", "a\n1e308");
    seed("csv", "not-finite", "a,b\n1,inf\n");
    seed("csv", "same-id", "id,a,y,who\n1,1,0,p\n1,2,1,p\n");
    seed("csv", "byte-order-mark", "\u{feff}a,b\n1,2\n");

    seed_with_damage("libsvm", "plain", LIBSVM.as_bytes());
    seed("libsvm", "comments", "# first\n1 1:1 # second\n\n-1 2:0.5\n");
    seed("libsvm", "wide", "0 20000:1\n");
    seed("libsvm", "decreasing", "1 3:1 2:1\n");
    seed("libsvm", "labels-only", "1\n0\n");

    seed_with_damage("schema", "every-kind", SCHEMA.as_bytes());
    seed("schema", "empty", "format = \"efface-schema-1\"\n");
    seed("schema", "nested", format!("format = {}1{}", "[".repeat(200), "]".repeat(200)));

    seed_with_damage("raw_csv", "plain", RAW.as_bytes());
    seed("raw_csv", "numbers", "age,plan,note,y,id\n1,2,3,4,5\n6,7,8,9,10\n");
    seed("raw_csv", "dates", "when,flag,x\n2024-01-02,yes,0x10\n2025-02-03,no,1_000\n,,\n");

    seed("gz", "csv", gzipped(PLAIN.as_bytes()));
    seed("gz", "csv-two-members", [gzipped(b"a,b\n1,2\n"), gzipped(b"3,4\n")].concat());
    seed("gz", "csv-payload", PLAIN);
    seed("gz", "libsvm", gzipped(LIBSVM.as_bytes()));
    let whole = gzipped(PLAIN.as_bytes());
    seed("gz", "csv-without-checksum", &whole[..whole.len() - 8]);
    seed("gz", "blank-lines", gzipped("\n".repeat(1 << 16).as_bytes()));
}

const PLAIN: &str = "id,a,b,y,who\n7,0.5,-1,yes,anna\nr8,1e-3, 2 ,no,bob\n9,3,4.25,yes,anna\n";
const LIBSVM: &str = "+1 1:0.5 3:-2e-1\n-1 2:1\n+1 1:1 2:2 3:3\n";
const RAW: &str = "id,age,plan,note,y\n1,30,basic,some words,a\n2,?,plus,,b\n3,150,gold,more words here,a\n";
const SCHEMA: &str = r#"format = "efface-schema-1"
label = "y"
id = "id"
missing_markers = ["?", "NA"]

[[column]]
name = "age"
kind = "numeric"
range = [0, 120]
missing = "slot"
origin = "public"

[[column]]
name = "plan"
kind = "categorical"
values = ["basic", "plus"]
unknown = "slot"

[[column]]
name = "note"
kind = "hashed"
buckets = 8

[[column]]
name = "age2"
kind = "boolean"
true = ["yes", 1]
false = ["no", 0]
missing = "zero"

[[column]]
name = "face"
kind = "vector"
dim = 3
range = [-3, 3]
"#;
