//! The table of flags: options of the command line that set [`Options`], with names, values, help
//! and effects. The parser of the command line, its help, the comment at the top of generated
//! files, and the keys of macros take them from here.

use std::path::PathBuf;

use super::bindings::{STREAMS, is_size, shape_text};
use super::{
    Accuracy, Bindings, Fma, Options, Precision, Range, State, TUNING_KEYS, Threads, Unroll,
    WeightsAs, Word, Words, size_text,
};
use crate::arch::{self, Arch, Isa};
use crate::diagnostic::{FlagNames, Setting};
use crate::model::ModelSize;

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
#[allow(missing_docs)] // the headings say it
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
    /// The command that writes files. Others have a flag of their own, or none.
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
    /// A value other than the default. Empty: the last word, or the flag is a switch.
    example: &'static str,
    /// The value without the flag. `None`: the help says it, or there is none.
    pub default: Option<&'static str>,
    /// The Builder's method, see [`FlagNames`].
    pub method: &'static str,
    /// The flag that contradicts this flag.
    pub excludes: Option<&'static str>,
    /// Stores a value in the options; a switch has the value "".
    ///
    /// # Errors
    /// The valid values, if the text is none.
    pub set: fn(&mut Options, &str) -> Result<(), String>,
    /// The rank in the comment at the top of generated files. Flags of equal rank stand in the
    /// order of the help. `None`: the comment never names the flag, as other parts of the files
    /// show its value.
    pub comment_rank: Option<u8>,
    /// The values that differ from the default, for the comment at the top of generated files. A
    /// switch has the value "". Always empty for flags that other parts of the files show.
    pub given: fn(&Options) -> Vec<String>,
}

/// The place of the words of a value in the help.
const WORDS: &str = "{words}";

impl Flag {
    /// A flag of every command, shown by `--help`.
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
        // the macro below demands the name, the help and `set` of every row
        set: |_, _| Ok(()),
        comment_rank: None,
        given: |_| Vec::new(),
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
    /// The valid values, if `text` is none.
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

/// The flags: for each row a static item, and the list of all rows in the order of the help.
macro_rules! flags {
    ($($item:ident {
        name: $name:literal,
        help: $help:literal,
        set: $set:expr,
        $($field:ident: $value:expr),* $(,)?
    })*) => {
        $(
            #[allow(missing_docs)] // the row says it
            pub static $item: Flag =
                Flag {
                name: $name,
                help: $help,
                set: $set,
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
        help: "The batch size, if the model leaves it open [default for PyTorch's weights: 1]",
        set: |options, text| batch(&mut options.bindings, text),
        operand: FlagValue::Number("N"),
        example: "3",
        shown: Shown::Always,
        comment_rank: Some(6),
        details: || {
            "--batch streams:N computes N independent streams in a step, each with a state of its \
             own."
                .to_owned()
        },
        given: |options| options.bindings.batch_text().into_iter().collect(),
    }
    SHAPE {
        name: "shape",
        help: "The shape of an input with open sizes: x=1,100,16 or, for streaming, 'x=1,?,16'",
        set: |options, text| added(&mut options.bindings.shapes, shape(text)?),
        operand: FlagValue::Each("NAME=SIZES"),
        example: "x=1,?,16",
        shown: Shown::Always,
        details: || {
            "x=1,100,16 is a whole sequence of 100 time steps. 'x=1,?,16' leaves the number of \
             time steps open, as does 'x=?,1,16' if time comes first. With ?, each call continues \
             from the state of the last call."
                .to_owned()
        },
        comment_rank: Some(6),
        given: |options| pairs(&options.bindings.shapes, |sizes| shape_text(sizes)),
        why_no_key: Some(
            "`dim = [\"NAME=SIZE\"]` gives sizes by name; `Builder::shape`, in a build \
             script, by input",
        ),
    }
    DIM {
        name: "dim",
        help: "The size of a named dimension of an ONNX model; steps=? leaves the number of steps \
            open",
        set: |options, text| added(&mut options.bindings.dims, Bindings::dim_of(text)?),
        operand: FlagValue::Each("NAME=SIZE"),
        example: "steps=?",
        comment_rank: Some(6),
        given: |options| pairs(&options.bindings.dims, |size| size_text(*size)),
    }
    MAX_STEPS {
        name: "max-steps",
        help: "Upper limit for the iterations of loops whose end is decided at run time",
        set: |options, text| stored(&mut options.bindings.max_steps, Some(positive(text)?)),
        operand: FlagValue::Number("N"),
        example: "3",
        details: || "Outputs have room for N iterations.".to_owned(),
        comment_rank: Some(6),
        given: |options| options.bindings.max_steps.iter().map(usize::to_string).collect(),
        why_no_key: Some("`Builder::max_steps`, in a build script, sets it"),
    }
    CONST {
        name: "const",
        help: "Make an input a constant; branches that the constant rules out are not compiled",
        set: |options, text| added(&mut options.bindings.constants, Bindings::constant_of(text)?),
        operand: FlagValue::Each("NAME=NUMBER"),
        example: "scale=0.5",
        method: "constant",
        comment_rank: Some(6),
        given: |options| pairs(&options.bindings.constants, String::clone),
    }
    SIZE {
        name: "size",
        help: "The size of an amplifier model that has several: largest, smallest, or a number \
            from 0 to 1",
        set: |options, text| stored(&mut options.bindings.size, Some(ModelSize::parse(text)?)),
        operand: FlagValue::Text("SIZE"),
        example: "smallest",
        details: || {
            "The number is the place of Neural Amp Modeler's size control.".to_owned()
        },
        comment_rank: Some(6),
        given: |options| options.bindings.size.iter().map(|size| size.text()).collect(),
        why_no_key: Some("`Builder::size`, in a build script, sets it"),
    }
    SAMPLE_RATE {
        name: "sample-rate",
        help: "Compile an amplifier model for another sample rate, in Hz",
        set: |options, text| stored(&mut options.bindings.sample_rate, Some(positive(text)?)),
        operand: FlagValue::Number("HZ"),
        example: "96000",
        details: || {
            "Recurrent layers interpolate between states; dilations must stay whole numbers."
                .to_owned()
        },
        comment_rank: Some(6),
        given: |options| options.bindings.sample_rate.iter().map(usize::to_string).collect(),
        why_no_key: Some("`Builder::sample_rate`, in a build script, sets it"),
    }
    STATE {
        name: "state",
        help: "Keep a state, named by its input and output, between calls [default: all that cellc \
            finds]",
        set: |options, text| match (&mut options.bindings.state, pair(text)?) {
            (State::Pairs(pairs), pair) => added(pairs, pair),
            (state, pair) => stored(state, State::Pairs(vec![pair])),
        },
        operand: FlagValue::Each("IN=OUT"),
        example: "h=h_out",
        group: Group::State,
        shown: Shown::Always,
        details: || {
            "IN is the input that takes the state, OUT the output with the next value."
                .to_owned()
        },
        comment_rank: Some(10),
        given: |options| match &options.bindings.state {
            State::Pairs(states) => pairs(states, String::clone),
            State::Auto | State::None => Vec::new(),
        },
        why_no_key: Some("`Builder::state`, in a build script, sets it"),
    }
    NO_STATE {
        name: "no-state",
        help: "Make every input of the model an argument of step, even if the input is a state",
        set: |options, _| stored(&mut options.bindings.state, State::None),
        group: Group::State,
        details: || {
            "Silences notices about states, and warnings about layers that start every call from \
             the same state. Variables, and all states if the number of steps is open, are kept \
             nevertheless."
                .to_owned()
        },
        method: "state(cellc::State::None)",
        excludes: Some("state"),
        comment_rank: Some(10),
        given: |options| switched(options.bindings.state == State::None),
        why_no_key: Some("`Builder::state`, in a build script, sets it"),
    }
    TARGET {
        name: "target",
        help: "The machine to compile for; decides instruction sets and loop sizes",
        set: |options, text| {
            let target = Arch::from_name(text).ok_or("the name of a target is needed")?;
            stored(&mut options.machine.target, target)
        },
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
        comment_rank: Some(0),
        given: |options| {
            let name = options.machine.target.name;
            (name != arch::TARGETS[0].name).then(|| name.to_owned()).into_iter().collect()
        },
    }
    THREADS {
        name: "threads",
        help: "The number of threads, 1 or 2; has no effect on results",
        set: |options, text| worded(&mut options.machine.threads, text),
        operand: FlagValue::NamedWord("N", Threads::words),
        group: Group::Machine,
        details: || {
            "With 2, the caller and a helper thread each compute half of a cell, if that is faster."
                .to_owned()
        },
        default: Some("1"),
        comment_rank: Some(9),
        given: |options| unless_default(options.machine.threads),
    }
    UNROLL {
        name: "unroll",
        help: "How far to unroll loops",
        set: |options, text| worded(&mut options.tuning.unroll, text),
        operand: FlagValue::Word("HOW", Unroll::words),
        group: Group::Machine,
        details: || {
            "full is refused above 8192 multiply-adds; rustc may take minutes.".to_owned()
        },
        default: Some("auto"),
        comment_rank: Some(2),
        given: |options| unless_default(options.tuning.unroll),
    }
    PRECISION {
        name: "precision",
        help: "The precision of matrix products: {words}",
        set: |options, text| {
            let precision = Precision::from_word(text).ok_or_else(words_of::<Precision>)?;
            stored(&mut options.numerics.precision, Some(precision))
        },
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
        comment_rank: Some(8),
        given: |options| {
            options.numerics.precision.iter().map(|precision| precision.name().to_owned()).collect()
        },
    }
    PRECISION_OF {
        name: "precision-of",
        help: "The precision of one layer, by its name in the model",
        set: |options, text| added(&mut options.numerics.precision_of, Precision::of_layer(text)?),
        operand: FlagValue::Each("LAYER=PRECISION"),
        example: "head=int8",
        group: Group::Precision,
        comment_rank: Some(8),
        given: |options| {
            pairs(&options.numerics.precision_of, |precision| precision.name().to_owned())
        },
    }
    ACCURACY {
        name: "accuracy",
        help: "The accuracy of activation functions",
        set: |options, text| worded(&mut options.numerics.accuracy, text),
        operand: FlagValue::Word("LEVEL", Accuracy::words),
        group: Group::Precision,
        default: Some("exact"),
        comment_rank: Some(5),
        given: |options| unless_default(options.numerics.accuracy),
    }
    FMA {
        name: "fma",
        help: "Whether multiply-adds are fused",
        set: |options, text| worded(&mut options.numerics.fma, text),
        operand: FlagValue::Word("HOW", Fma::words),
        group: Group::Precision,
        default: Some("auto"),
        comment_rank: Some(4),
        given: |options| unless_default(options.numerics.fma),
    }
    KEEP_DENORMALS {
        name: "keep-denormals",
        help: "Keep denormals",
        set: |options, _| stored(&mut options.numerics.keep_denormals, true),
        group: Group::Precision,
        details: || {
            "By default inputs, states and outputs below 2^-100 in magnitude are flushed to zero."
                .to_owned()
        },
        comment_rank: Some(12),
        given: |options| switched(options.numerics.keep_denormals),
    }
    TUNE {
        name: "tune",
        help: "Decisions of the planner, KEY=VALUE; no effect on results",
        set: |options, text| options.tuning.set(text),
        method: "tuning",
        operand: FlagValue::Texts("CHOICES"),
        example: "fuse=on",
        group: Group::Developers,
        details: || {
            let keys = TUNING_KEYS.iter().map(|key| format!("{}={}", key.name, key.values));
            format!("Keys: {}.", keys.collect::<Vec<_>>().join(", "))
        },
        comment_rank: Some(3),
        given: |options| {
            let choices = options.tuning.given().join(",");
            (!choices.is_empty()).then_some(choices).into_iter().collect()
        },
    }
    NAME {
        name: "name",
        help: "The name of the type and functions [default: the name of the output file, else the \
            model]",
        set: |options, text| stored(&mut options.output.name, Some(text.to_owned())),
        operand: FlagValue::Text("NAME"),
        example: "denoiser",
        group: Group::Output,
        commands: Commands::Compile,
        why_no_key: Some("the name of the type comes first, without a key"),
    }
    WEIGHTS_AS {
        name: "weights-as",
        help: "Where to put the weights",
        set: |options, text| worded(&mut options.output.weights_as, text),
        operand: FlagValue::Word("WHERE", WeightsAs::words),
        group: Group::Output,
        commands: Commands::Compile,
        default: Some("auto"),
        why_no_key: Some(
            "the code of a macro holds the weights; `Builder::weights_as`, in a build script, \
             sets it",
        ),
    }
    RUNTIME {
        name: "runtime",
        help: "Implement the trait cellc_runtime::Cell (Rust only)",
        set: |options, _| stored(&mut options.output.runtime, true),
        group: Group::Output,
        commands: Commands::Compile,
        comment_rank: Some(11),
        given: |options| switched(options.output.runtime),
        why_no_key: Some("`Builder::runtime`, in a build script, sets it"),
    }
    INTERFACE {
        name: "interface",
        help: "Write a header file that declares a struct of function pointers (C only)",
        set: |options, text| stored(&mut options.output.interface, Some(PathBuf::from(text))),
        operand: FlagValue::Text("FILE"),
        example: "common.h",
        group: Group::Output,
        commands: Commands::Compile,
        details: || "The generated C file defines one such struct, for its model.".to_owned(),
        why_no_key: Some("only generated C has a common interface"),
    }
    ISA {
        name: "isa",
        help: "The instruction sets to generate code for, beside the target's baseline [default: \
            all]",
        set: |options, text| {
            let isa = Isa::from_name(text);
            let isa = isa.ok_or_else(|| arch::ALL.map(|isa| isa.name).join(", "))?;
            added(options.machine.isas.get_or_insert_default(), isa)
        },
        operand: FlagValue::List("LIST", || {
            arch::ALL.iter().map(|isa| Word { text: isa.name, help: "" }).collect()
        }),
        group: Group::Machine,
        commands: Commands::Compile,
        comment_rank: Some(1),
        given: |options| {
            let names = |isas: &Vec<&Isa>| isas.iter().map(|isa| isa.name).collect::<Vec<_>>();
            options.machine.isas.iter().map(|isas| names(isas).join(",")).collect()
        },
    }
    RANGE {
        name: "range",
        help: "The largest magnitudes of inputs and states for the stated error bound",
        set: |options, text| stored(&mut options.numerics.range, Range::read(text)?),
        operand: FlagValue::Text("X[,H]"),
        example: "2,0.5",
        group: Group::Precision,
        commands: Commands::Compile,
        default: Some("1,1"),
        comment_rank: Some(7),
        given: |options| {
            let range = options.numerics.range;
            let text = || format!("{},{}", range.x, range.h);
            (range != Range::default()).then(text).into_iter().collect()
        },
        why_no_key: Some(
            "the range is that of the bound in the comment of a file; `Builder::range`, in a \
             build script, sets it",
        ),
    }
}

/// The words of the command line for the options that differ from their defaults.
pub(super) fn given(options: &Options) -> Vec<String> {
    let mut flags = FLAGS.to_vec();
    flags.sort_by_key(|flag| flag.comment_rank);
    let mut words = Vec::new();
    for flag in flags {
        for value in (flag.given)(options) {
            words.push(format!("--{}", flag.name));
            words.extend((!matches!(flag.operand, FlagValue::Switch)).then_some(value));
        }
    }
    words
}

/// Stores the values that [`given`] lists. `None`: the words are of another version.
pub(super) fn take(options: &mut Options, words: &[String]) -> Option<()> {
    let mut words = words.iter();
    while let Some(name) = words.next() {
        let flag = FLAGS.iter().find(|flag| name.strip_prefix("--") == Some(flag.name))?;
        match flag.operand {
            FlagValue::Switch => (flag.set)(options, "").ok()?,
            FlagValue::List(..) | FlagValue::Texts(_) => {
                let all = words.next()?;
                if flag.name == ISA.name {
                    options.machine.isas = Some(Vec::new());
                }
                let mut all = all.split(',').filter(|one| !one.is_empty());
                all.try_for_each(|one| (flag.set)(options, one)).ok()?;
            }
            _ => (flag.set)(options, words.next()?).ok()?,
        }
    }
    Some(())
}

/// Stores a value.
fn stored<T>(place: &mut T, value: T) -> Result<(), String> {
    *place = value;
    Ok(())
}

/// Adds a value.
fn added<T>(place: &mut Vec<T>, value: T) -> Result<(), String> {
    place.push(value);
    Ok(())
}

/// Stores the value for a word.
fn worded<T: Words>(place: &mut T, text: &str) -> Result<(), String> {
    stored(place, T::from_word(text).ok_or_else(words_of::<T>)?)
}

/// The words of an option, in a sentence.
fn words_of<T: Words>() -> String {
    super::listed(&T::words().iter().map(|word| word.text).collect::<Vec<_>>())
}

/// The word for a value unless the value is the default.
fn unless_default<T: Words>(value: T) -> Vec<String> {
    (value != T::default()).then(|| value.word().to_owned()).into_iter().collect()
}

/// The value of a switch.
fn switched(on: bool) -> Vec<String> {
    on.then(String::new).into_iter().collect()
}

/// Names with values, each as NAME=VALUE.
fn pairs<T>(pairs: &[(String, T)], text: impl Fn(&T) -> String) -> Vec<String> {
    pairs.iter().map(|(name, value)| format!("{name}={}", text(value))).collect()
}

/// Reads a number above 0.
pub(crate) fn positive(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(size) if is_size(size) => Ok(size),
        Ok(size) => Err(format!("{size} is no size: at least 1 is needed")),
        Err(_) => Err("a whole number from 1 is needed".to_owned()),
    }
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

/// Reads the shape of an input.
fn shape(text: &str) -> Result<(String, Vec<Option<usize>>), String> {
    // the last one: a name may hold '=', sizes cannot
    let (name, sizes) =
        text.rsplit_once('=').ok_or("an input's name, '=' and its sizes are needed: x=1,16")?;
    let size = |text: &str| if text == "?" { Ok(None) } else { positive(text).map(Some) };
    let sizes = sizes.split(',').map(|text| size(text.trim())).collect::<Result<_, _>>()?;
    Ok((name.to_owned(), sizes))
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

    /// The comment at the top of generated files gives every flag back that the files do not show
    /// otherwise.
    #[test]
    fn files_state_every_flag_with_a_value() {
        assert_eq!(Options::default().given(), [""; 0]);
        for flag in FLAGS {
            let (mut options, value) = (Options::default(), flag.example().to_owned());
            (flag.set)(&mut options, &value).expect("the text is a value");
            assert_ne!(options, Options::default(), "--{}", flag.name);
            let name = format!("--{}", flag.name);
            let expected = match flag.operand {
                _ if flag.comment_rank.is_none() => Vec::new(),
                FlagValue::Switch => vec![name],
                _ => vec![name, value],
            };
            assert_eq!(options.given(), expected);
        }
    }

    #[test]
    fn the_order_of_the_table_is_that_of_the_comment_in_files() {
        let mut options = Options::default();
        for flag in FLAGS.iter().filter(|flag| flag.name != "no-state") {
            (flag.set)(&mut options, flag.example()).expect("the text is a value");
        }
        let given = options.given();
        let names: Vec<_> = given.iter().filter_map(|word| word.strip_prefix("--")).collect();
        let expected = "target isa unroll tune fma accuracy batch shape dim max-steps const size \
            sample-rate range precision precision-of threads state runtime keep-denormals";
        assert_eq!(names.join(" "), expected);
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
