//! Runs generated code: one program that calls every subject on every instruction set of this
//! machine, in Rust or in C.
//!
//! The program is the harness of `cellc check`. It calls the pure function and the struct of every
//! subject.

use std::convert::Infallible;
use std::fs;
use std::path::Path;
use std::process::Command;

use cellc::Language;
use cellc::internals::arch;
use cellc::internals::diagnostic::Diagnostic;
use cellc::internals::harness::{self, Executable, InputElements, Toolchain, Variables};
use cellc::internals::kernel::Element;

use crate::emulated_amx;
use crate::selection::covering;
use crate::skipped::{has, skip, works};
use crate::subject::{Subject, Values, Way, bits};

/// Runs a command to its end.
///
/// # Panics
/// If the command fails. The message has the command's output.
pub fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?} does not start: {e}"));
    assert!(
        output.status.success(),
        "{command:?} failed:\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Runs commands to their ends, as many at a time as the machine has processors.
///
/// # Panics
/// If a command fails.
pub fn run_all(commands: Vec<Command>) {
    let done: Result<(), Infallible> = harness::run_all(commands, |command| {
        run(command);
        Ok(())
    });
    done.expect("run panics where a command fails");
}

/// The Rust compiler that belongs to the cargo that runs the tests.
pub fn rustc() -> Command {
    let mut command = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    command.env_remove("RUSTFLAGS");
    command
}

/// The C compilers of this machine: gcc and clang, whichever are installed.
///
/// # Panics
/// If no C compiler is installed.
pub fn c_compilers() -> Vec<&'static str> {
    let found: Vec<_> = [&["gcc", "cc"][..], &["clang", "clang-19", "clang-14"]]
        .iter()
        .filter_map(|l| l.iter().copied().find(|name| works(name)))
        .collect();
    assert!(!found.is_empty(), "no C compiler is installed");
    found
}

/// The C compilers of this machine, each with the subjects that it compiles. The first compiles all
/// subjects, the others a selection with every form of generated code.
///
/// # Panics
/// If there is no compiler.
pub fn c_compilers_with(subjects: &[Subject]) -> Vec<(&'static str, Vec<Subject>)> {
    let taken = |nth: usize| match nth {
        0 => subjects.to_vec(),
        _ => covering(subjects).into_iter().map(|at| subjects[at].clone()).collect(),
    };
    c_compilers().into_iter().enumerate().map(|(nth, compiler)| (compiler, taken(nth))).collect()
}

/// The instruction sets on which [`rust`] and [`c`] run subjects: the scalar body of small
/// networks, those of [`arch::ALL`] that this machine has, and AMX if it is emulated. All others
/// are reported as skipped.
pub fn isas() -> Vec<&'static str> {
    let mut isas = [vec![arch::PLAIN.name], isas_of_machine()].concat();
    if emulated_amx::stands_in() {
        isas.push(arch::AMX.name);
    }
    for isa in asked_isas().filter(|isa| !isas.contains(&isa.name)) {
        skip(&format!("no {}", isa.name));
    }
    isas
}

/// The instruction sets of this machine, according to `/proc/cpuinfo`.
pub fn isas_of_machine() -> Vec<&'static str> {
    let flags = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = flags.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    // the flag avx_vnni is the feature avxvnni of Rust
    let has = |feature: &str| line.split_whitespace().any(|flag| flag.replace('_', "") == feature);
    let have = asked_isas().filter(|isa| {
        // tiles have no stable feature in Rust, so the flags are asked for
        let has_tiles = !isa.dots.iter().any(|dot| matches!(dot, arch::Dot::Tiles { .. }))
            || ["amxtile", "amxint8"].into_iter().all(has);
        has_tiles && isa.rust.features.split(',').filter(|f| !f.is_empty()).all(has)
    });
    have.map(|isa| isa.name).collect()
}

/// The instruction sets that a program detects at run time. All others are for other machines.
fn asked_isas() -> impl Iterator<Item = &'static arch::Isa> {
    arch::ALL.into_iter().filter(|isa| !matches!(isa.detection, arch::Detection::Compiling(_)))
}

/// Writes the generated files of all subjects into a new folder, in place of an old one.
///
/// # Panics
/// If a file cannot be written.
pub fn write_files(folder: &Path, subjects: &[Subject], language: Language) {
    if folder.exists() {
        fs::remove_dir_all(folder).expect("the old folder goes");
    }
    fs::create_dir_all(folder).expect("a folder");
    for file in subjects.iter().flat_map(|subject| subject.files(language)) {
        fs::write(folder.join(&file.name), file.bytes.as_slice()).expect("a file");
    }
}

/// The flag of rustc that makes unsafe functions of core check their preconditions. Code of several
/// rows then takes ten times as long to compile.
pub const ASSERTED: &str = "-Cdebug-assertions=on";

/// Compiles the subjects' Rust as modules of one library, with `flags`, and runs a program that
/// calls the library. Integer overflow panics.
///
/// # Panics
/// If the library does not compile without warnings, or if the program fails.
pub fn rust(folder: &Path, subjects: &[Subject], flags: &[&str]) -> Values {
    // several codegen units would be optimised twice: each alone, then all together
    let strict = ["-Dwarnings", "-Coverflow-checks=on", "-Ccodegen-units=1"];
    let compiler = vec![rustc().get_program().to_owned()];
    let flags = strict.iter().chain(flags).map(|flag| flag.to_string()).collect();
    // the calling program is long and not under test: it is not optimised
    let around = vec![strict[0].to_owned()];
    call_all(folder, subjects, &Toolchain { language: Language::Rust, compiler, flags, around })
}

/// Turns off two defaults of some systems that add symbols to objects.
pub const PLAIN: [&str; 2] = ["-fno-stack-protector", "-U_FORTIFY_SOURCE"];

/// Compiles the C of each subject to an object with the subject's name, and runs a program that
/// calls the objects. Sanitizers among the flags are linked, too.
///
/// # Panics
/// If an object does not compile without warnings, or if the program fails.
pub fn c(folder: &Path, subjects: &[Subject], compiler: &str, flags: &[&str]) -> Values {
    let strict = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"].into_iter().chain(PLAIN);
    let (sanitizers, flags): (Vec<&str>, Vec<_>) =
        flags.iter().partition(|flag| flag.starts_with("-fsanitize="));
    let flags = strict.chain(flags).map(str::to_owned).collect();
    let compiler = [compiler].into_iter().chain(sanitizers).map(Into::into).collect();
    call_all(
        folder,
        subjects,
        &Toolchain { language: Language::C, compiler, flags, around: Vec::new() },
    )
}

/// Calls every subject on every instruction set of this machine, and on AMX if it is emulated, by
/// the function and by the struct.
fn call_all(folder: &Path, subjects: &[Subject], toolchain: &Toolchain) -> Values {
    write_files(folder, subjects, toolchain.language);
    let toolchain = match emulated_amx::stands_in() {
        true => &emulated_amx::serve(subjects, folder, toolchain),
        false => toolchain,
    };
    let called: Vec<_> =
        subjects.iter().map(|s| harness::Subject::new(&s.name, &s.compilation)).collect();
    let program =
        Executable::build(folder, &called, toolchain).unwrap_or_else(|failed| panic!("{failed}"));
    let values = values(&program, subjects);
    // the library and the program of many subjects are large: remove both
    for large in ["libsubjects.rlib", "harness"] {
        _ = fs::remove_file(folder.join(large));
    }
    values
}

/// The results of a program around the subjects, for every call of every subject on every
/// instruction set of this machine.
///
/// # Panics
/// If the program does not run, or if it finds a fault of a struct.
pub fn values(program: &Executable, subjects: &[Subject]) -> Values {
    let mut values = Values::new();
    for (at, subject) in subjects.iter().enumerate() {
        for (isa, _) in subject.isas() {
            let wrong =
                |problem: Diagnostic| -> ! { panic!("{} on {isa}: {}", subject.name, problem) };
            let started = program.start_on(at, Some(isa)).unwrap_or_else(|problem| wrong(problem));
            let Some(mut harness) = started else { continue };
            assert_eq!(harness.isa(), isa, "{}", subject.name);
            for (call, parameters) in subject.calls.iter().enumerate() {
                let given = numbers(subject, parameters);
                let function = harness
                    .call(&given, true, Variables::Initial)
                    .unwrap_or_else(|problem| wrong(problem));
                let [step, second, reset] =
                    harness.structure().unwrap_or_else(|problem| wrong(problem));
                for (way, results) in
                    Way::ALL.into_iter().zip([function.results, step, second, reset])
                {
                    for (result, lanes) in results.into_iter().enumerate() {
                        let key = (subject.name.clone(), isa.to_string(), call, way, result);
                        values.insert(key, lanes.into_iter().map(bits).collect());
                    }
                }
            }
        }
    }
    values
}

/// Parameters as generated code takes them.
fn numbers(subject: &Subject, parameters: &[Vec<f32>]) -> Vec<InputElements> {
    let inputs = &subject.compilation.interface.inputs;
    let is_float =
        |i: usize| inputs.iter().all(|field| field.index != i || field.element == Element::F32);
    let one = |(i, values): (usize, &Vec<f32>)| match is_float(i) {
        true => InputElements::Floats(values.clone()),
        false => InputElements::Integers(values.iter().map(|value| *value as i64).collect()),
    };
    parameters.iter().enumerate().map(one).collect()
}

/// The undefined symbols of an object. `None` if nm does not work here: the test is skipped.
///
/// # Panics
/// If nm cannot read the object.
pub fn undefined(folder: &Path, object: &str) -> Option<Vec<String>> {
    if !has("nm") {
        return None;
    }
    let output =
        Command::new("nm").args(["-u", object]).current_dir(folder).output().expect("nm starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let listing = String::from_utf8(output.stdout).expect("nm prints ASCII");
    Some(listing.split_whitespace().filter(|word| *word != "U").map(str::to_owned).collect())
}

/// The undefined symbols of an object, without the functions that compilers themselves call and the
/// global offset table. `None` if nm does not work here: the test is skipped.
///
/// # Panics
/// If nm cannot read the object.
pub fn foreign(folder: &Path, object: &str) -> Option<Vec<String>> {
    let own = ["memcpy", "memset", "memmove", "_GLOBAL_OFFSET_TABLE_"];
    let mut symbols = undefined(folder, object)?;
    symbols.retain(|symbol| !own.contains(&symbol.as_str()));
    Some(symbols)
}
