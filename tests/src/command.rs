//! The command `cellc`, the examples, and the library of the macros.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde_json::Value;

/// The command `cellc`, built once by the cargo that runs the tests.
///
/// # Panics
/// If the command cannot be built.
pub fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| built("cellc"))
}

/// A program of the workspace, built by the cargo that runs the tests.
///
/// # Panics
/// If the program cannot be built.
pub fn built(name: &str) -> PathBuf {
    let program = |artifact: &Value| {
        let path =
            artifact["executable"].as_str().filter(|_| artifact["target"]["name"] == name)?;
        Some(PathBuf::from(path))
    };
    artifacts(&parts(name), program).pop().expect("cargo says where the program is")
}

/// The libraries that a build of a program of the workspace compiles: none if the libraries of an
/// earlier build are up to date.
///
/// # Panics
/// If the program cannot be built.
pub fn compiled_for(name: &str) -> Vec<String> {
    let library = |artifact: &Value| {
        let is_compiled = artifact["fresh"] == false && artifact["executable"].is_null();
        is_compiled.then(|| artifact["target"]["name"].to_string())
    };
    artifacts(&parts(name), library)
}

/// The arguments of cargo that select the build of a program.
fn parts(name: &str) -> [&str; 5] {
    // The whole workspace, because a single package has other features, and its dependencies would
    // be compiled again. The command, too, because libraries that only macros and build scripts
    // need would be compiled without the profile's `lto`.
    ["--workspace", "--bin", "cellc", "--bin", name]
}

/// The Rust library `cellc_runtime`, which re-exports the macros, built by the cargo that runs the
/// tests.
///
/// # Panics
/// If the library cannot be built.
pub fn runtime() -> PathBuf {
    let of_library = |artifact: &Value| {
        let files = artifact["filenames"]
            .as_array()
            .filter(|_| artifact["target"]["name"] == "cellc_runtime")?;
        files
            .iter()
            .filter_map(Value::as_str)
            .find(|file| file.ends_with(".rlib"))
            .map(PathBuf::from)
    };
    // the package of the tests is built, too, because it decides on features
    let parts = ["--package", "cellc-tests", "--package", "cellc-runtime", "--lib"];
    artifacts(&parts, of_library).pop().expect("cargo says where the library is")
}

/// The values of `found` for cargo's messages about a build. `parts`: the arguments of cargo that
/// select the build.
fn artifacts<T>(parts: &[&str], found: impl Fn(&Value) -> Option<T>) -> Vec<T> {
    let built = Command::new(env!("CARGO"))
        .args(["build", "--offline", "--quiet", "--message-format=json"])
        .args(parts)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stderr(Stdio::inherit())
        .output()
        .expect("cargo starts");
    let messages = String::from_utf8(built.stdout).expect("cargo writes UTF-8");
    let messages =
        messages.lines().map(|line| serde_json::from_str(line).expect("a message is JSON"));
    messages.filter_map(|message: Value| found(&message)).collect()
}
