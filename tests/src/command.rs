//! The command `cellc` and the examples.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The command `cellc`, built once by the cargo that runs the tests.
///
/// # Panics
/// If it cannot be built.
pub fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| built("cellc"))
}

/// A program of the workspace, built by the cargo that runs the tests.
///
/// # Panics
/// If it cannot be built.
pub fn built(name: &str) -> PathBuf {
    // as a part of the whole workspace: a package alone has other features, and all that it needs is compiled again
    let built = Command::new(env!("CARGO"))
        .args(["build", "--offline", "--quiet", "--workspace", "--message-format=json", "--bin", name])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stderr(Stdio::inherit())
        .output()
        .expect("cargo starts");
    let messages = String::from_utf8(built.stdout).expect("cargo writes UTF-8");
    let (_, rest) = messages.rsplit_once("\"executable\":\"").expect("cargo says where the program is");
    rest.split('"').next().expect("a path ends").into()
}
