//! How a model directory is opened.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use efface_data::{ReadError, Source};
use efface_engine::OpenOptions;

#[derive(Args)]
pub(crate) struct ModelArgs {
    /// The model directory.
    #[arg(id = "model", value_name = "MODEL")]
    pub(crate) path: PathBuf,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Args)]
pub(crate) struct StoreArgs {
    /// Hold rows in memory up to this size, read the others block by block [default: a quarter of the machine's memory].
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, display_order = LAST)]
    pub(crate) memory: Option<u64>,
    /// A small secret file kept elsewhere that remembers removals and releases, so that an old backup of the whole
    /// directory is noticed; named once, it is used from then on.
    #[arg(long, value_name = "PATH", display_order = LAST)]
    pub(crate) witness: Option<PathBuf>,
    /// Wait so many seconds for another process that is changing the model.
    #[arg(long, value_name = "SECONDS", default_value_t = 0, display_order = LAST)]
    pub(crate) wait: u32,
}

impl StoreArgs {
    pub(crate) fn options(&self) -> OpenOptions {
        OpenOptions {
            memory_bytes: self.memory,
            witness: self.witness.clone(),
            wait: Duration::from_secs(self.wait.into()),
            ..OpenOptions::default()
        }
    }
}

/// Where rows come from.
#[derive(Args)]
pub(crate) struct SourceArgs {
    /// Rows: `.csv` (`.tsv`, `.txt`), `.jsonl`, `.parquet`, `.npy`, `.npz`, `.svm` (libsvm) or IDX, all but Parquet and NPZ also
    /// gzipped; `-` for standard input. Several files, a folder of files or a quoted pattern (`'2024-*.csv'`) are one table.
    #[arg(required = true, value_name = "DATA")]
    pub(crate) data: Vec<PathBuf>,
    /// Encoding of texts: utf-8, latin1, utf-16le, windows-1250, shift_jis, … [default: detected].
    #[arg(long, value_name = "NAME", display_order = LAST)]
    pub(crate) encoding: Option<String>,
}

impl SourceArgs {
    pub(crate) fn source(&self) -> Result<Source, ReadError> {
        let source = Source::named(&self.data)?;
        match &self.encoding {
            None => Ok(source),
            Some(name) => source.encoded(name),
        }
    }
}

/// Help shows what belongs to a command before what all commands have.
pub(super) const LAST: usize = 100;

/// A number of bytes as people write it: `512MB`, `2GiB`, `1.5 GB`, `4096`.
fn parse_bytes(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let factor: f64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        "t" | "tb" => 1e12,
        "kib" => 1024.0,
        "mib" => 1024f64.powi(2),
        "gib" => 1024f64.powi(3),
        "tib" => 1024f64.powi(4),
        _ => return Err(format!("unit `{}` is unknown; write 512MB, 2GiB or a number of bytes", unit.trim())),
    };
    let bytes = number.parse::<f64>().map_err(|_| "write 512MB, 2GiB or a number of bytes".to_owned())? * factor;
    // Below 2⁶³ a double is a whole number of bytes well enough.
    if bytes < 9e18 { Ok(bytes as u64) } else { Err(format!("{text} is more than any machine has")) }
}

#[cfg(test)]
mod tests {
    use super::parse_bytes;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, bytes) in [
            ("512MB", 512_000_000),
            ("2GiB", 2 << 30),
            ("1.5 gb", 1_500_000_000),
            ("4096", 4096),
            ("64k", 64_000),
            ("0", 0),
        ] {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
        for text in ["", "MB", "-1", "1.2.3MB", "5 apples", "1e9", "NaN", "99999999999TB"] {
            assert!(parse_bytes(text).is_err(), "{text}");
        }
    }
}
