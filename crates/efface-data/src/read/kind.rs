//! What a file holds, told by its name.

use std::path::Path;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Csv,
    JsonLines,
    /// Text without an end in sight, from a pipe: comma-separated or lines of JSON, as its first byte tells.
    Stream,
    Npy,
    Npz,
    Idx,
    Parquet,
    Libsvm,
}

impl Kind {
    /// The format of a file; `None`: its name ends in nothing that can be read.
    ///
    /// Archives and Parquet are compressed inside; of the others a gzipped file (`.gz`) is of the same kind.
    pub(super) fn of(path: &Path) -> Option<Self> {
        if is_stdin(path) || is_pipe(path) {
            return Some(Self::Stream);
        }
        let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
        let (name, gzipped) = name.strip_suffix(".gz").map_or((name.as_str(), false), |inner| (inner, true));
        if is_mnist_name(name) {
            return Some(Self::Idx);
        }
        match Path::new(name).extension()?.to_str()? {
            "csv" | "tsv" | "txt" => Some(Self::Csv),
            "jsonl" | "ndjson" => Some(Self::JsonLines),
            "npy" => Some(Self::Npy),
            "svm" | "libsvm" => Some(Self::Libsvm),
            "idx" => Some(Self::Idx),
            "npz" if !gzipped => Some(Self::Npz),
            "parquet" if !gzipped => Some(Self::Parquet),
            _ => None,
        }
    }

    pub(super) fn is_array(self) -> bool {
        matches!(self, Self::Npy | Self::Npz | Self::Idx)
    }
}

/// Names of the form `train-images-idx3-ubyte` or `train-images.idx3-ubyte`: number of axes and type of elements.
fn is_mnist_name(name: &str) -> bool {
    let mut parts = name.rsplit(['-', '.']);
    let is_type = |part: &str| matches!(part, "ubyte" | "byte" | "short" | "int" | "float" | "double");
    let has_axes = |part: &str| {
        let axes = part.strip_prefix("idx");
        axes.is_some_and(|axes| !axes.is_empty() && axes.bytes().all(|byte| byte.is_ascii_digit()))
    };
    parts.next().is_some_and(is_type) && parts.next().is_some_and(has_axes) && parts.next().is_some()
}

/// Standard input, by the name that programs have for it.
pub(super) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

#[cfg(unix)]
fn is_pipe(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;

    path.metadata().is_ok_and(|file| file.file_type().is_fifo())
}

#[cfg(not(unix))]
fn is_pipe(_path: &Path) -> bool {
    false
}

pub(super) fn is_gzipped(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_a_file_is_told_by_its_name() {
        for (name, kind) in [
            ("a.csv", Some(Kind::Csv)),
            ("b/A.CSV", Some(Kind::Csv)),
            ("a.csv.gz", Some(Kind::Csv)),
            ("a.tsv", Some(Kind::Csv)),
            ("a.txt.gz", Some(Kind::Csv)),
            ("a.jsonl", Some(Kind::JsonLines)),
            ("a.ndjson.gz", Some(Kind::JsonLines)),
            ("a.json", None),
            ("-", Some(Kind::Stream)),
            ("a.npy", Some(Kind::Npy)),
            ("a.b.npy.GZ", Some(Kind::Npy)),
            ("a.npz", Some(Kind::Npz)),
            ("a.npz.gz", None),
            ("a.gz", None),
            ("csv", None),
            ("a.parquet", Some(Kind::Parquet)),
            ("a.parquet.gz", None),
            ("a9a.t.svm.gz", Some(Kind::Libsvm)),
            ("a.libsvm", Some(Kind::Libsvm)),
            ("train-images-idx3-ubyte", Some(Kind::Idx)),
            ("train-images-idx3-ubyte.gz", Some(Kind::Idx)),
            ("t10k-labels.idx1-ubyte", Some(Kind::Idx)),
            ("a.idx.gz", Some(Kind::Idx)),
            ("idx3-ubyte", None),
            ("a-idx-ubyte", None),
            ("a-idx", None),
        ] {
            assert_eq!(Kind::of(Path::new(name)), kind, "{name}");
        }
    }
}
