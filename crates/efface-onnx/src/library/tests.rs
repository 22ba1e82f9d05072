//! No test here loads the library: a process has one for good.

use std::fs;
use std::process::Command;

use super::*;

fn failure(named: &Path) -> String {
    search(Some(named.into()), &[], "python3").unwrap_err().to_string()
}

/// A library made of this C.
fn compiled(folder: &Path, source: &str) -> PathBuf {
    let (from, to) = (folder.join("library.c"), folder.join("library.so"));
    fs::write(&from, source).unwrap();
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    assert!(Command::new(compiler).args(["-shared", "-fPIC", "-o"]).args([&to, &from]).status().unwrap().success());
    to
}

#[test]
fn a_missing_library_is_said_with_how_to_get_it() {
    let error = search(None, &["not-there.so".to_owned()], "not-there").unwrap_err();
    assert_eq!(
        error.to_string(),
        "ONNX Runtime was not found; install it with `pip install onnxruntime`, or set ORT_DYLIB_PATH to its shared library"
    );
    let named = failure(Path::new("/not/there.so"));
    assert!(named.starts_with("`/not/there.so` cannot be loaded as ONNX Runtime: "), "{named}");
}

#[test]
fn what_is_not_the_library_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text.so");
    fs::write(&text, "no library").unwrap();
    assert!(failure(&text).contains("cannot be loaded as ONNX Runtime: "), "{}", failure(&text));

    let other = compiled(folder.path(), "int answer(void) { return 42; }");
    assert_eq!(failure(&other), format!("`{}` is not ONNX Runtime", other.display()));
    // A name that the system finds, but is no such library, is said rather than "not found".
    let found = search(None, &[other.display().to_string()], "not-there").unwrap_err();
    assert_eq!(found, LibraryError::OtherLibrary { path: other });
}

#[test]
fn an_old_library_is_refused_before_it_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let old = compiled(
        folder.path(),
        "static const void *api(unsigned v) { return 0; }
         static const char *version(void) { return \"1.16.3\"; }
         static struct { const void *(*api)(unsigned); const char *(*version)(void); } base = {api, version};
         void *OrtGetApiBase(void) { return &base; }",
    );
    let expected = format!("`{}` is ONNX Runtime 1.16.3; at least 1.22 is needed", old.display());
    assert_eq!(failure(&old), expected);
}
