//! The keys that declare layers, in one table, for macros, Builder, command and metadata of files.

mod key_dependencies;
mod values;

use std::collections::BTreeMap;

use key_dependencies::Need;
pub use values::KeyValue;
pub(crate) use values::{FromValue, Takes, Value};

use crate::diagnostic::{Origin, Setting};
use crate::model::{Direction, Family, LstmGateOrder};
use crate::request::flag::{self, Flag, FlagValue};
use crate::request::{Options, listed};

use super::apple::AppleResetGate;

/// The operation that a macro declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Declares {
    /// One step of OpenVINO's cell.
    Step,
    /// OpenVINO's sequence.
    Sequence,
    /// A sequence with the terms of Apple's BNNS.
    Apple,
}

/// A macro: a row of the table of macros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Macro {
    /// The name with the exclamation mark.
    name: &'static str,
    family: Family,
    declares: Declares,
}

/// The table of macros: for each row its constant, and the list of all rows.
macro_rules! macros {
    ($($constant:ident = ($name:literal, $family:ident, $declares:ident)),* $(,)?) => {
        #[allow(missing_docs)] // the names describe the macros
        impl Macro {
            $(
                pub const $constant: Self =
                    Self { name: $name, family: Family::$family, declares: Declares::$declares };
            )*

            /// Every macro, in the order of the documents.
            pub const ALL: &[Self] = &[$(Self::$constant),*];
        }
    };
}

macros! {
    GRU_CELL = ("gru_cell!", Gru, Step),
    RNN_CELL = ("rnn_cell!", Rnn, Step),
    LSTM_CELL = ("lstm_cell!", Lstm, Step),
    AUGRU_CELL = ("augru_cell!", Augru, Step),
    GRU_SEQUENCE = ("gru_sequence!", Gru, Sequence),
    RNN_SEQUENCE = ("rnn_sequence!", Rnn, Sequence),
    LSTM_SEQUENCE = ("lstm_sequence!", Lstm, Sequence),
    AUGRU_SEQUENCE = ("augru_sequence!", Augru, Sequence),
    APPLE_GRU = ("gru!", Gru, Apple),
}

impl Macro {
    /// The name with the exclamation mark.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// The family of the declared cell.
    pub(crate) fn family(self) -> Family {
        self.family
    }

    /// True for several steps: a sequence of OpenVINO or of Apple.
    pub(crate) fn is_sequence(self) -> bool {
        self.declares != Declares::Step
    }

    /// True for Apple's `gru`.
    pub(crate) fn is_apple(self) -> bool {
        self.declares == Declares::Apple
    }

    /// The macro for one of OpenVINO's operations.
    pub(crate) fn find(family: Family, sequence: bool) -> Option<Self> {
        let declares = if sequence { Declares::Sequence } else { Declares::Step };
        Self::ALL.iter().copied().find(|row| row.family == family && row.declares == declares)
    }

    /// The macro's keys, in the order of messages.
    pub fn keys(self) -> impl Iterator<Item = Key> {
        Key::all().filter(move |key| key.row().applies_to.is_some_and(|applies| applies(self)))
    }

    /// True if the macro has the key.
    pub(crate) fn takes(self, key: Key) -> bool {
        self.keys().any(|own| own == key)
    }
}

/// The row of a key.
struct KeyRow {
    /// The name in macros.
    name: &'static str,
    takes: Takes,
    /// The valid values in a macro, with an example, for messages.
    valid: fn(Macro) -> &'static str,
    /// The macros with this key. `None`: no macro.
    applies_to: Option<fn(Macro) -> bool>,
    /// Help for a macro without this key: the macros that have the key.
    elsewhere: Option<&'static str>,
    /// The name and the valid values on the command line and in the metadata of a file of weights.
    in_files: Option<(&'static str, &'static str)>,
    /// The input without which the key has no meaning. [`Key::need`] finds the input for keys of
    /// flags.
    need: Option<Need>,
}

impl KeyRow {
    /// The defaults of a row: every macro has the key, and the value is a size.
    const ANY: Self = Self {
        name: "",
        takes: Takes::Size,
        valid: |_| "",
        applies_to: Some(|_| true),
        elsewhere: None,
        in_files: None,
        need: None,
    };
}

/// The keys, each with its row.
macro_rules! keys {
    ($($key:ident { $($field:ident: $value:expr),* $(,)? })*) => {
        /// A key.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[allow(missing_docs)] // the rows describe the keys
        pub enum Key { $($key),* }

        impl Key {
            /// Every key, in the order of messages.
            pub fn all() -> impl Iterator<Item = Self> {
                [$(Self::$key),*].into_iter()
            }

            #[allow(clippy::needless_update)] // some rows have every field
            fn row(self) -> KeyRow {
                match self {
                    $(Self::$key => KeyRow { $($field: $value,)* ..KeyRow::ANY }),*
                }
            }
        }
    };
}

/// The useful values of a declared clip. [`crate::check`] warns of negative
/// numbers and NaN, which clip nothing.
pub(crate) const CLIP: &str = "0 for no clipping, or a number above it that f32 holds: 3.0";

const IN_LSTM_CELL: Option<&str> = Some("LSTMCell-1 has it, one step: lstm_cell!");
const IN_APPLES: Option<&str> = Some("Apple's operation has it: gru!");
const SWITCH: &str = "true or false";
const SIZE: &str = "a whole number from 1";

/// True if a macro's declaration may have several layers.
fn stackable(called: Macro) -> bool {
    called.family().has_variants() && !called.is_apple()
}

fn lstm_cell(called: Macro) -> bool {
    called == Macro::LSTM_CELL
}

keys! {
    Cell {
        name: "cell",
        takes: Takes::Word(|| {
            [Family::Rnn, Family::Gru, Family::Lstm].map(|cell| (cell.name(), cell.into())).into()
        }),
        applies_to: None,
        in_files: Some(("cell", "rnn, gru or lstm")),
    }
    HiddenSize {
        name: "hidden_size",
        valid: |_| "a whole number from 1: hidden_size = 128",
        in_files: Some(("hidden_size", SIZE)),
    }
    InputSize {
        name: "input_size",
        valid: |_| "a whole number from 1: input_size = 16",
        in_files: Some(("input_size", SIZE)),
    }
    Batch {
        name: "batch",
        valid: |_| "a whole number from 1: batch = 1",
        in_files: Some(("batch", SIZE)),
    }
    Steps {
        name: "steps",
        valid: |_| "a whole number from 1: steps = 10",
        applies_to: Some(Macro::is_sequence),
        elsewhere: Some("steps are those of a sequence: gru_sequence!, rnn_sequence!, \
            lstm_sequence!"),
        in_files: Some(("sequence", "a whole number of steps from 1")),
    }
    Direction {
        name: "direction",
        takes: Takes::Word(|| {
            Direction::ALL.map(|direction| (direction.name(), direction.into())).into()
        }),
        valid: |called| match called.is_apple() {
            true => "forward or reverse: direction = reverse",
            false => "forward, reverse or bidirectional: direction = reverse",
        },
        applies_to: Some(|called| called.is_sequence() && called.family().has_variants()),
        elsewhere: Some("a direction is that of a sequence: gru_sequence!, rnn_sequence!, \
            lstm_sequence!"),
        in_files: Some(("direction", "forward, reverse or bidirectional")),
    }
    Layers {
        name: "layers",
        valid: |_| "a whole number from 1: layers = 2",
        applies_to: Some(stackable),
        in_files: Some(("layers", SIZE)),
    }
    LinearBeforeReset {
        name: "linear_before_reset",
        takes: Takes::Switch,
        valid: |_| "true or false: linear_before_reset = true",
        applies_to: Some(|called| called.family().has_reset_gate() && !called.is_apple()),
        elsewhere: Some("a cell that has a reset gate is declared by gru_cell!"),
        in_files: Some(("linear_before_reset", SWITCH)),
    }
    Clip {
        name: "clip",
        takes: Takes::Bound,
        valid: |_| CLIP,
        applies_to: Some(stackable),
        in_files: Some(("clip", CLIP)),
    }
    Activations {
        name: "activations",
        takes: Takes::Activations,
        valid: |called| match called.family() {
            Family::Rnn => "a list of one: activations = [tanh]",
            Family::Gru | Family::Augru => "a list of two: activations = [sigmoid, tanh]",
            Family::Lstm => "a list of three: activations = [sigmoid, tanh, tanh]",
        },
        applies_to: Some(stackable),
        in_files: Some(("activations", "activations with commas between them: sigmoid,tanh")),
    }
    InputForget {
        name: "input_forget",
        takes: Takes::Switch,
        valid: |_| "true or false: input_forget = true",
        applies_to: Some(lstm_cell),
        elsewhere: IN_LSTM_CELL,
    }
    Peepholes {
        name: "peepholes",
        takes: Takes::Switch,
        valid: |_| "true or false: peepholes = true",
        applies_to: Some(lstm_cell),
        elsewhere: IN_LSTM_CELL,
    }
    WeightsFormat {
        name: "weights_format",
        takes: Takes::Word(|| LstmGateOrder::ALL.map(|order| (order.name(), order.into())).into()),
        valid: |_| "fico, icof, ifco, ifoc or iofc: weights_format = ifco",
        applies_to: Some(lstm_cell),
        elsewhere: IN_LSTM_CELL,
    }
    Activation {
        name: "activation",
        takes: Takes::Activation,
        valid: |_| "an activation: activation = tanh",
        applies_to: Some(Macro::is_apple),
        elsewhere: IN_APPLES,
    }
    RecurrentActivation {
        name: "recurrent_activation",
        takes: Takes::Activation,
        valid: |_| "an activation: recurrent_activation = sigmoid",
        applies_to: Some(Macro::is_apple),
        elsewhere: IN_APPLES,
    }
    ApplyResetGateAfterMatMul {
        name: "apply_reset_gate_after_mat_mul",
        takes: Takes::Switch,
        valid: |_| "true or false: apply_reset_gate_after_mat_mul = true",
        applies_to: Some(Macro::is_apple),
        elsewhere: IN_APPLES,
    }
    ResetGate {
        name: "reset_gate",
        takes: Takes::Word(|| AppleResetGate::ALL.map(|gate| (gate.name(), gate.into())).into()),
        valid: |_| "before_mat_mul, after_mat_mul or after_mat_mul_outer_bias: reset_gate = \
            after_mat_mul",
        applies_to: Some(Macro::is_apple),
        elsewhere: IN_APPLES,
    }
    OutputSequence {
        name: "output_sequence",
        takes: Takes::Switch,
        valid: |_| "true or false: output_sequence = false",
        applies_to: Some(Macro::is_apple),
        elsewhere: IN_APPLES,
    }
    Model {
        name: "model",
        takes: Takes::Path,
        valid: |_| "a file, relative to the folder of Cargo.toml: model = \"model.xml\"",
        applies_to: Some(|called| !called.is_apple()),
    }
    Dim {
        name: "dim",
        takes: Takes::Flag(&flag::DIM),
        valid: |_| "a list of names that an ONNX model has for sizes, and these: dim = \
            [\"batch=1\"]",
        applies_to: Some(|called| !called.is_apple()),
    }
    Const {
        name: "const",
        takes: Takes::Flag(&flag::CONST),
        valid: |_| "a list of names of inputs, and the number that every element is: const = \
            [\"sr=16000\"]",
        applies_to: Some(|called| !called.is_apple()),
    }
    Weights {
        name: "weights",
        takes: Takes::Path,
        valid: |_| "a file, relative to the folder of Cargo.toml: weights = \"model.bin\"",
    }
    Prefix {
        name: "prefix",
        takes: Takes::Text,
        valid: |_| "the name of a module in the file of weights: prefix = \"gru\"",
        applies_to: Some(|called| called.family().has_variants()),
        in_files: Some(("prefix", "the name of a module")),
        need: Some(Need::TensorFile),
    }
    Head {
        name: "head",
        takes: Takes::Text,
        valid: |_| "the name of a dense layer in the file of weights: head = \"fc\"",
        applies_to: Some(stackable),
        in_files: Some(("head", "the name of a dense layer")),
        need: Some(Need::TensorFile),
    }
    HeadActivation {
        name: "head_activation",
        takes: Takes::Activation,
        valid: |_| "an activation: head_activation = sigmoid",
        applies_to: Some(stackable),
        in_files: Some(("head_activation", "an activation: sigmoid, leaky_relu(0.1)")),
        need: Some(Need::Key(Key::Head)),
    }
    Skip {
        name: "skip",
        takes: Takes::Switch,
        valid: |_| "true or false: skip = true",
        applies_to: Some(stackable),
        in_files: Some(("skip", SWITCH)),
    }
    GateOrder {
        name: "gate_order",
        takes: Takes::GateOrder,
        valid: |called| match called.family() {
            Family::Lstm => "the letters i, f, c and o: gate_order = ifco",
            _ => "the letters r, z and n: gate_order = rzn",
        },
        applies_to: Some(|called| {
            matches!(called.family(), Family::Gru | Family::Lstm) && !called.is_apple()
        }),
        in_files: Some(("gate_order", "the letters i, f, c and o of an LSTM, r, z and n of a GRU: \
            ifco, rzn")),
        need: Some(Need::TensorFile),
    }
    Isa {
        name: "isa",
        takes: Takes::Flag(&flag::ISA),
        valid: |_| "a list of instruction sets in addition to the generic one: isa = [avx2, \
            avx512]",
    }
    Target { name: "target", takes: Takes::Flag(&flag::TARGET) }
    Unroll { name: "unroll", takes: Takes::Flag(&flag::UNROLL) }
    Fma { name: "fma", takes: Takes::Flag(&flag::FMA) }
    Accuracy { name: "accuracy", takes: Takes::Flag(&flag::ACCURACY) }
    KeepDenormals { name: "keep_denormals", takes: Takes::Flag(&flag::KEEP_DENORMALS) }
    Precision { name: "precision", takes: Takes::Flag(&flag::PRECISION) }
    PrecisionOf {
        name: "precision_of",
        takes: Takes::Flag(&flag::PRECISION_OF),
        valid: |_| "a list of layers and their precisions: precision_of = [\"head=f32\", \
            \"gru=int16\"]",
    }
    Tune {
        name: "tune",
        takes: Takes::Flag(&flag::TUNE),
        valid: |_| "a list of decisions of the planner: tune = [\"rows-at-once=4\"]",
    }
    Threads {
        name: "threads",
        takes: Takes::Flag(&flag::THREADS),
        applies_to: Some(|called| !called.is_sequence()),
        elsewhere: Some("threads share a cell of one step: gru_cell!, rnn_cell!, lstm_cell!"),
    }
}

impl Key {
    /// The name in macros.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The keys of macros.
    pub(crate) fn of_macros() -> impl Iterator<Item = Self> {
        Self::all().filter(|key| key.row().applies_to.is_some())
    }

    /// The keys of the command line and of the metadata of a file of weights.
    pub fn of_files() -> impl Iterator<Item = Self> {
        Self::all().filter(|key| key.row().in_files.is_some())
    }

    /// The name on the command line and in the metadata of a file of weights.
    pub fn name_in_files(self) -> &'static str {
        self.row().in_files.map_or(self.row().name, |(name, _)| name)
    }

    /// The setting of the key.
    pub(crate) fn setting(self) -> Setting {
        Setting::Key { name: self.name(), in_files: self.name_in_files() }
    }

    /// The valid values on the command line and in metadata, for messages.
    pub(crate) fn valid_in_files(self) -> &'static str {
        self.row().in_files.map_or("", |(_, valid)| valid)
    }

    /// The valid values in a macro, with an example, for messages.
    pub(super) fn valid(self, called: Macro) -> String {
        let (name, row) = (self.name(), self.row());
        match row.takes {
            Takes::Flag(Flag { operand: FlagValue::Switch, .. }) => {
                format!("true or false: {name} = true")
            }
            Takes::Flag(
                flag @ Flag { operand: FlagValue::Word(..) | FlagValue::NamedWord(..), .. },
            ) => {
                let words: Vec<String> =
                    flag.words().iter().map(|word| in_macros(word.text)).collect();
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                let example = flag.default.unwrap_or(flag.example());
                format!("{}: {name} = {example}", listed(&words))
            }
            Takes::Flag(flag @ Flag { operand: FlagValue::Number(_), .. }) => {
                format!("a number: {name} = {}", flag.example())
            }
            _ => (row.valid)(called).to_owned(),
        }
    }

    /// The kind of the key's value.
    pub(crate) fn takes(self) -> Takes {
        self.row().takes
    }

    /// Help for a macro without this key: the macros that have the key.
    pub(super) fn elsewhere(self) -> Option<&'static str> {
        self.row().elsewhere
    }

    /// Sets the key's option to a value, if the key has an option.
    pub(super) fn choose(self, options: &mut Options, value: &Value) {
        let Takes::Flag(flag) = self.takes() else { return };
        let texts = match value {
            Value::Switch(true) => &[String::new()][..],
            Value::Texts(texts) => texts,
            _ => &[],
        };
        for text in texts {
            (flag.set)(options, text).expect("front: the reader has checked the value");
        }
    }
}

/// A word of the command line as a word in a macro: `x86_64` for `x86-64`.
pub(super) fn in_macros(word: &str) -> String {
    word.replace('-', "_")
}

/// A value with its place in the input.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Spanned<T> {
    pub(crate) value: T,
    pub(crate) origin: Origin,
}

impl<T> Spanned<T> {
    /// A value without a place: from an option, a method of the Builder, or a file.
    pub(crate) fn unplaced(value: T) -> Self {
        Self { value, origin: Origin::Unknown }
    }

    /// Another value at this place.
    pub(crate) fn with<U>(&self, value: U) -> Spanned<U> {
        Spanned { value, origin: self.origin.clone() }
    }
}

/// The given keys with their values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Keys(BTreeMap<Key, Spanned<Value>>);

impl Keys {
    /// Adds a value without a place, if given.
    pub fn add(&mut self, key: Key, value: Option<KeyValue>) {
        if let Some(value) = value {
            self.set(key, Spanned::unplaced(value.0));
        }
    }

    /// The given keys.
    pub fn given(&self) -> impl Iterator<Item = Key> {
        self.0.keys().copied()
    }

    /// Stores the value of a key with its place. Replaces an earlier value.
    pub(crate) fn set(&mut self, key: Key, value: Spanned<impl Into<Value>>) {
        self.0.insert(key, Spanned { value: value.value.into(), origin: value.origin });
    }

    /// Forgets a key.
    pub(crate) fn remove(&mut self, key: Key) {
        self.0.remove(&key);
    }

    /// The value of a key with its place. `None` if the key is not given.
    pub(crate) fn entry(&self, key: Key) -> Option<&Spanned<Value>> {
        self.0.get(&key)
    }

    /// The place of a key, if given.
    pub(crate) fn origin(&self, key: Key) -> Option<&Origin> {
        self.entry(key).map(|said| &said.origin)
    }

    /// The value of a key with its place. `None` if the key is not given or has a value of another
    /// type.
    pub(crate) fn get<T: FromValue>(&self, key: Key) -> Option<Spanned<T>> {
        let entry = self.entry(key)?;
        Some(entry.with(T::from_value(&entry.value)?))
    }

    /// The value without its place.
    pub(crate) fn value<T: FromValue>(&self, key: Key) -> Option<T> {
        T::from_value(&self.entry(key)?.value)
    }

    /// The origin of a switch with the value true. `None` if the switch is false or not given.
    pub(crate) fn origin_if_true(&self, key: Key) -> Option<&Origin> {
        self.entry(key).filter(|said| said.value == Value::Switch(true)).map(|said| &said.origin)
    }
}
