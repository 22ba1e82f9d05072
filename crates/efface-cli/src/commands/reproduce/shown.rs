//! An experiment as the report shows it: its section, how its numbers came about, and how to make them again.

use efface_reproduce::Record;
use efface_reproduce::page::{Section, Table};

/// Headline of the report.
pub(super) const TITLE: &str = "The experiments, repeated";
/// What a section of a smoke run begins with.
pub(super) const SMOKE: &str = "Smoke run: the numbers mean nothing.";

/// An experiment as the report shows it.
pub(super) struct Shown {
    /// What is shown.
    pub(super) section: Section,
    /// Whether it was a smoke run.
    pub(super) quick: bool,
    /// The command that makes the numbers again.
    pub(super) command: String,
    /// How the numbers came about.
    pub(super) facts: String,
}

impl Shown {
    pub(super) fn new(record: &Record) -> Self {
        let Record { efface, quick, seed, threads, seconds, peak_memory_bytes, results } = record;
        let threads = if *threads == 1 { "1 thread".to_owned() } else { format!("{threads} threads") };
        let memory = peak_memory_bytes.map_or_else(String::new, |peak| format!(", peak memory {}", bytes(peak)));
        Self {
            section: results.section(),
            quick: *quick,
            command: command(results.experiment().tag(), *quick, *seed),
            facts: format!("{} on {threads}, seed {seed}{memory}, efface {efface}.", time(*seconds)),
        }
    }
}

fn command(tag: &str, quick: bool, seed: u64) -> String {
    let quick = if quick { " --quick" } else { "" };
    let seed = if seed == 1 { String::new() } else { format!(" --seed {seed}") };
    format!("efface reproduce {tag} --data DIR{quick}{seed}")
}

fn time(seconds: f64) -> String {
    match seconds {
        s if !s.is_finite() => "unknown time".to_owned(),
        s if s < 10.0 => format!("{s:.2} s"),
        s if s < 600.0 => format!("{s:.0} s"),
        s => format!("{:.0} min", s / 60.0),
    }
}

fn bytes(bytes: u64) -> String {
    let megabytes = bytes as f64 / 1e6;
    if megabytes < 1000.0 { format!("{megabytes:.0} MB") } else { format!("{:.1} GB", megabytes / 1000.0) }
}

/// Whether a column holds numbers, which are set flush right. The first column names the row.
pub(super) fn is_numeric(table: &Table, column: usize) -> bool {
    let cells = || table.rows.iter().filter_map(|row| row.get(column)).filter(|cell| !cell.is_empty());
    let is_number = |cell: &String| {
        let rest = cell.trim_start_matches(['−', '-', '+', '<', '>', '≤', '≥', '≈', '~', '±', ' ']);
        matches!(cell.as_str(), "–" | "—" | "∞") || rest.starts_with(|c: char| c.is_ascii_digit())
    };
    column > 0 && cells().count() > 0 && cells().all(is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_numbers_are_known_by_their_cells() {
        let row = |cells: [&str; 4]| cells.map(str::to_owned).to_vec();
        let table = Table {
            caption: String::new(),
            columns: row(["data", "time", "note", "empty"]),
            rows: vec![row(["1", "≤ 2.5 ms", "3 runs", ""]), row(["2", "–", "none", ""])],
        };
        assert_eq!([0, 1, 2, 3].map(|column| is_numeric(&table, column)), [false, true, false, false]);
    }

    #[test]
    fn times_and_memory_have_units_that_suit_them() {
        assert_eq!([0.5, 75.2, 5400.0].map(time), ["0.50 s", "75 s", "90 min"]);
        assert_eq!(command("mnist", true, 7), "efface reproduce mnist --data DIR --quick --seed 7");
        assert_eq!([345_000_000, 2_340_000_000].map(bytes), ["345 MB", "2.3 GB"]);
    }
}
