//! The layer between SQLite and the system's files.
//!
//! It is a copy of the system's own, with another way to open. What that opens is the system's file with the system's methods;
//! only those that read and write the main file go through [`read`] and [`write`].

use std::ffi::{CStr, c_int, c_void};
use std::ptr;
use std::slice;
use std::sync::{Mutex, OnceLock, PoisonError};

use rusqlite::{Connection, ffi};

use super::{PAGE_BYTES, is_whole, seal_page};

/// The layer's name, once SQLite knows it.
pub(super) fn name() -> rusqlite::Result<&'static CStr> {
    static REGISTERED: OnceLock<c_int> = OnceLock::new();
    match *REGISTERED.get_or_init(register) {
        ffi::SQLITE_OK => Ok(NAME),
        code => Err(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)),
    }
}

/// Keeps bytes at the end of each page of a database that is still empty out of SQLite's use.
pub(super) fn reserve(connection: &Connection, bytes: usize) -> rusqlite::Result<()> {
    let mut bytes = bytes as c_int;
    // SAFETY: the connection is open, and this operation reads and writes one integer.
    let code = unsafe {
        let argument = ptr::from_mut(&mut bytes).cast::<c_void>();
        ffi::sqlite3_file_control(connection.handle(), c"main".as_ptr(), ffi::SQLITE_FCNTL_RESERVE_BYTES, argument)
    };
    if code == ffi::SQLITE_OK { Ok(()) } else { Err(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)) }
}

const NAME: &CStr = c"efface-pages";

fn register() -> c_int {
    // SAFETY: the system's layer lives as long as the process. So does the copy.
    unsafe {
        let system = ffi::sqlite3_vfs_find(ptr::null());
        if system.is_null() {
            return ffi::SQLITE_ERROR;
        }
        let layer = ffi::sqlite3_vfs { zName: NAME.as_ptr(), pNext: ptr::null_mut(), xOpen: Some(open), ..*system };
        ffi::sqlite3_vfs_register(Box::leak(Box::new(layer)), 0)
    }
}

/// The methods of a file of this layer. SQLite knows the first field only.
#[repr(C)]
struct Methods {
    checked: ffi::sqlite3_io_methods,
    system: *const ffi::sqlite3_io_methods,
}

// SAFETY: both point to tables that never change.
unsafe impl Send for Methods {}
// SAFETY: as above.
unsafe impl Sync for Methods {}

/// The system has a few tables of methods, by the way that files are locked. Each gets its counterpart once.
static METHODS: Mutex<Vec<&'static Methods>> = Mutex::new(Vec::new());

/// # Safety
/// `system` is a table of the system's methods.
unsafe fn methods(system: *const ffi::sqlite3_io_methods) -> &'static Methods {
    let mut known = METHODS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(methods) = known.iter().find(|methods| methods.system == system) {
        return methods;
    }
    // SAFETY: by the caller. Version 2 has no method that gives SQLite a page without reading it.
    let checked = unsafe { ffi::sqlite3_io_methods { iVersion: 2, xRead: Some(read), xWrite: Some(write), ..*system } };
    let methods: &'static Methods = Box::leak(Box::new(Methods { checked, system }));
    known.push(methods);
    methods
}

/// Opens a file as the system does. The main file of a database gets the methods of this layer.
unsafe extern "C" fn open(
    _: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    // SAFETY: SQLite's arguments are passed on as they are; there is room for one of the system's files, as there is in its own
    // layer. After it has opened one, its methods are there.
    unsafe {
        let system = ffi::sqlite3_vfs_find(ptr::null());
        let Some(system_open) = system.as_ref().and_then(|system| system.xOpen) else { return ffi::SQLITE_ERROR };
        let code = system_open(system, name, file, flags, out_flags);
        if code == ffi::SQLITE_OK && flags & ffi::SQLITE_OPEN_MAIN_DB != 0 {
            (*file).pMethods = &raw const methods((*file).pMethods).checked;
        }
        code
    }
}

/// The system's methods of a file of this layer.
///
/// # Safety
/// [`open`] has opened `file`, which is the main file of a database.
unsafe fn system<'a>(file: *mut ffi::sqlite3_file) -> &'a ffi::sqlite3_io_methods {
    // SAFETY: its methods are the first field of `Methods`.
    unsafe { &*(*(*file).pMethods.cast::<Methods>()).system }
}

/// The number of the page that stands at `offset`, if it is a whole page.
fn page_number(bytes: c_int, offset: ffi::sqlite3_int64) -> Option<u64> {
    let offset = u64::try_from(offset).ok()?;
    let is_page = bytes as usize == PAGE_BYTES && offset.is_multiple_of(PAGE_BYTES as u64);
    is_page.then(|| offset / PAGE_BYTES as u64 + 1)
}

unsafe extern "C" fn read(
    file: *mut ffi::sqlite3_file,
    to: *mut c_void,
    bytes: c_int,
    offset: ffi::sqlite3_int64,
) -> c_int {
    // SAFETY: SQLite has opened the file with `open`, and `to` has room for so many bytes, which the system has filled.
    unsafe {
        let Some(system_read) = system(file).xRead else { return ffi::SQLITE_IOERR_READ };
        let code = system_read(file, to, bytes, offset);
        match page_number(bytes, offset) {
            Some(number) if code == ffi::SQLITE_OK => {
                let page = slice::from_raw_parts(to.cast::<u8>(), PAGE_BYTES);
                if is_whole(number, page) { code } else { ffi::SQLITE_IOERR_DATA }
            }
            // SQLite takes what is missing for zeros. Only a file that is still empty has no page to read.
            Some(_) if code == ffi::SQLITE_IOERR_SHORT_READ && !is_empty(file) => ffi::SQLITE_IOERR_DATA,
            _ => code,
        }
    }
}

/// Whether a file has no byte yet. One whose size is not known has.
///
/// # Safety
/// As of [`system`].
unsafe fn is_empty(file: *mut ffi::sqlite3_file) -> bool {
    let mut size = 1;
    // SAFETY: by the caller; the size is written to where it is asked for.
    let code = unsafe { system(file).xFileSize.map_or(ffi::SQLITE_ERROR, |file_size| file_size(file, &raw mut size)) };
    code == ffi::SQLITE_OK && size == 0
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    from: *const c_void,
    bytes: c_int,
    offset: ffi::sqlite3_int64,
) -> c_int {
    // SAFETY: SQLite has opened the file with `open`, and so many bytes can be read from `from`.
    unsafe {
        let Some(system_write) = system(file).xWrite else { return ffi::SQLITE_IOERR_WRITE };
        let Some(number) = page_number(bytes, offset) else {
            // SQLite writes whole pages. What is not one could not be checked.
            return ffi::SQLITE_IOERR_WRITE;
        };
        let mut page = [0; PAGE_BYTES];
        page.copy_from_slice(slice::from_raw_parts(from.cast::<u8>(), PAGE_BYTES));
        seal_page(number, &mut page);
        system_write(file, page.as_ptr().cast(), bytes, offset)
    }
}
