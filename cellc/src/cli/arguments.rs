//! The command line: options, arguments and help.

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::arch::{self, Isa};
use crate::compile;
use crate::diagnostic::Diagnostics;
use crate::diagnostic::in_shell;
use crate::front::formats::{self, Format, ReadOptions};
use crate::front::keys::{Key, KeyValue, Keys};
use crate::front::model_file::ModelFile;
use crate::front::read_model::ReadModel;
use crate::model::InputFile;
use crate::request::flag::{Group, ModelSource, positive};
use crate::request::{Bindings, Language, Options, Precision, Range, State};
use clap::builder::PossibleValuesParser;
use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use super::Failure;
use super::flags::{Compared, CompileFlags, ModelFlags, words};
use super::pictures::PictureKind;
use super::piped::{self, Piped};
use super::synonyms;
use super::weights_file::{HEADING, WeightsFileArguments, option};

const EXAMPLES: &str = "\
Examples:
  cellc gru.xml -o gru.rs                    Rust; the weights come from gru.bin next to the model
  cellc gru.xml --weights w.bin -o gru.c     C11 and its header file gru.h
  cellc amp.nam -o amp.c                     a model of Neural Amp Modeler
  cellc gru.xml -o - --emit c | less         to standard output, the header file first
  cellc gru.xml --emit plan                  the decisions about loops, layout and precision
  cellc gru.xml -o gru.rs --batch 4          a model with an open batch size
  cellc gru.xml -o gru.rs --isa avx2         AVX2 and the baseline only, no AVX-512
  cellc run gru.xml --inputs in --outputs out
  cellc check gru.xml --steps 1000
  cellc amp.safetensors --cell lstm --prefix rec --head lin --skip -o amp.c
  cellc inspect gru.xml --svg gru.svg        layers, kernels, memory, estimated time
  cellc bench gru.xml                        times, and a lower bound for this machine

Exit status: 0 done; 1 the input was refused or the check failed; 2 the command line was wrong.";

const RUN_EXAMPLES: &str = "\
r<k>_in<i>.npy is input i of call k. Inputs are in the order of the model; i and k start at 0.
r<k>_in<i>.bin holds raw little-endian elements of the input's type. Sizes that the model
leaves open come from the files. Results are r<k>_out<j>.npy, in their own types. Variables
and states continue from call to call. A call with a file for a state starts from the file.

If the number of steps is open, everything continues from call to call (states, variables,
the last inputs of convolutions) in models with variables or with states that no file gives.
A call with files for all states is another sequence. In all other models with an open
number of steps, every call is a sequence of its own.

r<k>_NAME.npy is the input that generated code calls NAME. If an input has a NAME file,
results are also written as r<k>_NAME.npy. --input and --output take the names of the model
or of generated code, for a single call.

Examples:
  cellc run gru.xml --inputs in --outputs out
  cellc run gru.xml --input x=x.npy --input h=h.npy --output h_out=next.npy
  cellc run gru.xml --inputs in --outputs out --emit c --isa avx2

The compilers are rustc and cc, or those that the environment variables RUSTC and CC name.";

const CHECK_EXAMPLES: &str = "\
Every step is compared with the float64 reference twice: started from the state of the
reference, where the error bound holds, and started from the generated code's own state.
Exit status 1 means that an error exceeds its bound or --max-error.

Recorded inputs are named as for `cellc run`. If the number of steps is open, a file may
hold many steps; every step is checked by itself. Recorded outputs are compared with outputs
of the generated code: largest and rms error, SNR, cosine, rows whose largest element is at
another place (arg max), and values on the other side of --threshold.

Examples:
  cellc check gru.xml
  cellc check gru.xml --steps 5000 --range 4,1 --emit c --isa generic
  cellc check gru.onnx --inputs in               r0_in0.npy and r0_out0.npy in one folder
  cellc check vad.onnx --input x=x.npy --output y=y.npy --threshold 0.5
  cellc check gru.onnx --precision all --target cortex-m4f     compares the precisions
  cellc check gru.onnx --max-error 1e-4 --json   for tools

Keys of the JSON: model, language, inputs, steps, passed, above_max_error (precision, output,
error), precisions;
  precisions    precision, isa, fused_multiply_add, flash_bytes, flash_has_code, instructions,
                outputs
  outputs       name, shape, largest_value, one_step (error, bound, no_useful_bound,
                values_beyond_bound), all_steps (error, rms, snr_db), recording (error, rms,
                snr_db, cosine, rows, arg_max_differs, elements, threshold_differs)";

const INSPECT_EXAMPLES: &str = "\
Multiply-adds, operations, bytes and cycles are per step (one call). Time is an estimate;
the report ends with its formula.
\"block\" is the scratch memory in the state, for all instruction sets.

Keys of the JSON: model, isa, lanes, fused_multiply_add, formula;
  inputs     name, element, shape, role (data, state, lengths, weights)
  outputs    name, element, shape, from, state (the input that it is at the next step)
  variables  name, shape, next
  layers     name, kind, within (the loop), runs, inputs, shapes, multiply_adds, weight_bytes,
             done (computed, fused, copied, view, in_place), kernel, operation, attributes,
             parts_copied
  kernels    name, note, layers, writes_outputs, writes_variables, plan, multiply_adds,
             weight_bytes, weight_bytes_read, operations, cycles, share
  folded     kind, count, names
  totals     layers_read, constants_read, multiply_adds, weight_bytes, precision,
             weights_at_run_time, state_bytes, block_bytes, flash_bytes, memory_bytes,
             source_bytes, operations, cycles
Layers, kernels, inputs and so on are named by their indices in these lists, from 0. An
input of a layer is {\"layer\": 3}, {\"input\": 0}, {\"variable\": 0} or {\"constant\": 5}.

Examples:
  cellc inspect gru.xml
  cellc inspect gru.xml --isa avx2 --svg gru.svg
  cellc inspect gru.xml --target cortex-m4f --clock 80MHz    flash, RAM, least time
  cellc inspect gru.xml --json | jq '.kernels[] | [.name, .share]'";

const PACK_EXAMPLES: &str = "\
The model has the layers and shapes of the model of FILE. It is compiled with the options of
FILE. Generated code refuses the weights of another layout.

Example:
  cellc net.onnx --weights-as run-time -o net.c
  cellc pack new.onnx --like net.h           writes new.weights, which net_load takes";

const CMAKE_EXAMPLES: &str = "\
In CMakeLists.txt:
  execute_process(COMMAND cellc cmake OUTPUT_FILE ${CMAKE_BINARY_DIR}/cellc.cmake)
  include(${CMAKE_BINARY_DIR}/cellc.cmake)
  cellc_add_model(plugin net.onnx NAME net OPTIONS --precision int8)

cellc_add_model generates net.c and net.h in the build folder, adds them to the target and
generates them again when the model or cellc has changed.";

const BENCH_EXAMPLES: &str = "\
All contenders take turns on one core. The floor is a lower bound, measured for each
instruction set: the longer of two times, to stream the weights once per step or to execute
the multiply-adds. Inputs are random, and states are fed back. OpenVINO takes part if
python3 can import it; with an .onnx file, ONNX Runtime and PyTorch (by onnx2torch) too.
Other work on the machine can only make times longer: compare the best time with the median,
and repeat.

Columns:
  ns         nanoseconds per call: best and median
  floor x    best time divided by the floor's best time, same instruction set; then the median
             of this ratio
  over ...   best time divided by the floor with the widest vectors
  x cellc    best time divided by the best time of cellc's fastest row
  error      of the first output of the first call, in units of 2^-23 times the larger of 1 and
             the float64 reference
  bits       a hash of the first output of the first call

Examples:
  cellc bench gru.xml
  cellc bench gru.xml --precision int8 --accuracy fast
  cellc bench gru.xml --threads 2            two threads on any cores
  cellc bench gru.xml --emit c --json | jq '.model.contenders[] | [.name, .isa, .ns.best]'

The compilers are rustc and cc, or those that the environment variables RUSTC and CC name.";

/// The version, with the commit if known to the build.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), env!("CELLC_COMMIT"));

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "cellc",
    version = VERSION,
    arg_required_else_help = true,
    about = "Compiles a recurrent network to a readable Rust or C source file",
    after_help = "cellc --help prints all options and examples.",
    after_long_help = EXAMPLES,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
pub(crate) struct CommandLine {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) compile: CompileArguments,
    /// Print only errors: no warnings, no notices, no progress
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Compile the generated source and run it on inputs from files
    #[command(after_long_help = RUN_EXAMPLES)]
    Run(RunArguments),
    /// Compare the generated code with a float64 reference and with its error bound
    #[command(after_long_help = CHECK_EXAMPLES)]
    Check(CheckArguments),
    /// Show the layers, kernels and memory of a compiled model, and its expected time
    #[command(after_long_help = INSPECT_EXAMPLES)]
    Inspect(InspectArguments),
    /// Compare the time of generated code with a lower bound, OpenVINO and ONNX Runtime
    #[command(after_long_help = BENCH_EXAMPLES)]
    Bench(BenchArguments),
    /// Write the weights of a model for code that loads them (--weights-as run-time)
    #[command(after_long_help = PACK_EXAMPLES)]
    Pack(PackArguments),
    /// Print cellc.cmake, a module for CMake: cellc cmake > cellc.cmake
    #[command(after_long_help = CMAKE_EXAMPLES)]
    Cmake,
    /// Print completions for a shell
    Completions(CompletionsArguments),
    /// Print the manual page of cellc or of a command: cellc man | man -l -
    Man(ManArguments),
}

/// The model and the options of compilation, for all commands.
#[derive(Debug, Args)]
pub(crate) struct ModelArguments {
    /// .onnx, .xml (OpenVINO), .safetensors, .nam, .json (RTNeural, AIDA-X, PyTorch); - is stdin
    // An Option only because subcommands take the place of the model; clap still requires a value.
    #[arg(value_name = "MODEL", required = true)]
    model: Option<PathBuf>,

    /// The copy of a model that came through a pipe.
    #[arg(skip)]
    piped: Option<Piped>,

    /// The file with the weights [default: the .bin file next to the model]
    #[arg(long, value_name = "FILE", help_heading = Group::Model.heading(), hide_short_help = true)]
    pub(crate) weights: Option<PathBuf>,

    #[command(flatten)]
    flags: ModelFlags,

    /// The activations of the cell, such as sigmoid,tanh for a GRU [default: PyTorch's]
    #[arg(
        long,
        value_name = "NAMES",
        value_parser = |text: &str| KeyValue::parse(Key::Activations, text),
        help_heading = HEADING,
        hide_short_help = true
    )]
    activations: Option<KeyValue>,

    #[command(flatten)]
    weights_file: WeightsFileArguments,
}

#[derive(Debug, Args)]
pub(crate) struct CompileArguments {
    /// The file to write, .rs, .c or .wasm; - writes to standard output
    #[arg(short, long, value_name = "FILE", help_heading = Group::Output.heading())]
    pub(crate) output: Option<PathBuf>,

    /// Write a folder for the build system zephyr, esp-idf, cmsis-pack or arduino: C with its
    /// description
    #[arg(
        long,
        num_args = 2,
        value_names = ["KIND", "DIR"],
        help_heading = Group::Output.heading(),
        hide_short_help = true,
        conflicts_with = "output"
    )]
    pub(crate) package: Vec<PathBuf>,

    /// What to write [default: by the extension of the output file, else rust]
    #[arg(
        long,
        value_name = "WHAT",
        value_enum,
        help_heading = Group::Output.heading(),
        hide_short_help = true
    )]
    pub(crate) emit: Option<Emit>,

    /// Write the files that were read to FILE, as a rule for make, ninja and CMake
    #[arg(
        long,
        value_name = "FILE",
        help_heading = Group::Output.heading(),
        hide_short_help = true
    )]
    pub(crate) depfile: Option<PathBuf>,

    /// Write nothing; exit with 1 if an output differs from the one that would be written
    #[arg(
        long,
        help_heading = Group::Output.heading(),
        hide_short_help = true,
        conflicts_with = "depfile"
    )]
    check_stale: bool,

    #[command(flatten)]
    pub(crate) model: ModelArguments,

    #[command(flatten)]
    flags: CompileFlags,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("input_files").required(true).multiple(true))]
#[command(group = ArgGroup::new("output_files").required(true).multiple(true))]
pub(crate) struct RunArguments {
    #[command(flatten)]
    pub(crate) model: ModelArguments,

    /// A folder with input i of call k as r<k>_in<i>.npy; or the file of the only input
    ///
    /// i and k start at 0. r<k>_NAME.npy, and r<k>_in<i>.bin with raw elements, are read, too.
    #[arg(long, value_name = "PATH", group = "input_files", conflicts_with = "input")]
    pub(crate) inputs: Option<PathBuf>,

    /// The folder for output j of call k, r<k>_out<j>.npy; created if missing
    #[arg(long, value_name = "FOLDER", group = "output_files")]
    pub(crate) outputs: Option<PathBuf>,

    /// The file of one input, for a single call; every input needs a file
    #[arg(long, value_name = "NAME=FILE", value_parser = file_of, group = "input_files")]
    pub(crate) input: Vec<(String, PathBuf)>,

    /// The .npy file for one output of a single call
    #[arg(long, value_name = "NAME=FILE", value_parser = file_of, group = "output_files")]
    pub(crate) output: Vec<(String, PathBuf)>,

    #[command(flatten)]
    pub(crate) execute: ExecuteArguments,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    #[command(flatten)]
    pub(crate) model: ModelArguments,

    /// The seed of the random inputs
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// The number of steps [default: 256; with integers 1000; with files all recorded steps]
    ///
    /// A step is one call of step.
    #[arg(long, value_name = "N", value_parser = positive)]
    pub(crate) steps: Option<usize>,

    /// The largest magnitudes of the random inputs and of the initial state
    #[arg(
        long,
        value_name = "X[,H]",
        value_parser = Range::read,
        default_value = "1,1",
        allow_negative_numbers = true,
    )]
    pub(crate) range: Range,

    /// A folder with input i of call k as r<k>_in<i>.npy; or the file of the only input
    ///
    /// Files are named as for cellc run. Recorded outputs in the folder, r<k>_out<j>.npy or
    /// r<k>_NAME.npy, are compared with generated code. States without a file start at zero.
    #[arg(long, value_name = "PATH", conflicts_with_all = ["seed", "range", "input"])]
    pub(crate) inputs: Option<PathBuf>,

    /// NAME's values for one call; for a whole sequence if the number of steps is open
    #[arg(
        long,
        value_name = "NAME=FILE",
        value_parser = file_of,
        conflicts_with_all = ["seed", "range"],
    )]
    pub(crate) input: Vec<(String, PathBuf)>,

    /// The .npy file of a recorded output
    #[arg(long, value_name = "NAME=FILE", value_parser = file_of)]
    pub(crate) output: Vec<(String, PathBuf)>,

    /// Count values on different sides of X in the recording and in generated code
    #[arg(long, value_name = "X", value_parser = number, allow_hyphen_values = true)]
    pub(crate) threshold: Option<f64>,

    /// Exit with 1 if an output is further than X from the reference or the recording
    ///
    /// With a name, the limit of this output alone.
    #[arg(long, value_name = "[NAME=]X", value_parser = max_error, allow_hyphen_values = true)]
    pub(crate) max_error: Vec<MaxError>,

    /// Print JSON instead of the table
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) execute: ExecuteArguments,
}

#[derive(Debug, Args)]
pub(crate) struct PackArguments {
    #[command(flatten)]
    pub(crate) model: ModelArguments,

    /// The generated .h or .rs that will load the weights
    #[arg(long, value_name = "FILE")]
    pub(crate) like: PathBuf,

    /// The file of weights [default: the model's name with .weights]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct InspectArguments {
    #[command(flatten)]
    pub(crate) model: ModelArguments,

    /// The instruction set of the kernels to show [default: the best of the target]
    #[arg(long, value_name = "NAME", value_parser = isa_names(), hide_possible_values = true)]
    pub(crate) isa: Option<String>,

    /// Print the least time of a step at this clock, for example 80MHz
    ///
    /// Only for targets with an instruction estimate. Wait states of the flash are not modelled.
    #[arg(long, value_name = "HERTZ", value_parser = clock)]
    pub(crate) clock: Option<f64>,

    /// Draw the compiled graph; - writes to standard output instead of the table
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,

    /// Draw the compiled graph in pixels
    #[arg(long, value_name = "FILE")]
    png: Option<PathBuf>,

    /// Write a page with the compiled graph
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Print JSON instead of the table
    #[arg(long)]
    pub(crate) json: bool,
}

impl InspectArguments {
    /// The pictures to write, each with its file.
    pub(super) fn pictures(&self) -> impl Iterator<Item = (PictureKind, &Path)> {
        let pictures = [
            (PictureKind::Svg, &self.svg),
            (PictureKind::Png, &self.png),
            (PictureKind::Html, &self.html),
        ];
        pictures.into_iter().filter_map(|(kind, path)| Some((kind, path.as_deref()?)))
    }
}

#[derive(Debug, Args)]
pub(crate) struct BenchArguments {
    #[command(flatten)]
    pub(crate) model: ModelArguments,

    /// The language to generate [default: both]
    #[arg(long, value_name = "LANGUAGE", value_parser = words::<Language>())]
    emit: Option<Language>,

    /// The largest magnitude of the random inputs; states start at zero
    #[arg(
        long,
        value_name = "X",
        value_parser = range_of_inputs,
        default_value = "1",
        allow_negative_numbers = true,
    )]
    pub(crate) range: Range,

    /// The number of timings of each contender
    #[arg(long, value_name = "N", value_parser = positive, default_value = "1000")]
    pub(crate) rounds: usize,

    /// Stop after this many seconds
    #[arg(long, value_name = "S", value_parser = seconds, default_value = "10")]
    pub(crate) seconds: f64,

    /// The processor core to run on [default: the last; any with --threads 2]
    #[arg(long, value_name = "N")]
    pub(crate) core: Option<usize>,

    /// Print JSON instead of the table
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArguments {
    /// The command [default: cellc itself]
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Option<String>,
}

/// The effect of a compilation on its output files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// Files with other contents are replaced.
    Write,
    /// Nothing is written. Files with other contents are an error.
    Compare,
}

impl CompileArguments {
    /// The effect on the output files.
    pub(crate) fn delivery(&self) -> Delivery {
        if self.check_stale { Delivery::Compare } else { Delivery::Write }
    }
}

/// How generated code is executed.
#[derive(Debug, Args)]
pub(crate) struct ExecuteArguments {
    /// The language to generate
    #[arg(
        long,
        value_name = "LANGUAGE",
        value_parser = words::<Language>(),
        default_value = "rust"
    )]
    emit: Language,

    /// The instruction set to run on [default: the best that the machine has]
    #[arg(long, value_name = "NAME", value_parser = isa_names(), hide_possible_values = true)]
    pub(crate) isa: Option<String>,
}

/// The values of `--emit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Emit {
    /// Rust, no_std, editions 2015 to 2024
    Rust,
    /// C11 and its header file
    C,
    /// WebAssembly, a class for JavaScript and its types; calls clang
    Wasm,
    /// The model as cellc understands it
    Model,
    /// The decisions of the planner: sizes of loops, layout of weights
    Plan,
    /// The loops of each instruction set
    Kernel,
}

impl CommandLine {
    /// The arguments that name the model; `None` for commands without one.
    fn model(&mut self) -> Option<&mut ModelArguments> {
        Some(match &mut self.command {
            None => &mut self.compile.model,
            Some(Command::Run(arguments)) => &mut arguments.model,
            Some(Command::Check(arguments)) => &mut arguments.model,
            Some(Command::Inspect(arguments)) => &mut arguments.model,
            Some(Command::Bench(arguments)) => &mut arguments.model,
            Some(Command::Pack(arguments)) => &mut arguments.model,
            Some(Command::Cmake | Command::Completions(_) | Command::Man(_)) => return None,
        })
    }

    /// The files to write, each with its option.
    fn outputs(&self) -> Vec<(&'static str, &Path)> {
        match &self.command {
            None => self.compile.output.iter().map(|path| ("-o", path.as_path())).collect(),
            Some(Command::Inspect(arguments)) => {
                arguments.pictures().map(|(kind, path)| (kind.option(), path)).collect()
            }
            Some(Command::Run(arguments)) => {
                arguments.output.iter().map(|(_, path)| ("--output", path.as_path())).collect()
            }
            Some(Command::Pack(arguments)) => {
                arguments.output.iter().map(|path| ("-o", path.as_path())).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Copies a model that comes from standard input or from a pipe to a file.
    pub(super) fn fetch(&mut self) -> Result<(), Failure> {
        let Some(path) = self.model().and_then(|arguments| arguments.model.clone()) else {
            return Ok(());
        };
        // writing into the pipe that the model comes from would block for ever
        let pipe = fs::canonicalize(&path).ok().filter(|_| piped::is_pipe(&path));
        let is_same = |output: &Path| pipe.is_some() && fs::canonicalize(output).ok() == pipe;
        if let Some((option, output)) =
            self.outputs().into_iter().find(|(_, output)| is_same(output))
        {
            return Err(Failure::Usage(format!(
                "the model comes out of the pipe {}, and {option} {} writes into it: choose \
                 another output",
                path.display(),
                output.display()
            )));
        }
        let piped = piped::fetch(&path)?;
        if let Some(model) = self.model() {
            model.piped = piped;
        }
        Ok(())
    }

    /// The error for arguments that clap accepts: a missing model file whose name resembles a
    /// command, and `--precision all` outside of `cellc check`.
    pub(crate) fn contradiction(&mut self) -> Option<String> {
        let is_check = matches!(self.command, Some(Command::Check(_)));
        let is_alone = self.command.is_none();
        let model = self.model()?;
        if is_alone
            && let Some(word) = model.path().to_str().filter(|word| !Path::new(word).exists())
            && let Some(instead) = synonyms::instead_of(word)
        {
            return Some(format!("there is no file and no command '{word}': {instead}"));
        }
        if model.flags.compared == Compared::All && !is_check {
            return Some(format!(
                "--precision all compares them: cellc check {} --precision all",
                in_shell(&model.path().display().to_string())
            ));
        }
        None
    }
}

impl ModelArguments {
    /// The model's file.
    pub(crate) fn path(&self) -> &Path {
        self.file().path
    }

    /// The model's file in messages.
    pub(crate) fn shown(&self) -> String {
        self.file().shown()
    }

    /// The model's file and its name in messages.
    fn file(&self) -> ModelFile<'_> {
        let given = self.model.as_deref().expect("clap asks for it unless there is a subcommand");
        match &self.piped {
            Some(Piped { path, name, .. }) => ModelFile { path, name, output: None },
            None => given.into(),
        }
    }

    /// The format of the model.
    ///
    /// # Errors
    /// If the file is missing, or no reader takes its format.
    pub(crate) fn recognise(&self) -> Result<&'static Format, Diagnostics> {
        self.recognise_for(None)
    }

    /// As [`Self::recognise`]; `output` is the file into which the model is to be compiled.
    ///
    /// # Errors
    /// As for [`Self::recognise`].
    pub(crate) fn recognise_for(
        &self,
        output: Option<&Path>,
    ) -> Result<&'static Format, Diagnostics> {
        formats::recognise(ModelFile { output, ..self.file() })
    }

    /// Reads the model; returns the model and warnings.
    ///
    /// # Errors
    /// Options that do not suit the format, and all problems of the file.
    pub(crate) fn read(&self) -> Result<ReadModel, Failure> {
        self.read_with(&self.flags.options.bindings)
    }

    /// As [`Self::read`], with `bindings` instead of the sizes and constants on the command line.
    ///
    /// # Errors
    /// As for [`Self::read`].
    pub(crate) fn read_with(&self, bindings: &Bindings) -> Result<ReadModel, Failure> {
        let file = self.file();
        let source = self.recognise()?.source;
        if source == ModelSource::Declaration {
            if self.weights.is_some() {
                let file = file.shown();
                return Err(Failure::Usage(format!(
                    "--weights is for models, and {file} holds the weights itself"
                )));
            }
            formats::refuse_misplaced(bindings, source)?;
        } else if let Some(key) = self.keys().given().find(|key| *key != Key::Batch) {
            let (option, file) = (option(key), file.shown());
            return Err(Failure::Usage(format!(
                "{option} is for PyTorch's weights (.safetensors), and {file} is a model, which \
                 says it itself"
            )));
        }
        let options = ReadOptions {
            weights: self.weights.as_deref(),
            keys: self.keys(),
            ..ReadOptions::new(bindings)
        };
        Ok(compile::read(file, &options)?)
    }

    /// The paths of the files that the model was read from, its own first. `files`: their names.
    pub(crate) fn files_read(&self, files: &[InputFile]) -> Vec<PathBuf> {
        let path = self.path();
        let other = |file: &InputFile| match &self.weights {
            Some(weights) if weights.file_name() == Some(OsStr::new(&file.name)) => weights.clone(),
            _ => path.with_file_name(&file.name),
        };
        [path.to_owned()].into_iter().chain(files.iter().skip(1).map(other)).collect()
    }

    /// The precisions to compile the model in, the most exact first.
    pub(crate) fn precisions(&self) -> Vec<Option<Precision>> {
        self.flags.compared.precisions(self.flags.options.numerics.precision)
    }

    /// True if the file holds weights only, so that options declare the layers.
    pub(crate) fn is_weights_file(&self) -> bool {
        self.recognise().is_ok_and(|format| format.source == ModelSource::Declaration)
    }

    /// The keys that describe a file of weights.
    fn keys(&self) -> Keys {
        let mut keys = self.weights_file.0.clone();
        keys.add(Key::Activations, self.activations.clone());
        keys.add(
            Key::Batch,
            self.flags
                .options
                .bindings
                .batch
                .and_then(|batch| KeyValue::parse(Key::Batch, &batch.to_string()).ok()),
        );
        keys
    }

    fn options(&self) -> Options {
        let mut options = self.flags.options.clone();
        if self.is_weights_file() {
            // the batch size of a file of weights is one of its keys
            options.bindings.batch = None;
        }
        options
    }
}

impl PackArguments {
    /// The options of the command line. `cellc pack` adds the options of the generated file.
    pub(crate) fn options(&self) -> Options {
        self.model.options()
    }
}

impl CompileArguments {
    /// The options of the command line, without a default name and without the language.
    pub(crate) fn options(&self) -> Options {
        self.flags.stored_in(self.model.options())
    }
}

impl ExecuteArguments {
    /// The language to generate.
    pub(crate) fn language(&self) -> Language {
        self.emit
    }

    fn options(&self, model: &ModelArguments) -> Options {
        // only `--isa` runs, so no code is generated for other instruction sets
        let isas = self.isa.as_ref().map(|name| Isa::from_name(name).into_iter().collect());
        model.options().with_language(self.language()).with_isas(isas)
    }
}

impl RunArguments {
    /// Options for code with states as arguments, given by files.
    pub(crate) fn options(&self) -> Options {
        let options = self.keeping_states();
        // unlike State::None, an empty list of pairs warns about states that every call restarts
        let state = match options.bindings.state {
            State::None => State::None,
            _ => State::Pairs(Vec::new()),
        };
        options.with_state(state)
    }

    /// Options for code with states kept between calls.
    pub(crate) fn keeping_states(&self) -> Options {
        self.execute.options(&self.model)
    }
}

impl CheckArguments {
    /// The options of the command line.
    pub(crate) fn options(&self) -> Options {
        self.execute.options(&self.model).with_range(self.range)
    }
}

impl BenchArguments {
    /// The options of the command line, without the language.
    pub(crate) fn options(&self) -> Options {
        self.model.options().with_range(self.range)
    }

    /// The languages to generate.
    pub(crate) fn languages(&self) -> Vec<Language> {
        self.emit.map_or(vec![Language::Rust, Language::C], |language| vec![language])
    }
}

impl InspectArguments {
    /// The options of the command line.
    pub(crate) fn options(&self) -> Options {
        self.model.options()
    }
}

fn isa_names() -> PossibleValuesParser {
    PossibleValuesParser::new(arch::ALL.map(|isa| isa.name))
}

/// Parses a number that is not NaN.
fn number(text: &str) -> Result<f64, String> {
    text.trim()
        .parse()
        .ok()
        .filter(|v: &f64| !v.is_nan())
        .ok_or_else(|| "a number is needed".to_owned())
}

/// Parses the limit of an error: a number from 0.
fn limit(text: &str) -> Result<f64, String> {
    number(text)
        .ok()
        .filter(|&v| v >= 0.0)
        .ok_or_else(|| "a number from 0 is needed: 1e-4".to_owned())
}

/// A limit for the errors of one output or of all outputs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MaxError {
    /// The output. `None`: all outputs without a limit of their own.
    pub(crate) output: Option<String>,
    pub(crate) limit: f64,
}

impl fmt::Display for MaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.output {
            Some(output) => write!(f, "--max-error {output}={:e}", self.limit),
            None => write!(f, "--max-error {:e}", self.limit),
        }
    }
}

fn max_error(text: &str) -> Result<MaxError, String> {
    // names may contain '=', numbers do not
    let (output, text) = match text.rsplit_once('=') {
        Some((output, text)) if !output.is_empty() => (Some(output.to_owned()), text),
        _ => (None, text),
    };
    Ok(MaxError { output, limit: limit(text)? })
}

/// Parses a frequency with its unit. The result is in Hz.
fn clock(text: &str) -> Result<f64, String> {
    let (number, unit) =
        text.split_at(text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len()));
    let factor = match unit.to_ascii_lowercase().as_str() {
        "hz" => Some(1.0),
        "khz" => Some(1e3),
        "mhz" => Some(1e6),
        "ghz" => Some(1e9),
        _ => None,
    };
    let hertz =
        number.trim().parse::<f64>().ok().zip(factor).map(|(number, factor)| number * factor);
    let hertz = hertz.filter(|hertz| (1.0..=1e12).contains(hertz));
    hertz.ok_or_else(|| "a frequency with its unit is needed: 80MHz".to_owned())
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|&seconds| Duration::try_from_secs_f64(seconds).is_ok());
    seconds.ok_or_else(|| "a number of seconds is needed".to_owned())
}

fn file_of(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, file)) if !name.is_empty() && !file.is_empty() => {
            Ok((name.to_owned(), file.into()))
        }
        _ => Err("a name, '=' and a file are needed: x=x.npy".to_owned()),
    }
}

/// Parses the range for a command whose states start at zero: the magnitude of the inputs alone.
fn range_of_inputs(text: &str) -> Result<Range, String> {
    match text.contains(',') {
        true => Err("one magnitude is needed, as states start at zero: 2.5".to_owned()),
        false => Range::read(text),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::arch;
    use crate::model::ModelSize;
    use crate::request::flag::{FLAGS, FlagValue};
    use crate::request::{Accuracy, Fma, Threads, Tuning, Unroll, WeightsAs};

    fn compile(arguments: &[&str]) -> Result<Options, clap::Error> {
        CommandLine::try_parse_from([&["cellc", "m.xml"], arguments].concat())
            .map(|line| line.compile.options())
    }

    #[test]
    fn is_consistent() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn defaults_are_the_library_s() {
        assert_eq!(compile(&[]).unwrap(), Options::default());
    }

    #[test]
    fn every_flag_sets_its_option() {
        for flag in FLAGS {
            let word = match flag.operand {
                FlagValue::Switch => format!("--{}", flag.name),
                _ => format!("--{}={}", flag.name, flag.example()),
            };
            let mut expected = Options::default();
            (flag.set)(&mut expected, flag.example()).expect("the example is a value");
            assert_ne!(expected, Options::default(), "{word}");
            assert_eq!(compile(&[&word]).unwrap(), expected, "{word}");
        }
    }

    #[test]
    fn every_option_reaches_the_library() {
        let line = "--name=a-b --target x86-64 --isa generic,avx2 --unroll=none --fma=off --state \
            h=y --state=i=o --batch=3 --shape a=b=1,16 --dim n=2 --dim t=? --max-steps 9 --const \
            sr=16000 --size 0.25 --sample-rate 96000 --range=2 --weights-as=file --runtime --keep-denormals --accuracy=audio \
            --precision=int8 --precision-of a=b=int16 --tune \
            panel-columns=32,rows-at-once=4,alternate=on \
            --tune=input-first=off,fuse=off,branches=on,halves=on,tiles=off --threads=2 \
            --interface=include/net.h";
        let options = compile(&line.split_whitespace().collect::<Vec<_>>());
        assert_eq!(
            options.unwrap(),
            Options::default()
                .with_name(Some("a-b".into()))
                .with_target(&arch::X86_64)
                .with_language(Language::Rust)
                .with_isas(Some(vec![&arch::GENERIC, &arch::AVX2]))
                .with_tuning(
                    Tuning::default()
                        .with_unroll(Unroll::None)
                        .with_panel_columns(Some(32))
                        .with_rows_at_once(Some(4))
                        .with_alternate(Some(true))
                        .with_halves(Some(true))
                        .with_tiles(Some(false))
                        .with_input_first(Some(false))
                        .with_fuse(Some(false))
                        .with_branches(Some(true))
                )
                .with_fma(Fma::Off)
                .with_accuracy(Accuracy::Audio)
                .with_state(State::Pairs(vec![("h".into(), "y".into()), ("i".into(), "o".into())]))
                .with_batch(Some(3))
                .with_shapes(vec![("a=b".into(), vec![Some(1), Some(16)])])
                .with_dims(vec![("n".into(), Some(2)), ("t".into(), None)])
                .with_max_steps(Some(9))
                .with_size(Some(ModelSize::Control(0.25)))
                .with_sample_rate(Some(96_000))
                .with_constants(vec![("sr".into(), "16000".into())])
                .with_range(Range { x: 2.0, h: 1.0 })
                .with_weights_as(WeightsAs::File)
                .with_runtime(true)
                .with_interface(Some("include/net.h".into()))
                .with_keep_denormals(true)
                .with_precision(Some(Precision::Int8))
                .with_precision_of(vec![("a=b".into(), Precision::Int16)])
                .with_threads(Threads::Two)
        );
        // the header lists options in a form that cellc reads again
        let options = compile(&line.split_whitespace().collect::<Vec<_>>()).unwrap();
        let given = options.given();
        assert_eq!(
            compile(&given.iter().map(String::as_str).collect::<Vec<_>>()).unwrap(),
            options.with_name(None).with_weights_as(WeightsAs::Auto).with_interface(None)
        );
        assert_eq!(Options::default().given(), [""; 0]);
        for line in [
            "--no-state",
            "--unroll=full",
            "--accuracy=fast",
            "--precision=f16",
            "--precision-of=a=f32",
        ] {
            let options = compile(&[line]).unwrap();
            assert_eq!(options.given().join("="), line);
        }
        assert_eq!(compile(&["--no-state"]).unwrap().bindings.state, State::None);
        assert_eq!(
            compile(&["--range", "0.5,4"]).unwrap().numerics.range,
            Range { x: 0.5, h: 4.0 }
        );
    }

    #[test]
    fn a_choice_of_the_plan_is_made_once() {
        for command in ["", "check ", "inspect ", "bench "] {
            let parsed = |plan: &str| {
                let line = format!("cellc {command}m.xml {plan}");
                CommandLine::try_parse_from(line.split_whitespace())
            };
            assert!(parsed("--tune fuse=on,alternate=on --tune halves=off").is_ok());
            let refused = parsed("--tune fuse=on,alternate=on --tune fuse=on");
            let message = refused.expect_err("fuse is there twice").to_string();
            assert!(message.contains("fuse is given twice"), "{message}");
        }
    }

    #[test]
    fn nonsense_is_a_usage_error() {
        let wrong = "--batch=0 --batch=-1 --batch=two --shape=x --shape=x= --shape=x=1,0 \
            --shape=x=1,,2 --state=h --state=a=b=c --range=nan --range=inf --range=-1 \
            --range=1,2,3 --range= --range=1e-320 --range=1,1e-60 --range=1e400 --isa=sse9 --isa= \
            --unroll=9 --tune=4 --tune=tile=4 --tune=alternate=1 --tune=rows-at-once=0 --emit=java \
            --activations=tangent --accuracy=tanh --weights-as=gone --precision=int4 \
            --precision-of=a=int4 --no-such-option second.xml";
        for wrong in wrong.split_whitespace() {
            let error = compile(&[wrong]).expect_err(wrong);
            assert_eq!(error.exit_code(), 2, "{wrong}");
        }
        assert!(compile(&["--no-state", "--state=h=y"]).is_err());
        for (range, is_valid) in [("2.5", true), ("2.5,1", false), ("nan", false)] {
            let line = CommandLine::try_parse_from(["cellc", "bench", "m.xml", "--range", range]);
            assert_eq!(line.is_ok(), is_valid, "{range}");
        }
    }

    #[test]
    fn an_unknown_instruction_set_lists_the_valid_ones() {
        let text = compile(&["--isa=sse9"]).unwrap_err().to_string();
        assert!(
            text.contains(
                "generic, neon, neon_dotprod, neon_fma, scalar, scalar_fma, helium, rvv, avx2, \
                 avx_vnni, avx512, avx512_vnni, amx"
            ),
            "{text}"
        );
    }

    #[test]
    fn a_model_is_asked_for_unless_there_is_a_subcommand() {
        assert_eq!(CommandLine::try_parse_from(["cellc"]).unwrap_err().exit_code(), 2);
        assert_eq!(
            CommandLine::try_parse_from(["cellc", "run", "--inputs=a", "--outputs=b"])
                .unwrap_err()
                .exit_code(),
            2
        );
        let line = CommandLine::try_parse_from([
            "cellc",
            "run",
            "m.xml",
            "--inputs=a",
            "--outputs=b",
            "--isa=avx2",
        ]);
        let Ok(CommandLine { command: Some(Command::Run(run)), .. }) = line else {
            panic!("{line:?}")
        };
        assert_eq!(run.model.path(), Path::new("m.xml"));
        assert_eq!(run.options().machine.isas, Some(vec![&arch::AVX2]));
        // a file named like a command is still a valid model
        let line = CommandLine::try_parse_from(["cellc", "--", "run"]).unwrap();
        assert_eq!(line.compile.model.path(), Path::new("run"));
    }
}
