//! AMX where the machine lacks it: subjects are told that there are tiles, and their programs are linked with `machines/amx.c`, which carries out
//! the instructions. All else that their bodies for AMX have is AVX-512 with VNNI, which the machine must have.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cellc::Language;
use cellc::internals::arch::{AMX, AVX512_VNNI};
use cellc::internals::harness::Toolchain;

use crate::driver::{isas_of_machine, run};
use crate::subject::Subject;

/// The emulation, compiled.
#[derive(Clone, Debug)]
pub struct EmulatedAmx {
    object: PathBuf,
    folder: PathBuf,
}

/// What generated C asks of processor, operating system and Linux, and what is asked instead.
const IN_C: [[&str; 2]; 3] =
    [["0x600e6u", "0xe6u"], ["0x3000000u", "0u"], ["return result == 0;", "return (void)result, 1;"]];

/// The same in Rust.
const IN_RUST: [[&str; 2]; 3] = [
    ["0x600e6)", "0xe6)"],
    ["TILES_OF_BYTES: u32 = 0x300_0000;", "TILES_OF_BYTES: u32 = 0;"],
    ["    result == 0\n", "    let _ = result;\n    true\n"],
];

impl EmulatedAmx {
    /// Whether it is needed here, and runs: Linux on x86-64, with all that AMX extends.
    pub fn stands_in() -> bool {
        let machine = isas_of_machine();
        let runs = cfg!(all(target_os = "linux", target_arch = "x86_64", target_pointer_width = "64"));
        runs && machine.contains(&AVX512_VNNI.name) && !machine.contains(&AMX.name)
    }

    /// Compiled in a folder, in C by the same compiler.
    ///
    /// # Panics
    /// If it does not compile.
    pub fn of(toolchain: &Toolchain, folder: &Path) -> Self {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("machines/amx.c");
        // not the name of a subject's object
        let object = folder.join("machines-amx.o");
        let flags = ["-std=gnu11", "-O2", "-fPIC", "-Wall", "-Wextra", "-Werror", "-c"];
        let compiler = if toolchain.language == Language::C { &toolchain.compiler } else { &vec!["cc".into()] };
        run(Command::new(&compiler[0]).args(&compiler[1..]).args(flags).arg(source).arg("-o").arg(&object));
        Self { object, folder: folder.to_owned() }
    }

    /// Tells the subjects, whose files are in the folder, that there are tiles; and what links their programs with the emulation.
    ///
    /// # Panics
    /// If a subject asks for tiles otherwise than is known here.
    pub fn serve(&self, subjects: &[Subject], toolchain: &Toolchain) -> Toolchain {
        let (extension, answers) = match toolchain.language {
            Language::C => ("c", IN_C),
            Language::Rust => ("rs", IN_RUST),
        };
        for subject in subjects.iter().filter(|subject| subject.isas().any(|(isa, _)| isa == AMX.name)) {
            let path = self.folder.join(&subject.name).with_extension(extension);
            let mut text = fs::read_to_string(&path).expect("a generated file");
            for [asked, answered] in answers {
                assert!(text.contains(asked), "{} does not ask {asked}", path.display());
                text = text.replace(asked, answered);
            }
            fs::write(&path, text).expect("a file");
        }
        let (mut toolchain, object) = (toolchain.clone(), self.object.display());
        match toolchain.language {
            // where nothing is linked, gcc leaves it out, and clang would warn
            Language::C => {
                toolchain.compiler.extend(["-Wno-unused-command-line-argument".into(), format!("-Wl,{object}").into()]);
            }
            Language::Rust => toolchain.around.push(format!("-Clink-arg={object}")),
        }
        toolchain
    }
}
