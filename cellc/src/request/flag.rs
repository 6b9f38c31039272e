//! The table of flags: options of the command line that set [`Options`], with names, values, help
//! and effects. The parser of the command line, its help, the comment at the top of generated
//! files, and the keys of macros are made from this table.

use super::bindings::STREAMS;
use super::flag_field::FlagField;
pub(crate) use super::flag_field::positive;
use super::{
    Accuracy, Bindings, Fma, Options, Precision, State, TUNING_KEYS, Threads, Unroll, WeightsAs,
    Word, Words,
};
use crate::arch::{self, Arch};
use crate::diagnostic::{FlagNames, Setting};

/// The value of a flag.
pub enum FlagValue {
    /// No value.
    Switch,
    /// One of the words, listed by the help.
    Word(&'static str, fn() -> Vec<Word>),
    /// One of the words, named in the text of the help.
    NamedWord(&'static str, fn() -> Vec<Word>),
    /// A number.
    Number(&'static str),
    /// A text.
    Text(&'static str),
    /// A text. Each repetition of the flag adds a value.
    Each(&'static str),
    /// Words with commas between them. Each repetition of the flag adds values.
    List(&'static str, fn() -> Vec<Word>),
    /// Texts with commas between them. Each repetition of the flag adds values.
    Texts(&'static str),
}

/// A group of `--help`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the headings describe the groups
pub enum Group {
    Model,
    State,
    Output,
    Machine,
    Precision,
    Developers,
}

impl Group {
    /// The heading.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Model => "Model and shapes",
            Self::State => "State",
            Self::Output => "Output",
            Self::Machine => "Machine",
            Self::Precision => "Precision",
            Self::Developers => "For developers of cellc",
        }
    }
}

/// The commands that take a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commands {
    /// Every command that reads a model.
    All,
    /// The command that writes files. Other commands have another flag of this name, or none.
    Compile,
}

/// The help that shows a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// `-h` and `--help`.
    Always,
    /// `--help`.
    InLongHelp,
}

/// The source of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelSource {
    /// A file with a graph: ONNX, OpenVINO.
    Graph,
    /// A file of an amplifier model: Neural Amp Modeler, RTNeural, AIDA-X.
    Amplifier,
    /// Layers that options, a macro or the Builder declare.
    Declaration,
}

impl ModelSource {
    const ALL: &[Self] = &[Self::Graph, Self::Amplifier, Self::Declaration];
    /// Files that describe a model.
    const IN_FILES: &[Self] = &[Self::Graph, Self::Amplifier];
    const GRAPHS: &[Self] = &[Self::Graph];
    const AMPLIFIERS: &[Self] = &[Self::Amplifier];
}

/// A flag: a row of the table.
pub struct Flag {
    /// The name without the two hyphens.
    pub name: &'static str,
    /// The reason why macros lack a key for the flag. `None`: macros have a key with the flag's
    /// name; underscores replace hyphens.
    pub why_no_key: Option<&'static str>,
    /// The value.
    pub operand: FlagValue,
    /// The group of `--help`.
    pub group: Group,
    /// The commands with this flag.
    pub commands: Commands,
    /// The help that shows the flag.
    pub shown: Shown,
    /// A further word of the command line that stands for several values in turn.
    pub several: Option<Word>,
    /// The effect, in one line. `{words}` in the line stands for the words of the value.
    pub help: &'static str,
    /// Further sentences of `--help`. May be empty.
    pub details: fn() -> String,
    /// A value other than the default. Empty for a switch, and if [`Self::words`] ends with the
    /// example.
    example: &'static str,
    /// The default value. `None` if the help names the default, or if the flag has no default.
    pub default: Option<&'static str>,
    /// The Builder's method, see [`FlagNames`].
    pub method: &'static str,
    /// The flag that contradicts this flag.
    pub excludes: Option<&'static str>,
    /// Stores a value in the options; a switch has the value "".
    ///
    /// # Errors
    /// The valid values, if the text is not valid.
    pub set: fn(&mut Options, &str) -> Result<(), String>,
    /// The values other than the default, as [`Self::set`] takes them.
    pub given: fn(&Options) -> Vec<String>,
    /// The sources of models to which the option applies. With models from other sources, the
    /// option is refused.
    pub about: &'static [ModelSource],
}

/// The placeholder for the words of a value in the help.
const WORDS: &str = "{words}";

impl Flag {
    /// The defaults of a row: a flag of every command, shown by `--help`.
    const ANY: Self = Self {
        name: "",
        why_no_key: None,
        operand: FlagValue::Switch,
        group: Group::Model,
        commands: Commands::All,
        shown: Shown::InLongHelp,
        several: None,
        help: "",
        details: String::new,
        example: "",
        default: None,
        method: "",
        excludes: None,
        // a row replaces both functions; the test below fails for a row that does not
        set: |_, _| Ok(()),
        given: |_| Vec::new(),
        about: ModelSource::ALL,
    };

    /// The option in advice.
    pub(crate) fn setting(&self) -> Setting {
        Setting::Flag(FlagNames { flag: self.name, method: self.method })
    }

    /// The name of a key of macros that would set the option.
    pub(crate) fn key_name(&self) -> String {
        self.name.replace('-', "_")
    }

    /// Checks a value.
    ///
    /// # Errors
    /// The valid values, if `text` is not valid.
    pub fn check(&self, text: &str) -> Result<(), String> {
        (self.set)(&mut Options::default(), text)
    }

    /// A value other than the default, for messages and tests. A switch has the value "".
    pub fn example(&self) -> &'static str {
        match self.example {
            "" => self.words().last().map_or("", |word| word.text),
            example => example,
        }
    }

    /// The effect, in one line.
    pub fn line(&self) -> String {
        self.with_words(self.help)
    }

    /// The text with the words of the value as a list in place of `{words}`.
    pub fn with_words(&self, text: &str) -> String {
        let words = self.words();
        text.replace(WORDS, &super::listed(&words.iter().map(|w| w.text).collect::<Vec<_>>()))
    }

    /// The words of the value. Empty: any text.
    pub fn words(&self) -> Vec<Word> {
        match self.operand {
            FlagValue::Word(_, words)
            | FlagValue::NamedWord(_, words)
            | FlagValue::List(_, words) => words(),
            FlagValue::Switch
            | FlagValue::Number(_)
            | FlagValue::Text(_)
            | FlagValue::Each(_)
            | FlagValue::Texts(_) => Vec::new(),
        }
    }
}

/// The flags: for each row a static item, and the list of all rows in the order of the help. A row
/// names the option that the flag sets, or has the functions `set` and `given`.
macro_rules! flags {
    ($($item:ident $(= $group:ident $(. $option:ident)?)? {
        name: $name:literal,
        help: $help:literal,
        $($field:ident: $value:expr),* $(,)?
    })*) => {
        $(
            #[allow(missing_docs)] // the help of the row describes the flag
            pub static $item: Flag =
                Flag {
                name: $name,
                help: $help,
                $(
                    set: |options, text| options.$group$(.$option)?.set(text),
                    given: |options| options.$group$(.$option)?.given(),
                )?
                $($field: $value,)*
                ..Flag::ANY
            };
        )*

        /// The help of a flag as a literal, for doc comments of methods that set the option.
        #[allow(unused_macros, reason = "only the Builder has such methods")]
        macro_rules! help_of {
            $(($item) => { $help };)*
        }
        #[allow(unused_imports, reason = "only the Builder has such methods")]
        pub(crate) use help_of;

        /// Every flag, in the order of the help.
        pub static FLAGS: &[&Flag] = &[$(&$item),*];
    };
}

flags! {
    BATCH {
        name: "batch",
        help: "The batch size, if the model leaves it open [default for PyTorch's weights: 1]; an \
            amplifier's channels",
        set: |options, text| batch(&mut options.bindings, text),
        operand: FlagValue::Number("N"),
        example: "3",
        shown: Shown::Always,
        details: || {
            "--batch streams:N computes N independent streams in a step, each with a state of its \
             own."
                .to_owned()
        },
        given: |options| options.bindings.batch_text().into_iter().collect(),
    }
    SHAPE = bindings.shapes {
        name: "shape",
        help: "The shape of an input with open sizes: x=1,100,16 or, for streaming, 'x=1,?,16'",
        operand: FlagValue::Each("NAME=SIZES"),
        example: "x=1,?,16",
        shown: Shown::Always,
        details: || {
            "x=1,100,16 is a whole sequence of 100 time steps. 'x=1,?,16' leaves the number of \
             time steps open, as does 'x=?,1,16' if time comes first. With ?, each call continues \
             from the state of the last call."
                .to_owned()
        },
        why_no_key: Some(
            "`dim = [\"NAME=SIZE\"]` gives sizes by name; `Builder::shape`, in a build \
             script, by input",
        ),
        about: ModelSource::IN_FILES,
    }
    DIM = bindings.dims {
        name: "dim",
        help: "The size of a named dimension of an ONNX model; steps=? leaves the number of steps \
            open",
        operand: FlagValue::Each("NAME=SIZE"),
        example: "steps=?",
        about: ModelSource::IN_FILES,
    }
    MAX_STEPS = bindings.max_steps {
        name: "max-steps",
        help: "Upper limit for the iterations of loops whose end is decided at run time",
        operand: FlagValue::Number("N"),
        example: "3",
        details: || "Outputs have room for N iterations.".to_owned(),
        why_no_key: Some("`Builder::max_steps`, in a build script, sets it"),
        about: ModelSource::GRAPHS,
    }
    CONST = bindings.constants {
        name: "const",
        help: "Make an input a constant; branches that the constant rules out are not compiled",
        operand: FlagValue::Each("NAME=NUMBER"),
        example: "scale=0.5",
        method: "constant",
        about: ModelSource::IN_FILES,
    }
    SIZE = bindings.size {
        name: "size",
        help: "The size of an amplifier model that has several: largest, smallest, or a number \
            from 0 to 1",
        operand: FlagValue::Text("SIZE"),
        example: "smallest",
        details: || {
            "The number is the place of Neural Amp Modeler's size control.".to_owned()
        },
        why_no_key: Some("`Builder::size`, in a build script, sets it"),
        about: ModelSource::AMPLIFIERS,
    }
    SAMPLE_RATE = bindings.sample_rate {
        name: "sample-rate",
        help: "Compile an amplifier model for another sample rate, in Hz",
        operand: FlagValue::Number("HZ"),
        example: "96000",
        details: || {
            "Recurrent layers interpolate between states; dilations must stay whole numbers."
                .to_owned()
        },
        why_no_key: Some("`Builder::sample_rate`, in a build script, sets it"),
        about: ModelSource::AMPLIFIERS,
    }
    STATE {
        name: "state",
        help: "Keep a state, named by its input and output, between calls [default: all that cellc \
            finds]",
        set: |options, text| match (&mut options.bindings.state, pair(text)?) {
            (State::Pairs(pairs), pair) => {
                pairs.push(pair);
                Ok(())
            }
            (state, pair) => {
                *state = State::Pairs(vec![pair]);
                Ok(())
            }
        },
        operand: FlagValue::Each("IN=OUT"),
        example: "h=h_out",
        group: Group::State,
        shown: Shown::Always,
        details: || {
            "IN is the input that takes the state, OUT the output with the next value."
                .to_owned()
        },
        given: |options| match &options.bindings.state {
            State::Pairs(states) => states.given(),
            State::Auto | State::None => Vec::new(),
        },
        why_no_key: Some("`Builder::state`, in a build script, sets it"),
    }
    NO_STATE {
        name: "no-state",
        help: "Make every input of the model an argument of step, even if the input is a state",
        set: |options, _| {
            options.bindings.state = State::None;
            Ok(())
        },
        group: Group::State,
        details: || {
            "Silences notices about states, and warnings about layers that start every call from \
             the same state. Variables, and all states if the number of steps is open, are kept \
             nevertheless."
                .to_owned()
        },
        method: "state(cellc::State::None)",
        excludes: Some("state"),
        given: |options| (options.bindings.state == State::None).given(),
        why_no_key: Some("`Builder::state`, in a build script, sets it"),
    }
    TARGET = machine.target {
        name: "target",
        help: "The machine to compile for; decides instruction sets and loop sizes",
        operand: FlagValue::NamedWord("NAME", || {
            let word = |arch: &&Arch| Word { text: arch.name, help: "" };
            arch::TARGETS.iter().map(word).collect()
        }),
        group: Group::Machine,
        shown: Shown::Always,
        details: || {
            format!(
                "One of {}. any: one file for all machines, compiled by gcc, clang or rustc; \
                 portable: plain C11 for any compiler.",
                arch::TARGETS.map(|arch| arch.name).join(", ")
            )
        },
        default: Some(arch::TARGETS[0].name),
    }
    THREADS = machine.threads {
        name: "threads",
        help: "The number of threads, 1 or 2; has no effect on results",
        operand: FlagValue::NamedWord("N", Threads::words),
        group: Group::Machine,
        details: || {
            "With 2, the caller and a helper thread each compute half of a cell, if that is faster."
                .to_owned()
        },
        default: Some("1"),
    }
    UNROLL = tuning.unroll {
        name: "unroll",
        help: "How far to unroll loops",
        operand: FlagValue::Word("HOW", Unroll::words),
        group: Group::Machine,
        details: || {
            "full is refused above 8192 multiply-adds; rustc may take minutes.".to_owned()
        },
        default: Some("auto"),
    }
    PRECISION = numerics.precision {
        name: "precision",
        help: "The precision of matrix products: {words}",
        operand: FlagValue::NamedWord("PRECISION", Precision::words),
        example: "int8",
        group: Group::Precision,
        shown: Shown::Always,
        several: Some(Word { text: "all", help: "several precisions in turn" }),
        details: || {
            "f16 and bf16 store weights in 16 bits and multiply in f32. int16, int8x16 and int8 \
             round each row of weights when compiling, and x and h at every step, to integers \
             times one scale. The stated error bound includes all rounding. Default: f32; 8 bits \
             for quantised models. cellc check --precision all compares precisions."
                .to_owned()
        },
    }
    PRECISION_OF = numerics.precision_of {
        name: "precision-of",
        help: "The precision of one layer, by its name in the model",
        operand: FlagValue::Each("LAYER=PRECISION"),
        example: "head=int8",
        group: Group::Precision,
    }
    ACCURACY = numerics.accuracy {
        name: "accuracy",
        help: "The accuracy of activation functions",
        operand: FlagValue::Word("LEVEL", Accuracy::words),
        group: Group::Precision,
        default: Some("exact"),
    }
    FMA = numerics.fma {
        name: "fma",
        help: "Whether multiply-adds are fused",
        operand: FlagValue::Word("HOW", Fma::words),
        group: Group::Precision,
        default: Some("auto"),
    }
    KEEP_DENORMALS = numerics.keep_denormals {
        name: "keep-denormals",
        help: "Keep denormals",
        group: Group::Precision,
        details: || {
            "By default inputs, states and outputs below 2^-100 in magnitude are flushed to zero."
                .to_owned()
        },
    }
    TUNE = tuning {
        name: "tune",
        help: "Decisions of the planner, KEY=VALUE; no effect on results",
        method: "tuning",
        operand: FlagValue::Texts("CHOICES"),
        example: "fuse=on",
        group: Group::Developers,
        details: || {
            let keys = TUNING_KEYS.iter().map(|key| format!("{}={}", key.name, key.values));
            format!("Keys: {}.", keys.collect::<Vec<_>>().join(", "))
        },
    }
    NAME = output.name {
        name: "name",
        help: "The name of the type and functions [default: the name of the output file, else the \
            model]",
        operand: FlagValue::Text("NAME"),
        example: "denoiser",
        group: Group::Output,
        commands: Commands::Compile,
        why_no_key: Some("the name of the type comes first, without a key"),
    }
    WEIGHTS_AS = output.weights_as {
        name: "weights-as",
        help: "Where to put the weights",
        operand: FlagValue::Word("WHERE", WeightsAs::words),
        group: Group::Output,
        commands: Commands::Compile,
        default: Some("auto"),
        why_no_key: Some(
            "the code of a macro holds the weights; `Builder::weights_as`, in a build script, \
             sets it",
        ),
    }
    RUNTIME = output.runtime {
        name: "runtime",
        help: "Implement the trait cellc_runtime::Cell (Rust only)",
        group: Group::Output,
        commands: Commands::Compile,
        why_no_key: Some("`Builder::runtime`, in a build script, sets it"),
    }
    INTERFACE = output.interface {
        name: "interface",
        help: "Write a header file that declares a struct of function pointers (C only)",
        operand: FlagValue::Text("FILE"),
        example: "common.h",
        group: Group::Output,
        commands: Commands::Compile,
        details: || "The generated C file defines one such struct, for its model.".to_owned(),
        why_no_key: Some("only generated C has a common interface"),
    }
    ISA = machine.isas {
        name: "isa",
        help: "The instruction sets to generate code for, beside the target's baseline [default: \
            all]",
        operand: FlagValue::List("LIST", || {
            arch::ALL.iter().map(|isa| Word { text: isa.name, help: "" }).collect()
        }),
        group: Group::Machine,
        commands: Commands::Compile,
    }
    RANGE = numerics.range {
        name: "range",
        help: "The largest magnitudes of inputs and states for the stated error bound",
        operand: FlagValue::Text("X[,H]"),
        example: "2,0.5",
        group: Group::Precision,
        commands: Commands::Compile,
        default: Some("1,1"),
        why_no_key: Some(
            "the range is that of the bound in the comment of a file; `Builder::range`, in a \
             build script, sets it",
        ),
    }
}

/// The flags that the comment at the top of generated files states, in the order of the comment.
/// Other parts of the files show the values of the other flags.
static IN_COMMENT: [&Flag; 21] = [
    &TARGET,
    &ISA,
    &UNROLL,
    &TUNE,
    &FMA,
    &ACCURACY,
    &BATCH,
    &SHAPE,
    &DIM,
    &MAX_STEPS,
    &CONST,
    &SIZE,
    &SAMPLE_RATE,
    &RANGE,
    &PRECISION,
    &PRECISION_OF,
    &THREADS,
    &STATE,
    &NO_STATE,
    &RUNTIME,
    &KEEP_DENORMALS,
];

/// The words of the command line for the options of [`IN_COMMENT`] that differ from their defaults.
pub(super) fn given(options: &Options) -> Vec<String> {
    let mut words = Vec::new();
    for flag in IN_COMMENT {
        for value in (flag.given)(options) {
            words.push(format!("--{}", flag.name));
            words.extend((!matches!(flag.operand, FlagValue::Switch)).then_some(value));
        }
    }
    words
}

/// The number of independent streams in advice: a value of `--batch`, a method of its own in the
/// Builder.
pub(crate) fn streams() -> Setting {
    Setting::Flag(FlagNames { flag: BATCH.name, method: "streams" })
}

/// The flags of `bindings` that do not apply to a model from `source`.
pub(crate) fn misplaced(
    bindings: &Bindings,
    source: ModelSource,
) -> impl Iterator<Item = &'static Flag> {
    let options = Options { bindings: bindings.clone(), ..Options::default() };
    let others = FLAGS.iter().copied().filter(move |flag| !flag.about.contains(&source));
    others.filter(move |flag| !(flag.given)(&options).is_empty())
}

/// Stores the values that [`given`] lists. `None` if a flag or a value is unknown, as in a file by
/// another version of cellc.
pub(super) fn take(options: &mut Options, words: &[String]) -> Option<()> {
    let mut words = words.iter();
    while let Some(name) = words.next() {
        let flag = FLAGS.iter().find(|flag| name.strip_prefix("--") == Some(flag.name))?;
        match flag.operand {
            FlagValue::Switch => (flag.set)(options, "").ok()?,
            FlagValue::List(..) | FlagValue::Texts(_) => {
                let values = words.next()?;
                if flag.name == ISA.name {
                    options.machine.isas = Some(Vec::new());
                }
                let mut values = values.split(',').filter(|one| !one.is_empty());
                values.try_for_each(|one| (flag.set)(options, one)).ok()?;
            }
            _ => (flag.set)(options, words.next()?).ok()?,
        }
    }
    Some(())
}

/// Stores a batch size, or a number of streams of one row.
fn batch(bindings: &mut Bindings, text: &str) -> Result<(), String> {
    let streams = text.strip_prefix(STREAMS);
    let rows = positive(streams.unwrap_or(text))?;
    (bindings.batch, bindings.streams) = match streams {
        Some(_) => (None, Some(rows)),
        None => (Some(rows), None),
    };
    Ok(())
}

/// Reads the input and the output of a state.
fn pair(text: &str) -> Result<(String, String), String> {
    match text.split('=').collect::<Vec<_>>()[..] {
        [input, output] => Ok((input.to_owned(), output.to_owned())),
        _ => Err("an input's name, one '=' and an output's name are needed: h=h_out".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A flag gives back the value that was set. The comment at the top of generated files states
    /// the value, unless other parts of the files show it.
    #[test]
    fn files_state_every_flag_with_a_value() {
        let shown_otherwise = [&NAME, &WEIGHTS_AS, &INTERFACE].map(|flag| flag.name);
        assert_eq!(IN_COMMENT.len() + shown_otherwise.len(), FLAGS.len());
        assert_eq!(Options::default().given(), [""; 0]);
        for flag in FLAGS {
            let (mut options, value) = (Options::default(), flag.example().to_owned());
            (flag.set)(&mut options, &value).expect("the text is a value");
            assert_ne!(options, Options::default(), "--{}", flag.name);
            assert_eq!((flag.given)(&options), [&value[..]], "--{}", flag.name);
            let name = format!("--{}", flag.name);
            let expected = match flag.operand {
                _ if shown_otherwise.contains(&flag.name) => Vec::new(),
                FlagValue::Switch => vec![name],
                _ => vec![name, value],
            };
            assert_eq!(options.given(), expected);
        }
    }

    /// Defaults in the help are the defaults of the library.
    #[test]
    fn defaults_are_those_of_the_library() {
        for flag in FLAGS {
            let mut options = Options::default();
            if let Some(default) = flag.default {
                (flag.set)(&mut options, default).expect("a default is a value");
            }
            assert_eq!(options, Options::default(), "--{}", flag.name);
        }
    }
}
