//! The options of generated code.

use std::path::PathBuf;

use crate::arch::{Arch, Isa};
use crate::diagnostic::Wording;

/// The language of generated code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Language {
    /// Rust, editions 2015 to 2024, no_std.
    #[cfg_attr(feature = "cli", value(help = None::<&str>))]
    #[default]
    Rust,
    /// C11 and its header.
    #[cfg_attr(feature = "cli", value(help = None::<&str>))]
    C,
}

impl Language {
    /// The name in messages and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rust => "Rust",
            Self::C => "C",
        }
    }

    /// The language of plans and costs for a target: C for a machine with a C compiler of its own,
    /// where Rust has no fused multiply-add.
    #[cfg(feature = "cli")]
    pub(crate) fn of_target(arch: &Arch) -> Self {
        if arch.c_compiler.is_empty() { Self::Rust } else { Self::C }
    }

    /// The extension of a source file.
    pub(crate) fn extension(self) -> &'static str {
        match self {
            Self::Rust => "rs",
            Self::C => "c",
        }
    }
}

/// How far to unroll loops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[non_exhaustive]
pub enum Unroll {
    /// Fully if the planner's limit allows, else tiled loops; on x86, loops over weights from the
    /// L2 cache by 32 rows or more.
    #[cfg_attr(feature = "cli", value(help = None::<&str>))]
    #[default]
    Auto,
    /// Fully, whatever it costs.
    #[cfg_attr(feature = "cli", value(help = None::<&str>))]
    Full,
    /// Never beyond the tile: every loop stays short.
    #[cfg_attr(feature = "cli", value(help = None::<&str>))]
    None,
}

/// Whether multiply-add is fused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[non_exhaustive]
pub enum Fma {
    /// If the instruction set has it.
    #[cfg_attr(feature = "cli", value(help = None::<&str>))]
    #[default]
    Auto,
    /// Never: every instruction set gives the same bits.
    #[cfg_attr(feature = "cli", value(help = None::<&str>))]
    Off,
}

/// The largest error of activations.
///
/// Activations with a cheap exact formula, such as relu and softsign, do not depend on the level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[non_exhaustive]
pub enum Accuracy {
    /// At most 2.5 units in the last place.
    #[default]
    Exact,
    /// A relative error of at most 2^-18; faster.
    Fast,
    /// A relative error of at most 2^-15; faster still.
    Audio,
}

impl Accuracy {
    /// Every level, most exact first.
    pub const ALL: [Self; 3] = [Self::Exact, Self::Fast, Self::Audio];

    /// The name on the command line and in macros.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Fast => "fast",
            Self::Audio => "audio",
        }
    }
}

/// The number of threads of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Threads {
    /// One thread: the caller.
    #[default]
    One,
    /// The caller and a helper thread, if the planner expects less time. Results have equal bits.
    /// Generated Rust then needs std, generated C pthreads.
    Two,
}

/// Where to put the weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[non_exhaustive]
pub enum WeightsAs {
    /// Up to 1 MiB in the source, else in a .bin file next to it.
    #[cfg_attr(feature = "cli", value(skip))]
    #[default]
    Auto,
    /// In the source.
    Inline,
    /// In a .bin file next to the source.
    File,
}

/// The storage and arithmetic of the matrices of cells, dense layers and, for integers, depthwise
/// convolutions. Biases, peepholes, activations and states stay f32.
///
/// f16 and bf16 store compile-time weights; products and sums are f32. Integers have one scale per
/// row of weights. At every step x and h are rounded to integers with one scale each; integer sums
/// are exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[non_exhaustive]
pub enum Precision {
    /// Weights and products in f32.
    #[default]
    F32,
    /// Weights in binary16, products in f32.
    F16,
    /// Weights in bfloat16, two in 32 bits; products in f32.
    Bf16,
    /// Weights, x and h as integers of up to 16 bits, within ranges for which no sum exceeds 32
    /// bits.
    Int16,
    /// Weights of 8 bits, x and h of up to 16.
    #[cfg_attr(feature = "cli", value(name = "int8x16"))]
    Int8x16,
    /// Weights, x and h of 8 bits.
    Int8,
}

impl Precision {
    /// Every precision.
    pub const ALL: [Self; 6] = [Self::F32, Self::F16, Self::Bf16, Self::Int16, Self::Int8x16, Self::Int8];

    /// The name on the command line and in macros.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::Int16 => "int16",
            Self::Int8x16 => "int8x16",
            Self::Int8 => "int8",
        }
    }

    /// The arithmetic of products.
    pub(crate) fn arithmetic(self) -> Arithmetic {
        match self {
            Self::F32 | Self::F16 | Self::Bf16 => Arithmetic::F32,
            Self::Int16 => Arithmetic::Int16,
            Self::Int8x16 => Arithmetic::Int8x16,
            Self::Int8 => Arithmetic::Int8,
        }
    }

    /// The format of matrices with f32 products. f32 for integer precisions; [`Arithmetic::stored`]
    /// decides their format.
    pub(crate) fn storage(self) -> WeightFormat {
        match self {
            Self::F16 => WeightFormat::F16,
            Self::Bf16 => WeightFormat::Bf16Pair,
            Self::F32 | Self::Int16 | Self::Int8x16 | Self::Int8 => WeightFormat::F32,
        }
    }

    /// Reads the precision of one layer: its name, '=' and the precision.
    pub(crate) fn of_layer(text: &str) -> Result<(String, Self), String> {
        // the last one: a name may hold '=', a precision cannot
        let named = text.rsplit_once('=').and_then(|(layer, name)| {
            let precision = Self::ALL.into_iter().find(|precision| precision.name() == name.trim())?;
            (!layer.is_empty()).then(|| (layer.to_owned(), precision))
        });
        let valid = "the name of a layer, '=' and f32, f16, bf16, int16, int8x16 or int8 are needed: head=f32";
        named.ok_or_else(|| valid.to_owned())
    }
}

/// The format of a packed matrix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum WeightFormat {
    /// IEEE binary32.
    #[default]
    F32,
    /// IEEE binary16; exact if the model's constants are FP16.
    F16,
    /// bfloat16, two weights in 32 bits.
    Bf16Pair,
    /// 8 bits and one scale per row, multiplied in f32, for weights of quantised models if 8 bits
    /// hold the weights exactly.
    Int8,
    /// Int8 with four weights per word: storage of [`Arithmetic::Int8`], and of
    /// [`Arithmetic::Int8x16`] if an instruction set multiplies four bytes by two pairs of 16 bits.
    Int8Quad,
    /// Int8 with two weights per word: storage of [`Arithmetic::Int8x16`] on all other instruction
    /// sets.
    Int8Pair,
    /// 16 bits and one scale per row: storage of [`Arithmetic::Int16`].
    Int16,
}

impl WeightFormat {
    /// Every format of f32 arithmetic.
    #[cfg(test)]
    pub(crate) const ALL: [Self; 4] = [Self::F32, Self::F16, Self::Bf16Pair, Self::Int8];

    /// The name in messages and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16Pair => "bf16",
            Self::Int8 | Self::Int8Pair | Self::Int8Quad => "int8",
            Self::Int16 => "int16",
        }
    }

    /// True if products are products of integers.
    pub(crate) fn is_of_integers(self) -> bool {
        matches!(self, Self::Int8Pair | Self::Int8Quad | Self::Int16)
    }

    /// Elements per word in a row of `line` elements; one instruction multiplies all elements of a
    /// word.
    pub(crate) fn in_word(self, line: usize) -> usize {
        match self {
            Self::Int8Quad if line > MOST_IN_16_BITS => 4,
            Self::Int8Pair | Self::Int8Quad | Self::Int16 => 2,
            Self::F32 | Self::F16 | Self::Bf16Pair | Self::Int8 => 1,
        }
    }

    /// True if each row has a scale.
    pub(crate) fn has_scales(self) -> bool {
        matches!(self, Self::Int8 | Self::Int8Pair | Self::Int8Quad | Self::Int16)
    }
}

/// Longest vector that is rounded to 16 bits instead of 8.
const MOST_IN_16_BITS: usize = 4;

/// The arithmetic of the matrix products of cells and dense layers. Biases, activations and states
/// stay f32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Arithmetic {
    /// f32, for every storage of the weights.
    #[default]
    F32,
    /// Weights, x and h as integers of 8 bits. One scale per row of weights, and at every step one
    /// for x and one for h; exact sums.
    Int8,
    /// Weights of 8 bits, x and h of up to 16.
    Int8x16,
    /// Weights, x and h as integers of up to 16 bits, within ranges for which no sum exceeds 32
    /// bits.
    Int16,
}

impl Arithmetic {
    /// The name in messages and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::Int8 => "int8",
            Self::Int8x16 => "int8x16",
            Self::Int16 => "int16",
        }
    }

    /// The largest integer of a vector of `len` elements for which no sum exceeds 32 bits. `None`
    /// for f32.
    pub(crate) fn largest(self, len: usize) -> Option<u16> {
        // weights of 8 bits are at most 127
        let beside_bytes = (i32::MAX as usize / 127 / len.max(1)).clamp(1, 32_767) as u16;
        match self {
            Self::F32 => None,
            Self::Int8 if len > MOST_IN_16_BITS => Some(beside_bytes.min(127)),
            Self::Int8 | Self::Int8x16 => Some(beside_bytes),
            // a row of weights whose mean magnitude is half its largest then has as large a range
            Self::Int16 => Some((4_294_967_296.0 / len.max(1) as f64).sqrt().min(32_767.0) as u16),
        }
    }
}

impl Arithmetic {
    /// Upper limit for the sum of the magnitudes of a row of 16-bit weights, so that no sum of
    /// products exceeds 32 bits.
    pub(crate) fn most_in_pairs(len: usize) -> u32 {
        i32::MAX.unsigned_abs() / u32::from(Self::Int16.largest(len).unwrap_or(1))
    }

    /// The arithmetic of depthwise convolutions: elements have 16 bits, as each weight multiplies
    /// many elements.
    pub(crate) fn of_windows(self) -> Self {
        if self == Self::Int8 { Self::Int8x16 } else { self }
    }

    /// The storage of matrices for this arithmetic. `format` is the storage for f32 products.
    pub(crate) fn stored(self, format: WeightFormat) -> WeightFormat {
        match self {
            Self::F32 => format,
            Self::Int8 => WeightFormat::Int8Quad,
            Self::Int8x16 => WeightFormat::Int8Pair,
            Self::Int16 => WeightFormat::Int16,
        }
    }
}

/// A tensor whose elements are integers times one scale, up to rounding in f32.
#[derive(Clone, Copy, Debug, PartialEq)]
#[doc(hidden)]
pub struct Multiples {
    /// The scale; 1 for integers.
    pub scale: f32,
    /// The least integer.
    pub least: i16,
    /// The largest integer.
    pub most: i16,
    /// Upper limit for the distance of an element from its multiple of the scale; 0 if the scale is
    /// 1.
    pub off: f64,
}

impl Multiples {
    /// The largest magnitude of the integers.
    pub fn magnitude(&self) -> u16 {
        self.least.unsigned_abs().max(self.most.unsigned_abs())
    }

    /// True if signed bytes hold the integers.
    pub fn in_bytes(&self) -> bool {
        self.least >= i8::MIN.into() && self.most <= i8::MAX.into()
    }
}

/// An operand of a layer's matrix product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vector {
    /// The operand x of W, of a dense layer or of a convolution.
    X,
    /// The state h of a cell, without a reset gate applied.
    H,
}

/// A layer that multiplies integers of a quantised model: all operations of one name.
#[derive(Clone, Debug, PartialEq)]
#[doc(hidden)]
pub struct WholeLayer {
    /// The layer's name in the model.
    pub layer: String,
    /// True if the layer's matrices are stored in 8 bits for every `--precision`: rows are
    /// integers, or integers times one scale.
    pub weights: bool,
    /// True if the weights are integers.
    pub exact: bool,
    /// The operands of each operation of the layer; empty if they are not analysed.
    pub own: Vec<OwnVectors>,
}

/// The quantised operands of one operation, if no sum exceeds 32 bits.
#[derive(Clone, Debug, PartialEq)]
#[doc(hidden)]
pub struct OwnVectors {
    /// The operation's first value.
    pub value: usize,
    /// The quantisation of x.
    pub x: Option<Multiples>,
    /// The quantisation of h, for cells of one step.
    pub h: Option<Multiples>,
}

impl WholeLayer {
    /// True if the products use scales other than 1, so that f32 products round differently.
    pub(crate) fn is_scaled(&self) -> bool {
        self.vectors().any(|v| !self.exact || v.scale != 1.0)
    }

    /// The quantised operands of all operations.
    fn vectors(&self) -> impl Iterator<Item = Multiples> {
        self.own.iter().flat_map(|own| own.x.into_iter().chain(own.h))
    }

    /// True if an operand is quantised.
    pub(crate) fn has_own(&self) -> bool {
        self.vectors().next().is_some()
    }

    /// True if x is quantised in every operation.
    pub(crate) fn has_own_x(&self) -> bool {
        !self.own.is_empty() && self.own.iter().all(|own| own.x.is_some())
    }

    /// The storage of the layer's matrices.
    pub(crate) fn format(&self) -> WeightFormat {
        match self.has_own_x() {
            false => WeightFormat::Int8,
            true if self.vectors().all(|v| v.in_bytes()) => WeightFormat::Int8Quad,
            true => WeightFormat::Int8Pair,
        }
    }

    /// The quantisation of an operand of length `len`, if `arithmetic` multiplies the model's
    /// integers.
    fn own_in(&self, own: &OwnVectors, arithmetic: Arithmetic, vector: Vector, len: usize) -> Option<Multiples> {
        let own = match vector {
            Vector::X => own.x,
            Vector::H => own.h,
        };
        own.filter(|own| {
            let in_quads = arithmetic.stored(WeightFormat::F32).in_word(len) == 4;
            let fits = |largest| if in_quads { own.in_bytes() } else { own.magnitude() <= largest };
            self.weights || arithmetic.largest(len).is_some_and(fits)
        })
    }
}

/// The precision of every layer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Products {
    /// The precision of layers without an entry in `own`. `None`: f32, and 8 bits for weights of
    /// quantised models if 8 bits hold the weights.
    all: Option<Precision>,
    /// The precisions of single layers, by name.
    own: Vec<(String, Precision)>,
    /// The only layer with integer products, if `Some`.
    only: Option<String>,
    /// Layers of quantised models.
    whole: Vec<WholeLayer>,
}

impl Products {
    /// All products in f32.
    pub(crate) const F32: Self = Self { all: None, own: Vec::new(), only: None, whole: Vec::new() };

    /// True if a layer multiplies words with one of the given numbers of integers.
    pub(crate) fn multiply_any(&self, words: &[usize]) -> bool {
        let stored = |precision: Precision| precision.arithmetic().stored(WeightFormat::F32).in_word(usize::MAX);
        let mut all = self.own.iter().map(|(_, precision)| *precision).chain(self.all);
        all.any(|precision| words.contains(&stored(precision)))
    }

    /// The arithmetic of a layer. F32 also stands for layers that multiply integers of a quantised
    /// model.
    pub fn of(&self, layer: &str) -> Arithmetic {
        if self.only.as_ref().is_some_and(|only| only != layer) || has_own_integers(&self.whole, layer) {
            return Arithmetic::F32;
        }
        precision_of((self.all, &self.own), layer).arithmetic()
    }

    /// The format of a layer's matrices that follows from its precision alone, without the integers
    /// of a quantised model.
    pub(crate) fn multiplied(&self, layer: &str) -> WeightFormat {
        self.of(layer).stored(self.storage(layer))
    }

    /// The format that a layer's precision has for f32 products.
    pub(crate) fn storage(&self, layer: &str) -> WeightFormat {
        if self.only.as_ref().is_some_and(|only| only != layer) {
            return WeightFormat::F32;
        }
        precision_of((self.all, &self.own), layer).storage()
    }

    /// The format of a layer's matrices.
    pub(crate) fn stored(&self, layer: &str) -> WeightFormat {
        let format = match self.whole.iter().find(|whole| whole.layer == layer && whole.weights) {
            None => self.storage(layer),
            Some(whole) => whole.format(),
        };
        self.of(layer).stored(format)
    }

    /// The quantisation of an operand of length `len`, if the operation multiplies the model's
    /// integers. `layer` is the name of the layer, `value` the operation's first value.
    pub(crate) fn own_of(&self, (layer, value): (&str, usize), vector: Vector, len: usize) -> Option<Multiples> {
        own_in(&self.whole, value, self.of(layer), vector, len)
    }

    /// The quantisation of the operand of a row: x or h of length `len`, or neither.
    pub(crate) fn own_of_row(&self, operation: (&str, usize), [x, h]: [Option<usize>; 2]) -> Option<Multiples> {
        let vector = x.map(|len| (Vector::X, len)).or(h.map(|len| (Vector::H, len)));
        vector.and_then(|(vector, len)| self.own_of(operation, vector, len))
    }

    /// The storage of a layer that multiplies the model's integers for every `--precision`.
    pub(crate) fn own_format(&self, layer: &str) -> Option<WeightFormat> {
        let whole = self.whole.iter().find(|whole| whole.layer == layer && whole.weights)?;
        whole.is_scaled().then(|| whole.format())
    }

    /// These precisions with f32 products for all layers except one.
    #[cfg(feature = "builder")]
    pub(crate) fn only(&self, layer: &str) -> Self {
        Self { only: Some(layer.to_owned()), ..self.clone() }
    }
}

/// The precision of a layer: its own, else that of all layers.
fn precision_of((all, own): (Option<Precision>, &[(String, Precision)]), layer: &str) -> Precision {
    let named = own.iter().find(|(own, _)| own == layer).map(|(_, precision)| *precision);
    named.or(all).unwrap_or_default()
}

/// True if a layer multiplies integers of the model by the model's scales for every `--precision`.
fn has_own_integers(whole: &[WholeLayer], layer: &str) -> bool {
    whole.iter().any(|whole| whole.layer == layer && whole.weights && whole.has_own_x())
}

/// [`WholeLayer::own_in`] of the operation whose first value is given.
fn own_in(whole: &[WholeLayer], value: usize, arithmetic: Arithmetic, vector: Vector, len: usize) -> Option<Multiples> {
    let of = |layer: &WholeLayer| {
        let own = layer.own.iter().find(|own| own.value == value)?;
        Some(layer.own_in(own, arithmetic, vector, len))
    };
    whole.iter().find_map(of)?
}

/// The inputs that are states and kept by the generated type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum State {
    /// Inputs that serve only as the initial state of a forward layer, paired with the output of
    /// its last state.
    #[default]
    Auto,
    /// These pairs of input and output names.
    Pairs(Vec<(String, String)>),
    /// No state. Layers that start every call from the same state cause no warning.
    None,
}

/// The magnitudes of inputs and states for the stated error bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// |x| of every input that is not a state.
    pub x: f32,
    /// |h| of every state.
    pub h: f32,
}

impl Default for Range {
    fn default() -> Self {
        Self { x: 1.0, h: 1.0 }
    }
}

/// Decisions of the planner; `None` leaves a decision to the planner. Results keep their bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tuning {
    /// Columns of a panel: neighbouring units whose weights are packed together.
    pub panel_columns: Option<usize>,
    /// Rows of a batch, or steps of a sequence, per weight that is read.
    pub rows_at_once: Option<usize>,
    /// True if every other step reads the panels from the last to the first.
    pub alternate: Option<bool>,
    /// True if the x terms of all steps of a sequence are computed before the first step.
    pub input_first: Option<bool>,
    /// True if pointwise operations join the kernel of their operand, in registers.
    pub fuse: Option<bool>,
    /// True if an If computes only the taken side, even if the sides are small.
    pub branches: Option<bool>,
    /// True if two threads share a cell, with [`Threads::Two`].
    pub halves: Option<bool>,
    /// True if tiles (AMX) compute the sums of several rows.
    pub tiles: Option<bool>,
}

impl Tuning {
    /// The chosen values as KEY=VALUE.
    fn given(&self) -> Vec<String> {
        let Self { panel_columns, rows_at_once, alternate, input_first, fuse, branches, halves, tiles } = self;
        let size = |key: &str, size: &Option<usize>| size.map(|size| format!("{key}={size}"));
        let on = |key: &str, on: &Option<bool>| on.map(|on| format!("{key}={}", if on { "on" } else { "off" }));
        let all = [
            size("panel-columns", panel_columns),
            size("rows-at-once", rows_at_once),
            on("alternate", alternate),
            on("input-first", input_first),
            on("fuse", fuse),
            on("branches", branches),
            on("halves", halves),
            on("tiles", tiles),
        ];
        all.into_iter().flatten().collect()
    }
}

fn joined(words: impl Iterator<Item = String>) -> String {
    words.collect::<Vec<_>>().join(",")
}

/// A dimension name of the file, and its size. `None`: the number of steps, given by every call.
pub type NamedSize = (String, Option<usize>);

/// A size as on the command line.
pub(crate) fn size_text(size: Option<usize>) -> String {
    size.map_or("?".to_owned(), |size| size.to_string())
}

/// The options of the generated code. The defaults are right for most models.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// The name of the type and of the function. `None`: the name of the model.
    pub name: Option<String>,
    /// The language.
    pub language: Language,
    /// The target: the instruction sets of the file, and the machine for which sizes are chosen.
    pub arch: &'static Arch,
    /// The instruction sets to add to the baseline. `None`: all of the target.
    pub isas: Option<Vec<&'static Isa>>,
    /// How far to unroll loops.
    pub unroll: Unroll,
    /// Further decisions of the planner.
    pub tuning: Tuning,
    /// Whether multiply-add is fused.
    pub fma: Fma,
    /// The largest error of activations.
    pub accuracy: Accuracy,
    /// The inputs that are states.
    pub state: State,
    /// The batch size, if the model leaves it open.
    pub batch: Option<usize>,
    /// Shapes by input name, if the model leaves sizes open. `None`: the number of steps.
    pub shapes: Vec<(String, Vec<Option<usize>>)>,
    /// Sizes of the named open dimensions of an ONNX file.
    pub dims: Vec<NamedSize>,
    /// Upper limit for loops whose end is decided at run time, if the model has no limit.
    pub max_steps: Option<usize>,
    /// Inputs that are constants, and the number of each as text.
    pub constants: Vec<(String, String)>,
    /// The magnitudes for the stated error bound.
    pub range: Range,
    /// Where to put the weights.
    pub weights_as: WeightsAs,
    /// The precision of matrices. `None`: f32, and 8 bits for weights of quantised models if 8 bits
    /// hold the weights.
    pub precision: Option<Precision>,
    /// The precision of single layers, by name.
    pub precision_of: Vec<(String, Precision)>,
    /// Layers of quantised models, found when a model is compiled.
    #[doc(hidden)]
    pub whole: Vec<WholeLayer>,
    /// The number of threads of a step.
    pub threads: Threads,
    /// Generated Rust implements the trait of cellc-runtime.
    pub runtime: bool,
    /// The header file with the type of the tables of functions. `None`: generated C has no table.
    pub interface: Option<PathBuf>,
    /// True to keep denormals. Otherwise inputs, kept states and outputs below 2^-100 in magnitude
    /// are flushed to zero.
    pub keep_denormals: bool,
    /// The names of options in messages.
    #[doc(hidden)]
    pub wording: Wording,
}

impl Options {
    /// The options that differ from their defaults, as words of the command line. Language, name,
    /// place of the weights and common interface are left out: the files show them.
    pub fn given(&self) -> Vec<String> {
        let default = Self::default();
        let Self {
            name: _,
            language: _,
            arch,
            isas,
            unroll,
            tuning,
            fma,
            accuracy,
            state,
            batch,
            shapes,
            dims,
            max_steps,
            constants,
            range,
            weights_as: _,
            precision,
            precision_of,
            whole: _,
            threads,
            runtime,
            interface: _,
            keep_denormals,
            wording: _,
        } = self;
        let mut words = Vec::new();
        let mut option = |name: &str, value: &str| words.extend([name.to_owned(), value.to_owned()]);
        if arch.name != default.arch.name {
            option("--target", arch.name);
        }
        if let Some(isas) = isas {
            option("--isa", &joined(isas.iter().map(|isa| isa.name.to_owned())));
        }
        match unroll {
            Unroll::Auto => {}
            Unroll::Full => option("--unroll", "full"),
            Unroll::None => option("--unroll", "none"),
        }
        let choices = tuning.given();
        if !choices.is_empty() {
            option("--tune", &joined(choices.into_iter()));
        }
        match fma {
            Fma::Auto => {}
            Fma::Off => option("--fma", "off"),
        }
        if *accuracy != default.accuracy {
            option("--accuracy", accuracy.name());
        }
        if let Some(batch) = batch {
            option("--batch", &batch.to_string());
        }
        for (input, sizes) in shapes {
            let sizes = sizes.iter().map(|size| size.map_or("?".to_owned(), |size| size.to_string()));
            option("--shape", &format!("{input}={}", joined(sizes)));
        }
        for (name, size) in dims {
            option("--dim", &format!("{name}={}", size_text(*size)));
        }
        if let Some(most) = max_steps {
            option("--max-steps", &most.to_string());
        }
        constants.iter().for_each(|(name, value)| option("--const", &format!("{name}={value}")));
        if *range != default.range {
            option("--range", &format!("{},{}", range.x, range.h));
        }
        if let Some(precision) = precision {
            option("--precision", precision.name());
        }
        for (layer, precision) in precision_of {
            option("--precision-of", &format!("{layer}={}", precision.name()));
        }
        match threads {
            Threads::One => {}
            Threads::Two => option("--threads", "2"),
        }
        match state {
            State::Auto => {}
            State::Pairs(pairs) => {
                pairs.iter().for_each(|(input, output)| option("--state", &format!("{input}={output}")));
            }
            State::None => words.push("--no-state".to_owned()),
        }
        if *runtime {
            words.push("--runtime".to_owned());
        }
        if *keep_denormals {
            words.push("--keep-denormals".to_owned());
        }
        words
    }

    /// True if C is written without extensions of compilers.
    pub(crate) fn c_only(&self) -> bool {
        self.language == Language::C && !self.arch.c_extensions
    }

    /// The precision of every layer.
    pub fn products(&self) -> Products {
        Products { all: self.precision, own: self.precision_of.clone(), only: None, whole: self.whole.clone() }
    }

    /// The arithmetic of a layer.
    pub(crate) fn arithmetic_in(&self, layer: &str) -> Arithmetic {
        self.products().of(layer)
    }

    /// True if a layer multiplies integers of the model by the model's scales for every
    /// `--precision`.
    pub(crate) fn has_own_integers(&self, layer: &str) -> bool {
        has_own_integers(&self.whole, layer)
    }

    /// The format of a layer's matrices.
    pub(crate) fn stored(&self, layer: &str) -> WeightFormat {
        self.products().stored(layer)
    }

    /// Of which whole numbers a vector of the operation of that first value is multiples, where
    /// such an arithmetic multiplies these as they are.
    pub(crate) fn own_in(&self, value: usize, arithmetic: Arithmetic, vector: Vector, len: usize) -> Option<Multiples> {
        own_in(&self.whole, value, arithmetic, vector, len)
    }

    /// Reads the size of a dimension: its name, '=' and the size, or a question mark.
    pub(crate) fn dim_of(text: &str) -> Result<NamedSize, String> {
        // the last one: a name may hold '=', a size cannot
        let named = text.rsplit_once('=').and_then(|(name, size)| {
            let size = match size.trim() {
                "?" => None,
                digits => Some(digits.parse().ok().filter(|size: &usize| *size > 0)?),
            };
            (!name.is_empty()).then(|| (name.to_owned(), size))
        });
        named.ok_or_else(|| {
            "a dimension's name, '=' and a whole number from 1 are needed, batch=1; or a question mark where every \
             call gives the number of steps, steps=?"
                .to_owned()
        })
    }

    /// Reads the constant that an input becomes: the input's name, '=' and the number of every
    /// element.
    pub(crate) fn constant_of(text: &str) -> Result<(String, String), String> {
        let named = text.rsplit_once('=').and_then(|(name, value)| {
            let value = value.trim();
            let is_number = value.parse::<f64>().is_ok() || ["true", "false"].contains(&value);
            (is_number && !name.is_empty()).then(|| (name.to_owned(), value.to_owned()))
        });
        named.ok_or_else(|| "an input's name, '=' and a number are needed: sr=16000".to_owned())
    }

    /// The instruction sets to write, the baseline first, the best last.
    pub fn isas(&self) -> Vec<&'static Isa> {
        let products = self.products();
        let asked = |isa: &&'static Isa| match &self.isas {
            Some(list) => list.contains(isa),
            None => {
                let multiply =
                    |whole: &WholeLayer| whole.weights && isa.words.contains(&whole.format().in_word(usize::MAX));
                isa.words.is_empty() || products.multiply_any(isa.words) || self.whole.iter().any(multiply)
            }
        };
        let baseline = self.arch.baseline;
        // what makes 0 of subnormal numbers stands beside one lane
        let flushes = self.known_isas().any(|isa| isa.c_flushes.is_some() && asked(&isa));
        self.known_isas().filter(|isa| *isa == baseline || asked(isa) || flushes && isa.lanes == 1).collect()
    }

    /// Those that can be written for the target in the language, in the same order.
    pub fn known_isas(&self) -> impl Iterator<Item = &'static Isa> {
        let (language, threads) = (self.language, self.threads);
        let known = move |isa: &&'static Isa| {
            // what one thread has made 0 of, the other does not see
            let checked = isa.c_flushes.is_none() || threads == Threads::One;
            checked
                && isa.condition().is_none_or(|condition| match language {
                    Language::C => !condition.c.is_empty(),
                    Language::Rust => !condition.rust.is_empty(),
                })
        };
        std::iter::once(self.arch.baseline).chain(self.arch.isas.iter().copied()).filter(known)
    }
}
