//! What is said of a file of PyTorch's weights on the command line.

use crate::diagnostic::Wording;
use crate::front::keys::{Key, KeyValue, Keys};
use clap::Args;
use clap::builder::{TypedValueParser, ValueParser};

/// What `--help` has above them.
pub(super) const HEADING: &str =
    "Options for PyTorch's weights (.safetensors); the file's metadata can contain the same";

/// The options that such files take and models do not.
#[derive(Debug, Args)]
pub(crate) struct WeightsFileArguments {
    /// The kind of cell: rnn, gru or lstm
    #[arg(long, help_heading = HEADING, value_name = "CELL", value_parser = of(Key::Cell))]
    cell: Option<KeyValue>,

    /// The name of the recurrent module: rec for rec.weight_ih_l0
    #[arg(long, help_heading = HEADING, value_name = "MODULE", value_parser = of(Key::Prefix))]
    prefix: Option<KeyValue>,

    /// The name of a dense layer (torch.nn.Linear) behind the last recurrent one: fc for fc.weight
    #[arg(long, help_heading = HEADING, value_name = "MODULE", value_parser = of(Key::Head))]
    head: Option<KeyValue>,

    /// The activation of the dense layer: sigmoid, leaky_relu(0.1), ...
    #[arg(long, help_heading = HEADING, value_name = "NAME", value_parser = of(Key::HeadActivation))]
    head_activation: Option<KeyValue>,

    /// Add the input to the output, as amplifier models do; both must have the same size
    #[arg(long, help_heading = HEADING, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = of(Key::Skip))]
    skip: Option<KeyValue>,

    /// The number of layers [default: as many as the file has]
    #[arg(long, help_heading = HEADING, value_name = "N", value_parser = of(Key::Layers))]
    layers: Option<KeyValue>,

    /// The number of units; compared with the file
    #[arg(long, help_heading = HEADING, value_name = "N", value_parser = of(Key::HiddenSize))]
    hidden_size: Option<KeyValue>,

    /// The number of inputs; compared with the file
    #[arg(long, help_heading = HEADING, value_name = "N", value_parser = of(Key::InputSize))]
    input_size: Option<KeyValue>,

    /// The number of steps of a call [default: one step, without an axis for it]
    #[arg(long, help_heading = HEADING, value_name = "N", value_parser = of(Key::Steps))]
    sequence: Option<KeyValue>,

    /// The direction of a sequence: forward, reverse or bidirectional [default: forward]
    #[arg(long, help_heading = HEADING, value_name = "WAY", value_parser = of(Key::Direction))]
    direction: Option<KeyValue>,

    /// The bound on every sum before an activation [default: none]
    #[arg(long, help_heading = HEADING, value_name = "BOUND", value_parser = of(Key::Clip), allow_negative_numbers = true)]
    clip: Option<KeyValue>,

    /// Whether a GRU applies the reset gate after the matrix product, as PyTorch does [default: true]
    #[arg(long, help_heading = HEADING, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = of(Key::LinearBeforeReset))]
    linear_before_reset: Option<KeyValue>,

    /// The order of the gates in the file [default: PyTorch's, ifco for LSTM and rzn for GRU]
    #[arg(long, help_heading = HEADING, value_name = "LETTERS", value_parser = of(Key::GateOrder))]
    gate_order: Option<KeyValue>,
}

impl WeightsFileArguments {
    /// What is given.
    pub(super) fn keys(&self) -> Keys {
        let mut keys = Keys::default();
        for (key, value) in [
            (Key::Cell, &self.cell),
            (Key::Prefix, &self.prefix),
            (Key::Head, &self.head),
            (Key::HeadActivation, &self.head_activation),
            (Key::Skip, &self.skip),
            (Key::Layers, &self.layers),
            (Key::HiddenSize, &self.hidden_size),
            (Key::InputSize, &self.input_size),
            (Key::Steps, &self.sequence),
            (Key::Direction, &self.direction),
            (Key::Clip, &self.clip),
            (Key::LinearBeforeReset, &self.linear_before_reset),
            (Key::GateOrder, &self.gate_order),
        ] {
            keys.add(key, value.clone());
        }
        keys
    }
}

/// What the command calls a key.
pub(super) fn option(key: Key) -> String {
    key.worded(Wording::default())
}

/// Reads the value of a key.
pub(super) fn of(key: Key) -> ValueParser {
    clap::builder::StringValueParser::new()
        .try_map(move |text| {
            KeyValue::parse(key, &text).map_err(|valid| match key {
                // a sentence of its own
                Key::Activations | Key::HeadActivation => valid,
                _ => format!("{valid} is needed"),
            })
        })
        .into()
}
