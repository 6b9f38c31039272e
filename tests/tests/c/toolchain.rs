//! The C compilers of this machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

pub(crate) use cellc_tests::driver::{PLAIN, foreign, undefined};
use cellc_tests::skipped::{has, skip, works};

/// The flags with which every generated file must compile.
pub(crate) const STRICT: &[&str] = &["-Wall", "-Wextra", "-Wpedantic", "-Werror"];

/// A C compiler and the C++ compiler that belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Compiler {
    pub(crate) c: &'static str,
    pub(crate) cpp: &'static str,
}

pub(crate) const GCC: Compiler = Compiler { c: "gcc", cpp: "g++" };
const CLANGS: [Compiler; 3] = [
    Compiler { c: "clang", cpp: "clang++" },
    Compiler { c: "clang-19", cpp: "clang++-19" },
    Compiler { c: "clang-14", cpp: "clang++-14" },
];

/// clang, if installed.
pub(crate) fn clang() -> Option<Compiler> {
    static FOUND: OnceLock<Option<Compiler>> = OnceLock::new();
    let found = *FOUND.get_or_init(|| CLANGS.into_iter().find(|compiler| works(compiler.c)));
    if found.is_none() {
        skip("no clang");
    }
    found
}

/// gcc, if it works.
pub(crate) fn gcc() -> Option<Compiler> {
    has(GCC.c).then_some(GCC)
}

/// gcc and clang, if they work.
pub(crate) fn compilers() -> Vec<Compiler> {
    gcc().into_iter().chain(clang()).collect()
}

/// An empty folder for one test.
pub(crate) fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("c").join(name);
    if path.exists() {
        fs::remove_dir_all(&path).expect("the folder of an earlier run goes");
    }
    fs::create_dir_all(&path).expect("a folder");
    path
}

/// Runs a program in a folder.
pub(crate) fn run(folder: &Path, program: &str, arguments: &[&str]) -> Output {
    let started = Command::new(program).args(arguments).current_dir(folder).output();
    started.unwrap_or_else(|error| panic!("{program} starts: {error}"))
}

/// Runs a program that must succeed. Returns its output.
pub(crate) fn succeed(folder: &Path, program: &str, arguments: &[&str]) -> Vec<u8> {
    let output = run(folder, program, arguments);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{program} {} in {}:\n{text}",
        arguments.join(" "),
        folder.display()
    );
    output.stdout
}

/// Compiles `source` to `object`.
pub(crate) fn object(
    folder: &Path,
    compiler: Compiler,
    source: &str,
    object: &str,
    flags: &[&str],
) {
    // clang 19 warns about features of newer processors that it has detected itself
    let native = flags.contains(&"-march=native") && compiler != GCC;
    let quiet: &[&str] = if native {
        &["-Wno-unknown-warning-option", "-Wno-invalid-feature-combination"]
    } else {
        &[]
    };
    let arguments = [STRICT, &PLAIN, flags, quiet, &["-c", source, "-o", object]].concat();
    succeed(folder, compiler.c, &arguments);
}

/// The functions that an object offers to others, sorted.
pub(crate) fn exported(folder: &Path, object: &str) -> Vec<String> {
    let listing = String::from_utf8(succeed(folder, "nm", &["-g", "--defined-only", object]))
        .expect("nm prints ASCII");
    let mut names: Vec<_> =
        listing.lines().filter_map(|line| line.split_once(" T ")).map(|l| l.1.to_owned()).collect();
    names.sort();
    names
}
