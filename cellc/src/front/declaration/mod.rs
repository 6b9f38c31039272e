//! The macros' way in: the tokens `pub Name<key = value, ...>` become a `Declaration`, in which every
//! value remembers its tokens, so that whatever is wrong with it is reported there.

mod value;

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{Lit, Token, token};

use self::value::Value;
use super::apple::{AppleGru, AppleResetGate};
use super::declared::{CLIP, Declared, Family, Said, clip_bound, is_clip};
use super::layout::GateOrder;
#[cfg(feature = "read-safetensors")]
use super::safetensors::Selection;
use super::underflows;
#[cfg(feature = "read-safetensors")]
use super::weights_file::{self, Keys};
use crate::arch::{self, Isa};
use crate::diagnostic::{Diagnostic, Diagnostics, Origin};
use crate::model::{Activation, Dim, Direction, LstmGateOrder, Model, Op, ResetGate, ValidCell, ValidModel, ValidOp};
use crate::options::{Accuracy, Fma, Options, Threads, Unroll, WeightFormat, WeightsAs};

/// Which macro was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub enum Macro {
    GruCell,
    RnnCell,
    LstmCell,
    AugruCell,
    GruSequence,
    RnnSequence,
    LstmSequence,
    AugruSequence,
    /// `gru!`, in Apple's terms.
    AppleGru,
}

impl Macro {
    /// The macros for one step or a sequence of OpenVINO's cells.
    const OF_CELLS: [Self; 8] = [
        Self::GruCell,
        Self::RnnCell,
        Self::LstmCell,
        Self::AugruCell,
        Self::GruSequence,
        Self::RnnSequence,
        Self::LstmSequence,
        Self::AugruSequence,
    ];

    /// Its name with the exclamation mark.
    pub fn name(self) -> &'static str {
        match self {
            Self::GruCell => "gru_cell!",
            Self::RnnCell => "rnn_cell!",
            Self::LstmCell => "lstm_cell!",
            Self::AugruCell => "augru_cell!",
            Self::GruSequence => "gru_sequence!",
            Self::RnnSequence => "rnn_sequence!",
            Self::LstmSequence => "lstm_sequence!",
            Self::AugruSequence => "augru_sequence!",
            Self::AppleGru => "gru!",
        }
    }

    fn family(self) -> Family {
        match self {
            Self::GruCell | Self::GruSequence | Self::AppleGru => Family::Gru,
            Self::RnnCell | Self::RnnSequence => Family::Rnn,
            Self::LstmCell | Self::LstmSequence => Family::Lstm,
            Self::AugruCell | Self::AugruSequence => Family::Augru,
        }
    }

    fn is_sequence(self) -> bool {
        match self {
            Self::GruCell | Self::RnnCell | Self::LstmCell | Self::AugruCell => false,
            Self::GruSequence | Self::RnnSequence | Self::LstmSequence | Self::AugruSequence | Self::AppleGru => true,
        }
    }

    /// The macro for what a model file holds.
    fn of(cell: &ValidCell) -> &'static str {
        let (family, sequence) = (Family::of(cell.kind), cell.sequence.is_some());
        let of = Self::OF_CELLS.into_iter().find(|of| of.family() == family && of.is_sequence() == sequence);
        of.map_or("cellc::Builder", Self::name)
    }

    fn example(self) -> String {
        let steps = if self.is_sequence() { ", steps = 10" } else { "" };
        format!("{}(pub Denoiser<hidden_size = 128, input_size = 16{steps}>);", self.name())
    }

    /// Every key that it takes, in the order in which messages list them.
    fn keys(self) -> Vec<Key> {
        Key::ALL.into_iter().filter(|&key| self.takes(key)).collect()
    }

    fn takes(self, key: Key) -> bool {
        let (family, apple) = (self.family(), self == Self::AppleGru);
        match key {
            Key::LinearBeforeReset => family.has_reset_gate() && !apple,
            Key::Clip | Key::Activations | Key::Layers | Key::Head | Key::HeadActivation | Key::Skip => {
                family != Family::Augru && !apple
            }
            Key::InputForget | Key::Peepholes | Key::WeightsFormat => self == Self::LstmCell,
            Key::GateOrder => matches!(family, Family::Gru | Family::Lstm) && !apple,
            Key::Steps => self.is_sequence(),
            Key::Threads => !self.is_sequence(),
            Key::Direction => self.is_sequence() && family != Family::Augru,
            Key::Prefix => family != Family::Augru,
            Key::Model => !apple,
            Key::Activation
            | Key::RecurrentActivation
            | Key::ApplyResetGateAfterMatMul
            | Key::ResetGate
            | Key::OutputSequence => apple,
            Key::HiddenSize
            | Key::InputSize
            | Key::Batch
            | Key::Weights
            | Key::Isa
            | Key::Unroll
            | Key::Fma
            | Key::Accuracy
            | Key::KeepDenormals
            | Key::FlushDenormals
            | Key::WeightFormat => true,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    HiddenSize,
    InputSize,
    Batch,
    Steps,
    Direction,
    Layers,
    LinearBeforeReset,
    Clip,
    Activations,
    InputForget,
    Peepholes,
    WeightsFormat,
    Activation,
    RecurrentActivation,
    ApplyResetGateAfterMatMul,
    ResetGate,
    OutputSequence,
    Model,
    Weights,
    Prefix,
    Head,
    HeadActivation,
    Skip,
    GateOrder,
    Isa,
    Unroll,
    Fma,
    Accuracy,
    KeepDenormals,
    FlushDenormals,
    WeightFormat,
    Threads,
}

impl Key {
    const ALL: [Self; 32] = [
        Self::HiddenSize,
        Self::InputSize,
        Self::Batch,
        Self::Steps,
        Self::Direction,
        Self::Layers,
        Self::LinearBeforeReset,
        Self::Clip,
        Self::Activations,
        Self::InputForget,
        Self::Peepholes,
        Self::WeightsFormat,
        Self::Activation,
        Self::RecurrentActivation,
        Self::ApplyResetGateAfterMatMul,
        Self::ResetGate,
        Self::OutputSequence,
        Self::Model,
        Self::Weights,
        Self::Prefix,
        Self::Head,
        Self::HeadActivation,
        Self::Skip,
        Self::GateOrder,
        Self::Isa,
        Self::Unroll,
        Self::Fma,
        Self::Accuracy,
        Self::KeepDenormals,
        Self::FlushDenormals,
        Self::WeightFormat,
        Self::Threads,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::HiddenSize => "hidden_size",
            Self::InputSize => "input_size",
            Self::Batch => "batch",
            Self::Steps => "steps",
            Self::Direction => "direction",
            Self::Layers => "layers",
            Self::LinearBeforeReset => "linear_before_reset",
            Self::Clip => "clip",
            Self::Activations => "activations",
            Self::InputForget => "input_forget",
            Self::Peepholes => "peepholes",
            Self::WeightsFormat => "weights_format",
            Self::Activation => "activation",
            Self::RecurrentActivation => "recurrent_activation",
            Self::ApplyResetGateAfterMatMul => "apply_reset_gate_after_mat_mul",
            Self::ResetGate => "reset_gate",
            Self::OutputSequence => "output_sequence",
            Self::Model => "model",
            Self::Weights => "weights",
            Self::Prefix => "prefix",
            Self::Head => "head",
            Self::HeadActivation => "head_activation",
            Self::Skip => "skip",
            Self::GateOrder => "gate_order",
            Self::Isa => "isa",
            Self::Unroll => "unroll",
            Self::Fma => "fma",
            Self::Accuracy => "accuracy",
            Self::KeepDenormals => "keep_denormals",
            Self::FlushDenormals => "flush_denormals",
            Self::WeightFormat => "weight_format",
            Self::Threads => "threads",
        }
    }

    /// What its value is.
    fn valid(self, called: Macro) -> &'static str {
        match self {
            Self::HiddenSize => "a whole number from 1: hidden_size = 128",
            Self::InputSize => "a whole number from 1: input_size = 16",
            Self::Batch => "a whole number from 1: batch = 1",
            Self::Steps => "a whole number from 1: steps = 10",
            Self::Direction if called == Macro::AppleGru => "forward or reverse: direction = reverse",
            Self::Direction => "forward, reverse or bidirectional: direction = reverse",
            Self::Layers => "a whole number from 1: layers = 2",
            Self::LinearBeforeReset => "true or false: linear_before_reset = true",
            Self::Clip => CLIP,
            Self::Activations => match called.family() {
                Family::Rnn => "a list of one: activations = [tanh]",
                Family::Gru | Family::Augru => "a list of two: activations = [sigmoid, tanh]",
                Family::Lstm => "a list of three: activations = [sigmoid, tanh, tanh]",
            },
            Self::InputForget => "true or false: input_forget = true",
            Self::Peepholes => "true or false: peepholes = true",
            Self::WeightsFormat => "fico, icof, ifco, ifoc or iofc: weights_format = ifco",
            Self::Activation => "an activation: activation = tanh",
            Self::RecurrentActivation => "an activation: recurrent_activation = sigmoid",
            Self::ApplyResetGateAfterMatMul => "true or false: apply_reset_gate_after_mat_mul = true",
            Self::ResetGate => "before_mat_mul, after_mat_mul or after_mat_mul_outer_bias: reset_gate = after_mat_mul",
            Self::OutputSequence => "true or false: output_sequence = false",
            Self::Model => "a file, relative to the folder of Cargo.toml: model = \"model.xml\"",
            Self::Weights => "a file, relative to the folder of Cargo.toml: weights = \"model.bin\"",
            Self::Prefix => "the name of a module in the file of weights: prefix = \"gru\"",
            Self::Head => "the name of a dense layer in the file of weights: head = \"fc\"",
            Self::HeadActivation => "an activation: head_activation = sigmoid",
            Self::Skip => "true or false: skip = true",
            Self::GateOrder if called.family() == Family::Lstm => "the letters i, f, c and o: gate_order = ifco",
            Self::GateOrder => "the letters r, z and n: gate_order = rzn",
            Self::Isa => "a list of instruction sets beside the generic one: isa = [avx2, avx512]",
            Self::Unroll => "auto, full or none: unroll = auto",
            Self::Fma => "auto or off: fma = auto",
            Self::Accuracy => "exact, fast or audio: accuracy = fast",
            Self::KeepDenormals => "true or false: keep_denormals = true",
            Self::FlushDenormals => "true or false: flush_denormals = true",
            Self::WeightFormat => "f32, f16, bf16_pair or int8: weight_format = f16",
            Self::Threads => "1 or 2: threads = 2",
        }
    }

    /// Why a macro does not take it.
    fn missing_from(self) -> Option<&'static str> {
        match self {
            Self::LinearBeforeReset => Some("a cell that has a reset gate is declared by gru_cell!"),
            Self::Steps => Some("steps are those of a sequence: gru_sequence!, rnn_sequence!, lstm_sequence!"),
            Self::Direction => Some("a direction is that of a sequence: gru_sequence!, rnn_sequence!, lstm_sequence!"),
            Self::Threads => Some("threads share a cell of one step: gru_cell!, rnn_cell!, lstm_cell!"),
            Self::InputForget | Self::Peepholes | Self::WeightsFormat => {
                Some("LSTMCell-1 has it, one step: lstm_cell!")
            }
            Self::Activation
            | Self::RecurrentActivation
            | Self::ApplyResetGateAfterMatMul
            | Self::ResetGate
            | Self::OutputSequence => Some("Apple's operation has it: gru!"),
            _ => None,
        }
    }
}

/// What a macro call declares, as far as its tokens tell.
pub(crate) struct Declaration {
    pub(crate) called: Macro,
    /// Attributes and doc comments in front, for the type.
    pub(crate) attributes: TokenStream,
    pub(crate) visibility: TokenStream,
    pub(crate) name: Ident,
    hidden_size: Option<Said<usize>>,
    input_size: Option<Said<usize>>,
    batch: Option<Said<usize>>,
    steps: Option<Said<usize>>,
    direction: Option<Said<Direction>>,
    layers: Option<Said<usize>>,
    linear_before_reset: Option<Said<bool>>,
    clip: Option<Said<f32>>,
    activations: Option<Said<Vec<Activation>>>,
    input_forget: Option<Said<bool>>,
    peepholes: Option<Said<bool>>,
    weights_format: Option<Said<LstmGateOrder>>,
    activation: Option<Said<Activation>>,
    recurrent_activation: Option<Said<Activation>>,
    apple: AppleGru,
    /// The `.xml`, relative to the folder of Cargo.toml.
    pub(crate) model: Option<Said<String>>,
    /// The `.bin`, likewise; none: beside the model. Without a model, the `.safetensors`.
    pub(crate) weights: Option<Said<String>>,
    prefix: Option<Said<String>>,
    head: Option<Said<String>>,
    head_activation: Option<Said<Activation>>,
    skip: Option<Said<bool>>,
    gate_order: Option<Said<GateOrder>>,
    /// Whether enough is known to read the model file: without its batch size, say, what follows would be noise.
    pub(crate) readable: bool,
    /// What was chosen about the code.
    pub(crate) options: Options,
    /// What one of two keys has said of denormals.
    keep_denormals: Option<bool>,
}

/// The tokens that [`Origin::Token`] counts.
#[derive(Default)]
pub(crate) struct TokenTable(Vec<TokenStream>);

/// The type's name is always token 0.
const NAME: Origin = Origin::Token(0);

impl TokenTable {
    fn add(&mut self, tokens: impl ToTokens) -> Origin {
        self.0.push(tokens.into_token_stream());
        Origin::Token(u32::try_from(self.0.len() - 1).unwrap_or(u32::MAX))
    }

    /// The tokens that an origin names; none where it names something else.
    pub(crate) fn get(&self, origin: &Origin) -> Option<&TokenStream> {
        match origin {
            Origin::Token(i) => self.0.get(usize::try_from(*i).ok()?),
            Origin::Unknown | Origin::Text { .. } => None,
        }
    }
}

/// What [`parse`] found.
pub(crate) struct Parsed {
    /// None where so much was wrong that there is nothing to go on with.
    pub(crate) declaration: Option<Declaration>,
    pub(crate) tokens: TokenTable,
    pub(crate) problems: Diagnostics,
}

/// Reads a macro's tokens; reports everything that is wrong with keys and the form of values.
pub(crate) fn parse(called: Macro, input: TokenStream) -> Parsed {
    let mut tokens = TokenTable::default();
    let mut problems = Diagnostics::default();
    let form = (|input: ParseStream<'_>| Form::parse(input)).parse2(input);
    let declaration = match form {
        Ok(form) => Some(interpret(called, form, &mut tokens, &mut problems)),
        Err(error) => {
            // a place of no tokens at all (the end of the input) is the macro call itself
            let origin = tokens.add(Ident::new("_at", error.span()));
            problems.push(Diagnostic::error(origin, error.to_string()).valid(called.example()));
            None
        }
    };
    Parsed { declaration, tokens, problems }
}

/// A declaration whose keys have not been looked at.
struct Form {
    attributes: TokenStream,
    visibility: TokenStream,
    name: Ident,
    /// What stands between commas.
    entries: Vec<TokenStream>,
}

impl Form {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if input.is_empty() {
            return Err(syn::Error::new(Span::call_site(), "nothing is declared"));
        }
        let (mut attributes, mut visibility) = (TokenStream::new(), TokenStream::new());
        while input.peek(Token![#]) && input.peek2(token::Bracket) {
            attributes.extend([input.parse::<TokenTree>()?, input.parse()?]);
        }
        if input.peek(Token![pub]) {
            visibility.extend([input.parse::<TokenTree>()?]);
            if input.peek(token::Paren) {
                visibility.extend([input.parse::<TokenTree>()?]);
            }
        }
        let name = input.parse()?;
        input.parse::<Token![<]>()?;
        let mut entries = Vec::new();
        let mut entry = TokenStream::new();
        loop {
            if input.is_empty() {
                return Err(input.error("`>` is missing at the end"));
            }
            if input.peek(Token![>]) || input.peek(Token![,]) {
                if !entry.is_empty() {
                    entries.push(std::mem::take(&mut entry));
                } else if input.peek(Token![,]) {
                    return Err(input.error("a key should stand in front of this comma"));
                }
                if input.parse::<Option<Token![,]>>()?.is_none() {
                    break;
                }
            } else {
                entry.extend([input.parse::<TokenTree>()?]);
            }
        }
        input.parse::<Token![>]>()?;
        if !input.is_empty() {
            return Err(input.error("nothing may follow the `>`"));
        }
        Ok(Self { attributes, visibility, name, entries })
    }
}

fn interpret(called: Macro, form: Form, tokens: &mut TokenTable, problems: &mut Diagnostics) -> Declaration {
    tokens.add(&form.name);
    let mut declaration = Declaration {
        called,
        attributes: form.attributes,
        visibility: form.visibility,
        name: form.name,
        hidden_size: None,
        input_size: None,
        batch: None,
        steps: None,
        direction: None,
        layers: None,
        linear_before_reset: None,
        clip: None,
        activations: None,
        input_forget: None,
        peepholes: None,
        weights_format: None,
        activation: None,
        recurrent_activation: None,
        apple: AppleGru::default(),
        model: None,
        weights: None,
        prefix: None,
        head: None,
        head_activation: None,
        skip: None,
        gate_order: None,
        readable: true,
        options: Options { weights_as: WeightsAs::Inline, runtime: true, ..Options::default() },
        keep_denormals: None,
    };
    declaration.options.name = Some(declaration.name.unraw().to_string());
    // each key with its own tokens, also where its value was wrong: it is not missing then, and may not come twice
    let mut seen: Vec<Key> = Vec::new();
    for entry in form.entries {
        let Some((name, value)) = split(entry.clone()) else {
            let origin = tokens.add(entry);
            problems.push(
                Diagnostic::error(origin, "this is not of the form `key = value`")
                    .valid(format!("for example {}", called.example())),
            );
            continue;
        };
        let Some(key) = find(called, &name, tokens, problems) else {
            // a key that is merely misspelt is not missing as well
            seen.extend(closest(called, &name.unraw().to_string()));
            continue;
        };
        if seen.contains(&key) {
            let found = format!("`{}` is given twice", key.name());
            problems.push(Diagnostic::error(tokens.add(&name), found).help("remove one of the two"));
            continue;
        }
        seen.push(key);
        let wrong = problems.0.len();
        let origin = tokens.add(&entry);
        declaration.set(value, &mut Reader { called, key, origin, tokens, problems });
        if problems.0.len() > wrong && [Key::Model, Key::Weights, Key::Batch].contains(&key) {
            declaration.readable = false;
        }
    }
    declaration.check_keys(&seen, problems);
    declaration
}

/// Splits `key = value`.
fn split(entry: TokenStream) -> Option<(Ident, TokenStream)> {
    let parts = |input: ParseStream<'_>| {
        let name = input.call(Ident::parse_any)?;
        input.parse::<Token![=]>()?;
        Ok((name, input.parse::<TokenStream>()?))
    };
    parts.parse2(entry).ok()
}

fn find(called: Macro, name: &Ident, tokens: &mut TokenTable, problems: &mut Diagnostics) -> Option<Key> {
    let text = name.unraw().to_string();
    if let Some(key) = called.keys().into_iter().find(|key| key.name() == text) {
        return Some(key);
    }
    let mut diagnostic = match Key::ALL.into_iter().find(|key| key.name() == text) {
        Some(key) => {
            let of = Diagnostic::error(tokens.add(name), format!("`{text}` is not a key of {}", called.name()));
            match key.missing_from() {
                Some(help) => of.help(help),
                None => of,
            }
        }
        None => Diagnostic::error(tokens.add(name), format!("unknown key `{text}`")),
    };
    let valid: Vec<&str> = called.keys().into_iter().map(Key::name).collect();
    diagnostic = diagnostic.valid(valid.join(", "));
    if let Some(key) = closest(called, &text) {
        diagnostic = diagnostic.help(format!("did you mean `{}`?", key.name()));
    }
    problems.push(diagnostic);
    None
}

/// The key that a misspelt one most likely stands for.
fn closest(called: Macro, text: &str) -> Option<Key> {
    let distance = |key: &Key| edit_distance(text, key.name());
    called.keys().into_iter().min_by_key(distance).filter(|key| distance(key) <= key.name().len() / 3)
}

/// How many letters must be put in, left out or changed to make `b` of `a`: Levenshtein's distance.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let change = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

impl Declaration {
    fn set(&mut self, value: TokenStream, reader: &mut Reader<'_>) {
        let Some(value) = reader.value(value) else { return };
        match reader.key {
            Key::HiddenSize => self.hidden_size = reader.size(&value),
            Key::InputSize => self.input_size = reader.size(&value),
            Key::Batch => self.batch = reader.size(&value),
            Key::Steps => self.steps = reader.size(&value),
            Key::Layers => self.layers = reader.size(&value),
            Key::Direction => {
                let of = if reader.called == Macro::AppleGru { &Direction::ALL[..2] } else { &Direction::ALL };
                let words: Vec<_> = of.iter().map(|&direction| (direction.name(), direction)).collect();
                self.direction = reader.word(&value, &words).and_then(|word| reader.said(word));
            }
            Key::InputForget => self.input_forget = reader.switch(&value),
            Key::Peepholes => self.peepholes = reader.switch(&value),
            Key::WeightsFormat => {
                let words = LstmGateOrder::ALL.map(|order| (order.name(), order));
                self.weights_format = reader.word(&value, &words).and_then(|word| reader.said(word));
            }
            Key::Activation => self.activation = reader.one_activation(&value),
            Key::RecurrentActivation => self.recurrent_activation = reader.one_activation(&value),
            Key::ApplyResetGateAfterMatMul => self.apple.apply_reset_gate_after_mat_mul = reader.switch(&value),
            Key::ResetGate => {
                let words = AppleResetGate::ALL.map(|gate| (gate.name(), gate));
                self.apple.reset_gate = reader.word(&value, &words).and_then(|word| reader.said(word));
            }
            Key::OutputSequence => self.apple.output_sequence = reader.switch(&value),
            Key::Prefix => self.prefix = reader.text(&value),
            Key::Head => self.head = reader.text(&value),
            Key::HeadActivation => self.head_activation = reader.one_activation(&value),
            Key::Skip => self.skip = reader.switch(&value),
            Key::GateOrder => {
                let order = value.word().and_then(|letters| GateOrder::new(&letters));
                self.gate_order = order.or_else(|| reader.wrong(&value)).and_then(|order| reader.said(order));
            }
            Key::LinearBeforeReset => self.linear_before_reset = reader.switch(&value),
            Key::Clip => self.clip = reader.clip(&value),
            Key::Activations => self.activations = reader.activations(&value),
            Key::Model => self.model = reader.path(&value),
            Key::Weights => self.weights = reader.path(&value),
            Key::Isa => {
                if let Some(isas) = reader.isas(&value) {
                    self.options.isas = Some(isas);
                }
            }
            Key::Unroll => {
                let words = [("auto", Unroll::Auto), ("full", Unroll::Full), ("none", Unroll::None)];
                self.options.unroll = reader.word(&value, &words).unwrap_or_default();
            }
            Key::Fma => {
                self.options.fma = reader.word(&value, &[("auto", Fma::Auto), ("off", Fma::Off)]).unwrap_or_default();
            }
            Key::Accuracy => {
                let words = Accuracy::ALL.map(|accuracy| (accuracy.name(), accuracy));
                self.options.accuracy = reader.word(&value, &words).unwrap_or_default();
            }
            Key::KeepDenormals | Key::FlushDenormals => {
                let Some(said) = reader.switch(&value) else { return };
                let keep = said.value == (reader.key == Key::KeepDenormals);
                if self.keep_denormals.replace(keep).is_some_and(|before| before != keep) {
                    let found = "`keep_denormals` and `flush_denormals` contradict each other";
                    reader.problems.push(Diagnostic::error(said.origin, found).help("remove one of them"));
                }
                self.options.keep_denormals = keep;
            }
            Key::WeightFormat => {
                let words = WeightFormat::ALL.map(|format| (format.key(), format));
                self.options.weight_format = reader.word(&value, &words).unwrap_or_default();
            }
            Key::Threads => self.options.threads = reader.threads(&value).unwrap_or_default(),
        }
    }

    /// Keys that are missing, and those that go with others that are not there.
    fn check_keys(&self, seen: &[Key], problems: &mut Diagnostics) {
        let called = self.called;
        let tensors = self.tensor_file().is_some();
        let from_file = seen.contains(&Key::Model) || tensors;
        for key in [Key::HiddenSize, Key::InputSize, Key::Steps] {
            // a file of tensors knows no number of steps
            let read = if key == Key::Steps { seen.contains(&Key::Model) } else { from_file };
            if called.takes(key) && !seen.contains(&key) && !read {
                let problem =
                    Diagnostic::error(NAME, format!("the key `{}` is missing", key.name())).valid(key.valid(called));
                problems.push(if called.takes(Key::Model) && !tensors {
                    problem.help("or give `model = \"model.xml\"`, and the sizes are read from the file")
                } else {
                    problem
                });
            }
        }
        if let (false, false, Some(weights)) = (seen.contains(&Key::Model), tensors, &self.weights) {
            let found = "`weights` is given without `model`";
            let mut problem = Diagnostic::error(weights.origin.clone(), found);
            problem = match (called.takes(Key::Prefix), called.takes(Key::Model)) {
                (_, false) => {
                    problem.found = format!("`weights` cannot be {:?}", weights.value);
                    problem.valid("a .safetensors file: weights = \"net.safetensors\"")
                }
                (false, true) => problem.valid("model = \"model.xml\", weights = \"model.bin\""),
                (true, true) => {
                    problem.valid("model = \"model.xml\", weights = \"model.bin\"; or weights = \"net.safetensors\"")
                }
            };
            problems.push(
                problem.help("without either, weights are given at run time: see `pack` in the generated module"),
            );
        }
        if let (Some(_), Some(weights)) = (&self.model, &self.weights)
            && is_tensor_file(&weights.value)
        {
            let found = "`weights` is a .safetensors file, and `model` has its own weights";
            problems.push(
                Diagnostic::error(weights.origin.clone(), found)
                    .valid("the .bin of the model")
                    .help("remove one of the two"),
            );
        }
        let of_tensors = [
            (Key::Prefix, self.prefix.as_ref().map(|said| &said.origin)),
            (Key::Head, self.head.as_ref().map(|said| &said.origin)),
            (Key::GateOrder, self.gate_order.as_ref().map(|said| &said.origin)),
        ];
        for (key, origin) in of_tensors {
            if let (Some(origin), false) = (origin, tensors) {
                let found = format!("`{}` is given without a file of tensors", key.name());
                problems
                    .push(Diagnostic::error(origin.clone(), found).valid("weights = \"net.safetensors\" beside it"));
            }
        }
        if let (Some(said), None) = (&self.head_activation, &self.head) {
            let found = "`head_activation` is given without `head`";
            problems.push(Diagnostic::error(said.origin.clone(), found).valid("head = \"fc\" beside it"));
        }
        let of_several = [
            (Key::Layers, self.layers.as_ref().map(|said| &said.origin)),
            (Key::Skip, self.skip.as_ref().map(|said| &said.origin)),
        ];
        for (key, origin) in of_several {
            if let (Some(_), Some(origin)) = (&self.model, origin) {
                let found = format!("`{}` is given beside `model`", key.name());
                problems.push(Diagnostic::error(origin.clone(), found).help("remove it: a model file holds one layer"));
            }
        }
    }

    /// The `.safetensors` file with the weights.
    pub(crate) fn tensor_file(&self) -> Option<&Said<String>> {
        // PyTorch has no AUGRU
        let taken = self.model.is_none() && self.called.takes(Key::Prefix);
        self.weights.as_ref().filter(|said| taken && is_tensor_file(&said.value))
    }

    /// What Apple's operation says.
    #[cfg(feature = "read-safetensors")]
    pub(crate) fn apple(&self) -> Option<&AppleGru> {
        (self.called == Macro::AppleGru).then_some(&self.apple)
    }

    /// The tensors of a file that Apple's operation takes.
    #[cfg(feature = "read-safetensors")]
    pub(crate) fn of_apple(&self) -> Selection<'_> {
        Selection { prefix: self.prefix.as_ref().map(|said| &said.value[..]), ..Selection::default() }
    }

    /// What is said of a file of PyTorch's weights; none where a key is missing.
    #[cfg(feature = "read-safetensors")]
    pub(crate) fn keys(&self) -> Option<Keys> {
        let mut keys = Keys::default();
        keys.of_declared(&self.declared(Some((1, 1)))?);
        keys.size(weights_file::Key::HiddenSize, self.hidden_size.as_ref());
        keys.size(weights_file::Key::InputSize, self.input_size.as_ref());
        keys.text(weights_file::Key::Prefix, self.prefix.as_ref());
        keys.text(weights_file::Key::Head, self.head.as_ref());
        keys.head_activation(self.head_activation.as_ref());
        keys.gate_order(self.gate_order.as_ref());
        Some(keys)
    }

    /// Sizes that are others in a file of Apple's tensors.
    #[cfg(feature = "read-safetensors")]
    pub(crate) fn disagreements_with_tensors(&self, file: &Said<String>, hidden: usize, input: usize) -> Diagnostics {
        let sizes = [
            disagreement(file, Key::HiddenSize, &self.hidden_size, &hidden, usize::to_string),
            disagreement(file, Key::InputSize, &self.input_size, &input, usize::to_string),
        ];
        Diagnostics(sizes.into_iter().flatten().collect())
    }

    /// Whether it is one step, and a file's metadata say that it is a sequence.
    #[cfg(feature = "read-safetensors")]
    pub(crate) fn sequence_of_file(&self, file: &Said<String>, read: &Declared) -> Option<Diagnostic> {
        let steps = read.steps.as_ref().filter(|_| !self.called.is_sequence())?.value;
        let sequence =
            Macro::OF_CELLS.into_iter().find(|of| of.family() == self.called.family() && of.is_sequence())?;
        let found = format!("the metadata of {} say a sequence of {steps} steps", file.value);
        Some(Diagnostic::error(file.origin.clone(), found).help(format!("declare it with {}", sequence.name())))
    }

    /// What is declared, weights apart; none where it names a model file, or lacks a size that no file of tensors has told.
    pub(crate) fn declared(&self, sizes: Option<(usize, usize)>) -> Option<Declared> {
        let name = Said { value: self.name.unraw().to_string(), origin: NAME };
        let told = |of: fn((usize, usize)) -> usize| Some(Said { value: of(sizes?), origin: NAME });
        let hidden = self.hidden_size.clone().or_else(|| told(|(hidden, _)| hidden))?;
        let input = self.input_size.clone().or_else(|| told(|(_, input)| input))?;
        if self.called.is_sequence() && self.steps.is_none() {
            return None;
        }
        let apple = (self.called == Macro::AppleGru).then(|| self.apple.clone());
        let mut activations = self.activations.clone();
        if apple.is_some() && (self.activation.is_some() || self.recurrent_activation.is_some()) {
            let of = |said: &Option<Said<Activation>>, default| said.as_ref().map_or(default, |said| said.value);
            let list =
                vec![of(&self.recurrent_activation, Activation::Sigmoid), of(&self.activation, Activation::Tanh)];
            let said = self.activation.as_ref().or(self.recurrent_activation.as_ref());
            activations = said.map(|said| Said { value: list, origin: said.origin.clone() });
        }
        Some(Declared {
            batch: self.batch.clone(),
            steps: self.steps.clone(),
            direction: self.direction.clone(),
            layers: self.layers.clone(),
            linear_before_reset: match &apple {
                Some(apple) => Some(apple.linear_before_reset()),
                None => self.linear_before_reset.clone(),
            },
            clip: self.clip.clone(),
            activations,
            input_forget: self.input_forget.clone(),
            peepholes: self.peepholes.clone(),
            weights_format: self.weights_format.clone(),
            skip: self.skip.clone(),
            apple,
            ..Declared::new(self.called.family(), self.called.name(), name, hidden, input)
        })
    }

    /// What to know before a model file is compiled: the batch size that it may leave open.
    pub(crate) fn options_for(&self, model: &Model) -> Result<Options, Diagnostics> {
        let file = self.model.as_ref();
        let open = model.nodes.iter().filter(|node| matches!(node.op, Op::Parameter)).find(|node| {
            let shapes = node.outputs.iter().filter_map(|id| model.values[id.0].shape.as_deref());
            shapes.flatten().any(|dim| matches!(dim, Dim::Dynamic { .. }))
        });
        match (open, &self.batch) {
            (Some(node), None) => Err(Diagnostics(vec![
                Diagnostic::error(
                    file.map_or(NAME, |said| said.origin.clone()),
                    format!(
                        "{} leaves the size of its input {} open",
                        file.map_or("", |said| &said.value),
                        node.label()
                    ),
                )
                .valid("batch = 1, or as many rows as are computed at once"),
            ])),
            (Some(_), Some(batch)) => Ok(Options { batch: Some(batch.value), ..self.options.clone() }),
            (None, _) => Ok(self.options.clone()),
        }
    }

    /// Whether a model file holds one cell of the macro's kind, and agrees with every key that is given.
    pub(crate) fn check(&self, model: &ValidModel) -> Diagnostics {
        let mut problems = Diagnostics::default();
        let Some(file) = &self.model else { return problems };
        let cells = model.cells();
        let whole = match cells[..] {
            [cell] => Some((cell, false)),
            // one operation that runs both ways
            [cell, other] if cell.w == other.w && cell.weight_set != other.weight_set => Some((cell, true)),
            _ => None,
        };
        let Some((cell, both_ways)) = whole else {
            problems.push(
                Diagnostic::error(file.origin.clone(), format!("{} holds {} cells", file.value, cells.len()))
                    .valid("a model of one cell")
                    .help("compile whole models with cellc::Builder in a build script"),
            );
            return problems;
        };
        if Family::of(cell.kind) != self.called.family() || cell.sequence.is_some() != self.called.is_sequence() {
            let op = if cell.sequence.is_some() { cell.kind.sequence_name() } else { cell.kind.op_name() };
            problems.push(
                Diagnostic::error(file.origin.clone(), format!("the cell in {} is {op}", file.value))
                    .help(format!("declare it with {}", Macro::of(cell))),
            );
            return problems;
        }
        // the two directions of a sequence are put together from parts
        let others = model.all_nodes().into_iter().find(|node| match node.op {
            ValidOp::Cell(_) => false,
            ValidOp::View(_) | ValidOp::Concat(_) => !both_ways,
            _ => true,
        });
        if let Some(node) = others {
            problems.push(
                Diagnostic::error(file.origin.clone(), format!("{} holds {} beside the cell", file.value, node.kind))
                    .valid("a model of one cell")
                    .help("compile whole models with cellc::Builder in a build script"),
            );
            return problems;
        }
        let direction = match &cell.sequence {
            _ if both_ways => Direction::Bidirectional,
            Some(sequence) if sequence.reverse => Direction::Reverse,
            _ => Direction::Forward,
        };
        let steps = cell.sequence.as_ref().map_or(1, |sequence| sequence.steps);
        let order = LstmGateOrder::ALL.into_iter().find(|order| order.places()[..] == cell.layout.gates[..]);
        let order = order.unwrap_or_default();
        let bytes = 4 * model.constants.iter().map(|tensor| tensor.len()).sum::<usize>();
        if bytes > MOST_BAKED {
            problems.push(too_large(file, bytes));
        }
        problems.0.extend(
            [
                disagreement(file, Key::HiddenSize, &self.hidden_size, &cell.hidden_size, usize::to_string),
                disagreement(file, Key::InputSize, &self.input_size, &cell.input_size, usize::to_string),
                disagreement(file, Key::Batch, &self.batch, &cell.batch, usize::to_string),
                disagreement(
                    file,
                    Key::LinearBeforeReset,
                    &self.linear_before_reset,
                    &(cell.kind.reset_gate() == Some(ResetGate::AfterMatMul)),
                    bool::to_string,
                ),
                disagreement(file, Key::Steps, &self.steps, &steps, usize::to_string),
                disagreement(file, Key::Direction, &self.direction, &direction, |d| d.name().to_owned()),
                disagreement(file, Key::InputForget, &self.input_forget, &cell.input_forget, bool::to_string),
                disagreement(file, Key::Peepholes, &self.peepholes, &cell.p.is_some(), bool::to_string),
                disagreement(file, Key::WeightsFormat, &self.weights_format, &order, |o| o.name().to_owned()),
                disagreement(
                    file,
                    Key::Clip,
                    &self.clip.as_ref().map(|s| Said { value: clip_bound(s.value), origin: s.origin.clone() }),
                    &cell.clip,
                    |clip| clip.map_or("0.0 (none)".to_owned(), |bound| format!("{bound:?}")),
                ),
                disagreement(file, Key::Activations, &self.activations, &cell.activations, |list| {
                    format!("[{}]", list.iter().map(|a| a.label()).collect::<Vec<_>>().join(", "))
                }),
            ]
            .into_iter()
            .flatten(),
        );
        problems
    }
}

/// A file of more weights than a macro bakes in.
pub(crate) fn too_large(file: &Said<String>, bytes: usize) -> Diagnostic {
    Diagnostic::error(file.origin.clone(), format!("{} holds {bytes} bytes of weights", file.value))
        .valid(format!("a macro bakes in at most {MOST_BAKED} bytes (8 MiB), f32"))
        .help("compile it with cellc::Builder in a build script, or give the weights at run time")
}

fn is_tensor_file(file: &str) -> bool {
    std::path::Path::new(file).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("safetensors"))
}

/// A macro's output passes through the compiler's memory several times over; a build script's does not.
pub(crate) const MOST_BAKED: usize = 8 << 20;

/// A key that says something else than the model file.
fn disagreement<T: PartialEq>(
    file: &Said<String>,
    key: Key,
    said: &Option<Said<T>>,
    read: &T,
    text: impl Fn(&T) -> String,
) -> Option<Diagnostic> {
    let said = said.as_ref().filter(|said| said.value != *read)?;
    let (here, there) = (text(&said.value), text(read));
    Some(
        Diagnostic::error(
            said.origin.clone(),
            format!("`{}` is {here} here and {there} in {}", key.name(), file.value),
        )
        .valid(format!("{} = {there}", key.name()))
        .help("or leave the key out: it is read from the file"),
    )
}

/// Reads the value of one key.
struct Reader<'a> {
    called: Macro,
    key: Key,
    /// The key with its value.
    origin: Origin,
    tokens: &'a mut TokenTable,
    problems: &'a mut Diagnostics,
}

impl Reader<'_> {
    fn refuse<T>(&mut self, origin: Origin, found: String, valid: impl Into<String>) -> Option<T> {
        self.problems.push(Diagnostic::error(origin, found).layer(self.key.name()).valid(valid));
        None
    }

    /// `key` holds `value`, which is not what it takes.
    fn wrong<T>(&mut self, value: &Value) -> Option<T> {
        let (name, source) = (self.key.name(), value.source());
        let found = if value.is_path() {
            format!("`{name}` is the path `{source}`, and a macro cannot see what a path stands for")
        } else {
            format!("`{name}` cannot be `{source}`")
        };
        self.refuse(self.origin.clone(), found, self.key.valid(self.called))
    }

    fn said<T>(&self, value: T) -> Option<Said<T>> {
        Some(Said { value, origin: self.origin.clone() })
    }

    fn value(&mut self, tokens: TokenStream) -> Option<Value> {
        let value = Value::new(tokens);
        if value.is_empty() {
            let found = format!("`{}` has no value", self.key.name());
            return self.refuse(self.origin.clone(), found, self.key.valid(self.called));
        }
        Some(value)
    }

    fn size(&mut self, value: &Value) -> Option<Said<usize>> {
        if let Some(Lit::Int(int)) = value.literal()
            && matches!(int.suffix(), "" | "usize")
            && let Ok(size @ 1..) = int.base10_parse::<usize>()
        {
            return self.said(size);
        }
        self.wrong(value)
    }

    fn threads(&mut self, value: &Value) -> Option<Threads> {
        match self.size(value)?.value {
            1 => Some(Threads::One),
            2 => Some(Threads::Two),
            _ => self.wrong(value),
        }
    }

    fn switch(&mut self, value: &Value) -> Option<Said<bool>> {
        match value.literal() {
            Some(Lit::Bool(switch)) => self.said(switch.value),
            _ => self.wrong(value),
        }
    }

    fn number(&mut self, value: &Value) -> Option<Said<f32>> {
        match value.number() {
            Some(number) => self.said(number),
            None => self.wrong(value),
        }
    }

    fn clip(&mut self, value: &Value) -> Option<Said<f32>> {
        let said = self.number(value)?;
        let written = value.source();
        if underflows(&written, said.value) {
            return self.refuse(self.origin.clone(), format!("`clip` cannot be `{written}`, which is 0 in f32"), CLIP);
        }
        if is_clip(said.value) { Some(said) } else { self.wrong(value) }
    }

    fn word<T: Copy>(&mut self, value: &Value, words: &[(&str, T)]) -> Option<T> {
        let word = value.word();
        match words.iter().find(|(name, _)| word.as_deref() == Some(*name)) {
            Some((_, meaning)) => Some(*meaning),
            None => self.wrong(value),
        }
    }

    /// A text that is not empty.
    fn text(&mut self, value: &Value) -> Option<Said<String>> {
        match value.literal() {
            Some(Lit::Str(text)) if !text.value().is_empty() => self.said(text.value()),
            _ => self.wrong(value),
        }
    }

    fn path(&mut self, value: &Value) -> Option<Said<String>> {
        let Some(Lit::Str(text)) = value.literal() else { return self.wrong(value) };
        let path = text.value();
        if path.is_empty() || std::path::Path::new(&path).has_root() {
            return self.wrong(value);
        }
        self.said(path)
    }

    fn list(&mut self, value: &Value) -> Option<Vec<Value>> {
        value.list().or_else(|| self.wrong(value))
    }

    fn one_activation(&mut self, value: &Value) -> Option<Said<Activation>> {
        let activation = self.activation(value)?;
        self.said(activation)
    }

    fn activations(&mut self, value: &Value) -> Option<Said<Vec<Activation>>> {
        let elements = self.list(value)?;
        let read: Vec<Option<Activation>> = elements.iter().map(|e| self.activation(e)).collect();
        let list: Option<Vec<Activation>> = read.into_iter().collect();
        self.said(list?)
    }

    /// `tanh`, or `hard_sigmoid(0.2, 0.5)`.
    fn activation(&mut self, element: &Value) -> Option<Activation> {
        let (called, arguments) = element.call().unwrap_or_else(|| (element.clone(), Vec::new()));
        let known = called.word().and_then(|name| Activation::takes(&name).map(|takes| (name, takes)));
        let Some((name, takes)) = known else {
            let origin = self.tokens.add(&called);
            let found = format!("`{}` is not an activation", called.source());
            return self.refuse(origin, found, Activation::WRITTEN.join(", "));
        };
        let has_defaults = Activation::new(&name, None, None).is_ok();
        let valid = match takes {
            0 => name.clone(),
            2 if !has_defaults => format!("{name}(alpha, beta)"),
            1 => format!("{name}, or {name}(alpha)"),
            _ => format!("{name}, or {name}(alpha, beta)"),
        };
        let mut numbers = [None; 2];
        for (i, argument) in arguments.iter().enumerate() {
            let origin = self.tokens.add(argument);
            let Some(slot) = numbers[..takes].get_mut(i) else {
                let found = format!("`{}` is one number too many for {name}", argument.source());
                return self.refuse(origin, found, valid);
            };
            *slot = argument.number();
            if slot.is_none() {
                let found = format!("`{}` is not a finite number", argument.source());
                return self.refuse(origin, found, valid);
            }
        }
        match Activation::new(&name, numbers[0], numbers[1]) {
            Ok(activation) => Some(activation),
            // what has no default
            Err(error) => {
                let origin = self.tokens.add(element);
                self.refuse(origin, format!("`{}`: {error}", element.source()), format!("{name}(alpha, beta)"))
            }
        }
    }

    fn isas(&mut self, value: &Value) -> Option<Vec<&'static Isa>> {
        let elements = self.list(value)?;
        let valid = || arch::ALL.map(|isa| isa.name).join(", ");
        self.elements(&elements, "an instruction set", |e| e.word().and_then(|w| Isa::from_name(&w)), valid)
    }

    /// Reads every element, and reports every one that is wrong at its own place.
    fn elements<T>(
        &mut self,
        elements: &[Value],
        what: &str,
        read: impl Fn(&Value) -> Option<T>,
        valid: impl Fn() -> String,
    ) -> Option<Vec<T>> {
        let mut values = Vec::new();
        for element in elements {
            match read(element) {
                Some(value) => values.push(value),
                None => {
                    let origin = self.tokens.add(element);
                    let found = format!("`{}` is not {what}", element.source());
                    self.refuse::<()>(origin, found, valid());
                }
            }
        }
        (values.len() == elements.len()).then_some(values)
    }
}

#[cfg(test)]
mod tests;
