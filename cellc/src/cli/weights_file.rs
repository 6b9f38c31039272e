//! Options that describe a file of PyTorch weights.

use clap::builder::{TypedValueParser, ValueParser};
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};

use crate::front::keys::{Key, KeyValue, Keys, Takes};

/// The heading of the options in `--help`.
pub(super) const HEADING: &str =
    "Options for PyTorch's weights (.safetensors), also valid as keys of the file's metadata";

/// The keys for files of weights: key, placeholder of the value, help. These options are refused
/// for files with a complete model.
#[rustfmt::skip]
const OPTIONS: [(Key, &str, &str); 13] = [
    (Key::Cell, "CELL", "The kind of cell: rnn, gru or lstm"),
    (Key::Prefix, "MODULE", "The name of the recurrent module: rec for rec.weight_ih_l0"),
    (Key::Head, "MODULE", "The name of a dense layer (torch.nn.Linear) after the last recurrent \
        layer: fc for fc.weight"),
    (Key::HeadActivation, "NAME", "The activation of the dense layer: sigmoid, leaky_relu(0.1), \
        ..."),
    (Key::Skip, "BOOL", "Add the input to the output, as amplifier models do; both must have the \
        same size"),
    (Key::Layers, "N", "The number of layers [default: as many as the file has]"),
    (Key::HiddenSize, "N", "The number of units; must match the file"),
    (Key::InputSize, "N", "The number of inputs; must match the file"),
    (Key::Steps, "N", "The number of time steps per call [default: 1, without a time axis]"),
    (Key::Direction, "WAY", "The direction of a sequence: forward, reverse or bidirectional \
        [default: forward]"),
    (Key::Clip, "BOUND", "The bound on every sum before an activation [default: none]"),
    (Key::LinearBeforeReset, "BOOL", "Apply a GRU's reset gate after the matrix product, as \
        PyTorch does [default: true]"),
    (Key::GateOrder, "LETTERS", "The order of the gates in the file [default: PyTorch's, ifco for \
        LSTM and rzn for GRU]"),
];

/// The keys given as options.
#[derive(Debug)]
pub(crate) struct WeightsFileArguments(pub(super) Keys);

impl Args for WeightsFileArguments {
    fn augment_args(command: Command) -> Command {
        command.args(OPTIONS.map(|(key, value, help)| {
            let name = key.name_in_files();
            let arg = Arg::new(name)
                .long(name.replace('_', "-").leak() as &str)
                .help(help)
                .value_name(value);
            let arg = arg.help_heading(HEADING).hide_short_help(true).value_parser(parser(key));
            match key.takes() {
                Takes::Switch => {
                    arg.num_args(0..=1).require_equals(true).default_missing_value("true")
                }
                Takes::Bound => arg.allow_negative_numbers(true),
                _ => arg,
            }
        }))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for WeightsFileArguments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut keys = Keys::default();
        for (key, ..) in OPTIONS {
            keys.add(key, matches.get_one(key.name_in_files()).cloned());
        }
        Ok(Self(keys))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The option of the command line for a key.
pub(super) fn option(key: Key) -> String {
    crate::diagnostic::option(&key.setting())
}

/// Reads the value of a key.
fn parser(key: Key) -> ValueParser {
    clap::builder::StringValueParser::new()
        .try_map(move |text| {
            KeyValue::parse(key, &text).map_err(|valid| match key {
                // `valid` is a complete sentence
                Key::Activations | Key::HeadActivation => valid,
                _ => format!("{valid} is needed"),
            })
        })
        .into()
}
