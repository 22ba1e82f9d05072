//! Arrays of doubles in NumPy's format, version 1.0, as the peers read them, and back.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, ensure};
use efface_data::{Columns, FeatureValues, read_table};

/// Header and its length field end at a multiple of this.
const ALIGNMENT: usize = 64;

/// Magic, version and the length of the header.
const PREFIX: usize = 10;

/// Writes a vector (`dim` absent) or a matrix with `dim` columns, row-major.
pub(crate) fn write(
    path: &Path,
    n_rows: usize,
    dim: Option<usize>,
    rows: impl Iterator<Item = f64>,
) -> anyhow::Result<()> {
    let mut file = BufWriter::new(File::create(path).with_context(|| format!("{} cannot be made", path.display()))?);
    file.write_all(&header(n_rows, dim)?)?;
    let mut written = 0;
    for value in rows {
        file.write_all(&value.to_le_bytes())?;
        written += 1;
    }
    let expected = n_rows * dim.unwrap_or(1);
    ensure!(written == expected, "{}: {written} values where {expected} were announced", path.display());
    file.flush()?;
    Ok(())
}

/// Values of a matrix with `dim` columns, row-major.
pub(crate) fn read(path: &Path, dim: usize) -> anyhow::Result<Vec<f64>> {
    let parts = read_table(path, &Columns::default(), None)?.into_parts();
    let found = parts.feature_names.len();
    ensure!(found == dim, "{}: {found} columns where {dim} are expected", path.display());
    match parts.features {
        FeatureValues::F64(values) => Ok(values),
        FeatureValues::F32(_) => anyhow::bail!("{}: doubles are expected", path.display()),
    }
}

fn header(n_rows: usize, dim: Option<usize>) -> anyhow::Result<Vec<u8>> {
    let shape = dim.map_or_else(|| format!("({n_rows},)"), |dim| format!("({n_rows}, {dim})"));
    let mut text = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}");
    let padding = ALIGNMENT - (PREFIX + text.len() + 1) % ALIGNMENT;
    text.extend(std::iter::repeat_n(' ', padding % ALIGNMENT));
    text.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(u16::try_from(text.len()).context("the header is too long")?.to_le_bytes());
    bytes.extend(text.as_bytes());
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back_to_the_bit() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("x.npy");
        let values = [0.1, -2.5e-300, 3.0, f64::MIN_POSITIVE, 1.0 / 3.0, -0.0];
        write(&path, 3, Some(2), values.into_iter()).expect("written");
        let found = read(&path, 2).expect("read");
        assert_eq!(found.map_bits(), values.to_vec().map_bits());
        assert!(read(&path, 3).is_err(), "the shape is checked");
    }

    #[test]
    fn labels_are_a_vector() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (x, y) = (folder.path().join("x.npy"), folder.path().join("y.npy"));
        write(&x, 2, Some(1), [0.5, 0.25].into_iter()).expect("written");
        write(&y, 2, None, [1.0, 0.0].into_iter()).expect("written");
        let columns = Columns { label: Some(y.display().to_string()), ..Columns::default() };
        let table = read_table(&x, &columns, None).expect("read");
        let labels = table.labels().map(|labels| labels.values.clone());
        assert_eq!(labels, Some(efface_data::RawLabels::Numbers(vec![1.0, 0.0])));
    }

    #[test]
    fn headers_are_aligned() {
        for n in [1, 10, 100, 1_000_000, 12_345_678_901] {
            assert_eq!(header(n, Some(7)).expect("short").len() % ALIGNMENT, 0);
            assert_eq!(header(n, None).expect("short").len() % ALIGNMENT, 0);
        }
    }

    #[test]
    fn a_wrong_number_of_values_is_refused() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        assert!(write(&folder.path().join("x.npy"), 2, Some(2), [1.0].into_iter()).is_err());
    }

    trait MapBits {
        fn map_bits(&self) -> Vec<u64>;
    }

    impl MapBits for Vec<f64> {
        fn map_bits(&self) -> Vec<u64> {
            self.iter().map(|value| value.to_bits()).collect()
        }
    }
}
