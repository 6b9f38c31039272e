//! The command line: arguments to library calls to files.

mod arguments;
mod bench;
mod calls;
mod check;
mod compile;
mod inspect;
mod manual;
mod npy;
mod progress;
mod run;
#[cfg(unix)]
mod signals;
mod streams;
mod weights_file;

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use crate::diagnostic::{Diagnostic, Diagnostics, Origin};
use crate::front::formats;
use crate::harness::Failed;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser};

use arguments::{Command, CommandLine};
use streams::{cannot_write, write_stderr};

/// Why a command did not do what was asked.
#[derive(Debug)]
enum Failure {
    /// The arguments contradict each other: exit status 2.
    Usage(String),
    /// The input is refused, or something outside failed: exit status 1.
    Refused(Diagnostics),
    /// A compiler failed, and said something about it: exit status 1.
    Toolchain {
        /// What it wrote to its standard error.
        said: Vec<u8>,
        /// What that means.
        why: Diagnostic,
    },
    /// A check found what it looks for, and said so: exit status 1.
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
    fn from(Failed { said, why }: Failed) -> Self {
        Self::Toolchain { said, why }
    }
}

/// Does what the process's arguments say.
pub fn command() -> ExitCode {
    let command_line = match CommandLine::try_parse() {
        Ok(command_line) => command_line,
        Err(error) => {
            // what the file is comes before what else is missing
            if let Some(diagnostics) = foreign_model(&error) {
                report(&diagnostics);
                return ExitCode::FAILURE;
            }
            return refused_arguments(&named(error));
        }
    };
    #[cfg(unix)]
    signals::watch();
    if let Some(message) = command_line.contradiction() {
        CommandLine::command().error(ErrorKind::ArgumentConflict, message).exit();
    }
    let CommandLine { command, compile } = command_line;
    let done = match &command {
        None => compile::compile(&compile),
        Some(Command::Run(arguments)) => run::run(arguments),
        Some(Command::Check(arguments)) => check::check(arguments),
        Some(Command::Inspect(arguments)) => inspect::inspect(arguments),
        Some(Command::Bench(arguments)) => bench::bench(arguments),
        Some(Command::Completions(arguments)) => manual::completions(arguments),
        Some(Command::Man(arguments)) => manual::man(arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Usage(message)) => CommandLine::command().error(ErrorKind::ArgumentConflict, message).exit(),
        Err(Failure::Refused(diagnostics)) => {
            report(&diagnostics);
            ExitCode::FAILURE
        }
        Err(Failure::Toolchain { said, why }) => {
            write_stderr(&said);
            report(&Diagnostics(vec![why]));
            ExitCode::FAILURE
        }
        Err(Failure::Broken) => ExitCode::FAILURE,
    }
}

/// Prints what clap says of the arguments: a help text, the version, or an error.
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

/// What is wrong with the file that a command was given, where the command lacks something else.
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

/// clap takes a second word that it does not expect for a subcommand, whatever it says: this says what it is; and of an option that other commands have, which. Of names with another
/// first letter none is similar.
fn named(mut error: clap::Error) -> clap::Error {
    let mut command = CommandLine::command();
    if let (ErrorKind::UnknownArgument, Some(ContextValue::String(option))) =
        (error.kind(), error.get(ContextKind::InvalidArg))
    {
        let has = |of: &&clap::Command| of.get_arguments().any(|own| own.get_long() == option.strip_prefix("--"));
        let others: Vec<_> =
            command.get_subcommands().filter(has).map(|of| format!("cellc {}", of.get_name())).collect();
        if !others.is_empty() {
            let message = format!("unexpected argument '{option}': it is an option of {}", others.join(" and "));
            return command.error(ErrorKind::UnknownArgument, message);
        }
    }
    if let (Some(ContextValue::String(value)), Some(ContextValue::String(similar))) =
        (error.get(ContextKind::InvalidValue), error.get(ContextKind::SuggestedValue))
        && value.chars().next() != similar.chars().next()
    {
        error.remove(ContextKind::SuggestedValue);
    }
    match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(word)) if command.find_subcommand(word).is_none() => {
            let message = format!(
                "unexpected argument '{word}': one model is compiled; the commands, run, check, inspect and bench, come first"
            );
            command.error(ErrorKind::UnknownArgument, message)
        }
        _ => error,
    }
}

/// Prints diagnostics for a human.
fn report(diagnostics: &Diagnostics) {
    write_stderr(diagnostics.to_string().as_bytes());
}
