//! Finds the commit that the command is built from, for `cellc --version`.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // the library without the command has no --version
    let asked = std::env::var_os("CARGO_FEATURE_CLI").is_some();
    let commit = if asked { packaged().or_else(checked_out) } else { None };
    let commit = commit.map_or(String::new(), |commit| format!(" ({commit})"));
    println!("cargo::rustc-env=CELLC_COMMIT={commit}");
}

/// The commit that `cargo package` noted beside the manifest, in 12 digits.
fn packaged() -> Option<String> {
    let noted = std::fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let digits = noted.split("\"sha1\":").nth(1)?.split('"').nth(1)?;
    let is_hash = digits.len() >= 12 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_hash.then(|| digits[..12].to_owned())
}

/// The commit of the working tree that this folder belongs to, in 12 digits.
fn checked_out() -> Option<String> {
    // a folder inside a project of someone else has that project's commit
    let tracked = git(&["ls-files", "--error-unmatch", "Cargo.toml"]);
    tracked?;
    for file in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--git-path", file])?;
        if Path::new(&path).exists() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    git(&["rev-parse", "--short=12", "HEAD"])
}

/// The first line that git prints; `None` if it fails or is not installed.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let line = text.lines().next().unwrap_or_default().to_owned();
    (output.status.success() && !line.is_empty()).then_some(line)
}
