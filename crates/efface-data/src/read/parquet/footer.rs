//! The footer of a Parquet file, looked at before the decoder is: what it would allocate for, or recurse into, must be
//! there.
//!
//! ```text
//! …  footer (Thrift)  length of the footer (u32, little-endian)  "PAR1"
//! ```
//!
//! The decoder makes room for as many row groups, and for as many children of a group of columns, as are announced, and
//! descends as deep as groups are nested: of a damaged footer these can be billions, and the process would end there.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use super::thrift::{Compact, I32, LIST, STRUCT};

/// Tells whether the footer of a file can be handed to the decoder. The file's ends are left for the decoder to check.
pub(super) fn is_sound(file: &mut File, file_bytes: u64) -> io::Result<bool> {
    let mut end = [0; 8];
    let Some(end_at) = file_bytes.checked_sub(end.len() as u64) else { return Ok(true) };
    file.seek(SeekFrom::Start(end_at))?;
    file.read_exact(&mut end)?;
    let [a, b, c, d, ..] = end;
    let n_bytes = u64::from(u32::from_le_bytes([a, b, c, d]));
    let Some(start) = end_at.checked_sub(n_bytes) else { return Ok(true) };
    let mut footer = vec![0; n_bytes as usize];
    file.seek(SeekFrom::Start(start))?;
    file.read_exact(&mut footer)?;
    Ok(check(&footer).is_some())
}

fn check(footer: &[u8]) -> Option<()> {
    Compact::new(footer).fields(|this, id, kind| {
        match (id, kind) {
            (SCHEMA, LIST) => check_schema(this)?,
            _ => this.skip(kind)?,
        }
        Some(true)
    })
}

/// Columns and groups of columns come in one list, a group before its children.
fn check_schema(footer: &mut Compact<'_>) -> Option<()> {
    let (n_elements, kind) = footer.list()?;
    if kind != STRUCT {
        return None;
    }
    // How many children each of the groups around the next element still has.
    let mut around = [0_usize; MAX_DEPTH];
    let mut depth = 0;
    for element in 0..n_elements {
        let mut n_children = 0;
        footer.fields(|this, id, kind| {
            match (id, kind) {
                (N_CHILDREN, I32) => n_children = usize::try_from(this.integer()?).ok()?,
                _ => this.skip(kind)?,
            }
            Some(true)
        })?;
        if n_children >= n_elements - element {
            return None;
        }
        if depth > 0 {
            around[depth - 1] = around[depth - 1].checked_sub(1)?;
        }
        if n_children > 0 {
            *around.get_mut(depth)? = n_children;
            depth += 1;
        }
        while depth > 0 && around[depth - 1] == 0 {
            depth -= 1;
        }
    }
    Some(())
}

/// Number of the schema in the footer.
const SCHEMA: i64 = 2;
/// Number of the count of children in an element of the schema.
const N_CHILDREN: i64 = 5;
/// Groups of columns within each other.
const MAX_DEPTH: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    /// A footer with a schema of groups and columns, each told by its number of children.
    fn footer(n_announced: u8, children: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0x15, 2, 0x19, 0xfc, n_announced];
        for n in children {
            bytes.extend([0x48, 1, b'x', 0x15, 2 * n, 0]);
        }
        bytes.push(0);
        bytes
    }

    #[test]
    fn a_schema_whose_groups_have_their_children_is_sound() {
        assert_eq!(check(&footer(4, &[2, 0, 1, 0])), Some(()));
        assert_eq!(check(&footer(1, &[0])), Some(()));
    }

    #[test]
    fn children_that_are_not_there_are_noticed() {
        assert_eq!(check(&footer(4, &[2, 0, 60, 0])), None);
        assert_eq!(check(&footer(2, &[2, 0])), None);
        assert_eq!(check(&footer(100, &[1, 0])), None);
    }

    #[test]
    fn groups_within_groups_have_an_end() {
        let nested = |depth: usize| [vec![1; depth], vec![0]].concat();
        assert_eq!(check(&footer(65, &nested(64))), Some(()));
        assert_eq!(check(&footer(66, &nested(65))), None);
    }
}
