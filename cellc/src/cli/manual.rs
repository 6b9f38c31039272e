//! `cellc cmake`, `cellc completions` and `cellc man`: files for other programs.

use std::path::Path;

use clap::CommandFactory;
use clap_mangen::Man;

use super::Failure;
use super::arguments::{CommandLine, CompletionsArguments, ManArguments};
use super::stdio::{cannot_write, write_stdout};

/// The module for CMake.
const CMAKE: &str = include_str!("cellc.cmake");

/// Prints the module for CMake.
pub(crate) fn cmake() -> Result<(), Failure> {
    Ok(write_stdout(CMAKE.as_bytes())?)
}

/// Prints the completion script for a shell.
pub(crate) fn completions(arguments: &CompletionsArguments) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut CommandLine::command(), "cellc", &mut script);
    Ok(write_stdout(&script)?)
}

/// Prints a manual page in troff.
pub(crate) fn man(arguments: &ManArguments) -> Result<(), Failure> {
    let mut command = CommandLine::command();
    command.build();
    if let Some(name) = &arguments.command {
        let Some(found) = command.find_subcommand(name) else {
            let names: Vec<_> = command.get_subcommands().map(clap::Command::get_name).collect();
            return Err(Failure::Usage(format!(
                "cellc has no command '{name}': it has {}",
                names.join(", ")
            )));
        };
        command = found.clone().version(env!("CARGO_PKG_VERSION"));
    }
    let mut page = Vec::new();
    Man::new(command)
        .render(&mut page)
        .map_err(|error| cannot_write(Path::new("the page"), error))?;
    Ok(write_stdout(&page)?)
}
