//! Other machines: generated C, compiled for them and run in emulators. A machine is a row of [`ALL`].
//!
//! What a program needs from a machine is in `tests/machines`: how it starts and how it writes.

mod cost;
mod program;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cellc::Language;
use cellc::Options;

use crate::driver::{run, run_all, write_files};
use crate::skipped::has;
use crate::subject::{Subject, bits};

pub use cost::Cost;

/// A machine that generated C is compiled for, and where that runs.
#[derive(Debug)]
pub struct Machine {
    /// Its name.
    pub name: &'static str,
    /// The compiler, and what it always takes.
    pub compiler: &'static [&'static str],
    /// The files of `tests/machines` that every program has.
    pub start: &'static [&'static str],
    /// What the compiler takes besides to link a program. `FOLDER` stands for `tests/machines`.
    pub link: &'static [&'static str],
    /// The emulator, and what it takes before the program.
    pub emulator: &'static [&'static str],
    /// How cellc is told of the machine.
    pub options: fn() -> Options,
    /// Whether values below the smallest normal one are 0 to it, whatever a program wants.
    pub flushes: bool,
}

/// How QEMU runs a program without an operating system.
macro_rules! board {
    ($name:literal) => {
        &[
            "qemu-system-arm",
            "-M",
            $name,
            "-display",
            "none",
            "-serial",
            "none",
            "-monitor",
            "none",
            "-semihosting-config",
            "enable=on,target=native",
            "-kernel",
        ]
    };
}

/// How a program without an operating system is linked.
macro_rules! bare {
    ($script:literal) => {
        &["-nostartfiles", "-LFOLDER", concat!("-T", $script)]
    };
}

/// The body that every machine has, alone.
fn generic() -> Options {
    Options { isas: Some(Vec::new()), ..Options::default() }
}

/// Without a floating-point unit.
pub static CORTEX_M3: Machine = Machine {
    name: "cortex-m3",
    compiler: &["arm-none-eabi-gcc", "-mcpu=cortex-m3", "-mthumb"],
    start: &["cortex-m.c", "marks.c"],
    link: bare!("an386.ld"),
    emulator: board!("mps2-an385"),
    options: generic,
    flushes: false,
};

/// With a floating-point unit of single precision.
pub static CORTEX_M4F: Machine = Machine {
    name: "cortex-m4f",
    compiler: &["arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"],
    start: &["cortex-m.c", "marks.c"],
    link: bare!("an386.ld"),
    emulator: board!("mps2-an386"),
    options: generic,
    flushes: false,
};

/// With Helium.
pub static CORTEX_M55: Machine = Machine {
    name: "cortex-m55",
    compiler: &["arm-none-eabi-gcc", "-mcpu=cortex-m55", "-mthumb", "-mfloat-abi=hard"],
    start: &["cortex-m.c", "marks.c"],
    link: bare!("an547.ld"),
    emulator: board!("mps3-an547"),
    options: generic,
    flushes: true,
};

/// Linux on Arm of 64 bits.
pub static AARCH64: Machine = Machine {
    name: "aarch64",
    compiler: &["aarch64-linux-gnu-gcc"],
    start: &["hosted.c", "marks.c"],
    link: &["-static"],
    emulator: &["qemu-aarch64"],
    options: Options::default,
    flushes: false,
};

/// The machines whose tools `.ci/run` installs.
pub static INSTALLED: [&Machine; 4] = [&CORTEX_M3, &CORTEX_M4F, &CORTEX_M55, &AARCH64];

/// What a program writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Written {
    /// All results.
    Results,
    /// Nothing: the emulator counts.
    Count,
}

/// What is computed on a machine: a model and how often its calls are repeated.
///
/// The struct makes a step with the inputs of each call, all of that so many times, and the states go on from step to step. Then it makes one
/// more step for each call, from the states that the call gives.
#[derive(Clone, Debug)]
pub struct Walk {
    /// The model, as it is compiled for the machine.
    pub subject: Subject,
    /// How often.
    pub rounds: usize,
}

/// What a machine made of a walk.
#[derive(Clone, Debug)]
pub struct Walked {
    /// The instruction set.
    pub isa: String,
    /// The bits of all results of all steps; every NaN is the same one.
    pub bits: Vec<u32>,
}

impl Walk {
    /// What the interpreter makes of it, by the body of an instruction set.
    ///
    /// # Panics
    /// If there is no such body.
    pub fn expected(&self, isa: &str) -> Vec<u32> {
        let Walk { subject, rounds } = self;
        let body = subject.isas().position(|(name, _)| name == isa);
        let body = body.unwrap_or_else(|| panic!("{}: no body for {isa}", subject.name));
        let model = subject.model();
        let mut found = Vec::new();
        let mut variables = subject.variables();
        let mut step = |parameters: &[Vec<f32>]| {
            let results = subject.interpret_from(body, parameters, &mut variables);
            found.extend(results.iter().flatten().copied().map(bits));
            results
        };
        // weights are packed once
        let call = |at: usize| {
            let mut parameters = subject.calls[at].clone();
            for (k, parameter) in model.parameters.iter().enumerate().filter(|(_, parameter)| parameter.weight) {
                debug_assert!(parameter.weight);
                parameters[k].clone_from(&subject.calls[0][k]);
            }
            parameters
        };
        let mut states: Vec<_> = model.states.iter().map(|s| vec![0.0; subject.calls[0][s.parameter].len()]).collect();
        for at in (0..*rounds).flat_map(|_| 0..subject.calls.len()) {
            let mut parameters = call(at);
            for (pair, state) in model.states.iter().zip(&states) {
                parameters[pair.parameter].clone_from(state);
            }
            let results = step(&parameters);
            for (pair, state) in model.states.iter().zip(&mut states) {
                state.clone_from(&results[pair.result]);
            }
        }
        for at in 0..subject.calls.len() {
            step(&call(at));
        }
        found
    }

    /// How many numbers a machine writes.
    fn len(&self) -> usize {
        let outputs: usize = self.subject.compilation.interface.outputs.iter().map(|field| field.len()).sum();
        outputs * self.subject.calls.len() * (self.rounds + 1)
    }
}

impl Machine {
    /// Whether its compiler and its emulator are installed; if not, the test is skipped.
    pub fn is_here(&self) -> bool {
        [self.compiler[0], self.emulator[0]].into_iter().all(has)
    }

    /// Compiles the walks' C with `flags` in a folder, which is made anew, and runs all in one program.
    ///
    /// # Panics
    /// If it does not compile, with warnings refused, or does not run.
    pub fn walk(&self, folder: &Path, walks: &[Walk], flags: &[&str]) -> Vec<Walked> {
        let program = self.compile(folder, walks, flags, Written::Results);
        let written = self.run(&program, &[]);
        let mut rest = written.as_slice();
        let walked = walks.iter().map(|walk| {
            let name = rest.iter().position(|byte| *byte == b'\n').expect("the name of an instruction set");
            let isa = String::from_utf8(rest[..name].to_vec()).expect("it is ASCII");
            let (words, after) = rest[name + 1..].split_at_checked(4 * walk.len()).expect("all results");
            rest = after;
            let words = words.as_chunks().0.iter().map(|word| bits(f32::from_le_bytes(*word)));
            Walked { isa, bits: words.collect() }
        });
        let walked = walked.collect();
        assert!(rest.is_empty(), "{}: the program wrote too much", self.name);
        walked
    }

    /// Makes a program of all walks.
    fn compile(&self, folder: &Path, walks: &[Walk], flags: &[&str], written: Written) -> PathBuf {
        let subjects: Vec<_> = walks.iter().map(|walk| walk.subject.clone()).collect();
        write_files(folder, &subjects, Language::C);
        let mut sources = vec!["main".to_owned()];
        for walk in walks {
            let caller = format!("{}_calls", walk.subject.name);
            write(folder, &format!("{caller}.c"), &program::caller(walk));
            sources.extend([walk.subject.name.clone(), caller]);
        }
        write(folder, "main.c", &program::main(walks, written));
        let strict = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];
        self.link(folder, &sources, &[&strict, flags].concat())
    }

    /// Compiles the sources of a folder, by their stems, and links them with what the machine needs.
    fn link(&self, folder: &Path, sources: &[String], flags: &[&str]) -> PathBuf {
        let compiler = || {
            let mut command = Command::new(self.compiler[0]);
            command.args(&self.compiler[1..]).current_dir(folder);
            command
        };
        let compile = |source: PathBuf, object: String| {
            let mut command = compiler();
            command.args(flags).arg("-I").arg(support()).arg("-c").arg(source).arg("-o").arg(object);
            command
        };
        let mut commands: Vec<_> =
            sources.iter().map(|stem| compile(format!("{stem}.c").into(), format!("{stem}.o"))).collect();
        // in front of the name, so that no model's file has it
        commands.extend(self.start.iter().map(|file| compile(support().join(file), format!("-start-{file}.o"))));
        run_all(commands);
        let program = folder.join("program");
        let mut link = compiler();
        link.args(sources.iter().map(|stem| format!("{stem}.o")));
        link.args(self.start.iter().map(|file| format!("./-start-{file}.o")));
        link.args(self.link.iter().map(|argument| argument.replace("FOLDER", &support().to_string_lossy())));
        run(link.arg("-o").arg(&program));
        program
    }

    /// What a program writes. The emulator takes `arguments` besides.
    fn run(&self, program: &Path, arguments: &[&str]) -> Vec<u8> {
        let emulator = self.emulator[0];
        let output = Command::new(emulator).args(arguments).args(&self.emulator[1..]).arg(program).output();
        let output = output.unwrap_or_else(|error| panic!("{emulator} starts: {error}"));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {}: {}: {said}", self.name, program.display(), output.status);
        output.stdout
    }
}

/// The files that programs have by the machine.
fn support() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("machines")
}

fn write(folder: &Path, name: &str, text: &str) {
    fs::write(folder.join(name), text).expect("the folder can be written to");
}
