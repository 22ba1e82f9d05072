//! A folder of its own for every test, the program run inside it, and small inputs to run it on.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command as StdCommand, Output};

use assert_cmd::Command;
use efface_ledger::envelope::Envelope;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use tempfile::TempDir;

/// The program under test.
pub(crate) const EFFACE: &str = env!("CARGO_BIN_EXE_efface");

/// Columns of the tables made here, as a user names them.
pub(crate) const COLUMNS: &str = "--label y --id id --subject who";

/// Names in the directory of a model that signs with its own key.
pub(crate) const MODEL_FILES: [&str; 7] =
    ["efface.db", "lock", "releases", "rows", "signing.key", "signing.key.pub", "state"];

/// A folder that disappears with the value. Commands run inside it, so that messages name files as they were typed.
pub(crate) struct Sandbox {
    folder: TempDir,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    /// A folder with `two.csv`, and `model` trained on it with further arguments.
    pub(crate) fn with_model(arguments: &str) -> Self {
        let sandbox = Self::with_table();
        sandbox.json(&format!("train two.csv {COLUMNS} --out model {arguments}"));
        sandbox
    }

    /// A folder with `two.csv`: 60 rows of two classes, four rows to a subject.
    pub(crate) fn with_table() -> Self {
        let sandbox = Self::new();
        sandbox.write("two.csv", two_classes(60));
        sandbox
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).expect("writable");
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub(crate) fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).expect("text")
    }

    /// The JSON in a file.
    pub(crate) fn json_file(&self, name: &str) -> Value {
        serde_json::from_slice(&self.read(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// What a certificate says: the predicate of the statement in its envelope.
    pub(crate) fn certificate(&self, name: &str) -> Value {
        let envelope = Envelope::parse(&self.read(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut statement: Value = serde_json::from_slice(envelope.unverified_payload()).expect("a statement");
        statement["predicate"].take()
    }

    pub(crate) fn exists(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    /// Names in a folder, sorted.
    pub(crate) fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(folder)).expect("a folder");
        let name = |entry: std::io::Result<fs::DirEntry>| entry.expect("readable").file_name().into_string();
        let mut names: Vec<String> = entries.map(|entry| name(entry).expect("text")).collect();
        names.sort();
        names
    }

    /// Runs the program with arguments separated by blanks.
    pub(crate) fn run(&self, arguments: &str) -> Answer {
        let mut arguments: Vec<&str> = arguments.split_whitespace().collect();
        if arguments.first().is_some_and(|verb| ["train", "plan"].contains(verb)) {
            // Rows to norm 1 and a ridge per row, unless a test says otherwise: what the paper does.
            for (names, usual) in
                [(&["--scale"][..], ["--scale", "unit"]), (&["--l2", "--C", "--alpha"], ["--l2", "1e-3"])]
            {
                if !arguments.iter().any(|argument| names.contains(argument)) {
                    arguments.extend(usual);
                }
            }
        }
        self.run_all(&arguments)
    }

    /// Runs the program with arguments that may contain blanks, and nothing else.
    pub(crate) fn run_all(&self, arguments: &[&str]) -> Answer {
        let output = Command::new(EFFACE).args(arguments).current_dir(self.folder.path()).output().expect("runs");
        Answer::new(arguments.join(" "), output)
    }

    /// Runs the program with `--json` and takes the one object that it prints; it must end with code 0.
    pub(crate) fn json(&self, arguments: &str) -> Value {
        let answer = self.run(&format!("{arguments} --json"));
        answer.ends_with(0);
        answer.json()
    }

    /// Runs a line of the shell with the program as `$0`.
    pub(crate) fn shell(&self, line: &str) -> Answer {
        let output = StdCommand::new("sh").args(["-c", line, EFFACE]).current_dir(self.folder.path()).output();
        Answer::new(line.into(), output.expect("a shell"))
    }

    /// Runs the program with a file as its standard input, and answers how many bytes of memory it had at most and how it ended.
    #[cfg(target_os = "linux")]
    pub(crate) fn peak_memory(&self, arguments: &[&str], input: &str) -> (u64, Option<i32>) {
        let input = std::fs::File::open(self.path(input)).expect("readable");
        let mut command = StdCommand::new(EFFACE);
        let mut child = command.args(arguments).current_dir(self.folder.path()).stdin(input).spawn().expect("runs");
        let status = format!("/proc/{}/status", child.id());
        let mut peak = 0;
        loop {
            // The kernel keeps the highest mark for as long as the process is there.
            let text = std::fs::read_to_string(&status).unwrap_or_default();
            let mark =
                text.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok());
            peak = peak.max(1024 * mark.unwrap_or(0));
            if let Some(ended) = child.try_wait().expect("a child") {
                return (peak, ended.code());
            }
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    }

    /// The program must refuse: code 2, one line that says all of `parts`, and every file as before.
    pub(crate) fn refuses(&self, arguments: &str, parts: &[&str]) {
        let before = self.snapshot();
        let answer = self.run(arguments);
        answer.is_refusal(parts);
        assert!(before == self.snapshot(), "{arguments}: files have changed");
    }

    /// The bytes of every file. The lock and the database's shared memory are left out: they belong to processes.
    pub(crate) fn snapshot(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        collect(self.folder.path(), &mut files);
        files
    }
}

fn collect(folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            files.insert(path.clone(), Vec::new());
            collect(&path, files);
        } else if !["lock", "efface.db-shm"].iter().any(|name| path.file_name() == Some(name.as_ref())) {
            let bytes = fs::read(&path).expect("readable");
            // A log of nothing is as good as none.
            if !(bytes.is_empty() && path.file_name() == Some("efface.db-wal".as_ref())) {
                files.insert(path, bytes);
            }
        }
    }
}

/// What the program did.
pub(crate) struct Answer {
    arguments: String,
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Answer {
    pub(crate) fn new(arguments: String, output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("streams are text");
        let answer =
            Self { arguments, code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) };
        for trace in ["panicked", "called `Result", "called `Option", "RUST_BACKTRACE", "Error {", "Custom {", "Os {"] {
            assert!(!answer.stderr.contains(trace), "{answer:?}");
        }
        answer
    }

    #[track_caller]
    pub(crate) fn ends_with(&self, code: i32) {
        assert_eq!(self.code, Some(code), "{self:?}");
    }

    /// Stdout as one JSON object on one line, and nothing else.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert!(self.stdout.ends_with('\n') && self.stdout.lines().count() == 1, "{self:?}");
        let value: Value = serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"));
        assert!(value.is_object(), "{self:?}");
        value
    }

    /// Code 2, nothing on stdout, one line of error and at most one of hint.
    #[track_caller]
    pub(crate) fn is_refusal(&self, parts: &[&str]) {
        self.ends_with(2);
        // Machines are told the same, with a code.
        if self.arguments.contains("--json") {
            let told: serde_json::Value = serde_json::from_str(&self.stdout).expect("one JSON object");
            let said = |field: &str| told["error"][field].as_str().map(str::to_owned);
            assert!(said("code").is_some_and(|code| !code.is_empty()), "{self:?}");
            assert!(said("message").is_some_and(|message| self.stderr.contains(&message)), "{self:?}");
        } else {
            assert_eq!(self.stdout, "", "{self:?}");
        }
        let lines: Vec<&str> = self.stderr.lines().collect();
        let (error, hint) = match lines.as_slice() {
            [error] => (error, None),
            [error, hint] => (error, Some(hint)),
            _ => panic!("one line of error is expected: {self:?}"),
        };
        assert!(error.starts_with("error: ") && hint.is_none_or(|hint| hint.starts_with("hint: ")), "{self:?}");
        for part in parts {
            assert!(self.stderr.contains(part), "`{part}` is missing: {self:?}");
        }
        if let Some((_, cause)) = error.rsplit_once(": ") {
            assert_eq!(error.matches(&format!(": {cause}")).count(), 1, "a cause is told twice: {self:?}");
        }
    }
}

impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { arguments, code, stdout, stderr } = self;
        write!(f, "efface {arguments}\ncode: {code:?}\nstdout: {stdout}\nstderr: {stderr}")
    }
}

/// The number under a key.
#[track_caller]
pub(crate) fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("`{key}` is not a number in {value}"))
}

/// The list of numbers under a key.
#[track_caller]
pub(crate) fn numbers(value: &Value, key: &str) -> Vec<f64> {
    let list = value[key].as_array().unwrap_or_else(|| panic!("`{key}` is not a list in {value}"));
    list.iter().map(|x| x.as_f64().expect("a number")).collect()
}

/// Numbers in (−1, 1) that look random and are the same on every machine.
pub(crate) fn noise(seed: u64, n: usize) -> Vec<f64> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 11) as f64) * 2f64.powi(-52) - 1.0
    };
    (0..n).map(|_| next()).collect()
}

/// Features of row `i`: the same in every table.
pub(crate) fn features(i: usize) -> [f64; 3] {
    let x = noise(1000 + i as u64, 6);
    [x[3], x[4], x[5]]
}

/// A table with columns `id,who,a,b,c,y`: rows `u0`, `u1`, … and subjects `p0`, `p1`, … of four rows each.
pub(crate) fn table(rows: impl IntoIterator<Item = usize>, label: impl Fn(usize, [f64; 3]) -> String) -> String {
    let mut text = String::from("id,who,a,b,c,y\n");
    for i in rows {
        let [a, b, c] = features(i);
        let y = label(i, [a, b, c]);
        writeln!(text, "u{i},p{},{a},{b},{c},{y}", i / 4).expect("text");
    }
    text
}

/// A class that depends on the features and a little on chance.
pub(crate) fn class(i: usize, [a, b, c]: [f64; 3]) -> String {
    let score = a + b - 0.5 * c + 0.5 * noise(i as u64, 3)[2];
    if score > 0.0 { "yes" } else { "no" }.into()
}

pub(crate) fn two_classes(n: usize) -> String {
    table(0..n, class)
}

pub(crate) fn three_classes(n: usize) -> String {
    table(0..n, |i, [a, b, _]| {
        let score = a + b + 0.3 * noise(i as u64, 3)[2];
        if score > 0.4 { "high" } else { ["low", "middle"][usize::from(score > -0.4)] }.into()
    })
}

/// A number that depends on the features and a little on chance.
pub(crate) fn target(i: usize, [a, b, c]: [f64; 3]) -> String {
    (a + 2.0 * b - 0.5 * c + 0.1 * noise(i as u64, 3)[2]).to_string()
}

/// An array in NumPy's format.
pub(crate) fn npy(element: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let dictionary = format!("{{'descr': '{element}', 'fortran_order': False, 'shape': {shape}, }}");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    let length = u16::try_from(dictionary.len()).expect("short");
    bytes.extend(length.to_le_bytes());
    bytes.extend(dictionary.as_bytes());
    bytes.extend(data);
    bytes
}

/// Doubles as bytes.
pub(crate) fn doubles(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// The features of rows 0 to n − 1 as an array.
pub(crate) fn npy_features(n: usize) -> Vec<u8> {
    let values: Vec<f64> = (0..n).flat_map(features).collect();
    npy("<f8", &format!("({n}, 3)"), &doubles(&values))
}

pub(crate) fn gzipped(bytes: impl AsRef<[u8]>) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes.as_ref()).expect("in memory");
    encoder.finish().expect("in memory")
}
