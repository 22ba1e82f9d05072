//! Lent rows as bytes, for whoever carries them from one process to another.
//!
//! ```text
//! sections: length (u64), bytes          integers and numbers little-endian
//!
//! lent features as given · rows that arrived, scaled · labels · selectors · present · row weights
//! ```
//!
//! Rows stand at their positions, those that left as zeros; there are no row weights where every row counts once.

use std::sync::atomic::AtomicBool;

use zeroize::Zeroizing;

use super::checks::{check_labels, check_weights};
use super::error::RowsError;
use super::table::{LentRows, LentTable, RowSpec, RowsToLend};
use super::vault::LentVault;
use crate::derived::{Preparation, Texts};
use crate::rows::{Annotations, FeatureValues, Precision};

impl LentVault<'_> {
    /// All rows, as secret as they are.
    pub fn to_bytes(&self) -> Result<Zeroizing<Vec<u8>>, RowsError> {
        refuse_big_endian()?;
        self.check_unchanged()?;
        let (table, lent) = (&*self.table, self.view().lent_bytes());
        self.check_unchanged()?;
        let own = table.own.bytes(0..table.own.len());
        let Annotations { labels, selectors, row_weights, present, .. } = &table.noted;
        let present: Vec<u8> = present.iter().map(|present| u8::from(*present)).collect();
        let [labels, weights] = [labels, row_weights.as_deref().unwrap_or_default()].map(bytemuck::cast_slice);
        Ok(join([&lent, own, labels, bytemuck::cast_slice(selectors), &present, weights]))
    }
}

impl LentTable {
    /// A table of rows of this shape from its bytes, and the rows that are to be lent from now on.
    pub fn from_bytes(
        bytes: &[u8],
        shape: RowSpec,
        precision: Precision,
        preparation: Option<Preparation>,
    ) -> Result<(Self, FeatureValues), RowsError> {
        refuse_big_endian()?;
        let [lent, own, labels, selectors, present, weights] = split(bytes)?;
        let (lent, own) = (values(lent, precision)?, values(own, precision)?);
        let (labels, selectors, weights) = (numbers(labels)?, numbers::<u64>(selectors)?, numbers(weights)?);
        let (n_lent, n_positions) = (lent.len() / shape.n_features.max(1), labels.len());
        let dim = shape.kept_dim();
        let fits = n_lent.checked_add(own.len() / dim) == Some(n_positions)
            && own.len().is_multiple_of(dim)
            && selectors.len() == n_positions
            && present.len() == n_positions
            && (weights.is_empty() || weights.len() == n_positions);
        if !fits {
            return Err(RowsError::Damaged { reason: "their parts are of different lengths" });
        }
        check_labels(&labels, shape.n_classes)?;
        let row_weights = (!weights.is_empty()).then_some(weights);
        check_weights(row_weights.as_deref(), n_positions, shape.max_row_weight)?;
        let go_on = AtomicBool::new(false);
        let mut table = Self::new(RowsToLend {
            rows: LentRows { features: lent.slice(0..lent.len()), cancel: &go_on },
            labels: &labels[..n_lent],
            selectors: selectors[..n_lent].to_vec(),
            row_weights: row_weights.as_ref().map(|weights| &weights[..n_lent]),
            // The names of categories come with the preparation, which knows all rows already.
            texts: &Texts::new(),
            preparation: None,
            shape,
        })?;
        (table.own, table.noted) = (own, Annotations::new(labels, selectors, row_weights));
        let gone: Vec<usize> = (0..n_positions).filter(|position| present[*position] == 0).collect();
        table.noted.set_present(&gone, false);
        table.prepare(preparation);
        Ok((table, lent))
    }
}

fn join(sections: [&[u8]; 6]) -> Zeroizing<Vec<u8>> {
    let len = sections.iter().map(|section| 8 + section.len()).sum();
    let mut bytes = Zeroizing::new(Vec::with_capacity(len));
    for section in sections {
        bytes.extend((section.len() as u64).to_le_bytes());
        bytes.extend(section);
    }
    bytes
}

fn split(mut bytes: &[u8]) -> Result<[&[u8]; 6], RowsError> {
    let mut sections = [&[][..]; 6];
    for section in &mut sections {
        let (len, rest) = bytes.split_first_chunk::<8>().ok_or(TOO_SHORT)?;
        let len = usize::try_from(u64::from_le_bytes(*len)).map_err(|_| TOO_SHORT)?;
        (*section, bytes) = rest.split_at_checked(len).ok_or(TOO_SHORT)?;
    }
    Ok(sections)
}

const TOO_SHORT: RowsError = RowsError::Damaged { reason: "they end too early" };

fn values(bytes: &[u8], precision: Precision) -> Result<FeatureValues, RowsError> {
    Ok(match precision {
        Precision::F32 => FeatureValues::F32(numbers(bytes)?),
        Precision::F64 => FeatureValues::F64(numbers(bytes)?),
    })
}

fn numbers<T: bytemuck::Pod>(bytes: &[u8]) -> Result<Vec<T>, RowsError> {
    if !bytes.len().is_multiple_of(size_of::<T>()) {
        return Err(RowsError::Damaged { reason: "a number is cut short" });
    }
    Ok(bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect())
}

/// Numbers are taken as they are in memory.
fn refuse_big_endian() -> Result<(), RowsError> {
    let reason = "they can be written and read on little-endian machines only";
    if cfg!(target_endian = "big") { Err(RowsError::Damaged { reason }) } else { Ok(()) }
}
