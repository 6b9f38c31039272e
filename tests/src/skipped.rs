//! What a test leaves out because this machine lacks something. `.ci/run` counts it in its last line.

use std::collections::BTreeMap;
use std::env;
use std::fs::{self, OpenOptions};
use std::io::{Write, stderr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
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

/// A program that needs the headers and the library of its language, and nothing else.
pub const ONE_LINE: &str = "#include <string.h>\nint main(void) { char a[2] = \"a\"; return (int)strlen(a) - 1; }\n";

/// How far a compiler has to get with a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Far {
    /// To an object.
    Compiled,
    /// To a program.
    Linked,
    /// The program runs on this machine and succeeds.
    Run,
}

/// True if a compiler with these flags gets so far with `program`, in C, or in C++ where its name says
/// that.
pub fn compiler_works(compiler: &str, flags: &[&str], program: &str, far: Far) -> bool {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = env::temp_dir().join(format!("cellc-tests-{}-{count}", std::process::id()));
    let built = fs::create_dir_all(&folder).is_ok() && build(&folder, compiler, flags, program, far);
    _ = fs::remove_dir_all(&folder);
    built
}

fn build(folder: &Path, compiler: &str, flags: &[&str], program: &str, far: Far) -> bool {
    let source = folder.join(if compiler.contains("++") { "one.cpp" } else { "one.c" });
    let made: PathBuf = folder.join("one.exe");
    let mut command = Command::new(compiler);
    command.args(flags).args((far == Far::Compiled).then_some("-c")).arg(&source).arg("-o").arg(&made);
    fs::write(&source, program).is_ok()
        && succeeds(&mut command)
        && (far != Far::Run || succeeds(&mut Command::new(&made)))
}

/// True if a command starts and succeeds.
fn succeeds(command: &mut Command) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|s| s.success())
}

/// True if a tool does its work: a compiler's program runs or, where it is for another machine, links;
/// other tools do something small. Asked once.
pub fn works(tool: &str) -> bool {
    static ASKED: Mutex<BTreeMap<String, bool>> = Mutex::new(BTreeMap::new());
    let mut asked = ASKED.lock().unwrap_or_else(PoisonError::into_inner);
    *asked.entry(tool.to_owned()).or_insert_with(|| probe(tool))
}

fn probe(tool: &str) -> bool {
    let with = |arguments: &[&str]| succeeds(Command::new(tool).args(arguments));
    let name = tool.rsplit('/').next().unwrap_or(tool);
    match name {
        "gcc" | "cc" | "g++" | "c++" => compiler_works(tool, &[], ONE_LINE, Far::Run),
        "arm-none-eabi-gcc" => compiler_works(tool, &["-mcpu=cortex-m4", "--specs=nosys.specs"], ONE_LINE, Far::Linked),
        _ if name.starts_with("clang") => compiler_works(tool, &[], ONE_LINE, Far::Run),
        // these link with a script of their own: `Machine::is_here` tries all of it
        _ if name.ends_with("-elf-gcc") || name.ends_with("-eabi-gcc") => {
            compiler_works(tool, &[], ONE_LINE, Far::Compiled)
        }
        _ if ["-gcc", "-g++", "-gcc-posix"].iter().any(|end| name.ends_with(end)) => {
            compiler_works(tool, &[], ONE_LINE, Far::Linked)
        }
        "valgrind" => with(&["--tool=none", "--quiet", "true"]),
        "make" => with(&["--silent", "--eval", "all:;@true", "-f", "/dev/null"]),
        "cmake" => with(&["-E", "true"]),
        "node" => with(&["-e", "0"]),
        "nm" => with(&["-g", "/proc/self/exe"]) || with(&["--version"]),
        _ => with(&["--version"]),
    }
}

/// True if a tool that the test needs works; if not, the test is skipped.
///
/// # Panics
/// If it does not and `.ci/run` should have installed it.
pub fn has(tool: &str) -> bool {
    let found = works(tool);
    if !found {
        let required = INSTALLED_BY_CI.contains(&tool) && env::var_os("CI").is_some();
        assert!(!required, "{tool} does not work: .ci/run installs it");
        skip(&format!("no {tool} that works"));
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
    use super::{Far, INSTALLED_BY_CI, ONE_LINE, compiler_works, has, works};

    #[test]
    fn a_tool_is_found_or_skipped() {
        assert!(has("rustc") && !works("no-such-tool-at-all"));
        assert!(!has("no-such-tool-at-all"), "it is skipped");
    }

    /// A compiler that says its version and links nothing, as clang without its libraries.
    #[test]
    fn a_compiler_that_cannot_link_does_not_work() {
        let compiles = |flags: &[&str], far| compiler_works("gcc", flags, ONE_LINE, far);
        assert!(compiles(&[], Far::Run));
        let library = ["-lno-such-library-at-all"];
        assert!(compiles(&library, Far::Compiled) && !compiles(&library, Far::Linked));
        assert!(!compiler_works("gcc", &[], "int main(void) { return 1; }", Far::Run));
        assert!(!compiler_works("gcc", &[], "#include <no_such_header.h>", Far::Compiled));
    }

    #[test]
    fn ci_installs_what_it_requires() {
        let script = include_str!("../../.ci/run");
        for tool in INSTALLED_BY_CI {
            assert!(script.contains(&format!("command -v {tool} ")), "{tool}");
        }
    }
}
