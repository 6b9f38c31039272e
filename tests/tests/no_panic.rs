//! Generated Rust cannot panic and does not allocate. The object files of every corpus case and of
//! every form of kernels, compiled as part of a no_std library, define the expected symbols, and
//! need only functions that copy memory or compare names.

use std::fs;
use std::path::Path;
use std::process::Command;

use cellc::internals::compile::compile;
use cellc::{Language, Options, Precision};
use cellc_tests::given_weights::{self, Weights};
use cellc_tests::selection::with_fewer_bodies;
use cellc_tests::skipped::has;
use cellc_tests::subject::Subject;
use cellc_tests::{corpus, driver, kernels};
use tempfile::TempDir;

/// The functions that an object may need: compilers call them for arrays, and for the names of many
/// instruction sets. Core needs them, too.
const ALLOWED: [&str; 4] = ["bcmp", "memcpy", "memmove", "memset"];

/// A generated file as a module of the library.
struct Module {
    name: String,
    /// The pure function.
    function: String,
    text: String,
}

fn modules() -> Vec<Module> {
    let compiled = |case: corpus::Case| {
        let options = Options::default().with_name(Some("cell_under_test".into()));
        let model = case.fixed(&case.runs.last().expect("a case has runs").shapes);
        let compilation = compile(&model, &options).expect("the corpus compiles");
        Subject { name: case.name, compilation, calls: Vec::new() }
    };
    let of_subject = |subject: Subject| {
        let text = subject.files(Language::Rust).pop().expect("the source comes last").bytes;
        Module {
            text: String::from_utf8(text.to_vec()).expect("source is UTF-8"),
            function: subject.compilation.interface.function,
            name: subject.name,
        }
    };
    // the code that rounds run-time weights
    let packing = [Precision::Int8, Precision::Int8x16, Precision::Int16].map(|precision| {
        let options = Options::default().with_precision(Some(precision));
        given_weights::subject(
            &format!("given_in_{}", precision.name()),
            &options,
            Weights::GivenButR,
            true,
            1,
        )
    });
    let subjects = [kernels::subject("made_by_hand")].into_iter().chain(packing);
    let subjects: Vec<_> = corpus::cases().into_iter().map(compiled).chain(subjects).collect();
    // a subject with every form on every instruction set; other subjects have these forms in other
    // places
    with_fewer_bodies(&subjects, Language::Rust).into_iter().map(of_subject).collect()
}

/// The symbols of an object: defined ones, undefined ones.
fn symbols(folder: &Path, modules: &[Module], level: &str) -> (Vec<String>, Vec<String>) {
    let mut library = String::from("#![no_std]\n");
    for module in modules {
        // a caller may inline a small function: its address is taken, so that the object has the
        // function, too
        let Module { name, function, .. } = module;
        library.push_str(&format!("pub mod {name};\n#[unsafe(no_mangle)]\n"));
        library.push_str(&format!(
            "pub fn address_{name}() -> *const () {{ {name}::{function} as *const () }}\n"
        ));
        fs::write(folder.join(format!("{}.rs", module.name)), &module.text)
            .expect("writing a module");
    }
    fs::write(folder.join("lib.rs"), library).expect("writing the library");
    let object = format!("{level}.o");
    let mut rustc = driver::rustc();
    rustc.args([
        "--edition=2021",
        "--crate-type=lib",
        "--crate-name=all",
        "-Cpanic=abort",
        "-Ccodegen-units=1",
    ]);
    rustc.args([
        "-Dwarnings",
        &format!("-Copt-level={level}"),
        "--emit=obj",
        "-o",
        &object,
        "lib.rs",
    ]);
    driver::run(rustc.current_dir(folder));
    let output = Command::new("nm").arg(&object).current_dir(folder).output().expect("nm starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (mut defined, mut undefined) = (Vec::new(), Vec::new());
    for line in String::from_utf8(output.stdout).expect("symbols are ASCII").lines() {
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            ["U", name] => undefined.push(name.to_string()),
            [_, _, name] => defined.push(name.to_string()),
            _ => panic!("nm said {line:?}"),
        }
    }
    (defined, undefined)
}

/// The functions that an object must not need.
fn forbidden(undefined: &[String]) -> Vec<&String> {
    undefined.iter().filter(|name| !ALLOWED.contains(&name.as_str())).collect()
}

/// The parts of a path in a mangled name, each after its length.
fn mangled(parts: &[&str]) -> Vec<String> {
    parts.iter().map(|part| format!("{}{part}", part.len())).collect()
}

/// Checks the subject with every form of kernels, and a third of the cases. Cases have the same
/// kernels, so each is checked at one level.
fn holds(level: &str, third: usize) {
    if !has("nm") {
        return;
    }
    let folder = TempDir::new().expect("a temporary folder");
    let modules = modules().into_iter().enumerate();
    let taken = modules.filter(|(nth, module)| nth % 3 == third || module.name == "made_by_hand");
    let modules: Vec<_> = taken.map(|(_, module)| module).collect();
    let (defined, undefined) = symbols(folder.path(), &modules, level);
    assert_eq!(forbidden(&undefined), Vec::<&String>::new(), "at opt-level {level}");
    // an empty object would need nothing, either
    for module in &modules {
        let mut entries = vec![mangled(&[&module.name, &module.function])];
        if cfg!(target_arch = "x86_64") {
            let has_body = |isa: &&str| module.text.contains(&format!("mod {isa} {{"));
            entries.extend(
                ["avx2", "avx512"]
                    .into_iter()
                    .filter(has_body)
                    .map(|isa| mangled(&[&module.name, isa])),
            );
        }
        for entry in entries {
            let found = defined.iter().any(|symbol| entry.iter().all(|part| symbol.contains(part)));
            assert!(found, "{entry:?} is not in the object at opt-level {level}");
        }
    }
}

#[test]
fn at_opt_level_2() {
    holds("2", 0);
}

#[test]
fn at_opt_level_3() {
    holds("3", 1);
}

#[test]
fn at_opt_level_s() {
    holds("s", 2);
}

#[test]
fn a_planted_index_is_found() {
    if !has("nm") {
        return;
    }
    let mut module =
        modules().into_iter().find(|m| m.name == "gru_cell_128_f32").expect("a corpus case");
    let before = "    /// The instruction set in use.";
    // rustc would inline this small function into its callers
    let planted = "    /// Planted.\n    #[inline(never)]\n    pub fn planted(&self, i: usize) -> f32 { self.h[i] }\n";
    assert!(module.text.contains(before));
    module.text = module.text.replacen(before, &format!("{planted}{before}"), 1);
    for level in ["2", "3", "s"] {
        let folder = TempDir::new().expect("a temporary folder");
        let (_, undefined) = symbols(folder.path(), std::slice::from_ref(&module), level);
        let found = forbidden(&undefined);
        assert!(found.iter().any(|name| name.contains("panic_bounds_check")), "{level}: {found:?}");
    }
}
