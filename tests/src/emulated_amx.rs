//! Emulates AMX on a machine without it: generated files are changed to report tiles, and their
//! programs are linked with `machines/amx.c`, which executes the instructions for tiles. All other
//! instructions of bodies for AMX are AVX-512 with VNNI, which the machine must have.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

use cellc::Language;
use cellc::internals::arch::{AMX, AVX512_VNNI};
use cellc::internals::harness::Toolchain;

use crate::driver::{isas_of_machine, run};
use crate::skipped::has;
use crate::subject::Subject;

/// The conditions for tiles in generated C (on the processor, the operating system and Linux), and
/// their replacements.
const IN_C: &[[&str; 2]] = &[
    ["0x600e6u", "0xe6u"],
    ["0x3000000u", "0u"],
    ["return result == 0;", "return (void)result, 1;"],
];

/// The conditions in generated Rust, and their replacements.
const IN_RUST: &[[&str; 2]] = &[
    ["TILE_CONFIGURATION: u64 = 1 << 17;", "TILE_CONFIGURATION: u64 = 0;"],
    ["TILES: u64 = 1 << 18;", "TILES: u64 = 0;"],
    ["AMX_TILE: u32 = 1 << 24;", "AMX_TILE: u32 = 0;"],
    ["AMX_INT8: u32 = 1 << 25;", "AMX_INT8: u32 = 0;"],
    ["    result == 0\n", "    let _ = result;\n    true\n"],
];

/// True if the machine needs the emulation and can run it: Linux on x86-64, with everything that
/// AMX extends, but without AMX.
pub fn stands_in() -> bool {
    let machine = isas_of_machine();
    let runs = cfg!(all(target_os = "linux", target_arch = "x86_64", target_pointer_width = "64"));
    // cc compiles the emulation for Rust, too
    runs && machine.contains(&AVX512_VNNI.name) && !machine.contains(&AMX.name) && has("cc")
}

/// Changes the subjects' files in the folder so that they report tiles. Returns a toolchain that
/// links programs with the emulation.
///
/// # Panics
/// If the file of a subject lacks one of the conditions, or if the emulation does not compile.
pub fn serve(subjects: &[Subject], folder: &Path, toolchain: &Toolchain) -> Toolchain {
    // for C by the compiler of the subjects, because every compiler has sanitizers of its own
    let (extension, answers, compiler) = match toolchain.language {
        Language::C => ("c", IN_C, toolchain.compiler.clone()),
        Language::Rust => ("rs", IN_RUST, vec![OsString::from("cc")]),
    };
    for subject in subjects.iter().filter(|subject| subject.isas().any(|(isa, _)| isa == AMX.name))
    {
        let path = folder.join(&subject.name).with_extension(extension);
        let mut text = fs::read_to_string(&path).expect("a generated file");
        for [asked, answered] in answers {
            assert!(text.contains(asked), "{} does not ask {asked}", path.display());
            text = text.replace(asked, answered);
        }
        fs::write(&path, text).expect("a file");
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("machines/amx.c");
    // no subject's object has this name
    let object = folder.join("machines-amx.o");
    let flags = ["-std=gnu11", "-O2", "-fPIC", "-Wall", "-Wextra", "-Werror", "-c"];
    run(Command::new(&compiler[0])
        .args(&compiler[1..])
        .args(flags)
        .arg(source)
        .arg("-o")
        .arg(&object));
    let (mut toolchain, object) = (toolchain.clone(), object.display());
    match toolchain.language {
        // gcc ignores the object if nothing is linked, but clang would warn
        Language::C => {
            toolchain.compiler.extend([
                "-Wno-unused-command-line-argument".into(),
                format!("-Wl,{object}").into(),
            ]);
        }
        Language::Rust => toolchain.around.push(format!("-Clink-arg={object}")),
    }
    toolchain
}
