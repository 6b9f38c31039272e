//! Generated C on other machines: successive steps with their states give the bits of the
//! interpreter.

use std::env;
use std::f32::consts::LOG2_E;
use std::io::{Write, stderr};
use std::path::Path;
use std::process::Command;

use cellc::internals::arch;
use cellc::internals::kernel::{Buffer, Element, Role};
use cellc::{Fma, Isa, Language, Options, Precision, WeightsAs};
use cellc_tests::corpus::{self, Case};
use cellc_tests::driver::{run_all, write_files};
use cellc_tests::given_weights::{self, Weights};
use cellc_tests::machines::{
    AARCH64, AARCH64_DOTPROD, BY_HAND, CORTEX_M3, CORTEX_M4F, CORTEX_M55, INSTALLED, Machine,
    PORTABLE, Trial, Tried, cases,
};
use cellc_tests::model_file::{ModelFile, Stored};
use cellc_tests::random;
use cellc_tests::recipe::{self, asked, seed};
use cellc_tests::selection::covering;
use cellc_tests::skipped::has;
use cellc_tests::subject::Subject;

/// Cases of the corpus, each with the number of rounds: cells of every kind, sequences, states of
/// both kinds, run-time weights, heads with softmax and sigmoid.
const CASES: [(&str, usize); 14] = [
    // the states fade
    ("rnnoise_step_f32", 8),
    ("rnnoise_stream_f32", 2),
    ("gru_cell_128_fp16", 2),
    ("gru_cell_params", 2),
    ("gru_seq_bi_lens_param", 2),
    ("int8_gru_head", 2),
    ("lstm_cell_clip", 8),
    ("lstm_seq_rev", 2),
    ("onnx_gru_bi_activations", 2),
    ("onnx_gru_bi_dense", 2),
    ("rnn_cell_relu_clip", 8),
    ("stateful_gru", 8),
    ("ti_gru", 2),
    ("torch_gru2_head_static", 2),
];

/// Cases with their weights in other formats, without fused multiply-add, and in integers.
const OTHERS: [(&str, Fma, Precision); 7] = [
    ("gru_cell_128_fp16", Fma::Auto, Precision::F16),
    ("lstm_cell_fp16", Fma::Off, Precision::F16),
    ("gru_cell_lbr0", Fma::Off, Precision::F32),
    ("gru_cell_128_fp16", Fma::Auto, Precision::Int8),
    ("gru_cell_128_fp16", Fma::Auto, Precision::Int16),
    ("lstm_cell_fp16", Fma::Off, Precision::Int16),
    ("rnnoise_step_f32", Fma::Auto, Precision::Int8x16),
];

/// The number of random models.
const DRAWN: u32 = 12;

/// The rounds of a random model. Some of its calls saturate, are denormal, or contain NaN.
const ROUNDS: usize = 2;

/// The models with normal inputs and outputs, and subnormal intermediate values.
const BETWEEN: &str = "subnormal_in_between";
const FADING: &str = "state_that_fades";
const IN_PLACE: &str = "subnormal_in_place";

fn corpus_cases(machine: &Machine) -> Vec<Trial> {
    let trials = |name: &str, rounds, options: &Options, ending: &str| {
        let subjects = Case::subjects(&corpus::case(name), options, ending);
        subjects.into_iter().map(move |(subject, _)| Trial { subject, rounds }).collect::<Vec<_>>()
    };
    let plain =
        CASES.iter().flat_map(|(name, rounds)| trials(name, *rounds, &(machine.options)(), ""));
    let others = OTHERS.iter().flat_map(|(name, fma, precision)| {
        let own = (machine.options)();
        let options = own.with_fma(*fma).with_precision(Some(*precision));
        trials(name, 2, &options, &format!("_{fma:?}_{precision:?}").to_lowercase())
    });
    plain.chain(others).collect()
}

fn drawn(machine: &Machine) -> Vec<Trial> {
    let all = (0..).zip(recipe::drawn(asked("CELLC_MODELS").unwrap_or(DRAWN), seed()));
    let trial = |(k, recipe)| Trial {
        subject: random::on(&format!("random_{k}"), &recipe, (machine.options)()),
        rounds: ROUNDS,
    };
    // QEMU 7.2 stops at the conversion of masked vectors to integers, to which clang compiles the
    // loops of packing
    let is_run = |trial: &Trial| {
        let packed = &trial.subject.compilation.packed;
        let packs = packed.run_time_len + packed.run_time_pairs > 0;
        !(packs && machine.compiler.contains(&"-march=rv64gcv"))
    };
    all.map(trial).filter(is_run).collect()
}

/// Functions with subnormal values for these inputs, followed by a multiplication that makes the
/// values normal.
fn subnormal_in_between(machine: &Machine) -> Trial {
    let mut file = ModelFile::default();
    let x = file.parameter("x", &[1, 8]);
    let large = file.constant(&[1, 1], Stored::F32, [1e25].into_iter());
    for (kind, set, data) in [
        ("Exp", "opset1", ""),
        ("Sigmoid", "opset1", ""),
        ("SoftPlus", "opset4", ""),
        ("SoftMax", "opset8", "axis=\"1\""),
    ] {
        let small = file.operation(kind, set, data, &[&x], &[1, 8]);
        let product = file.operation("Multiply", "opset1", "", &[&small, &large], &[1, 8]);
        let logarithm = file.operation("Log", "opset1", "", &[&small], &[1, 8]);
        let quotient = file.operation("Divide", "opset1", "", &[&large, &small], &[1, 8]);
        let root = file.operation("Divide", "opset1", "", &[&product, &large], &[1, 8]);
        [product, logarithm, quotient, root].iter().for_each(|result| _ = file.result(result));
    }
    let subject = random::compiled(BETWEEN, file, (machine.options)(), 1);
    let near = (0..8).map(|k| -80.0 - 3.0 * k as f32).collect();
    let far = [0.0, -20.0, -86.0, -87.5, -90.0, -96.0, -101.0, -103.0].to_vec();
    Trial { subject: Subject { calls: vec![vec![near], vec![far]], ..subject }, rounds: 1 }
}

/// A state that fades from step to step, times small weights, times a large number. The product of
/// state and weights becomes subnormal. Some lanes stay large, so that a flushed value in them
/// shows.
fn state_that_fades(machine: &Machine) -> Trial {
    const UNITS: usize = 12;
    let (shape, square) = ([1, UNITS], [UNITS, UNITS]);
    let mut file = ModelFile::default();
    let x = file.parameter("x", &shape);
    let first = file.constant(&shape, Stored::F32, [0.75; UNITS].into_iter());
    let variable = format!("variable_id=\"h\" variable_type=\"f32\" variable_shape=\"1,{UNITS}\"");
    let h = file.operation("ReadValue", "opset6", &variable, &[&first], &shape);
    let small = file.constant(
        &square,
        Stored::F32,
        (0..UNITS * UNITS).map(|k| (1.0 + k as f32 / 256.0) * 1e-11),
    );
    let large =
        file.constant(&shape, Stored::F32, (0..UNITS).map(|k| if k % 3 == 0 { 1.0 } else { 1e15 }));
    let less = file.constant(&[1, 1], Stored::F32, [6e-4].into_iter());
    let product = file.operation(
        "MatMul",
        "opset1",
        "transpose_a=\"false\" transpose_b=\"true\"",
        &[&h, &small],
        &shape,
    );
    let y = file.operation("Multiply", "opset1", "", &[&product, &large], &shape);
    file.result(&y);
    // a product of two variables, in addition to the product with weights
    let both = file.operation("Multiply", "opset1", "", &[&x, &h], &shape);
    let z = file.operation("Multiply", "opset1", "", &[&both, &large], &shape);
    file.result(&z);
    let next = file.operation("Multiply", "opset1", "", &[&h, &less], &shape);
    file.assign("h", &next);
    let subject = random::compiled(FADING, file, (machine.options)(), 1);
    Trial { subject: Subject { calls: vec![vec![vec![1e-10; UNITS]]], ..subject }, rounds: 12 }
}

/// A product that is subnormal in between, with the input in the array of the output. There are two
/// layers; the second does not read the input.
fn subnormal_in_place(machine: &Machine) -> Trial {
    const UNITS: usize = 12;
    let shape = [1, UNITS];
    let mut file = ModelFile::default();
    let mut product = file.parameter("x", &shape);
    for factor in [1e-25, 1e30] {
        let diagonal = (0..UNITS * UNITS).map(|k| if k % (UNITS + 1) == 0 { factor } else { 0.0 });
        let factor = file.constant(&[UNITS, UNITS], Stored::F32, diagonal);
        let transposed = "transpose_a=\"false\" transpose_b=\"true\"";
        product = file.operation("MatMul", "opset1", transposed, &[&product, &factor], &shape);
    }
    file.result(&product);
    let subject = random::compiled(IN_PLACE, file, (machine.options)(), 1);
    assert!(subject.compilation.interface.in_place.is_some_and(|pair| !pair.copies));
    let input = (0..UNITS).map(|k| (1.0 + k as f32) * 1e-15).collect();
    Trial { subject: Subject { calls: vec![vec![input]], ..subject }, rounds: 1 }
}

/// Functions that round a product, at inputs whose product lies halfway between two integers.
fn halfway(machine: &Machine) -> Trial {
    const COUNT: usize = 16;
    let mut file = ModelFile::default();
    let x = file.parameter("x", &[1, COUNT]);
    for (kind, set) in [("Sigmoid", "opset1"), ("Tanh", "opset1"), ("Exp", "opset1")] {
        let y = file.operation(kind, set, "", &[&x], &[1, COUNT]);
        file.result(&y);
    }
    let subject = random::compiled("halfway", file, (machine.options)(), 1);
    // 1 / ln(2), twice as much for tanh
    let calls = [LOG2_E, 2.0 * LOG2_E].map(|factor| {
        let halves = (0..).map(|k| k as f32 + 0.5).map(|half| (half, half / factor));
        let all: Vec<_> = halves
            .filter(|(half, x)| x * factor == *half)
            .map(|(_, x)| x)
            .take(COUNT / 2)
            .collect();
        vec![all.iter().copied().chain(all.iter().map(|x| -x)).collect()]
    });
    Trial { subject: Subject { calls: calls.into(), ..subject }, rounds: 1 }
}

fn all_trials(machine: &Machine) -> Vec<Trial> {
    let between = [
        subnormal_in_between(machine),
        state_that_fades(machine),
        subnormal_in_place(machine),
        halfway(machine),
    ];
    let all = corpus_cases(machine).into_iter().chain(drawn(machine)).chain(between);
    // compilers for other machines refuse weights that are narrower than a float
    let is_narrow =
        |buffer: &Buffer| buffer.role == Role::Weights && buffer.element != Element::F32;
    let compiles = |trial: &Trial| {
        machine.little_endian || !trial.subject.compilation.program.buffers.iter().any(is_narrow)
    };
    all.filter(compiles).collect()
}

/// Flags that permit contraction of a product and a sum; results must not depend on it.
const FLAGS: [&str; 2] = ["-std=gnu11", "-O2"];

/// The models with other bits than the interpreter's, each with its first difference.
fn differences(machine: &Machine, trials: &[Trial], found: &[Tried]) -> Vec<String> {
    let difference = |(trial, found): (&Trial, &Tried)| {
        let expected = trial.expected(&found.isa);
        let differ: Vec<_> =
            (0..expected.len()).filter(|at| expected[*at] != found.bits[*at]).collect();
        let at = *differ.first()?;
        let [found, expected] = [found.bits[at], expected[at]].map(f32::from_bits);
        let (name, count, of) = (&trial.subject.name, differ.len(), machine.name);
        Some(format!(
            "{name} on {of}: {count} values, first the {at}th: {found:e}, not {expected:e}"
        ))
    };
    trials.iter().zip(found).filter_map(difference).collect()
}

/// Fails at the first bits that differ from the interpreter's.
fn the_bits_of(machine: &Machine) {
    if !machine.is_here() {
        return;
    }
    the_bits_of_these(machine, &all_trials(machine));
}

fn the_bits_of_these(machine: &Machine, trials: &[Trial]) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("machines-{}", machine.name));
    let wrong = differences(machine, trials, &machine.try_all(&folder, trials, &FLAGS));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Trials that together have every form of kernels, for a machine whose bodies another machine runs
/// with all trials.
fn of_all_forms(trials: &[Trial]) -> Vec<Trial> {
    let subjects: Vec<_> = trials.iter().map(|trial| trial.subject.clone()).collect();
    covering(&subjects).into_iter().map(|at| trials[at].clone()).collect()
}

/// The bodies are those of a Cortex-M4F, except for integers. Floating point is computed in
/// software.
#[test]
fn cortex_m3() {
    let machine = &CORTEX_M3;
    if machine.is_here() {
        let trials = all_trials(machine);
        let (narrow, others): (Vec<_>, Vec<_>) = trials
            .into_iter()
            .partition(|trial| [BETWEEN, FADING, IN_PLACE].contains(&&*trial.subject.name));
        the_bits_of_these(machine, &[of_all_forms(&others), narrow].concat());
    }
}

#[test]
fn cortex_m4f() {
    the_bits_of(&CORTEX_M4F);
}

#[test]
fn cortex_m55() {
    the_bits_of(&CORTEX_M55);
}

#[test]
fn aarch64() {
    the_bits_of(&AARCH64);
}

/// The trials for which this machine has its own bodies.
#[test]
fn aarch64_dotprod() {
    let machine = &AARCH64_DOTPROD;
    if !machine.is_here() {
        return;
    }
    let options = (machine.options)().with_precision(Some(Precision::Int8));
    let cases = [
        "gru_cell_128_fp16",
        "lstm_seq_rev",
        "torch_gru2_head_static",
        "gru_seq_bi_lens_param",
        "keras_gru_both_ways",
    ];
    let subjects = cases.iter().flat_map(|name| Case::subjects(&corpus::case(name), &options, ""));
    let trials: Vec<_> = subjects.map(|(subject, _)| Trial { subject, rounds: 2 }).collect();
    the_bits_of_these(machine, &trials);
    assert!(trials.iter().all(|trial| trial.subject.isas().any(|(isa, _)| isa == "neon_dotprod")));
}

/// Weights packed on the machine as integers, on machines with an order of weights of their own.
#[test]
fn weights_are_packed_in_integers() {
    for machine in [&CORTEX_M3, &CORTEX_M4F, &CORTEX_M55, &AARCH64, &AARCH64_DOTPROD] {
        if !machine.is_here() {
            continue;
        }
        let subjects = [Precision::Int8, Precision::Int8x16, Precision::Int16].map(|precision| {
            let options = (machine.options)().with_precision(Some(precision));
            let name = format!("given_in_{}", precision.name());
            given_weights::subject(&name, &options, Weights::GivenButR, false, 2)
        });
        the_bits_of_these(machine, &subjects.map(|subject| Trial { subject, rounds: 2 }));
    }
}

/// Integers on a Cortex-M55 compile at every level: the compiler chooses the registers of inline
/// assembly.
#[test]
fn cortex_m55_compiles_integers_at_every_level() {
    let machine = &CORTEX_M55;
    if !machine.is_here() {
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("machines-m55-levels");
    let of = |(case, precision): (&str, Precision)| {
        let options =
            (machine.options)().with_precision(Some(precision)).with_language(Language::C);
        let suffix = format!("_in_{}", precision.name());
        Case::subjects(&corpus::case(case), &options, &suffix).remove(0).0
    };
    let cases = ["stacked_gru_one_step", "lstm_cell", "torch_gru2_head_static", "gru_cell_params"];
    let all = cases.into_iter().flat_map(|case| {
        [Precision::F32, Precision::Int8, Precision::Int8x16, Precision::Int16]
            .map(|precision| (case, precision))
    });
    let subjects: Vec<Subject> = all.map(of).collect();
    write_files(&folder, &subjects, Language::C);
    let command = |subject: &Subject, level: &[&str]| {
        let mut command = Command::new(machine.compiler[0]);
        command.current_dir(&folder).args(&machine.compiler[1..]).args(level);
        command
            .args(["-Wall", "-Wextra", "-Werror", "-std=gnu11", "-c"])
            .arg(format!("{}.c", subject.name));
        command
    };
    // each level has every precision and every case; each precision of a case has one level
    let levels = [&["-Og"][..], &["-O1"], &["-Os"], &["-O2"], &["-O3", "-funroll-loops"]];
    for (at, level) in levels.into_iter().enumerate() {
        let is_taken = |k: &usize| (k / 4 + k % 4 + at).is_multiple_of(4);
        let taken = (0..subjects.len()).filter(is_taken);
        run_all(taken.map(|k| command(&subjects[k], level)).collect());
    }
}

/// ARMv7's instruction sets, each alone and together, with narrow weights and integers, compile for
/// machines with and without NEON. On big-endian machines, NEON is not used.
#[test]
fn armv7_compiles_with_any_list_of_instruction_sets() {
    if !CORTEX_M4F.is_here() {
        return;
    }
    let compiler = CORTEX_M4F.compiler[0];
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("machines-armv7");
    let lists =
        [vec!["neon"], vec!["neon_fma"], vec!["neon", "neon_fma"], vec!["scalar_fma"], vec![]];
    let of = |names: &[&str], precision: Precision| {
        let isas = names.iter().map(|name| Isa::from_name(name).expect("a name")).collect();
        let options = Options::default()
            .with_target(&arch::ARMV7)
            .with_language(Language::C)
            .with_isas(Some(isas))
            .with_precision(Some(precision));
        let suffix = format!("_{}_in_{}", names.join("_"), precision.name());
        Case::subjects(&corpus::case("lstm_cell"), &options, &suffix).remove(0).0
    };
    let precisions = [Precision::F32, Precision::F16, Precision::Int8, Precision::Int16];
    let subjects = precisions
        .into_iter()
        .flat_map(|precision| lists.iter().map(move |names| of(names, precision)));
    let subjects: Vec<Subject> = subjects.collect();
    write_files(&folder, &subjects, Language::C);
    let command = |subject: &Subject, fpu: &str, more: &[&str]| {
        let mut command = Command::new(compiler);
        command.current_dir(&folder).args([
            "-march=armv7-a",
            "-mfloat-abi=hard",
            &format!("-mfpu={fpu}"),
            "-O2",
        ]);
        command
            .args(["-Wall", "-Wextra", "-Werror", "-std=gnu11"])
            .args(more)
            .arg(format!("{}.c", subject.name));
        command
    };
    // every pair of a list and a precision, of a list and a unit, and of a precision and a unit
    let fpus = ["vfpv3-d16", "vfpv4-d16", "neon", "neon-vfpv4"];
    let all = (0..lists.len())
        .flat_map(|list| (0..fpus.len()).map(move |fpu| (list, (list + fpu) % 4, fpu)));
    let subject = |list, precision| &subjects[precision * lists.len() + list];
    run_all(
        all.map(|(list, precision, fpu)| command(subject(list, precision), fpus[fpu], &["-c"]))
            .collect(),
    );
    let preprocessed = |more: &[&str]| {
        let output = command(&subjects[2], "neon", &[more, &["-E"]].concat())
            .output()
            .expect("the compiler starts");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert!(preprocessed(&[]).contains("cell0_neon"));
    assert!(!preprocessed(&["-mbig-endian"]).contains("cell0_neon"));
}

/// Prefixes of the extensions of compilers to C.
const EXTENSIONS: [&str; 5] =
    ["__attribute__", "__builtin", "__asm__", "__restrict", "vector_size"];

/// The text that a compiler other than gcc and clang sees: without the lines between
/// `#if defined(__GNUC__) ..` and its `#else`.
fn without_gcc(text: &str) -> String {
    let mut is_for_gcc = false;
    let seen = text.lines().filter(|line| {
        is_for_gcc = match line.trim() {
            line if line.starts_with("#if defined(__GNUC__)") => true,
            "#else" | "#endif" => false,
            line if line.starts_with("#elif") => false,
            _ => is_for_gcc,
        };
        !is_for_gcc
    });
    seen.collect::<Vec<_>>().join("\n")
}

/// Portable C, also by compilers that may fuse multiply-add, and by a compiler without gcc's
/// extensions to C11.
#[test]
fn portable() {
    let few: Vec<_> = CASES
        .iter()
        .filter(|(name, _)| !name.starts_with("rnnoise"))
        .map(|(name, _)| *name)
        .collect();
    let all = corpus_cases(&PORTABLE[0]);
    let is_few = |trial: &&Trial| few.iter().any(|name| trial.subject.name.starts_with(name));
    let trials: Vec<_> = all.iter().filter(is_few).cloned().collect();
    let forms = of_all_forms(&trials);
    for (at, machine) in PORTABLE.iter().enumerate().filter(|(_, machine)| machine.is_here()) {
        the_bits_of_these(machine, if at == 0 { &all } else { &forms });
    }
    for trial in &trials {
        for file in
            trial.subject.files(Language::C).iter().filter(|file| !file.name.ends_with(".bin"))
        {
            let text = without_gcc(&String::from_utf8_lossy(&file.bytes));
            let found: Vec<_> = EXTENSIONS.iter().filter(|word| text.contains(**word)).collect();
            assert!(found.is_empty(), "{}: {found:?}", file.name);
        }
    }
}

/// clang compiles the files, also with weights in a separate file, for Windows, in the mode with
/// MSVC's arguments, and for both halves of Apple's universal binaries. Nothing is linked, because
/// the headers of these systems are missing.
#[test]
fn other_systems() {
    const CLANG: &str = "clang-19";
    if !has(CLANG) {
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("machines-other-systems");
    let case = |name: &str, options: Options| {
        let options = options.with_language(Language::C);
        Case::subjects(&corpus::case(name), &options, "").remove(0).0
    };
    let subjects = [
        case("lstm_cell", Options::default()),
        case("gru_cell_128_fp16", Options::default().with_weights_as(WeightsAs::File)),
        case("gru_cell_params", Options::default().with_target(&arch::PORTABLE)),
    ];
    write_files(&folder, &subjects, Language::C);
    let strict = ["-ffreestanding", "-Wall", "-Wextra", "-Werror", "-c"];
    let windows = [
        "--driver-mode=cl",
        "--target=x86_64-pc-windows-msvc",
        "/clang:-ffreestanding",
        "/W4",
        "/WX",
        "/O2",
        "/c",
    ];
    let apple = |target| [&[target][..], &strict].concat();
    let all = [
        windows.to_vec(),
        apple("--target=arm64-apple-macos"),
        apple("--target=x86_64-apple-macos"),
    ];
    let command = |flags: &Vec<&str>, subject: &Subject| {
        let mut command = Command::new(CLANG);
        command.current_dir(&folder).args(flags).arg(format!("{}.c", subject.name));
        command
    };
    run_all(
        all.iter()
            .flat_map(|flags| subjects.iter().map(move |subject| command(flags, subject)))
            .collect(),
    );
}

/// Prints a table of all machines: true if the bits are the interpreter's, and the costs of a step
/// of two models.
#[test]
#[ignore = "by hand: tests/machines/all"]
fn all_machines() {
    const COSTS: [(&str, Precision, usize); 2] = [
        ("gru_cell_128_fp16", Precision::F32, 55_296),
        ("rnnoise_step_f32", Precision::F32, 86_952),
    ];
    say(
        "machine, compiler: bits; of a GRU of 128 and of RNNoise: instructions a step and a multiply-add, bytes of code, frame, stack",
    );
    for machine in chosen().filter(|machine| machine.counts_here()) {
        let folder =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("machines-{}", machine.name));
        let trials = all_trials(machine);
        let wrong = differences(machine, &trials, &machine.try_all(&folder, &trials, &FLAGS));
        let bits = if wrong.is_empty() { "same".to_owned() } else { wrong.join("; ") };
        let mut line = format!("{}, {}: {bits}", machine.name, machine.compiler_version());
        let models = cases(machine, &COSTS.map(|(name, format, _)| (name, format)));
        for (cost, (.., multiply_adds)) in machine.costs(&folder, &models, &FLAGS).iter().zip(COSTS)
        {
            let a_multiply_add = cost
                .instructions
                .map(|count| format!("{:.3}", count as f64 / multiply_adds as f64));
            let number =
                |count: Option<u64>| count.map_or("-".to_owned(), |count| count.to_string());
            // objects of Rust for Windows do not list the code of each module
            let [instructions, code, frame, stack] =
                cost.numbers().map(|(_, count)| number(count.filter(|count| *count > 0)));
            line += &format!(
                "; {instructions} {} {code} {frame} {stack}",
                a_multiply_add.unwrap_or("-".to_owned())
            );
        }
        say(&line);
    }
}

/// Other random models than those of every run:
/// `CELLC_SEED=1 CELLC_MODELS=50 CELLC_MACHINE=riscv64`.
#[test]
#[ignore = "by hand: a minute for each machine"]
fn random_models() {
    chosen()
        .filter(|machine| machine.is_here())
        .for_each(|machine| the_bits_of_these(machine, &drawn(machine)));
}

/// All machines, or the one that `CELLC_MACHINE` names.
fn chosen() -> impl Iterator<Item = &'static Machine> {
    let only = env::var("CELLC_MACHINE").ok();
    let machines = INSTALLED.into_iter().chain(&BY_HAND);
    machines.filter(move |machine| only.as_deref().is_none_or(|only| only == machine.name))
}

/// Prints a line on standard error, which is visible even if the test passes.
fn say(line: &str) {
    writeln!(stderr(), "{line}").expect("standard error");
}
