//! Other machines: generated C, compiled for them and run in emulators. A machine is a row of the
//! table.
//!
//! `tests/machines` has the code that a program needs on each machine: its start and its output.

mod cost;
mod program;
mod rust;
mod table;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use cellc::Language;
use cellc::Precision;

use crate::corpus::{self, Case};
use crate::driver::{run_all, write_files};
use crate::skipped::{has, is_required, skip};
use crate::subject::{Subject, bits};

pub use cost::Cost;
pub use table::{
    AARCH64, AARCH64_DOTPROD, BY_HAND, CORTEX_M3, CORTEX_M4F, CORTEX_M55, INSTALLED, Machine,
    PORTABLE,
};

/// The output of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Written {
    /// All results.
    Results,
    /// Nothing: the emulator counts.
    Count,
}

/// A computation on a machine: a model, and the number of rounds.
///
/// A round is a step of the struct for each call, with states that continue from step to step, also
/// between rounds. Then the struct makes one more step for each call, from the states of the call;
/// in C in place, if an input and an output may share an array.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The model, compiled for the machine.
    pub subject: Subject,
    /// The number of rounds.
    pub rounds: usize,
}

/// The results of a trial on a machine.
#[derive(Clone, Debug)]
pub struct Tried {
    /// The instruction set.
    pub isa: String,
    /// The bits of all results of all steps. All NaNs have equal bits.
    pub bits: Vec<u32>,
}

impl Trial {
    /// The results of the interpreter, by the body of an instruction set.
    ///
    /// # Panics
    /// If there is no such body.
    pub fn expected(&self, isa: &str) -> Vec<u32> {
        let Trial { subject, rounds } = self;
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
            for (k, parameter) in
                model.parameters.iter().enumerate().filter(|(_, parameter)| parameter.weight)
            {
                debug_assert!(parameter.weight);
                parameters[k].clone_from(&subject.calls[0][k]);
            }
            parameters
        };
        let mut states: Vec<_> =
            model.states.iter().map(|s| vec![0.0; subject.calls[0][s.parameter].len()]).collect();
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

    /// The number of values that a machine writes.
    fn len(&self) -> usize {
        let outputs: usize =
            self.subject.compilation.interface.outputs.iter().map(|field| field.len()).sum();
        outputs * self.subject.calls.len() * (self.rounds + 1)
    }
}

impl Machine {
    /// True if an empty program can be compiled, linked and run for this machine; otherwise, the
    /// test is skipped. Each machine is tried once.
    pub fn is_here(&self) -> bool {
        static ASKED: Mutex<BTreeMap<&str, bool>> = Mutex::new(BTreeMap::new());
        let tools = [self.compiler[0], self.linker.first().unwrap_or(&"rustc"), self.emulator[0]];
        if !tools.into_iter().all(has) {
            return false;
        }
        let mut asked = ASKED.lock().unwrap_or_else(PoisonError::into_inner);
        let works = *asked.entry(self.name).or_insert_with(|| self.runs_a_program(&[]));
        drop(asked);
        if !works {
            let of_ci = tools.into_iter().all(|tool| tool == "rustc" || is_required(tool));
            assert!(
                !of_ci,
                "no program for {} can be made and run: .ci/run installs what it needs",
                self.name
            );
            skip(&format!("no program for {} can be made and run", self.name));
        }
        works
    }

    /// Builds and runs a program without trials. `arguments`: further arguments of the emulator.
    fn runs_a_program(&self, arguments: &[&str]) -> bool {
        let folder =
            std::env::temp_dir().join(format!("cellc-tests-{}-{}", std::process::id(), self.name));
        if fs::create_dir_all(&folder).is_err() {
            return false;
        }
        write(&folder, "main.c", &program::main(&[], Written::Results));
        let (commands, program) = self.build(&folder, &["main".to_owned()], None, &[]);
        let quiet = |command: &mut Command| {
            let output = command.stdin(Stdio::null()).output();
            output.is_ok_and(|output| output.status.success())
        };
        let mut all = commands.into_iter().flatten();
        let works = all.all(|mut command| quiet(&mut command))
            && quiet(&mut self.started(&program, arguments));
        _ = fs::remove_dir_all(&folder);
        works
    }

    /// Compiles the trials' C with `flags` in a new folder, and runs all trials in one program.
    ///
    /// # Panics
    /// If the program does not compile without warnings, or does not run.
    pub fn try_all(&self, folder: &Path, trials: &[Trial], flags: &[&str]) -> Vec<Tried> {
        let program = self.compile(folder, trials, flags, Written::Results);
        let written = self.run(&program, &[]);
        let mut rest = written.as_slice();
        let tried = trials.iter().map(|trial| {
            let name = rest
                .iter()
                .position(|byte| *byte == b'\n')
                .expect("the name of an instruction set");
            let isa = String::from_utf8(rest[..name].to_vec()).expect("it is ASCII");
            let (words, after) =
                rest[name + 1..].split_at_checked(4 * trial.len()).expect("all results");
            rest = after;
            let words = words.as_chunks().0.iter().map(|word| bits(f32::from_le_bytes(*word)));
            Tried { isa, bits: words.collect() }
        });
        let tried = tried.collect();
        assert!(rest.is_empty(), "{}: the program wrote too much", self.name);
        tried
    }

    /// Builds a program of all trials.
    fn compile(
        &self,
        folder: &Path,
        trials: &[Trial],
        flags: &[&str],
        written: Written,
    ) -> PathBuf {
        let mut sources = vec!["main".to_owned()];
        let library = (!self.rust.is_empty()).then(|| self.library(folder, trials, self.rust));
        if library.is_none() {
            let subjects: Vec<_> = trials.iter().map(|trial| trial.subject.clone()).collect();
            write_files(folder, &subjects, Language::C);
            for trial in trials {
                let caller = format!("{}_calls", trial.subject.name);
                write(folder, &format!("{caller}.c"), &program::caller(trial));
                sources.extend([trial.subject.name.clone(), caller]);
            }
        }
        write(folder, "main.c", &program::main(trials, written));
        let strict = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];
        self.link(folder, &sources, library.as_deref(), &[&strict, flags].concat())
    }

    /// Compiles the sources of a folder, by their stems, and links them with the machine's files.
    fn link(
        &self,
        folder: &Path,
        sources: &[String],
        library: Option<&Path>,
        flags: &[&str],
    ) -> PathBuf {
        let ([compile, link], program) = self.build(folder, sources, library, flags);
        run_all(compile);
        run_all(link);
        program
    }

    /// The commands that compile, the command that links, and the path of the program.
    fn build(
        &self,
        folder: &Path,
        sources: &[String],
        library: Option<&Path>,
        flags: &[&str],
    ) -> ([Vec<Command>; 2], PathBuf) {
        let of_c = if self.rust.is_empty() { self.compiler } else { self.linker };
        let start = |with: &[&str]| {
            let mut command = Command::new(with[0]);
            command.args(with[1..].iter().map(in_support)).current_dir(folder);
            command
        };
        let compile = |source: PathBuf, object: String| {
            let mut command = start(of_c);
            command
                .args(flags)
                .args(self.flags)
                .arg("-I")
                .arg(support())
                .arg("-c")
                .arg(source)
                .arg("-o")
                .arg(object);
            command
        };
        let mut commands: Vec<_> = sources
            .iter()
            .map(|stem| compile(format!("{stem}.c").into(), format!("{stem}.o")))
            .collect();
        // names of subjects have no dash
        let started = |file: &&str| format!("machine-{}.o", file.replace('/', "-"));
        commands.extend(self.start.iter().map(|file| compile(support().join(file), started(file))));
        // Windows runs only programs with this extension
        let program = folder.join("program.exe");
        let mut link = start(if self.linker.is_empty() { self.compiler } else { self.linker });
        link.args(sources.iter().map(|stem| format!("{stem}.o")));
        link.args(self.start.iter().map(started)).args(library);
        link.args(self.link.iter().map(in_support));
        link.arg("-o").arg(&program);
        ([commands, vec![link]], program)
    }

    /// The command that runs a program. `arguments`: further arguments of the emulator.
    fn started(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.emulator[0]);
        command.args(arguments).args(self.emulator[1..].iter().map(in_support)).arg(program);
        // turns off Wine's messages about missing features
        command.env("WINEDEBUG", "-all");
        command
    }

    /// The output of a program. `arguments`: further arguments of the emulator.
    fn run(&self, program: &Path, arguments: &[&str]) -> Vec<u8> {
        let emulator = self.emulator[0];
        let output = self.started(program, arguments).output();
        let output = output.unwrap_or_else(|error| panic!("{emulator} starts: {error}"));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "{}: {}: {}: {said}",
            self.name,
            program.display(),
            output.status
        );
        output.stdout
    }
}

/// Cases of the corpus, each compiled for a machine in a precision.
pub fn cases(machine: &Machine, cases: &[(&str, Precision)]) -> Vec<Trial> {
    let trial = |(name, precision): &(&str, Precision)| {
        let options = (machine.options)().with_precision(Some(*precision));
        let (subject, _) =
            Case::subjects(&corpus::case(name), &options, &format!("_{}", precision.name()))
                .remove(0);
        Trial { subject, rounds: 1 }
    };
    cases.iter().map(trial).collect()
}

/// The folder of the machines' files.
fn support() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("machines")
}

/// Replaces `FOLDER` in an argument by the path of [`support`].
fn in_support(argument: &&str) -> String {
    argument.replace("FOLDER", &support().to_string_lossy())
}

fn write(folder: &Path, name: &str, text: &str) {
    fs::write(folder.join(name), text).expect("the folder can be written to");
}
