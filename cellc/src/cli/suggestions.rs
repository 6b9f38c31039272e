//! Errors of the command line with suggestions.

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::diagnostic::in_shell;
use crate::request::flag::PRECISION;

use super::arguments::CommandLine;
use super::synonyms::{command_for, compiles};

/// Options of other compilers, and cellc's options with the same effect; `{words}` stands for the
/// words of `--precision`.
const OTHERS: [(&str, &str); 7] = [
    ("language", "-o FILE.rs or -o FILE.c, or --emit rust or --emit c, choose the language"),
    ("optimize", "--accuracy and --precision make a step cheaper"),
    ("quantize", "--precision stores weights in fewer bits and multiplies integers"),
    ("dtype", "--precision {words} says what is stored and multiplied"),
    ("verbose", "cellc inspect MODEL, and --emit model, plan or kernel, show what is compiled"),
    ("v", "cellc inspect MODEL, and --emit model, plan or kernel, show what is compiled"),
    ("input-shape", "--shape x=1,100,16 gives the shape of an input"),
];

/// Options of earlier versions, and their replacements. "": the option has no replacement.
const RENAMED: [(&str, &str); 5] = [
    ("weight-format", "precision"),
    ("arithmetic", "precision"),
    ("arithmetic-of", "precision-of"),
    ("plan", "tune"),
    ("flush-denormals", ""),
];

/// The message for an option of an earlier version, with the replacement and the given value.
fn renamed(name: &str, words: &[String]) -> Option<String> {
    let (_, new) = RENAMED.iter().find(|(old, _)| *old == name)?;
    if new.is_empty() {
        return Some(format!("--{name} is gone: without --keep-denormals, denormals are flushed"));
    }
    let option = format!("--{name}");
    let given = |word: &String| {
        let word = word.split('=').next().unwrap_or_default().replace('_', "-");
        word == option
    };
    let at = words.iter().position(given)?;
    let value = match words[at].split_once('=') {
        Some((_, value)) => Some(value),
        None => words.get(at + 1).map(String::as_str).filter(|word| !word.starts_with('-')),
    };
    let of_gate = |value: &str| {
        value.rsplit_once('=').is_some_and(|(layer, _)| {
            let gate = layer.rsplit_once('.').map_or("", |(_, gate)| gate);
            ["z", "r", "h", "f", "i", "c", "o"].contains(&gate)
        })
    };
    if name == "arithmetic-of" && value.is_some_and(of_gate) {
        return Some(format!(
            "{option} of a gate is gone: --{new} LAYER=PRECISION chooses for a whole layer"
        ));
    }
    let value = match (name, value) {
        ("weight-format", Some("bf16-pair")) => Some("bf16"),
        ("weight-format", Some("int8")) => {
            return Some(format!(
                "{option} int8 is gone: --{new} int8x16 stores 8 bits for each weight and \
                 multiplies integers"
            ));
        }
        (_, value) => value,
    };
    let value = value.map_or("...".to_owned(), in_shell);
    Some(format!("{option} is called --{new}: --{new} {value}"))
}

/// Improves an error of clap. clap takes a second word for a subcommand, suggests options only
/// within a command, and takes names with different first letters for similar.
pub(super) fn named(mut error: clap::Error) -> clap::Error {
    let mut command = CommandLine::command();
    let text = |error: &clap::Error, kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    if error.kind() == ErrorKind::UnknownArgument
        && let Some(option) = text(&error, ContextKind::InvalidArg)
        && let Some(message) = unknown_option(&command, &option)
    {
        return command.error(ErrorKind::UnknownArgument, message);
    }
    let suggestions = [
        (ContextKind::InvalidValue, ContextKind::SuggestedValue),
        (ContextKind::InvalidArg, ContextKind::SuggestedArg),
    ];
    for (given, suggested) in suggestions {
        let begins = |kind| text(&error, kind)?.trim_start_matches('-').chars().next();
        if begins(suggested).is_some() && begins(given) != begins(suggested) {
            error.remove(suggested);
            error.remove(ContextKind::Usage);
        }
    }
    match text(&error, ContextKind::InvalidSubcommand) {
        Some(word) if command.find_subcommand(&word).is_none() => {
            let first = std::env::args().nth(1).unwrap_or_default();
            let message = second_word(&command, &first, &word);
            command.error(ErrorKind::UnknownArgument, message)
        }
        _ => error,
    }
}

/// The message for an option of an earlier version, of another command or of another compiler.
/// `None` for other unknown options.
fn unknown_option(command: &clap::Command, option: &str) -> Option<String> {
    let name = option.trim_start_matches('-').split('=').next().unwrap_or_default();
    let spelled = name.replace('_', "-");
    let words: Vec<String> = std::env::args().collect();
    if let Some(message) = renamed(&spelled, &words) {
        return Some(format!("unexpected argument '{option}': {message}"));
    }
    let is_long = option.starts_with("--");
    let has = |known: &&clap::Command| {
        known.get_arguments().any(|own| match is_long {
            true => own.get_long() == Some(name),
            false => own.get_short().is_some_and(|short| name.starts_with(short)),
        })
    };
    let subcommand = std::env::args().nth(1).filter(|word| command.find_subcommand(word).is_some());
    let others = command
        .get_subcommands()
        .filter(|command| subcommand.as_deref() != Some(command.get_name()))
        .filter(has);
    let mut others: Vec<_> =
        others.map(|command| format!("cellc {}", command.get_name())).collect();
    if subcommand.is_some() && has(&command) {
        others.insert(0, "cellc MODEL".to_owned());
    }
    if !others.is_empty() {
        return Some(format!(
            "unexpected argument '{option}': it is an option of {}",
            others.join(" and ")
        ));
    }
    let begins =
        |known: &&(&str, &str)| known.0 == name || name.len() > 2 && known.0.starts_with(name);
    let advice = OTHERS.iter().find(begins).map(|(_, meant)| PRECISION.with_words(meant));
    advice.map(|advice| format!("unexpected argument '{option}': {advice}"))
}

/// The message for a second word that is no option. The first word is the model, or stands for a
/// command.
fn second_word(command: &clap::Command, first: &str, word: &str) -> String {
    let names: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
    if [".c", ".rs"].iter().any(|extension| word.ends_with(extension)) && !names.contains(&first) {
        return format!("unexpected argument '{word}': the file to write is said by -o {word}");
    }
    if first == "help" {
        return match command_for(word) {
            _ if word == "version" => {
                format!("there is no command '{word}': the version is said by cellc --version")
            }
            _ if compiles(word) => {
                format!(
                    "there is no command '{word}': a model alone is compiled, cellc MODEL -o \
                     FILE.rs or -o FILE.c"
                )
            }
            Some(name) => format!("there is no command '{word}': a similar one is cellc {name}"),
            None => {
                format!("there is no command '{word}': cellc --help has all options and commands")
            }
        };
    }
    if names.contains(&first) || first.starts_with('-') || first.contains(['.', '/']) {
        return format!(
            "unexpected argument '{word}': one model is compiled; the commands, run, check, \
             inspect and bench, come first"
        );
    }
    if compiles(first) {
        return format!(
            "there is no command '{first}': a model alone is compiled, cellc {word} -o FILE.rs or \
             -o FILE.c"
        );
    }
    match command_for(first) {
        Some(name) => format!("there is no command '{first}': a similar one is cellc {name}"),
        None => format!(
            "unexpected argument '{word}': one model is compiled; the commands, run, check, \
             inspect and bench, come first"
        ),
    }
}
