//! The flags of [`crate::request::flag`] as arguments of clap.

use std::fmt;

use clap::builder::{PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

use crate::request::flag::{Commands, FLAGS, Flag, FlagValue, Shown};
use crate::request::{Options, Precision, Word, Words};

/// The precisions of [`Flag::several`], the most exact first.
const COMPARED: [Precision; 4] =
    [Precision::F32, Precision::Int16, Precision::Int8x16, Precision::Int8];

/// The precisions of one run of a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Compared {
    /// The given precision.
    #[default]
    One,
    /// [`COMPARED`], in turn.
    All,
}

impl Compared {
    /// The precisions to compile the model in, the most exact first.
    pub(super) fn precisions(self, given: Option<Precision>) -> Vec<Option<Precision>> {
        match self {
            Self::One => vec![given],
            Self::All => COMPARED.map(Some).to_vec(),
        }
    }
}

/// The values of the flags of all commands that read a model.
#[derive(Debug)]
pub(super) struct ModelFlags {
    /// The options that the flags set.
    pub(super) options: Options,
    /// The precisions to compile the model in.
    pub(super) compared: Compared,
}

impl Args for ModelFlags {
    fn augment_args(command: Command) -> Command {
        command.args(flags(Commands::All).map(argument))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ModelFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let (mut options, mut compared) = (Options::default(), Compared::One);
        for given in given(Commands::All, matches) {
            if given.flag.several.is_some_and(|several| given.value == several.text) {
                compared = Compared::All;
            } else {
                given.store(&mut options)?;
            }
        }
        Ok(Self { options, compared })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The values of the flags of the command that writes files.
#[derive(Debug)]
pub(super) struct CompileFlags(Vec<FlagOccurrence>);

impl Args for CompileFlags {
    fn augment_args(command: Command) -> Command {
        command.args(flags(Commands::Compile).map(argument))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for CompileFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self(given(Commands::Compile, matches)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl CompileFlags {
    /// The options, changed by the flags.
    pub(super) fn stored_in(&self, mut options: Options) -> Options {
        for given in &self.0 {
            given.store(&mut options).expect("cli: the parser has checked the value");
        }
        options
    }
}

/// A flag of the command line with its value; the value of a switch is "".
struct FlagOccurrence {
    flag: &'static Flag,
    value: String,
}

impl fmt::Debug for FlagOccurrence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--{}={}", self.flag.name, self.value)
    }
}

impl FlagOccurrence {
    /// Stores the value.
    fn store(&self, options: &mut Options) -> Result<(), clap::Error> {
        (self.flag.set)(options, &self.value).map_err(|why| {
            let message = format!("--{}: {why}\n", self.flag.name);
            clap::Error::raw(ErrorKind::ValueValidation, message)
        })
    }
}

/// The flags of these commands, in the order of the help.
fn flags(commands: Commands) -> impl Iterator<Item = &'static Flag> {
    FLAGS.iter().copied().filter(move |flag| flag.commands == commands)
}

/// The values on the command line for the flags of these commands.
fn given(commands: Commands, matches: &ArgMatches) -> Vec<FlagOccurrence> {
    let values = |flag: &Flag| match flag.operand {
        FlagValue::Switch => matches.get_flag(flag.name).then(String::new).into_iter().collect(),
        _ => matches.get_many(flag.name).into_iter().flatten().cloned().collect::<Vec<String>>(),
    };
    let occurrences =
        |flag| values(flag).into_iter().map(move |value| FlagOccurrence { flag, value });
    flags(commands).flat_map(occurrences).collect()
}

/// The argument of clap for a flag.
fn argument(flag: &'static Flag) -> Arg {
    let details = (flag.details)();
    let mut arg = Arg::new(flag.name)
        .long(flag.name)
        .help(flag.line())
        .help_heading(flag.group.heading())
        .hide_short_help(flag.shown == Shown::InLongHelp);
    if !details.is_empty() {
        arg = arg.long_help(format!("{}\n\n{details}", flag.line()));
    }
    if let Some(default) = flag.default {
        arg = arg.default_value(default);
    }
    if let Some(other) = flag.excludes {
        arg = arg.conflicts_with(other);
    }
    let any = StringValueParser::new().try_map(move |text| flag.check(&text).map(|()| text));
    match flag.operand {
        FlagValue::Switch => arg.action(ArgAction::SetTrue),
        FlagValue::Word(value, _) => arg.value_name(value).value_parser(one_of(flag)),
        FlagValue::NamedWord(value, _) => {
            arg.value_name(value).value_parser(one_of(flag)).hide_possible_values(true)
        }
        FlagValue::Number(value) | FlagValue::Text(value) => {
            arg.value_name(value).value_parser(any).allow_negative_numbers(true)
        }
        FlagValue::Each(value) => arg.value_name(value).value_parser(any).action(ArgAction::Append),
        FlagValue::List(value, _) => arg
            .value_name(value)
            .value_parser(one_of(flag))
            .action(ArgAction::Append)
            .value_delimiter(','),
        FlagValue::Texts(value) => {
            arg.value_name(value).value_parser(any).action(ArgAction::Append).value_delimiter(',')
        }
    }
}

/// A parser for the words that a flag accepts.
fn one_of(flag: &Flag) -> PossibleValuesParser {
    PossibleValuesParser::new(flag.words().into_iter().chain(flag.several).map(possible))
}

/// A word with its help.
fn possible(word: Word) -> PossibleValue {
    let value = PossibleValue::new(word.text);
    match word.help.trim() {
        "" => value,
        help => value.help(help.strip_suffix('.').unwrap_or(help)),
    }
}

/// A parser for the words of `T`.
pub(super) fn words<T: Words + Send + Sync>() -> impl TypedValueParser<Value = T> {
    let values = T::words().into_iter().map(|word| PossibleValue::new(word.text));
    PossibleValuesParser::new(values).map(|text| T::from_word(&text).unwrap_or_default())
}
