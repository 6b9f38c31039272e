//! Instructions of a step, counted by valgrind's callgrind on AVX2 and by QEMU on other machines,
//! with the bytes of code and of the stack. No kernel grows unnoticed, and no test fails on time.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cellc::Activation::{Relu, Sigmoid};
use cellc::Builder;
use cellc::internals::arch;
use cellc::internals::arch::WorkKind;
use cellc::internals::estimate::Code;
use cellc::internals::random::Random;
use cellc::{Language, Precision, State};
use cellc_tests::corpus::{self, Case};
use cellc_tests::driver::{c_compilers, isas, run_all, rustc};
use cellc_tests::kept::Kept;
use cellc_tests::machines::{
    AARCH64, AARCH64_DOTPROD, BY_HAND, CORTEX_M3, CORTEX_M4F, CORTEX_M55, Cost, Machine, Trial,
    cases,
};
use cellc_tests::model_file::{ModelFile, Port, Stored};
use cellc_tests::random::compiled;
use cellc_tests::skipped::{has, skip};

/// The kept numbers, by version of rustc.
const KEPT: Kept = Kept {
    file: "instructions.txt",
    about: "instructions of a step on AVX2: rustc, workload, count",
    update: "CELLC_BLESS=1 cargo test -p cellc-tests --features full --test all instructions",
};

/// The number of steps of the shorter run; the longer run has twice as many. It is even, because
/// some kernels alternate between two orders.
const STEPS: u64 = 16;

/// A workload of the table in benches/README.md: name, cell, input in Rust, initial outputs in
/// Rust.
type Workload = (&'static str, Builder, &'static str, &'static str);

/// A file of `onnx/cases`.
fn of_case(name: &str) -> Builder {
    Builder::new(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("onnx/cases").join(name).join("model.onnx"),
    )
}

/// A convolution of 16 channels of 24 elements to `channels` channels, with 3 taps: see
/// [`convolution_of`].
fn convolution(channels: usize) -> Builder {
    convolution_of(channels, 3)
}

/// A convolution of 16 channels. On AVX2, the last vector of the 22 positions overlaps the vector
/// before it.
fn convolution_of(channels: usize, taps: usize) -> Builder {
    one_convolution(
        &format!("convolution_to_{channels}_{taps}_taps"),
        ("Convolution", "strides=\"1\" dilations=\"1\" pads_begin=\"0\" pads_end=\"0\""),
        [&[1, 16, 21 + taps], &[channels, 16, taps], &[1, channels, 22]],
    )
}

/// A convolution of each of 16 channels of planes, with strides.
fn depthwise_convolution() -> Builder {
    let data = "strides=\"2,2\" dilations=\"1,1\" pads_begin=\"1,1\" pads_end=\"1,1\"";
    one_convolution(
        "depthwise_convolution",
        ("GroupConvolution", data),
        [&[1, 16, 10, 24], &[16, 1, 1, 3, 3], &[1, 16, 5, 12]],
    )
}

/// A transposed convolution of 16 to 4 channels, with a stride.
fn transposed_convolution() -> Builder {
    let data = "strides=\"4\" dilations=\"1\" pads_begin=\"0\" pads_end=\"0\"";
    one_convolution(
        "transposed_convolution",
        ("ConvolutionBackpropData", data),
        [&[1, 16, 25], &[16, 4, 8], &[1, 4, 104]],
    )
}

/// A model of one convolution, given by operation, attributes, and the shapes of x, weights and
/// result.
fn one_convolution(
    name: &str,
    (kind, data): (&'static str, &str),
    [x, w, y]: [&[usize]; 3],
) -> Builder {
    let mut file = ModelFile::default();
    let x = file.parameter("x", x);
    let weights = Random::new(1).even(w.iter().product(), 0.2);
    let w = file.constant(w, Stored::F32, weights.into_iter());
    let y = file.operation(kind, "opset1", data, &[&x, &w], y);
    file.result(&y);
    let stem = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(stem.with_extension("xml"), file.text()).expect("a file");
    fs::write(stem.with_extension("bin"), &file.weights).expect("a file");
    Builder::new(stem.with_extension("xml"))
}

/// A causal convolution of 8 to 8 channels and 6 taps, one frame a step.
fn streamed_convolution(dilation: usize) -> Builder {
    const OPEN: usize = 7777;
    let mut random = Random::new(1);
    let mut file = ModelFile::default();
    let x = file.parameter("x", &[1, 8, OPEN]);
    let weights = random.even(8 * 8 * 6, 0.2);
    let w = file.constant(&[8, 8, 6], Stored::F32, weights.into_iter());
    let data = format!(
        "strides=\"1\" dilations=\"{dilation}\" pads_begin=\"{}\" pads_end=\"0\"",
        5 * dilation
    );
    let y = file.operation("Convolution", "opset1", &data, &[&x, &w], &[1, 8, OPEN]);
    file.result(&y);
    let text = file.text().replace(&OPEN.to_string(), "-1");
    let stem =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("streamed_convolution_{dilation}"));
    fs::write(stem.with_extension("xml"), text).expect("a file");
    fs::write(stem.with_extension("bin"), &file.weights).expect("a file");
    Builder::new(stem.with_extension("xml")).open_shape("x", [Some(1), Some(8), None])
}

fn workloads() -> [Workload; 22] {
    let gru = |hidden_size, input_size| {
        with_weights(Builder::gru(hidden_size, input_size), hidden_size, input_size, 3, 4)
    };
    let w2 = with_weights(Builder::gru(24, 24), 24, 24, 3, 3).activations([Sigmoid, Relu]);
    let w3 = with_weights(Builder::gru(48, 90), 48, 90, 3, 3).activations([Sigmoid, Relu]);
    let w9 = with_weights(Builder::rnn(128, 16), 128, 16, 1, 1);
    let rnn_48 = with_weights(Builder::rnn(48, 16), 48, 16, 1, 1);
    let w10a = with_weights(Builder::lstm(128, 16), 128, 16, 4, 4);
    [
        ("gru_16_128", gru(128, 16).linear_before_reset(true), "[0.25; 16]", "[0.0; 128]"),
        ("gru_24_24_reset_before", w2, "[0.25; 24]", "[0.0; 24]"),
        (
            "gru_16_128_batch_8",
            gru(128, 16).linear_before_reset(true).batch(8),
            "[[0.25; 16]; 8]",
            "[[0.0; 128]; 8]",
        ),
        // LLVM took the vectors of sums of these two apart
        ("gru_90_48_reset_before", w3, "[0.25; 90]", "[0.0; 48]"),
        ("rnn_16_48", rnn_48, "[0.25; 16]", "[0.0; 48]"),
        ("rnn_16_128", w9, "[0.25; 16]", "[0.0; 128]"),
        ("lstm_16_128", w10a, "[0.25; 16]", "counted::Outputs::new()"),
        (
            "gru_16_128_int8",
            gru(128, 16).linear_before_reset(true).precision(Precision::Int8),
            "[0.25; 16]",
            "[0.0; 128]",
        ),
        (
            "gru_16_128_int16",
            gru(128, 16).linear_before_reset(true).precision(Precision::Int16),
            "[0.25; 16]",
            "[0.0; 128]",
        ),
        ("gru_1_8", gru(8, 1).linear_before_reset(true), "[0.25]", "[0.0; 8]"),
        (
            "branch_with_a_gru",
            of_case("gru_in_a_branch"),
            "counted::Inputs { goes: &[true], x: &[0.25; 12], h: &[0.5; 24] }",
            "counted::Outputs::new()",
        ),
        (
            "branch_without_a_gru",
            of_case("gru_in_a_branch"),
            "counted::Inputs { goes: &[false], x: &[0.25; 12], h: &[0.5; 24] }",
            "counted::Outputs::new()",
        ),
        (
            "10_of_1000_iterations",
            of_case("ends_early"),
            "counted::Inputs { x: &[0.25; 16], limit: &[10.0] }",
            "counted::Outputs::new()",
        ),
        (
            "1000_of_1000_iterations",
            of_case("ends_early"),
            "counted::Inputs { x: &[0.25; 16], limit: &[2000.0] }",
            "counted::Outputs::new()",
        ),
        // LLVM merged the lanes that two vectors of these share
        ("convolution_to_2", convolution(2), "[0.25; 384]", "[0.0; 44]"),
        ("convolution_to_6", convolution(6), "[0.25; 384]", "[0.0; 132]"),
        // LLVM unrolled the taps of these, and spilled sums
        ("convolution_of_2_taps", convolution_of(16, 2), "[0.25; 368]", "[0.0; 352]"),
        ("convolution_of_8_taps", convolution_of(16, 8), "[0.25; 464]", "[0.0; 352]"),
        // windows over phases, directly by taps
        ("transposed_convolution", transposed_convolution(), "[0.25; 400]", "[0.0; 416]"),
        ("depthwise_convolution", depthwise_convolution(), "[0.25; 3840]", "[0.0; 960]"),
        // the time of a step depends on the number of taps, not on the dilation
        ("streamed_convolution_1", streamed_convolution(1), "[0.25; 8]", "[0.0; 8]"),
        ("streamed_convolution_239", streamed_convolution(239), "[0.25; 8]", "[0.0; 8]"),
    ]
}

/// Gives a cell with these numbers of gates and of parts of B weights for which the state neither
/// grows nor fades.
fn with_weights(
    builder: Builder,
    hidden_size: usize,
    input_size: usize,
    gates: usize,
    bias_parts: usize,
) -> Builder {
    let mut random = Random::new(1);
    let range = 1.0 / (hidden_size as f32).sqrt();
    let mut tensor = |len: usize| -> Vec<f32> { random.even(len, range) };
    let rows = gates * hidden_size;
    builder.weight_values(
        &tensor(rows * input_size),
        &tensor(rows * hidden_size),
        &tensor(bias_parts * hidden_size),
    )
}

/// Profiles of cargo: level of optimisation, codegen units, and the limit for the instructions of a
/// step as a multiple of those at level 3 with one unit.
const PROFILES: [(&str, &str, f64); 4] =
    [("3", "16", 1.03), ("2", "1", 1.2), ("s", "1", 4.0), ("0", "256", 400.0)];

/// Writes a program to `folder` that makes as many steps as its argument says. Returns the command
/// that compiles the program.
fn program(folder: &Path, workload: &Workload) -> Command {
    // one codegen unit: the partition of the crate must not change what is inlined
    program_with(folder, workload, ("3", "1"))
}

/// As [`program`], at a level of optimisation and with a number of codegen units.
fn program_with(
    folder: &Path,
    (_, builder, x, outputs): &Workload,
    (level, units): (&str, &str),
) -> Command {
    fs::create_dir_all(folder).expect("a folder");
    builder
        .clone()
        .isa([&arch::AVX2])
        .runtime(false)
        .name("counted")
        .out_dir(folder)
        .compile()
        .expect("a kernel");
    let main = format!(
        "mod counted;\n\n\
         fn main() {{\n    \
             let steps: u64 = std::env::args().nth(1).unwrap().parse().unwrap();\n    \
             let mut cell = counted::Counted::with_isa(counted::Isa::from_name({:?}).unwrap());\n    \
             let (x, mut outputs) = ({x}, {outputs});\n    \
             for _ in 0..steps {{\n        \
                 cell.step(std::hint::black_box(&x), std::hint::black_box(&mut outputs));\n    \
             }}\n\
         }}\n",
        arch::AVX2.name
    );
    fs::write(folder.join("main.rs"), main).expect("a file");
    let mut command = rustc();
    command.args(["--edition=2021", "main.rs", "-o", "program"]);
    command.arg(format!("-Copt-level={level}")).arg(format!("-Ccodegen-units={units}"));
    command.current_dir(folder);
    command
}

/// The instructions of one step of the program in `folder`.
fn instructions(folder: &Path) -> u64 {
    events(folder, "Ir", STEPS)
}

/// The events of one step of the program in `folder`: the difference between a run of twice the
/// steps and a run of the steps, without the start of the program.
fn events(folder: &Path, event: &str, steps: u64) -> u64 {
    let count = |steps: u64| {
        let text =
            fs::read_to_string(callgrind_file(folder, steps)).expect("callgrind writes its counts");
        let line = |start: &str| {
            text.lines().find_map(|line| line.strip_prefix(start)).expect("callgrind sums up")
        };
        let at = line("events: ")
            .split(' ')
            .position(|name| name == event)
            .expect("callgrind counts that");
        line("summary: ")
            .split(' ')
            .nth(at)
            .and_then(|total| total.parse::<u64>().ok())
            .expect("a number")
    };
    (count(2 * steps) - count(steps)) / steps
}

/// Counts the instructions of a run with this number of steps of the program in `folder`; for
/// convolutions, loads and stores, too.
fn callgrind(folder: &Path, steps: u64) -> Command {
    let mut command = Command::new("valgrind");
    // counting loads and stores doubles the time: only for convolutions
    let stores =
        folder.file_name().is_some_and(|name| name.to_string_lossy().contains("convolution"));
    command.args(["--tool=callgrind", if stores { "--cache-sim=yes" } else { "--cache-sim=no" }]);
    command.arg(format!("--callgrind-out-file={}", callgrind_file(folder, steps).display()));
    command.arg(folder.join("program")).arg(steps.to_string());
    command
}

fn callgrind_file(folder: &Path, steps: u64) -> PathBuf {
    folder.join(format!("callgrind.{steps}"))
}

/// The counts of all workloads by name; for convolutions, also their stores, because spilled sums
/// are stores.
fn count() -> Vec<(String, u64)> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let workloads = workloads();
    let folders: Vec<PathBuf> =
        workloads.iter().map(|(name, ..)| folder.path().join(name)).collect();
    run_all(
        folders
            .iter()
            .zip(&workloads)
            .map(|(folder, workload)| program(folder, workload))
            .collect(),
    );
    run_all(
        folders
            .iter()
            .flat_map(|folder| [STEPS, 2 * STEPS].map(|steps| callgrind(folder, steps)))
            .collect(),
    );
    let mut counts = Vec::new();
    for ((name, ..), folder) in workloads.iter().zip(&folders) {
        counts.push((name.to_string(), instructions(folder)));
        if name.starts_with("convolution") {
            counts.push((format!("{name}/stores"), events(folder, "Dw", STEPS)));
        }
    }
    counts
}

/// The version of rustc under which numbers are kept: `1.95.0`.
fn compiler() -> String {
    let output = rustc().arg("--version").output().expect("rustc starts");
    let text = String::from_utf8(output.stdout).expect("rustc writes UTF-8");
    text.split(' ').nth(1).expect("rustc has a version").trim().to_string()
}

#[test]
fn no_kernel_takes_more_instructions_than_are_kept() {
    if !isas().contains(&arch::AVX2.name) || !has("valgrind") {
        return;
    }
    KEPT.check(&compiler(), &count());
}

/// Generated Rust is nearly as fast in other profiles: vectors stay in registers, whatever LLVM
/// makes of loops.
#[test]
fn every_profile_takes_few_more_instructions() {
    if !isas().contains(&arch::AVX2.name) || !has("valgrind") {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let wanted = ["gru_16_128", "gru_24_24_reset_before", "gru_16_128_batch_8", "lstm_16_128"];
    let workloads: Vec<_> =
        workloads().into_iter().filter(|(name, ..)| wanted.contains(name)).collect();
    let profiles = || [("3", "1", 1.0)].into_iter().chain(PROFILES);
    let place = |name: &str, level: &str, units: &str| {
        folder.path().join(name).join(format!("{level}-{units}"))
    };
    let all =
        || workloads.iter().flat_map(|workload| profiles().map(move |profile| (workload, profile)));
    let compile = |(workload, (level, units, _)): (&Workload, (&str, &str, f64))| {
        program_with(&place(workload.0, level, units), workload, (level, units))
    };
    // a batch with 16 units takes as many instructions as in C: LLVM had spilled its sums
    let (name, builder, ..) = workloads
        .iter()
        .find(|(name, ..)| *name == "gru_16_128_batch_8")
        .expect("a batch of a GRU is a workload");
    let in_c = folder.path().join("c");
    let batch = program_in_c(&in_c, builder, "x[8 * 16], h_out[8 * 128]", "x, h_out");
    run_all(all().map(compile).chain([batch]).collect());
    let folders = || {
        let places = all().map(|(workload, (level, units, _))| place(workload.0, level, units));
        places.chain([in_c.clone()])
    };
    // without optimisation steps take long, and the limit is wide
    let steps = |folder: &Path| if folder.ends_with("0-256") { 2 } else { STEPS };
    run_all(
        folders()
            .flat_map(|folder| [1, 2].map(|times| callgrind(&folder, times * steps(&folder))))
            .collect(),
    );
    for (workload, (level, units, most)) in all() {
        let folder = place(workload.0, level, units);
        let counted = events(&folder, "Ir", steps(&folder)) as f64;
        let best = instructions(&place(workload.0, "3", "1")) as f64;
        let name = workload.0;
        assert!(
            counted <= most * best,
            "{name} at opt-level {level} in {units} units: {counted} instructions, {best} at 3 in one"
        );
    }
    let [rust, c] = [place(name, "3", "16"), in_c].map(|folder| instructions(&folder));
    assert!(rust * 10 <= c * 11, "{name} in 16 units: {rust} instructions, {c} in C");
}

/// Eight delay lines of 501 elements. A step shifts each by one element and reads the oldest
/// element. Longer copies are one instruction of x86-64, which valgrind counts once for each byte.
fn delay_lines() -> Builder {
    let (mut file, mut states, mut oldest) = (ModelFile::default(), Vec::new(), Vec::new());
    let x = file.parameter("x", &[1, 1]);
    for k in 0..8 {
        let names = [format!("d{k}"), format!("next{k}")];
        let d = file.parameter(&names[0], &[1, 501]);
        let all = file.operation("Concat", "opset1", "axis=\"1\"", &[&d, &x], &[1, 502]);
        let (axis, lengths) = (file.integers(&[1], &[1]), file.integers(&[2], &[1, 501]));
        let outputs: [(&str, &[usize]); 2] = [("", &[1, 1]), (&names[1], &[1, 501])];
        let mut parts =
            file.named("VariadicSplit", "opset1", "", &[&all, &axis, &lengths], &outputs);
        let next = parts.remove(1);
        file.result(&next);
        oldest.extend(parts);
        states.push(names);
    }
    let oldest: Vec<_> = oldest.iter().collect();
    let y = file.operation("Concat", "opset1", "axis=\"1\"", &oldest, &[1, 8]);
    file.result(&y);
    let stem = Path::new(env!("CARGO_TARGET_TMPDIR")).join("delay_lines");
    fs::write(stem.with_extension("xml"), file.text()).expect("a file");
    fs::write(stem.with_extension("bin"), &file.weights).expect("a file");
    let pairs = states.into_iter().map(|[input, output]: [String; 2]| (input, output)).collect();
    Builder::new(stem.with_extension("xml")).state(State::Pairs(pairs))
}

/// As [`program`] in C, with these arrays and arguments of a step.
fn program_in_c(folder: &Path, builder: &Builder, arrays: &str, arguments: &str) -> Command {
    fs::create_dir_all(folder).expect("a folder");
    let builder = builder.clone().isa([&arch::AVX2]).language(Language::C).name("counted");
    builder.out_dir(folder).compile().expect("a kernel");
    let main = format!(
        "#include <stdlib.h>\n\
         #include \"counted.h\"\n\
         int main(int count, char **args) {{\n    \
             static counted net;\n    \
             static float {arrays};\n    \
             counted_init_isa(&net, COUNTED_ISA_AVX2);\n    \
             for (long steps = count > 1 ? atol(args[1]) : 0; steps > 0; steps--) {{\n        \
                 counted_step(&net, {arguments});\n    \
             }}\n    \
             return 0;\n\
         }}\n"
    );
    fs::write(folder.join("main.c"), main).expect("a file");
    let mut command = Command::new(c_compilers()[0]);
    command.args(["-std=gnu11", "-O2", "main.c", "counted.c", "-o", "program"]).current_dir(folder);
    command
}

/// A state is not copied in C before every step to flush it.
#[test]
fn states_cross_memory_as_often_in_c_as_in_rust() {
    if !isas().contains(&arch::AVX2.name) || !has("valgrind") {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let [rust, c] = ["rust", "c"].map(|name| folder.path().join(name));
    let lines = delay_lines();
    run_all(vec![
        program(&rust, &("lines", lines.clone(), "[0.25; 1]", "counted::Outputs::new()")),
        program_in_c(
            &c,
            &lines,
            "x[1], next[8][501], y[8]",
            "x, next[0], next[1], next[2], next[3], next[4], next[5], next[6], next[7], y",
        ),
    ]);
    run_all(
        [&rust, &c]
            .into_iter()
            .flat_map(|folder| [STEPS, 2 * STEPS].map(|n| callgrind(folder, n)))
            .collect(),
    );
    let [rust, c] = [rust, c].map(|folder| instructions(&folder));
    assert!(c * 10 <= rust * 11, "{c} instructions in C, {rust} in Rust");
}

/// The machines whose instructions are counted.
const COUNTED: [&Machine; 3] = [&CORTEX_M4F, &CORTEX_M55, &AARCH64];

/// The kept numbers, by version of gcc.
const KEPT_OF_MACHINES: Kept = Kept {
    file: "instructions_machines.txt",
    about: "gcc -O2; machine, model and instructions of a step, bytes of code, of the largest frame, of all frames of a step; count",
    update: "CELLC_BLESS=1 cargo test -p cellc-tests --features full --test all instructions",
};

/// The models that are counted on other machines.
const MODELS: [(&str, Precision); 5] = [
    ("gru_cell_128_fp16", Precision::F32),
    ("gru_cell_128_fp16", Precision::F16),
    ("rnnoise_step_f32", Precision::F32),
    ("lstm_cell", Precision::F32),
    ("torch_gru2_head_static", Precision::F32),
];

/// The models that are also counted in integers. The estimates are fitted to the first.
const IN_INTEGERS: [&str; 2] = ["gru_cell_128_f32", "rnnoise_step_f32"];

/// The precisions of integers.
const INTEGERS: [Precision; 3] = [Precision::Int8, Precision::Int8x16, Precision::Int16];

/// Models in integers, for a machine.
fn in_integers(machine: &Machine) -> Vec<Trial> {
    let trials = IN_INTEGERS
        .iter()
        .flat_map(|name| INTEGERS.map(|precision| (corpus::case(name), precision)));
    let trial = |(case, precision): (Case, Precision)| {
        let options = (machine.options)().with_precision(Some(precision));
        let (subject, _) =
            Case::subjects(&case, &options, &format!("_in_{}", precision.name())).remove(0);
        Trial { subject, rounds: 1 }
    };
    trials.map(trial).collect()
}

/// A constant of random weights.
fn drawn(file: &mut ModelFile, random: &mut Random, shape: &[usize]) -> Port {
    file.constant(shape, Stored::F32, random.even(shape.iter().product(), 1.0).into_iter())
}

/// A cell of 32 inputs and 64 units, whose sums fill the registers of a Cortex-M4F: an LSTM in f32,
/// a GRU in f32 and int16.
fn cells_of_64(machine: &Machine) -> [Trial; 3] {
    let lstm = ("lstm_64", "LSTMCell", "opset4", &["x", "h", "c"][..], 4);
    let gru = ("gru_64", "GRUCell", "opset3", &["x", "h"][..], 3);
    let cells = [(lstm, Precision::F32), (gru, Precision::F32), (gru, Precision::Int16)];
    cells.map(|((name, kind, opset, inputs, gates), precision)| {
        let (mut file, mut random) = (ModelFile::default(), Random::new(1));
        let size = |input: &&str| if *input == "x" { 32 } else { 64 };
        let mut ports: Vec<_> =
            inputs.iter().map(|input| file.parameter(input, &[1, size(input)])).collect();
        let rows = gates * 64;
        ports.extend(
            [&[rows, 32][..], &[rows, 64], &[rows]]
                .map(|shape| drawn(&mut file, &mut random, shape)),
        );
        let ports: Vec<_> = ports.iter().collect();
        let states = vec![vec![1, 64]; inputs.len() - 1];
        for state in &file.operations(kind, opset, "hidden_size=\"64\"", &ports, &states) {
            file.result(state);
        }
        let options = (machine.options)().with_precision(Some(precision));
        let name = if precision == Precision::F32 {
            name.to_owned()
        } else {
            format!("{name}_{}", precision.name())
        };
        let mut subject = compiled(&name, file, options, 1);
        subject.calls.truncate(1);
        Trial { subject, rounds: 1 }
    })
}

/// A depthwise convolution of 32 channels of 100 elements, 9 taps, in f32 and in integers.
fn depthwise(machine: &Machine) -> Vec<Trial> {
    let trial = |precision: Precision| {
        let (mut file, mut random) = (ModelFile::default(), Random::new(1));
        let (x, out) = (file.parameter("x", &[1, 32, 100]), [1, 32, 100]);
        let [w, bias] =
            [&[32, 1, 1, 9][..], &[1, 32, 1]].map(|shape| drawn(&mut file, &mut random, shape));
        let data = "strides=\"1\" dilations=\"1\" pads_begin=\"8\" pads_end=\"0\"";
        let y = file.operation("GroupConvolution", "opset1", data, &[&x, &w], &out);
        let y = file.operation("Add", "opset1", "", &[&y, &bias], &out);
        file.result(&y);
        let options = (machine.options)().with_precision(Some(precision));
        let mut subject =
            compiled(&format!("depthwise_9_taps_{}", precision.name()), file, options, 1);
        subject.calls.truncate(1);
        Trial { subject, rounds: 1 }
    };
    [Precision::F32, Precision::Int16].map(trial).into()
}

/// The costs of a step of each model, by name.
fn costs(machine: &Machine) -> Vec<(String, u64)> {
    let of_machine = |machine: &Machine| -> Vec<Trial> {
        let cases = cases(machine, &MODELS).into_iter();
        cases
            .chain(in_integers(machine))
            .chain(depthwise(machine))
            .chain(cells_of_64(machine))
            .collect()
    };
    let trials = match machine.name {
        // models for which this machine has its own bodies
        name if name == AARCH64_DOTPROD.name => {
            let mut trials = in_integers(machine);
            trials.retain(|trial| {
                trial.subject.compilation.options.numerics.precision == Some(Precision::Int8)
            });
            trials
        }
        // f32 is computed by calls on this machine
        name if name == CORTEX_M3.name => depthwise(machine),
        _ => of_machine(machine),
    };
    let folder =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("instructions-{}", machine.name));
    let costs = machine.costs(&folder, &trials, &["-std=gnu11", "-O2"]);
    let numbers = |(trial, cost): (&Trial, &Cost)| {
        let name = format!("{}/{}", machine.name, trial.subject.name);
        cost.numbers()
            .map(|(what, count)| (format!("{name}/{what}"), count.expect("gcc and QEMU give all")))
    };
    trials.iter().zip(&costs).flat_map(numbers).collect()
}

#[test]
fn no_machine_takes_more_than_is_kept() {
    let mut found: BTreeMap<String, Vec<(String, u64)>> = BTreeMap::new();
    for machine in COUNTED
        .into_iter()
        .chain([&AARCH64_DOTPROD, &CORTEX_M3])
        .filter(|machine| machine.counts_here())
    {
        found.entry(machine.compiler_version()).or_default().extend(costs(machine));
    }
    found.iter().for_each(|(compiler, found)| KEPT_OF_MACHINES.check(compiler, found));
}

/// All machines with estimates.
fn estimated_machines() -> impl Iterator<Item = &'static Machine> {
    let all = COUNTED.into_iter().chain([&CORTEX_M3]).chain(&BY_HAND);
    all.filter(|machine| machine.estimate.is_some())
}

/// The kept numbers of the corpus, by version of gcc.
const KEPT_OF_CORPUS: Kept = Kept {
    file: "instructions_corpus.txt",
    about: "gcc -O2; machine and model, instructions of a step; count",
    update: "CELLC_BLESS=1 cargo test -p cellc-tests --features full --test all instructions -- --include-ignored",
};

/// The cases that are counted again with every change.
const AGAIN: [&str; 3] = ["gru_cell_128_fp16", "rnnoise_step_f32", "stacked_gru_rows"];

/// The cases that mostly compute powers and single elements: estimates are up to a third too low.
const OF_POWERS: [&str; 1] = ["neighbours_and_rows"];

/// The cases with weights of zero: floating point in software multiplies by 0 in fewer instructions
/// than estimates count.
const OF_ZEROS: [&str; 1] = ["onnx_gru_pruned"];

/// The cases of the corpus with at least 1,000 multiply-adds, every sequence at its full length.
fn corpus_of(machine: &Machine) -> Vec<Trial> {
    let subjects = corpus::cases().into_iter().filter_map(|case| {
        let (mut subject, _) =
            Case::subjects(&case, &(machine.options)(), "").into_iter().next()?;
        for (k, parameter) in subject.model().parameters.clone().iter().enumerate() {
            if let Some(most) = parameter.length {
                subject.calls.iter_mut().for_each(|call| call[k].fill(most as f32));
            }
        }
        let is_estimated = !OF_POWERS.iter().chain(&OF_ZEROS).any(|name| *name == subject.name);
        (is_estimated && subject.compilation.description.estimate.multiply_adds >= 1000)
            .then_some(Trial { subject, rounds: 1 })
    });
    subjects.collect()
}

/// The models in integers, the models with weights of fewer bits, and, if counted on the machine,
/// the cells of 64 units and the depthwise convolution.
fn other_formats(machine: &Machine) -> Vec<Trial> {
    let mut others = in_integers(machine);
    others.extend(cases(machine, &MODELS[1..2]));
    if is_counted(machine) {
        others.extend(depthwise(machine));
        others.extend(cells_of_64(machine));
    }
    others
}

/// The estimate for a model.
fn estimated<'a>(machine: &Machine, trial: &'a Trial) -> &'a Code {
    let isa = machine.estimate.and_then(|estimate| estimate.isa);
    let mut all = trial.subject.compilation.description.estimate.code.iter();
    let of_machine = |code: &&Code| isa.map_or(code.usual, |isa| code.isa.name == isa);
    all.find(of_machine).expect("the machine has numbers")
}

/// The name of a kept count.
fn kept_as(machine: &Machine, trial: &Trial) -> String {
    format!("{}/{}", machine.name, trial.subject.name)
}

/// QEMU's counts of the models.
fn counted(machine: &Machine, trials: &[Trial], folder: &str) -> Vec<(String, u64)> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{folder}-{}", machine.name));
    let costs = machine.costs(&folder, trials, &["-std=gnu11", "-O2"]);
    let counts = costs.iter().map(|cost| cost.instructions.expect("QEMU counts"));
    trials.iter().map(|trial| kept_as(machine, trial)).zip(counts).collect()
}

/// True if a machine's integers are counted with every change.
fn is_counted(machine: &Machine) -> bool {
    COUNTED.iter().any(|counted| counted.name == machine.name)
}

/// The estimates of `cellc inspect` are compared with kept counts, and some kept counts with new
/// ones.
#[test]
fn estimates_are_near_what_is_counted() {
    let mut wrong = Vec::new();
    let kept: BTreeMap<_, _> =
        KEPT_OF_CORPUS.all().into_iter().chain(KEPT_OF_MACHINES.all()).collect();
    for machine in estimated_machines() {
        let most_off = machine.estimate.expect("a machine with an estimate").most_off;
        let trials = corpus_of(machine);
        let others = other_formats(machine);
        let named = |trial| {
            (
                kept_as(machine, trial) + if is_counted(machine) { "/instructions" } else { "" },
                trial,
            )
        };
        let all = trials
            .iter()
            .map(|trial| (kept_as(machine, trial), trial))
            .chain(others.iter().map(named));
        for (name, trial) in all {
            let estimate = estimated(machine, trial).instructions;
            match kept.get(&name) {
                None if !machine.counts_here() => {
                    skip(&format!("no number of {name} is kept, and nothing counts it here"))
                }
                None => wrong
                    .push(format!("{name}: no number is kept; add it: {}", KEPT_OF_CORPUS.update)),
                Some(count) if estimate.abs_diff(*count) * 100 > count * most_off => {
                    wrong.push(format!("{name}: an estimate of {estimate}, {count} were counted"));
                }
                Some(_) => {}
            }
        }
        if machine.counts_here() {
            let again: Vec<_> = trials
                .into_iter()
                .filter(|trial| AGAIN.contains(&trial.subject.name.as_str()))
                .collect();
            assert_eq!(again.len(), AGAIN.len());
            KEPT_OF_CORPUS
                .check_some(&machine.compiler_version(), &counted(machine, &again, "again"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Counts the whole corpus, and writes the numbers to which the costs of `arch` are fitted.
#[test]
#[ignore = "by hand, where code has changed: some minutes"]
fn the_corpus_on_machines() {
    let mut found: BTreeMap<String, Vec<(String, u64)>> = BTreeMap::new();
    for machine in estimated_machines().filter(|machine| machine.counts_here()) {
        let (mut trials, others) = (corpus_of(machine), other_formats(machine));
        let kept = trials.len() + if is_counted(machine) { 0 } else { others.len() };
        trials.extend(others);
        let mut counts = counted(machine, &trials, "corpus");
        let mut table = String::from("model count");
        WorkKind::ALL.iter().for_each(|work| table += &format!(" {work:?}"));
        for (trial, (name, count)) in trials.iter().zip(&counts) {
            table += &format!("\n{name} {count}");
            WorkKind::ALL.iter().for_each(|work| {
                table += &format!(" {}", estimated(machine, trial).work.amount(*work))
            });
        }
        let file =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("work-{}.txt", machine.name));
        fs::write(file, table + "\n").expect("a file");
        counts.truncate(kept);
        found.entry(machine.compiler_version()).or_default().extend(counts);
    }
    found.iter().for_each(|(compiler, found)| KEPT_OF_CORPUS.check(compiler, found));
}
