//! Rows as people have them: in any number of files, from a pipe, in any encoding, with weights.

use std::fmt::Write;

use serde_json::Value;

use crate::sandbox::{Sandbox, gzipped};

/// Orders from three towns; how late they are depends on the distance.
fn orders(rows: impl IntoIterator<Item = usize>, delimiter: char) -> String {
    let mut text = "order,when,town,distance,late\n".replace(',', &delimiter.to_string());
    for i in rows {
        let distance = (i * 37 % 101) as f64 / 10.0;
        let (town, late) = (["Zürich", "Orléans", "Genève"][i % 3], 3.0 * distance + (i % 3) as f64);
        let day = 1 + i % 28;
        writeln!(text, "{i}{delimiter}{day:02}.03.2024{delimiter}{town}{delimiter}{distance}{delimiter}{late}")
            .expect("text");
    }
    text
}

fn json_lines(rows: impl IntoIterator<Item = usize>) -> String {
    let text = orders(rows, ';');
    let lines = text.lines().skip(1).map(|line| {
        let cells: Vec<&str> = line.split(';').collect();
        let [order, when, town, distance, late] = cells[..] else { panic!("five cells") };
        format!("{{\"order\": {order}, \"when\": \"{when}\", \"town\": \"{town}\", \"distance\": {distance}, \"late\": {late}}}")
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn latin1(text: &str) -> Vec<u8> {
    text.chars().map(|c| u8::try_from(u32::from(c)).expect("Latin-1")).collect()
}

const COLUMNS: &str = "--label late --id order --loss squared";

/// What is published of a model, with noise of a fixed seed where there is any.
fn published(sandbox: &Sandbox, name: &str, train: &str) -> Value {
    let answer = sandbox.shell(&format!("{train} --danger-fixed-seed 1 --out {name}"));
    answer.ends_with(0);
    sandbox.json(&format!("release {name} --danger-fixed-seed 1 --out {name}.json"));
    sandbox.json_file(&format!("{name}.json"))
}

#[test]
fn a_table_is_the_same_however_it_is_handed_over() {
    let sandbox = Sandbox::new();
    sandbox.write("all.csv", orders(0..300, ';'));
    sandbox.write("latin.csv", latin1(&orders(0..300, ',')));
    sandbox.write("lines.jsonl", json_lines(0..300));
    std::fs::create_dir(sandbox.path("parts")).expect("writable");
    for (name, part) in [("1.csv", 0..100), ("2.csv.gz", 100..200), ("3.jsonl", 200..300)] {
        let text = if name.ends_with("jsonl") { json_lines(part) } else { orders(part, '\t') };
        let bytes = if name.ends_with("gz") { gzipped(text) } else { text.into_bytes() };
        sandbox.write(&format!("parts/{name}"), bytes);
    }
    sandbox.write("parts/_SUCCESS", "");
    let expected = published(&sandbox, "whole", &format!("\"$0\" train all.csv {COLUMNS}"));
    assert!(expected["features"].to_string().contains("town=Zürich"), "{expected}");
    for (name, train) in [
        ("latin", "\"$0\" train latin.csv"),
        ("named", "\"$0\" train latin.csv --encoding latin1"),
        ("folder", "\"$0\" train parts"),
        ("pattern", "\"$0\" train 'parts/[1-3]*'"),
        ("files", "\"$0\" train parts/1.csv parts/2.csv.gz parts/3.jsonl"),
        ("stdin", "\"$0\" train - < all.csv"),
        ("pipe", "mkfifo p; cat all.csv > p & \"$0\" train p"),
    ] {
        assert_eq!(published(&sandbox, name, &format!("{train} {COLUMNS}")), expected, "{name}");
    }
    std::fs::remove_file(sandbox.path("p")).expect("a pipe");
    // The columns of JSON lines are in the order of their names.
    let lines = published(&sandbox, "lines", &format!("\"$0\" train lines.jsonl {COLUMNS}"));
    assert_eq!(lines["columns"], serde_json::json!(["distance", "town", "when"]));
    for (column, place) in [(0, 2), (1, 1), (2, 0)] {
        assert_eq!(lines["constants"]["columns"][column], expected["constants"]["columns"][place]);
    }
    let piped = published(&sandbox, "stdin-lines", &format!("cat lines.jsonl | \"$0\" train - {COLUMNS}"));
    assert_eq!(piped, lines);
    let told = sandbox.run_all(&["schema", "latin.csv", "--label", "late", "--encoding", "utf-8"]);
    told.is_refusal(&["latin.csv: line 2, column `town` is not valid Unicode", "--encoding"]);
    let none = sandbox.run_all(&["train", "none-*.csv", "--label", "late", "--out", "m"]);
    none.is_refusal(&["none-*.csv: no files"]);
    sandbox
        .refuses("train all.csv all.csv --label late --out m", &["all.csv: named twice; its rows would count twice"]);
    sandbox.refuses("train all.csv --encoding klingon --label late --out m", &["encoding `klingon` is unknown"]);
}

/// A plan took one file, and no dialect.
#[test]
fn a_plan_reads_what_training_reads() {
    let sandbox = Sandbox::new();
    sandbox.write("all.csv", orders(0..300, ';'));
    sandbox.write("latin.csv", latin1(&orders(0..150, ',')));
    sandbox.write("more.jsonl", json_lines(150..300));
    let comma = |text: &str| text.replace('.', ",").replace(",03,2024", ".03.2024");
    sandbox.write("comma.csv", comma(&orders(0..300, ';')));
    let plan = |rows: &str| {
        let answer = sandbox.shell(&format!("\"$0\" plan {rows} --label late --id order --loss squared --json"));
        answer.ends_with(0);
        let plan = answer.json();
        ["n_rows", "dim", "needed", "score_without_noise"].map(|key| plan[key].clone())
    };
    let expected = plan("all.csv");
    assert_eq!(expected[1], 6, "{expected:?}");
    for rows in ["latin.csv more.jsonl", "comma.csv --decimal ,", "- < all.csv"] {
        assert_eq!(plan(rows), expected, "{rows}");
    }
    assert_ne!(plan("all.csv --weight distance"), expected);
    sandbox.run("plan --rows 100 --dim 3").ends_with(0);
    let both = sandbox.run("plan all.csv --rows 100 --dim 3");
    assert!(both.code == Some(2) && both.stderr.contains("cannot be used with"), "{both:?}");
}

#[test]
fn a_guessed_encoding_is_said() {
    let sandbox = Sandbox::new();
    sandbox.write("latin.csv", latin1(&orders(0..60, ';')));
    let answer = sandbox.run("train latin.csv --label late --id order --loss squared --scale auto --out model");
    answer.ends_with(0);
    let told =
        "warning: the rows are not in UTF-8; they were read as Windows-1252 (Latin-1), name another by --encoding";
    assert!(answer.stderr.contains(told), "{answer:?}");
}

/// Prices and dates of the same 120 orders, written in several ways.
fn priced(price: impl Fn(u32) -> String, date: impl Fn(usize) -> String) -> String {
    let mut text = "order;when;price;late\n".to_owned();
    for i in 0..120_usize {
        let cents = 12_345 + 7_919 * u32::try_from(i * 41 % 97).expect("small");
        writeln!(text, "{i};{};{};{}", date(1 + i % 28), price(cents), if cents % 3 == 0 { "yes" } else { "no" })
            .expect("text");
    }
    text
}

#[test]
fn numbers_and_dates_are_read_as_declared() {
    let sandbox = Sandbox::new();
    let plain = |cents: u32| format!("{}.{:02}", cents / 100, cents % 100);
    let with_marks = |thousands: &'static str, mark: &'static str| {
        move |cents: u32| {
            let (whole, cents) = (cents / 100, cents % 100);
            let whole = if whole < 1000 {
                whole.to_string()
            } else {
                format!("{}{thousands}{:03}", whole / 1000, whole % 1000)
            };
            if cents == 0 { whole } else { format!("{whole}{mark}{cents:02}") }
        }
    };
    let iso = |day: usize| format!("2024-03-{day:02}");
    sandbox.write("plain.csv", priced(plain, iso));
    sandbox.write("german.csv", priced(with_marks(".", ","), |day| format!("{day:02}.03.24")));
    sandbox.write("english.csv", priced(with_marks(",", "."), |day| format!("{day}-Mar-2024")));
    sandbox.write("american.csv", priced(with_marks(",", "."), |day| format!("03/{day:02}/2024")));
    let train = |args: &str| format!("\"$0\" train {args} --label late --id order");
    let expected = published(&sandbox, "plain", &train("plain.csv"));
    assert!(expected["features"].to_string().contains("when"), "{expected}");
    // What is declared is part of what a model knows about its tables, and all else is the same.
    let same = |mut found: Value| {
        let notation = found["schema"].as_object_mut().expect("a schema");
        let declared = [notation.remove("decimal"), notation.remove("dates")];
        assert_eq!(found, expected);
        declared
    };
    let found = published(&sandbox, "german", &train("german.csv --decimal ,"));
    assert_eq!(same(found), [Some(",".into()), None]);
    assert_eq!(same(published(&sandbox, "english", &train("english.csv"))), [None, None]);
    let found = published(&sandbox, "american", &train("american.csv --dates mdy"));
    assert_eq!(same(found), [None, Some("mdy".into())]);

    // Later rows are read the same way, from other formats, too.
    sandbox.write("more.jsonl", "{\"order\": 900, \"when\": \"01.03.24\", \"price\": \"1.234\", \"late\": \"no\"}");
    sandbox.write("more.csv", "order,when,price,late\n900,2024-03-01,1234,no\n");
    sandbox.json("add german more.jsonl");
    sandbox.json("add plain more.csv");
    let released = |name: &str| {
        sandbox.json(&format!("release {name} --danger-fixed-seed 2 --out {name}-2.json"));
        sandbox.json_file(&format!("{name}-2.json"))["weights"].clone()
    };
    assert_eq!(released("german"), released("plain"));

    // A schema says the same.
    sandbox.run("schema german.csv --label late --id order --decimal , --out german.toml").ends_with(0);
    let found = published(&sandbox, "schema", &train("german.csv --schema german.toml"));
    assert_eq!(same(found), [Some(",".into()), None]);
}

#[test]
fn numbers_that_can_be_read_in_two_ways_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("two.csv", "a;b;y\n12,5;1;no\n3,5;2;yes\n1.234;3;no\n");
    let refused = ["two.csv, line 4, column `a`: `1.234`", "--decimal ,", "--decimal ."];
    sandbox.refuses("train two.csv --label y --scale auto --out m", &refused);
    sandbox.refuses("schema two.csv --label y", &["two.csv, column `a`: `1.234`", "--decimal ,"]);
    sandbox.refuses("train two.csv --label a --loss squared --scale auto --out m", &refused);
    sandbox.refuses("train two.csv --label y --scale unit --decimal , --out m", &["plain numbers", "--scale auto"]);
}

#[test]
fn training_says_what_columns_became() {
    let sandbox = Sandbox::new();
    let mut text = "a,b,note,same,mixed,y\n".to_owned();
    for i in 0..60_usize {
        let mixed = if i % 5 == 0 { "many".to_owned() } else { i.to_string() };
        let class = ["no", "No", "yes"][if i == 7 { 2 } else { i % 2 }];
        writeln!(text, "{i},{},note {i},x,{mixed},{class}", ["red", "blue"][i % 2]).expect("text");
    }
    sandbox.write("t.csv", text);
    let answer = sandbox.run("train t.csv --label y --scale auto --out model");
    answer.ends_with(0);
    for told in [
        "No (29), no (30), yes (1)",
        "2 numeric, 1 categorical",
        "note, same",
        "warning: column `mixed` holds numbers; 20.0 % of its cells are texts and count as missing",
        "warning: class `yes` has a single row",
        "warning: classes `No` and `no` differ in capital letters only",
    ] {
        assert!(answer.stderr.contains(told), "{told}: {answer:?}");
    }
    let report = sandbox.json("train t.csv --label y --scale auto --out other");
    assert_eq!(report["class_rows"][2], serde_json::json!({"class": "yes", "n_rows": 1}));
    assert_eq!(report["columns"][2]["becomes"], "nothing");
    assert_eq!((&report["columns"][4]["texts"], &report["columns"][4]["numbers"]), (&12.0.into(), &48.0.into()));
}

/// A text in a column of numbers became a gap, and only training said so.
#[test]
fn every_command_says_which_texts_count_as_gaps() {
    let sandbox = Sandbox::new();
    let table = |rows: std::ops::Range<usize>, broken: &[usize]| {
        let row = |i: usize| {
            let age = if broken.contains(&i) { "abc".into() } else { (20 + i % 50).to_string() };
            format!("{i},{age},{},{}\n", ["x", "y"][i % 2], ["no", "yes"][usize::from(i % 50 > 20)])
        };
        format!("id,age,town,y\n{}", rows.map(row).collect::<String>())
    };
    sandbox.write("t.csv", table(0..200, &[]));
    sandbox.write("broken.csv", table(200..240, &[207, 210]));
    sandbox.write("mended.csv", table(200..240, &[]));
    sandbox.run("train t.csv --label y --id id --scale auto --out model").ends_with(0);
    sandbox.json("release model --out model.json");
    let told = "warning: column `age` holds numbers; 5.0 % of its cells are texts and count as missing, the first in \
                broken.csv, line 9; mend them";
    for command in [
        "predict model.json broken.csv --out out.csv",
        "predict model.json broken.csv --json",
        "transform model.json broken.csv --out out.csv",
        "evaluate model.json broken.csv --label y",
        "add model broken.csv",
        "correct model broken.csv",
    ] {
        let answer = sandbox.run(command);
        answer.ends_with(0);
        assert!(answer.stderr.contains(told), "{answer:?}");
        let answer = sandbox.run(&command.replace("broken", "mended").replace("add", "correct"));
        answer.ends_with(0);
        assert!(!answer.stderr.contains("texts"), "{answer:?}");
    }
}

#[test]
fn a_row_of_weight_two_is_the_row_twice() {
    let sandbox = Sandbox::new();
    let (mut weighted, mut repeated) = ("id,a,b,n,y\n".to_owned(), "id,a,b,y\n".to_owned());
    for i in 0..80_usize {
        let (a, b) = ((i * 13 % 29) as f64, (i * 7 % 31) as f64);
        let (n, y) = (1 + i % 3, if a + b > 28.0 { "yes" } else { "no" });
        writeln!(weighted, "{i},{a},{b},{n},{y}").expect("text");
        for k in 0..n {
            writeln!(repeated, "{i}-{k},{a},{b},{y}").expect("text");
        }
    }
    sandbox.write("weighted.csv", &weighted);
    sandbox.write("repeated.csv", repeated);
    let train = |rows: &str| format!("\"$0\" train {rows} --id id --label y");
    let expected = published(&sandbox, "repeated", &train("repeated.csv"));
    let found = published(&sandbox, "weighted", &train("weighted.csv --weight n"));
    assert!(expected["constants"].is_object(), "{expected}");
    assert_eq!(found["constants"], expected["constants"]);
    let numbers = |model: &Value| -> Vec<f64> {
        model["weights"].as_array().expect("weights").iter().map(|w| w.as_f64().expect("a number")).collect()
    };
    for (a, b) in numbers(&found).iter().zip(numbers(&expected)) {
        assert!((a - b).abs() < 1e-6, "{a} and {b}");
    }
    // A class of weight two is a column of twos.
    let twos = weighted.lines().enumerate().map(|(i, line)| {
        let cells: Vec<&str> = line.split(',').collect();
        let n = match cells[4] {
            _ if i == 0 => "n",
            "yes" => "2",
            _ => "1",
        };
        format!("{},{},{},{n},{}", cells[0], cells[1], cells[2], cells[4])
    });
    sandbox.write("twos.csv", twos.collect::<Vec<_>>().join("\n"));
    let expected = published(&sandbox, "twos", &train("twos.csv --weight n"));
    let found = published(&sandbox, "class", &train("twos.csv --ignore n --class-weight yes=2"));
    assert_eq!(found, expected);

    // New rows weigh what their class and their column say.
    for (name, more) in [("twos", "90,1,2,2,yes\n"), ("class", "90,1,2,yes\n")] {
        let header = if name == "twos" { "id,a,b,n,y\n" } else { "id,a,b,y\n" };
        sandbox.write("more.csv", format!("{header}{more}"));
        sandbox.json(&format!("add {name} more.csv --request-id more"));
        assert_eq!(sandbox.json(&format!("add {name} more.csv --request-id more"))["repeated"], true);
        sandbox.json(&format!("release {name} --danger-fixed-seed 1 --out {name}-later.json"));
    }
    assert_eq!(sandbox.json_file("twos-later.json")["weights"], sandbox.json_file("class-later.json")["weights"]);

    let refuses = |arguments: &str, part: &str| {
        sandbox.refuses(&format!("train twos.csv --id id --label y --out m {arguments}"), &[part]);
    };
    refuses("--class-weight maybe=2", "class `maybe` has a weight, but there are no rows of it");
    refuses("--weight y", "column `y` cannot be both label and weight");
    refuses("--class-weight yes=2 --class-weight yes=3", "class `yes` has two weights, 2 and 3");
    for (weight, got) in [("many", "many"), ("-1", "-1"), ("inf", "inf"), ("1e300", "1")] {
        sandbox.write("bad.csv", format!("id,a,n,y\n1,1,1,no\n2,2,{weight},yes\n"));
        let told = format!("bad.csv, line 3, column `n`: a row counts as 0 to 2147483648 rows, got `{got}");
        sandbox.refuses("train bad.csv --id id --label y --weight n --out m", &[&told]);
    }
    for (weight, part) in
        [("balanced", "would remember rows that left"), ("yes", "write CLASS=W"), ("yes=0", "more than 0")]
    {
        let answer = sandbox.run(&format!("train twos.csv --label y --out m --class-weight {weight}"));
        assert!(answer.code == Some(2) && answer.stderr.contains(part), "{answer:?}");
    }
}

/// Names that are given twice are one.
#[test]
fn names_that_are_given_twice_are_one() {
    let sandbox = Sandbox::with_model("");
    assert_eq!(sandbox.json("remove model --id u1 u1 --id u1 --request-id ticket")["n_changed"], 1);
    assert_eq!(sandbox.json("remove model --id u1 --request-id ticket")["repeated"], true);
    assert_eq!(sandbox.json("remove model --subject p3 p3")["n_changed"], 4);
    let dim = sandbox.json("train two.csv --label y --id id --features a,b,a --out other")["dim"].clone();
    assert_eq!(dim, 2);
}

/// Sixty megabytes take no more memory than six, in every dialect and from a pipe.
#[test]
#[cfg(target_os = "linux")]
fn memory_does_not_grow_with_the_file() {
    let sandbox = Sandbox::with_model("");
    sandbox.json("release model --out model.json");
    let note = "ein langer Vermerk über nichts; ".repeat(30);
    let rows = |n: usize, row: &dyn Fn(usize) -> String| (0..n).map(row).collect::<Vec<_>>().concat();
    let csv = |n| format!("a,b,c,note\n{}", rows(n, &|i| format!("0.1,0.{},0.3,\"{note}\"\n", i % 10)));
    let lines = |n| rows(n, &|i| format!("{{\"a\": 0.1, \"b\": 0.{}, \"c\": 0.3, \"note\": \"{note}\"}}\n", i % 10));
    let utf16 = |text: String| -> Vec<u8> {
        "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
    };
    let (few, many) = (6_000, 60_000);
    for (name, make) in [
        ("t.csv", &(|n| csv(n).into_bytes()) as &dyn Fn(usize) -> Vec<u8>),
        ("t.csv.gz", &|n| gzipped(csv(n))),
        ("t.jsonl", &|n| lines(n).into_bytes()),
        ("utf16.csv", &|n| utf16(csv(n))),
        ("latin.csv", &|n| latin1(&csv(n))),
        ("-", &|n| csv(n).into_bytes()),
    ] {
        let peaks = [few, many].map(|n| {
            let file = if name == "-" { "piped.csv" } else { name };
            sandbox.write(file, make(n));
            let (peak, code) = sandbox.peak_memory(&["predict", "model.json", name, "--out", "out.csv"], file);
            assert_eq!(code, Some(0), "{name}");
            assert_eq!(sandbox.text("out.csv").lines().count(), n + 1);
            peak
        });
        assert!(peaks[1] < peaks[0] + (16 << 20), "{name}: {peaks:?} bytes");
    }
}

/// The same of formats without named columns, of many files, and of commands that keep rows: on the disk, beyond a megabyte.
#[test]
#[cfg(target_os = "linux")]
fn memory_does_not_grow_with_rows_of_any_kind() {
    let sandbox = Sandbox::new();
    let width = 300;
    let svm = |n: usize| -> Vec<u8> {
        let row = (1..=width).map(|j| format!("{j}:0.{}", j % 9 + 1)).collect::<Vec<_>>().join(" ");
        let rows = (0..n).map(|i| format!("{} {row}", i % 2));
        rows.collect::<Vec<_>>().join("\n").into_bytes()
    };
    let images = |n: usize| -> Vec<u8> {
        let sizes = [n as u32, 1, width as u32].into_iter().flat_map(u32::to_be_bytes);
        [0, 0, 8, 3].into_iter().chain(sizes).chain((0..n * width).map(|i| (i % 251) as u8)).collect()
    };
    let note = "ein langer Vermerk über nichts; ".repeat(30);
    let csv = |rows: std::ops::Range<usize>| -> Vec<u8> {
        let row = |i: usize| format!("{i},0.{},0.{},\"{note}\",{}\n", i % 10, i % 7, i % 2);
        format!("id,a,b,note,y\n{}", rows.map(row).collect::<String>()).into_bytes()
    };
    let labels = |n: usize| [&[0, 0, 8, 1], &(n as u32).to_be_bytes()[..], &[0, 1].repeat(n / 2)].concat();
    sandbox.write("few.svm", svm(40));
    sandbox.write("few.idx", images(40));
    sandbox.write("few-y.idx", labels(40));
    sandbox.write("few.csv", csv(0..40));
    for (name, train) in [
        ("svm", "few.svm"),
        ("idx", "few.idx --label few-y.idx"),
        ("csv", "few.csv --label y --id id --ignore note --memory 1MB"),
    ] {
        sandbox.json(&format!("train {train} --out {name}"));
        sandbox.json(&format!("release {name} --out {name}.json"));
    }
    let (few, many) = (3_000, 40_000);
    let flat = |what: &str, peak: &dyn Fn(usize) -> (u64, Option<i32>)| {
        let peaks = [few, many].map(|n| {
            let (peak, code) = peak(n);
            assert_eq!(code, Some(0), "{what}");
            peak
        });
        assert!(peaks[1] < peaks[0] + (16 << 20), "{what}: {peaks:?} bytes");
    };
    let run = |arguments: &str| sandbox.peak_memory(&arguments.split(' ').collect::<Vec<_>>(), "few.csv");
    for (name, make) in [("svm", &svm as &dyn Fn(usize) -> Vec<u8>), ("idx", &images)] {
        flat(name, &|n| {
            sandbox.write(&format!("rows.{name}"), make(n));
            run(&format!("predict {name}.json rows.{name} --out out.csv"))
        });
    }
    flat("files", &|n| {
        let folder = format!("parts-{n}");
        std::fs::create_dir(sandbox.path(&folder)).expect("writable");
        let parts = (0..n).step_by(1_000);
        parts.for_each(|at| sandbox.write(&format!("{folder}/{at}.csv"), csv(at..at + 1_000)));
        run(&format!("predict csv.json {folder} --out out.csv"))
    });
    let train = "--label y --id id --ignore note --scale unit --l2 1e-3 --memory 1MB";
    flat("train", &|n| run(&format!("train parts-{n} {train} --out trained-{n}")));
    flat("add", &|n| {
        sandbox.write("more.csv", csv(100_000 + n..100_000 + 2 * n));
        run("add csv more.csv --memory 1MB")
    });
}
