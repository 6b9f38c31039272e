//! Skips tests, or parts of tests, for which this machine lacks a tool. `.ci/run` counts the skips
//! in its last line.

use std::collections::BTreeMap;
use std::env;
use std::fs::{self, OpenOptions};
use std::io::{Write, stderr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// The tools that `.ci/run` installs. If `CI` is set, a test fails without them.
pub const INSTALLED_BY_CI: [&str; 11] = [
    "gcc",
    "g++",
    "make",
    "nm",
    "valgrind",
    "arm-none-eabi-gcc",
    "aarch64-linux-gnu-gcc",
    "qemu-system-arm",
    "qemu-aarch64",
    "cppcheck",
    "chromium",
];

/// The environment variable that names a file: a test adds a line to the file for what it skips.
pub const LIST: &str = "CELLC_SKIPPED";

/// A program that needs only the headers and the library of its language.
pub const ONE_LINE: &str =
    "#include <string.h>\nint main(void) { char a[2] = \"a\"; return (int)strlen(a) - 1; }\n";

/// A program that needs neither headers nor a library.
const NO_HEADERS: &str = "int main(void) { return 0; }\n";

/// The last stage that a compiler has to reach with a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Far {
    /// To an object.
    Compiled,
    /// To a program.
    Linked,
    /// The program runs on this machine and succeeds.
    Run,
}

/// True if a compiler with these flags reaches the stage `far` with `program`. The language is C++
/// if the compiler's name contains `++`, otherwise C.
pub fn compiler_works(compiler: &str, flags: &[&str], program: &str, far: Far) -> bool {
    let folder = folder();
    let built =
        fs::create_dir_all(&folder).is_ok() && build(&folder, compiler, flags, program, far);
    _ = fs::remove_dir_all(&folder);
    built
}

/// The path of a folder that no other call uses.
fn folder() -> PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    env::temp_dir().join(format!("cellc-tests-{}-{count}", std::process::id()))
}

fn build(folder: &Path, compiler: &str, flags: &[&str], program: &str, far: Far) -> bool {
    let source = folder.join(if compiler.contains("++") { "one.cpp" } else { "one.c" });
    let made: PathBuf = folder.join("one.exe");
    let mut command = Command::new(compiler);
    command
        .args(flags)
        .args((far == Far::Compiled).then_some("-c"))
        .arg(&source)
        .arg("-o")
        .arg(&made);
    fs::write(&source, program).is_ok()
        && succeeds(&mut command)
        && (far != Far::Run || succeeds(&mut Command::new(&made)))
}

/// True if a command starts and succeeds.
fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|s| s.success())
}

/// True if a tool works: a compiler's program runs or, for another machine, links; other tools do a
/// small task. Each tool is tried once.
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
        "arm-none-eabi-gcc" => {
            compiler_works(tool, &["-mcpu=cortex-m4", "--specs=nosys.specs"], ONE_LINE, Far::Linked)
        }
        _ if name.starts_with("clang") => compiler_works(tool, &[], ONE_LINE, Far::Run),
        // headers and linker scripts come with a machine's specs: `Machine::is_here` tries the rest
        _ if name.ends_with("-elf-gcc") || name.ends_with("-eabi-gcc") => {
            compiler_works(tool, &[], NO_HEADERS, Far::Compiled)
        }
        _ if ["-gcc", "-g++", "-gcc-posix"].iter().any(|end| name.ends_with(end)) => {
            compiler_works(tool, &[], ONE_LINE, Far::Linked)
        }
        "valgrind" => with(&["--tool=none", "--quiet", "true"]),
        "make" => with(&["--silent", "--eval", "all:;@true", "-f", "/dev/null"]),
        "cmake" => with(&["-E", "true"]),
        "ninja" => with(&["--version"]),
        "node" => with(&["-e", "0"]),
        "python3" => with(&["-c", "0"]),
        "cbmc" => {
            with_file("one.c", ONE_LINE.as_bytes(), |file| succeeds(Command::new(tool).arg(file)))
        }
        "nm" | "objdump" | "size" => reads_objects(tool),
        _ if name.ends_with("-size") => reads_objects_of(tool),
        _ if name.starts_with("llvm-size") => reads_objects(tool),
        _ if name.starts_with("wasm-ld") => links_wasm(tool),
        _ if name.starts_with("qemu-system-") => quits(tool),
        "wasm32-unknown-unknown" => is_target_of_rustc(tool),
        // emulators: `Machine::is_here` runs a program
        _ => with(&["--version"]),
    }
}

/// The answer of `ask` about a temporary file with these bytes.
fn with_file(name: &str, bytes: &[u8], ask: impl Fn(&Path) -> bool) -> bool {
    let folder = folder();
    let file = folder.join(name);
    let said = fs::create_dir_all(&folder).is_ok() && fs::write(&file, bytes).is_ok() && ask(&file);
    _ = fs::remove_dir_all(&folder);
    said
}

/// True if a tool reads an object of the Rust compiler.
fn reads_objects(tool: &str) -> bool {
    with_file("one.rs", b"#![no_std]\n#[no_mangle]\npub extern \"C\" fn one() {}\n", |source| {
        let object = source.with_extension("o");
        let mut rustc = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
        rustc.args(["--crate-type=lib", "--emit=obj", "-o"]).arg(&object).arg(source);
        let arguments: &[&str] = if tool.ends_with("objdump") { &["-h"] } else { &[] };
        succeeds(&mut rustc) && succeeds(Command::new(tool).args(arguments).arg(&object))
    })
}

/// True if the Rust compiler links a library for a target.
fn is_target_of_rustc(target: &str) -> bool {
    with_file("one.rs", b"pub fn one() {}\n", |source| {
        let mut rustc = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
        rustc
            .args(["--crate-type=cdylib", "--target", target, "-o"])
            .arg(source.with_extension("made"))
            .arg(source);
        succeeds(&mut rustc)
    })
}

/// True if a tool reads an object of the compiler for the same machine: `arm-none-eabi-size` an
/// object of `arm-none-eabi-gcc`.
fn reads_objects_of(size: &str) -> bool {
    let compiler = size.replace("-size", "-gcc");
    with_file("one.c", b"int one(void) { return 1; }\n", |source| {
        let object = source.with_extension("o");
        succeeds(Command::new(&compiler).arg("-c").arg(source).arg("-o").arg(&object))
            && succeeds(Command::new(size).arg("-A").arg(&object))
    })
}

/// True if clang of the same version makes an object for WebAssembly and the linker links it.
fn links_wasm(linker: &str) -> bool {
    let clang = linker.replace("wasm-ld", "clang");
    with_file("one.c", b"int one(void) { return 1; }\n", |source| {
        let (object, program) = (source.with_extension("o"), source.with_extension("wasm"));
        let mut compile = Command::new(&clang);
        compile.args(["--target=wasm32", "-c"]).arg(source).arg("-o").arg(&object);
        let mut link = Command::new(linker);
        link.args(["--no-entry", "--export-all"]).arg(&object).arg("-o").arg(program);
        succeeds(&mut compile) && succeeds(&mut link)
    })
}

/// True if an emulator of a whole machine starts, takes a command, and ends.
fn quits(emulator: &str) -> bool {
    with_file("commands", b"quit\n", |commands| {
        let mut command = Command::new(emulator);
        command.args(["-M", "none", "-display", "none", "-monitor", "stdio"]);
        let commands = fs::File::open(commands).expect("the file was written");
        command.stdin(commands).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    })
}

/// True if a tool that the test needs works; otherwise, the test is skipped.
///
/// # Panics
/// If the tool does not work although `.ci/run` should have installed it.
pub fn has(tool: &str) -> bool {
    let found = works(tool);
    if !found {
        assert!(!is_required(tool), "{tool} does not work: .ci/run installs it");
        skip(&format!("no {tool} that works"));
    }
    found
}

/// True if `.ci/run` installs a tool and runs this test.
pub fn is_required(tool: &str) -> bool {
    INSTALLED_BY_CI.contains(&tool) && env::var_os("CI").is_some()
}

/// Reports what this machine lacks, for a test that skips something: to the user, even if the test
/// passes, and in the file of [`LIST`].
pub fn skip(lacking: &str) {
    let line = format!("skipped: {}: {lacking}\n", thread::current().name().unwrap_or("a test"));
    // the output of `print!` is hidden if the test passes
    stderr().write_all(line.as_bytes()).expect("standard error");
    if let Some(list) = env::var_os(LIST) {
        let mut list = OpenOptions::new()
            .create(true)
            .append(true)
            .open(list)
            .expect("the list can be written");
        list.write_all(line.as_bytes()).expect("the list can be written");
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::{Far, INSTALLED_BY_CI, ONE_LINE, compiler_works, has, reads_objects_of, works};

    #[test]
    fn a_tool_is_found_or_skipped() {
        assert!(has("rustc") && !works("no-such-tool-at-all"));
        // tools with these names have probes of their own, which must fail, too
        let names = ["no-such-wasm-ld", "no-such-qemu-system-arm", "no-such-size"];
        assert!(names.iter().all(|name| !works(name)) && !reads_objects_of("no-such-size"));
        assert!(!has("no-such-tool-at-all"), "it is skipped");
    }

    /// A compiler that starts but cannot link, such as clang without its libraries.
    #[test]
    fn a_compiler_that_cannot_link_does_not_work() {
        let compiles = |flags: &[&str], far| compiler_works("gcc", flags, ONE_LINE, far);
        assert!(compiles(&[], Far::Run));
        let library = ["-lno-such-library-at-all"];
        assert!(compiles(&library, Far::Compiled) && !compiles(&library, Far::Linked));
        assert!(!compiler_works("gcc", &[], "int main(void) { return 1; }", Far::Run));
        assert!(!compiler_works("gcc", &[], "#include <no_such_header.h>", Far::Compiled));
    }

    /// A file that starts a tool by a literal name also asks whether the tool works.
    #[test]
    fn tools_are_asked_for_where_they_are_started() {
        // systems of POSIX have the first three; cargo brings the others
        let known = ["sh", "kill", "tar", "rustc", "cargo"];
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut folders = vec![root.join("src"), root.join("tests")];
        let mut asked_for = 0;
        while let Some(folder) = folders.pop() {
            for path in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let Ok(text) = fs::read_to_string(&path) else { continue };
                let is_rust = path.extension().is_some_and(|extension| extension == "rs");
                for started in text.split("Command::new(\"").skip(1).filter(|_| is_rust) {
                    let tool = started.split('"').next().unwrap();
                    let asked = ["has", "works"]
                        .iter()
                        .any(|ask| text.contains(&format!("{ask}(\"{tool}\")")));
                    let listed = text.contains("all(has)")
                        && text.matches(&format!("\"{tool}\"")).count() > 1;
                    let own = text.contains(&format!("fn has_{tool}"))
                        || text.contains("has_numpy(\"python3\")");
                    assert!(
                        known.contains(&tool) || asked || listed || own,
                        "{}: {tool}",
                        path.display()
                    );
                    asked_for += usize::from(!known.contains(&tool));
                }
            }
        }
        assert!(asked_for > 5);
    }

    #[test]
    fn ci_installs_what_it_requires() {
        let script = include_str!("../../.ci/run");
        for tool in INSTALLED_BY_CI {
            assert!(script.contains(&format!("command -v {tool} ")), "{tool}");
        }
    }
}
