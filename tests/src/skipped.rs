//! What a test leaves out because this machine lacks something. `.ci/run` counts it in its last line.

use std::env;
use std::fs::OpenOptions;
use std::io::{Write, stderr};
use std::process::{Command, Stdio};
use std::thread;

/// The tools that `.ci/run` installs: where `CI` is set, a test fails without them.
pub const INSTALLED_BY_CI: [&str; 9] = [
    "gcc",
    "g++",
    "make",
    "nm",
    "valgrind",
    "arm-none-eabi-gcc",
    "aarch64-linux-gnu-gcc",
    "qemu-system-arm",
    "qemu-aarch64",
];

/// The file to which every test adds a line for what it leaves out.
pub const LIST: &str = "CELLC_SKIPPED";

/// Whether a program is installed: whether it says its version.
pub fn starts(name: &str) -> bool {
    let mut command = Command::new(name);
    command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|s| s.success())
}

/// Whether a tool that the test needs is installed; if not, the test is skipped.
///
/// # Panics
/// If it is not and `.ci/run` should have installed it.
pub fn has(tool: &str) -> bool {
    let found = starts(tool);
    if !found {
        let required = INSTALLED_BY_CI.contains(&tool) && env::var_os("CI").is_some();
        assert!(!required, "{tool} is not installed: .ci/run installs it");
        skip(&format!("no {tool}"));
    }
    found
}

/// Says what this machine lacks, so that the test that calls this leaves something out: to the user, who sees it where the test passes too,
/// and to the list.
pub fn skip(lacking: &str) {
    let line = format!("skipped: {}: {lacking}\n", thread::current().name().unwrap_or("a test"));
    // not by `print!`, which a test that passes keeps to itself
    stderr().write_all(line.as_bytes()).expect("standard error");
    if let Some(list) = env::var_os(LIST) {
        let mut list = OpenOptions::new().create(true).append(true).open(list).expect("the list can be written");
        list.write_all(line.as_bytes()).expect("the list can be written");
    }
}

#[cfg(test)]
mod tests {
    use super::{INSTALLED_BY_CI, has, starts};

    #[test]
    fn a_tool_is_found_or_skipped() {
        assert!(has("rustc") && !starts("no-such-tool-at-all"));
        assert!(!has("no-such-tool-at-all"), "it is skipped");
    }

    #[test]
    fn ci_installs_what_it_requires() {
        let script = include_str!("../../.ci/run");
        for tool in INSTALLED_BY_CI {
            assert!(script.contains(&format!("command -v {tool} ")), "{tool}");
        }
    }
}
