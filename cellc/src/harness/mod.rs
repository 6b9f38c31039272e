//! Compiles and runs generated code. The command and the tests call a program over standard input
//! and output, in blocks of numbers in the machine's byte order.
//!
//! The program's arguments are the names of a subject and of an instruction set. The program first
//! prints the name of the instruction set in use. A call is a byte of flags (`PACK` to `STRUCT`),
//! the elements of variables and weights if flagged, and the elements of the inputs. The answer
//! holds the elements of every output and then of every variable.

mod c;
mod numbers;
mod rust;
mod toolchain;

use std::env;
use std::fs;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::rc::Rc;
use std::time::Duration;

use crate::compile::Compilation;
use crate::diagnostic::{Diagnostic, Origin};
use crate::emit::names::{Field, Interface};
pub use crate::evaluate::Outcome;
use crate::kernel::Element;
use crate::request::Language;
use crate::temporary::folder::TemporaryFolder;
pub use numbers::InputElements;
pub use toolchain::run_all;
pub use toolchain::{Failed, Toolchain};

/// The program's exit status if the machine lacks the instruction set.
const LACKING: i32 = 3;

/// Flag of a message in which the weights follow, to be packed.
const PACK: u8 = 1;

/// Flag of a message that resets every variable to the initial value.
const RESET: u8 = 2;

/// Flag of a message in which the variables follow.
const SET: u8 = 4;

/// Flag of a message with a number of calls in eight bytes. The program repeats the previous call
/// as often, and feeds the states back. The answer is the time in nanoseconds, in eight bytes.
const TIME: u8 = 8;

/// Flag of a message of one byte. The struct computes two steps on the weights and inputs of the
/// previous call, and one step after a reset. The answer is the outputs of all three steps. The
/// program fails if properties reported by the struct are wrong.
const STRUCT: u8 = 16;

/// The declarations of the flags and [`LACKING`] in a program, each as `before` NAME `between`
/// value `after`.
fn constants(before: &str, between: &str, after: &str) -> String {
    let flags = [
        ("PACK", PACK.into()),
        ("RESET", RESET.into()),
        ("SET", SET.into()),
        ("TIME", TIME.into()),
    ];
    let declared = flags.into_iter().chain([("STRUCT", STRUCT.into()), ("LACKING", LACKING)]);
    declared.map(|(name, value)| format!("{before}{name}{between}{value}{after}\n")).collect()
}

/// Generated code for calls by a program.
#[derive(Clone, Debug)]
pub struct Subject<'a> {
    /// The stem of the files, and the module.
    pub name: &'a str,
    /// The interface of the generated code.
    pub interface: &'a Interface,
    /// The names of the instruction sets.
    pub isas: Vec<&'static str>,
    /// True if the struct flushes the states that a caller sets.
    pub flushes: bool,
}

impl<'a> Subject<'a> {
    /// The subject for a compilation, in files with this name.
    pub fn new(name: &'a str, compilation: &'a Compilation) -> Self {
        let isas = compilation.plan.isas.iter().map(|planned| planned.isa.name).collect();
        let flushes = !compilation.options.numerics.keep_denormals;
        Self { name, interface: &compilation.interface, isas, flushes }
    }
}

/// The variables of the model before a call.
#[derive(Clone, Copy, Debug)]
pub enum Variables<'a> {
    /// The initial values.
    Initial,
    /// The values after the previous call.
    Kept,
    /// Given values.
    Given(&'a [Vec<f32>]),
}

/// Generated code, compiled.
#[derive(Debug)]
pub struct Executable {
    path: PathBuf,
    subjects: Vec<(String, Interface)>,
    // Keeps the program's file as long as the program may be started.
    folder: Option<Rc<TemporaryFolder>>,
}

/// Running generated code. The program ends when this value is dropped.
#[derive(Debug)]
pub struct Harness {
    child: Child,
    // An Option, to close the input before waiting for the end.
    input: Option<BufWriter<ChildStdin>>,
    output: BufReader<ChildStdout>,
    isa: String,
    interface: Interface,
    // Steps since the variables were set.
    steps: usize,
    // Keeps the program's file as long as the program runs.
    _folder: Option<Rc<TemporaryFolder>>,
}

impl Executable {
    /// Writes the source of `compilation` into a temporary folder and compiles it with rustc or cc.
    ///
    /// # Errors
    /// The compiler's message, or the reason for a failed start.
    pub fn temporary(compilation: &Compilation) -> Result<Self, Failed> {
        const STEM: &str = "generated";
        let folder = TemporaryFolder::new();
        let folder =
            folder.map_err(|error| problem(format!("no temporary folder can be made: {error}")))?;
        for file in compilation.emit(STEM) {
            write(&folder.path().join(&file.name), &file.bytes)?;
        }
        let toolchain = Toolchain::of_environment(compilation.options.output.language);
        let program = Self::build(folder.path(), &[Subject::new(STEM, compilation)], &toolchain)?;
        Ok(Self { folder: Some(Rc::new(folder)), ..program })
    }

    /// Compiles the subjects, with files in `folder`, and the program around them.
    ///
    /// # Errors
    /// The compiler's message, or the reason for a failed start.
    pub fn build(
        folder: &Path,
        subjects: &[Subject<'_>],
        toolchain: &Toolchain,
    ) -> Result<Self, Failed> {
        let path = folder.join("harness").with_extension(env::consts::EXE_EXTENSION);
        match toolchain.language {
            Language::Rust => {
                let modules: String =
                    subjects.iter().map(|subject| format!("pub mod {};\n", subject.name)).collect();
                write(&folder.join("subjects.rs"), modules.as_bytes())?;
                write(&folder.join("harness.rs"), rust::program(subjects).as_bytes())?;
                toolchain.rust(folder, &path)?;
            }
            Language::C => {
                write(&folder.join("harness.c"), c::program(subjects).as_bytes())?;
                let stems: Vec<_> =
                    subjects.iter().map(|subject| subject.name).chain(["harness"]).collect();
                toolchain.c(folder, &stems, &[], &path)?;
            }
        }
        Ok(Self::new(path, subjects))
    }

    /// Compiles the program for subjects in C with existing objects in `folder`; `objects` may
    /// include linker options.
    ///
    /// # Errors
    /// The compiler's message, or the reason for a failed start.
    pub fn link(
        folder: &Path,
        subjects: &[Subject<'_>],
        toolchain: &Toolchain,
        objects: &[&str],
    ) -> Result<Self, Failed> {
        let path = folder.join("harness").with_extension(env::consts::EXE_EXTENSION);
        write(&folder.join("harness.c"), c::program(subjects).as_bytes())?;
        toolchain.c(folder, &["harness"], objects, &path)?;
        Ok(Self::new(path, subjects))
    }

    fn new(path: PathBuf, subjects: &[Subject<'_>]) -> Self {
        let subjects = subjects
            .iter()
            .map(|subject| (subject.name.to_owned(), subject.interface.clone()))
            .collect();
        Self { path, subjects, folder: None }
    }

    /// Starts the program on the only subject, on the named or the best instruction set.
    ///
    /// # Errors
    /// If the machine lacks the instruction set, or if the program does not run.
    pub fn start(&self, isa: Option<&str>) -> Result<Harness, Diagnostic> {
        self.start_on(0, isa)?.ok_or_else(|| {
            problem(format!("this machine lacks the instruction set {}", isa.unwrap_or_default()))
                .help("leave --isa out to run on the best that the machine has")
        })
    }

    /// Starts the program on a subject, by index. `None` if the machine lacks the instruction set.
    ///
    /// # Errors
    /// If the program does not run.
    pub fn start_on(
        &self,
        subject: usize,
        isa: Option<&str>,
    ) -> Result<Option<Harness>, Diagnostic> {
        let (name, interface) = &self.subjects[subject];
        let mut child = Command::new(&self.path)
            .arg(name)
            .args(isa)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| problem(format!("the compiled program cannot be started: {error}")))?;
        let input = child.stdin.take().map(BufWriter::new);
        let output = BufReader::new(child.stdout.take().expect("its output is piped"));
        let (interface, folder) = (interface.clone(), self.folder.clone());
        let mut harness = Harness {
            child,
            input,
            output,
            isa: String::new(),
            interface,
            steps: 0,
            _folder: folder,
        };
        let Some(isa) = harness.greeting(isa.is_some())? else { return Ok(None) };
        harness.isa = isa;
        Ok(Some(harness))
    }
}

impl Harness {
    /// The instruction set in use.
    pub fn isa(&self) -> &str {
        &self.isa
    }

    /// Calls the function with all parameters, in the order of the model. Returns all results and
    /// variables. If `pack` is true, weights among the parameters are packed; otherwise the weights
    /// packed last stay.
    ///
    /// # Errors
    /// If an integer is too large for the element type of an input, or if the program has ended.
    pub fn call(
        &mut self,
        parameters: &[InputElements],
        pack: bool,
        variables: Variables<'_>,
    ) -> Result<Outcome<f32>, Diagnostic> {
        let message = self.message(parameters, pack, variables)?;
        if !matches!(variables, Variables::Kept) {
            self.steps = 0;
        }
        self.steps += 1;
        self.exchange(|harness| {
            harness.send(&message)?;
            let Harness { interface, output, steps, .. } = harness;
            let results = receive(output, &interface.outputs)?;
            let mut variables = receive(output, &interface.variables)?;
            for (variable, line) in &interface.layout.delay_lines {
                let phase = *steps % line.period();
                variables[*variable] = line.in_order_of_time(&variables[*variable], phase);
            }
            Ok(Outcome { results, variables })
        })
    }

    /// The results of the struct's first and second step on the weights and inputs of the last
    /// call, and of one step after a reset.
    ///
    /// # Errors
    /// If the program has ended, because a property reported by the struct is wrong.
    pub fn structure(&mut self) -> Result<[Vec<Vec<f32>>; 3], Diagnostic> {
        self.exchange(|harness| {
            harness.send(&[STRUCT])?;
            let Harness { interface, output, .. } = harness;
            let mut results = || receive(output, &interface.outputs);
            Ok([results()?, results()?, results()?])
        })
    }

    /// The time of repeated calls on the inputs of the last call, with states fed back.
    ///
    /// # Errors
    /// If the program has ended.
    pub fn run(&mut self, calls: usize) -> Result<Duration, Diagnostic> {
        self.steps += calls;
        self.exchange(|harness| {
            let mut message = vec![TIME];
            message.extend((calls as u64).to_ne_bytes());
            harness.send(&message)?;
            let mut nanoseconds = [0; 8];
            harness.output.read_exact(&mut nanoseconds)?;
            Ok(Duration::from_nanos(u64::from_ne_bytes(nanoseconds)))
        })
    }

    /// The message of a call.
    fn message(
        &self,
        parameters: &[InputElements],
        pack: bool,
        variables: Variables<'_>,
    ) -> Result<Vec<u8>, Diagnostic> {
        let pack = if pack { PACK } else { 0 };
        let (flag, given) = match variables {
            Variables::Initial => (RESET, [].as_slice()),
            Variables::Kept => (0, [].as_slice()),
            Variables::Given(given) => (SET, given),
        };
        let mut message = vec![pack | flag];
        for (variable, values) in given.iter().enumerate() {
            let line = self.interface.layout.delay_lines.get(&variable);
            let ordered = line.map(|line| line.in_rows(values, 0));
            let values = ordered.as_ref().unwrap_or(values);
            values.iter().for_each(|v| message.extend(v.to_ne_bytes()));
        }
        let weights = self.interface.weights.iter().filter(|_| pack != 0);
        for field in weights.chain(&self.interface.inputs) {
            let bytes = parameters[field.index].bytes(field.element).map_err(|value| {
                problem(format!(
                    "{value} is too large for input {:?}, whose elements have 32 bits",
                    field.name
                ))
            })?;
            debug_assert_eq!(bytes.len(), field.element.size() * field.len(), "{}", field.name);
            message.extend(bytes);
        }
        Ok(message)
    }

    fn exchange<T>(
        &mut self,
        exchange: impl FnOnce(&mut Self) -> io::Result<T>,
    ) -> Result<T, Diagnostic> {
        exchange(self).map_err(|error| match self.child.wait() {
            Ok(status) if !status.success() => {
                problem(format!("the compiled program ended early: {status}"))
            }
            _ => problem(format!("the compiled program cannot be talked to: {error}")),
        })
    }

    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        let input = self.input.as_mut().expect("open until dropped");
        input.write_all(message)?;
        input.flush()
    }

    /// The name of the chosen instruction set, the program's first output. `None` if the machine
    /// lacks the requested instruction set.
    fn greeting(&mut self, asked: bool) -> Result<Option<String>, Diagnostic> {
        let mut name = Vec::new();
        let mut byte = [0];
        while self.output.read_exact(&mut byte).is_ok() {
            match byte {
                [b'\n'] => return Ok(Some(String::from_utf8_lossy(&name).into_owned())),
                [byte] => name.push(byte),
            }
        }
        match self.child.wait() {
            Ok(status) if asked && status.code() == Some(LACKING) => Ok(None),
            Ok(status) => Err(problem(format!("the compiled program ended early: {status}"))),
            Err(error) => {
                Err(problem(format!("the compiled program cannot be waited for: {error}")))
            }
        }
    }
}

impl Drop for Harness {
    fn drop(&mut self) {
        // The program ends when its input is closed. Failures were reported earlier.
        drop(self.input.take());
        _ = self.child.wait();
    }
}

/// The tensors of an answer. Integers are converted to f32, in which they are computed.
fn receive(output: &mut impl Read, fields: &[Field]) -> io::Result<Vec<Vec<f32>>> {
    let mut tensors = vec![Vec::new(); fields.len()];
    for field in fields {
        let mut bytes = vec![0; field.element.size() * field.len()];
        output.read_exact(&mut bytes)?;
        tensors[field.index] = match field.element {
            Element::I32 => {
                bytes.as_chunks().0.iter().map(|bytes| i32::from_ne_bytes(*bytes) as f32).collect()
            }
            Element::I64 => {
                bytes.as_chunks().0.iter().map(|bytes| i64::from_ne_bytes(*bytes) as f32).collect()
            }
            Element::Bool => bytes.iter().map(|byte| f32::from(*byte)).collect(),
            _ => bytes.as_chunks().0.iter().map(|bytes| f32::from_ne_bytes(*bytes)).collect(),
        };
    }
    Ok(tensors)
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Diagnostic> {
    fs::write(path, bytes)
        .map_err(|error| problem(format!("{}: cannot be written: {error}", path.display())))
}

fn problem(what: String) -> Diagnostic {
    Diagnostic::error(Origin::Unknown, what)
}
