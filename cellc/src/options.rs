//! What can be chosen about the generated code.

use std::path::PathBuf;

use crate::arch::{Arch, Isa};
use crate::diagnostic::Wording;

/// The language that is written.
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
    /// Its name, for the reader.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rust => "Rust",
            Self::C => "C",
        }
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
    /// Fully if the planner's limit allows, else tiled loops; on x86, loops over weights from the L2 cache by 32 rows or more.
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
/// Activations that are exact and cheap are the same at every level: relu, softsign and so on.
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

    /// What the command line and the macros call it.
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
    /// The caller's.
    #[default]
    One,
    /// The caller's and a helper, if the planner expects that to be faster. The bits are the same. Generated Rust then needs std,
    /// generated C pthreads.
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
    /// In a .bin file next to it.
    File,
}

/// What matrices are stored and multiplied in: those of cells, dense layers and, for integers, depthwise convolutions. Biases, peepholes, activations
/// and states stay f32.
///
/// f16 and bf16 store weights that are known when compiling; products and sums are f32. The integers store rows of weights
/// with a scale each, and round x and h to integers with a scale at every step; their sums are exact.
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
    /// Weights, x and h as integers of up to 16 bits, of ranges such that no sum leaves 32 bits.
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

    /// The format of matrices whose products are f32; f32 for the integers, whose format [`Arithmetic::stored`] decides.
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
    /// 8 bits and a scale for each row, multiplied in f32: weights of quantised models that this format holds exactly.
    Int8,
    /// What [`Arithmetic::Int8`] stores, and [`Arithmetic::Int8x16`] where four bytes multiply two pairs of 16 bits: as Int8, four weights in a word.
    Int8Quad,
    /// What [`Arithmetic::Int8x16`] stores else: as Int8, two weights side by side.
    Int8Pair,
    /// What [`Arithmetic::Int16`] stores: 16 bits, and a scale for each row.
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

    /// Whether whole numbers are multiplied.
    pub(crate) fn is_of_integers(self) -> bool {
        matches!(self, Self::Int8Pair | Self::Int8Quad | Self::Int16)
    }

    /// How many elements of a line of that length stand in one word, and are multiplied at once.
    pub(crate) fn in_word(self, line: usize) -> usize {
        match self {
            Self::Int8Quad if line > MOST_IN_16_BITS => 4,
            Self::Int8Pair | Self::Int8Quad | Self::Int16 => 2,
            Self::F32 | Self::F16 | Self::Bf16Pair | Self::Int8 => 1,
        }
    }

    /// Whether each row has a scale.
    pub(crate) fn has_scales(self) -> bool {
        matches!(self, Self::Int8 | Self::Int8Pair | Self::Int8Quad | Self::Int16)
    }
}

/// Vectors of so many elements are rounded to 16 bits rather than to 8.
const MOST_IN_16_BITS: usize = 4;

/// What the matrices of cells and dense layers are multiplied in. Biases, activations and states stay f32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Arithmetic {
    /// As the weights are stored.
    #[default]
    F32,
    /// Weights, x and h as integers of 8 bits: a scale for each row of weights, and one for x and for h at every step; exact sums.
    Int8,
    /// Weights of 8 bits, x and h of up to 16.
    Int8x16,
    /// Weights, x and h as integers of up to 16 bits, of ranges such that no sum leaves 32 bits.
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

    /// The largest whole number that an element of a vector of that length becomes, so that no sum leaves 32 bits; `None`: it stays f32.
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
    /// How large the sum of the magnitudes of so many weights in 16 bits is at most, so that no sum leaves 32 bits.
    pub(crate) fn most_in_pairs(len: usize) -> u32 {
        i32::MAX.unsigned_abs() / u32::from(Self::Int16.largest(len).unwrap_or(1))
    }

    /// The same of a depthwise convolution, of which each weight multiplies many elements: there `Int8` has elements of 16 bits.
    pub(crate) fn of_windows(self) -> Self {
        if self == Self::Int8 { Self::Int8x16 } else { self }
    }

    /// How matrices are stored for it, where f32 arithmetic has them in that format.
    pub(crate) fn stored(self, format: WeightFormat) -> WeightFormat {
        match self {
            Self::F32 => format,
            Self::Int8 => WeightFormat::Int8Quad,
            Self::Int8x16 => WeightFormat::Int8Pair,
            Self::Int16 => WeightFormat::Int16,
        }
    }
}

/// The elements of a tensor that are whole numbers times one scale, but for how f32 rounds what they are computed from.
#[derive(Clone, Copy, Debug, PartialEq)]
#[doc(hidden)]
pub struct Multiples {
    /// The scale: 1 for whole numbers.
    pub scale: f32,
    /// The least of the whole numbers.
    pub least: i16,
    /// The largest.
    pub most: i16,
    /// How far an element may be from its multiple: 0 if the scale is 1.
    pub off: f64,
}

impl Multiples {
    /// The largest magnitude of the whole numbers.
    pub fn magnitude(&self) -> u16 {
        self.least.unsigned_abs().max(self.most.unsigned_abs())
    }

    /// Whether bytes with a sign hold the whole numbers.
    pub fn in_bytes(&self) -> bool {
        self.least >= i8::MIN.into() && self.most <= i8::MAX.into()
    }
}

/// A vector that rows of a layer's matrices multiply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vector {
    /// x: of W, of a dense layer, or of a convolution.
    X,
    /// h of a cell as it is given, which most gates multiply by R.
    H,
}

/// A layer that multiplies what a quantised model's are: all operations of one name.
#[derive(Clone, Debug, PartialEq)]
#[doc(hidden)]
pub struct WholeLayer {
    /// Its name in the model.
    pub layer: String,
    /// Whether its matrices are stored in 8 bits, whatever is asked for: they are whole numbers, or those times a scale of their row.
    pub weights: bool,
    /// Whether they are whole numbers.
    pub exact: bool,
    /// What each of its operations multiplies; none where that is not looked at.
    pub own: Vec<OwnVectors>,
}

/// Of which whole numbers the vectors of one operation are multiples, where no sum leaves 32 bits.
#[derive(Clone, Debug, PartialEq)]
#[doc(hidden)]
pub struct OwnVectors {
    /// The operation's first value.
    pub value: usize,
    /// Of x.
    pub x: Option<Multiples>,
    /// Of h, of a cell that takes one step.
    pub h: Option<Multiples>,
}

impl WholeLayer {
    /// Whether products are of multiples of scales, which f32 does not hold as exactly.
    pub(crate) fn is_scaled(&self) -> bool {
        self.vectors().any(|v| !self.exact || v.scale != 1.0)
    }

    /// Those that are multiples.
    fn vectors(&self) -> impl Iterator<Item = Multiples> {
        self.own.iter().flat_map(|own| own.x.into_iter().chain(own.h))
    }

    /// Whether any are.
    pub(crate) fn has_own(&self) -> bool {
        self.vectors().next().is_some()
    }

    /// Whether every x is multiples.
    pub(crate) fn has_own_x(&self) -> bool {
        !self.own.is_empty() && self.own.iter().all(|own| own.x.is_some())
    }

    /// How its matrix is stored.
    pub(crate) fn format(&self) -> WeightFormat {
        match self.has_own_x() {
            false => WeightFormat::Int8,
            true if self.vectors().all(|v| v.in_bytes()) => WeightFormat::Int8Quad,
            true => WeightFormat::Int8Pair,
        }
    }

    /// Of which whole numbers a vector of that length is multiples, where such an arithmetic multiplies these as they are.
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
    /// The precision of layers that are not in `own`; `None`: f32, and 8 bits for weights of quantised models that these hold exactly.
    all: Option<Precision>,
    /// The precisions of layers, by name.
    own: Vec<(String, Precision)>,
    /// The only layer whose products are not in f32.
    only: Option<String>,
    /// Layers of quantised models.
    whole: Vec<WholeLayer>,
}

impl Products {
    /// All products in f32.
    pub(crate) const F32: Self = Self { all: None, own: Vec::new(), only: None, whole: Vec::new() };

    /// True if some layers multiply words of one of these numbers of integers.
    pub(crate) fn multiply_any(&self, words: &[usize]) -> bool {
        let stored = |precision: Precision| precision.arithmetic().stored(WeightFormat::F32).in_word(usize::MAX);
        let mut all = self.own.iter().map(|(_, precision)| *precision).chain(self.all);
        all.any(|precision| words.contains(&stored(precision)))
    }

    /// The arithmetic of a layer. Layers of a quantised model whose vectors and weights are integers of the model have
    /// no other: f32 stands for it.
    pub fn of(&self, layer: &str) -> Arithmetic {
        if self.only.as_ref().is_some_and(|only| only != layer) || has_own_integers(&self.whole, layer) {
            return Arithmetic::F32;
        }
        precision_of((self.all, &self.own), layer).arithmetic()
    }

    /// The format of a layer's matrices as its products see them, without what a quantised model holds.
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

    /// Of which whole numbers a vector of that length is multiples that an operation multiplies, where these are multiplied as they are. It has the name of
    /// a layer and a first value.
    pub(crate) fn own_of(&self, (layer, value): (&str, usize), vector: Vector, len: usize) -> Option<Multiples> {
        own_in(&self.whole, value, self.of(layer), vector, len)
    }

    /// The same of what a row multiplies: x or h of that length, or neither.
    pub(crate) fn own_of_row(&self, operation: (&str, usize), [x, h]: [Option<usize>; 2]) -> Option<Multiples> {
        let vector = x.map(|len| (Vector::X, len)).or(h.map(|len| (Vector::H, len)));
        vector.and_then(|(vector, len)| self.own_of(operation, vector, len))
    }

    /// How the rows of a layer are stored that multiply multiples of one number, whatever is asked for.
    pub(crate) fn own_format(&self, layer: &str) -> Option<WeightFormat> {
        let whole = self.whole.iter().find(|whole| whole.layer == layer && whole.weights)?;
        whole.is_scaled().then(|| whole.format())
    }

    /// The same precisions, but f32 products for all layers except one.
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

/// Whether a layer multiplies integers of the model by the model's scales, whatever is asked for.
fn has_own_integers(whole: &[WholeLayer], layer: &str) -> bool {
    whole.iter().any(|whole| whole.layer == layer && whole.weights && whole.has_own_x())
}

/// What [`WholeLayer::own_in`] says of the operation of that first value.
fn own_in(whole: &[WholeLayer], value: usize, arithmetic: Arithmetic, vector: Vector, len: usize) -> Option<Multiples> {
    let of = |layer: &WholeLayer| {
        let own = layer.own.iter().find(|own| own.value == value)?;
        Some(layer.own_in(own, arithmetic, vector, len))
    };
    whole.iter().find_map(of)?
}

/// Which parameters are states that the struct holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum State {
    /// A Parameter that serves only as the initial state of a cell whose output goes straight to one Result.
    #[default]
    Auto,
    /// These pairs of input and output names.
    Pairs(Vec<(String, String)>),
    /// None. There is no warning about layers that start every call from the same state.
    None,
}

/// The magnitudes for which the error bound in the header is computed.
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

/// Decisions of the planner, made by hand; `None` leaves them to the planner. No result depends on them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tuning {
    /// Columns of a panel: neighbouring units whose weights are packed together.
    pub panel_columns: Option<usize>,
    /// Rows of a batch, or steps of a sequence, that share each weight that is read.
    pub rows_at_once: Option<usize>,
    /// Whether every other step walks the panels from the last to the first.
    pub alternate: Option<bool>,
    /// Whether the x terms of all steps of a sequence are computed before the first step.
    pub input_first: Option<bool>,
    /// Whether pointwise work is done in registers, where its operand is computed.
    pub fuse: Option<bool>,
    /// Whether only the side of an If that is taken is computed: on, however little there is on a side.
    pub branches: Option<bool>,
    /// Whether two threads share a cell, if there are two.
    pub halves: Option<bool>,
    /// Whether tiles make the sums of several rows, on instruction sets that have them.
    pub tiles: Option<bool>,
}

impl Tuning {
    /// What is chosen, as KEY=VALUE.
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

/// A dimension that a file names, and its size. `None` leaves it open: the number of steps, which every
/// call gives.
pub type NamedSize = (String, Option<usize>);

/// A size as the command line has it.
pub(crate) fn size_text(size: Option<usize>) -> String {
    size.map_or("?".to_owned(), |size| size.to_string())
}

/// The options of the generated code. The defaults are right for most models.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// The name of the type and of the function; none: the model's own name.
    pub name: Option<String>,
    /// The language.
    pub language: Language,
    /// The target: which instruction sets there are, and for which machines sizes are chosen.
    pub arch: &'static Arch,
    /// The instruction sets in addition to the generic one; none: all of the architecture.
    pub isas: Option<Vec<&'static Isa>>,
    /// How far to unroll loops.
    pub unroll: Unroll,
    /// What else the plan need not choose.
    pub tuning: Tuning,
    /// Whether multiply-add is fused.
    pub fma: Fma,
    /// The largest error of activations.
    pub accuracy: Accuracy,
    /// Which parameters are states.
    pub state: State,
    /// The batch size, if the model leaves it open.
    pub batch: Option<usize>,
    /// Shapes by input name, if the model leaves sizes open. `None` leaves a size open: the number of steps.
    pub shapes: Vec<(String, Vec<Option<usize>>)>,
    /// Sizes of dimensions that the model leaves open and names, as ONNX files do.
    pub dims: Vec<NamedSize>,
    /// The most iterations of a loop that ends by its condition, where the model does not say it.
    pub max_steps: Option<usize>,
    /// Inputs that are constants, and the number of each as text.
    pub constants: Vec<(String, String)>,
    /// For the error bound.
    pub range: Range,
    /// Where to put the weights.
    pub weights_as: WeightsAs,
    /// The precision of matrices. `None`: f32, and 8 bits for weights of quantised models that these hold exactly.
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
    /// Generated C has the table of functions that all models have in common; the file that declares its type.
    pub interface: Option<PathBuf>,
    /// Keeps denormals. Without it, a value below 2^-100 in magnitude becomes 0 where a step reads an input, keeps a state or writes
    /// an output.
    pub keep_denormals: bool,
    /// How messages name options.
    #[doc(hidden)]
    pub wording: Wording,
}

impl Options {
    /// What differs from the default, as words of the command line. The language, the name, the place of
    /// the weights and the common interface are not among them: the files show these.
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

    /// Whether C is written without what compilers add to it.
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

    /// Whether a layer multiplies integers of the model by the model's scales, whatever is asked for.
    pub(crate) fn has_own_integers(&self, layer: &str) -> bool {
        has_own_integers(&self.whole, layer)
    }

    /// The format of a layer's matrices.
    pub(crate) fn stored(&self, layer: &str) -> WeightFormat {
        self.products().stored(layer)
    }

    /// Of which whole numbers a vector of the operation of that first value is multiples, where such an arithmetic multiplies these as they are.
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

    /// Reads the constant that an input becomes: the input's name, '=' and the number of every element.
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
