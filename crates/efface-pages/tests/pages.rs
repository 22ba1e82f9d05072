//! What SQLite is given is what it wrote, or an error.

use std::fs;
use std::path::Path;

use efface_pages::{PAGE_BYTES, create, damaged_pages, is_damage, open, seal};
use rusqlite::{Connection, OpenFlags};

/// A table and an index of several levels, written through the log and in place, with pages that were freed.
fn make(path: &Path) {
    fs::File::create_new(path).unwrap();
    let connection = create(path).unwrap();
    connection.execute_batch("CREATE TABLE t (a INTEGER PRIMARY KEY, b BLOB) STRICT; BEGIN;").unwrap();
    let mut insert = connection.prepare("INSERT INTO t VALUES (?1, ?2)").unwrap();
    for a in 0..3000 {
        insert.execute((a, blob(a))).unwrap();
    }
    drop(insert);
    connection.execute_batch("COMMIT; PRAGMA journal_mode = WAL; CREATE INDEX t_by_b ON t (b);").unwrap();
    connection.execute_batch("DELETE FROM t WHERE a % 7 = 0 OR a > 2500; PRAGMA wal_checkpoint(TRUNCATE);").unwrap();
}

/// Sixty bytes in no order of `a`, the same in every run.
fn blob(a: u64) -> Vec<u8> {
    (0..60).map(|k| ((a * 60 + k + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect()
}

/// Everything that the tables say, read by both b-trees.
fn contents(connection: &Connection) -> rusqlite::Result<Vec<(i64, Vec<u8>)>> {
    let by_row: Vec<_> = connection
        .prepare("SELECT a, b FROM t NOT INDEXED ORDER BY a")?
        .query_map([], pair)?
        .collect::<Result<_, _>>()?;
    let mut by_index: Vec<_> = connection
        .prepare("SELECT a, b FROM t INDEXED BY t_by_b ORDER BY b")?
        .query_map([], pair)?
        .collect::<Result<_, _>>()?;
    by_index.sort_unstable();
    assert_eq!(by_row, by_index);
    Ok(by_row)
}

fn pair(row: &rusqlite::Row<'_>) -> rusqlite::Result<(i64, Vec<u8>)> {
    Ok((row.get(0)?, row.get(1)?))
}

fn read(path: &Path) -> rusqlite::Result<Vec<(i64, Vec<u8>)>> {
    contents(&open(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?)
}

#[test]
fn what_was_written_is_read_and_every_page_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    make(&path);
    assert_eq!(read(&path).unwrap().len(), 2143);
    assert!(damaged_pages(&path).unwrap().is_empty());
    let free: i64 = open(&path, OpenFlags::SQLITE_OPEN_READ_ONLY)
        .unwrap()
        .query_row("PRAGMA freelist_count", [], |row| row.get(0))
        .unwrap();
    assert!(free > 0, "pages that nobody uses are checked, too");
}

#[test]
fn one_flipped_bit_anywhere_is_named_and_is_never_read_as_data() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    make(&path);
    let (whole, expected) = (fs::read(&path).unwrap(), read(&path).unwrap());
    let mut n_noticed = 0;
    for at in (0..whole.len()).step_by(97) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        fs::write(&path, &bytes).unwrap();
        assert_eq!(damaged_pages(&path).unwrap(), [(at / PAGE_BYTES + 1) as u64], "byte {at}");
        match read(&path) {
            Ok(found) => assert_eq!(found, expected, "byte {at}"),
            Err(error) => {
                assert!(is_damage(&error), "byte {at}: {error}");
                n_noticed += 1;
            }
        }
    }
    assert!(n_noticed > whole.len() / 97 / 2, "{n_noticed} noticed");
}

#[test]
fn a_page_in_the_place_of_another_is_damage() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    make(&path);
    let mut bytes = fs::read(&path).unwrap();
    let (third, fourth) = (2 * PAGE_BYTES, 3 * PAGE_BYTES);
    let page = bytes[third..fourth].to_vec();
    bytes.copy_within(fourth..fourth + PAGE_BYTES, third);
    bytes[fourth..fourth + PAGE_BYTES].copy_from_slice(&page);
    fs::write(&path, &bytes).unwrap();
    assert_eq!(damaged_pages(&path).unwrap(), [3, 4]);
    assert!(is_damage(&read(&path).unwrap_err()));
}

#[test]
fn a_file_that_was_cut_and_one_without_checksums_are_damage() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    make(&path);
    // Without free pages the file ends in one that is read.
    let connection = open(&path, OpenFlags::SQLITE_OPEN_READ_WRITE).unwrap();
    connection.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE);").unwrap();
    drop(connection);
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() / 2 + 100]).unwrap();
    assert_eq!(damaged_pages(&path).unwrap().len(), 1);
    assert!(is_damage(&read(&path).unwrap_err()));
    // SQLite took what was missing of the last page for zeros, and found fewer rows, or others.
    for missing in [1, 4, 1000, 2048, PAGE_BYTES - 1, PAGE_BYTES] {
        fs::write(&path, &bytes[..bytes.len() - missing]).unwrap();
        assert!(is_damage(&read(&path).unwrap_err()), "{missing} bytes missing");
    }

    let other = folder.path().join("other.db");
    Connection::open(&other).unwrap().execute_batch("CREATE TABLE t (a INTEGER PRIMARY KEY, b BLOB);").unwrap();
    assert!(is_damage(&read(&other).unwrap_err()));
}

#[test]
fn a_page_that_was_altered_and_sealed_passes_for_one_that_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    make(&path);
    let whole = fs::read(&path).unwrap();
    let mut bytes = whole.clone();
    seal(&mut bytes);
    assert!(bytes == whole, "what is right stays as it is");
    bytes[2 * PAGE_BYTES + 100] ^= 1;
    fs::write(&path, &bytes).unwrap();
    assert_eq!(damaged_pages(&path).unwrap(), [3]);
    seal(&mut bytes);
    fs::write(&path, &bytes).unwrap();
    assert!(damaged_pages(&path).unwrap().is_empty());
}
