//! The command line: parses arguments, calls the library and writes files.

mod arguments;
mod bench;
mod calls;
mod check;
mod compile;
mod console;
mod flags;
mod inspect;
mod json;
mod manual;
mod npy;
mod pack;
mod package;
mod pictures;
mod piped;
mod progress;
mod run;
#[cfg(unix)]
mod signals;
mod stdio;
mod suggestions;
mod synonyms;
mod wasm;
mod weights_file;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use crate::diagnostic::{Diagnostic, Diagnostics, Origin};
use crate::front::formats;
use crate::harness::Failed;
use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches};

use arguments::{Command, CommandLine};
use console::report;
use stdio::{cannot_write, write_stderr};

/// The failure of a command.
#[derive(Debug)]
enum Failure {
    /// Contradictory arguments: exit status 2.
    Usage(String),
    /// The input is refused, or an operation of the system failed: exit status 1.
    Refused(Diagnostics),
    /// A compiler failed with a message: exit status 1.
    Toolchain {
        /// The compiler's standard error.
        stderr: Vec<u8>,
        /// An explanation of the failure.
        why: Diagnostic,
    },
    /// A check failed and printed its report: exit status 1.
    Broken,
}

impl From<Diagnostics> for Failure {
    fn from(diagnostics: Diagnostics) -> Self {
        Self::Refused(diagnostics)
    }
}

impl From<crate::Error> for Failure {
    fn from(error: crate::Error) -> Self {
        Diagnostic::error(Origin::Unknown, error.to_string()).into()
    }
}

impl From<Diagnostic> for Failure {
    fn from(diagnostic: Diagnostic) -> Self {
        Self::Refused(Diagnostics(vec![diagnostic]))
    }
}

impl From<Failed> for Failure {
    fn from(Failed { stderr: said, why }: Failed) -> Self {
        Self::Toolchain { stderr: said, why }
    }
}

/// Runs the command given by the process's arguments.
pub fn command() -> ExitCode {
    let mut command_line = match parsed(arguments()) {
        Ok(command_line) => command_line,
        Err(error) => {
            // an unsupported model file is a more useful error than a missing argument
            if let Some(diagnostics) = foreign_model(&error) {
                report(&diagnostics);
                return ExitCode::FAILURE;
            }
            return refused_arguments(&suggestions::named(error));
        }
    };
    #[cfg(unix)]
    signals::watch();
    if let Some(message) = command_line.contradiction() {
        CommandLine::command().error(ErrorKind::ArgumentConflict, message).exit();
    }
    if command_line.quiet {
        console::be_quiet();
    }
    let done = command_line.fetch().and_then(|()| execute(&command_line));
    // `exit` runs no destructors: this drop removes the copy of a model from a pipe
    drop(command_line);
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Usage(message)) => {
            CommandLine::command().error(ErrorKind::ArgumentConflict, message).exit()
        }
        Err(Failure::Refused(diagnostics)) => {
            report(&diagnostics);
            ExitCode::FAILURE
        }
        Err(Failure::Toolchain { stderr: said, why }) => {
            write_stderr(&said);
            report(&Diagnostics(vec![why]));
            ExitCode::FAILURE
        }
        Err(Failure::Broken) => ExitCode::FAILURE,
    }
}

/// Parses the words of a command line.
fn parsed(words: Vec<OsString>) -> Result<CommandLine, clap::Error> {
    let command = CommandLine::command();
    // -h lists its few options under one heading, so that its text fits a screen
    let command = match words.iter().any(|word| word == "--help" || word == "help") {
        true => command,
        false => command
            .mut_args(|arg| arg.help_heading(None))
            .mut_subcommand("completions", |command| command.hide(true))
            .mut_subcommands(|command| command.mut_args(|arg| arg.help_heading(None))),
    };
    let mut matches = command.try_get_matches_from(words)?;
    CommandLine::from_arg_matches_mut(&mut matches)
}

/// Prints clap's answer to arguments: a help text, the version, or an error.
fn refused_arguments(error: &clap::Error) -> ExitCode {
    if error.use_stderr() {
        error.exit();
    }
    match error.print().and_then(|()| io::stdout().flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            report(&Diagnostics(vec![cannot_write(Path::new("standard output"), error)]));
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}

/// The arguments of the process. A `--quiet` in front of a command moves behind the command.
fn arguments() -> Vec<OsString> {
    let mut words: Vec<OsString> = std::env::args_os().collect();
    let is_command = |word: &OsString| {
        word.to_str().is_some_and(|word| CommandLine::command().find_subcommand(word).is_some())
    };
    if let [_, quiet, command, ..] = &mut words[..]
        && (quiet == "-q" || quiet == "--quiet")
        && is_command(command)
    {
        std::mem::swap(quiet, command);
    }
    words
}

/// Runs the given command.
fn execute(command_line: &CommandLine) -> Result<(), Failure> {
    match &command_line.command {
        None => compile::compile(&command_line.compile),
        Some(Command::Run(arguments)) => run::run(arguments),
        Some(Command::Check(arguments)) => check::check(arguments),
        Some(Command::Inspect(arguments)) => inspect::inspect(arguments),
        Some(Command::Bench(arguments)) => bench::bench(arguments),
        Some(Command::Pack(arguments)) => pack::pack(arguments),
        Some(Command::Cmake) => manual::cmake(),
        Some(Command::Completions(arguments)) => manual::completions(arguments),
        Some(Command::Man(arguments)) => manual::man(arguments),
    }
}

/// The error for an unsupported model file, if the command line lacks a required argument.
fn foreign_model(error: &clap::Error) -> Option<Diagnostics> {
    if error.kind() != ErrorKind::MissingRequiredArgument {
        return None;
    }
    let command = CommandLine::command();
    let mut words = std::env::args_os().skip(1).peekable();
    words.next_if(|word| word.to_str().is_some_and(|word| command.find_subcommand(word).is_some()));
    let model = words.next().filter(|word| !word.to_string_lossy().starts_with('-'))?;
    formats::recognise(Path::new(&model)).err()
}
