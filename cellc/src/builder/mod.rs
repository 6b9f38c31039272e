//! The entry point for build scripts.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::Error;
use crate::arch::{self, Arch, Isa};
use crate::compile::{self, Compilation, compile, compile_core};
use crate::diagnostic::{Diagnostic, Diagnostics, Origin, Setting, method, method_name};
use crate::emit::OutputFile;
use crate::files::{self, NewFile};
use crate::front::apple::AppleResetGate;
use crate::front::formats::{self, ReadOptions};
use crate::front::keys::{Key, Spanned, Value};
use crate::front::layer::Declared;
use crate::front::layer::apple;
use crate::front::layout::GateOrder;
use crate::front::layout::{Framework, NamedTensor, WeightSet, convert};
use crate::front::read_model::ReadModel;
use crate::front::safetensors::{self, Selection};
use crate::front::weights::{Baked, CellWeights};
use crate::front::weights_file;
use crate::model::{
    Activation, Direction, Family, InputFile, LstmGateOrder, Model, ModelSize, Tensor,
};
use crate::request::flag::{ModelSource, help_of};
use crate::request::{
    Accuracy, Fma, Language, Options, Precision, Range, State, Threads, Tuning, Unroll, WeightsAs,
};

/// Compiles a model in a build script, into `OUT_DIR`.
///
/// ```no_run
/// fn main() -> Result<(), cellc::Error> {
///     cellc::Builder::new("model/denoiser.xml").name("denoiser").compile()?;
///     Ok(())
/// }
/// ```
///
/// writes `denoiser.rs`, which implements `cellc_runtime::Cell`. The crate includes it with
/// `cellc_runtime::include_model!("denoiser")`. Cargo runs the build script again when the `.xml`
/// or the `.bin` changes.
///
/// A cell can also be declared, with weights from the builder or at run time:
///
/// ```no_run
/// # fn main() -> Result<(), cellc::Error> {
/// cellc::Builder::gru(128, 16).linear_before_reset(true).clip(3.0).name("denoiser").compile()?;
/// # Ok(())
/// # }
/// ```
///
/// Sequences, several layers, and a dense layer after the last layer can be declared, too, with
/// weights saved by PyTorch:
///
/// ```no_run
/// # fn main() -> Result<(), cellc::Error> {
/// use cellc::{Activation, Builder};
///
/// let net = Builder::gru(128, 16).layers(2).safetensors("model/net.safetensors").prefix("gru");
/// net.head("fc").head_activation(Activation::Sigmoid).name("denoiser").compile()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is compiled before `compile` is called"]
pub struct Builder {
    source: BuilderSource,
    options: Options,
    /// True if the user chose the target, or all options.
    target_is_given: bool,
    out_dir: Option<PathBuf>,
    problems: Diagnostics,
}

#[derive(Clone, Debug)]
enum BuilderSource {
    File { model: PathBuf, weights: Option<PathBuf> },
    Cell { cell: Box<Declared>, weights: GivenWeights },
}

/// The weights of a declared cell.
#[derive(Clone, Debug)]
enum GivenWeights {
    AtRunTime,
    /// W, R and B of OpenVINO's operation.
    Values([Vec<f32>; 3]),
    /// The tensors of every layer and every direction.
    Of(Framework, Vec<Vec<Vec<f32>>>),
    /// A file of tensors; keys describe its contents.
    File(PathBuf),
}

/// The error for a method that sets a property of the model's file.
fn has_its_own(method: &str, model: &Path) -> Diagnostic {
    let found = format!("`{method}` is set, and {} has its own", model.display());
    let help = format!("remove `.{method}(..)`: the file gives attributes and weights");
    Diagnostic::error(Origin::Unknown, found).help(help)
}

/// The warning for a build profile without optimisation, and the lines of Cargo.toml that enable
/// optimisation. Empty if generated code is fast at `level`, or if cargo does not pass the level.
/// For processors without named vectors, generated Rust computes in arrays; LLVM vectorises these
/// arrays only at opt-level 3.
fn slow_profile(level: &str, processor: &str, profile: &str, package: &str) -> Vec<String> {
    let has_vectors = arch::names_vectors_of(processor);
    let slower = match level {
        "" | "3" => return Vec::new(),
        "0" => "80 to 250 times",
        _ if has_vectors => return Vec::new(),
        _ => "up to 40 times",
    };
    // cargo reports dev, and profiles that inherit from dev, as debug
    let profile = if profile == "debug" { "dev" } else { profile };
    vec![
        format!(
            "{package} is compiled with opt-level = {level}: a step of generated Rust takes \
             {slower} as long as at 3. In the workspace's Cargo.toml:"
        ),
        format!("[profile.{profile}.package.{package}]"),
        "opt-level = 3".to_owned(),
    ]
}

/// Methods that set one option each: the documentation, the name, the flag whose help begins the
/// documentation, the field of the options, and the type of the value. A field may be an `Option`
/// of the type.
macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident $(= $flag:ident)? ($($field:ident).+: $type:ty);)*) => {
        impl Builder {
            $($(#[doc = concat!(help_of!($flag), ".")])?
            $(#[$doc])*
            pub fn $name(mut self, value: $type) -> Self {
                self.options.$($field).+ = value.into();
                self
            })*
        }
    };
}

setters! {
    /// The language; Rust by default. C is written as a `.h` and a `.c`.
    language(output.language: Language);
    unroll = UNROLL (tuning.unroll: Unroll);
    /// Overrides decisions of the planner. Results keep their bits.
    tuning(tuning: Tuning);
    fma = FMA (numerics.fma: Fma);
    /// The states that the generated type keeps between calls.
    state(bindings.state: State);
    /// Outputs have room for this number of iterations.
    max_steps = MAX_STEPS (bindings.max_steps: usize);
    /// Default: the largest.
    size = SIZE (bindings.size: ModelSize);
    /// Default: the rate of the model.
    sample_rate = SAMPLE_RATE (bindings.sample_rate: usize);
    range = RANGE (numerics.range: Range);
    weights_as = WEIGHTS_AS (output.weights_as: WeightsAs);
    accuracy = ACCURACY (numerics.accuracy: Accuracy);
    /// The precision of the matrices of cells, dense layers and convolutions. The stated error
    /// bound includes the rounding. Default: f32; quantised models keep their 8-bit weights.
    precision(numerics.precision: Precision);
    /// Two threads share a cell of one time step if the planner expects less time. Generated Rust
    /// then needs std, generated C pthreads. Sequences, loops, and cells with the reset gate before
    /// the product are not divided.
    threads = THREADS (machine.threads: Threads);
    /// By default, inputs, kept states and outputs below 2^-100 in magnitude are flushed to zero.
    keep_denormals = KEEP_DENORMALS (numerics.keep_denormals: bool);
    /// True (the default) if generated Rust implements `cellc_runtime::Cell`. The crate must then
    /// depend on cellc-runtime. C has no trait.
    runtime(output.runtime: bool);
}

impl Builder {
    /// A model in a file, relative to the folder of Cargo.toml: the `.xml` of an OpenVINO IR
    /// (feature `openvino`), an ONNX file (feature `onnx`), or an amplifier model, `.nam` or the
    /// `.json` of RTNeural and AIDA-X (feature `json`). The content of the file decides the format.
    ///
    /// The weights of an IR come from the `.bin` next to the `.xml`, unless [`Builder::weights`]
    /// names another file.
    pub fn new(model: impl Into<PathBuf>) -> Self {
        Self::from_source(BuilderSource::File { model: model.into(), weights: None })
    }

    /// A GRU cell: `x [batch, input_size]`, `h [batch, hidden_size]`, gates z, r, h.
    ///
    /// Equations, gate order and layout of the weights follow OpenVINO's GRUCell-3.
    pub fn gru(hidden_size: usize, input_size: usize) -> Self {
        Self::declared(Self::cell("Builder::gru", Family::Gru, hidden_size, input_size))
    }

    /// An RNN cell: `x [batch, input_size]`, `h [batch, hidden_size]`, one gate.
    ///
    /// Equation and layout of the weights follow OpenVINO's RNNCell-3.
    pub fn rnn(hidden_size: usize, input_size: usize) -> Self {
        Self::declared(Self::cell("Builder::rnn", Family::Rnn, hidden_size, input_size))
    }

    /// An LSTM cell: `x [batch, input_size]`, `h` and `c [batch, hidden_size]`, gates f, i, c, o.
    ///
    /// Equations, gate order and layout of the weights follow OpenVINO's LSTMCell-4; with
    /// [`Builder::peepholes`], [`Builder::input_forget`] or [`Builder::weights_format`],
    /// LSTMCell-1.
    pub fn lstm(hidden_size: usize, input_size: usize) -> Self {
        Self::declared(Self::cell("Builder::lstm", Family::Lstm, hidden_size, input_size))
    }

    /// A GRU cell with attention `a [batch, 1]`: `x [batch, input_size]`, `h [batch, hidden_size]`,
    /// gates z, r, h.
    ///
    /// Equations, gate order and layout of the weights follow OpenVINO's AUGRUCell: sigmoid and
    /// tanh, no clip.
    pub fn augru(hidden_size: usize, input_size: usize) -> Self {
        Self::declared(Self::cell("Builder::augru", Family::Augru, hidden_size, input_size))
    }

    /// Apple's `gru` of BNNSGraph.Builder. Inputs are `input [steps, batch, input_size]` and
    /// `initial_hidden_states [batch, hidden_size]`; outputs are `output [steps, batch,
    /// hidden_size]` (one step if [`Builder::output_sequence`] is false) and `hidden_states [batch,
    /// hidden_size]`.
    ///
    /// [`Builder::apply_reset_gate_after_mat_mul`] or [`Builder::reset_gate`] gives the place of
    /// the reset gate. The default, [`AppleResetGate::AfterMatMulOuterBias`], follows Apple's
    /// documentation of a false flag. (Apple's reference test computes
    /// [`AppleResetGate::BeforeMatMul`] for a false flag.)
    ///
    /// Weights of [`Builder::weights_of`] and run-time weights are in Apple's order. Run-time
    /// weights are called `input_hidden_weight`, `hidden_hidden_weight`, `bias` and, for
    /// [`AppleResetGate::AfterMatMul`], `input_bias`; give zeros for a missing bias. Weights of
    /// [`Builder::weight_values`] are in OpenVINO's order.
    pub fn apple_gru(hidden_size: usize, input_size: usize, steps: usize) -> Self {
        let mut cell = Self::cell("Builder::apple_gru", Family::Gru, hidden_size, input_size);
        cell.is_apples = true;
        Self::declared(cell).steps(steps)
    }

    fn cell(
        declared_by: &'static str,
        family: Family,
        hidden_size: usize,
        input_size: usize,
    ) -> Declared {
        let name = Spanned::unplaced(family.name().to_owned());
        Declared::new(
            family,
            declared_by,
            name,
            Spanned::unplaced(hidden_size),
            Spanned::unplaced(input_size),
        )
    }

    fn declared(cell: Declared) -> Self {
        Self::from_source(BuilderSource::Cell {
            cell: Box::new(cell),
            weights: GivenWeights::AtRunTime,
        })
    }

    fn from_source(source: BuilderSource) -> Self {
        let options = Options::default().with_runtime(true);
        let problems = Diagnostics::default();
        Self { source, options, target_is_given: false, out_dir: None, problems }
    }

    /// Sets an attribute of a declared cell.
    fn attribute(mut self, key: Key, value: impl Into<Value>) -> Self {
        match &mut self.source {
            BuilderSource::Cell { cell, .. } => cell.keys.set(key, Spanned::unplaced(value)),
            BuilderSource::File { model, .. } => {
                let problem = has_its_own(key.name(), model);
                self.problems.push(problem);
            }
        }
        self
    }

    fn option(mut self, set: impl FnOnce(&mut Options)) -> Self {
        set(&mut self.options);
        self
    }

    /// The place of the reset gate of a declared GRU. True: after the matrix product (PyTorch,
    /// Keras `reset_after`). False, the default: before the matrix product, as in OpenVINO.
    pub fn linear_before_reset(self, after: bool) -> Self {
        self.attribute(Key::LinearBeforeReset, after)
    }

    /// Makes a declared cell a sequence of `steps` steps: OpenVINO's GRUSequence, RNNSequence,
    /// LSTMSequence or AUGRUSequence. The sequence reads `x [batch, steps, input_size]` and states
    /// `[batch, D, hidden_size]`, its weights have D in front, and `y [batch, D, steps,
    /// hidden_size]` is a further output. D is 2 for a bidirectional sequence, else 1.
    pub fn steps(self, steps: usize) -> Self {
        self.attribute(Key::Steps, steps)
    }

    /// The direction of a declared sequence; forward by default.
    pub fn direction(self, direction: Direction) -> Self {
        self.attribute(Key::Direction, direction)
    }

    /// The number of layers of a declared cell or sequence. Each layer reads the output of the
    /// previous layer.
    ///
    /// With several layers or a [`Builder::head`], the generated type holds the states, initially
    /// zero, and the only output is `out`. A reverse or bidirectional network starts every call at
    /// zero. An AUGRU and Apple's `gru` have one layer.
    pub fn layers(self, layers: usize) -> Self {
        self.attribute(Key::Layers, layers)
    }

    /// Adds x to the output, as amplifier models do: `out = head(h) + x`. Both must have the same
    /// size.
    ///
    /// The generated type then holds the states, as with several [`Builder::layers`]. Not for an
    /// AUGRU or Apple's `gru`.
    pub fn skip(self, skip: bool) -> Self {
        self.attribute(Key::Skip, skip)
    }

    /// LSTM: the input gate is 1 - f, as in LSTMCell-1.
    pub fn input_forget(self, coupled: bool) -> Self {
        self.attribute(Key::InputForget, coupled)
    }

    /// LSTM: peepholes, as in LSTMCell-1: `p [3 * hidden_size]`, in the order f, i, o.
    pub fn peepholes(self, peepholes: bool) -> Self {
        self.attribute(Key::Peepholes, peepholes)
    }

    /// LSTM: the order of the gates in OpenVINO's weights, as in LSTMCell-1.
    pub fn weights_format(self, order: LstmGateOrder) -> Self {
        self.attribute(Key::WeightsFormat, order)
    }

    /// Apple's `applyResetGateAfterMatMul`. The default, false, means
    /// [`AppleResetGate::AfterMatMulOuterBias`].
    pub fn apply_reset_gate_after_mat_mul(self, after: bool) -> Self {
        self.attribute(Key::ApplyResetGateAfterMatMul, after)
    }

    /// The place of the reset gate of Apple's `gru`, if `applyResetGateAfterMatMul` cannot express
    /// it.
    pub fn reset_gate(self, gate: AppleResetGate) -> Self {
        self.attribute(Key::ResetGate, gate)
    }

    /// Apple's `outputSequence`; true by default.
    pub fn output_sequence(self, sequence: bool) -> Self {
        self.attribute(Key::OutputSequence, sequence)
    }

    /// The bound on every pre-activation sum of a declared cell; 0 and infinity are no bound.
    pub fn clip(self, bound: f32) -> Self {
        self.attribute(Key::Clip, bound)
    }

    /// The activations of a declared cell: f of an RNN (tanh); f and g of a GRU (sigmoid and tanh;
    /// Apple's `recurrentActivation` and `activation`); f, g and h of an LSTM (sigmoid, tanh and
    /// tanh).
    pub fn activations(self, activations: impl IntoIterator<Item = Activation>) -> Self {
        let list: Vec<Activation> = activations.into_iter().collect();
        self.attribute(Key::Activations, list)
    }

    /// The weights of a declared cell in the order of a framework: the two matrices, then the
    /// biases, then the peepholes, each in C order, as listed at [`Framework`]. Call this method
    /// once for every layer; for a bidirectional layer once for each direction, forward first.
    ///
    /// ```
    /// use cellc::{Builder, Framework};
    ///
    /// let (kernel, recurrent_kernel, bias) = ([0.5; 2 * 12], [0.1; 4 * 12], [0.0; 2 * 12]);
    /// let builder = Builder::gru(4, 2).linear_before_reset(true); // reset_after = True
    /// let builder = builder.weights_of(Framework::Keras, &[&kernel, &recurrent_kernel, &bias]);
    /// ```
    pub fn weights_of(mut self, framework: Framework, tensors: &[&[f32]]) -> Self {
        let set: Vec<Vec<f32>> = tensors.iter().map(|tensor| tensor.to_vec()).collect();
        match &mut self.source {
            BuilderSource::Cell { weights: GivenWeights::Of(given, sets), .. }
                if *given == framework =>
            {
                sets.push(set)
            }
            BuilderSource::Cell { weights, .. } => {
                *weights = GivenWeights::Of(framework, vec![set])
            }
            BuilderSource::File { model, .. } => {
                let problem = has_its_own("weights_of", model);
                self.problems.push(problem);
            }
        }
        self
    }

    /// The weights of declared layers in a file of PyTorch, relative to the folder of Cargo.toml:
    /// `weight_ih_l0`, `weight_hh_l0`, `bias_ih_l0`, `bias_hh_l0`. Names of the reverse direction
    /// end in `_reverse`; names of a cell module, for one step, have no `_l0`.
    /// [`Builder::apple_gru`] reads `input_hidden_weight`, `hidden_hidden_weight`, `bias` and
    /// `input_bias`.
    ///
    /// Elements are f32, f16, bf16 or f64, and become f32. PyTorch's GRU has `linear_before_reset`.
    /// Other tensors in the file are refused; with [`Builder::prefix`], other tensors of the
    /// module. Without [`Builder::layers`] all layers of the file are read. The file's metadata
    /// (`cellc.prefix`, `cellc.head` and so on) replaces methods that are not called;
    /// contradictions are refused.
    pub fn safetensors(mut self, file: impl Into<PathBuf>) -> Self {
        match &mut self.source {
            BuilderSource::Cell { weights, .. } => *weights = GivenWeights::File(file.into()),
            BuilderSource::File { model, .. } => {
                let problem = has_its_own("safetensors", model);
                self.problems.push(problem);
            }
        }
        self
    }

    /// The name of the recurrent module in a file of tensors: `gru` for `gru.weight_ih_l0`.
    pub fn prefix(self, module: impl Into<String>) -> Self {
        self.attribute(Key::Prefix, module.into())
    }

    /// The name of a dense layer (`torch.nn.Linear`) in a file of tensors, after the last recurrent
    /// layer: `fc` for `fc.weight [outputs, D * hidden_size]` and an optional `fc.bias [outputs]`.
    /// The only output is then `out [batch, outputs]`, of a sequence `[batch, steps, outputs]`.
    pub fn head(self, module: impl Into<String>) -> Self {
        self.attribute(Key::Head, module.into())
    }

    /// The activation of the [`Builder::head`].
    pub fn head_activation(self, activation: Activation) -> Self {
        self.attribute(Key::HeadActivation, activation)
    }

    /// The order of the gates in a file of tensors. Default: PyTorch's, `ifco` for LSTM and `rzn`
    /// for GRU.
    pub fn gate_order(self, order: GateOrder) -> Self {
        self.attribute(Key::GateOrder, order)
    }

    /// The weights of a declared cell, G gates (LSTM 4, GRU 3, RNN 1) of `hidden_size` H rows each,
    /// in C order: `w [G*H, I]`, `r [G*H, H]` and `b`: `[H]` for an RNN, `[4H]` for an LSTM, `[3H]`
    /// for a GRU, and `[4H]` for a GRU with `linear_before_reset` (z, r, Wbh, Rbh). Weights of a
    /// sequence have D in front. For peepholes and several layers, see [`Builder::weights_of`].
    ///
    /// Without this method, the program gives the weights at run time.
    pub fn weight_values(mut self, w: &[f32], r: &[f32], b: &[f32]) -> Self {
        match &mut self.source {
            BuilderSource::Cell { weights, .. } => {
                *weights = GivenWeights::Values([w, r, b].map(<[f32]>::to_vec))
            }
            BuilderSource::File { model, .. } => {
                let help = "remove `.weight_values(..)`, or name another `.bin` by `.weights(..)`";
                let problem = has_its_own("weight_values", model).help(help);
                self.problems.push(problem);
            }
        }
        self
    }

    /// The `.bin` of an OpenVINO IR. Default: the file next to the `.xml`.
    pub fn weights(mut self, file: impl Into<PathBuf>) -> Self {
        match &mut self.source {
            BuilderSource::File { weights, .. } => *weights = Some(file.into()),
            BuilderSource::Cell { cell, .. } => self.problems.push(
                Diagnostic::error(
                    Origin::Unknown,
                    format!(
                        "a file of weights is set on a \
                    {}",
                        cell.declared_by
                    ),
                )
                .help(
                    "give the values by `.weight_values(..)`; files belong to \
                        `Builder::new(\"model.xml\")`",
                ),
            ),
        }
        self
    }

    /// The name of the file in `OUT_DIR`, of the type and of the function (`denoiser`: `Denoiser`,
    /// `denoiser`).
    ///
    /// Default: the name of the model file; for a declared cell `gru`, `rnn`, `lstm` or `augru`.
    pub fn name(self, name: impl Into<String>) -> Self {
        self.option(|options| options.output.name = Some(name.into()))
    }

    /// The target machine. Default: any machine; in a build script the target of cargo, by
    /// [`Arch::of_triple`].
    ///
    /// ```
    /// use cellc::{Arch, Builder};
    ///
    /// let target = Arch::from_name("cortex-m4f").expect("a target");
    /// let builder = Builder::gru(128, 16).target(target);
    /// ```
    pub fn target(self, target: &'static Arch) -> Self {
        Self { target_is_given: true, ..self.option(|options| options.machine.target = target) }
    }

    /// The instruction sets to add to the baseline of the target. Default: all instruction sets of
    /// the target.
    ///
    /// ```
    /// use cellc::{Builder, Isa};
    ///
    /// let builder = Builder::gru(128, 16).isa(Isa::from_name("avx2"));
    /// ```
    pub fn isa(self, isas: impl IntoIterator<Item = &'static Isa>) -> Self {
        self.option(|options| options.machine.isas = Some(isas.into_iter().collect()))
    }

    /// The batch size, if the model leaves it open. Default for a declared cell: 1.
    pub fn batch(mut self, rows: usize) -> Self {
        match &mut self.source {
            BuilderSource::Cell { cell, .. } => cell.keys.set(Key::Batch, Spanned::unplaced(rows)),
            BuilderSource::File { .. } => self.options.bindings.batch = Some(rows),
        }
        self
    }

    /// The number of independent streams in a step, for a model of one stream. Each stream is a row
    /// with a state of its own, and gives the bits that a step of this stream alone would give.
    pub fn streams(self, streams: usize) -> Self {
        self.option(|options| options.bindings.streams = Some(streams))
    }

    /// The shape of an input, if the model leaves sizes open.
    pub fn shape(self, input: impl Into<String>, shape: impl Into<Vec<usize>>) -> Self {
        self.open_shape(input, shape.into().into_iter().map(Some).collect::<Vec<_>>())
    }

    /// The shape of an input. `None` marks the time axis: every call gives the number of steps.
    pub fn open_shape(
        self,
        input: impl Into<String>,
        shape: impl Into<Vec<Option<usize>>>,
    ) -> Self {
        self.option(|options| options.bindings.shapes.push((input.into(), shape.into())))
    }

    /// The size of a named open dimension of an ONNX model.
    pub fn dim(self, name: impl Into<String>, size: usize) -> Self {
        self.option(|options| options.bindings.dims.push((name.into(), Some(size))))
    }

    /// Marks a named dimension of an ONNX model as the number of steps; every call gives the
    /// number.
    pub fn open_dim(self, name: impl Into<String>) -> Self {
        self.option(|options| options.bindings.dims.push((name.into(), None)))
    }

    /// Fixes all elements of an input to a number: `("sr", 16000)`. Branches that the number rules
    /// out are not compiled.
    pub fn constant(self, input: impl Into<String>, value: impl std::fmt::Display) -> Self {
        self.option(|options| options.bindings.constants.push((input.into(), value.to_string())))
    }

    /// The precision of one layer, by its name in the model.
    pub fn precision_of(self, layer: impl Into<String>, precision: Precision) -> Self {
        self.option(|options| options.numerics.precision_of.push((layer.into(), precision)))
    }

    /// Writes a header file that declares a struct of function pointers, and adds such a struct to
    /// the generated C file: `.interface("cellc_model.h")`, relative to the folder of the output.
    /// The header file of the model includes `cellc_model.h`. An existing header file of the same
    /// interface stays unchanged.
    pub fn interface(self, file: impl Into<PathBuf>) -> Self {
        self.option(|options| options.output.interface = Some(file.into()))
    }

    /// Replaces all options.
    pub fn options(self, options: Options) -> Self {
        Self { options, target_is_given: true, ..self }
    }

    /// The folder of the output. Default: `OUT_DIR`.
    pub fn out_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.out_dir = Some(folder.into());
        self
    }

    /// Compiles the model, writes the files and returns their paths. The source is last, after a
    /// `.bin` or `.h`.
    ///
    /// In a build script, cargo shows the warnings and watches the files of the model.
    ///
    /// # Errors
    /// If the model is refused (no file is written), or if a file cannot be written.
    pub fn compile(&self) -> Result<Vec<PathBuf>, Error> {
        let out_dir = env::var_os("OUT_DIR").map(PathBuf::from);
        let in_build_script = out_dir.is_some();
        let folder = self.out_dir.clone().or(out_dir).ok_or_else(|| {
            Diagnostic::error(Origin::Unknown, "there is no folder to write to: OUT_DIR is not set")
                .help("call `compile` from a build script, or choose a folder by `.out_dir(..)`")
        })?;
        if in_build_script {
            for file in self.files()? {
                println!("cargo::rerun-if-changed={file}");
            }
        }
        let (compilation, files) = self.generate()?;
        if in_build_script {
            for file in self.files_beside(&compilation.model.files)? {
                println!("cargo::rerun-if-changed={file}");
            }
            for line in compilation.warnings.to_string().lines() {
                println!("cargo::warning={line}");
            }
            if self.options.output.language == Language::Rust {
                let variable = |name| env::var(name).unwrap_or_default();
                let [level, processor] = ["OPT_LEVEL", "CARGO_CFG_TARGET_ARCH"].map(variable);
                let [profile, package] = ["PROFILE", "CARGO_PKG_NAME"].map(variable);
                for line in slow_profile(&level, &processor, &profile, &package) {
                    println!("cargo::warning={line}");
                }
            }
        }
        let new = |OutputFile { name, bytes }| NewFile { path: folder.join(name), bytes };
        let mut files: Vec<_> = files.into_iter().map(new).collect();
        let mut written = None;
        if let Some(interface) = &self.options.output.interface {
            written = files::common_interface(&folder.join(interface), &files)?;
        }
        // the interface comes first, because the header file of the model includes it
        files.splice(0..0, written);
        files::write_all(&files)?;
        Ok(files.into_iter().map(|file| file.path).collect())
    }

    /// The files that the builder names, and the `.bin` next to the model, for cargo to watch.
    fn files(&self) -> Result<Vec<String>, Error> {
        let files = match &self.source {
            BuilderSource::Cell { weights: GivenWeights::File(file), .. } => vec![file.clone()],
            BuilderSource::Cell { .. } => Vec::new(),
            BuilderSource::File { model, weights: Some(weights) } => {
                vec![model.clone(), weights.clone()]
            }
            BuilderSource::File { model, weights: None } => {
                // models with run-time weights have no .bin, and cargo treats missing files as
                // changed
                let beside = Some(model.with_extension("bin")).filter(|file| file.exists());
                [Some(model.clone()), beside].into_iter().flatten().collect()
            }
        };
        files.iter().map(|file: &PathBuf| line(file)).collect()
    }

    /// Further files of the model: external weights of ONNX.
    fn files_beside(&self, read: &[InputFile]) -> Result<Vec<String>, Error> {
        let BuilderSource::File { model, weights: None } = &self.source else {
            return Ok(Vec::new());
        };
        let known = self.files()?;
        let beside = read.iter().skip(1).map(|file| line(&model.with_file_name(&file.name)));
        let mut beside = beside.collect::<Result<Vec<_>, _>>()?;
        beside.retain(|file| !known.contains(file));
        Ok(beside)
    }

    /// The files of [`Builder::compile`].
    fn generate(&self) -> Result<(Compilation, Vec<OutputFile>), Error> {
        let mut problems = self.problems.clone();
        let name = self.file_name(&mut problems);
        let model = self.model(&mut problems);
        let (Some(name), Some(model), false) = (name, model, problems.has_errors()) else {
            return Err(problems.worded(call).into());
        };
        let mut options = self.options.clone().with_name(Some(name.clone()));
        if let Ok(triple) = env::var("TARGET")
            && !self.target_is_given
            && env::var_os("OUT_DIR").is_some()
        {
            options.machine.target = Arch::of_triple(&triple);
        }
        let mut compilation = match compile(&model, &options) {
            Ok(compilation) => compilation,
            Err(refused) => {
                problems.extend(refused);
                return Err(problems.worded(call).into());
            }
        };
        // warnings of the reader come first
        problems.extend(std::mem::take(&mut compilation.warnings));
        compilation.warnings = problems.worded(call);
        compilation.measure();
        let files = compilation.emit(&name);
        Ok((compilation, files))
    }

    fn file_name(&self, problems: &mut Diagnostics) -> Option<String> {
        let name = match (&self.options.output.name, &self.source) {
            (Some(name), _) => name.clone(),
            (None, BuilderSource::Cell { cell, .. }) => cell.name.value.clone(),
            (None, BuilderSource::File { model, .. }) => {
                model.file_stem().unwrap_or_default().to_string_lossy().into_owned()
            }
        };
        if Path::new(&name).file_name() == Some(OsStr::new(&name))
            && !name.contains(char::is_control)
        {
            return Some(name);
        }
        problems.push(
            Diagnostic::error(Origin::Unknown, format!("{name:?} cannot be the name of a file"))
                .valid("letters, digits and _: .name(\"denoiser\")"),
        );
        None
    }

    fn model(&self, problems: &mut Diagnostics) -> Option<Model> {
        let options = ReadOptions::new(&self.options.bindings);
        match &self.source {
            BuilderSource::Cell { cell, weights } => {
                let source = ModelSource::Declaration;
                if let Err(refused) = formats::refuse_misplaced(&options.bindings, source) {
                    problems.extend(refused);
                }
                let model = declared_model(cell, weights, problems)?;
                match formats::finished(ReadModel::new(model), &options) {
                    Ok(read) => {
                        problems.extend(read.problems);
                        Some(read.model)
                    }
                    Err(refused) => {
                        problems.extend(refused);
                        None
                    }
                }
            }
            BuilderSource::File { model, weights } => {
                let options = ReadOptions { weights: weights.as_deref(), ..options };
                let (model, found) = match compile::read(model, &options) {
                    Ok(ReadModel { model, problems }) => (Some(model), problems),
                    Err(refused) => (None, refused),
                };
                problems.extend(found);
                model
            }
        }
    }
}

/// The model of declared layers. `None` after an error.
fn declared_model(
    cell: &Declared,
    weights: &GivenWeights,
    problems: &mut Diagnostics,
) -> Option<Model> {
    let mut cell = cell.clone();
    let mut wrong = Diagnostics::default();
    if !matches!(weights, GivenWeights::File(_)) {
        // keys in the metadata of a file count, too, so they are checked after the file is read
        wrong.extend(cell.keys.unmet_needs(false));
        wrong.extend(cell.problems_of_keys());
    }
    let fatal = wrong.has_errors();
    problems.extend(wrong);
    let baked = weights.baked(&mut cell, problems)?;
    if fatal {
        return None;
    }
    if let Some(baked) = baked {
        if baked.layers.len() != cell.layer_count() {
            let found =
                format!("weights of {} layers for {}", baked.layers.len(), cell.layer_count());
            let help = "several layers take their weights from `.weights_of(..)` or \
                `.safetensors(..)`";
            problems.push(Diagnostic::error(Origin::Unknown, found).help(help));
            return None;
        }
        cell.weights = Some(Spanned::unplaced(baked));
    }
    match cell.model() {
        Ok(read) => {
            problems.extend(read.problems);
            Some(read.model)
        }
        Err(wrong) => {
            problems.extend(wrong);
            None
        }
    }
}

impl GivenWeights {
    /// The weights in OpenVINO's order; `Some(None)` for weights at run time. Sets the keys of
    /// `cell` that the weights imply. `None` after an error.
    fn baked(&self, cell: &mut Declared, problems: &mut Diagnostics) -> Option<Option<Baked>> {
        match self {
            Self::AtRunTime => Some(None),
            Self::Values(weights) => {
                let layers = vec![tensors(cell, weights, problems)?];
                Some(Some(Baked { layers, ..Baked::default() }))
            }
            Self::Of(framework, sets) => {
                let wrong = cell.computed_as_by(*framework, &Origin::Unknown);
                let fatal = wrong.has_errors();
                problems.extend(wrong);
                if fatal {
                    return None;
                }
                converted(cell, *framework, sets, problems).map(Some)
            }
            Self::File(file) => from_file(cell, file, problems).map(Some),
        }
    }
}

impl Compilation {
    /// The same model in another language, planned again, because plans depend on the language.
    pub fn in_language(self, language: Language) -> Self {
        if self.options.output.language == language {
            return self;
        }
        let options = self.options.with_language(language);
        Self { warnings: self.warnings, ..compile_core(self.model, self.precisions, &options) }
    }
}

/// The name of a setting for users of the Builder.
fn call(setting: &Setting) -> String {
    match (setting, method(setting)) {
        (Setting::Key { name: "cell", .. }, _) => "the cell".to_owned(),
        (_, Some(call)) => format!("`.{call}`"),
        (_, None) => format!("`Builder::{}`", method_name(setting)),
    }
}

/// Weights as tensors. The number of rows follows from the number of elements; [`crate::check`]
/// checks the shapes. `None` after an error.
fn tensors(
    cell: &Declared,
    weights: &[Vec<f32>; 3],
    problems: &mut Diagnostics,
) -> Option<CellWeights> {
    let directions = cell.steps().map(|_| cell.direction().count());
    let shaped =
        |shape: &[usize]| directions.into_iter().chain(shape.iter().copied()).collect::<Vec<_>>();
    let mut matrix = |name: &str, values: &[f32], columns: usize| {
        let rows = values
            .len()
            .checked_div(columns)
            .unwrap_or(0)
            .checked_div(directions.unwrap_or(1))
            .unwrap_or(0);
        let tensor = Tensor::from_f32(shaped(&[rows, columns]), values);
        if tensor.is_none() {
            let found = format!(
                "{name} has {} values, which is not a number of rows of {columns}",
                values.len()
            );
            let gates = cell.kind().gates();
            problems.push(Diagnostic::error(Origin::Unknown, found).layer(cell.declared_by).valid(
                format!(
                    "{gates} * hidden_size = {} rows",
                    gates.saturating_mul(cell.hidden_size.value)
                ),
            ));
        }
        tensor
    };
    let [w, r, b] = weights;
    let (w, r) = (matrix("w", w, cell.input_size.value), matrix("r", r, cell.hidden_size.value));
    let biases = Tensor::from_f32(shaped(&[b.len() / directions.unwrap_or(1)]), b);
    if biases.is_none() {
        let found = format!("b has {} values, which is not as many for either direction", b.len());
        problems.push(Diagnostic::error(Origin::Unknown, found).layer(cell.declared_by));
    }
    Some(CellWeights { w: w?, r: r?, b: biases?, p: None, initial: Vec::new() })
}

/// The weights of a framework, reordered for OpenVINO's operation. `None` after an error.
fn converted(
    cell: &Declared,
    framework: Framework,
    sets: &[Vec<Vec<f32>>],
    problems: &mut Diagnostics,
) -> Option<Baked> {
    let ([w_name, r_name], bias_names) = framework.tensor_names();
    let flat = |name: &str, values: &[f32]| {
        let tensor = Tensor::from_f32(vec![values.len()], values)?;
        Some(NamedTensor { name: name.to_owned(), tensor, flat: true })
    };
    let peepholes = cell.keys.origin_if_true(Key::Peepholes).is_some();
    let mut named = Vec::new();
    for set in sets {
        let (set, last) = match set.split_last() {
            Some((last, set)) if peepholes => (set, Some(last)),
            _ => (&set[..], None),
        };
        let [w, r, biases @ ..] = set else {
            let found =
                format!("{} tensors are given of a layer of {}", set.len(), framework.name());
            let valid =
                [w_name, r_name].iter().chain(bias_names).copied().collect::<Vec<_>>().join(", ");
            problems.push(Diagnostic::error(Origin::Unknown, found).valid(valid));
            return None;
        };
        // surplus tensors are refused later, by their number
        let names = bias_names.iter().copied().chain(std::iter::repeat("bias"));
        named.push(WeightSet {
            w: flat(w_name, w)?,
            r: flat(r_name, r)?,
            biases: biases
                .iter()
                .zip(names)
                .map(|(bias, name)| flat(name, bias))
                .collect::<Option<_>>()?,
            peepholes: match last {
                Some(values) => Some(flat("P", values)?),
                None => None,
            },
        });
    }
    let directions = cell.direction().count();
    if named.len() != directions.saturating_mul(cell.layer_count()) {
        let found = format!("the weights of {} layers and directions are given", named.len());
        let valid = format!(
            "{} layers, {directions} for each: a call of `.weights_of(..)` for every one",
            cell.layer_count()
        );
        problems.push(Diagnostic::error(Origin::Unknown, found).valid(valid));
        return None;
    }
    let mut layers = Vec::new();
    for (layer, sets) in named.chunks_exact(directions).enumerate() {
        match convert(framework, cell.wanted(layer), sets) {
            Ok(weights) => layers.push(weights),
            Err(refused) => problems.extend(refused),
        }
    }
    let taken = format!("in the order of {}", framework.name());
    (layers.len() == cell.layer_count()).then(|| Baked {
        layers,
        meaning: taken,
        ..Baked::default()
    })
}

/// The weights in a file of tensors. Sets the cell's attributes from the file. `None` after an
/// error.
fn from_file(cell: &mut Declared, file: &Path, problems: &mut Diagnostics) -> Option<Baked> {
    let found = safetensors::read(file).and_then(|tensors| {
        if cell.is_apples {
            return of_apple(cell, &tensors);
        }
        let mut keys = cell.keys.clone();
        keys.set(Key::Cell, Spanned::unplaced(cell.family));
        keys.set(Key::HiddenSize, cell.hidden_size.clone());
        keys.set(Key::InputSize, cell.input_size.clone());
        let declared = weights_file::declare(&tensors, keys, |_, _, _| Some(cell.clone()));
        let (mut declared, _) = declared?;
        let baked = declared.weights.take().map(|said| said.value).unwrap_or_default();
        *cell = declared;
        Ok(baked)
    });
    match found {
        Ok(found) => Some(found),
        Err(refused) => {
            problems.extend(refused);
            None
        }
    }
}

/// The weights of Apple's `gru` in a file of tensors.
fn of_apple(cell: &mut Declared, tensors: &safetensors::TensorFile) -> Result<Baked, Diagnostics> {
    let mut wrong = cell.computed_as_by(Framework::Apple, &Origin::Unknown);
    for key in [Key::Head, Key::HeadActivation, Key::GateOrder] {
        if cell.keys.origin(key).is_some() {
            let name = key.name();
            let found = format!("`{name}` is set on a {}", cell.declared_by);
            let help = format!("remove `.{name}(..)`: it is Apple's own");
            wrong.push(Diagnostic::error(Origin::Unknown, found).help(help));
        }
    }
    if wrong.has_errors() {
        return Err(wrong);
    }
    let prefix = cell.keys.value::<String>(Key::Prefix);
    let selection = Selection {
        hidden_size: Some(cell.hidden_size.value),
        input_size: Some(cell.input_size.value),
        prefix: prefix.as_deref(),
        ..Selection::default()
    };
    Ok(safetensors::apple(tensors, apple::reset_gate(&cell.keys), &selection)?.baked)
}

/// A path as the value of a directive to cargo, without line breaks.
fn line(path: &Path) -> Result<String, Error> {
    match path.to_str() {
        Some(text) if !text.contains(['\n', '\r']) => Ok(text.to_owned()),
        _ => {
            let found = format!("cargo cannot watch the file {path:?}");
            Err(Diagnostic::error(Origin::Unknown, found)
                .valid("a path in UTF-8 without line breaks")
                .into())
        }
    }
}

#[cfg(test)]
mod tests;
