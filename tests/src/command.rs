//! The command `cellc`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The program, built once by the cargo that runs the tests.
///
/// # Panics
/// If it cannot be built.
pub fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let built = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--package=cellc", "--bin=cellc", "--message-format=json"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .stderr(Stdio::inherit())
            .output()
            .expect("cargo starts");
        let messages = String::from_utf8(built.stdout).expect("cargo writes UTF-8");
        let (_, rest) = messages.rsplit_once("\"executable\":\"").expect("cargo says where the program is");
        rest.split('"').next().expect("a path ends").into()
    })
}
