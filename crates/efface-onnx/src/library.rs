//! Finding ONNX Runtime: a shared library that is looked for when the first network is opened.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

use ort::environment::Environment;
use ort::logging::LogLevel;

use crate::error::LibraryError;

/// What all networks of this process share. It stays until the end: the library allows no second one.
static SHARED: Mutex<Option<Environment>> = Mutex::new(None);

/// A file that a program has at hand.
static AT_HAND: OnceLock<PathBuf> = OnceLock::new();

/// Says where the library is, for whoever opens the first network. The first who says so is heard.
pub fn library_at_hand(path: PathBuf) {
    let _ = AT_HAND.set(path);
}

/// The library, found by what the first caller has around him.
///
/// In this order: the file that `ORT_DYLIB_PATH` names, and no other if it is set; the file that the program has at hand; the
/// usual names where the system looks for libraries; the package `onnxruntime` of the `python3` on the path.
pub(crate) fn environment() -> Result<Environment, LibraryError> {
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(environment) = &*shared {
        return Ok(environment.clone());
    }
    let named = std::env::var_os(VARIABLE).filter(|named| !named.is_empty());
    let at_hand = AT_HAND.get().map(|path| path.display().to_string());
    let names: Vec<String> = at_hand.into_iter().chain(loader_names()).collect();
    let environment = search(named, &names, "python3")?;
    // What goes wrong is returned, and nobody asked for the rest.
    environment.set_log_level(LogLevel::Fatal);
    Ok(shared.insert(environment).clone())
}

fn search(named: Option<OsString>, names: &[String], python: &str) -> Result<Environment, LibraryError> {
    if let Some(named) = named {
        return open(&placed(named));
    }
    let mut unusable = None;
    let candidates = names.iter().map(PathBuf::from);
    // Python is asked only if need be: starting it takes longer than all the rest.
    for candidate in candidates.chain(std::iter::once_with(|| of_python(python)).flatten()) {
        match open(&candidate) {
            Ok(environment) => return Ok(environment),
            // A name that the system does not know; a file that is there was meant to be found.
            Err(error) if candidate.is_absolute() || error.is_of_a_library() => unusable = unusable.or(Some(error)),
            Err(_) => (),
        }
    }
    Err(unusable.unwrap_or(LibraryError::NotFound))
}

fn open(path: &Path) -> Result<Environment, LibraryError> {
    // Checks that it is the library, and new enough, before anything of it is called.
    let builder = ort::init_from(path).map_err(|error| LibraryError::of(path, error))?;
    let built = builder.with_name("efface").with_telemetry(false).build();
    built.map_err(|error| LibraryError::Unusable { path: path.to_owned(), reason: error.to_string() })
}

/// A path is meant from here; a mere name is for the system to find.
fn placed(named: OsString) -> PathBuf {
    let path = PathBuf::from(named);
    if path.components().count() == 1 && !path.exists() {
        return path;
    }
    std::path::absolute(&path).unwrap_or(path)
}

fn loader_names() -> [String; 2] {
    let name = format!("{DLL_PREFIX}onnxruntime{DLL_SUFFIX}");
    let with_version = format!("{name}.1");
    [name, with_version]
}

/// The library in the package of a Python, which is not imported for it.
fn of_python(python: &str) -> Option<PathBuf> {
    let script = "import importlib.util as u; print(u.find_spec('onnxruntime').submodule_search_locations[0])";
    let mut command = Command::new(python);
    let output = command.args(["-I", "-c", script]).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let package = String::from_utf8(output.stdout).ok()?;
    let files = std::fs::read_dir(Path::new(package.trim_end()).join("capi")).ok()?;
    let start = format!("{DLL_PREFIX}onnxruntime.");
    let mut found = files.flatten().filter(|file| file.file_name().to_string_lossy().starts_with(&start));
    found.next().map(|file| file.path())
}

/// Names the library's file.
const VARIABLE: &str = "ORT_DYLIB_PATH";

#[cfg(test)]
mod tests;
