//! Compilers for generated code.

use std::env;
use std::ffi::OsString;
use std::fmt::{self, Display, Formatter};
use std::panic::resume_unwind;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::problem;
use crate::diagnostic::Diagnostic;
use crate::request::Language;

/// A compiler and its arguments.
#[derive(Clone, Debug)]
pub struct Toolchain {
    /// The language.
    pub language: Language,
    /// The compiler, with arguments for every call.
    pub compiler: Vec<OsString>,
    /// Flags for generated code. In C, also for the program around generated code.
    pub flags: Vec<String>,
    /// Rust: flags for the program around generated code.
    pub around: Vec<String>,
}

/// The failure of a compilation.
#[derive(Clone, Debug)]
pub struct Failed {
    /// The standard error of the compiler.
    pub stderr: Vec<u8>,
    /// The diagnostic.
    pub why: Diagnostic,
}

impl Display for Failed {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{}", self.why, String::from_utf8_lossy(&self.stderr))
    }
}

impl From<Diagnostic> for Failed {
    fn from(why: Diagnostic) -> Self {
        Self { stderr: Vec::new(), why }
    }
}

impl Toolchain {
    /// rustc and cc, or the compilers named in the environment variables `RUSTC` and `CC`.
    pub fn of_environment(language: Language) -> Self {
        let (compiler, flags): (_, &[&str]) = match language {
            Language::Rust => {
                let rustc = vec![env::var_os("RUSTC").unwrap_or_else(|| "rustc".into())];
                (rustc, &["-Copt-level=3", "--cap-lints=allow"])
            }
            Language::C => (c_compiler(env::var_os("CC")), &["-std=c11", "-O2", "-pthread"]),
        };
        let flags: Vec<_> = flags.iter().map(|flag| flag.to_string()).collect();
        Self { language, compiler, around: flags.clone(), flags }
    }

    /// A call of the compiler in a folder.
    fn command(&self, folder: &Path) -> Command {
        let mut command = Command::new(&self.compiler[0]);
        command.args(&self.compiler[1..]).current_dir(folder);
        command
    }

    /// Compiles `subjects.rs` to a library, and `harness.rs` to the program.
    pub(super) fn rust(&self, folder: &Path, program: &Path) -> Result<(), Failed> {
        let mut library = self.command(folder);
        library.args(["--edition=2021", "--crate-type=rlib"]).args(&self.flags).arg("subjects.rs");
        self.run(vec![library])?;
        let mut around = self.command(folder);
        around
            .args(["--edition=2021", "harness.rs", "--extern", "subjects=libsubjects.rlib"])
            .args(&self.around);
        around.arg("-o").arg(program);
        self.run(vec![around])
    }

    /// Compiles each source to an object, and links the program from these and existing `objects`.
    pub(super) fn c(
        &self,
        folder: &Path,
        stems: &[&str],
        objects: &[&str],
        program: &Path,
    ) -> Result<(), Failed> {
        let compile = |stem: &&str| {
            let mut command = self.command(folder);
            command
                .args(&self.flags)
                .arg("-c")
                .arg(format!("{stem}.c"))
                .arg("-o")
                .arg(format!("{stem}.o"));
            command
        };
        self.run(stems.iter().map(compile).collect())?;
        let mut link = self.command(folder);
        link.arg("-pthread")
            .args(stems.iter().map(|stem| format!("{stem}.o")))
            .args(objects)
            .arg("-o")
            .arg(program);
        // libm has fmaf: fused multiply-adds call fmaf on a machine without an instruction for it
        link.arg("-lm");
        self.run(vec![link])
    }

    fn run(&self, commands: Vec<Command>) -> Result<(), Failed> {
        run_all(commands, |command| {
            let name = command.get_program().to_string_lossy().into_owned();
            let output = command.stdin(Stdio::null()).output().map_err(|error| {
                let (variable, other) =
                    if self.language == Language::C { ("CC", "rust") } else { ("RUSTC", "c") };
                problem(format!("the compiler {name} cannot be started: {error}")).help(format!(
                    "install it, name another one in the variable {variable}, or try --emit {other}"
                ))
            })?;
            if output.status.success() {
                return Ok(());
            }
            let why = problem(format!(
                "{name} could not compile the generated source: {}",
                output.status
            ));
            Err(Failed { stderr: output.stderr, why })
        })
    }
}

/// Runs commands with `run`, as many at a time as the machine has processors.
///
/// # Errors
/// The first error. Commands not yet started are skipped.
pub fn run_all<E: Send>(
    commands: Vec<Command>,
    run: impl Fn(&mut Command) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let queue = Mutex::new(commands.into_iter());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || std::iter::from_fn(next).try_for_each(|mut command| run(&mut command));
    thread::scope(|scope| {
        let workers: Vec<_> = (0..processors).map(|_| scope.spawn(work)).collect();
        let done = workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic)));
        done.collect::<Vec<_>>().into_iter().collect()
    })
}

/// The C compiler with arguments, from the value of `CC`, such as `ccache gcc`. A value that is the
/// path of a file has no arguments.
fn c_compiler(variable: Option<OsString>) -> Vec<OsString> {
    match variable.as_ref().and_then(|v| v.to_str()).filter(|text| !Path::new(text).is_file()) {
        Some(text) if !text.trim().is_empty() => {
            text.split_whitespace().map(OsString::from).collect()
        }
        Some(_) => vec!["cc".into()],
        None => vec![variable.unwrap_or_else(|| "cc".into())],
    }
}
